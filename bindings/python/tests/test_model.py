"""Models behind the regressor: they predict what decompose says, also after a trip as bytes, from any number of threads."""

import concurrent.futures

import epiq
import numpy as np
import pytest
from conftest import QUICK
from epiq import _epiq, _model


@pytest.fixture(scope="module")
def model(table):
    return _model.fit(*table[:2], options=QUICK)


def test_predictions_are_decomposes(table, model):
    there = epiq.decompose(*table, **QUICK)
    told = _model.predict(model, table[2], exact=True).parts
    assert np.allclose(told["prediction"], there.prediction, rtol=1e-12)
    for part in ("procedural", "data", "ensemble"):
        assert np.allclose(told[part], getattr(there, part), rtol=1e-6), part  # sums in another order


def test_bytes_are_the_model(table, model):
    same = _model.model_from_bytes(model.to_bytes())
    (a, *_), (b, *_) = _model.predict(model, table[2]), _model.predict(same, table[2])
    assert all(np.array_equal(a[part], b[part]) for part in _model.PARTS)
    assert same.to_bytes() == model.to_bytes()
    for bad in (b"", b"x" * 300, model.to_bytes()[:-1]):
        with pytest.raises(epiq.FileError, match="^the model's bytes: "):
            _model.model_from_bytes(bad)
    with pytest.raises(TypeError):
        _model.model_from_bytes(bytearray(model.to_bytes()))


def test_parts_are_those_wanted(table, model):
    assert list(_model.predict(model, table[2], ["data"])[0]) == ["data"]
    assert list(_model.predict(_model.fit(*table[:2], options={**QUICK, "methods": "ev"}), table[2])[0]) == [
        "prediction",
        "procedural",
    ]
    told, outside, withheld = _model.predict(model, np.empty((0, 3)))
    assert told["prediction"].shape == (0,) and outside == withheld == 0
    told = _model.predict(model, [[0, 0, 0], [0, 0, 2], [-2, 0, 2]], ["lo", "hi", "noise"])
    assert told.outside == told.withheld == 2 and list(told.parts) == ["lo", "hi", "noise"]
    assert all(np.array_equal(np.isnan(numbers), [False, True, True]) for numbers in told.parts.values())


def test_what_it_is(model):
    told = model.describe()
    assert told["rows"] == 60 and told["features"] == ["x1", "x2", "x3"] and told["parts"] == [*_model.PARTS, "sd", "interval", "noise"]
    assert told["options"]["members"] == "6" and told["version"] == epiq.__version__


def test_wrong_rows_are_refused(table, model):
    with pytest.raises(epiq.InputError, match="X has 2 columns but the model was fitted to 3"):
        _model.predict(model, table[2][:, :2])
    with pytest.raises(epiq.InputError, match=r"^X\[0\]\[0\] is nan; only finite numbers"):
        _model.predict(model, np.full((2, 3), np.nan))
    with pytest.raises(TypeError, match="has no option widht; did you mean width?"):
        _model.fit(*table[:2], options={"widht": 3})
    with pytest.raises(epiq.InputError, match="leave out kernel empirical$"):
        _model.fit(*table[:2], options={"kernel": "empirical"})
    with pytest.raises(TypeError):
        _epiq.Model()


def test_the_extension_reads_nothing_it_may_not(table, model):
    X, y, _ = table
    with pytest.raises(TypeError, match="X is an array of 2 dimensions and format f"):
        model.predict(X.astype("f4"))
    with pytest.raises(ValueError, match="not C-contiguous"):
        model.predict(np.asfortranarray(X))
    with pytest.raises(TypeError, match="1 dimensions"):
        model.predict(y)
    with pytest.raises(TypeError, match="format >d"):
        model.predict(X.astype(">f8"))
    with pytest.raises(TypeError):
        model.predict("text")
    with pytest.raises(TypeError):
        model.predict(b"bytes")
    with pytest.raises(epiq.InputError):
        model.predict(None)
    with pytest.raises(TypeError, match="X and y must be arrays"):
        _epiq.fit(X, None, None, None, None, {})
    with pytest.raises(epiq.InputError, match="3 columns but there are 2 names"):
        _epiq.fit(X, y, None, ("a", "b"), None, {})
    for options in ([], {"width": 3}, {"width": None}, {3: "width"}):
        with pytest.raises(TypeError):
            _epiq.fit(X, y, None, None, None, options)
    with pytest.raises(UnicodeEncodeError):
        _epiq.fit(X, y, None, ("a", "b", "\ud800"), None, {})
    with pytest.raises(TypeError):
        _epiq.fit(X, y, None, ("a", "b", None), None, {})


def test_threads_share_a_model(table, model):
    X = np.tile(table[0], (50, 1))
    want, *_ = _model.predict(model, X)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for told, *_ in pool.map(lambda _: _model.predict(model, X), range(12)):
            assert all(np.array_equal(told[part], want[part]) for part in _model.PARTS)
