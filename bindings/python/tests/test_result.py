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
    return epiq.decompose(*table, **QUICK, methods="if,ev,ba")


def test_arrays_are_the_json(result):
    for i, p in enumerate(result.json["points"]):
        assert result.prediction[i] == p["prediction"] and result.prediction_variance[i] == p["prediction_variance"]
        for part in PARTS:
            assert getattr(result, part)[i] == p[part]["variance"]
            assert getattr(result, f"{part}_interval")[i].tolist() == p[part]["interval"]
        assert result.predictive_interval[i].tolist() == [p["predictive"]["lo"], p["predictive"]["hi"]]
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
    assert "at least" in r._repr_html_() and "at least" in r.verbose_text and "e+" not in r.verbose_text


def test_text_advice_and_warnings(result):
    assert repr(result) == str(result) == result.text.rstrip("\n")
    assert result.advice["text"] in result.text
    assert {"code", "message"} == set(result.warnings[0]) and result.warnings[0]["message"] in result.text
    assert all(n["message"] in result.verbose_text and n["message"] not in result.text for n in result.notes)
    assert result.advice["text"] in result.verbose_text and len(result.text) < len(result.verbose_text)


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
    assert page.count("<tr>") == 6 and "ensemble of 3" in page and "95 % prediction interval" in page
    sd = float(re.search(r"<th [^>]*>[^<]*</th><td [^>]*>[^<]*</td><td [^>]*>([0-9.]+)</td>", page)[1])
    assert abs(sd / result.prediction_variance[0] ** 0.5 - 1) < 0.05  # two digits
    assert "http" not in page and "<script" not in page
    intervals = re.findall(r"95 % prediction interval +(\S+ to \S+)\n", result.verbose_text)
    assert intervals and all(f">{interval}<" in page for interval in intervals)  # the digits of the command line
    X, y, _ = table
    many = epiq.decompose(X, y, X, engine="infinite")
    assert "And 40 more points" in many._repr_html_()
    odd = epiq.combine(np.random.default_rng(1).normal(size=(9, 1)))
    assert re.search(r"in units of the target", odd._repr_html_())


@pytest.mark.parametrize("how", ["copy", "deepcopy", *range(2, pickle.HIGHEST_PROTOCOL + 1)])
def test_copies_are_whole(result, how, tmp_path):
    same = getattr(copy, how)(result) if isinstance(how, str) else pickle.loads(pickle.dumps(result, how))
    assert same.json == result.json and repr(same) == repr(result) and same.verbose_text == result.verbose_text
    assert np.array_equal(same.members, result.members) and np.array_equal(same.batches, result.batches)
    for r, name in ((same, "a"), (result, "b")):
        r.save_report(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_json_can_be_written(result):
    assert json.loads(json.dumps(result.json)) == result.json


class Watched:
    """A handle that notes what is asked of it."""

    def __init__(self, handle):
        self.handle, self.asked = handle, []

    def __len__(self):
        return len(self.handle)

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self.handle, name)


def test_nothing_is_written_unless_asked_for(result, tmp_path):
    handle = Watched(result._handle)
    r = epiq.Result._of(handle)
    assert handle.asked == []
    arrays = [r.prediction, r.prediction_variance, r.data, r.single_interval, r.predictive_interval, r.members, r.batches]
    assert len(r) == 5 and all(len(a) == 5 for a in arrays) and r.at == result.at
    assert set(handle.asked) == {"numbers", "at"}
    repr(r), repr(r), r.advice, r.warnings, r[0], r._repr_html_(), copy.copy(r), copy.deepcopy(r)
    assert handle.asked.count("text") == handle.asked.count("json") == 1 and "page" not in handle.asked
    r.save_report(tmp_path / "page.html")
    assert handle.asked.count("page") == 1


def test_a_pickled_result_has_the_same_arrays(table):
    for r in (epiq.decompose(*table, **QUICK), epiq.decompose(*table, engine="infinite", methods="if")):
        same = pickle.loads(pickle.dumps(r))
        assert same._handle is None and same.at == r.at and len(same) == len(r)
        for name in ("prediction", "prediction_variance", *PARTS):
            assert np.array_equal(getattr(same, name), getattr(r, name), equal_nan=True)
        for name in (*PARTS, "predictive"):
            assert np.array_equal(getattr(same, f"{name}_interval"), getattr(r, f"{name}_interval"), equal_nan=True)
        assert pickle.loads(pickle.dumps(same)).json == r.json


def test_the_result_outlives_what_it_was_made_of(table):
    import gc

    r = epiq.decompose(*(np.array(a) for a in table), engine="".join(["infi", "nite"]), mem_limit=f"{10 ** 9}")
    gc.collect()
    [bytearray(1 << 16) for _ in range(50)]
    assert r.json["data"]["features"] and r.json["run"]["options"]["mem-limit"] and "infinitely wide networks" in r.text and len(r._drawn()) > 10000


def test_any_number_of_threads_may_ask(result):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda _: result._handle.page(), range(8)))
        texts = list(pool.map(lambda _: result._handle.json(), range(8)))
    assert len(set(pages)) == 1 and len(set(texts)) == 1
    with pytest.raises(KeyError):
        result._handle.numbers("sum")
    with pytest.raises(TypeError):
        result._handle.numbers(3)
