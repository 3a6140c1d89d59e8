#!/usr/bin/env python3
"""epiq and its peers on the same splits of real tables: errors, likelihood, coverage, and the processors' time.

    bench/scoreboard.py --data-dir FOLDER [--tables A,B] [--splits 20] [--methods A,B] [--jobs N] [--keep] [--page]

Every NAME.csv of the folder is a table, its target the last column. Rows are split by NAME.splits.csv, as `epiq study
benchmark` does; where there is none, by the splits that Hernandez-Lobato and Adams (2015) and those after them published
figures on: 20 permutations of the rows by numpy's generator with seed 1, of each the last tenth to be judged on. --keep
writes these into the folder for `epiq study benchmark`. Figures are added to bench/out/scoreboard.json split by split: a
run that was stopped, or one with more splits, goes on from there; --jobs asks about so many at once. bench/scoreboard.md shows them; --page writes it from
what is there and computes nothing.
"""
import argparse
import hashlib
import math
import random
import statistics
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

from harness import EPIQ, HERE, OUT, environment, say
from methods import LABELS, Methods, Records, command, read_csv, version

PAGE = HERE / "scoreboard.md"
# RMSE and log likelihood as Lakshminarayanan et al. (2017), table 1, lists them.
PUBLISHED = {
    "boston": {"PBP": (3.01, -2.57), "MC dropout": (2.97, -2.46), "deep ensembles": (3.28, -2.41)},
    "concrete": {"PBP": (5.67, -3.16), "MC dropout": (5.23, -3.04), "deep ensembles": (6.03, -3.06)},
    "energy": {"PBP": (1.80, -2.04), "MC dropout": (1.66, -1.99), "deep ensembles": (2.09, -1.38)},
    "wine": {"PBP": (0.64, -0.97), "MC dropout": (0.62, -0.93), "deep ensembles": (0.64, -0.94)},
    "yacht": {"PBP": (1.02, -1.63), "MC dropout": (1.11, -1.55), "deep ensembles": (1.58, -1.18)},
}
COLUMNS = {"count": "splits", "rmse": "RMSE", "paired": "less epiq's", "likelihood": "log likelihood", "crps": "CRPS",
           "squared_z": "squared z", "coverage": "coverage, %", "width": "width", "cpu": "seconds"}


# ---- splits ----

def generator(seed):
    """numpy.random.RandomState(seed): the same Mersenne twister as Python's, seeded in another way."""
    state = [seed]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
    twister = random.Random()
    twister.setstate((3, (*state, 624), None))
    return twister


def permutation(twister, n):
    """As numpy's RandomState.permutation draws it."""
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = i + 1
        while j > i:
            j = twister.getrandbits(32) & ((1 << i.bit_length()) - 1)
        order[i], order[j] = order[j], order[i]
    return order


def published_splits(n):
    """Rows to be judged on, from 0, of each of 20 splits."""
    twister = generator(1)
    return [permutation(twister, n)[round(0.9 * n):] for _ in range(20)]


def splits_of(folder, name, n, keep):
    path = folder / f"{name}.splits.csv"
    if path.exists():
        return [[int(v) - 1 for v in line.split(",")] for line in path.read_text().splitlines()], "of its splits.csv"
    splits = published_splits(n)
    if keep:
        path.write_text("".join(",".join(str(i + 1) for i in split) + "\n" for split in splits))
    return splits, "as published"


def repeated(rows, split):
    """The share of the rows judged on that stand among those learned from, target and all."""
    judged = set(split)
    learned = {tuple(row) for i, row in enumerate(rows) if i not in judged}
    return statistics.fmean(tuple(rows[i]) in learned for i in split)


# ---- scores ----

def normal_scores(y, mean, sd):
    """Log likelihood, CRPS and squared z of one observation, for a normal distribution."""
    z = (y - mean) / sd
    density, below = math.exp(-z * z / 2) / math.sqrt(2 * math.pi), (1 + math.erf(z / math.sqrt(2))) / 2
    return (-z * z / 2 - math.log(sd * math.sqrt(2 * math.pi)),
            sd * (z * (2 * below - 1) + 2 * density - 1 / math.sqrt(math.pi)), z * z)


def score(truth, got):
    """Means over the rows; those of the interval and of the normal distribution over the rows that have one: outside the
    range of the rows learned from epiq gives none."""
    scores = {"rmse": math.sqrt(statistics.fmean((y - m) ** 2 for y, m in zip(truth, got["mean"]))), "cpu": got["cpu"]}
    if "sd" in got:
        each = [normal_scores(y, m, sd) for y, m, sd in zip(truth, got["mean"], got["sd"]) if sd]
        scores.update(zip(("likelihood", "crps", "squared_z"), map(statistics.fmean, zip(*each))))
    ends = [(y, lo, hi) for y, lo, hi in zip(truth, got["lo"], got["hi"]) if lo is not None]
    scores["coverage"] = 100 * statistics.fmean(lo <= y <= hi for y, lo, hi in ends)
    scores["width"] = statistics.fmean(hi - lo for _, lo, hi in ends)
    scores["judged"] = len(ends) / len(truth)
    return scores


