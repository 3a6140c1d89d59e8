"""epiq and its peers as scoreboard.py and truth.py ask them: rows and points in, for each point the mean, the sd of an
observation, the epistemic sd, and the ends of the 95 % interval out. Standard library alone.
"""
import csv
import hashlib
import json
import sys
import tempfile
import threading
from pathlib import Path

from harness import EPIQ, HERE, OUT, VENV, Contender, environment, process

LABELS = {
    "epiq": "epiq",
    "gp": "Gaussian process",
    "ensemble": "deep ensemble, 40 epochs",
    "ensemble_long": "deep ensemble, 400 epochs",
    "laplace": "Laplace",
    "mapie": "MAPIE",
}
PEER = HERE / "peer_uncertainty.py"
# Each works on one core, so that seconds of processors mean the same for all.
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


def command():
    """This program's command line, but for where the tables are on this machine."""
    words = [f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]
    return " ".join("FOLDER" if before == "--data-dir" else word for before, word in zip(["", *words], words))


def write_csv(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def read_csv(path):
    """The header, and rows of numbers; None where a cell is empty."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, [[float(v) if v else None for v in row] for row in rows]


class Records:
    """Results in a JSON file by what they are of: each is computed once, and kept as soon as it is. What was missing is
    tried again."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.all = {tuple(r["key"]): r for r in json.loads(path.read_text())} if path.exists() else {}

    def get(self, key, compute):
        if "missing" in self.all.get(key, {"missing": "not computed yet"}):
            found = {"key": key, **compute()}
            with self.lock:
                self.all[key] = found
                self.path.write_text(json.dumps(list(self.all.values()), indent=1))
        return self.all[key]


def version(name):
    """Changes with the program that answers."""
    return hashlib.sha256((EPIQ if name == "epiq" else PEER).read_bytes()).hexdigest()[:12]


class Methods:
    """Asks one method after another; what cannot answer says why."""

    def __init__(self):
        self.folder, self.peer = tempfile.TemporaryDirectory(dir=OUT), None

    def ask(self, name, header, rows, points, seed):
        """rows: the target is last. The answer's lists, and cpu, the seconds of processors; or missing, with the reason."""
        table, at, model, answers = (Path(self.folder.name) / part for part in ("rows.csv", "points.csv", "rows.epiq",
                                                                               "answers.csv"))
        write_csv(table, header, rows)
        write_csv(at, header[:-1], points)
        if name != "epiq":
            self.peer = self.peer or Contender([VENV / "bin/python", PEER], environment(), ONE_CORE)
            return self.peer(name, table, at, seed)
        cpu = sum(process(*words, "--quiet", "--threads", "1")["cpu"] for words in (
            (EPIQ, "fit", table, "--target", header[-1], "--seed", seed, "-o", model),
            (EPIQ, "predict", model, at, "--csv", answers)))
        names, lines = read_csv(answers)
        column = dict(zip(names, zip(*lines)))
        sd = [None if noise is None else (own**2 + noise**2) ** 0.5 for own, noise in zip(column["sd"], column["noise"])]
        return {"mean": column["prediction"], "sd": sd, "epistemic": column["sd"], "lo": column["lo"], "hi": column["hi"],
                "cpu": cpu}

    def close(self):
        if self.peer:
            self.peer.close()
        self.folder.cleanup()
