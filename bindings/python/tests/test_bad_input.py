"""Whatever is wrong gets one sentence, the command line's where it has one, and nothing is computed."""

import epiq
import numpy as np
import pytest
from conftest import QUICK, flags

ENCODE = "encode such columns as numbers, or leave them out"


def refused(X, y, at=None, **options):
    with pytest.raises(epiq.InputError) as caught:
        epiq.decompose(X, y, at, **{**QUICK, **options})
    return str(caught.value)


def test_arrays_of_the_wrong_shape(table):
    X, y, at = table
    assert refused(X, y[:-1]) == "X has 60 rows but y has 59; give one for each row of X"
    assert refused(X, y, group=[1, 2]) == "X has 60 rows but group has 2; give one for each row of X"
    assert refused(X, y, at[:, :2]) == "at has 2 columns but X has 3; give one column for each feature"
    assert refused(X[0], y[:3]).startswith("X has 1 dimension; it must be rows by features: X.reshape(-1, 1)")
    assert refused(X[None], y) == "X has 3 dimensions; it must be rows by features"
    assert refused(3.5, y) == "X is one number; it must be an array"
    assert refused(X, np.column_stack([y, y])) == "y has 2 dimensions and 2 columns; it must be one number for each row"
    assert refused(X, y, np.zeros(7)) == "at has 7 numbers but X has 3 features; one point needs one number for each"
    assert refused(X, y, group=np.zeros((60, 2))) == "group has 2 dimensions; it must be one label for each row"
    assert refused([[1, 2], [3]], [1, 2]).startswith("X cannot be read as an array: ")


def test_empty_arrays(table):
    X, y, _ = table
    assert "at least 2 rows" in refused(X[:0], y[:0])
    assert "at least 2 rows" in refused(X[:1], y[:1])
    assert "1 feature" in refused(X[:, :0], y)
    assert refused(X, y, X[:0]) == "0 points cannot be added; give at least one"
    assert refused([], []).startswith("X has 1 dimension")


def test_numbers_that_are_none(table):
    X, y, at = table
    bad = X.copy()
    bad[3, 1] = np.nan
    assert refused(bad, y) == "X[3][1] is nan; only finite numbers can be used, so leave that row out"
    assert refused(np.ma.array(X, mask=np.isnan(bad)), y) == "X[3][1] is nan; only finite numbers can be used, so leave that row out"
    bad[3, 1] = -np.inf
    assert refused(bad, y) == "X[3][1] is -inf; only finite numbers can be used, so leave that row out"
    assert refused(X, np.where(np.arange(60) == 2, np.inf, y)) == "y[2] is inf; only finite numbers can be used, so leave that row out"
    assert refused(X, y, np.full((1, 3), np.nan)) == "at[0][0] is nan; only finite numbers can be used, so leave that row out"
    assert refused(X, y, group=np.where(np.arange(60) == 5, np.nan, 1)) == "group[5] is nan; every row needs a label"


