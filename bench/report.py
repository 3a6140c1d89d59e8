"""report.py FOLDER RESULT: the page RESULT from the figures in FOLDER/*.jsonl, which bench/run has left there."""
import json
import math
import statistics
import sys
from pathlib import Path

OUT, RESULT = map(Path, sys.argv[1:])
TITLES = {
    "roofline": "What the machine can do, and how near epiq comes",
    "blas": "The kernels that OpenBLAS uses",
    "ev": "EV: training to the same loss",
    "deep": "Networks of several layers",
    "wide": "Few rows of many features",
    "kernel": "Tangent kernel, factor, influence function",
    "points": "Many test points",
    "ba": "BA",
    "process": "Processes, threads, environment",
    "growth": "Growth with rows, features, width and depth",
    "large": "At the edge of the memory",
    "iterative": "Without the kernel matrix",
    "forecast": "Forecasts of time",
    "gpu": "On a GPU",
}
rows = [json.loads(line) for part in TITLES if (OUT / f"{part}.jsonl").exists()
        for line in open(OUT / f"{part}.jsonl")]
machine = json.loads((OUT / "machine.json").read_text())


def number(v):
    if v == 0 or not math.isfinite(v):
        return f"{v:g}"
    return f"{v:.3g}" if 1e-3 <= abs(v) < 1e3 else f"{v:.0f}" if 1e3 <= abs(v) < 1e6 else f"{v:.2g}"


def find(part, case="", who="", what=""):
    """The median of the one row that matches: its names begin with what is given. None: it was not measured."""
    got = [r for r in rows if r["part"] == part and r["case"].startswith(case) and r["who"].startswith(who) and
           r["what"].startswith(what) and r["values"]]
    return statistics.median(got[0]["values"]) if got else None


def every(part, **names):
    return [r for r in rows if r["part"] == part and r["values"] and all(r[k].startswith(v) for k, v in names.items())]


# ---- goals: name, what must hold, and the figure; None where something was not measured ----

def over(a, b):
    return a / b if a is not None and b else None


def most(values):
    values = [v for v in values if v is not None]
    return max(values) if values else None


