"""The package as a whole: types, examples, names, and how soon it is there."""

import doctest
import importlib
import importlib.metadata
import pathlib
import pkgutil
import re
import subprocess
import sys
import typing

import epiq
import numpy as np
import pytest
from conftest import ROOT
from epiq import _epiq, _options


def test_version_is_the_headers():
    assert f'EPIQ_VERSION "{epiq.__version__}"' in (ROOT / "include" / "epiq.h").read_text()
    assert importlib.metadata.version("epiq") == epiq.__version__


def test_options_are_the_table():
    typed = set(typing.get_type_hints(epiq.Options))
    assert typed == {_options.spelled(name) for name in _options.DECOMPOSE}
    for named, table in (
        (epiq.CombineOptions, _options.COMBINE),
        (epiq.PlanOptions, _options.PLAN),
        (epiq.CompareOptions, _options.COMPARE),
        (epiq.ExploreOptions, _options.EXPLORE),
    ):
        assert set(typing.get_type_hints(named)) == {_options.spelled(name) for name in table}, named
    for name, _, _, choices, *_ in _epiq.options():
        if choices and name in _options.DECOMPOSE:
            hint = typing.get_type_hints(epiq.Options)[_options.spelled(name)]
            assert list(typing.get_args(hint)) == choices.split("|"), name


def test_everything_public_is_documented():
    for name in set(epiq.__all__) - {"__version__"}:
        assert getattr(epiq, name).__doc__, name


def modules():
    return ["epiq"] + [f"epiq.{m.name}" for m in pkgutil.iter_modules(epiq.__path__) if m.name != "_epiq"]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_types():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "epiq"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    use = pathlib.Path(__file__).with_name("typed_use.py")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(use)], cwd=ROOT, capture_output=True, text=True)
    wrong = [n for n, line in enumerate(use.read_text().splitlines(), 1) if "# wrong" in line]
    assert sorted({int(n) for n in re.findall(r"typed_use.py:(\d+): error", done.stdout)}) == wrong, done.stdout


def test_it_is_there_at_once(python):
    code = "import time, numpy; t = time.perf_counter(); import epiq; print(time.perf_counter() - t)"
    assert min(float(python(code).stdout) for _ in range(3)) < 0.2
    assert "False" in python("import epiq, sys; print('pandas' in sys.modules or 'sklearn' in sys.modules)").stdout


def test_five_lines_are_enough(python, tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.random.default_rng(1).normal(size=(200, 4)), y=np.arange(200.0))
    done = python(
        "import numpy, epiq\nmine = numpy.load('mine.npz')\nprint(epiq.decompose(mine['X'], mine['y']))", cwd=tmp_path
    )
    assert done.returncode == 0 and "Advice: " in done.stdout, done.stderr


INNER = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("_epiq", {_epiq.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(len(module.options()), module.InputError.__mro__[1].__name__)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the limited API of 3.11 cannot say that interpreters may share it")
def test_interpreters_have_modules_of_their_own(python):
    done = python(
        "import _xxsubinterpreters as s\n"
        "for k in range(2):\n"
        "    i = s.create()\n"
        f"    s.run_string(i, {INNER!r})\n"
        "    s.destroy(i)\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(_epiq.options())} Error\n" * 2
