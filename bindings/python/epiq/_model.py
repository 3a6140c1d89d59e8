"""Models as the extension has them, with arrays going in and coming out: what EpistemicRegressor stands on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _epiq, _options, _progress
from ._arrays import Floats
from ._epiq import Model, model_from_bytes, model_from_file

_FEW_ROWS = 32  # a team of threads for one call takes longer to gather than these to predict
_BITS = {
    "prediction": 1,
    "procedural": 2,
    "data": 4,
    "ensemble": 8,
    "sd": 16,
    "lo": 32,
    "hi": 32,
    "noise": 64,
    "confidence_lo": 128,
    "confidence_hi": 128,
}
PARTS = ("prediction", "procedural", "data", "ensemble")

__all__ = ["PARTS", "Model", "Told", "fit", "model_from_bytes", "model_from_file", "predict"]


def fit(
    X: Any,
    y: Any,
    group: Any = None,
    *,
    function: str = "fit",
    options: Mapping[str, Any],
    progress: _progress.Progress = False,
) -> Model:
    """A model of y from X. ``function`` is who asks, for the sentence about an unknown option."""
    labels, texts = _options.grouped(_arrays.labels(group, "group"), _options.texts(function, options))
    with _progress.shown(progress) as report:
        return _epiq.fit(
            _arrays.matrix(X, "X", "rows", "features"),
            _arrays.vector(y, "y"),
            labels,
            _arrays.names_of(X, "X"),
            _arrays.name_of(y, "y"),
            texts,
            report,
        )


class Told(NamedTuple):
    """What a model says at some rows."""

    parts: dict[str, Floats]
    """NaN where a number is not known; a part that the model cannot tell is not there."""
    outside: int
    """Rows outside the range of those learned from."""
    withheld: int
    """Rows outside the data, where there is no interval."""


def predict(
    model: Model,
    X: Any,
    parts: Collection[str] = PARTS,
    *,
    threads: int = 0,
    exact: bool = False,
    level: float = 0.95,
) -> Told:
    """Each part at every row of X: prediction, variances, sd, the ends lo and hi of the interval of y, noise, and the
    ends confidence_lo and confidence_hi of that of the expected prediction."""
    rows = _arrays.matrix(X, "X", "rows", "features")
    wanted = 0
    for part in parts:
        wanted |= _BITS[part]
    *arrays, flags, outside, _, withheld = model.predict(
        rows, wanted, threads or int(len(rows) <= _FEW_ROWS), exact, level
    )
    known = np.frombuffer(flags, dtype=np.uint8)
    out = {}
    for (part, bit), numbers in zip(_BITS.items(), arrays, strict=True):
        if numbers is not None:
            out[part] = np.frombuffer(numbers)
            out[part][known & bit == 0] = np.nan
    return Told(out, outside, withheld)