def goals():
    ev_case = next((r["case"] for r in rows if r["part"] == "ev" and "506" in r["case"]), "?")
    epiq = find("ev", ev_case, "epiq", "EV, 50 members")
    plain = min((statistics.median(r["values"]) for r in every("ev", case=ev_case, who="PyTorch, plain descent 0.01")),
                default=None)
    best, settled = (min((statistics.median(r["values"]) for r in every("ev", case=ev_case, who="PyTorch", what="EV")
                          if "plain" not in r["who"] and ("each until" in r["what"]) == until), default=None)
                     for until in (False, True))

    def apart(case):
        """PyTorch's best over epiq, by the time of processors."""
        ours = find("ev", case, "epiq", "EV") and min(
            (statistics.median(r["values"]) for r in every("ev", case=case, who="epiq", what="EV") if "processors" in r["what"]), default=None)
        return over(min((statistics.median(r["values"]) for r in every("ev", case=case, who="PyTorch", what="EV")
                         if "processors" in r["what"]), default=None), ours)

    def deep():
        """The least of PyTorch's best over epiq, by the time of processors, over widths and depths."""
        pairs = {}
        for r in rows:
            if r["part"] == "deep" and r["values"] and "processors" in r["what"]:
                pairs.setdefault(r["case"], {})[r["who"].split(",")[0]] = r["values"][0]
        got = [over(p.get("PyTorch"), p.get("epiq")) for p in pairs.values()]
        return min((g for g in got if g), default=None)

    def left(how):
        return most(r["values"][-1] for r in every("ev", what="loss still") if how in r["what"])
    n8, whole = "n = 8000", "kernel, factor, IF"
    cores = f"{machine['cores']} thread"
    potrf = find("kernel", n8, "bare dpotrf", whole)
    peak, band = (most(v for r in every("roofline", case=cores, what=w) for v in r["values"]) for w in ("dgemm", "triad"))
    floor = potrf and peak and band and potrf + max(8000**2 / 2 * (3 * 13 + 60) / peak, 4 * 8000**2 / band) / 1e9
    printed, exact, probes = (find("kernel", n8, f"epiq, {w}", whole) for w in ("as printed", "exact", "64 probes"))
    # up to 2048 rows an estimate has the inverse too, for rows left out: it is compared with peers that have it
    peers = [over(find("kernel", c, f"epiq, {w}", whole), find("kernel", c, f"{peer}, {w}", whole))
             for c, w, peer in (("n = 500,", "exact", "NumPy/SciPy"), ("n = 2000", "exact", "NumPy/SciPy"),
                                (n8, "as printed", "NumPy/SciPy"), (n8, "as printed", "neural-tangents"))]
    small = [over(find("kernel", c, "epiq, as printed", whole), find("kernel", c, "neural-tangents, as printed", whole))
             for c in ("n = 500,", "n = 2000")]
    kernels = [over(find("kernel", c, "neural-tangents", "kernel alone"), find("kernel", c, "epiq", "kernel alone"))
               for c in ("n = 500,", "n = 2000", n8)]
    memory = most(find("kernel", n8, f"epiq, {w}", "peak memory") for w in ("as printed", "exact", "64 probes"))

    def threads(case):
        return over(find("process", case, "1 thread", "threads"), find("process", case, "2 threads", "threads"))

    def environment(case):
        plain = find("process", case, "nothing set", "environment")
        return most(over(statistics.median(r["values"]), plain)
                    for r in every("process", case=case, what="environment") if r["who"] != "nothing set")

    def blas():
        """The least times, which a machine that does other things disturbs least."""
        least = {(r["case"], r["who"]): min(r["values"]) for r in every("blas", what="environment")}
        return most(over(least[case, who], min(v for (c, w), v in least.items() if c == case and w != who))
                    for case, who in least if who == "nothing set")

    def gpu(case, what):
        return find("gpu", case, "epiq", what)

    # of Boston or of made-up rows; older files do not say which
    gpu_506 = next((r["case"] for r in rows if r["part"] == "gpu" and "n = 506" in r["case"]),
                   "n = 506, d = 13, depth 1")

    def torch_on_gpu(case):
        return over(*(find("gpu", case, who, "a network") for who in ("PyTorch", "epiq")))

    def beside_gpu(what):
        peers = [find("gpu", "n = 20000, d = 13", who, what) for who in ("CuPy", "JAX")]
        return over(gpu("n = 20000, d = 13", what), min((p for p in peers if p is not None), default=None))

    def large(who):
        return over(find("large", "n = 40000", f"epiq, {who}", "process"), find("large", "n = 40000", "bare", "process"))
    boston = next((r["case"] for r in rows if r["part"] == "process" and "506" in r["case"]), "?")
    return [
        ("EV, 506 rows, 50 members", "<", 5, epiq, "s"),
        ("... times faster than PyTorch's plain gradient descent", ">=", 100, over(plain, epiq), "x"),
        ("... times faster than PyTorch's best optimiser until it passes the same loss", ">=", 5, over(best, epiq), "x"),
        ("... until ten times its gradients gain no more than 1e-3, as is asked of epiq", ">=", 5, over(settled, epiq), "x"),
        ("... by processors' time, n = 1000, d = 32: PyTorch's best over epiq", ">=", 2, apart("made-up, n = 1000"), "x"),
        ("... lambda 1e-5, n = 506: PyTorch's best over epiq, by processors' time", ">=", 2,
         next((apart(r["case"]) for r in rows if r["part"] == "ev" and r["case"].startswith("lambda 1e-5") and "506" in r["case"]),
              None), "x"),
        ("two and three layers, PyTorch's best over epiq, by processors' time, worst width", ">=", 2, deep(), "x"),
        ("two and three layers, gradient: share of sgemm's rate, worst width", ">=", 0.6,
         min((r["values"][0] for r in every("deep", what="gradient: share")), default=None), "x"),
        ("two and three layers, whole training: share of sgemm's rate, worst width", ">=", 0.6,
         min((r["values"][0] for r in every("deep", what="training: share")), default=None), "x"),
        ("forecast of time, width and lambda given: largest ratio to the processors' time, either way", "<=", 1.5,
         find("forecast", "width and lambda given", what="farthest forecast from processors"), "x"),
        ("loss still to be gained by ten times as many steps of descent, worst member", "<=", 1e-3, left("descent"), ""),
        ("... by ten times as many gradients of the flow, worst member", "<=", 1e-3, left("flow"), ""),
        ("IF, 506 rows, whole process", "<", 0.1, find("process", boston, "epiq, IF"), "s"),
        ("BA, 506 rows, whole process", "<", 1, find("process", boston, "epiq, BA"), "s"),
        ("n = 8000 as printed over bare dpotrf + kernel's bound", "<=", 1.35, over(printed, floor), "x"),
        ("n = 8000, exact correction, over the same", "<=", 3.3, over(exact, floor), "x"),
        ("n = 8000, 64 probes, over the same", "<=", 1.6, over(probes, floor), "x"),
        ("kernel alone: neural-tangents over epiq, n = 500", ">=", 5, kernels[0], "x"),
        ("kernel alone: neural-tangents over epiq, n = 2000", ">=", 5, kernels[1], "x"),
        ("kernel alone: neural-tangents over epiq, n = 8000", ">=", 5, kernels[2], "x"),
        ("kernel, factor, IF: epiq over its fastest peer that does the same, worst size", "<=", 1, most(peers), "x"),
        ("... as printed, n = 500 and 2000, where epiq has the inverse, too: over neural-tangents", "<=", 1, most(small), "x"),
        ("peak memory at n = 8000 over one n x n double matrix", "<=", 1.1, memory, "x"),
        ("10,000 points at n = 4000 over bare dpotrs", "<=", 1.5,
         over(find("points", "n = 4000", "epiq"), find("points", "n = 4000", "bare dpotrs")), "x"),
        ("two threads over one: EV", ">=", 1.8, threads("EV"), "x"),
        ("two threads over one: kernel", ">=", 1.8, threads("kernel alone"), "x"),
        ("two threads over one: kernel, factor, IF", ">=", 1.8, threads("kernel, factor"), "x"),
        ("two threads over one: IF, n = 50", ">=", 0.95, threads("small: IF"), "x"),
        ("two threads over one: EV, n = 50", ">=", 0.95, threads("small: EV"), "x"),
        ("slowest setting of BLAS and OpenMP variables over none: EV", "<=", 1.05, environment("EV"), "x"),
        ("slowest setting of BLAS and OpenMP variables over none: IF", "<=", 1.05, environment("IF"), "x"),
        ("nothing set over the best core type of OpenBLAS, worst size", "<=", 1.1, blas(), "x"),
        ("epiq --version, whole process", "<", 0.01, find("process", "start-up", "epiq"), "s"),
        ("n = 40,000 as printed over bare dpotrf", "<=", 1.4, large("as printed"), "x"),
        ("n = 40,000, corrected, over the same", "<=", 1.5, large("corrected"), "x"),
        ("IF as printed, iterative from exact, worst of 20 points, n = 12,000", "<=", 0.02,
         find("iterative", "n = 12000", what="IF as printed"), ""),
        ("iterative, n = 200,000, 10 points: relative residual", "<=", 1e-6,
         find("iterative", "n = 200000", what="largest relative"), ""),
        ("iterative, n = 200,000, 10 points: peak memory", "<=", 25.7, find("iterative", "n = 200000", what="peak"), "GB"),
        ("forecast of memory over peak memory, largest difference from 1, over all runs", "<=", 0.1,
         most(abs(r["values"][0] - 1) for p in ("growth", "large", "iterative") for r in every(p, what="forecast of memory")), ""),
        ("GPU: IF as printed, n = 20,000, 100 points, whole process", "<=", 1, gpu("n = 20000, d = 13", "IF as printed"), "s"),
        ("GPU: IF as printed, n = 100,000, 100 points, whole process", "<=", 10, gpu("n = 100000", "IF as printed"), "s"),
        ("GPU: IF, exact correction, n = 100,000, 100 points, whole process", "<=", 30, gpu("n = 100000", "IF, exact"), "s"),
        ("GPU: kernel, n = 20,000: epiq over the faster of CuPy and JAX", "<=", 1, beside_gpu("kernel"), "x"),
        ("GPU: factor, n = 20,000: epiq over the faster of CuPy and JAX", "<=", 1, beside_gpu("factor"), "x"),
        ("GPU: training of 50 networks, 506 rows, width 1024", "<=", 0.3, gpu(gpu_506, "training of 50"), "s"),
        ("GPU: 1000 networks, 506 rows, width 1024, whole process", "<=", 3, gpu(gpu_506, "1000 networks"), "s"),
        ("GPU: 50 networks of three layers of 1024, n = 10,000, whole process", "<=", 60, gpu("n = 10000, d = 10, depth 3", "50"), "s"),
        ("GPU: n = 1,000,000: 50 networks, folds and retraining, whole process", "<=", 300, gpu("n = 1000000, d = 10", "50"), "s"),
        *((f"GPU: a network to the same loss, {case.partition('n = ')[2]}: PyTorch over epiq", ">=", 3, torch_on_gpu(case), "x")
          for case in (gpu_506, "n = 10000, d = 10, depth 2", "n = 10000, d = 10, depth 3")),
    ]


