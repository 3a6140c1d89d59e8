#!/usr/bin/env python3
"""epiq at the edge of what doubles hold, against exact.py. For every table of cases.py it must give the right numbers, or a
warning that it cannot, or one sentence and an exit code; never NaN, infinity or a negative variance, never a number withheld
without a reason.

A number is right if it is off by no more than the condition number of A times eps, times 30. That is a bound; what is found is a
hundredth of it or less. Where it is above 0.3 a warning must be there, and where it is below 1e-9 none may be.

Usage: judge.py EPIQ STARTS [--table] [PART OF A NAME]: the command, and the program that prints the starts of networks.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import exact
from cases import collect
from exact import mp, mpf

EPS = mpf(2)**-53
FACTOR = 30  # on condition times eps: sums over the rows, and squares
NO_DIGITS, ALL_DIGITS = mpf("0.3"), mpf("1e-9")
LEVEL = 0.8  # of which 14 rows have an interval for an observation
CORRECTIONS = ("moderated", "rowwise", "unbiased", "jackknife", "none")
CANNOT = {"ill_conditioned", "jitter", "last_digits"}
LARGEST = mpf(sys.float_info.max)
# a part may be withheld for these reasons
REASONS = {"lost_in_rounding", "out_of_range", "negative_difference", "ensemble_size"}


class Wrong(Exception):
    pass


def need(condition, sentence):
    if not condition:
        raise Wrong(sentence)


# ---- asking ----
class Desk:
    """a folder with the case's tables, and the command that answers"""

    def __init__(self, epiq, folder, case):
        self.epiq, self.folder, self.case = epiq, pathlib.Path(folder), case
        names = [f"x{j + 1}" for j in range(len(case.x[0]))]
        self.write("rows.csv", names + ["y"], [r + [t] for r, t in zip(case.x, case.y)])
        self.write("at.csv", names, case.points())

    def write(self, name, header, rows):
        lines = [header] + [[repr(v) for v in row] for row in rows]
        (self.folder / name).write_text("".join(",".join(line) + "\n" for line in lines))

    def ask(self, **options):
        """the answer's JSON; None: refused, as it should be"""
        command = [self.epiq, "estimate", "rows.csv", "--target", "y", "--at", "at.csv", "--json", "-", "--quiet"]
        asked = {"level": LEVEL, "threads": 1, "influential": len(self.case.x), "engine": "infinite", "lambda": 1e-3, "width": 1024,
                 "methods": "if,ev,ba"}
        for name, value in (asked | self.case.options | options).items():
            command += [f"--{name}", str(value)]
        run = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        shown = " ".join(command[1:])
        if run.returncode == 0 and not self.case.refused:
            answer = json.loads(run.stdout, parse_constant=lambda name: need(False, f"{name} in the answer to {shown}"))
            sound(answer)
            missing = set(self.case.warns) - codes(answer)
            need(not missing, f"no warning {', '.join(missing)} from {shown}")
            return answer
        need(run.returncode in (2, 3) and not run.stdout, f"exit {run.returncode}: {run.stderr.strip()} from {shown}")
        need(run.stderr.startswith("epiq: ") and run.stderr.count("\n") == 1, f"no sentence: {run.stderr} from {shown}")
        code, part = self.case.refused or (0, "")
        need(code == run.returncode and part in run.stderr, f"exit {run.returncode}: {run.stderr.strip()} from {shown}")
        return None


def codes(answer):
    return {w["code"] for w in answer["warnings"]}


def sound(answer):
    """no number that is none, no variance below 0, no interval upside down, nothing withheld without a reason"""
    withheld = []
    for point in answer["points"]:
        need(math.isfinite(point["prediction"]), "a prediction that is none")
        for name in ("procedural", "data", "ensemble", "single"):
            part = point[name]
            if part is None:
                withheld.append(name)
                continue
            need(0 <= part["variance"] < math.inf, f"{name} variance {part['variance']}")
            if part["interval"]:
                lo, hi = part["interval"]
                need(0 < lo <= part["variance"] and (hi is None or part["variance"] <= hi < math.inf),
                     f"{name} {part['variance']} and {part['interval']}")
        y = point["predictive"]
        need(not y or -math.inf < y["lo"] <= point["prediction"] <= y["hi"] < math.inf, f"an observation in {y}")
    need(not withheld or codes(answer) & REASONS, f"{withheld} withheld without a reason: {codes(answer)}")


# ---- judging ----
class Report:
    def __init__(self):
        self.off = {"prediction": None, "data": None, "procedural": None, "rest": None}  # None: nothing was compared
        self.said, self.judged = set(), 0

    def compare(self, kind, name, got, want, allowed, size=None):
        size = abs(want) if size is None else size
        off = abs(mpf(got) - want) / size if size else abs(mpf(got) - want)
        need(off <= allowed, f"{name} is {got!r} and should be {mp.nstr(want, 17)}: off by {mp.nstr(off, 2)}, "
             f"allowed {mp.nstr(allowed, 2)}")
        self.off[kind] = max(self.off[kind] or mpf(0), off)
        self.judged += 1


