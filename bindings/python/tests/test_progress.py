"""Progress: a line on standard error, or a function of the caller's, which may end the call."""

import re
import subprocess
import sys

import epiq
import numpy as np
import pytest
from conftest import QUICK

LONG = {"members": 40, "width": 256, "lambda_": 0.01, "methods": "ev"}


def test_nothing_is_said_unless_asked(table, capfd):
    for progress in ({}, {"progress": False}, {"progress": None}):
        epiq.decompose(*table, **LONG, **progress)
    assert capfd.readouterr() == ("", "")


def test_a_line_is_drawn_and_removed(table, capsys):
    epiq.decompose(*table, **LONG, progress=True)
    said = capsys.readouterr()
    assert said.out == "" and "\n" not in said.err
    drawn = said.err.split("\r")
    assert any("/40 [" in one and one.startswith("members ") for one in drawn), drawn
    assert drawn[-1] == "" and not drawn[-2].strip()  # written over with spaces


def test_a_function_hears_every_stage_to_its_end(table):
    heard = []
    result = epiq.decompose(*table, **LONG, progress=lambda *now: heard.append(now))
    assert heard and all(0 <= done and (total is None or done <= total) for _, done, total in heard)
    assert [one for one in heard if one[0] == "members"][-1] == ("members", 40, 40)
    assert heard == sorted(heard, key=lambda one: [two[0] for two in heard].index(one[0]))  # one stage after the other
    assert result.json["points"] == epiq.decompose(*table, **LONG).json["points"]  # and nothing else changes


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y, at, **how: epiq.decompose(X, y, at, **QUICK, **how),
        lambda X, y, at, **how: epiq.plan(X, y, at, price_row=1, price_training=1, budget=9, width=32, **how),
        lambda X, y, at, **how: epiq.compare(X, y, at, width=[32], **how),
        lambda X, y, at, **how: epiq.explore(X, y, at, width=32, **how),
        lambda X, y, at, **how: epiq.EpistemicRegressor(**QUICK).fit(X, y, **how),
        lambda X, y, at, **how: epiq.EpistemicRegressor(**QUICK).fit(X, y).explain(at, **how),
        lambda X, y, at, **how: epiq.combine(at, jacobian=X, jacobian0=at[:3], y=y, **how),
    ],
)
def test_everything_long_tells_it(table, call):
    heard = []
    call(*table, progress=lambda stage, done, total: heard.append(stage))
    assert heard and all(isinstance(stage, str) for stage in heard)


def test_a_function_that_raises_ends_the_call(table):
    def fail(stage, done, total):
        if stage == "members":
            raise ZeroDivisionError(stage)

    with pytest.raises(ZeroDivisionError, match="members"):
        epiq.decompose(*table, **{**LONG, "members": 100000}, progress=fail)
    with pytest.raises(ZeroDivisionError):
        epiq.EpistemicRegressor(**QUICK).fit(*table[:2], progress=fail)
    with pytest.raises(epiq.InputError, match="members is 1"):  # which comes before
        epiq.decompose(*table, members=1, progress=fail)
    epiq.decompose(*table, **QUICK)


def test_what_is_no_function(table):
    for wrong in (1, "yes"):
        with pytest.raises(TypeError, match="progress is .*; it must be True, False or a function"):
            epiq.decompose(*table, **QUICK, progress=wrong)


def test_a_function_may_ask_epiq_itself(table):
    inner = []
    epiq.decompose(*table, **LONG, progress=lambda *_: inner.append(epiq.combine([1.0, 2.0]).procedural[0]))
    assert inner and set(inner) == {0.5}


def test_ctrl_c_while_a_line_is_shown():
    code = (
        "import _thread, threading, numpy as np, epiq\n"
        "X = np.random.default_rng(1).normal(size=(400, 5))\n"
        "threading.Timer(1, _thread.interrupt_main).start()\n"
        "epiq.decompose(X, X[:, 0], members=100000, width=64, lambda_=1e-3, progress=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "KeyboardInterrupt" in done.stderr
    assert re.search(r"\d+/\d+ \[", done.stderr)  # of whatever stage a second reaches on a busy machine
    assert "Error" not in done.stderr and done.returncode != 0


def test_without_standard_error(table, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert np.isfinite(epiq.decompose(*table, **LONG, progress=True).prediction).all()
