"""decompose: from arrays to the variances of a prediction."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from . import _arrays, _epiq, _frames, _options
from ._arrays import Points
from ._options import Options
from ._result import Result


def decompose(
    X: ArrayLike, y: ArrayLike, at: Points = None, *, group: ArrayLike | str | None = None, **options: Unpack[Options]
) -> Result:
    """How far to trust predictions of y from X, and why.

    Trains networks on the rows of ``X``, and splits the variance of their prediction at each point into the part that
    retraining would change (procedural) and the part that other rows would change (data), each with an interval.

    Parameters
    ----------
    X : array_like, rows by features
        Anything NumPy reads, data frames too: their column names are taken over, true and false become 1 and 0, texts with
        few values 0/1 features.
    y : array_like, one number a row
    at : array_like, str or list of str, optional
        Where to ask: points by features, or ``"mean"``, ``"row:3"`` (rows from 1), ``"rows"`` (every row, of networks that
        have not seen it), a CSV or NPY file. By default the mean row.
    group : array_like, one label a row, or "same-features", optional
        Rows with equal labels are repeated measurements of one thing; "same-features": rows with equal features are.
    **options
        Those of ``epiq estimate`` with underscores (docs/options.md); ``lambda_``, because lambda is a keyword. ``sweep=25``
        adds curves across each feature to the page.

    Returns
    -------
    Result

    Raises
    ------
    InputError, FileError, NumericalError, OutOfMemory
        Each with one sentence that says what is wrong and what to do. They are ``Error``, and ``ValueError``, ``OSError``,
        ``ArithmeticError`` and ``MemoryError``. Ctrl-C raises ``KeyboardInterrupt`` within moments; ``state="FILE"`` keeps
        the networks finished by then.

    Examples
    --------
    >>> import epiq
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> y = [a * a + b for a, b in X]
    >>> result = epiq.decompose(X, y, at="row:3", engine="infinite")
    >>> result.at
    ['row:3']
    >>> round(float(result.prediction[0]), 2)
    0.32
    """
    coded, plan = _frames.encode(X, "X")
    names, target = _arrays.names_of(coded, "X"), _arrays.name_of(y, "y")
    rows = _arrays.matrix(coded, "X", "rows", "features")
    array, where = _arrays.points(_frames.apply(at, plan, "at", target), rows.shape[1], names, target)
    typed = ["X", "y"] + ([] if at is None else ["at" if where is None else f"at={at!r}"])
    labels, texts = _options.grouped(_arrays.labels(group, "group"), _options.texts("decompose", options))
    told = [] if group is None else [f"group={group!r}" if isinstance(group, str) else "group=group"]
    handle = _epiq.decompose(
        rows,
        _arrays.vector(y, "y"),
        array,
        where,
        labels,
        names,
        target,
        texts,
        _options.command("decompose", typed + told, options),
    )
    return Result._of(handle)
