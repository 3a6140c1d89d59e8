"""What EpistemicRegressor needs of scikit-learn where that is not installed: parameters that can be read and set, R2 as score,
and the same checks of X, y and column names, in fewer words."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


class NotFittedError(ValueError, AttributeError):
    """predict before fit."""


class ConvergenceWarning(UserWarning):
    """Some networks were still on their way when training ended."""


class BaseEstimator:
    """get_params, set_params, and a repr that shows what differs from the defaults."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {name: p.default for name, p in inspect.signature(cls).parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in sorted(self._defaults())}

    def set_params(self, **params: Any) -> Self:
        for name, value in params.items():
            if name not in self._defaults():
                known = ", ".join(self._defaults())
                raise ValueError(f"{type(self).__name__} has no parameter {name}; it has {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{k}={getattr(self, k)!r}" for k, v in self._defaults().items() if getattr(self, k) is not v]
        return f"{type(self).__name__}({', '.join(changed)})"


class RegressorMixin:
    """R2, and the mark by which scikit-learn would know a regressor."""

    _estimator_type = "regressor"

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """R2 of the predictions: 1 is perfect, 0 no better than the mean of y."""
        given = np.asarray(y, dtype=float)
        left = given - self.predict(X)  # type: ignore[attr-defined]
        return float(1 - np.sum(left**2) / np.sum((given - given.mean()) ** 2))


def _names(X: Any) -> NDArray[Any] | None:
    """Column names of a data frame whose columns all have a text for a name."""
    names = list(getattr(X, "columns", ()))
    return np.array(names, dtype=object) if names and all(isinstance(n, str) for n in names) else None


def _rows(X: Any, least: int) -> NDArray[np.float64]:
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse; dense rows are needed: X.toarray()")
    a = np.asarray(X)
    if a.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex numbers")
    if a.ndim != 2:
        raise ValueError(f"X has {a.ndim} dimensions; it must be rows by features: one feature is X.reshape(-1, 1)")
    if len(a) < least or not a.shape[1]:
        raise ValueError(f"X has {len(a)} rows and {a.shape[1]} features; it takes {least} rows and 1 feature or more")
    a = np.ascontiguousarray(a, dtype=np.float64)
    if not np.isfinite(a).all():
        i, j = np.argwhere(~np.isfinite(a))[0]
        raise ValueError(f"X[{i}, {j}] is {a[i, j]}; X must not contain NaN or infinity")
    return a


def _targets(y: Any, rows: int) -> NDArray[np.float64]:
    a = np.asarray(y, dtype=np.float64)
    a = a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a
    if a.shape != (rows,):
        raise ValueError(f"y has shape {a.shape} but X has {rows} rows; one number per row is needed")
    if not np.isfinite(a).all():
        raise ValueError(f"y[{np.flatnonzero(~np.isfinite(a))[0]}] is not a finite number; leave such rows out")
    return np.ascontiguousarray(a)


def validate_data(
    estimator: Any, X: Any, y: Any = None, *, reset: bool = True, ensure_min_samples: int = 1, **_: Any
) -> Any:
    """X as float64, rows by features (and y as float64, one for each row), compared with what fit saw unless reset."""
    names, a = _names(X), _rows(X, ensure_min_samples)
    if reset:
        estimator.n_features_in_ = a.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = names
    elif a.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X has {a.shape[1]} features, but fit saw {estimator.n_features_in_}")
    elif names is not None and list(names) != list(getattr(estimator, "feature_names_in_", names)):
        seen = ", ".join(estimator.feature_names_in_)
        raise ValueError(f"X has the columns {', '.join(names)}; fit saw {seen}, in this order")
    return a if y is None else (a, _targets(y, len(a)))
