"""combine: the same answer for networks of one's own; targets: what to train them on again; network_start: where epiq's own begin."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from . import _arrays, _epiq, _options
from ._arrays import Floats, Path, Reals
from ._epiq import InputError
from ._options import COMBINE, CombineOptions, Options
from ._progress import Progress, shown
from ._result import Result


def _until(value: Any) -> float | None:
    """A finite number above 0; the library says which are too small."""
    if value is None:
        return None
    number = _arrays.real(value)
    if not number > 0:
        raise InputError(f"until is {_arrays.shown(value)}; it must be a finite number above 0: 0.5 wants an interval "
                         "that reaches about half the variance up and down")
    return number


def _replicates(value: Any) -> int:
    """A whole number; the library says which are too few."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if not 0 < number <= 100_000:
        raise InputError(f"replicates is {_arrays.shown(value)}; it must be a whole number from 4 to 100000")
    return number


def _retrained(value: Any) -> tuple[Reals, int | None]:
    """Networks by points, and of three dimensions (targets, starts, points) how many pairs of targets there are."""
    a = _arrays.numbers(value, "retrained", single=True)
    if a.ndim != 3:
        return _arrays.columns(a, "retrained"), None
    if a.shape[0] % 2:
        raise InputError(f"retrained is about {a.shape[0]} target vectors; they come in pairs, so that there must be an even number")
    return a.reshape(-1, a.shape[2]), a.shape[0] // 2


def _same_file(a: bytes, b: bytes) -> bool:
    """However they are spelled, there yet or not."""
    if os.path.exists(a) and os.path.exists(b):
        return os.path.isfile(a) and os.path.samefile(a, b)
    return os.path.realpath(a) == os.path.realpath(b)


def combine(
    ensemble: ArrayLike | None = None,
    batched: ArrayLike | None = None,
    gram: ArrayLike | None = None,
    cross: ArrayLike | None = None,
    y: ArrayLike | None = None,
    yhat: ArrayLike | None = None,
    jacobian: ArrayLike | None = None,
    jacobian0: ArrayLike | None = None,
    *,
    retrained: ArrayLike | None = None,
    left_out: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    replicates: int | None = None,
    resampled: ArrayLike | None = None,
    auxiliary: ArrayLike | None = None,
    auxiliary_batched: ArrayLike | None = None,
    auxiliary_resampled: ArrayLike | None = None,
    at: ArrayLike | None = None,
    append: Path | None = None,
    merge: Path | Sequence[Path] = (),
    until: float | None = None,
    progress: Progress = False,
    **options: Unpack[CombineOptions],
) -> Result:
    """The variances of a prediction of networks trained anywhere, from what they predicted and what that owes to the rows.

    Give whatever there is: ``ensemble`` tells the procedural part, ``gram`` and ``cross`` (or the Jacobians) with ``y`` the
    data part, and so does ``retrained``; ``batched`` tells their sum. An array of one dimension is one column. Matrices of float32 are read as they are, and
    memory-mapped ones without a copy.

    Parameters
    ----------
    ensemble : array_like, networks by points
        Predictions of networks trained on all rows, each from a start of its own.
    batched : array_like, networks by points
        Predictions of networks trained on one batch of the rows each.
    gram, cross : array_like, rows by rows and rows by points
        The networks' tangent kernel between the rows, and between rows and points.
    y, yhat : array_like, one number per row
        What the networks were trained on; their mean prediction there (without it, kernel regression's).
    jacobian, jacobian0 : array_like, rows by parameters and points by parameters
        Instead of a kernel: derivatives of a network's prediction in its parameters.
    retrained : array_like, targets by starts by points
        The data part without derivatives: predictions of networks trained again on each vector of :func:`targets`, both of a
        pair from the same starts; or the same of two dimensions, starts inside targets. Needs ``ensemble``, ``y``, ``yhat``
        and ``left_out``.
    left_out : array_like, networks by rows
        Predictions of each row by networks that have not seen it, two or more: what ``targets`` was given.
    targets : array_like, 2 * replicates by rows, optional
        What ``retrained`` was trained on: refused unless it is what this call would make, with the same ``seed``.
    replicates : int, optional
        Pairs of targets, where ``retrained`` has two dimensions and ``targets`` is not given: 10 unless told.
    resampled : array_like, networks by points
        For ``confidence="bootstrap"``, ``"jackknife"`` and ``"halves"``: predictions of networks trained on rows drawn with
        replacement, on all rows but one of as many parts, or on both halves of the rows in turn; from the starts of the networks
        of ``ensemble``, in their order and over again.
    auxiliary, auxiliary_batched, auxiliary_resampled : array_like, networks by points
        Taken off ``ensemble``, ``batched`` and ``resampled``: predictions of networks from the same starts, trained on the
        outputs of the starts.
    at : array_like, points by anything
        Where the points are, so that networks which ``append`` keeps for others are refused.
    append : path, optional
        A file that keeps these networks, each once; the answer is that of all networks in it.
    merge : path or list of paths
        Such files of other runs: their networks too.
    until : float, optional
        Say how many networks it takes until the procedural interval reaches so many times the variance up and down.
    progress : bool or function of (stage, done, total)
        As that of ``decompose``.
    **options
        lambda_, ensemble_size, level, confidence, influential, correction, probes, mem_limit, seed, threads, backend.

    Returns
    -------
    Result

    Examples
    --------
    >>> import epiq, numpy as np
    >>> ensemble = np.random.default_rng(1).normal(size=(20, 3))  # 20 networks at 3 points
    >>> result = epiq.combine(ensemble)
    >>> bool(np.allclose(result.procedural, ensemble.var(axis=0, ddof=1)))
    True
    >>> result.data
    array([nan, nan, nan])
    """
    given: dict[str, Any] = {
        "ensemble": ensemble,
        "batched": batched,
        "gram": gram,
        "cross": cross,
        "y": y,
        "yhat": yhat,
        "jacobian": jacobian,
        "jacobian0": jacobian0,
        "at": at,
        "retrained": retrained,
        "left_out": left_out,
        "targets": targets,
        "resampled": resampled,
        "auxiliary": auxiliary,
        "auxiliary_batched": auxiliary_batched,
        "auxiliary_resampled": auxiliary_resampled,
    }
    count = 0 if replicates is None else _replicates(replicates)
    if retrained is not None:
        rows, pairs = _retrained(retrained)
        if pairs is not None and count and pairs != count:
            raise InputError(f"retrained is about {pairs} pairs of targets but replicates is {count}")
        given["retrained"], count = rows, pairs or count
    files = [merge] if isinstance(merge, (str, bytes, os.PathLike)) else list(merge)
    sources = tuple(_arrays.path(file, "merge") for file in files)
    texts = _options.texts("combine", options, COMBINE)
    until = _until(until)
    if append is not None:
        texts["state"] = kept = _arrays.path(append, "append")
        if any(_same_file(source, kept) for source in sources):
            raise InputError(f"append and merge both name {os.fsdecode(append)}; its networks are counted once anyway")
    typed: list[str] = [f"{name}={name}" for name, value in given.items() if value is not None]
    more = {"append": append, "merge": files or None, "until": until, "replicates": replicates, **options}
    with shown(progress) as report:
        handle = _epiq.combine(
            {name: _arrays.columns(value, name) for name, value in given.items() if value is not None},
            {name: names for name in ("ensemble", "batched", "cross", "resampled") if (names := _arrays.names_of(given[name], name))},
            sources,
            until,
            texts,
            _options.command("combine", typed, more),
            count,
            report,
        )
    return Result._of(handle)


