"""Models as the extension has them, with arrays going in and coming out: what EpistemicRegressor stands on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from . import _arrays, _epiq, _options
from ._arrays import Floats
from ._epiq import Model, model_from_bytes

_FEW_ROWS = 32  # a team of threads for one call takes longer to gather than these to predict
PARTS = ("prediction", "procedural", "data", "ensemble")  # bit k of a model's parts is 1 << k

__all__ = ["PARTS", "Model", "fit", "model_from_bytes", "predict"]


def fit(X: Any, y: Any, group: Any = None, *, function: str = "fit", options: Mapping[str, Any]) -> Model:
    """A model of y from X. ``function`` is who asks, for the sentence about an unknown option."""
    labels, texts = _options.grouped(_arrays.labels(group, "group"), _options.texts(function, options))
    return _epiq.fit(
        _arrays.matrix(X, "X", "rows", "features"),
        _arrays.vector(y, "y"),
        labels,
        _arrays.names_of(X, "X"),
        _arrays.name_of(y, "y"),
        texts,
    )


def predict(
    model: Model, X: Any, parts: Collection[str] = PARTS, *, threads: int = 0, exact: bool = False
) -> tuple[dict[str, Floats], int, int]:
    """Each part at every row of X, NaN where it is not known; a part that the model cannot tell is not there. And how many
    rows lie outside the range of those learned from, and at how many the data variance rests on one or two of these."""
    rows = _arrays.matrix(X, "X", "rows", "features")
    wanted = sum(1 << k for k, part in enumerate(PARTS) if part in parts)
    told = model.predict(rows, wanted, threads or int(len(rows) <= _FEW_ROWS), exact)
    known = np.frombuffer(told[4], dtype=np.uint8)
    out = {}
    for k, part in enumerate(PARTS):
        numbers = told[k]
        if isinstance(numbers, bytearray):
            out[part] = np.frombuffer(numbers)
            out[part][known & (1 << k) == 0] = np.nan
    return out, told[5], told[6]
