"""Columns of data frames that hold texts: numbers as "$1,370" or "77 %" are read, true and false, yes and no become 1 and 0, a few
categories 0/1 columns, by the rule of the command line (src/data/ordinary.c), so that a frame gives the numbers of the file it would be written to."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _epiq
from ._arrays import Floats
from ._epiq import InputError

class Coded:
    """Numbers made of a frame, with the names of the features and the labels of the rows."""

    def __init__(self, array: Floats, columns: tuple[str, ...], index: Any = None) -> None:
        self.array, self.columns, self.index = array, columns, index

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
    if column.dtype.kind == "M":  # dates as the command line has them
        column = np.datetime_as_string(column.astype("datetime64[s]"))
    if column.dtype.kind not in "OUT" or column.ndim != 1 or not any(isinstance(one, str) for one in column):
        return None
    for i, one in enumerate(column):
        if not isinstance(one, str):
            raise InputError(
                f'{_arrays.cell(frame, what, name, i)} is {_arrays.shown(one)} in a column of texts; '
                "give each row a value, or leave the row out"
            )
    return [_arrays.text(str(one), f'column "{name}" of {what}') for one in column]


def _is_number(text: str) -> bool:
    return not np.isnan(_epiq.number(text.replace(",", "."))[0])


def _all_numbers(name: str, texts: Sequence[str], what: str) -> bool:
    """Whether all of them stand for numbers, which have the same unit or none."""
    read = [_epiq.number(text) for text in texts]
    if any(np.isnan(number) for number, _ in read):
        return False
    units = {unit for _, unit in read}
    if len(units) > 1:
        raise InputError(f'column "{name}" of {what} holds numbers with and without {max(units)}; write all of them alike')
    return True


def _read(name: str, texts: list[str], what: str) -> Column:
    values = tuple(dict.fromkeys(texts))
    if _all_numbers(name, values, what):
        return Column(name, False, ())
    if any(map(_is_number, values)):
        raise InputError(f'column "{name}" of {what} holds numbers as texts (the first is {_arrays.shown(texts[0])}); make it one of numbers')
    if all(_epiq.truth(value) >= 0 for value in values):
        return Column(name, True, ())
    if len(values) > _epiq.MOST_CATEGORIES or len(values) * _epiq.ROWS_PER_CATEGORY > len(texts):
        raise InputError(
            f'column "{name}" of {what} holds {len(values)} different texts in {len(texts)} rows '
            f"(the first is {_arrays.shown(texts[0])}); leave it out, or encode it as numbers"
        )
    return Column(name, False, values)


def _from_texts(frame: Any, name: str, texts: Sequence[str], what: str) -> Floats:
    """A column of numbers from texts as "$1,370"."""
    array = np.array([[_epiq.number(one)[0]] for one in texts])
    if np.isnan(array).any():
        i = int(np.isnan(array).argmax())
        raise InputError(f"{_arrays.cell(frame, what, name, i)} is {_arrays.shown(texts[i])}; it must be a number")
    return array


def _numbers(frame: Any, column: Column, what: str) -> Floats:
    """The features of one column."""
    texts = _texts(frame, column.name, what)
    if texts is None and column.values:
        raise InputError(f'column "{column.name}" of {what} holds no texts; use {", ".join(column.values)}')
    if texts is None:
        return np.asarray(_arrays.numbers(frame[[column.name]], what), dtype=np.float64)
    if not column.truth and not column.values:
        return _from_texts(frame, column.name, texts, what)
    for i, one in enumerate(texts):
        if _epiq.truth(one) < 0 if column.truth else one not in column.values:
            known = "true, false, yes, no" if column.truth else ", ".join(column.values)
            without = "the model does not know" if what == "X" else "X does not have"
            raise InputError(
                f"{_arrays.cell(frame, what, column.name, i)} is {_arrays.shown(one)}, a value that {without}; use one of {known}"
            )
    if column.truth:
        return np.array([[float(_epiq.truth(one))] for one in texts])
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


def recognise(frame: Any, features: tuple[str, ...], what: str) -> Plan | None:
    """How a frame is read for a model whose features have these names: ``metal=brass`` is 1 where the column ``metal`` holds
    brass. None: it has no columns."""
    own = _arrays.names_of(frame, what)
    if own is None or not hasattr(frame, "dtypes"):
        return None
    values: dict[str, list[str]] = {}
    for feature in features:
        column, _, value = feature.partition("=")
        if feature in own or column not in own:
            values[feature] = []
        else:
            values.setdefault(column, []).append(value)
    texts = {name: None if of or name not in own else _texts(frame, name, what) for name, of in values.items()}
    truth = {name: cells is not None and not _all_numbers(name, cells, what) for name, cells in texts.items()}
    return tuple(Column(name, truth[name], tuple(of)) for name, of in values.items())


def target(y: Any) -> Any:
    """The target, of which a series may hold numbers as texts, as "$1,370"; anything else as it is."""
    cells = np.asarray(y) if hasattr(y, "to_frame") and getattr(y, "ndim", 0) == 1 else np.empty(0)
    if not cells.size or not all(isinstance(one, str) for one in cells) or not _all_numbers(str(y.name), list(cells), "X"):
        return y
    return type(y)([_epiq.number(str(one))[0] for one in cells], index=y.index, name=y.name)


def apply(frame: Any, plan: Plan | None, what: str, target: str | None = None) -> Any:
    """Another frame read in the same way."""
    own = _arrays.names_of(frame, what)
    if plan is None or own is None or isinstance(frame, Coded):
        return frame
    frame = _arrays.by_name(frame, own, tuple(column.name for column in plan), what, target)
    array = np.ascontiguousarray(np.hstack([_numbers(frame, column, what) for column in plan]))
    return Coded(array, tuple(name for column in plan for name in column.names()), _arrays.index_of(frame))


# ---- points by name ----


def _coded(column: Column, value: Any, what: str) -> list[float]:
    """The features of one column where it has this value."""
    place = f'{what}["{column.name}"]'
    if column.values:
        if value not in column.values:
            raise InputError(f"{place} is {_arrays.shown(value)}, a value that X does not have; use one of {', '.join(column.values)}")
        return [float(value == one) for one in column.values]
    if column.truth and isinstance(value, str):
        if (truth := _epiq.truth(value)) < 0:
            raise InputError(f"{place} is {_arrays.shown(value)}, a value that X does not have; use one of true, false, yes, no")
        return [float(truth)]
    number = _epiq.number(value)[0] if isinstance(value, str) else _arrays.real(value)
    if np.isnan(number):
        raise InputError(f"{place} is {_arrays.shown(value)}; it must be a finite number")
    return [number]


def _usual(features: Floats) -> list[float]:
    """Of a column that is not named: the mean of a number, the most common of categories and of 0 and 1."""
    mean = features.mean(axis=0)
    if len(mean) > 1:
        return [float(k == mean.argmax()) for k in range(len(mean))]
    return [float(mean[0] > 0.5)] if np.isin(features, (0, 1)).all() else [float(mean[0])]


def _what_if(at: Mapping[str, Any], rows: Floats, names: Sequence[str], plan: Plan | None, what: str) -> tuple[Coded, list[str]]:
    """A point, or several where values are lists, from some features by name, by the rule of the command line's name=value."""
    columns = plan or tuple(Column(name, False, ()) for name in names)
    known = [column.name for column in columns]
    for name in at:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"the features are {', '.join(known)}"
            raise InputError(f"{what} names {_arrays.shown(name)}, which X does not have; {hint}")
    given = {name: value if isinstance(value, (list, tuple, np.ndarray)) else [value] for name, value in at.items()}
    count = max(map(len, given.values()), default=1)
    for name, values in given.items():
        if len(values) not in (1, count):
            raise InputError(f'{what}["{name}"] has {len(values)} values but another feature has {count}; give one, or as many')
    features, first = [], 0
    for column in columns:
        width = len(column.names())
        if column.name in given:
            features.append([_coded(column, value, what) for value in given[column.name]] * (count // len(given[column.name])))
        else:
            features.append([_usual(rows[:, first : first + width])] * count)
        first += width
    labels = [", ".join(f"{name}={v[k % len(v)]}" for name, v in given.items()) or "mean" for k in range(count)]
    array = np.ascontiguousarray(np.hstack([np.array(one, dtype=np.float64) for one in features]))
    return Coded(array, tuple(name for column in columns for name in column.names())), labels


def points(at: Any, rows: Floats, names: Sequence[str] | None, plan: Plan | None, what: str) -> tuple[Any, Any]:
    """Points as a frame or array, and their labels; None: they have none."""
    if isinstance(at, Mapping):
        usual = names or tuple(f"x{k}" for k in range(1, rows.shape[1] + 1))
        return _what_if(at, rows, usual, plan, what)
    if getattr(at, "ndim", 0) == 1 and hasattr(at, "to_frame") and names is not None:
        own = [column.name for column in plan] if plan else names
        if all(name in at.index for name in own):  # a row of a frame
            return at.to_frame().T, [at.name]
    index = _arrays.index_of(at)
    return at, index if _arrays.names_of(at, what) is not None else None