def targets(y: ArrayLike, fitted: ArrayLike, left_out: ArrayLike, replicates: int = 10, *, seed: int | None = None) -> Floats:
    """Targets to train networks on again, for the data part of ``combine`` without derivatives.

    They are ``fitted`` plus and minus one step at every row, with random signs: the size of the step is a little less than that
    of the noise, which the errors of ``left_out`` tell. For each of the vectors train two networks (one will do, more are
    better), both vectors of a pair from the same two starts of the ensemble, other starts for other pairs as far as there are.

    Parameters
    ----------
    y : array_like, one number per row
        What the ensemble was trained on.
    fitted : array_like, one number per row
        The ensemble's mean prediction there: ``yhat`` of ``combine``.
    left_out : array_like, networks by rows
        Predictions of each row by networks that have not seen it, two or more: of 5 folds, say, from two starts.
    replicates : int
        Pairs of vectors: 4 or more; 20 for narrow networks, whose starts have much to say.
    seed : int, optional
        Of the signs, as for ``combine``: 1 unless told.

    Returns
    -------
    array, 2 * replicates by rows
        Plus and minus in turn.

    Examples
    --------
    >>> import epiq, numpy as np
    >>> random = np.random.default_rng(1)
    >>> y, left_out = random.normal(size=50), 0.1 * random.normal(size=(2, 50))
    >>> vectors = epiq.targets(y, y / 2, left_out)
    >>> vectors.shape
    (20, 50)
    >>> bool(np.allclose(vectors[0::2] + vectors[1::2], y))  # around fitted
    True
    """
    count = _replicates(replicates)
    given = {"y": y, "yhat": fitted, "left_out": left_out}
    arrays = {name: _arrays.columns(value, "fitted" if name == "yhat" else name) for name, value in given.items()}
    made = _epiq.targets(arrays, count, _options.texts("targets", {"seed": seed}, {"seed"}))
    return np.frombuffer(made).reshape(2 * count, -1)


def network_start(d: int, member: int = 0, **options: Unpack[Options]) -> list[tuple[Floats, Floats]]:
    """The weights from which member ``member`` (from 0) of epiq's ensemble starts, for ``d`` features.

    Of a table with ``d > n + 1`` for n rows, epiq's networks have coordinates of the rows instead of features (docs/method.md, section 2).

    Returns
    -------
    list of (W, b)
        One pair a layer, W units by inputs, in NTK scaling (docs/method.md, section 2): a hidden layer is
        ``sqrt(2 / width) * relu(W @ g + bias * b)``, the last ``W @ g + bias * b``.

    Examples
    --------
    >>> import epiq
    >>> [W.shape for W, b in epiq.network_start(3, width=64, depth=2)]
    [(64, 3), (64, 64), (1, 64)]
    """
    texts = _options.texts("network_start", options)
    theta = np.frombuffer(_epiq.network_start(d, member, texts))
    default: dict[str, Any] = {row[0]: row[4] for row in _epiq.options()}
    width, depth = (int(texts.get(name, default[name])) for name in ("width", "depth"))
    sizes = [d] + [width] * depth + [1]
    layers, at = [], 0
    for inputs, units in zip(sizes, sizes[1:]):
        W = theta[at : at + units * inputs].reshape(units, inputs)
        at += units * inputs
        layers.append((W, theta[at : at + units]))
        at += units
    return layers
