#!/usr/bin/env python3
"""Is the epistemic standard deviation that a method gives right? Each method against its own brute force, on known
functions.

    bench/truth.py [--data-dir FOLDER] [--sets 24] [--functions A,B] [--methods A,B]

Fresh tables are drawn from a function and its noise, and a method learns from each anew, with fresh random numbers of its
own; the standard deviation of its predictions over these tables, point by point, is what its epistemic standard deviation
should have been. Two of the functions are planted on the features of boston.csv and concrete.csv of FOLDER, and left out
without it. Results are added to bench/out/truth.json table by table: a run that was stopped, or one with more tables, goes
on from there. docs/truth.md shows them.
"""
import argparse
import math
import random
import statistics
import subprocess
import time
from pathlib import Path

from harness import EPIQ, OUT, ROOT, say
from methods import LABELS, Methods, Records, command, read_csv, version

PAGE, POINTS = ROOT / "docs" / "truth.md", 40


# ---- functions ----

class Function:
    """points: where predictions are asked for. draw(random): features of one row. f(x), noise(x): the mean of the target
    and its standard deviation there."""

    def __init__(self, what, rows, draw, f, noise, points=None):
        self.what, self.rows, self.draw, self.f, self.noise = what, rows, draw, f, noise
        self.points = points or [draw(random.Random(f"point {k}")) for k in range(POINTS)]

    def table(self, number):
        rng = random.Random(f"table {number}")
        x = [self.draw(rng) for _ in range(self.rows)]
        return [[*row, self.f(row) + rng.gauss(0, self.noise(row))] for row in x]

    def observations(self, number):
        rng = random.Random(f"observation {number}")
        return [self.f(x) + rng.gauss(0, self.noise(x)) for x in self.points]


def planted(path, rows):
    """On real features: a bend and a product in three fixed directions. Rows are drawn from those not asked about."""
    header, table = read_csv(path)
    rng, d = random.Random("planted"), len(header) - 1
    centre = [statistics.fmean(column) for column in zip(*table)]
    spread = [statistics.pstdev(column) for column in zip(*table)]
    directions = [[rng.gauss(0, 1) / math.sqrt(d) for _ in range(d)] for _ in range(3)]
    rng.shuffle(table)

    def f(x):
        z = [(v - c) / s for v, c, s in zip(x, centre, spread)]
        u = [sum(w * v for w, v in zip(direction, z)) for direction in directions]
        return math.sin(2 * u[0]) + u[1] * u[2] + u[1]

    return Function(f"The features of {path.name}, sin(2 u) + v w + v in three fixed directions, noise 0.3", rows,
                    lambda r: r.choice(table[POINTS:])[:-1], f, lambda x: 0.3, [row[:-1] for row in table[:POINTS]])


def functions(folder):
    line = [-2.4 + 4.8 * k / (POINTS - 1) for k in range(POINTS)]
    known = {
        "hole": Function("One feature, sin(3 x), noise 0.1, no rows between -0.7 and 0.7", 100,
                         lambda r: [r.choice((-1, 1)) * r.uniform(0.7, 2.2)], lambda x: math.sin(3 * x[0]), lambda x: 0.1,
                         [[v] for v in line]),
        "friedman": Function("Five features, Friedman's first function, noise 1", 150,
                             lambda r: [r.random() for _ in range(5)],
                             lambda x: (10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3]
                                        + 5 * x[4]), lambda x: 1.0),
        "varying": Function("One feature, sin(2 pi x), noise 0.05 + 0.4 x", 150, lambda r: [r.random()],
                            lambda x: math.sin(2 * math.pi * x[0]), lambda x: 0.05 + 0.4 * x[0]),
    }
    if folder:
        known |= {name: planted(folder / f"{name}.csv", 150) for name in ("boston", "concrete")}
    return known


# ---- each method against its own brute force ----

def root_mean_square(values):
    return math.sqrt(statistics.fmean(v * v for v in values))


def judge(function, answers):
    """Figures of one method on one function; answers: a record for each table."""
    count, means = len(answers), list(zip(*(a["mean"] for a in answers)))
    expected, truth = [statistics.fmean(m) for m in means], [statistics.stdev(m) for m in means]
    wrong = [m - function.f(x) for m, x in zip(expected, function.points)]
    inside = [lo <= y <= hi for a in answers for y, lo, hi in zip(function.observations(a["number"]), a["lo"], a["hi"])
              if lo is not None]
    figures = {"brute force": root_mean_square(truth), "bias": root_mean_square(wrong),
               "of observations": 100 * statistics.fmean(inside)}
    if "epistemic" in answers[0]:
        sds = [a["epistemic"] for a in answers]
        logs = [math.log(max(t, 1e-12)) for t in truth]
        # The mean of all tables includes this one, which takes 1/count off the variance of the difference.
        wider = math.sqrt(count / (count - 1))
        near = [abs(m - e) * wider <= 2 * sd for a in answers for m, e, sd in zip(a["mean"], expected, a["epistemic"])]
        figures |= {"ratio": root_mean_square([v for sd in sds for v in sd]) / root_mean_square(truth),
                    "correlation": statistics.fmean(
                        statistics.correlation([math.log(max(v, 1e-12)) for v in sd], logs) for sd in sds),
                    "of the expected": 100 * statistics.fmean(near)}
    return figures