def test_rows_without_a_label(table):
    X, y, _ = table
    named = np.array([f"thing {k // 2}" for k in range(60)], dtype=object)
    for missing in (None, np.nan, float("nan"), np.datetime64("NaT")):
        group = named.copy()
        group[5] = missing
        assert refused(X, y, group=group) == f"group[5] is {missing}; every row needs a label"
    days = np.arange(60).astype("M8[D]")
    days[7] = "NaT"
    assert refused(X, y, group=days) == "group[7] is NaT; every row needs a label"
    for labels in (np.arange(60), np.arange(60.0), named):
        masked = np.ma.array(labels, mask=np.arange(60) == 3)
        assert refused(X, y, group=masked) == "group[3] is masked; every row needs a label"
    hole = np.ma.array(np.where(np.arange(60) == 3, np.nan, 1))
    assert refused(X, y, group=hole) == "group[3] is nan; every row needs a label"
    whole = np.ma.array(named)
    assert epiq.decompose(X, y, group=whole, **QUICK).json["points"] == (
        epiq.decompose(X, y, group=np.arange(60) // 2, **QUICK).json["points"]
    )


def test_groups_of_pandas_with_holes(table):
    pandas = pytest.importorskip("pandas")
    X, y, _ = table
    group = pandas.Series(np.arange(60) // 2, dtype="Int64")  # which NumPy reads as float64
    group[4] = pandas.NA
    assert refused(X, y, group=group) == "group[4] is nan; every row needs a label"
    texts = pandas.Series([f"thing {k}" for k in range(60)])
    texts[4] = None
    assert "; every row needs a label" in refused(X, y, group=texts)
    assert "; every row needs a label" in refused(X, y, group=texts.astype("category"))


def test_arrays_of_what_is_not_real(table):
    X, y, _ = table
    assert refused(X.astype(complex), y) == "X is an array of complex128; only real numbers can be used"
    assert refused(X.astype(str), y) == "X is an array of <U32; only real numbers can be used"
    assert refused(X, np.arange(60).astype("M8[s]")) == "y is an array of datetime64[s]; only real numbers can be used"
    mixed = X.astype(object)
    mixed[4, 2] = "1.5"
    assert refused(mixed, y) == "X[4][2] is '1.5'; only real numbers can be used: " + ENCODE
    mixed[4, 2] = None
    assert refused(mixed, y) == "X[4][2] is nan; only finite numbers can be used, so leave that row out"
    mixed[4, 2] = [1, 2]
    assert refused(mixed, y) == "X[4][2] is [1, 2]; only real numbers can be used: " + ENCODE
    mixed[4, 2] = 10**400
    assert refused(mixed, y).endswith("...; only real numbers can be used: " + ENCODE)
    assert refused({"a": 1}, y) == "X is {'a': 1}; only real numbers can be used: " + ENCODE


def test_data_frames_with_holes(table):
    pandas = pytest.importorskip("pandas")
    X, y, _ = table
    frame = pandas.DataFrame(X, columns=list("abc"))
    frame["b"] = frame["b"].astype("Float64")
    assert epiq.decompose(frame, y, **QUICK).json["points"] == epiq.decompose(X, y, **QUICK).json["points"]
    frame.loc[3, "b"] = pandas.NA
    assert refused(frame, y) == 'X["b"].iloc[3] is nan; only finite numbers can be used, so leave that row out'
    frame["b"] = 1j
    assert refused(frame, y).startswith("X is an array of complex128")
    frame["b"] = [[1]] * len(frame)
    assert refused(frame, y) == 'X["b"].iloc[0] is [1]; only real numbers can be used: ' + ENCODE


class Locked:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("this lies on another device")


def test_what_refuses_to_be_an_array(table):
    assert refused(Locked(), table[1]) == "X cannot be read as an array: this lies on another device"


@pytest.mark.parametrize(
    "options",
    [
        {"members": 1},
        {"members": 2.5},
        {"level": 1},
        {"level": float("nan")},
        {"engine": "big"},
        {"methods": "if,xy"},
        {"probes": 3},
        {"sweep": 1},
        {"lambda_": 0},
        {"width": 0},
        {"seed": -1},
        {"threads": 10**9},
        {"time": 5},
        {"hbar": "ensemble", "methods": "if"},
        {"batches": 61, "methods": "if,ev,ba"},
    ],
)
def test_options_are_refused_as_by_the_command_line(table, options, cli, tmp_path):
    X, y, _ = table
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    said = cli.sentence("estimate", "rows.npy", "--target", "y", *flags({**QUICK, **options}), cwd=tmp_path)
    assert refused(X, y, **options) == said


@pytest.mark.parametrize("where", ["row:0", "row:61", "row:x", "nofile.csv"])
def test_places_are_refused_as_by_the_command_line(table, where, cli, tmp_path, monkeypatch):
    X, y, _ = table
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    with pytest.raises(epiq.Error) as caught:
        epiq.decompose(X, y, where, **QUICK)
    assert str(caught.value) == cli.sentence("estimate", "rows.npy", "--target", "y", "--at", where, cwd=tmp_path)
    assert isinstance(caught.value, OSError if where == "nofile.csv" else ValueError)


def test_state_of_other_points_or_no_state(table, tmp_path):
    X, y, _ = table
    (tmp_path / "text").write_text("no state at all, " * 100)
    with pytest.raises(epiq.FileError, match="text"):
        epiq.decompose(X, y, state=tmp_path / "text", **QUICK)
    with pytest.raises(epiq.FileError):
        epiq.decompose(X, y, state=tmp_path / "no" / "folder", **QUICK)


def test_texts_that_no_text_may_be(table, given):
    pandas = pytest.importorskip("pandas")
    X, y, _ = table
    nul = "holds the character 0, which no"
    assert refused(X, y, state="a\0b").startswith(f"state {nul} path")
    assert refused(X, y, engine="net\0work").startswith(f"engine {nul} text")
    assert refused(X, y, batch_size="1\0").startswith(f"batch_size {nul} text")
    assert refused(X, y, "file\0").startswith(f"at {nul} path")
    assert refused(X, y, ["mean", "\0"]).startswith(f"at {nul} path")
    assert refused(pandas.DataFrame(X, columns=["a", "b\0", "c"]), y).startswith(f"the name of column 2 of X {nul} text")
    assert refused(X, pandas.Series(y, name="\0")).startswith(f"the name of y {nul} text")
    half = "holds '\\ud800', which is no character"
    assert refused(X, y, engine="\ud800").startswith(f"engine {half}")
    columns = pandas.Index(["a", "\ud800", "c"], dtype=object)
    assert refused(pandas.DataFrame(X, columns=columns), y).startswith(f"the name of column 2 of X {half}")
    assert refused(X, y, state="\ud800") == "state is '\\ud800'; no file can have this name"
    assert refused(X, y, state=3) == "state is 3; it must be a path"
    ensemble = given["ensemble"]
    for wrong, said in (
        ({"append": "a\0b"}, f"append {nul} path"),
        ({"merge": ["a", b"a\0b"]}, f"merge {nul} path"),
        ({"merge": "\ud800"}, "merge is '\\ud800'; no file"),
        ({"merge": [None]}, "merge is None; it must be a path"),
        ({"batched": pandas.DataFrame(ensemble, columns=["a", "b", "c", "\0"])}, f"the name of column 4 of batched {nul}"),
    ):
        with pytest.raises(epiq.InputError) as caught:
            epiq.combine(ensemble, **wrong)
        assert str(caught.value).startswith(said)


def test_exceptions_are_what_python_expects():
    for kind, base in (
        (epiq.InputError, ValueError),
        (epiq.FileError, OSError),
        (epiq.NumericalError, ArithmeticError),
        (epiq.OutOfMemory, MemoryError),
    ):
        assert issubclass(kind, epiq.Error) and issubclass(kind, base) and kind.__module__ == "epiq"
