"""Pictures show the numbers they are about."""

import epiq
import numpy as np
import pytest
from conftest import QUICK

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(ax, tmp_path):
    """It can be saved, and nothing of it is lost outside the picture."""
    ax.figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    return [label.get_text() for label in ax.get_legend().get_texts()] if ax.get_legend() else []


def test_parts_of_points(table, tmp_path):
    X, y, at = table
    result = epiq.decompose(X, y, at, **QUICK)
    ax = result.plot()
    data, retraining = ax.containers
    np.testing.assert_allclose([bar.get_width() for bar in data], result.data)
    np.testing.assert_allclose([bar.get_x() + bar.get_width() for bar in retraining], result.single)
    assert [label.get_text() for label in ax.get_yticklabels()] == result.at
    assert drawn(ax, tmp_path) == ["data (other rows)", "retraining"]
    own = plt.subplots()[1]
    assert result.plot("rows", ax=own) is own
    alone = epiq.decompose(X, y, at, **QUICK, methods="ev").plot()  # the data part is unknown
    assert [bar.get_width() for bar in alone.containers[0]] == [0.0] * 5
    with pytest.raises(epiq.InputError, match="kind is 'pie'"):
        result.plot("pie")


def test_rows_in_the_order_of_their_predictions(table, tmp_path):
    X, y, _ = table
    result = epiq.decompose(X, y, "rows", engine="infinite")
    ax = result.plot()
    prediction = ax.get_lines()[0].get_ydata()
    assert np.array_equal(prediction, np.sort(result.prediction))
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    sorted_ends = result.predictive_interval[np.argsort(result.prediction)]
    np.testing.assert_allclose(ends, sorted_ends[np.isfinite(sorted_ends[:, 0])])
    assert drawn(ax, tmp_path) == ["95 % interval of a new observation", "prediction"]
    bars = result.plot("parts")
    assert len(bars.containers[0]) == 30 and bars.containers[1][0].get_x() + bars.containers[1][0].get_width() == (
        pytest.approx(result.single.max())
    )


def test_plan_compare_explore(table, tmp_path):
    X, y, at = table
    plan = epiq.plan(X, y, price_row=1, price_training=0.1, goal_sd=0.05, engine="infinite")
    ax = plan.plot()
    np.testing.assert_array_equal(ax.get_lines()[0].get_xydata(), plan.to_frame()[["cost", "sd"]].to_numpy())
    assert "goal" in drawn(ax, tmp_path)
    comparison = epiq.compare(X, y, lambda_=[1e-4, 1e-3, 1e-2], engine="infinite")
    ax = comparison.plot()
    errors = [container.lines[0].get_xdata()[0] for container in ax.containers]
    assert errors == sorted(model["cv_rmse"] for model in comparison.models)
    assert sorted(label.get_text() for label in ax.get_yticklabels()) == ["lambda 0.0001", "lambda 0.001", "lambda 0.01"]
    assert drawn(ax, tmp_path) == ["choice"]
    ranking = epiq.explore(X, y, at, batch=2, engine="infinite")
    ax = ranking.plot()
    assert [len(line.get_xdata()) for line in ax.get_lines()] == [3, 2]
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    drawn(ax, tmp_path)
    epiq.explore(X, y, at, rule="data", engine="infinite").plot()


def test_intervals_and_what_was_observed(table, tmp_path):
    X, y, _ = table
    fitted = epiq.EpistemicRegressor(**QUICK, methods="if,ev").fit(X, y)
    new, seen = X[:20] * 0.9, y[:20]
    order = np.argsort(fitted.predict(new))
    for ax in (fitted.plot(new, seen, level=0.8), fitted.score_report(new, seen, level=0.8).plot()):
        prediction, observed = (line.get_ydata() for line in ax.get_lines())
        assert np.array_equal(prediction, fitted.predict(new)[order]) and np.array_equal(observed, seen[order])
        assert drawn(ax, tmp_path) == ["80 % interval", "prediction", "observed"]
    assert len(fitted.plot(new).get_lines()) == 1
    with pytest.raises(ValueError, match="X has 3 rows but y has 2"):
        fitted.plot(X[:3], y[:2])


def test_without_matplotlib(table, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plot needs matplotlib, which is not installed; pip install matplotlib"):
        epiq.decompose(*table, engine="infinite").plot()
