"""Score: a model judged on rows whose y is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _plot
from ._answer import Answer

if TYPE_CHECKING:
    import pandas

    from ._arrays import Floats


class Score(Answer, Mapping[str, Any]):
    """What `epiq score` says of a model, as a mapping: ``score["rmse"]``; None where something is not known.

    rmse, mae, r2
        Errors of the predictions, and R2, over all rows.
    rows, judged, outside
        How many there are, of how many intervals and standard deviations are known, and how many lie outside the data.
    coverage
        Of the intervals at ``level``: ``share`` of the rows inside, and ``interval``, what it could be by chance.
    width, interval_score
        Of these intervals, on average.
    crps, log_likelihood, squared_z
        Of a normal distribution around the prediction, per row: the continuous ranked probability score, the log density, and
        squared errors over their variance, which is 1 where standard deviations are right.
    calibration
        The coverage of other levels; ``pit`` counts rows in each tenth of the distribution.
    verdict
        The same as a sentence.

    ``print`` shows the text of `epiq score`; ``json`` is its JSON (docs/json.md).
    """

    def _scores(self) -> dict[str, Any]:
        scores: dict[str, Any] = self.json["score"]
        return scores

    def __getitem__(self, name: str) -> Any:
        return self._scores()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores())

    def __len__(self) -> int:
        return len(self._scores())

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def to_frame(self) -> pandas.DataFrame:
        """One row per row judged: y, prediction, sd, the interval's ends, noise; what `epiq score --csv` writes. Needs pandas."""
        frame = self._table()
        return frame if self._labels is None else frame.set_axis(self._labels)

    def plot(self, ax: Any = None) -> Any:
        """Predictions in rising order with their intervals, and what was observed.

        Draws into ``ax``, or a new figure, and returns the Axes. Needs matplotlib."""
        rows = self.json["rows"]
        y, prediction, lo, hi = (self._column(rows, name) for name in ("y", "prediction", "lo", "hi"))
        coverage = self["coverage"]
        label = f"{100 * coverage['level']:g} % interval" if coverage else "no interval"
        return _plot.intervals(prediction, np.column_stack([lo, hi]), self.json["model"]["target"], label, y, ax)

    @staticmethod
    def _column(rows: list[dict[str, Any]], name: str) -> Floats:
        return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)
