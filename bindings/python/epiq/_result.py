"""Result: what came of decompose or combine, as arrays, as text and as a page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _epiq, _plot
from ._answer import Answer, pandas_for
from ._arrays import Floats

if TYPE_CHECKING:
    import pandas

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


class Result(Answer):
    """The variances of a prediction at one or more points, and what to do about them.

    Arrays have one number for each point, NaN where a part is not known; ``warnings`` says why. Variances are in squared units of
    the target.

    Attributes
    ----------
    json : dict
        Everything, as ``epiq estimate --json`` writes it (docs/json.md). ``result[i]`` is its point i.
    text : str
        The command line's text, with options as Python spells them; ``print(result)`` prints it.
    verbose_text : str
        The same with every number, as by ``--verbose``.
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

    _kept = ("json", "text", "verbose_text", "members", "batches")

    @cached_property
    def text(self) -> str:
        return self._by_label(self._made().text())

    @cached_property
    def verbose_text(self) -> str:
        return self._by_label(self._made().verbose_text())

    def _by_label(self, text: str) -> str:
        """The least sure rows as the index of the frame calls them, where that is not their number."""
        named = dict(zip(self._made().at(), self._labels)) if self._labels is not None else {}

        def renamed(found: re.Match[str]) -> str:
            label, row = named.get(f"row:{found[1]}"), int(found[1])
            if label is None or label == row - 1:
                return found[0]
            shown = str(label).encode(errors="replace").decode()
            return f"{shown} (row {row}; " if shown.isprintable() else found[0]

        return re.sub("^Least sure: .*$", lambda line: re.sub(r"\brow (\d+) \(", renamed, line[0]), text, flags=re.MULTILINE)

    @cached_property
    def members(self) -> Floats:
        return np.frombuffer(self._made().numbers("members")).reshape(len(self), -1)

    @cached_property
    def batches(self) -> Floats:
        return np.frombuffer(self._made().numbers("batches")).reshape(len(self), -1)

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
    def at(self) -> list[Any]:
        """What the points are called: the index of the frame they came from, else as on the command line."""
        if self._labels is not None:
            return list(self._labels)
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
    def full_variance(self) -> Floats:
        """That of the mean of all networks, also at a row left out, where the prediction is of the few that have not seen it."""
        return self._column("full_variance")

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
    def notes(self) -> list[dict[str, str]]:
        """As ``warnings``, for information: nothing needs to be done."""
        notes: list[dict[str, str]] = self.json["notes"]
        return notes

    @property
    def advice(self) -> dict[str, Any]:
        """``action`` (train, collect, either, nothing), ``members``, ``rows``, and the same as ``text``."""
        advice: dict[str, Any] = self.json["advice"]
        return advice

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

    def to_frame(self) -> pandas.DataFrame:
        """One row per point: prediction, every variance and its interval, and a new observation's. Needs pandas.

        Its index is that of the frame the points came from, or what the points are called."""
        pd = pandas_for("to_frame")
        columns: dict[str, Any] = {"prediction": self.prediction, "prediction_variance": self.prediction_variance}
        for part in PARTS:
            interval = self._interval(part)
            columns |= {part: self._variance(part), f"{part}_lo": interval[:, 0], f"{part}_hi": interval[:, 1]}
        predictive = self.predictive_interval
        columns |= {"predictive_lo": predictive[:, 0], "predictive_hi": predictive[:, 1], "full_variance": self.full_variance}
        index = self._labels if isinstance(self._labels, pd.Index) else pd.Index(self.at, name="at")
        frame: pandas.DataFrame = pd.DataFrame(columns, index=index)
        return frame

    def plot(self, kind: Literal["parts", "rows"] | None = None, ax: Any = None) -> Any:
        """``"parts"``: what one network's variance is made of, a bar for each point; ``"rows"``: predictions in rising order
        with the interval of a new observation. Unless told, parts for up to 30 points and rows for more or for rows left out.

        Draws into ``ax``, or a new figure, and returns the Axes. Needs matplotlib."""
        return _plot.result(self, kind, ax)

    def _repr_html_(self) -> str:
        level = 100 * self.json["run"]["options"]["level"]
        titles = ("", "prediction", "std dev", f"{level:g} % prediction interval", "because of the data",
                  "one network, by retraining", f"ensemble of {self._ensemble_size()}", "one network")
        lines = [f'<table style="{_TABLE}"><thead><tr>', *(f'<th style="{_HEAD}">{title}</th>' for title in titles)]
        lines.append("</tr></thead><tbody>")
        for name, p in zip(self.at, self[:_MOST_ROWS]):
            sd = np.sqrt(_number(p["full_variance"]))
            cells = [_beside(_number(p["prediction"]), sd), _sd(sd), _predictive(p),
                     *(_cell(p[part]) for part in ("data", "procedural", "ensemble", "single"))]
            lines.append(f'<tr><th style="{_CELL}">{html.escape(str(name))}</th>')
            lines += [f'<td style="{_CELL}">{cell}</td>' for cell in cells]
            lines.append("</tr>")
        lines.append("</tbody></table>")
        more = f"And {len(self) - _MOST_ROWS} more points. " if len(self) > _MOST_ROWS else ""
        target = html.escape(self.json["data"]["target"] or "the target")
        note = f"{more}Standard deviations, their {level:g} % intervals below, in units of {target}."
        lines.append(f'<p style="{_NOTE};{_ASIDE}">{note}</p>')
        lines.append(f'<p style="{_NOTE}"><b>Advice:</b> {html.escape(self.advice["text"])}</p>')
        lines += [f'<p style="{_NOTE}"><b>Warning:</b> {html.escape(w["message"])}</p>' for w in self.warnings]
        return "".join(lines)

    def _ensemble_size(self) -> str:
        for p in self:
            if p["ensemble"]:
                return str(p["ensemble"]["members"])
        return "m'"


def _sd(sd: float) -> str:
    return "&ndash;" if np.isnan(sd) else _epiq.rounded_sd(sd)


def _beside(value: float, sd: float) -> str:
    return "&ndash;" if np.isnan(value) else _epiq.rounded_beside(value, sd)


def _predictive(p: dict[str, Any]) -> str:
    if not p["predictive"]:
        return "&ndash;"
    sd = (p["predictive"]["noise_sd"] ** 2 + (p["prediction_variance"] or 0)) ** 0.5
    return " to ".join(_epiq.rounded_end(p["predictive"][end], sd) for end in ("lo", "hi"))


def _cell(part: dict[str, Any] | None) -> str:
    if not part:
        return "&ndash;"
    interval = "no interval"
    if part["interval"]:
        lo, hi = part["interval"]
        interval = f"at least {_sd(lo**0.5)}" if hi is None else f"{_sd(lo**0.5)} to {_sd(hi**0.5)}"
    return f'{_sd(part["variance"] ** 0.5)}<br><span style="{_ASIDE}">{interval}</span>'