def goal_table():
    yield "| goal | wanted | measured | met |"
    yield "| --- | --- | --- | --- |"
    for name, sign, bound, value, unit in goals():
        met = value is not None and (value < bound if sign == "<" else value <= bound if sign == "<=" else
                                     value >= bound)
        shown = "not measured" if value is None else f"{number(value)} {unit}".strip()
        yield f"| {name} | {sign} {bound:g} {unit} | {shown} | {'-' if value is None else 'yes' if met else '**no**'} |"


# ---- tables ----

def reference(row, group):
    """What a row is compared with: epiq's (its first) figure of the same case and quantity."""
    if row["unit"] != "s":
        return None
    if row["what"] == "environment":
        return next(r for r in group if r["who"] == "nothing set")
    if row["what"] == "threads":
        return group[0]
    kind = row["who"].partition(", ")[2]
    ours = [r for r in group if r["who"].startswith("epiq")]
    return next((r for r in ours if kind and r["who"].partition(", ")[2].startswith(kind)), ours[0] if ours else None)


def part_table(part):
    mine = [r for r in rows if r["part"] == part and r["case"] != "harness" and "bound" not in r]
    if not mine:
        return
    yield "| case | quantity | who | median | least - most | over epiq | |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for r in sorted(mine, key=lambda r: (next(i for i, o in enumerate(mine) if o["case"] == r["case"]),
                                         next(i for i, o in enumerate(mine) if o["what"] == r["what"]))):
        group = [o for o in mine if (o["case"], o["what"]) == (r["case"], r["what"])]
        if r["missing"]:
            yield f"| {r['case']} | {r['what']} | {r['who']} | - | | | {r['missing']} |"
            continue
        middle, ref = statistics.median(r["values"]), reference(r, group)
        ratio = ""
        if ref and ref is not r and ref["values"]:
            ratio = number(middle / statistics.median(ref["values"]))
        spread = f"{number(min(r['values']))} - {number(max(r['values']))}" if len(r["values"]) > 1 else ""
        yield (f"| {r['case']} | {r['what']} | {r['who']} | {number(middle)} {r['unit']} | {spread} | {ratio} | "
               f"{r['note']} |")