class Exact:
    """the case in multiple precision"""

    def __init__(self, case):
        how = case.options.get("scale", "standard")
        self.case, self.level, self.centred = case, mpf(float(LEVEL)), how == "standard"
        self.columns = [exact.Scaling([r[j] for r in case.x], how) for j in range(len(case.x[0]))]
        self.target = exact.Scaling(case.y, how)
        self.X, self.Z = ([[s.scaled(v) for s, v in zip(self.columns, r)] for r in rows]
                          for rows in (case.x, case.points()))
        self.y = [self.target.scaled(v) for v in case.y]
        self.net = tuple(case.options.get(name, 1) for name in ("depth", "bias", "bias-sd"))
        self.width = case.options.get("width", 5)  # of the networks that are drawn
        longest = max(exact.dot(x, x) for x in self.X)
        if self.net[1] * self.net[2] == 0:  # a point that is 0 but for rounding is 0
            self.Z = [z if exact.dot(z, z) > mpf("1e-20") * longest else [mpf(0)] * len(z) for z in self.Z]
        self.lam = mpf(float(case.options.get("lambda", 1e-3)))
        self.K, self.Q = exact.kernels(self.X, self.X, self.net)
        self.k0, self.q0 = ([list(column) for column in zip(*m)] for m in exact.kernels(self.X, self.Z, self.net))
        self.ridge = exact.Ridge(self.K, self.y, self.lam)
        scaling = max([s.loss for s in self.columns] + [self.target.loss])
        v = (mpf(self.net[1]) * mpf(self.net[2]))**2  # a short point's direction is rounded as the longest row is
        direction = max(mp.sqrt((longest + v) / (exact.dot(z, z) + v)) if exact.dot(z, z) + v else mpf(1) for z in self.Z)
        condition = self.ridge.condition
        if "time" in case.options:  # nothing is divided by less than n/2t
            condition = min(condition, max(mp.fsum(abs(a) for a in row) for row in self.K) * 2 * mpf(case.options["time"]))
        self.allowed = FACTOR * EPS * (condition + scaling + direction + self.net[0])

    def weights(self, c):
        """of the rows' targets: c, and where their mean was taken off a share of what c leaves of it"""
        return [v + (1 - mp.fsum(c)) / len(c) if self.centred else v for v in c]

    def units(self, variance):
        return variance * self.target.factor**2

    def held(self, variance):
        """by a double, in units of the target; 0 is"""
        return variance == 0 or exact.SMALLEST <= self.units(variance) <= LARGEST


def judge_prediction(e, report, got, c):
    t, want = e.target, exact.dot(c, e.y)
    size = abs(t.shift) + t.factor * exact.dot([abs(v) for v in c], [abs(v) for v in e.y])
    report.compare("prediction", "the prediction", got, t.shift + t.factor * want, e.allowed, size)


def judge_interval(e, report, name, got, part):
    lo, hi = (e.units(v) for v in part.interval(e.level))
    variance = e.units(part.variance)
    lo, hi = min(lo, variance), max(hi, variance)
    if got is None:
        need(hi > mpf(10)**299 or lo < exact.SMALLEST * mpf(2)**60, f"{name} has no interval, wanted [{lo}, {hi}]")
        return
    rough = e.allowed * (2 + 40 / part.nu)
    need((hi > 100 * variance * (1 - rough)) if got[1] is None else (hi < 100 * variance * (1 + rough)),
         f"the upper end of {name} is {got[1]}, wanted {hi}")
    for end, value, want in (("lower", got[0], lo), ("upper", got[1], hi))[:1 if got[1] is None else 2]:
        # at a fraction of a degree of freedom an end is a power 1/nu of what it is made of
        report.compare("data", f"the {end} end of {name}", value, want, e.allowed * (2 + 40 / part.nu))


def judge_data(e, report, got, correction, c):
    w = e.weights(c)
    part = e.ridge.data(w, correction)
    if got is None:
        need(not e.held(part.variance), f"the data variance ({correction}) is withheld, and is {part.variance}")
        return
    report.compare("data", f"the data variance ({correction})", got["variance"], e.units(part.variance), e.allowed)
    plain = e.ridge.data(w, "none").variance
    if e.held(plain):
        report.compare("data", "the uncorrected variance", got["uncorrected"], e.units(plain), e.allowed)
    if part.variance > 0:
        judge_interval(e, report, f"the data variance ({correction})", got["interval"], part)


