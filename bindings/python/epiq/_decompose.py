"""decompose: from arrays to the variances of a prediction."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from . import _epiq, _options, _table
from ._arrays import Points
from ._options import Options
from ._progress import Progress
from ._result import Result


def decompose(
    X: ArrayLike,
    y: ArrayLike | None = None,
    at: Points = None,
    *,
    target: str | None = None,
    group: ArrayLike | str | None = None,
    progress: Progress = False,
    **options: Unpack[Options],
) -> Result:
    """How far to trust predictions of y from X, and why.

    Trains networks on the rows of ``X``, and splits the variance of their prediction at each point into the part that
    retraining would change (procedural) and the part that other rows would change (data), each with an interval.

    Parameters
    ----------
    X : array_like, rows by features
        Anything NumPy reads, data frames too: their column names are taken over, true and false become 1 and 0, texts with
        few values 0/1 features.
    y : array_like, one number for each row
    at : array_like, dict, str or list of str, optional
        Where to ask: points by features; features by name, ``{"temp": 3}``, other numbers at their mean, categories and
        0/1 features at their most common value; or ``"mean"``, ``"row:3"`` (rows from 1), ``"rows"`` (every row, of networks
        that have not seen it), a CSV or NPY file. By default the rows.
    target : str, optional
        Instead of y: the column of the frame X to predict from the others.
    group : array_like, one label for each row, or "same-features", optional
        Rows with equal labels are repeated measurements of one thing; "same-features": rows with equal features are.
    progress : bool or function of (stage, done, total)
        True shows a line on standard error while it works. A function is called up to 20 times a second and at the end of each
        stage, total being None where it is not known; an exception that it raises ends the call.
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
    >>> result = epiq.decompose(X, y, at="row:3", engine="infinite", lambda_=1e-3)
    >>> result.at
    ['row:3']
    >>> round(float(result.prediction[0]), 2)
    0.32
    """
    table = _table.read(X, y, at, group, target, _options.texts("decompose", options))
    command = _options.command("decompose", _table.typed(at, group, target), options)
    return Result._of(*table.ask(_epiq.decompose, command, progress))
