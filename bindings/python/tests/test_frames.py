"""Data frames as people have them: a frame gives the numbers of the file it would be written to, and messages name columns."""

import epiq
import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
ASK = {"engine": "infinite"}


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    a = rng.uniform(0, 10, 60).round(3)
    metal = rng.choice(["steel", "brass", "copper"], 60)
    hot = rng.uniform(size=60) < 0.5
    wet = np.where(rng.uniform(size=60) < 0.5, "Yes", "no")
    y = (a + 3.0 * (metal == "brass") + hot + rng.normal(size=60)).round(3)
    return pandas.DataFrame({"a": a, "metal": metal, "hot": hot, "wet": wet, "y": y})


def test_texts_and_booleans_are_the_command_lines(frame, cli, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    new = frame.drop(columns="y")[:5]
    new.to_csv(tmp_path / "new.csv", index=False)
    want = cli.json("estimate", "rows.csv", "--target", "y", "--engine", "infinite", "--at", "new.csv", cwd=tmp_path)
    for X in (frame.drop(columns="y"), frame.drop(columns="y").astype({"metal": "category"})):
        got = epiq.decompose(X, frame["y"], new, **ASK)
        assert got.json["data"]["features"] == want["data"]["features"]
        assert "metal=brass" in want["data"]["features"]
        for p, q in zip(got.json["points"], want["points"], strict=True):
            assert p["prediction"] == q["prediction"] and p["data"] == q["data"] and p["procedural"] == q["procedural"]


def test_points_are_read_as_the_rows(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    usual = epiq.decompose(X, y, X[:3], **ASK).prediction
    assert np.array_equal(usual, epiq.decompose(X, y, X[["wet", "hot", "metal", "a"]][:3], **ASK).prediction)
    with pytest.warns(UserWarning, match="ignored: extra"):
        assert np.array_equal(usual, epiq.decompose(X, y, X[:3].assign(extra="x", y=0), **ASK).prediction)
    with pytest.raises(epiq.InputError, match=r'at\["metal"\].iloc\[1\] is \'tin\', a value that X does not have'):
        epiq.decompose(X, y, X[:2].assign(metal=["steel", "tin"]), **ASK)
    with pytest.raises(epiq.InputError, match='at has no column "hot"'):
        epiq.decompose(X, y, X[["a", "metal", "wet"]][:2], **ASK)


def test_what_cannot_be_used_is_named_by_its_column(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    refused = [
        (X.assign(code=[f"B{k}" for k in range(60)]), r'column "code" of X holds 60 different texts in 60 rows'),
        (X.assign(k=["1,5", "2"] * 30), r'column "k" of X holds numbers as texts'),
        (X.assign(metal=[None, *X["metal"][1:]]), r'X\["metal"\].iloc\[0\] is (None|nan)'),
        (X[["a"]].assign(a=[1.0, np.nan, *X["a"][2:]]), r'X\["a"\].iloc\[1\] is nan'),
        (X[["a"]].assign(b=[[1]] * 60), r'X\["b"\].iloc\[0\] is \[1\]'),
    ]
    for table, sentence in refused:
        with pytest.raises(epiq.InputError, match=sentence):
            epiq.decompose(table, y, **ASK)


def test_a_regressor_takes_them(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    fitted = epiq.EpistemicRegressor(engine="infinite").fit(X, y)
    assert fitted.n_features_in_ == 6
    told = fitted.predict(X[:5])
    assert np.array_equal(told, fitted.predict(X[["wet", "a", "hot", "metal"]][:5]))
    plain = pandas.get_dummies(X[["a", "metal"]], dtype=float)
    order = ["a", *(f"metal_{k}" for k in dict.fromkeys(X["metal"]))]
    numbers = plain[order].assign(hot=X["hot"].astype(float), wet=(X["wet"] == "Yes").astype(float))
    same = epiq.EpistemicRegressor(engine="infinite").fit(numbers.to_numpy(), y)
    assert np.array_equal(told, same.predict(numbers.to_numpy()[:5]))
    assert np.allclose(fitted.explain(X[:2]).prediction, told[:2], rtol=1e-9)
    with pytest.raises(ValueError, match="tin"):
        fitted.predict(X[:1].assign(metal="tin"))
