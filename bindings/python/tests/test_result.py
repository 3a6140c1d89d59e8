"""Result: the same numbers as arrays, frames, text and pages; copies and pickles are whole."""

import copy
import json
import os
import pickle
import re

import epiq
import numpy as np
import pytest
from conftest import QUICK

PARTS = ("procedural", "data", "ensemble", "single")


@pytest.fixture(scope="module")
def result(table):
    return epiq.decompose(*table, **QUICK)


def test_arrays_are_the_json(result):
    for i, p in enumerate(result.json["points"]):
        assert result.prediction[i] == p["prediction"] and result.prediction_variance[i] == p["prediction_variance"]
        for part in PARTS:
            assert getattr(result, part)[i] == p[part]["variance"]
            assert getattr(result, f"{part}_interval")[i].tolist() == p[part]["interval"]
        assert result.predictive_interval[i].tolist() == p["predictive"]["interval"]
    assert result.members.shape == (5, 6) and result.batches.shape == (5, 3)
    assert np.allclose(result.members.mean(axis=1), result.prediction, rtol=1e-12)
    assert np.allclose(result.members.var(axis=1, ddof=1), result.procedural, rtol=1e-9)


def test_points_are_a_sequence(result):
    assert len(result) == 5 and result[-1]["at"] == "5" and [p["at"] for p in result] == result.at
    assert [p["at"] for p in result[1:3]] == ["2", "3"]
    with pytest.raises(IndexError):
        result[5]


def test_what_is_unknown_is_nan(table):
    r = epiq.decompose(*table, **{**QUICK, "methods": "ev"})
    assert np.isnan(r.data).all() and np.isnan(r.data_interval).all() and r.data_interval.shape == (5, 2)
    assert r.batches.shape == (5, 0) and np.isfinite(r.procedural).all()
    assert np.isnan(r.predictive_interval).all()
    assert "&ndash;" in r._repr_html_()
    assert epiq.decompose(*table, engine="infinite").members.shape == (5, 0)


def test_an_upper_end_that_cannot_be_known(table):
    r = epiq.decompose(*table, **{**QUICK, "methods": "ev", "members": 2})  # one degree of freedom
    assert [p["procedural"]["interval"][1] for p in r.json["points"]] == [None] * 5
    assert (r.procedural_interval[:, 0] <= r.procedural).all() and np.isnan(r.procedural_interval[:, 1]).all()
    assert "at least" in r._repr_html_() and "at least" in r.text and "e+" not in r.text


def test_text_advice_and_warnings(result):
    assert repr(result) == str(result) == result.text.rstrip("\n")
    assert result.advice["text"] in result.text
    assert {"code", "message"} == set(result.warnings[0]) and result.warnings[0]["message"] in result.text


def test_frames(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_frame()
    assert list(frame.index) == result.at and frame.index.name == "at"
    assert frame["data"].tolist() == result.data.tolist()
    assert frame["single_hi"].tolist() == result.single_interval[:, 1].tolist()
    assert list(frame.columns)[:5] == ["prediction", "prediction_variance", "procedural", "procedural_lo", "procedural_hi"]
    assert all(kind == np.float64 for kind in frame.dtypes)
    assert isinstance(frame, pandas.DataFrame)


def test_frames_without_pandas_say_so(python):
    done = python(
        "import sys; sys.modules['pandas'] = None\n"
        "import epiq\n"
        "r = epiq.decompose([[0.], [1], [2]], [0., 1, 2], engine='infinite')\n"
        "try: r.to_frame()\n"
        "except ImportError as e: print(e)"
    )
    assert done.stdout == "to_frame needs pandas, which is not installed; pip install pandas\n", done.stderr


def test_pages(result, tmp_path):
    result.save_report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>") and "epiq.decompose(X, y" in page
    result.save_report(str(tmp_path / "page.html"))  # again, over it
    assert os.listdir(tmp_path) == ["page.html"]
    with pytest.raises(epiq.FileError, match="the report was not written"):
        result.save_report(tmp_path / "no" / "page.html")
    with pytest.raises(OSError):
        result.save_report(tmp_path)
    (tmp_path / "link.html").symlink_to("page.html")
    result.save_report(tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    result.save_report(os.devnull)
    assert not os.path.isfile(os.devnull)


def test_tables_for_notebooks(table, result):
    page = result._repr_html_()
    assert page.count("<tr>") == 6 and f"{result.data[0]:.4g}" in page and "ensemble of 3" in page
    assert "http" not in page and "<script" not in page
    X, y, _ = table
    many = epiq.decompose(X, y, X, engine="infinite")
    assert "And 40 more points" in many._repr_html_()
    odd = epiq.combine(np.random.default_rng(1).normal(size=(9, 1)))
    assert re.search(r"squared units of the target", odd._repr_html_())


@pytest.mark.parametrize("how", ["copy", "deepcopy", *range(2, pickle.HIGHEST_PROTOCOL + 1)])
def test_copies_are_whole(result, how, tmp_path):
    same = getattr(copy, how)(result) if isinstance(how, str) else pickle.loads(pickle.dumps(result, how))
    assert same.json == result.json and repr(same) == repr(result)
    assert np.array_equal(same.members, result.members) and np.array_equal(same.batches, result.batches)
    for r, name in ((same, "a"), (result, "b")):
        r.save_report(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_json_can_be_written(result):
    assert json.loads(json.dumps(result.json)) == result.json
