"""While it runs: Ctrl-C, other threads, other locales, forked processes; and nothing is left behind."""

import concurrent.futures
import gc
import locale
import multiprocessing
import resource
import signal
import subprocess
import sys
import threading
import time

import epiq
import numpy as np
import pytest
from conftest import QUICK
from epiq import _model

LONG = """
import numpy as np, epiq
X = np.random.default_rng(1).normal(size=(400, 5))
print("ready", flush=True)
epiq.{call}
"""


@pytest.mark.parametrize(
    "call",
    ["decompose(X, X[:, 0], members=100000)", "_model.fit(X, X[:, 0], options={'members': 3000, 'threads': 1})"],
)
def test_ctrl_c_ends_it_within_a_second(call):
    code = LONG.format(call=call).replace("import numpy", "import epiq._model, numpy")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)  # well among the members
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    took = time.monotonic() - began
    assert "KeyboardInterrupt" in error and process.returncode in (1, -signal.SIGINT, 130)
    assert took < 1, took


DAEMON = """
import threading, time
import numpy as np, epiq
rng = np.random.default_rng(1)
J, y = rng.normal(size=(900, 20000)).astype("f4"), rng.normal(size=900)
begun = threading.Event()

def work():
    while True:
        begun.set()
        try:
            epiq.combine(jacobian=J, jacobian0=J[:2], y=y)
        except epiq.Error as error:
            {then}

threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.2)
"""


@pytest.mark.parametrize("then", ["return", "pass"], ids=["once", "again and again"])
def test_python_ends_while_a_daemon_thread_works(python, then):
    """exit() takes BLAS apart, which no work may be using then."""
    done = python(DAEMON.format(then=then))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_thread_that_ends_python_may_still_work(python):
    code = "import atexit; atexit.register(lambda: print(len(epiq.combine([1.0, 2.0])))); import epiq"
    done = python(code)  # the function registered first is called last
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_a_fork_does_not_wait_for_the_work_of_its_parent(python):
    code = DAEMON.format(then="return").replace("J, y", "import os; J, y") + """
child = os.fork()
if child:
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert time.monotonic() < began + 5
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_a_handler_may_raise_what_it_likes(table):
    def raising(*_):
        raise ZeroDivisionError("from the handler")

    before = signal.signal(signal.SIGALRM, raising)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(ZeroDivisionError, match="from the handler"):
            epiq.decompose(*table, members=100000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    epiq.decompose(*table, **QUICK)  # and nothing is broken


def test_other_threads_run_meanwhile(table):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    while time.monotonic() < began + 1:  # one call takes well over a tick
        epiq.decompose(*table, members=60, width=1024)
    done.set()
    thread.join()
    assert len(ticks) > 50  # of 200 if nobody else needs the cores; with the lock held it would be one a call


def test_calls_at_the_same_time_give_the_same_bits(table):
    want = epiq.decompose(*table, **QUICK).json["points"]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for result in pool.map(lambda _: epiq.decompose(*table, **QUICK), range(9)):
            assert result.json["points"] == want
    for threads in (1, 2, 5):
        assert epiq.decompose(*table, threads=threads, **QUICK).json["points"] == want


def in_child(table):
    return epiq.decompose(*table, **QUICK).json["points"]


def test_forked_processes_work(table):
    want = in_child(table)  # threads have run here before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(in_child, [table] * 4) == [want] * 4


def test_numbers_have_points_in_any_locale(table, tmp_path):
    want = epiq.decompose(*table, **QUICK)
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            pass
    else:
        pytest.skip("no locale with decimal commas is installed")
    try:
        there = epiq.decompose(*table, **QUICK)
        assert there.json["points"] == want.json["points"]
        assert there.text.splitlines()[1:] == want.text.splitlines()[1:]
        with pytest.raises(epiq.InputError, match="lambda is 0; it must lie in"):
            epiq.decompose(*table, lambda_=0)
    finally:
        locale.setlocale(locale.LC_ALL, before)


def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_nothing_is_left_behind(table):
    X, y, at = (np.ascontiguousarray(a) for a in table)
    names = tuple(f"name {k}" for k in range(3))
    model = _model.fit(X, y, options=QUICK)
    held = model.to_bytes()

    def once():
        epiq.decompose(X, y, at, group=np.arange(60), engine="infinite")
        epiq.combine(at, jacobian=X, jacobian0=at[:3], y=y)
        epiq.plan(X, y, at, price_row=1, price_training=1, budget=9, engine="infinite", progress=lambda *_: None).text
        epiq.compare(X, y, at, lambda_=[0.1, 1], folds=0, engine="infinite").json
        epiq.explore(X, y, at, batch=2, engine="infinite").json
        with pytest.raises(ZeroDivisionError):
            epiq.decompose(X, y, at, engine="infinite", progress=lambda *_: 1 / 0)
        with pytest.raises(epiq.InputError):
            epiq.compare(X, y, at, lambda_=[0.1, -1])
        model.score(X, y, {"level": "0.9"}, False, "score").text()
        _model.predict(_model.model_from_bytes(held), at, ["prediction", "lo", "hi", "sd"])
        for wrong in ({"members": 1}, {"state": "/no/such/file"}):
            with pytest.raises(epiq.Error):
                epiq.decompose(X, y, at, **{**QUICK, **wrong})
        with pytest.raises(epiq.InputError):
            epiq.decompose(X, y[:-1])
        with pytest.raises(epiq.Error):
            epiq.combine(gram=X @ X.T, cross=X, y=y - np.inf)
        with pytest.raises(epiq.FileError):
            _model.model_from_bytes(held[:-1])
        with pytest.raises(TypeError):
            model.predict(y)

    objects = [X, y, at, names, held, model, None, epiq.InputError]
    for _ in range(20):
        once()
    gc.collect()
    counts, before, blocks = [sys.getrefcount(o) for o in objects], rss(), sys.getallocatedblocks()
    for _ in range(200):
        once()
    gc.collect()
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 20 for a, b in zip(after, counts)), (counts, after)  # a leak would make it 200
    assert sys.getallocatedblocks() - blocks < 200
    assert rss() - before < 8 << 20  # the model alone, lost each time, would be 20 MB
