#!/usr/bin/env python3
"""What epiq does on the GPU of this machine: each stage beside the ceilings of the device, whole commands, and the same by PyTorch,
CuPy and JAX. FOLDER: a build folder after make cuda, or what tools/gpu-carry made of one. The figures go to RESULT, one JSON
object per line; as bench/out/gpu.jsonl they are a part of bench/results.md. --boston: Boston housing, otherwise made-up rows of its size.

    bench/gpu.py FOLDER RESULT [--boston FILE.csv]"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import HERE, ROOT, commit, say

LARGE = 20000  # rows of the kernel that peers compute too
STAGE = re.compile(r"^ {12}(\S.*?) +([\d.]+) us +([\d.]+) (TFLOP/s|GB/s)$")
CASE = re.compile(r"^ {8}(\d+ networks, .*):$")
MATRIX = re.compile(r"^ +(\d+) rows: kernel ([\d.]+) s, factor ([\d.]+) s .*, (\d+) solves ([\d.]+) s, inverse ([\d.]+) s")
PEER = re.compile(r"^(.*): ([\d.]+) s, (\d+) gradients a network$")


class Figures:
    """The rows of a part, as bench/run keeps them."""

    def __init__(self, result):
        self.result, self.rows = result, []

    def add(self, case, who, what, value=None, unit="s", note="", missing=None, **more):
        self.rows.append({"part": "gpu", "case": case, "who": who, "what": what, "unit": unit, "note": note, "missing": missing,
                          "values": [] if value is None else [value], **more})
        say(f"  {case}: {who}: {what}: {missing or f'{value:.4g} {unit}'} {note}")
        self.result.write_text("".join(json.dumps(row) + "\n" for row in self.rows))


def peers_and_ceilings(part):
    """Adds the rows of the peers and the ceilings; returns the ceilings, in FLOP/s or byte/s, by name."""
    ceiling, case = {}, f"n = {LARGE}, d = 13"
    got = subprocess.run([sys.executable, HERE / "peer_gpu_kernel.py", str(LARGE), "13"], capture_output=True, text=True, check=True).stdout
    for row in map(json.loads, got.splitlines()):
        if "missing" in row:
            part.add(case, row["who"], "kernel", missing=row["missing"])
        elif "rate" in row:
            ceiling[row["what"]] = row["rate"]
            part.add("ceilings", "machine", row["what"], row["rate"] / 1e12, "TB/s" if row["what"] == "copy" else "TFLOP/s")
        else:
            part.add(case, row["who"], row["what"], row["seconds"])
    return ceiling


def bound_of(name, depth):
    """The ceiling that a step of training is compared with: rough products between hidden layers are TF32 ones."""
    if "slowed" in name or "products" in name or "sum" in name:
        return "copy"
    if "double" in name:
        return "dgemm"
    return "TF32 gemm" if "rough" in name and depth > 1 else "sgemm"


def stages(part, folder, libraries, ceiling):
    got = subprocess.run([folder / "gpu_agrees", folder / "libepiq_cuda.so", "-3"], capture_output=True, text=True, check=True,
                         env=libraries).stdout
    case = depth = None
    for line in got.splitlines():
        if found := CASE.match(line):
            case, depth = found[1], int(line.rstrip(":").rsplit(" ", 1)[1])
        elif found := STAGE.match(line):
            name, seconds, rate = found[1], 1e-6 * float(found[2]), float(found[3]) * (1e12 if found[4] == "TFLOP/s" else 1e9)
            limit = bound_of(name, depth)
            amount, nothing = ("bytes", "flops") if limit == "copy" else ("flops", "bytes")
            part.add(case, "epiq", name, seconds, rate=limit, share=rate / ceiling[limit], bound=seconds * rate / ceiling[limit],
                     **{amount: seconds * rate, nothing: 0})
        elif found := MATRIX.match(line):
            n, size = int(found[1]), f"n = {found[1]}, d = 13"
            for what, seconds, flops in (("kernel", found[2], None), ("factor", found[3], n**3 / 3),
                                         (f"{found[4]} solves", found[5], 2.0 * n * n * int(found[4])), ("inverse", found[6], 2 * n**3 / 3)):
                seconds = float(seconds)
                part.add(size, "epiq", what, seconds)
                if flops:
                    least = flops / ceiling["dgemm"]
                    part.add(size, "epiq", what, seconds, flops=flops, bytes=8 * n * n, rate="dgemm", bound=least, share=least / seconds)


class Command:
    """The command on the GPU, as whole processes."""

    def __init__(self, part, folder, libraries, work):
        self.part, self.epiq, self.libraries, self.work = part, folder / "epiq", libraries, work

    def table(self, n, d):
        path = self.work / f"rows_{n}_{d}.csv"
        if not path.exists():
            with open(path, "w") as file:
                subprocess.run([self.epiq, "synth", "1", "--n", str(n), "--d", str(d), "--seed", "1"], stdout=file, check=True,
                               env=self.libraries)
        return path

    def __call__(self, case, what, rows, *flags):
        self.result = self.work / "result.json"
        words = [self.epiq, "estimate", rows, *flags, "--device", "gpu", "--lambda", 1e-3, "--quiet", "--json", self.result]
        start = time.perf_counter()
        subprocess.run([str(w) for w in words], check=True, env=self.libraries)
        seconds, got = time.perf_counter() - start, json.loads(self.result.read_text())
        timing = ", ".join(f"{k} {v:.2g}" for k, v in got["timing"].items() if v > 1e-3)
        self.part.add(case, "epiq", what, seconds, note=f"whole process; of it {timing}")
        return got


def commands(part, epiq, boston):
    for n in (LARGE, 100000):
        for what, flags in (("IF as printed, 100 points", ["--correction", "none", "--influential", 0]),
                            ("IF, exact correction, 100 points", [])):
            epiq(f"n = {n}, d = 13", what, epiq.table(n, 13), "--target", "y", "--engine", "infinite", "--methods", "if",
                 "--at", epiq.table(100, 13), *flags)
    usual = ["--at", "mean", "--methods", "ev", "--data-by", "if", "--fold-members", 0, "--width", 1024]
    case = f"{'Boston' if boston else 'made-up'}, n = 506, d = 13, depth 1"
    rows, target = boston or epiq.table(506, 13), "medv" if boston else "y"
    for m in (1000, 50):
        got = epiq(case, f"{m} networks", rows, "--target", target, *usual, "--members", m)
        part.add(case, "epiq", f"training of {m} networks", got["timing"]["ev"])
    peers(part, case, rows, epiq.result, got)
    for depth in (2, 3):
        case, rows = f"n = 10000, d = 10, depth {depth}", epiq.table(10000, 10)
        got = epiq(case, "50 networks", rows, "--target", "y", *usual, "--depth", depth, "--members", 50)
        peers(part, case, rows, epiq.result, got)
    epiq("n = 1000000, d = 10", "50 networks, folds and retraining", epiq.table(1000000, 10), "--target", "y", "--at", "mean",
         "--width", 1024)


def peers(part, case, rows, result, got):
    """The fastest of PyTorch's optimisers to the same loss, one network after the other."""
    what = "a network, to the same loss"
    part.add(case, "epiq", what, got["timing"]["ev"] / got["training"]["members"], note=f"{got['training']['iterations_median']} gradients")
    told = subprocess.run([sys.executable, HERE / "peer_gpu.py", rows, result], capture_output=True, text=True)
    ways = [(float(f[2]), f[1], f[3]) for f in map(PEER.match, told.stdout.splitlines()) if f]
    if not ways:
        part.add(case, "PyTorch", what, missing=(told.stderr.strip().splitlines() or ["nothing printed"])[-1][:160])
        return
    seconds, way, gradients = min(ways)
    part.add(case, f"PyTorch, {way}", what, seconds, note=f"{gradients} gradients; the fastest of {len(ways)} ways")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("folder", type=Path)
    flags.add_argument("result", type=Path)
    flags.add_argument("--boston", type=Path)
    given = flags.parse_args()
    folder, begun = given.folder.resolve(), time.perf_counter()
    found = subprocess.run([ROOT / "tools" / "gpu-libraries", folder], capture_output=True, text=True, check=True).stdout
    libraries = {**os.environ, "LD_LIBRARY_PATH": ":".join([found.strip(), os.environ.get("LD_LIBRARY_PATH", "")]).rstrip(":")}
    model = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    given.result.parent.mkdir(parents=True, exist_ok=True)
    part = Figures(given.result)
    stages(part, folder, libraries, peers_and_ceilings(part))
    with tempfile.TemporaryDirectory() as work:
        commands(part, Command(part, folder, libraries, Path(work)), given.boston)
    part.add("harness", "bench/gpu.py", "seconds of this part", time.perf_counter() - begun,
             note=f"{commit(folder)}, {model}, {os.cpu_count()} cores beside it, {time.strftime('%Y-%m-%d')}")


main()
