"""EpistemicRegressor: fit once, ask often, as scikit-learn's estimators do. It holds a model of epiq_fit
(docs/model-file.md) and asks it; nothing is computed here but the sum data + procedural / members."""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from . import _arrays, _frames, _model
from ._arrays import Floats
from ._decompose import decompose
from ._model import Model, model_from_bytes
from ._options import Options
from ._result import Result

if TYPE_CHECKING:
    from ._standin import BaseEstimator, ConvergenceWarning, NotFittedError, RegressorMixin, validate_data
else:
    try:  # 1.6 or newer
        from sklearn.base import BaseEstimator, RegressorMixin
        from sklearn.exceptions import ConvergenceWarning, NotFittedError
        from sklearn.utils.validation import validate_data
    except ImportError:
        from ._standin import BaseEstimator, ConvergenceWarning, NotFittedError, RegressorMixin, validate_data

# A model is pickled as the bytes of its file; so is an estimator that holds one.
copyreg.pickle(Model, lambda model: (model_from_bytes, (model.to_bytes(),)))


class _Named:
    """An array with the names that the data frame or series it came from gave it."""

    def __init__(self, array: Floats, columns: Sequence[str] | None = None, name: str | None = None) -> None:
        self.array, self.columns, self.name = array.copy(), columns, name

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return self.array


def seed_of(random_state: Any) -> int:
    """The library's seed: a whole number as it is, else drawn from a numpy generator, from the global one if None."""
    if random_state is None:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63, dtype=np.uint64))
    if isinstance(random_state, (int, np.integer)) and 0 <= random_state < 2**64:
        return int(random_state)
    raise ValueError(f"random_state is {random_state!r}; it must be None, a whole number from 0 on or a numpy generator")


class FewRowsWarning(UserWarning):
    """The data part at some of the rows asked about rests on one or two training rows, and is known only roughly."""


class ExtrapolationWarning(UserWarning):
    """Some of the rows at which predict was asked for variances lie outside the range of those of fit."""


class Parts(NamedTuple):
    """Variances at each point, in squared units of y; NaN where unknown."""

    procedural: Floats
    """of one network, over random starts: would retraining change the prediction?"""
    data: Floats
    """over training sets: would other rows change it?"""
    ensemble: Floats
    """data + procedural / ensemble_size: of the mean of so many networks"""
    prediction: Floats
    """of what predict returns, the mean of the members: data + procedural / members"""


