"""decompose: the command line's numbers to the last bit, from any array that holds the same numbers."""

import copy
import decimal
import fractions

import epiq
import numpy as np
import pytest
from conftest import QUICK, as_python, flags

SAME = ("points", "fit", "training", "advice", "warnings", "data", "model")


def rows_file(table, folder):
    X, y, at = table
    np.save(folder / "rows.npy", np.column_stack([X, y]))
    np.save(folder / "at.npy", at)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"engine": "linear", "depth": 2},
        {"engine": "infinite"},
        {"methods": "if,ev", "level": 0.9, "ensemble_size": 7, "bias_sd": 0.5, "seed": 18446744073709551615},
        {"optimizer": "sgd", "steps": 50, "methods": "ev", "correction": "jackknife"},
        {"scale": "minmax", "probes": 16, "sweep": 3, "influential": 2, "backend": "ref"},
    ],
)
def test_numbers_are_the_command_lines(table, options, cli, tmp_path):
    rows_file(table, tmp_path)
    X, y, at = table
    options = {**QUICK, **options}
    told = cli.json("estimate", "rows.npy", "--target", "y", "--at", "at.npy", *flags(options), cwd=tmp_path)
    result = epiq.decompose(X, y, at, **options)
    for key in SAME:
        assert result.json[key] == as_python(told[key]), key
    if "sweep" in options:
        assert result.json["sweeps"] == told["sweeps"]
    assert result.at == ["1", "2", "3", "4", "5"]


def test_text_is_the_command_lines(table, cli, tmp_path):
    rows_file(table, tmp_path)
    done = cli.run("estimate", "rows.npy", "--target", "y", *flags(QUICK), cwd=tmp_path)
    ours = repr(epiq.decompose(*table[:2], **QUICK)).splitlines()
    told = done.stdout.splitlines()
    assert told[0].rsplit(";", 1)[0] == ours[0].rsplit(";", 1)[0]  # the time differs
    blocks = str.maketrans("█░", "#.")
    assert [line.translate(blocks) for line in ours[1:]] == [line.replace("--", "").translate(blocks) for line in told[1:]]  # no option of two words