def run(known, methods, names, sets):
    """By function and method: figures, or missing, with the reason."""
    records, figures = Records(OUT / "truth.json"), {}
    for name, function in known.items():
        header = [f"x{k + 1}" for k in range(len(function.points[0]))] + ["y"]
        answers = {method: [] for method in names}
        for number in range(1, sets + 1):
            for method in names:
                def compute():
                    got = methods.ask(method, header, function.table(number), function.points, number)
                    say(f"{name}, table {number}: {method}: {got.get('missing') or format(got['cpu'], '.1f') + ' s'}")
                    return {"number": number, **got}
                answers[method].append(records.get((name, number, method, version(method)), compute))
        for method, got in answers.items():
            why = next(({"missing": a["missing"]} for a in got if "missing" in a), None)
            figures[name, method] = why or judge(function, got)
    return figures


# ---- the page ----

COLUMNS = {"ratio": ("given / brute force", ".2f"), "correlation": ("correlation", ".2f"),
           "of the expected": ("expected inside, %", ".0f"), "brute force": ("brute force", ".3g"),
           "bias": ("bias", ".3g"), "of observations": ("observations inside, %", ".0f")}


INTRODUCTION = """# Epistemic standard deviations against the truth

Made by `{command}`, {version}, {date}.

Of each function {sets} tables were drawn, and every method learned from each anew. The standard deviation of a method's
own predictions over these tables, point by point, is what its epistemic standard deviation should be: the columns judge
each method against itself, and a method that hardly moves has little to report. The brute force includes what a method
chooses anew for every table: epiq its width and lambda, the Gaussian process its scales.

- *given / brute force*: the root mean square of what it gives over that of the brute force; 1 is right, below 1 is
  too sure.
- *correlation*: over the points, of the logarithms of the two, for one table, on average: does it tell where it is
  unsure? The brute force has an error of its own, so that no method reaches 1.
- *expected inside*: how often the prediction ± 2 of its standard deviations contains the mean prediction
  over all tables, in percent; 95 is right.
- *brute force*: that standard deviation itself, root mean square over the points. *bias*: how far the mean prediction
  is from the function, likewise; no method's standard deviation is meant to contain it.
- *observations inside*: fresh observations inside the 95 % interval, in percent, at the points that have one: epiq gives
  none outside the range of the rows. MAPIE gives an interval and no epistemic standard deviation.

epiq's standard deviation is that of the mean of all its networks, by `epiq fit` and `epiq predict` with their defaults; a
deep ensemble's is the spread of its five networks; those of the Gaussian process and of Laplace's approximation are
posterior. `bench/peer_uncertainty.py` has the settings."""


def page(known, figures, sets):
    version = subprocess.run([EPIQ, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    lines = [INTRODUCTION.format(command=command(), version=version, date=time.strftime("%Y-%m-%d"), sets=sets)]
    for name, function in known.items():
        lines += ["", f"## {name}", "", f"{function.what}; {function.rows} rows, {len(function.points)} points.", "",
                  "| | " + " | ".join(label for label, _ in COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
        for method in dict.fromkeys(m for _, m in figures):
            got = figures[name, method]
            cells = [got["missing"]] + [""] * (len(COLUMNS) - 1) if "missing" in got else [
                format(got[c], shape) if c in got else "" for c, (_, shape) in COLUMNS.items()]
            lines.append(f"| {LABELS[method]} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder with boston.csv and concrete.csv")
    parser.add_argument("--sets", type=int, default=24, help="tables drawn of each function, at least 3 (default: 24)")
    parser.add_argument("--functions", help="in a list (default: all)")
    parser.add_argument("--methods", default=",".join(LABELS), help=f"in a list (default: {','.join(LABELS)})")
    a = parser.parse_args()
    known, names = functions(a.data_dir), a.methods.split(",")
    chosen = a.functions.split(",") if a.functions else list(known)
    for wrong in [f for f in chosen if f not in known] + [m for m in names if m not in LABELS]:
        parser.error(f"there is no {wrong}; there are {', '.join(known)} and {', '.join(LABELS)}")
    if a.sets < 3:
        parser.error(f"{a.sets} tables tell no standard deviation; draw 3 at least")
    OUT.mkdir(exist_ok=True)
    methods = Methods()
    known = {name: known[name] for name in chosen}
    figures = run(known, methods, names, a.sets)
    methods.close()
    PAGE.write_text(page(known, figures, a.sets))
    say(f"{PAGE} written")


if __name__ == "__main__":
    main()
