"""How sure is a neural network's regression prediction, why is it unsure, what would help?

>>> import epiq, numpy as np
>>> X = np.random.default_rng(1).uniform(-1, 1, (80, 3))
>>> y = X @ [1, 2, 3] + np.sin(3 * X[:, 0])
>>> result = epiq.decompose(X, y, at=X[:2], members=10, width=64)
>>> result.procedural.shape                # would retraining change the prediction? one variance per point
(2,)
>>> bool(result.data[0] < result.single[0])  # would other rows? one network has both parts
True

``print(result)`` is the command line's text, ``result.save_report("page.html")`` its page with pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._blas import suitable_kernels

with suitable_kernels():
    from . import _epiq  # loads OpenBLAS

from ._combine import combine, network_start, targets
from ._decide import Comparison, Plan, Ranking, compare, explore, plan
from ._decompose import decompose
from ._epiq import Error, FileError, InputError, NumericalError, OutOfMemory
from ._epiq import version as __version__
from ._options import CombineOptions, CompareOptions, ExploreOptions, Options, PlanOptions
from ._result import Result
from ._score import Score

if TYPE_CHECKING:
    from ._regressor import EpistemicRegressor, ExtrapolationWarning, Parts, load, score

__all__ = [
    "CombineOptions",
    "CompareOptions",
    "Comparison",
    "EpistemicRegressor",
    "Error",
    "ExploreOptions",
    "ExtrapolationWarning",
    "FileError",
    "InputError",
    "NumericalError",
    "Options",
    "OutOfMemory",
    "Parts",
    "Plan",
    "PlanOptions",
    "Ranking",
    "Result",
    "Score",
    "__version__",
    "combine",
    "compare",
    "decompose",
    "explore",
    "load",
    "network_start",
    "plan",
    "score",
    "targets",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """The regressor when it is first asked for: it imports scikit-learn, which takes a second, where there is one."""
    if name in ("EpistemicRegressor", "ExtrapolationWarning", "Parts", "load", "score"):
        from . import _regressor

        return getattr(_regressor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
