"""Models judged on rows whose y is known: the numbers of `epiq score`, to the bit, and of formulas written here."""

import copy
import csv
import io
import pickle
from math import erf, exp, log, pi, sqrt

import epiq
import numpy as np
import pytest
from conftest import QUICK, flags

pytestmark = pytest.mark.filterwarnings("ignore::epiq.ExtrapolationWarning")


@pytest.fixture(scope="module")
def judged(table):
    """A fitted model, and 40 rows for which it is asked."""
    X, y, _ = table
    rng = np.random.default_rng(9)
    new = rng.uniform(-0.9, 0.9, (40, 3))
    return epiq.EpistemicRegressor(**QUICK, methods="if,ev").fit(X, y), new, np.sin(3 * new[:, 0]) + new[:, 1]


def told(cli, model, new, y, level, folder):
    model.save(folder / "m.epiq")
    table = np.column_stack([new, y])
    (folder / "new.csv").write_text("x1,x2,x3,y\n" + "\n".join(",".join(map(repr, row.tolist())) for row in table) + "\n")
    return ("score", "m.epiq", "new.csv", *flags({"level": level}))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_numbers_are_the_command_lines(judged, cli, tmp_path, level):
    model, new, y = judged
    asked = told(cli, model, new, y, level, tmp_path)
    want, got = cli.json(*asked, cwd=tmp_path), epiq.score(model, new, y, level=level)
    want["score"]["file"], want["model"]["file"] = "X", "as fitted"
    for key in ("score", "model", "rows", "warnings"):
        assert got.json[key] == want[key], key
    assert dict(got) == want["score"] and got["coverage"]["level"] == level
    loaded = epiq.score(tmp_path / "m.epiq", new, y, level=level)
    assert dict(loaded) == dict(got)
    said = cli.run(*asked, cwd=tmp_path).stdout.replace("new.csv: ", "X: ")
    assert str(got) == said.rstrip("\n")
    pytest.importorskip("pandas")
    rows = list(csv.DictReader(io.StringIO(cli.run(*asked, "--csv", "-", cwd=tmp_path).stdout)))
    frame = got.to_frame()
    assert list(frame.columns) == list(rows[0])
    for name in frame.columns:
        assert np.array_equal(frame[name], [float(row[name] or "nan") for row in rows], equal_nan=True), name


def test_the_numbers_are_what_they_are_called(judged):
    model, new, y = judged
    score, prediction = model.score_report(new, y), model.predict(new)
    error = y - prediction
    assert score["rmse"] == pytest.approx(sqrt((error**2).mean()), rel=1e-12)
    assert score["mae"] == pytest.approx(np.abs(error).mean(), rel=1e-12)
    assert score["r2"] == pytest.approx(model.score(new, y), rel=1e-12)
    rows = [row for row in score.json["rows"] if row["noise"] is not None and row["sd"] is not None]
    assert len(rows) == score["judged"] > 20
    ends = model.predict_interval(new)
    known = np.isfinite(ends[:, 0])
    inside = (ends[known, 0] <= y[known]) & (y[known] <= ends[known, 1])
    assert score["coverage"]["share"] == pytest.approx(inside.mean()) and score["coverage"]["rows"] == inside.sum()
    assert score["width"] == pytest.approx(np.diff(ends[known]).mean(), rel=1e-9)
    crps, density = [], []
    for row in rows:
        s = sqrt(row["sd"] ** 2 + row["noise"] ** 2)
        z = (row["y"] - row["prediction"]) / s
        normal = exp(-z * z / 2) / sqrt(2 * pi)
        crps.append(s * (z * erf(z / sqrt(2)) + 2 * normal - 1 / sqrt(pi)))
        density.append(log(normal / s))
    assert score["crps"] == pytest.approx(np.mean(crps), rel=1e-6)
    assert score["log_likelihood"] == pytest.approx(np.mean(density), rel=1e-6)
    assert [one["level"] for one in score["calibration"]] == [0.5, 0.8, 0.9, 0.95]
    assert sum(score["pit"]) == score["judged"]


def test_frames_and_copies(judged, tmp_path):
    pandas = pytest.importorskip("pandas")
    model, new, y = judged
    frame = pandas.DataFrame(new, columns=["a", "b", "c"], index=[f"r{k}" for k in range(40)]).assign(y=y)
    fitted = epiq.EpistemicRegressor(engine="infinite").fit(frame[["a", "b", "c"]], frame["y"])
    score = fitted.score_report(frame)  # y is a column of it
    assert dict(score) == dict(fitted.score_report(frame[["a", "b", "c"]], frame["y"]))
    assert list(score.to_frame().index) == list(frame.index)
    for other in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score), copy.copy(score)):
        assert dict(other) == dict(score) and str(other) == str(score) and other.to_frame().equals(score.to_frame())
    score.save_report(tmp_path / "page.html")
    assert "<!DOCTYPE html>" in (tmp_path / "page.html").read_text()


def test_what_is_refused(judged):
    model, new, y = judged
    with pytest.raises(epiq.InputError, match="X has 40 rows but y has 39; give one for each row of X"):
        epiq.score(model, new, y[:-1])
    with pytest.raises(ValueError, match='y is missing; give one number for each row of X, or a frame X with the column "y"'):
        epiq.score(model, new)
    with pytest.raises(ValueError, match="level is 95; it must be a number between 0 and 1"):
        epiq.score(model, new, y, level=95)
    with pytest.raises(ValueError, match="features"):
        epiq.score(model, new[:, :2], y)
    with pytest.raises(epiq.FileError):
        epiq.score("nowhere.epiq", new, y)
    with pytest.raises(ValueError, match="call fit first"):
        epiq.score(epiq.EpistemicRegressor(), new, y)


def test_the_model_lives_as_long_as_its_score(judged):
    model, new, y = judged
    score = epiq.EpistemicRegressor(engine="infinite").fit(new, y).score_report(new[:5], y[:5])  # the model is gone
    assert score.json["model"]["target"] == "y" and "learned y from 40" in score.text
