"""X, y and points as people have them, arrays or frames, made into what the extension reads; with the labels that a frame gave them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _epiq, _frames, _options, _progress
from ._arrays import Floats
from ._epiq import InputError


def split(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """X and y, of which y may be a column of X."""
    if isinstance(y, str):
        raise InputError(f"y is {_arrays.shown(y)}; give its numbers, X[{y!r}], or the whole frame with target={y!r}")
    if target is None:
        if y is None:
            raise InputError('y is missing; give one number for each row of X, or target="NAME" for a column of the frame X')
        return X, y
    if y is not None:
        raise InputError("y and target are both given; leave one out")
    names = _arrays.names_of(X, "X")
    if names is None:
        raise InputError(f"target is {_arrays.shown(target)}, but X has no columns with names; give a data frame, or y")
    if target not in names:
        near = difflib.get_close_matches(str(target), names, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"its columns are {', '.join(names)}"
        raise InputError(f"X has no column {_arrays.shown(target)}; {hint}")
    return X[[name for name in names if name != target]], X[target]


class Table(NamedTuple):
    """What the extension is given, in its order, and what the points are called."""

    rows: Floats
    y: Floats
    at: Floats | None
    where: tuple[bytes, ...] | None
    group: NDArray[np.int64] | None
    names: tuple[str, ...] | None
    target: str | None
    options: dict[str, str | bytes]
    point_labels: Sequence[Any] | None
    """None: they have none."""
    row_labels: Sequence[Any] | None

    def ask(
        self, function: Callable[..., _epiq.Result], command: str, progress: _progress.Progress, ask: Any = None
    ) -> tuple[_epiq.Result, Sequence[Any] | None]:
        """The answer, and what its points are called."""
        with _progress.shown(progress) as report:
            handle = function(*self[:8], command, report, ask, self._names())
        return handle, self.labels(handle)

    def _names(self) -> tuple[str, ...] | None:
        """The labels of points as texts, for what is printed."""
        if self.point_labels is None or self.at is None:
            return None
        return tuple(str(label).encode(errors="replace").decode().replace("\0", " ") for label in self.point_labels)

    def labels(self, handle: _epiq.Result) -> Sequence[Any] | None:
        if self.point_labels is not None or self.row_labels is None:
            return self.point_labels
        left_out = np.frombuffer(handle.numbers("left_out")).astype(int)
        if not left_out.any():
            return None
        if left_out.all() and hasattr(self.row_labels, "take"):
            taken: Sequence[Any] = self.row_labels.take(left_out - 1)  # the index of a frame, whose name it keeps
            return taken
        return [self.row_labels[row - 1] if row else name for row, name in zip(left_out, handle.at(), strict=True)]


def read(X: Any, y: Any, at: Any, group: Any, target: str | None, options: dict[str, str | bytes], called: str = "at") -> Table:
    """``options``: as texts; ``called``: what the caller calls ``at``."""
    X, y = split(X, y, target)
    coded, plan = _frames.encode(X, "X")
    y = _frames.target(y)
    names, target = _arrays.names_of(coded, "X"), _arrays.name_of(y, "y")
    rows = _arrays.matrix(coded, "X", "rows", "features")
    at, points = _frames.points(at, rows, names, plan, called)
    array, where = _arrays.points(_frames.apply(at, plan, called, target), rows.shape[1], names, target, called)
    groups, options = _options.grouped(_arrays.labels(group, "group"), options)
    return Table(rows, _arrays.vector(y, "y"), array, where, groups, names, target, options, points, _arrays.index_of(X))


def typed(at: Any, group: Any, target: str | None, called: str = "at") -> list[str]:
    """The arguments as one would type them, for reports."""
    words = ["X", "y" if target is None else f"target={target!r}"]
    if at is not None:
        several = isinstance(at, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in at)
        told = several or isinstance(at, (str, os.PathLike, Mapping))
        words.append(f"{called}={at!r}" if told else f"{called}={called}" if target else called)
    if group is not None:
        words.append(f"group={group!r}" if isinstance(group, str) else "group=group")
    return words
