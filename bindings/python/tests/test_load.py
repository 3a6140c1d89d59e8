"""Model files: what `epiq fit` writes is loaded here and predicts what `epiq predict` does, and the other way round."""

import pickle

import epiq
import numpy as np
import pytest
from conftest import QUICK, flags

ASKED = {**QUICK, "methods": "if,ev"}


def told(cli, model, new, cwd):
    """The columns that the command line predicts."""
    done = cli.run("predict", model, new, cwd=cwd)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    columns = np.array([[float(cell or "nan") for cell in line.split(",")] for line in lines]).T
    return dict(zip(head.split(","), columns, strict=True))


def test_a_file_of_the_command_line_predicts_as_there(table, cli, tmp_path):
    X, y, at = table
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    np.save(tmp_path / "at.npy", at)
    assert cli.run("fit", "rows.npy", "--target", "y", "-o", "m.epiq", *flags(ASKED), cwd=tmp_path).returncode == 0
    loaded = epiq.load(tmp_path / "m.epiq")
    want = told(cli, "m.epiq", "at.npy", tmp_path)
    prediction, parts = loaded.predict(at, return_parts=True)
    assert np.array_equal(prediction, want["prediction"])
    for part in ("procedural", "data", "ensemble"):
        assert np.array_equal(getattr(parts, part), want[part]), part
    assert (loaded.members, loaded.width, loaded.lambda_, loaded.random_state) == (6, 32, 0.01, 1)
    assert loaded.n_features_in_ == 3 and not hasattr(loaded, "feature_names_in_")
    again = loaded.fit(X, y).predict(at)  # with the options of the file
    assert np.array_equal(again, prediction)


def test_a_file_of_python_predicts_as_here(table, cli, tmp_path):
    X, y, at = table
    regressor = epiq.EpistemicRegressor(**ASKED, random_state=5).fit(X, y)
    regressor.save(tmp_path / "m.epiq")
    assert (tmp_path / "m.epiq").read_bytes() == regressor.model_.to_bytes()
    np.save(tmp_path / "at.npy", at)
    assert np.array_equal(told(cli, "m.epiq", "at.npy", tmp_path)["prediction"], regressor.predict(at))
    loaded = epiq.load(str(tmp_path / "m.epiq"))
    (tmp_path / "m.epiq").unlink()  # which it no longer needs
    for a, b in zip(loaded.predict(at, True, True)[2], regressor.predict(at, True, True)[2], strict=True):
        assert np.array_equal(a, b)
    assert loaded.seed_ == 5 and loaded.warnings_ == []
    assert np.array_equal(pickle.loads(pickle.dumps(loaded)).predict(at), regressor.predict(at))
    with pytest.raises(ValueError, match="does not keep its rows"):
        loaded.explain(at)


def test_frames_are_read_by_the_names_of_the_file(cli, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    a, metal = rng.uniform(0, 10, 60).round(3), rng.choice(["steel", "brass"], 60)
    wet = np.where(rng.uniform(size=60) < 0.5, "yes", "no")
    frame = pandas.DataFrame({"a": a, "metal": metal, "wet": wet, "y": (a + 3.0 * (metal == "brass")).round(3)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = {"engine": "infinite", "methods": "if,ev"}
    assert cli.run("fit", "rows.csv", "--target", "y", "-o", "m.epiq", *flags(options), cwd=tmp_path).returncode == 0
    want = told(cli, "m.epiq", "rows.csv", tmp_path)["prediction"]
    made = epiq.EpistemicRegressor(**options).fit(frame.drop(columns="y"), frame["y"])
    made.save(tmp_path / "python.epiq")
    for file in ("m.epiq", "python.epiq"):
        loaded = epiq.load(tmp_path / file)
        assert np.array_equal(loaded.predict(frame), want)  # y is ignored
        assert np.array_equal(loaded.predict(frame[["wet", "metal", "a"]]), want)
    numbers = np.column_stack([a, metal == "brass", metal == "steel", wet == "yes"]).astype(float)
    order = [0, 1, 2, 3] if loaded.model_.describe()["features"][1] == "metal=brass" else [0, 2, 1, 3]
    assert np.array_equal(loaded.predict(numbers[:, order]), want)
    with pytest.raises(ValueError, match="tin"):
        loaded.predict(frame.assign(metal="tin"))
    with pytest.raises(ValueError, match='no column "a"'):
        loaded.predict(frame[["metal", "wet"]])
    with pytest.raises(ValueError, match=r'X\["a"\].iloc\[2\] is nan'):
        loaded.predict(frame.assign(a=[1.0, 2.0, np.nan, *a[3:]]))


def test_files_that_are_no_model(tmp_path, cli):
    (tmp_path / "text").write_text("no model at all, " * 100)
    for name in ("text", "nowhere"):
        with pytest.raises(epiq.FileError) as caught:
            epiq.load(tmp_path / name)
        assert str(caught.value) == cli.sentence("predict", tmp_path / name, "new.csv", cwd=tmp_path)
    with pytest.raises(epiq.InputError, match="must be a path"):
        epiq.load(3)
    with pytest.raises(ValueError, match="call fit first"):
        epiq.EpistemicRegressor().save(tmp_path / "m.epiq")
    fitted = epiq.EpistemicRegressor(engine="infinite").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    with pytest.raises(epiq.FileError, match="the model was not written"):
        fitted.save(tmp_path / "no" / "folder")
