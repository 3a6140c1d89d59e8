"""The examples run as they stand, and what they find is what plain formulas make of their networks."""

import runpy
import time
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"


def run(name, capsys):
    began = time.process_time()
    names = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert time.process_time() - began < 120  # a minute of two cores, whoever else uses them
    return names, capsys.readouterr().out


def test_all_are_here_and_short():
    tested = {"1_first", "2_regressor", "torch_network", "torch_retrained", "jax_network", "sklearn_mlp"}
    assert {p.stem for p in EXAMPLES.glob("*.py")} == tested
    for p in EXAMPLES.glob("*.py"):
        text = p.read_text().split('"""', 2)[2]
        code = [line for line in text.splitlines() if line.strip() and not line.strip().startswith(('"""', "#"))]
        assert len(code) < 40, (p.name, len(code))


def test_first(capsys):
    names, out = run("1_first", capsys)
    result = names["result"]
    members = np.asarray(result.members)
    np.testing.assert_allclose(result.procedural, members.var(1, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(result.single, result.data + result.procedural, rtol=1e-9)
    assert "Advice:" in out and "prediction interval" in out


def test_regressor(capsys):
    names, out = run("2_regressor", capsys)
    _, sd, parts = names["predicted"]
    np.testing.assert_allclose(sd**2, parts.data + parts.procedural / 20, rtol=1e-12)
    assert sd[2] > 3 * sd[:2].max(), "far outside the rows it knows less"
    assert names["regressor"].score(names["X"][250:], names["y"][250:]) > 0.8
    assert "predicts the same: True" in out


def check(result, ensemble, batched):
    """EV and BA by numpy; the whole of it known; BA and IF + EV/m' not far apart, as its few degrees of freedom allow"""
    m = len(batched)
    np.testing.assert_allclose(result.prediction, ensemble.mean(0), rtol=1e-9)
    np.testing.assert_allclose(result.procedural, ensemble.var(0, ddof=1), rtol=1e-9)
    assert np.isfinite([result.procedural, result.data, result.ensemble, result.single]).all()
    ba = np.array([p["ba"]["variance"] for p in result.json["points"]])
    np.testing.assert_allclose(ba, batched.var(0, ddof=1) / m, rtol=1e-9)
    return ba / (result.data + result.procedural / m)


def check_influence(result, J, J0, y, yhat, lam):
    """the influence function as published, by a dense solve; leverage adds to it, noise smoothed over rows may take some away"""
    A = J @ J.T + lam * len(y) * np.eye(len(y))
    v = (y - yhat)[:, None] * np.linalg.solve(A, J @ J0.T)
    printed = ((v - v.mean(0)) ** 2).sum(0)
    np.testing.assert_allclose([p["data"]["uncorrected"] for p in result.json["points"]], printed, rtol=1e-8)
    assert (result.data > 0.8 * printed).all() and (result.data < 3 * printed).all()


@pytest.mark.parametrize("name, framework, lam", [("torch_network", "torch", "lam"), ("jax_network", "jax", "LAM")])
def test_network(name, framework, lam, capsys):
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    names, out = run(name, capsys)
    predict, members, X, X0 = (names[k] for k in ("predict", "members", "X", "X0"))
    some = members[:5] if isinstance(members, list) else names["some"]
    array = lambda a: np.asarray(a, dtype=float)
    J, J0 = (array(names["jacobian"](some, x)) for x in (X, X0))
    check_influence(names["result"], J, J0, array(names["y"]), array(predict(members, X)).mean(0), names[lam])
    ratio = check(names["result"], array(predict(members, X0)), array(predict(names["batches"], X0)))
    # 4 degrees of freedom: 95 % of BA's estimates lie within 0.12 to 2.8 times what they estimate
    assert (ratio > 0.12).all() and (ratio < 2.8).all(), ratio
    assert "Advice:" in out


def test_torch_retrained(capsys):
    pytest.importorskip("torch", reason="torch is not installed")
    names, out = run("torch_retrained", capsys)
    result, array = names["result"], lambda a: np.asarray(a, dtype=float)
    np.testing.assert_allclose(result.procedural, array([array(net(names["X0"])) for net in names["members"]]).var(0, ddof=1), rtol=1e-4)
    retrain = result.json["retrain"]
    assert retrain["replicates"] == 10 and retrain["starts"] == 2 and not result.warnings, result.warnings
    # y was made with noise of 0.2; 200 squares tell its square to 10 %, and the networks' misfit is in it
    assert 0.7 < retrain["noise_variance"] / 0.04 < 1.5
    h = array([[array(one) for one in pair] for pair in names["retrained"]])
    g = (h[0::2] - h[1::2]) / 2 / retrain["step"]
    every, own = (g.mean(1) ** 2).mean(0), (g[:, 0] * g[:, 1]).mean(0)
    want = retrain["noise_variance"] * (own.clip(0) + every * own.sum() / every.sum()) / 2
    np.testing.assert_allclose(result.data, want, rtol=1e-3)  # differences of single precision
    # 150 tables with two such networks each: the mean data variance over such points is 0.00245, known to 4 %
    assert 0.5 < result.data.mean() / 0.00245 < 2
    assert "retrained on 10 pairs" in result.verbose_text and "Advice:" in out


def test_sklearn_mlp(capsys):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    names, out = run("sklearn_mlp", capsys)
    result = names["result"]
    ensemble, batched = np.asarray(result.members).T, np.asarray(result.batches).T
    assert ensemble.shape == (30, 3) and batched.shape == (10, 3)
    check(result, ensemble, batched)
    np.testing.assert_allclose(result.data, batched.var(0, ddof=1) / 10 - ensemble.var(0, ddof=1) / 10, rtol=1e-9)
    assert "Advice:" in out