def judge_procedural(e, report, got, c, p):
    """known above rounding, of what it is a difference of; two digits at least of what is known"""
    part = exact.infinite_variance(c, e.Q, e.q0[p], exact.kernel(e.Z[p], e.Z[p], *e.net)[1])
    if got is None:
        need(part.loss * EPS > mpf("1e-6") or not e.held(part.variance), f"withheld, and is {part.variance}")
        return
    allowed = min(FACTOR * (EPS * part.loss + e.allowed), mpf("1e-2"))
    report.compare("procedural", "the procedural variance", got["variance"], e.units(part.variance), allowed)


def judge_fit(e, report, answer, weights):
    t, fit = e.target, answer["fit"]
    out = e.ridge.left_out()
    spread = exact.dot(*[[v - exact.mean(e.y) for v in e.y]] * 2)
    if fit is None:
        need("out_of_range" in codes(answer), "no fit, and no reason")
        return
    report.compare("rest", "rmse", fit["rmse"], t.factor * mp.sqrt(exact.dot(out, out) / len(out)), e.allowed)
    need((fit["r2"] is None) == (spread == 0), "r2 of a constant target, or none of another")
    if spread:
        report.compare("rest", "r2", fit["r2"], 1 - exact.dot(out, out) / spread, e.allowed, 1 + exact.dot(out, out) / spread)
    for point, c in zip(answer["points"], weights):
        moved = [-t.factor * w * r for w, r in zip(c, out)]
        largest = max(abs(v) for v in moved)
        for row in point["influential"]:
            report.compare("rest", "an influence", row["influence"], moved[row["row"] - 1], e.allowed, largest)
        ends = e.ridge.observation(c, e.level)
        need(not point["predictive"] or ends, "an interval from too few rows")
    need("no_predictive" in codes(answer) or e.ridge.observation(weights[0], e.level), "no interval, and no reason")


def judge_infinite(desk, e, report):
    """everything the closed forms tell, with every correction"""
    weights = [e.ridge.weights(k0) for k0 in e.k0]
    for correction in CORRECTIONS:
        answer = desk.ask(correction=correction)
        report.said |= codes(answer)
        for p, (point, c) in enumerate(zip(answer["points"], weights)):
            judge_prediction(e, report, point["prediction"], c)
            judge_data(e, report, point["data"], correction, c)
            judge_procedural(e, report, point["procedural"], c, p)
        judge_fit(e, report, answer, weights)


def judge_stopped(desk, e, report):
    answer = desk.ask()
    report.said |= codes(answer)
    for p, point in enumerate(answer["points"]):
        c, v, r = exact.stopped(e.K, e.k0[p], e.y, e.lam, mpf(float(desk.case.options["time"])))
        v = [a + (w - b) * x for a, w, b, x in zip(v, e.weights(c), c, r)]
        V, _ = exact.satterthwaite([x - exact.mean(v) for x in v])
        judge_prediction(e, report, point["prediction"], c)
        judge_procedural(e, report, point["procedural"], c, p)
        report.compare("data", "the data variance", point["data"]["variance"], e.units(V), e.allowed)


# ---- networks ----
MEMBERS = 3


def drawn(e, starts):
    """the weights that networks start from, by the program starts; what follows from them is computed here"""
    options = {"width": e.width, "bias": e.net[1], "bias-sd": e.net[2], "seed": 1}
    words = [str(v) for pair in options.items() for v in pair]
    done = subprocess.run([starts, str(len(e.X[0])), str(MEMBERS), *words], capture_output=True, text=True)
    need(done.returncode == 0, done.stderr)
    return [[mpf(float.fromhex(v)) for v in line.split()] for line in done.stdout.splitlines()]


def judge_empirical(desk, e, report, starts):
    """IF with the mean kernel of the members' starts"""
    d, beta = len(e.X[0]), mpf(e.net[1])
    thetas = drawn(e, starts)
    K, k0 = ([[exact.mean(v) for v in zip(*rows)] for rows in zip(*(exact.own_kernel(t, d, e.width, e.X, Z, beta)
                                                                     for t in thetas))] for Z in (e.X, e.Z))
    ridge = exact.Ridge(K, e.y, e.lam)
    allowed = FACTOR * EPS * ridge.condition + e.allowed
    answer = desk.ask(engine="linear", members=MEMBERS, width=e.width, methods="if,ev", kernel="empirical",
                      correction="rowwise")
    if allowed > NO_DIGITS:
        need(codes(answer) & CANNOT, f"no digits of the empirical kernel can be right, and it says {codes(answer)}")
        return
    for point, column in zip(answer["points"], zip(*k0)):
        V = ridge.data(e.weights(ridge.weights(list(column))), "rowwise").variance
        if e.held(V) and V:
            report.compare("data", "IF with the empirical kernel", point["data"]["variance"], e.units(V), allowed)


