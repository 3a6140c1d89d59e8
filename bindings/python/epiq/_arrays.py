"""Whatever holds numbers, as arrays the library can read: C-contiguous, of native float64, with names where there are some."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._epiq import InputError

Floats: TypeAlias = NDArray[np.float64]
Reals: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Points: TypeAlias = ArrayLike | str | os.PathLike[str] | Sequence[str] | Mapping[str, Any] | None
"""Where to ask: rows of an array or frame, or "mean", "row:3", a file, several of these in a list; or features by name."""


def text(value: str, what: str) -> str:
    """A text that the library can hold: UTF-8, and without the character 0, which would end it early."""
    if "\0" in value:
        raise InputError(f"{what} holds the character 0, which no text may; leave it out")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what} holds {value[error.start]!r}, which is no character; leave it out") from None
    return value


def path(value: Any, what: str) -> bytes:
    """A file as the system calls it."""
    try:
        name = os.fsencode(value)
    except TypeError:
        raise InputError(f"{what} is {shown(value)}; it must be a path") from None
    except UnicodeEncodeError:
        raise InputError(f"{what} is {shown(value)}; no file can have this name") from None
    if b"\0" in name:
        raise InputError(f"{what} holds the character 0, which no path may; leave it out")
    return name


def names_of(value: object, what: str) -> tuple[str, ...] | None:
    """The column names of a data frame whose names are all text, else None."""
    columns = getattr(value, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return tuple(text(str(name), f"the name of column {k} of {what}") for k, name in enumerate(names, 1))


def name_of(value: object, what: str) -> str | None:
    """The name of a series."""
    name = getattr(value, "name", None)
    return text(name, f"the name of {what}") if isinstance(name, str) and not isinstance(value, np.ndarray) else None


def shown(value: object) -> str:
    """What it is, in the space that a sentence has."""
    try:
        whole = repr(value)
    except ValueError:  # Python writes no whole numbers of more than 4300 digits
        return f"a huge {type(value).__name__}"
    return whole if len(whole) <= 40 else whole[:37] + "..."


def real(value: Any) -> float:
    """A finite number, or NaN for anything else."""
    try:
        number = np.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan
    return number if np.isfinite(number) else np.nan


def index_of(value: Any) -> Any:
    """The index of a data frame or series, else None."""
    index = getattr(value, "index", None)
    return index if hasattr(index, "tolist") and not isinstance(value, np.ndarray) else None


def _indexed(value: object, row: int) -> str:
    """ (index 17), where the row's label is not its number."""
    index = index_of(value)
    return "" if index is None or index[row] == row else f" (index {shown(index[row])})"


def cell(frame: object, what: str, column: str, row: int) -> str:
    """A cell of a data frame, as Python reaches it."""
    return f'{what}["{column}"].iloc[{row}]{_indexed(frame, row)}'


def _place(value: object, name: str, where: Sequence[Any]) -> str:
    """An item of an array, or of a data frame or series."""
    names = names_of(value, name)
    if names is not None and len(where) == 2:
        return cell(value, name, names[where[1]], where[0])
    if len(where) == 1 and _indexed(value, where[0]):
        return f"{name}.iloc[{where[0]}]{_indexed(value, where[0])}"
    return name + "".join(f"[{k}]" for k in where)


def _finite(a: NDArray[Any], name: str, given: object) -> None:
    if not np.isfinite(a).all():
        where = np.argwhere(~np.isfinite(a))[0]
        raise InputError(
            f"{_place(given, name, where)} is {a[tuple(where)]:g}; only finite numbers can be used, so leave that row out"
        )


def _from_objects(a: NDArray[Any], name: str, given: object) -> Floats:
    """Numbers one by one; what is missing becomes NaN, and the library has its sentence for that."""
    out = np.empty(a.size)
    for i, value in enumerate(a.ravel()):
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError
            out[i] = np.nan if value is None or type(value).__name__ == "NAType" else float(value)
        except (TypeError, ValueError, OverflowError):
            place = _place(given, name, np.unravel_index(i, a.shape))
            raise InputError(f"{place} is {shown(value)}; only real numbers can be used: "
                             "encode such columns as numbers, or leave them out") from None
    return out.reshape(a.shape)


def numbers(value: Any, name: str, *, single: bool = False) -> Reals:
    """A C-contiguous array of native float64; with ``single`` one of float32 stays as it is."""
    if hasattr(value, "toarray") and not isinstance(value, np.ndarray):
        raise InputError(f"{name} is a sparse matrix; dense rows are needed: {name}.toarray()")
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        a = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} cannot be read as an array: {error}") from error
    if a.dtype.kind == "O":
        a = _from_objects(a, name, value)
    elif a.dtype.kind not in "biuf":
        hint = "; load the file first" if isinstance(value, (str, os.PathLike)) else ""
        raise InputError(f"{name} is an array of {a.dtype}; only real numbers can be used{hint}")
    if not a.ndim:
        raise InputError(f"{name} is one number; it must be an array")
    if single and a.dtype == np.float32:
        return np.ascontiguousarray(a, dtype=np.float32)
    return np.ascontiguousarray(a, dtype=np.float64)


def _dimensions(a: NDArray[Any]) -> str:
    return f"{a.ndim} dimension{'' if a.ndim == 1 else 's'}"


