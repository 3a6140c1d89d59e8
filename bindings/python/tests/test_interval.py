"""Intervals of y from a fitted model: those of decompose at the same points, NaN outside the data, and they cover."""

import warnings

import epiq
import numpy as np
import pytest
from conftest import QUICK

ASKED = {**QUICK, "methods": "if,ev", "random_state": 1, "exact": True}


@pytest.fixture(scope="module")
def fitted(table):
    return epiq.EpistemicRegressor(**ASKED).fit(*table[:2])


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_they_are_those_of_decompose(table, fitted, level):
    X, y, _ = table
    at = X[:10] * 0.9  # inside the data
    there = epiq.decompose(X, y, at, **QUICK, level=level, methods="if,ev")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = fitted.predict_interval(at, level)
    assert got.shape == (10, 2)
    np.testing.assert_allclose(got, there.predictive_interval, rtol=1e-6)
    assert (got[:, 0] < fitted.predict(at)).all() and (fitted.predict(at) < got[:, 1]).all()


def test_what_is_known_of_rows_not_seen(table, fitted):
    there = epiq.decompose(*table, **QUICK, methods="if,ev").json["fit"]
    np.testing.assert_allclose([fitted.error_, fitted.r2_, fitted.noise_], [there["rmse"], there["r2"], there["noise_sd"]], rtol=1e-9)
    assert 0 < fitted.noise_ < fitted.error_ and fitted.r2_ < 1
    constant = epiq.EpistemicRegressor(engine="infinite").fit([[0.0], [1.0], [2.0], [4.0]], [1.0] * 4)
    assert np.isnan(constant.r2_)


def test_outside_the_data_nothing_is_said(table, fitted):
    at = np.array([[0, 0, 0], [0, 0, 9.0]])
    with pytest.warns(epiq.ExtrapolationWarning, match="1 of 2 rows lie outside the data, where no interval is known"):
        ends = fitted.predict_interval(at)
    assert np.isfinite(ends[0]).all() and np.isnan(ends[1]).all()
    assert np.isfinite(fitted.predict(at)).all()


def test_levels_and_models_without_intervals(table, fitted):
    for wrong in (0, 1, 95, "high", np.nan, None):
        with pytest.raises(ValueError, match="level is .*; it must be a number between 0 and 1"):
            fitted.predict_interval(table[2], wrong)
    wider = [np.diff(fitted.predict_interval(table[0][:3] * 0.9, level)).ravel() for level in (0.5, 0.8, 0.95)]
    assert (wider[0] < wider[1]).all() and (wider[1] < wider[2]).all()
    without = epiq.EpistemicRegressor(**{**ASKED, "methods": "ev", "fold_members": 0}).fit(*table[:2])
    with pytest.raises(ValueError, match="interval"):
        without.predict_interval(table[2])


def test_they_cover(table):
    """95 % of new rows, within three standard errors of 400 of them."""
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, (700, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=700)
    fitted = epiq.EpistemicRegressor(engine="infinite", lambda_=1e-3).fit(X[:300], y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", epiq.ExtrapolationWarning)
        ends = fitted.predict_interval(X[300:])
    known = np.isfinite(ends[:, 0])
    inside = (ends[known, 0] <= y[300:][known]) & (y[300:][known] <= ends[known, 1])
    assert known.sum() > 200
    assert abs(inside.mean() - 0.95) < 3 * np.sqrt(0.95 * 0.05 / known.sum()) + 0.01
    assert abs(fitted.noise_ - 0.3) < 0.06  # which was planted


def test_files_keep_them(table, fitted, tmp_path):
    fitted.save(tmp_path / "m.epiq")
    loaded = epiq.load(tmp_path / "m.epiq").set_params(exact=True)
    at = table[0][:5] * 0.9
    assert np.array_equal(loaded.predict_interval(at, 0.9), fitted.predict_interval(at, 0.9))
    assert (loaded.error_, loaded.r2_, loaded.noise_) == (fitted.error_, fitted.r2_, fitted.noise_)


def test_the_expected_prediction(table, fitted):
    X, y, _ = table
    at = X[:5] * 0.9
    there = epiq.decompose(X, y, at, **QUICK, methods="if,ev", confidence="batching").json["points"]
    sure = epiq.EpistemicRegressor(**{**ASKED, "confidence": "batching"}).fit(X, y)
    want = [[p["confidence"]["lo"], p["confidence"]["hi"]] for p in there]
    np.testing.assert_allclose(sure.predict_confidence(at), want, rtol=1e-6)
    with pytest.raises(ValueError, match="level is 2; it must be"):
        sure.predict_confidence(at, 2)
    with pytest.raises(ValueError, match="no interval of the expected prediction"):
        fitted.predict_confidence(at)
