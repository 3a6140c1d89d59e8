"""Columns of data frames that hold texts: true and false, yes and no become 1 and 0, a few categories 0/1 columns, by the
rule of the command line (src/data/ordinary.c), so that a frame gives the numbers of the file it would be written to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _epiq
from ._arrays import Floats
from ._epiq import InputError

_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


class Coded:
    """Numbers made of a frame, with the names of the features."""

    def __init__(self, array: Floats, columns: tuple[str, ...]) -> None:
        self.array, self.columns = array, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return self.array


class Column(NamedTuple):
    """How a column of the frame is read: as numbers, as true or false, or as one 0/1 feature for each value."""

    name: str
    truth: bool
    values: tuple[str, ...]

    def names(self) -> list[str]:
        return [f"{self.name}={value}" for value in self.values] or [self.name]


Plan = tuple[Column, ...]


def _texts(frame: Any, name: str, what: str) -> list[str] | None:
    """The cells, if there are texts among them: then all must be."""
    column = np.asarray(frame[name])
    if column.dtype.kind not in "OUT" or column.ndim != 1 or not any(isinstance(one, str) for one in column):
        return None
    for i, one in enumerate(column):
        if not isinstance(one, str):
            raise InputError(
                f'{_arrays.cell(what, name, i)} is {_arrays.shown(one)} in a column of texts; '
                "give each row a value, or leave the row out"
            )
    return [_arrays.text(str(one), f'column "{name}" of {what}') for one in column]


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _read(name: str, texts: list[str], what: str) -> Column:
    values = tuple(dict.fromkeys(texts))
    if any(map(_is_number, values)):
        raise InputError(f'column "{name}" of {what} holds numbers as texts (the first is {_arrays.shown(texts[0])}); make it one of numbers')
    if all(value.lower() in _TRUTH for value in values):
        return Column(name, True, ())
    if len(values) > _epiq.MOST_CATEGORIES or len(values) * _epiq.ROWS_PER_CATEGORY > len(texts):
        raise InputError(
            f'column "{name}" of {what} holds {len(values)} different texts in {len(texts)} rows '
            f"(the first is {_arrays.shown(texts[0])}); leave it out, or encode it as numbers"
        )
    return Column(name, False, values)


def _numbers(frame: Any, column: Column, what: str) -> Floats:
    """The features of one column."""
    texts = _texts(frame, column.name, what) if column.truth or column.values else None
    if texts is None and column.values:
        raise InputError(f'column "{column.name}" of {what} holds no texts; use {", ".join(column.values)}')
    if texts is None:
        return np.asarray(_arrays.numbers(frame[[column.name]], what), dtype=np.float64)
    for i, one in enumerate(texts):
        if one.lower() not in _TRUTH if column.truth else one not in column.values:
            known = "true, false, yes, no" if column.truth else ", ".join(column.values)
            raise InputError(
                f"{_arrays.cell(what, column.name, i)} is {_arrays.shown(one)}, a value that X does not have; use one of {known}"
            )
    if column.truth:
        return np.array([[_TRUTH[one.lower()]] for one in texts])
    return np.array([[float(one == value) for value in column.values] for one in texts])


def encode(frame: Any, what: str) -> tuple[Any, Plan | None]:
    """The frame as numbers, and how they were made; anything without columns of texts as it is."""
    names = _arrays.names_of(frame, what)
    if names is None or not hasattr(frame, "dtypes") or len(set(names)) < len(names):
        return frame, None
    texts = {name: _texts(frame, name, what) for name in names}
    if all(cells is None for cells in texts.values()):
        return frame, None
    plan = tuple(Column(name, False, ()) if cells is None else _read(name, cells, what) for name, cells in texts.items())
    return apply(frame, plan, what), plan


def apply(frame: Any, plan: Plan | None, what: str, target: str | None = None) -> Any:
    """Another frame read in the same way."""
    own = _arrays.names_of(frame, what)
    if plan is None or own is None or isinstance(frame, Coded):
        return frame
    frame = _arrays.by_name(frame, own, tuple(column.name for column in plan), what, target)
    array = np.ascontiguousarray(np.hstack([_numbers(frame, column, what) for column in plan]))
    return Coded(array, tuple(name for column in plan for name in column.names()))