def run(folder, tables, names, count, keep, compute_more, jobs):
    """A record for each table, split and method; those already there are not computed again."""
    records, own = Records(OUT / "scoreboard.json"), threading.local()
    if compute_more and set(names) - {"epiq"}:
        environment()  # once, before all ask for it
    with ExitStack() as open_ones, ThreadPoolExecutor(jobs, initializer=lambda: setattr(
            own, "methods", open_ones.enter_context(closing(Methods())))) as pool:
        wanted, repeats = [], {}
        for name in tables:
            path = folder / f"{name}.csv"
            header, rows = read_csv(path)
            splits, source = splits_of(folder, name, len(rows), keep)
            repeats[name] = statistics.fmean(repeated(rows, split) for split in splits)
            content = hashlib.sha256(path.read_bytes() + repr(splits).encode()).hexdigest()[:12]
            for number, split in enumerate(splits[:count], 1):
                judged = set(split)
                learn = [row for i, row in enumerate(rows) if i not in judged]
                points, truth = [rows[i][:-1] for i in split], [rows[i][-1] for i in split]
                for method in names:
                    def compute(table=name, number=number, method=method, header=header, learn=learn, points=points,
                                truth=truth, size=len(rows), source=source):
                        got = own.methods.ask(method, header, learn, points, number)
                        scores = got if "missing" in got else score(truth, got)
                        say(f"{table}, split {number}: {method}: " + (scores.get("missing") or
                            f"RMSE {scores['rmse']:.4g}, coverage {scores['coverage']:.3g} %, {scores['cpu']:.1f} s"))
                        return {"table": table, "split": number, "method": method, "rows": size,
                                "features": len(header) - 1, "splits": source, **scores}
                    key = name, content, number, method, version(method)
                    if compute_more or key in records.all:
                        wanted.append(pool.submit(records.get, key, compute))
        return [r | {"repeats": repeats[r["table"]]} for r in (w.result() for w in wanted)]


# ---- the page ----

def mean_and_error(values):
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return statistics.fmean(values), error


def shown(values):
    mean, error = mean_and_error(values)
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if len(values) > 1 else "")


def table_of(records):
    """Markdown: a line for each method, means over splits with their standard errors."""
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    epiq = {r["split"]: r["rmse"] for r in records if r["method"] == "epiq" and "rmse" in r}
    for method in dict.fromkeys(r["method"] for r in records):
        own = [r for r in records if r["method"] == method]
        why = next((r["missing"] for r in own if "missing" in r), None)
        if why:
            lines.append(f"| {LABELS[method]} | {why} " + "| " * (len(COLUMNS) - 1) + "|")
            continue
        paired = [r["rmse"] - epiq[r["split"]] for r in own if r["split"] in epiq and method != "epiq"]
        cells = {c: shown([r[c] for r in own]) for c in COLUMNS if c in own[0]}
        cells |= {"count": str(len(own)), "paired": shown(paired) if paired else ""}
        lines.append(f"| {LABELS[method]} | " + " | ".join(cells.get(c, "") for c in COLUMNS) + " |")
    for who, (rmse, likelihood) in PUBLISHED.get(records[0]["table"], {}).items():
        lines.append(f"| {who}, published | 20 | {rmse:.2f} | | {likelihood:.2f} " + "| " * (len(COLUMNS) - 4) + "|")
    return lines


INTRODUCTION = """# Scoreboard: epiq and its peers on the same splits

Made by `{command}`, {version}, {date}. epiq is `epiq fit` and `epiq predict` with their defaults;
`bench/peer_uncertainty.py` has the settings of the others.

Figures are means over splits with the standard errors of these means. Most of such an error is due to which rows a split
judges on, so errors are to be compared by the column *less epiq's*: the RMSE less epiq's split by split. Log likelihood and
CRPS are those of a normal distribution with the method's mean and standard deviation of an observation; squared z is 1 where
these standard deviations are right; coverage and width are those of 95 % intervals; seconds are those of one processor, for
one split. Published figures are their authors'. MAPIE gives intervals and no standard deviation."""


def page(records):
    version = subprocess.run([EPIQ, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    lines = [INTRODUCTION.format(command=command().replace(" --page", ""), version=version, date=time.strftime("%Y-%m-%d"))]
    for name in dict.fromkeys(r["table"] for r in records):
        own = [r for r in records if r["table"] == name]
        judged = [r["judged"] for r in own if r["method"] == "epiq" and "judged" in r]
        few = (f" epiq gives intervals at {100 * statistics.fmean(judged):.1f} % of the rows judged on: the others lie "
               "outside the range of the rows it learned from." if judged and min(judged) < 1 else "")
        share = 100 * own[0]["repeats"]
        again = (f" Of the rows judged on {share:.0f} % stand among those learned from, target and all: log likelihood, which has no "
                 "upper end, favours methods that take such rows for certain." if share >= 10 else "")
        size = f"{own[0]['rows']} rows, {own[0]['features']} features"
        lines += ["", f"## {name}", "", f"{size}; splits {own[0]['splits']}.{few}{again}", "", *table_of(own)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with tables NAME.csv")
    parser.add_argument("--tables", help="of them, in a list (default: all)")
    parser.add_argument("--splits", type=int, default=20, help="of each table, from the first (default: 20)")
    parser.add_argument("--methods", default=",".join(LABELS), help=f"in a list (default: {','.join(LABELS)})")
    parser.add_argument("--jobs", type=int, default=1, help="questions asked at once, each on one core (default: 1)")
    parser.add_argument("--keep", action="store_true", help="write the splits beside the tables")
    parser.add_argument("--page", action="store_true", help="write the page from the figures that are there")
    a = parser.parse_args()
    there = sorted(p.stem for p in a.data_dir.glob("*.csv") if not p.stem.endswith(".splits"))
    tables, names = a.tables.split(",") if a.tables else there, a.methods.split(",")
    for wrong in [t for t in tables if t not in there] + [m for m in names if m not in LABELS]:
        parser.error(f"there is no {wrong}; there are {', '.join(there)} and {', '.join(LABELS)}")
    OUT.mkdir(exist_ok=True)
    records = run(a.data_dir, tables, names, a.splits, a.keep, not a.page, a.jobs)
    PAGE.write_text(page(records))
    say(f"{PAGE} written")


if __name__ == "__main__":
    main()