def test_rows_with_equal_features_are_a_group(table, cli, tmp_path):
    X, y, _ = table
    X = np.repeat(X[:30], 2, axis=0)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    told = cli.json("estimate", "rows.npy", "--target", "y", "--group", "same-features", *flags(QUICK), cwd=tmp_path)
    result = epiq.decompose(X, y, group="same-features", **QUICK)
    assert result.json["points"] == told["points"]
    assert result.json["data"]["groups"] == told["data"]["groups"] == 30
    assert result.json["points"] == epiq.decompose(X, y, group=np.arange(60) // 2, **QUICK).json["points"]
    with pytest.raises(epiq.InputError, match="no two of 60 rows have the same features"):
        epiq.decompose(*table[:2], group="same-features", **QUICK)
    with pytest.raises(epiq.InputError, match='group is "house"; it must be one label for each row, or "same-features"'):
        epiq.decompose(X, y, group="house", **QUICK)


def test_names_and_groups_are_taken_over(table, cli, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, at = table
    frame = pandas.DataFrame(X, columns=["rooms", "tax, yearly", "x"]).assign(price=y, house=np.arange(60) // 2)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    args = ["--target", "price", "--group", "house", "--correction", "unbiased"]
    told = cli.json("estimate", "rows.csv", *args, "--at", "row:3", *flags(QUICK), cwd=tmp_path)
    features = frame[["rooms", "tax, yearly", "x"]]
    ask = {"group": frame["house"], "correction": "unbiased", **QUICK}
    result = epiq.decompose(features, frame["price"], "row:3", **ask)
    assert result.json["points"] == told["points"]
    assert result.json["data"] == told["data"]
    assert result.json["data"]["features"] == ["rooms", "tax, yearly", "x"]
    text = epiq.decompose(features, frame["price"], "row:3", **{**ask, "group": [f"h{k}" for k in frame["house"]]})
    assert text.json["points"] == told["points"]  # labels of any kind
    points = pandas.DataFrame(at, columns=features.columns)
    there = epiq.decompose(features, frame["price"], points, **QUICK)
    other = epiq.decompose(features, frame["price"], points[["x", "rooms", "tax, yearly"]], **QUICK)
    assert other.json["points"] == there.json["points"]  # found by name
    points.to_csv(tmp_path / "at.csv", index=False)
    file = epiq.decompose(features, frame["price"], tmp_path / "at.csv", **QUICK)
    assert np.array_equal(file.prediction, there.prediction)
    with pytest.raises(epiq.InputError, match='at has no column "x"'):
        epiq.decompose(features, y, points[["rooms", "tax, yearly"]], **QUICK)
    with pytest.warns(UserWarning, match="ignored: z"):
        assert np.array_equal(epiq.decompose(features, frame["price"], points.assign(z=1), **QUICK).prediction, there.prediction)
    with pytest.raises(epiq.InputError, match='features 1 and 3 are both named "a"'):
        epiq.decompose(features.set_axis(["a", "b", "a"], axis=1), y, **QUICK)
    assert epiq.decompose(pandas.DataFrame(X), y, **QUICK).json["data"]["features"] == ["x1", "x2", "x3"]
    odd = features.set_axis(["", "é\n<b>", "y"], axis=1)  # any text is a name, the target's too
    assert epiq.decompose(odd, y, **QUICK).json["data"]["features"] == ["", "é\n<b>", "y"]


def kinds(X):
    """The same numbers in every form; X holds eighths, so that each can hold them."""
    padded = np.zeros((2 * X.shape[0], X.shape[1] + 3))
    padded[::2, 1:4] = X
    locked = X.copy()
    locked.flags.writeable = False
    mixed = X.astype(object)
    mixed[0, 0] = fractions.Fraction(X[0, 0])
    mixed[1, 1] = decimal.Decimal(X[1, 1])
    return {
        "fortran": np.asfortranarray(X),
        "strided": padded[::2, 1:4],
        "reversed": X[::-1].copy()[::-1],
        "big-endian": X.astype(">f8"),
        "float32": X.astype("f4"),
        "float16": X.astype("f2"),
        "longdouble": X.astype(np.longdouble),
        "list": X.tolist(),
        "objects": mixed,
        "read-only": locked,
        "masked": np.ma.array(X),
    }


def test_any_array_of_the_same_numbers_gives_the_same_bits(table):
    X, y, at = np.round(8 * table[0]) / 8, np.round(8 * table[1]) / 8, np.round(8 * table[2]) / 8
    want = epiq.decompose(X, y, at, **QUICK).json["points"]
    for name, form in kinds(X).items():
        assert epiq.decompose(form, y, at, **QUICK).json["points"] == want, name
    for form in (y.reshape(-1, 1), y.tolist(), y.astype(">f8"), y.astype("f4"), np.repeat(y, 2)[::2]):
        assert epiq.decompose(X, form, at, **QUICK).json["points"] == want
    for name, form in kinds(at).items():
        assert epiq.decompose(X, y, form, **QUICK).json["points"] == want, name
    whole = np.round(8 * X)
    expect = epiq.decompose(whole, y, **QUICK).json["points"]
    for form in (whole.astype("i1"), whole.astype(">i8"), whole.astype(int).tolist()):
        assert epiq.decompose(form, y, **QUICK).json["points"] == expect
    assert epiq.decompose(X > 0, y, **QUICK).json["points"] == epiq.decompose(1.0 * (X > 0), y, **QUICK).json["points"]


def test_inputs_are_left_alone(table):
    before = copy.deepcopy(table)
    epiq.decompose(*table, **QUICK)
    for a, b in zip(before, table):
        assert np.array_equal(a, b)


def test_points_can_be_told_in_every_way(table):
    X, y, at = table

    def ask(where):
        return epiq.decompose(X, y, where, **QUICK)

    assert ask("mean").at == ["mean"] and len(ask(None)) >= 1
    assert ask("row:3").at == ["row:3"]
    assert ask(["mean", "row:1", "row:60"]).at == ["mean", "row:1", "row:60"]
    assert np.array_equal(ask(X[2]).prediction, ask("row:3").prediction)  # one point
    one_by_one = [ask("mean").prediction[0], ask("row:3").prediction[0]]
    assert np.allclose(ask(["mean", "row:3"]).prediction, one_by_one, rtol=1e-12)  # sums in another order
    assert len(ask(at)) == 5


def test_options_are_the_command_lines(table):
    X, y, _ = table
    a = epiq.decompose(X, y, engine="infinite", lambda_=1e-2)
    b = epiq.decompose(X, y, engine="infinite", **{"lambda": np.float64(1e-2)})
    assert a.json["points"] == b.json["points"]
    assert float(a.json["run"]["options"]["lambda"]) == 0.01
    assert epiq.decompose(X, y, methods=["if", "ev"], **QUICK).json["run"]["options"]["methods"] == "if,ev"
    assert epiq.decompose(X, y, "mean", **{**QUICK, "members": np.int32(4), "level": None}).members.shape == (1, 4)
    assert epiq.decompose(X, y, engine="infinite", seed=None).json["run"]["options"]["seed"] == 1  # not a drawn one
    assert a.json["run"]["command"] == "epiq.decompose(X, y, engine='infinite', lambda_=0.01)"
    with pytest.raises(TypeError, match="has no option membres; did you mean members?"):
        epiq.decompose(X, y, membres=3)
    with pytest.raises(TypeError, match="decompose.. got lambda_ twice, as lambda_ and as lambda; give one"):
        epiq.decompose(X, y, lambda_=1e-2, **{"lambda": 1e-3})
    for wrong in ({"level": [0.5]}, {"members": [5]}, {"engine": ("infinite",)}):
        with pytest.raises(epiq.InputError, match=f"^{next(iter(wrong))} is "):
            epiq.decompose(X, y, **wrong)
    with pytest.raises(TypeError, match="has no option onehot"):
        epiq.decompose(X, y, onehot="metal")


def test_state_continues_and_belongs_to_its_points(table, tmp_path):
    X, y, at = table
    state = tmp_path / "state"
    first = epiq.decompose(X, y, at, state=state, methods="if,ev,ba", **QUICK)
    again = epiq.decompose(X, y, at, state=state, methods="if,ev,ba", **QUICK)
    assert again.json["training"]["resumed"] == 9 + 40  # members and batches; folds and retrained networks
    assert again.json["points"] == first.json["points"]


def test_a_point_in_words(table):
    X, y, _ = table
    named = epiq.decompose(X, y, at=["x2=0.5", "mean"], engine="infinite")
    usual = X.mean(axis=0)
    usual[1] = 0.5
    assert named.at == ["x2=0.5", "mean"]
    assert named.prediction[0] == pytest.approx(epiq.decompose(X, y, at=usual, engine="infinite").prediction[0], rel=1e-12)
    with pytest.raises(epiq.InputError, match="there is no feature"):
        epiq.decompose(X, y, at="x9=1", engine="infinite")
