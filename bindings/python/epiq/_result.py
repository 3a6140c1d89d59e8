"""Result: what came of decompose or combine, as arrays, as text and as a page."""

from __future__ import annotations

import html
import json
import os
import re
import threading
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ._arrays import Floats
from ._epiq import FileError
from ._options import spelled

if TYPE_CHECKING:
    import pandas

    from ._epiq import _Answer

PARTS = ("procedural", "data", "ensemble", "single")

# Colours are the notebook's own, and lines half transparent, so that both light and dark ones read well.
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_HEAD = "padding:.3em .9em;border-bottom:1px solid #8888;text-align:right"
_CELL = "padding:.3em .9em;border-bottom:1px solid #8883;text-align:right"
_ASIDE = "opacity:.7;font-size:85%"
_NOTE = "margin:.5em 0;max-width:60em"
_MOST_ROWS = 20  # of the table in a notebook


def _spelled(text: str) -> str:
    """Options as Python spells them: ``batch_size`` for --batch-size."""
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda option: spelled(option[1]), text)


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

    json: dict[str, Any]
    text: str
    members: Floats
    batches: Floats
    _page: bytes

    @classmethod
    def _of(cls, answer: _Answer) -> Result:
        text, self = answer[0], cls.__new__(cls)
        self.json = json.loads(text)
        self.text = _spelled(answer[1])
        self._page = zlib.compress(answer[2], 1)
        self.members = np.frombuffer(answer[3]).reshape(len(self), answer[4])
        self.batches = np.frombuffer(answer[5]).reshape(len(self), answer[6])
        return self

    # ---- a part at every point ----

    def _variance(self, part: str) -> Floats:
        return np.array([_number(p[part] and p[part]["variance"]) for p in self.json["points"]], dtype=np.float64)

    def _interval(self, part: str) -> Floats:
        none = (np.nan, np.nan)  # an upper end that cannot be known is None in the JSON, and NaN here
        return np.array([(p[part] and p[part]["interval"]) or none for p in self.json["points"]], dtype=np.float64)

    def _column(self, key: str) -> Floats:
        return np.array([_number(p[key]) for p in self.json["points"]], dtype=np.float64)

    @property
    def at(self) -> list[str]:
        """What the points are called."""
        return [p["at"] for p in self.json["points"]]

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
        return advice | {"text": _spelled(advice["text"])}

    @property
    def warnings(self) -> list[dict[str, str]]:
        """A ``code`` and a ``message`` each."""
        return [{"code": w["code"], "message": _spelled(w["message"])} for w in self.json["warnings"]]

    # ---- as a sequence of points ----

    def __len__(self) -> int:
        return len(self.json["points"])

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
        path = os.path.realpath(path)
        whole = not os.path.exists(path) or os.path.isfile(path)  # a device is written to, not replaced
        target = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp" if whole else path
        try:
            with open(target, "wb") as file:
                file.write(zlib.decompress(self._page))
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
