"""What the tests share: arrays, and the command line to compare with (EPIQ_CLI, or build/epiq)."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
QUICK = {"width": 32, "members": 6, "batches": 3, "lambda_": 0.01}


# Started in the background of a script it is ignored, and every process the tests start and interrupt would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """What loads JAX and PyTorch comes last: both run threads, and other tests fork."""
    items.sort(key=lambda item: item.path.name in ("test_agreement.py", "test_examples.py"))


@pytest.fixture(scope="session")
def table():
    """60 rows of 3 features, 5 points."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (60, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60)
    return X, y, rng.uniform(-1, 1, (5, 3))


@pytest.fixture(scope="session")
def given():
    """What 12 networks brought along predicted at 4 points, and their Jacobians of 50 parameters at 30 rows."""
    rng = np.random.default_rng(8)
    J, J0 = rng.normal(size=(30, 50)), rng.normal(size=(4, 50))
    return {
        "ensemble": rng.normal(size=(12, 4)),
        "batched": rng.normal(size=(5, 4)),
        "gram": J @ J.T,
        "cross": J @ J0.T,
        "y": rng.normal(size=30),
        "yhat": rng.normal(size=30) / 10,
        "jacobian": J,
        "jacobian0": J0,
        "resampled": rng.normal(size=(6, 4)),
    }


class Cli:
    def __init__(self, path):
        self.path = path

    def run(self, *args, cwd):
        return subprocess.run([self.path, *map(str, args)], cwd=cwd, capture_output=True, text=True, check=False)

    def json(self, *args, cwd):
        done = self.run(*args, "--json", "-", "--quiet", cwd=cwd)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.replace("at.npy:", ""))  # points of an array are numbered alone

    def sentence(self, *args, cwd):
        """What it says when it refuses, with options as Python spells them."""
        done = self.run(*args, cwd=cwd)
        assert done.returncode in (1, 2, 3), done
        (line,) = done.stderr.splitlines()
        said = line.removeprefix("epiq: ")
        return re.sub(r"--([a-z][a-z0-9-]*)", lambda m: m[1].replace("-", "_"), said)


@pytest.fixture(scope="session")
def cli():
    path = os.environ.get("EPIQ_CLI", str(ROOT / "build" / "epiq"))
    if not os.access(path, os.X_OK):
        pytest.skip("the command line is not built; EPIQ_CLI names it")
    return Cli(path)


@pytest.fixture
def python():
    """Runs Python in a process of its own."""

    def run(code, **how):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **how)

    return run


def as_python(value):
    """What the command line told, with options as Python spells them."""
    text = re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda flag: flag[1].replace("-", "_"), json.dumps(value))
    return json.loads(text)


def flags(options):
    return [text for k, v in options.items() for text in (f"--{k.rstrip('_').replace('_', '-')}", str(v))]