def matrix(value: Any, name: str, rows: str, columns: str) -> Floats:
    """rows by columns; both words are for the sentence that refuses anything else."""
    a = numbers(value, name)
    if a.ndim == 1:
        raise InputError(
            f"{name} has 1 dimension; it must be {rows} by {columns}: "
            f"{name}.reshape(-1, 1) is one column, {name}.reshape(1, -1) one row"
        )
    if a.ndim != 2:
        raise InputError(f"{name} has {_dimensions(a)}; it must be {rows} by {columns}")
    _finite(a, name, value)
    return np.asarray(a, dtype=np.float64)


def frame_is_finite(value: Any, name: str) -> None:
    """Of a data frame: scikit-learn's own check says neither which column nor which row."""
    if names_of(value, name) is not None:
        _finite(numbers(value, name), name, value)


def columns(value: Any, name: str) -> Reals:
    """Two dimensions; one is one column. float32 stays float32, and what is mapped stays mapped."""
    a = numbers(value, name, single=True)
    if a.ndim == 1:
        return a.reshape(-1, 1)
    if a.ndim != 2:
        raise InputError(f"{name} has {_dimensions(a)}; it must have 2, or 1 for one column")
    return a


def vector(value: Any, name: str) -> Floats:
    """One dimension, or one column of two."""
    a = numbers(value, name)
    if a.ndim == 2 and a.shape[1] == 1:
        a = a.reshape(-1)
    if a.ndim != 1:
        columns = f" and {a.shape[1]} columns" if a.ndim == 2 else ""
        raise InputError(f"{name} has {_dimensions(a)}{columns}; it must be one number for each row")
    _finite(a, name, value)
    return np.asarray(a, dtype=np.float64)


def _unlabelled(a: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a label is None, NaN, NaT or NA."""
    if a.dtype.kind == "O":
        missing = (one is None or type(one).__name__ in ("NAType", "NaTType") or one != one for one in a)
        return np.fromiter(missing, dtype=np.bool_, count=a.size)
    return np.asarray(a != a, dtype=np.bool_)  # NaN and NaT alone are not themselves


SAME_FEATURES = "same-features"
"""Given for labels: rows with equal features are a group."""


def labels(value: Any, name: str) -> NDArray[np.int64] | str | None:
    """Any labels as numbers, equal ones alike; SAME_FEATURES as it stands."""
    if value is None or (isinstance(value, str) and value == SAME_FEATURES):
        return value
    if isinstance(value, str):
        raise InputError(f'{name} is "{value}"; it must be one label for each row, or "{SAME_FEATURES}"')
    a = np.asarray(value)
    if a.ndim == 2 and a.shape[1] == 1:
        a = a.reshape(-1)
    if a.ndim != 1:
        raise InputError(f"{name} has {_dimensions(a)}; it must be one label for each row")
    masked = np.ma.getmaskarray(value).reshape(-1) if isinstance(value, np.ma.MaskedArray) else np.zeros(a.shape, bool)
    missing = masked | _unlabelled(a)
    if missing.any():
        k = int(missing.argmax())
        there = "masked" if masked[k] else str(a[k])
        raise InputError(f"{name}[{k}] is {there}; every row needs a label")
    if a.dtype.kind == "O":
        a = a.astype(str)
    inverse = np.unique(a, return_inverse=True)[1]
    return np.ascontiguousarray(inverse, dtype=np.int64).reshape(-1)


def by_name(frame: Any, own: tuple[str, ...], names: tuple[str, ...], what: str, target: str | None) -> Any:
    """A data frame's columns in the order of the features they are named after; others are ignored."""
    if own == names:
        return frame
    for name in names:
        if name not in own:
            is_one = "which the model has learned from" if what == "X" else "a feature of X"
            raise InputError(f'{what} has no column "{name}", {is_one}; its columns are {", ".join(own)}')
    others = [name for name in own if name not in names and name != target]
    if others:
        without = "the model does not know" if what == "X" else "X does not have"
        warnings.warn(f"{what} has columns that {without}, which are ignored: {', '.join(others)}", stacklevel=5)
    return frame[list(names)]


def _by_name(at: Any, names: tuple[str, ...] | None, target: str | None, called: str) -> Any:
    own = names_of(at, called)
    return at if own is None or names is None else by_name(at, own, names, called, target)


def points(
    at: Any, features: int, names: tuple[str, ...] | None, target: str | None, called: str = "at"
) -> tuple[Floats | None, tuple[bytes, ...] | None]:
    """Points as an array, or as the texts that say where they are."""
    if at is None:
        return None, None
    if isinstance(at, (str, os.PathLike)):
        return None, (path(at, called),)
    if isinstance(at, (list, tuple)) and at and all(isinstance(one, (str, os.PathLike)) for one in at):
        return None, tuple(path(one, called) for one in at)
    frame = _by_name(at, names, target, called)
    a = numbers(frame, called)
    if a.ndim == 1 and a.size == features:
        return matrix(a.reshape(1, -1), called, "points", "features"), None  # one point
    if a.ndim == 1:
        raise InputError(f"{called} has {a.size} numbers but X has {features} features; one point needs one number for each")
    return matrix(frame, called, "points", "features"), None