class EpistemicRegressor(RegressorMixin, BaseEstimator):
    """An ensemble of neural networks that says how far its predictions can be trusted, and why not further.

    Parameters are the options of `epiq fit` (docs/options.md) with their defaults, but for these:

    methods
        "if,ev": the data part and the procedural part, each directly. Adding ba trains `batches` networks more, which
        only `explain` shows, beside data + procedural / batches.
    ensemble_size
        of the ensemble `Parts.ensemble` speaks of; None: of the one that predicts, `members`.
    random_state
        the library's seed. A whole number (default 1) gives the same bits every time; None or a numpy generator draws one.
    exact
        predict in double precision throughout, as `epiq predict --exact`.

    Features and target are scaled inside (scale="standard"). There is no sample_weight: the theory has none.

    Texts in columns of a data frame, true and false or a few categories, become 0/1 features, each of which counts in
    n_features_in_; other frames are read in the same way.

    After fit: n_features_in_, feature_names_in_ (of data frames of numbers), seed_, warnings_ (a code and a message each) and model_,
    of which model_.to_bytes() is a file for `epiq predict`.

    Examples
    --------
    >>> from epiq import EpistemicRegressor
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> regressor = EpistemicRegressor(members=5, width=64).fit(X, [a * a + b for a, b in X])
    >>> prediction, sd = regressor.predict([[1.0, 0.5], [9.0, 0.5]], return_std=True)
    >>> bool(sd[1] > 5 * sd[0])  # far from the rows
    True
    """

    n_features_in_: int
    feature_names_in_: Any
    seed_: int
    model_: Model
    warnings_: list[dict[str, str]]

    def __init__(
        self,
        *,
        members: int = 50,
        width: int | Literal["auto"] = 1024,
        depth: int = 1,
        lambda_: float | Literal["auto"] = 1e-3,
        bias: float = 1.0,
        bias_sd: float = 1.0,
        methods: str | Sequence[str] = "if,ev",
        batches: int = 5,
        ensemble_size: int | None = None,
        correction: str = "moderated",
        data_by: str = "auto",
        replicates: int = 5,
        folds: int = 5,
        probes: int = 0,
        hbar: str = "kernel",
        engine: str = "network",
        linear_kernel: str = "population",
        optimizer: str = "auto",
        lr: float = 1e-2,
        steps: int = 0,
        batch_size: int = 32,
        vary: str = "both",
        scale: str = "standard",
        random_state: Any = 1,
        threads: int = 0,
        backend: str = "blas",
        exact: bool = False,
    ) -> None:
        self.members = members
        self.width = width
        self.depth = depth
        self.lambda_ = lambda_
        self.bias = bias
        self.bias_sd = bias_sd
        self.methods = methods
        self.batches = batches
        self.ensemble_size = ensemble_size
        self.correction = correction
        self.data_by = data_by
        self.replicates = replicates
        self.folds = folds
        self.probes = probes
        self.hbar = hbar
        self.engine = engine
        self.linear_kernel = linear_kernel
        self.optimizer = optimizer
        self.lr = lr
        self.steps = steps
        self.batch_size = batch_size
        self.vary = vary
        self.scale = scale
        self.random_state = random_state
        self.threads = threads
        self.backend = backend
        self.exact = exact

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | str | None = None) -> Self:
        """Train on ``X`` (rows by features) and ``y`` (a number a row).

        ``groups``: labels, one for each row; rows with equal labels are repeated measurements of one thing and count together.
        ``"same-features"``: rows with equal features do.
        """
        coded, self._plan = _frames.encode(X, "X")
        rows, targets = validate_data(self, coded, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self.seed_ = seed_of(self.random_state)
        self._names = coded.columns if self._plan else getattr(self, "feature_names_in_", None)
        names = self._names
        table = _Named(rows, names), _Named(targets, name=_arrays.name_of(y, "y")), _arrays.labels(groups, "groups")
        options = self._options()
        self.model_ = _model.fit(*table, function=type(self).__name__, options=options)
        self._fitted = table, options  # for explain
        self.warnings_ = self.model_.describe()["warnings"]
        for w in self.warnings_:
            if w["code"] in ("unconverged", "stopped_early"):
                warnings.warn(w["message"], ConvergenceWarning, stacklevel=2)
        return self

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, return_parts: Literal[False] = False
    ) -> Floats: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_parts: Literal[False] = False
    ) -> tuple[Floats, Floats]: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, *, return_parts: Literal[True]
    ) -> tuple[Floats, Parts]: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_parts: Literal[True]
    ) -> tuple[Floats, Floats, Parts]: ...
    def predict(self, X: ArrayLike, return_std: bool = False, return_parts: bool = False) -> Any:
        """The prediction at each row of ``X``; with ``return_std`` also its standard deviation, with ``return_parts`` also
        its variances, as ``Parts``. Both are of the prediction: the noise of a new observation is not in them.

        NaN stands where a variance is unknown; a deviation that no point could have is refused. ``ExtrapolationWarning`` is
        given when variances are asked for at rows outside the range of the training rows, ``FewRowsWarning`` where the data
        part rests on one or two training rows.
        """
        rows = self._check(X)
        if not (return_std or return_parts):
            return self._ask(rows, ["prediction"])["prediction"]
        told = self._ask(rows, _model.PARTS)
        if return_std and "data" not in told:
            raise ValueError(
                f"the standard deviation needs the data part, which methods {self.methods!r} cannot tell; add if"
            )
        unknown = np.full(len(rows), np.nan)
        procedural, data, ensemble = (told.get(part, unknown) for part in _model.PARTS[1:])
        parts = Parts(procedural, data, ensemble, self._own_variance(procedural, data))
        answer = (told["prediction"],)
        return answer + (np.sqrt(parts.prediction),) * bool(return_std) + (parts,) * bool(return_parts)

    def explain(self, X: ArrayLike, **options: Unpack[Options]) -> Result:
        """The full ``Result`` at the rows of ``X``: every part with its interval, the rows that carry the prediction, where
        a new observation would fall, what to do. Options override the estimator's: ``level=0.9``, ``methods="if,ev,ba"``.

        It trains again, which takes as long as ``fit`` did, because a model keeps only what predictions need; the networks
        are the same, and so are the numbers but for rounding. Ask for all points in one call.
        """
        at = _Named(self._check(X), self._names)
        (rows, targets, labels), fitted = self._fitted
        return decompose(rows, targets, at, group=labels, **{**fitted, **options})

    def __sklearn_is_fitted__(self) -> bool:  # an underscore at the end, as lambda_ has, would pass for the mark of fit
        return hasattr(self, "model_")

    def _options(self) -> dict[str, Any]:
        """Those of the library; the parameters that are none of them become what they mean there."""
        own = self.get_params(deep=False)
        del own["random_state"], own["exact"]
        size = self.members if self.ensemble_size is None else self.ensemble_size
        return {**own, "ensemble_size": size, "seed": self.seed_}

    def _check(self, X: ArrayLike) -> Floats:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        rows: Floats = validate_data(self, _frames.apply(X, self._plan, "X"), dtype=np.float64, reset=False)
        return rows

    def _ask(self, rows: Floats, parts: Sequence[str]) -> dict[str, Floats]:
        told, outside, few = _model.predict(self.model_, rows, parts, threads=self.threads, exact=self.exact)
        if outside and len(parts) > 1:  # scores of cross-validation, where most folds have such rows, stay quiet
            warnings.warn(
                f"{outside} of {len(rows)} rows lie outside the range of the training rows; variances there are extrapolations",
                ExtrapolationWarning,
                stacklevel=3,
            )
        if few and len(parts) > 1:
            warnings.warn(
                f"at {few} of {len(rows)} rows the data variance rests on one or two training rows, and is known only roughly; "
                "training rows themselves are often so",
                FewRowsWarning,
                stacklevel=3,
            )
        return told

    def _own_variance(self, procedural: Floats, data: Floats) -> Floats:
        """Of the prediction: without members it is kernel regression's, which does not vary with the start."""
        options = self.model_.describe()["options"]
        trained = "ev" in str(options["methods"]).split(",") and options["engine"] != "infinite"
        return data + procedural / int(str(options["members"])) if trained else data
