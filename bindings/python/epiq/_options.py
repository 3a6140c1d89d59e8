"""Options: the command line's, with underscores, typed; and as the texts the library reads."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _epiq

_TABLE = _epiq.options()


def _of(scope: int) -> frozenset[str]:
    return frozenset(row[0] for row in _TABLE if row[5] & scope)


DECOMPOSE = {row[0] for row in _TABLE} - _of(_epiq.OPTION_COLUMNS)
"""Options of the library for which arrays leave a use: their columns have been chosen already."""
_ARRAYS_CHOSE = _of(_epiq.OPTION_COLUMNS)
PLAN = _of(_epiq.FOR_PLAN) - _ARRAYS_CHOSE
EXPLORE = _of(_epiq.FOR_EXPLORE) - _ARRAYS_CHOSE
COMPARE = _of(_epiq.FOR_COMPARE) - _ARRAYS_CHOSE - {"width", "depth", "lambda", "bias"}
"""Without those of which lists are compared."""
COMBINE = _of(_epiq.FOR_COMBINE) - {"state"}
"""``append`` is what the library calls state there."""
_PATHS = _of(_epiq.OPTION_FILE)


class CompareOptions(TypedDict, total=False):
    """What ``compare`` takes besides the table and its lists of models; ``epiq compare --help`` explains each."""

    scale: Literal["standard", "minmax", "none"]
    members: int
    ensemble_size: int
    level: float
    engine: Literal["network", "linear", "infinite"]
    bias_sd: float
    optimizer: Literal["auto", "gd", "sgd", "flow"]
    lr: float
    steps: int
    batch_size: int
    vary: Literal["init", "order", "both"]
    predictor: Literal["ensemble", "pnc", "shifted", "auto", "usual"]
    time: float
    correction: Literal["moderated", "rowwise", "unbiased", "jackknife", "none"]
    probes: int
    linear_kernel: Literal["population", "own"]
    solver: Literal["exact", "iterative", "divided", "auto", "subset"]
    rank: int
    tolerance: float
    parts: int
    mem_limit: int | str
    scratch: _arrays.Path
    seed: int
    threads: int
    backend: Literal["blas", "ref"]
    device: Literal["auto", "gpu", "cpu"]


class _OneModel(CompareOptions, total=False):
    """What ``plan`` and ``explore`` take of what ``compare`` has lists for, or does not need."""

    data_by: Literal["auto", "if", "retrain"]
    replicates: int
    preset: Literal["none", "paper"]
    width: int | Literal["auto"]
    depth: int
    lambda_: float | Literal["auto"]
    bias: float
    kernel: Literal["population", "empirical"]
    hbar: Literal["kernel", "ensemble"]
    state: _arrays.Path


class ExploreOptions(_OneModel, total=False):
    """What ``explore`` takes besides the table, the candidates and the rule; ``epiq explore --help`` explains each."""

    confidence: Literal["none", "batching", "bootstrap", "retrain", "jackknife", "halves"]
    resamples: int
    budget_networks: int


class PlanOptions(_OneModel, total=False):
    """What ``plan`` takes besides the table and the prices; ``epiq plan --help`` explains each."""

    methods: str | Sequence[str]
    batches: int


class Options(PlanOptions, total=False):
    """What ``decompose`` takes besides arrays; ``epiq estimate --help`` and docs/options.md explain each."""

    confidence: Literal["none", "batching", "bootstrap", "retrain", "jackknife", "halves"]
    resamples: int
    budget_networks: int
    influential: int
    sweep: int
    folds: int
    fold_members: int


class CombineOptions(TypedDict, total=False):
    """What ``combine`` takes besides arrays and files; ``epiq combine --help`` explains each."""

    ensemble_size: int
    level: float
    confidence: Literal["none", "batching", "bootstrap", "retrain", "jackknife", "halves"]
    influential: int
    lambda_: float
    correction: Literal["moderated", "rowwise", "unbiased", "jackknife", "none"]
    probes: int
    mem_limit: int | str
    seed: int
    threads: int
    backend: Literal["blas", "ref"]


_ELSEWHERE = {"random_state": "seed", "n_estimators": "members", "alpha": "lambda_", "n_jobs": "threads"}
"""What other libraries call them."""


def _text(value: object) -> str:
    """As one would type it: the shortest text that reads back as the same number."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Real) and not isinstance(value, bool):
        return repr(float(value))
    return str(value)


def _value(option: str, name: str, value: Any) -> str | bytes:
    if option in _PATHS:
        return _arrays.path(value, name)
    several = option == "methods" and isinstance(value, (list, tuple))
    return _arrays.text(",".join(map(_text, value)) if several else _text(value), name)


def listed(name: str, values: Any) -> tuple[str, ...]:
    """One value or several of an option, each as text."""
    several = not isinstance(values, (str, bytes)) and hasattr(values, "__iter__")
    out = tuple(_arrays.text(_text(value), name) for value in (values if several else [values]))
    if not out:
        raise _epiq.InputError(f"{name} is an empty list; give one value or more")
    return out


def spelled(name: str) -> str:
    """As Python spells an option of the command line: ``ensemble_size``, and ``lambda_``, lambda being a keyword."""
    return "lambda_" if name == "lambda" else name.replace("-", "_")


def texts(function: str, given: Mapping[str, Any], allowed: Collection[str] = DECOMPOSE) -> dict[str, str | bytes]:
    """Every option given, by its name on the command line. One given as None is left at its default."""
    known = {spelled(row[0]): row[0] for row in _TABLE if row[0] in allowed}
    out: dict[str, str | bytes] = {}
    seen: dict[str, str] = {}
    for name, value in given.items():
        option = known.get(spelled(name.rstrip("_")))
        if option is None:
            near = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in known else difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"{function}() has no option {name}; {hint}")
        if option in seen:
            raise TypeError(f"{function}() got {spelled(option)} twice, as {seen[option]} and as {name}; give one")
        seen[option] = name
        if value is not None:
            out[option] = _value(option, name, value)
    return dict(sorted(out.items(), key=lambda item: item[0] != "preset"))  # the others change what it sets


def grouped(
    labels: NDArray[np.int64] | str | None, options: dict[str, str | bytes]
) -> tuple[NDArray[np.int64] | None, dict[str, str | bytes]]:
    """Labels and options as the library takes them: groups that are not labels are an option."""
    return (None, {**options, "group": labels}) if isinstance(labels, str) else (labels, options)


def command(function: str, arrays: Sequence[str], given: Mapping[str, Any]) -> str:
    """The call as one would type it, for reports."""
    options = [f"{name}={_text(v) if isinstance(v, Real) else repr(v)}" for name, v in given.items() if v is not None]
    return f"epiq.{function}({', '.join([*arrays, *options])})"
