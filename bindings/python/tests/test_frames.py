"""Data frames as people have them: a frame gives the numbers of the file it would be written to, and messages name columns."""

import copy
import pickle

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


def test_numbers_with_marks_are_read_as_the_command_line_does(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    plain = X.assign(cost=[1000.0 + 10 * k for k in range(60)], load=[k + 0.5 for k in range(60)])
    texts = plain.assign(cost=[f"${cost:,.0f}" for cost in plain["cost"]], load=[f"{load} %" for load in plain["load"]])
    wanted = epiq.decompose(plain, y, plain[:3], **ASK).prediction
    assert np.array_equal(epiq.decompose(texts, y, texts[:3], **ASK).prediction, wanted)
    assert np.array_equal(epiq.decompose(texts, y, plain[:3], **ASK).prediction, wanted)
    by_name = epiq.decompose(texts, y, {"cost": "$1,200"}, **ASK).prediction
    assert np.array_equal(by_name, epiq.decompose(plain, y, {"cost": 1200}, **ASK).prediction)
    priced = y.round(2).map(lambda value: f"-${-value}" if value < 0 else f"${value}")
    assert np.array_equal(epiq.decompose(X, priced, X[:3], **ASK).prediction, epiq.decompose(X, y.round(2), X[:3], **ASK).prediction)
    days = plain.assign(load=[19723.0 + k for k in range(60)])
    dates = plain.assign(load=[f"2024-{1 + k // 31:02d}-{1 + k % 31:02d}" if k < 60 else "" for k in range(60)])
    assert np.array_equal(epiq.decompose(dates, y, dates[:3], **ASK).prediction, epiq.decompose(days, y, days[:3], **ASK).prediction)
    stamps = dates.assign(load=pandas.to_datetime(dates["load"]))
    assert np.array_equal(epiq.decompose(stamps, y, stamps[:3], **ASK).prediction, epiq.decompose(days, y, days[:3], **ASK).prediction)
    with pytest.raises(epiq.InputError, match="with and without %"):
        epiq.decompose(texts.assign(load=["5 %", "6"] * 30), y, **ASK)


@pytest.mark.parametrize(
    "texts",
    [
        ["$1,370.5", "-$2", "$-3", " $ 40 ", "+$4e1", "12 $"],
        ["12,345 %", "7\xa0%", "-0.5%", "1e1 %"],
        ["2024-02-29T13:45:30", "1969-12-31 06:00", " 2000-01-01 "],
    ],
)
def test_texts_stand_for_the_command_lines_numbers(texts, frame, cli, tmp_path):
    cells = [texts[k % len(texts)] for k in range(60)]
    X = frame[["a"]].assign(cell=cells)
    X.assign(y=frame["y"]).to_csv(tmp_path / "rows.csv", index=False)
    want = cli.json("estimate", "rows.csv", "--target", "y", "--engine", "infinite", "--at", "mean", "--at", "row:1", cwd=tmp_path)
    got = epiq.decompose(X, frame["y"], ["mean", "row:1"], **ASK)
    assert [p["prediction"] for p in got] == [p["prediction"] for p in want["points"]]


def test_rows_are_called_by_the_index(frame):
    named = frame.set_index(pandas.Index([f"town {k}" for k in range(60)], name="town"))
    result = epiq.decompose(named, target="y", **ASK)
    assert result.to_frame().index.name == "town" and result.to_frame().index[3] == "town 3"
    assert "Least sure: town " in result.text
    assert "Least sure: row " in epiq.decompose(frame, target="y", **ASK).text


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


def test_the_index_goes_with_the_points(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    points = X[:3].set_axis(pandas.Index(["north", "south", "west"], name="site"))
    result = epiq.decompose(X, y, points, **ASK)
    assert result.at == ["north", "south", "west"]
    assert result.to_frame().index.equals(points.index) and result.to_frame().index.name == "site"
    assert points.join(result.to_frame()).notna()["prediction"].all()
    assert "north" in result._repr_html_() and "north" in result.text and result[1]["at"] == "south"
    days = X[:3].set_axis(pandas.date_range("2026-01-01", periods=3))
    assert epiq.decompose(X, y, days, **ASK).at == list(days.index)
    row = epiq.decompose(X, y, X.iloc[7], **ASK)  # a row of a frame is a point
    assert row.at == [7] and row.prediction[0] == epiq.decompose(X, y, X.iloc[[7]], **ASK).prediction[0]
    assert epiq.decompose(X, y, "row:3", **ASK).at == ["row:3"]
    for copied in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert copied.at == result.at and copied.to_frame().equals(result.to_frame())
    array = epiq.decompose(X[["a"]].to_numpy(), y, [[1.0], [2.0]], **ASK)
    assert array.at == ["1", "2"] and array.to_frame().index.name == "at"


def test_rows_left_out_keep_their_index(frame):
    labelled = frame.set_axis([f"batch {k}" for k in range(60)])
    result = epiq.decompose(labelled.drop(columns="y"), labelled["y"], "rows", **ASK)
    assert result.at == list(labelled.index)
    assert result.to_frame().index.equals(pandas.Index(labelled.index))
    together = epiq.decompose(labelled, None, ["rows", "row:3"], target="y", **ASK)
    assert together.at == [*labelled.index, "row:3"]
    assert np.array_equal(together.prediction[:60], result.prediction)
    fitted = epiq.EpistemicRegressor(**ASK).fit(labelled.drop(columns="y"), labelled["y"])
    assert fitted.explain(labelled.drop(columns="y")[:2]).at == ["batch 0", "batch 1"]


def test_a_point_by_name(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    asked = {"a": 3, "metal": "brass", "hot": True, "wet": "no"}
    whole = epiq.decompose(X, y, asked, **ASK)
    assert whole.at == ["a=3, metal=brass, hot=True, wet=no"]
    assert whole.prediction[0] == epiq.decompose(X, y, pandas.DataFrame([asked]), **ASK).prediction[0]
    several = epiq.decompose(X, y, {**asked, "a": [1, 3]}, **ASK)
    assert len(several) == 2 # beside another point sums may be taken in another order
    assert several.prediction[1] == pytest.approx(whole.prediction[0], rel=1e-12)
    rest = epiq.decompose(X, y, {k: v for k, v in asked.items() if k != "a"}, **ASK)  # a is at its mean
    assert rest.prediction[0] == epiq.decompose(X, y, {**asked, "a": X["a"].mean()}, **ASK).prediction[0]
    common = {"metal": X["metal"].mode()[0], "hot": X["hot"].mean() > 0.5, "wet": X["wet"].mode()[0]}
    assert epiq.decompose(X, y, {"a": 3}, **ASK).prediction[0] == epiq.decompose(X, y, {"a": 3, **common}, **ASK).prediction[0]
    numbers = X[["a"]].assign(b=np.arange(60.0))
    assert epiq.decompose(numbers, y, {"b": 4}, **ASK).prediction[0] == (
        epiq.decompose(numbers, y, [[numbers["a"].mean(), 4]], **ASK).prediction[0]
    )
    mean = epiq.decompose(numbers, y, "mean", **ASK).prediction[0]
    assert epiq.decompose(numbers, y, {}, **ASK).prediction[0] == pytest.approx(mean, rel=1e-12)
    assert epiq.decompose(numbers.to_numpy(), y, {"x2": 4}, **ASK).prediction[0] == (
        epiq.decompose(numbers, y, {"b": 4}, **ASK).prediction[0]
    )
    for wrong, sentence in (
        ({**asked, "metals": 1}, "at names 'metals', which X does not have; did you mean \"metal\"?"),
        ({**asked, "metal": "tin"}, 'at["metal"] is \'tin\', a value that X does not have; use one of '),
        ({**asked, "wet": "damp"}, 'at["wet"] is \'damp\', a value that X does not have; use one of true, false, yes, no'),
        ({**asked, "a": "hot"}, 'at["a"] is \'hot\'; it must be a finite number'),
        ({**asked, "a": [1, 2, 3], "hot": [True, False]}, 'at["hot"] has 2 values but another feature has 3'),
    ):
        with pytest.raises(epiq.InputError) as caught:
            epiq.decompose(X, y, wrong, **ASK)
        assert str(caught.value).startswith(sentence)


def test_sentences_name_the_index(frame):
    X, y = frame.drop(columns="y").set_axis(range(100, 160)), frame["y"].set_axis(range(100, 160))
    hole = X.assign(a=[1.0, np.nan, *X["a"][2:]])
    for call, sentence in (
        (lambda: epiq.decompose(hole, y, **ASK), r'X\["a"\].iloc\[1\] \(index 101\) is nan'),
        (lambda: epiq.decompose(X, y.where(y.index != 103), **ASK), r"y.iloc\[3\] \(index 103\) is nan"),
        (lambda: epiq.decompose(X, y, hole[:2], **ASK), r'at\["a"\].iloc\[1\] \(index 101\) is nan'),
        (lambda: epiq.decompose(X, y, X[:2].assign(metal=["steel", "tin"]), **ASK), r'at\["metal"\].iloc\[1\] \(index 101\) is \'tin\''),
        (lambda: epiq.decompose(X, y[:-1], **ASK), "X has 60 rows but y has 59; give one for each row of X"),
        (lambda: epiq.decompose(X, "y", **ASK), r"y is 'y'; give its numbers, X\['y'\], or the whole frame with target='y'"),
        (lambda: epiq.decompose(X, **ASK), "y is missing; give one number for each row of X, or target="),
        (lambda: epiq.decompose(frame, target="Y", **ASK), "X has no column 'Y'; "),
    ):
        with pytest.raises(epiq.InputError, match=sentence):
            call()


def test_sparse_rows_are_named():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(epiq.InputError, match=r"X is a sparse matrix; dense rows are needed: X.toarray\(\)"):
        epiq.decompose(sparse.eye(5).tocsr(), np.arange(5.0), **ASK)


def test_columns_of_every_kind(frame, tmp_path):
    """As pandas reads them from Parquet, too."""
    X = frame.drop(columns=["y", "wet"]).assign(count=np.arange(60) % 7)
    want = epiq.decompose(X, frame["y"], X[:3], **ASK).prediction
    kinds = {"a": "Float64", "hot": "boolean", "count": "Int64", "metal": "string"}
    tables = [X.astype(kinds), X.astype({"metal": "category", "count": "int8", "a": "float64"}), X.astype({"count": "category"})]
    try:
        import pyarrow
    except ImportError:
        pass
    else:
        tables.append(X.convert_dtypes(dtype_backend="pyarrow"))
        tables[0].assign(y=frame["y"]).to_parquet(tmp_path / "rows.parquet")
        for how in ({}, {"dtype_backend": "pyarrow"}, {"dtype_backend": "numpy_nullable"}):
            tables.append(pandas.read_parquet(tmp_path / "rows.parquet", **how).drop(columns="y"))
        assert pyarrow.__version__
    for table in tables:
        got = epiq.decompose(table, frame["y"], table[:3], **ASK)
        assert np.array_equal(got.prediction, want), table.dtypes
        fitted = epiq.EpistemicRegressor(**ASK).fit(table, frame["y"].astype("Float64"))
        np.testing.assert_allclose(fitted.predict(table[:3]), want, rtol=1e-6)
    holes = tables[0].copy()
    holes.loc[2, "count"] = pandas.NA
    with pytest.raises(epiq.InputError, match=r'X\["count"\].iloc\[2\] is nan'):
        epiq.decompose(holes, frame["y"], **ASK)


def test_models_of_frames_name_the_columns(frame):
    """Also of frames with texts, and in what the library says; scikit-learn's sentences name none."""
    X, y = frame.drop(columns=["y", "wet"]), frame["y"]
    regressor = epiq.EpistemicRegressor(**ASK).fit(X, y)
    holes = X.copy()
    holes.loc[5, "a"] = np.nan
    other = X.copy()
    other.loc[5, "metal"] = "gold"
    for call, sentence in (
        (lambda: epiq.EpistemicRegressor(**ASK).fit(holes, y), r'X\["a"\].iloc\[5\] is nan; '),
        (lambda: epiq.EpistemicRegressor(**ASK).fit(holes[["a"]], y), r'X\["a"\].iloc\[5\] is nan; '),
        (lambda: regressor.predict(holes), r'X\["a"\].iloc\[5\] is nan; '),
        (lambda: regressor.predict(other), r"""X\["metal"\].iloc\[5\] is 'gold', a value that the model does not know; """),
        (lambda: regressor.predict(X.drop(columns="metal")), 'X has no column "metal", which the model has learned from; '),
        (lambda: regressor.predict(np.zeros((3, X.shape[1]))), "X has no columns with names; .*metal"),
    ):
        with pytest.raises(epiq.InputError, match=sentence):
            call()
    with pytest.warns(UserWarning, match="columns that the model does not know, which are ignored: q"):
        regressor.predict(X.assign(q=1))
    constant = epiq.EpistemicRegressor(**ASK).fit(X.assign(a=1.0), y * 0 + 3).warnings_
    told = {w["code"]: w["message"] for w in constant}
    assert told["constant_columns"].endswith(": a; leave it out with drop")
    assert told["constant_target"].startswith(f"the target {y.name} has only one value, 3, ")