BOUNDS = {
    "roofline": "The bound is the larger of operations over the gemm rate and bytes over the triad rate, each the best measured above "
                "with as many threads.",
    "gpu": "The bound is operations, or for what vectors alone do bytes, over the ceiling named. Products in single precision between hidden "
           "layers are made of three of TF32 each, and may exceed that of sgemm.",
}


def stage_table(part):
    stages = [r for r in rows if "bound" in r and r["part"] == part]
    if not stages:
        return
    yield ""
    yield "| stage of epiq | size | who | median s | least - most | Gflop | MB | bound s | share of the bound reached |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for r in stages:
        yield (f"| {r['what']} | {r['case']} | {r['who']} | {number(statistics.median(r['values']))} | "
               f"{number(min(r['values']))} - {number(max(r['values']))} | {number(r['flops'] / 1e9)} | "
               f"{number(r['bytes'] / 1e6)} | {number(r['bound'])} ({r['rate']}) | {100 * r['share']:.0f} % |")
    yield ""
    yield BOUNDS[part]


def lines():
    m = machine
    peers = m["peers"] if isinstance(m["peers"], str) else ", ".join(f"{k} {v}" for k, v in m["peers"].items())
    yield "# Benchmarks"
    yield ""
    yield "Written by `make bench`; [README.md](README.md) says what is measured and how."
    yield ""
    yield (f"{m['epiq']}, commit {m['commit']}, {m['date']}. {m['processor']}, {m['cores']} cores, {m['memory']}, "
           f"Linux {m['system']}, OpenBLAS {m['openblas']}; load before the run {m['load']}. Peers: {peers}. "
           f"{m['repetitions']} repetitions unless a row says otherwise, contenders in turn; the median, and the least "
           "and the most.")
    yield ""
    if m["quick"]:
        yield "**A quick run: one repetition, smaller sizes. It shows the form; the figures mean little.**"
        yield ""
    yield "## Goals"
    yield ""
    yield from goal_table()
    for part, title in TITLES.items():
        table = list(part_table(part))
        if table:
            yield from ["", f"## {title}", ""]
            where = [r["note"] for r in rows if r["part"] == part and r["case"] == "harness"]
            if where:  # parts can be run one by one, on several machines
                yield from [f"Measured at commit {where[0]}.", ""]
            yield from table
            yield from stage_table(part)
    took = [r for r in rows if r["case"] == "harness"]
    if took:
        yield ""
        yield "Time taken: " + ", ".join(f"{r['part']} {r['values'][0]:.0f} s" for r in took) + "."


RESULT.write_text("\n".join(lines()) + "\n")