def judge_linear(desk, e, report, starts, kernel):
    """members linearised at their starts: EV and its interval, and the mean as the prediction"""
    members, width, d, beta = MEMBERS, e.width, len(e.X[0]), mpf(e.net[1])
    answer = desk.ask(engine="linear", members=members, width=width, methods="if,ev", **{"linear-kernel": kernel})
    h, worst = [], e.ridge.condition
    for theta in drawn(e, starts):
        before = [exact.hidden(theta, d, width, x, beta)[0] for x in e.X]
        residual = [a - b for a, b in zip(e.y, before)]
        ridge, k0s = e.ridge, e.k0
        if kernel == "own":
            ridge = exact.Ridge(exact.own_kernel(theta, d, width, e.X, e.X, beta), residual, e.lam)
            k0s = [list(v) for v in zip(*exact.own_kernel(theta, d, width, e.X, e.Z, beta))]
            worst = max(worst, ridge.condition)
        h.append([exact.hidden(theta, d, width, z, beta)[0] + exact.dot(ridge.weights(k0), residual)
                  for z, k0 in zip(e.Z, k0s)])
    allowed = FACTOR * EPS * worst + e.allowed
    if allowed > NO_DIGITS:
        return
    for p, point in enumerate(answer["points"]):
        each = [row[p] for row in h]
        size = max(abs(v) for v in each) + 1
        report.compare("prediction", "the mean of members", point["prediction"],
                       e.target.shift + e.target.factor * exact.mean(each), allowed, abs(e.target.shift) + e.target.factor * size)
        part = exact.Part(exact.satterthwaite([v - exact.mean(each) for v in each])[0] / (members - 1), mpf(members - 1))
        if point["procedural"] is None:
            need(not e.held(part.variance), "EV is withheld")
            continue
        allowed_ev = allowed * size / mp.sqrt(part.variance) if part.variance else mpf(0)
        if codes(answer) & CANNOT or (kernel == "own" and allowed_ev > mpf("1e-2")):  # which has a warning of its own
            continue
        allowed_ev = min(allowed_ev, mpf("1e-2"))
        report.compare("procedural", "EV", point["procedural"]["variance"], e.units(part.variance), allowed_ev)
        if part.variance:
            for value, want in zip(point["procedural"]["interval"], part.interval(e.level)):
                report.compare("procedural", "an end of EV", value, e.units(want), allowed_ev)


# ---- all of it ----
def judge(epiq, starts, folder, case):
    report, mp.mp.dps = Report(), case.digits
    desk = Desk(epiq, folder, case)
    if case.refused:
        need(desk.ask() is None, "it should be refused")
        return report, None
    e = Exact(case)
    if e.allowed > NO_DIGITS:  # nothing to compare: it must say so, and every form of the answer be sound
        for correction in CORRECTIONS:
            report.said |= codes(desk.ask(correction=correction))
        need(report.said & CANNOT, f"no digits can be right here, and it says {report.said or 'nothing'}")
        return report, e
    if "time" in case.options:
        judge_stopped(desk, e, report)
    else:
        judge_infinite(desk, e, report)
        if e.net[0] == 1:
            for kernel in ("population", "own"):
                judge_linear(desk, e, report, starts, kernel)
            judge_empirical(desk, e, report, starts)
    need(e.allowed > ALL_DIGITS or not report.said & CANNOT, f"all digits are right, and it says {report.said & CANNOT}")
    return report, e


def line(case, report, e, table):
    says = f"exit {case.refused[0]}" if case.refused else ", ".join(sorted(report.said)) or "nothing"
    figures = ["-" if v is None else mp.nstr(v, 2, min_fixed=1, max_fixed=0) for v in report.off.values()]
    if table:
        return f"| {case.name} | {says} | " + " | ".join(figures) + " |"
    return f"{case.name}: {says}; {report.judged} numbers, off by " + ", ".join(figures) if report.judged else f"{case.name}: {says}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("epiq", type=pathlib.Path)
    parser.add_argument("starts", type=pathlib.Path)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_intermixed_args()
    starts, wrong, numbers, count = str(asked.starts.resolve()), 0, 0, 0
    for case in collect():
        if asked.part not in case.name:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                report, e = judge(str(asked.epiq.resolve()), starts, folder, case)
                numbers += report.judged
                print(line(case, report, e, asked.table), flush=True)
            except Wrong as why:
                wrong += 1
                print(f"FAILED: {case.name}: {why}", flush=True)
    print(f"{count - wrong} of {count} cases passed, {numbers} numbers compared with {mp.mp.dps} digits or more")
    sys.exit(wrong > 0 or count == 0)


if __name__ == "__main__":
    main()
