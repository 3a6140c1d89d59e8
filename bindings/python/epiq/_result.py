"""Result: what came of decompose or combine, as arrays, as text and as a page."""

from __future__ import annotations

import copy
import html
import json
import os
import threading
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ._arrays import Floats
from ._epiq import FileError

if TYPE_CHECKING:
    import pandas

    from . import _epiq

PARTS = ("procedural", "data", "ensemble", "single")

# Colours are the notebook's own, and lines half transparent, so that both light and dark ones read well.
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_HEAD = "padding:.3em .9em;border-bottom:1px solid #8888;text-align:right"
_CELL = "padding:.3em .9em;border-bottom:1px solid #8883;text-align:right"
_ASIDE = "opacity:.7;font-size:85%"
_NOTE = "margin:.5em 0;max-width:60em"
_MOST_ROWS = 20  # of the table in a notebook


def _number(value: float | None) -> float:
    return np.nan if value is None else value


class Result:
    """The variances of a prediction at one or more points, and what to do about them.

    Arrays have one number a point, NaN where a part is not known; ``warnings`` says why. Variances are in squared units of
    the target.

    Attributes
    ----------
    json : dict
        Everything, as ``epiq estimate --json`` writes it (docs/json.md). ``result[i]`` is its point i.
    text : str
        The command line's text, with options as Python spells them; ``print(result)`` prints it.
    members, batches : ndarray, points by networks
        The predictions of the networks trained on all rows (EV), and on one batch of them each (BA).

    Examples
    --------
    >>> import epiq
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> result = epiq.decompose(X, [a * a + b for a, b in X], at=X[:3], members=5, batches=2, width=32)
    >>> len(result), result.members.shape
    (3, (3, 5))
    >>> bool((result.single > result.data).all())
    True
    >>> result[0]["procedural"]["method"]
    'ev'
    """

    _handle: _epiq.Result | None  # None after pickling: everything is in the object's own attributes then
    _page: bytes

    @classmethod
    def _of(cls, handle: _epiq.Result) -> Result:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    # ---- made when asked for, and kept ----

    def _made(self) -> _epiq.Result:
        assert self._handle is not None, "a pickled result has all of its attributes"
        return self._handle

    @cached_property
    def json(self) -> dict[str, Any]:
        whole: dict[str, Any] = json.loads(self._made().json())
        return whole

    @cached_property
    def text(self) -> str:
        return self._made().text()

    @cached_property
    def members(self) -> Floats:
        return np.frombuffer(self._made().numbers("members")).reshape(len(self), -1)

    @cached_property
    def batches(self) -> Floats:
        return np.frombuffer(self._made().numbers("batches")).reshape(len(self), -1)

    def _drawn(self) -> bytes:
        return zlib.decompress(self._page) if self._handle is None else self._handle.page()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: all of it, the page too."""
        kept = {name: getattr(self, name) for name in ("json", "text", "members", "batches")}
        return kept | {"_handle": None, "_page": zlib.compress(self._drawn(), 1)}

    def __copy__(self) -> Result:
        same = self.__class__.__new__(self.__class__)
        same.__dict__ |= self.__dict__
        return same

    def __deepcopy__(self, memo: dict[int, Any]) -> Result:
        same = self.__class__.__new__(self.__class__)
        same._handle = self._handle  # which nothing changes
        same.__dict__ |= {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items() if name != "_handle"}
        return same

    # ---- a part at every point ----

    def _variance(self, part: str) -> Floats:
        if self._handle is not None:
            return np.frombuffer(self._handle.numbers(part))
        return np.array([_number(p[part] and p[part]["variance"]) for p in self.json["points"]], dtype=np.float64)

    def _interval(self, part: str) -> Floats:
        if self._handle is not None:
            return np.frombuffer(self._handle.numbers(f"{part}_interval")).reshape(-1, 2)
        none = (np.nan, np.nan)  # an upper end that cannot be known is None in the JSON, and NaN here
        if part == "predictive":
            ends = [p[part] and [p[part]["lo"], p[part]["hi"]] for p in self.json["points"]]
        else:
            ends = [p[part] and p[part]["interval"] for p in self.json["points"]]
        return np.array([end or none for end in ends], dtype=np.float64)

    def _column(self, key: str) -> Floats:
        if self._handle is not None:
            return np.frombuffer(self._handle.numbers(key))
        return np.array([_number(p[key]) for p in self.json["points"]], dtype=np.float64)

    @property
    def at(self) -> list[str]:
        """What the points are called."""
        return self._handle.at() if self._handle is not None else [p["at"] for p in self.json["points"]]

    @property
    def prediction(self) -> Floats:
        """The mean of the members, or the kernel predictor when none were trained."""
        return self._column("prediction")

    @property
    def prediction_variance(self) -> Floats:
        """The epistemic variance of that mean."""
        return self._column("prediction_variance")

    @property
    def procedural(self) -> Floats:
        """Would retraining change the prediction?"""
        return self._variance("procedural")

    @property
    def data(self) -> Floats:
        """Would other rows change it?"""
        return self._variance("data")

    @property
    def ensemble(self) -> Floats:
        """What is left when the predictions of an ensemble are averaged: data + procedural / its size."""
        return self._variance("ensemble")

    @property
    def single(self) -> Floats:
        """What one network has: data + procedural."""
        return self._variance("single")

    @property
    def procedural_interval(self) -> Floats:
        """Points by 2: where the procedural variance lies at the options' level; NaN for an upper end that cannot be known."""
        return self._interval("procedural")

    @property
    def data_interval(self) -> Floats:
        """Points by 2, of the data part."""
        return self._interval("data")

    @property
    def ensemble_interval(self) -> Floats:
        """Points by 2, of the ensemble's variance."""
        return self._interval("ensemble")

    @property
    def single_interval(self) -> Floats:
        """Points by 2, of one network's variance."""
        return self._interval("single")

    @property
    def predictive_interval(self) -> Floats:
        """Points by 2: where a new observation would fall (jackknife+)."""
        return self._interval("predictive")

    # ---- what to do, what to mind ----

    @property
    def advice(self) -> dict[str, Any]:
        """``action`` (train, collect, either, nothing), ``members``, ``rows``, and the same as ``text``."""
        advice: dict[str, Any] = self.json["advice"]
        return advice

    @property
    def warnings(self) -> list[dict[str, str]]:
        """A ``code`` and a ``message`` each."""
        warnings: list[dict[str, str]] = self.json["warnings"]
        return warnings

    # ---- as a sequence of points ----

    def __len__(self) -> int:
        return len(self._handle) if self._handle is not None else len(self.json["points"])

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.json["points"][index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.json["points"])

    # ---- for people ----

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def to_frame(self) -> pandas.DataFrame:
        """One row a point: prediction, every variance and its interval, and a new observation's. Needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas, which is not installed; pip install pandas") from error
        columns: dict[str, Any] = {"prediction": self.prediction, "prediction_variance": self.prediction_variance}
        for part in PARTS:
            interval = self._interval(part)
            columns |= {part: self._variance(part), f"{part}_lo": interval[:, 0], f"{part}_hi": interval[:, 1]}
        predictive = self.predictive_interval
        columns |= {"predictive_lo": predictive[:, 0], "predictive_hi": predictive[:, 1]}
        return pandas.DataFrame(columns, index=pandas.Index(self.at, name="at"))

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Write the page with pictures: one file for any browser, offline. The whole file is written, or none."""
        page, path = self._drawn(), os.path.realpath(path)
        whole = not os.path.exists(path) or os.path.isfile(path)  # a device is written to, not replaced
        target = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp" if whole else path
        try:
            with open(target, "wb") as file:
                file.write(page)
            if whole:
                os.replace(target, path)
        except OSError as error:
            if whole and os.path.exists(target):
                os.unlink(target)
            raise FileError(f"{path}: {error.strerror}; the report was not written") from error

    def _repr_html_(self) -> str:
        titles = ("", "prediction", "procedural", "data", f"ensemble of {self._ensemble_size()}", "one network")
        lines = [f'<table style="{_TABLE}"><thead><tr>', *(f'<th style="{_HEAD}">{title}</th>' for title in titles)]
        lines.append("</tr></thead><tbody>")
        for p in self[:_MOST_ROWS]:
            cells = [f"{_number(p['prediction']):.6g}", *(_cell(p[part]) for part in PARTS)]
            lines.append(f'<tr><th style="{_CELL}">{html.escape(p["at"])}</th>')
            lines += [f'<td style="{_CELL}">{cell}</td>' for cell in cells]
            lines.append("</tr>")
        lines.append("</tbody></table>")
        more = f"And {len(self) - _MOST_ROWS} more points. " if len(self) > _MOST_ROWS else ""
        level = 100 * self.json["run"]["options"]["level"]
        target = html.escape(self.json["data"]["target"] or "the target")
        note = f"{more}Variances, their {level:g} % intervals below, in squared units of {target}."
        lines.append(f'<p style="{_NOTE};{_ASIDE}">{note}</p>')
        lines.append(f'<p style="{_NOTE}"><b>Advice:</b> {html.escape(self.advice["text"])}</p>')
        lines += [f'<p style="{_NOTE}"><b>Warning:</b> {html.escape(w["message"])}</p>' for w in self.warnings]
        return "".join(lines)

    def _ensemble_size(self) -> str:
        for p in self:
            if p["ensemble"]:
                return str(p["ensemble"]["members"])
        return "m'"


def _cell(part: dict[str, Any] | None) -> str:
    if not part:
        return "&ndash;"
    interval = "no interval"
    if part["interval"]:
        lo, hi = part["interval"]
        interval = f"at least {lo:.3g}" if hi is None else f"{lo:.3g} to {hi:.3g}"
    return f'{part["variance"]:.4g}<br><span style="{_ASIDE}">{interval}</span>'
