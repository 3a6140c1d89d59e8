"""EpistemicRegressor: fit once, ask often, as scikit-learn's estimators do. It holds a model of epiq_fit
(docs/model-file.md) and asks it; nothing is computed here but the sum data + procedural / members."""

from __future__ import annotations

import copyreg
import inspect
import os
import warnings
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from . import _arrays, _files, _frames, _model, _options, _plot, _table
from ._arrays import Floats
from ._decompose import decompose
from ._epiq import InputError
from ._model import Model, model_from_bytes, model_from_file
from ._options import Options
from ._progress import Progress
from ._result import Result
from ._score import Score

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


def _value(text: str | None) -> Any:
    """An option as a parameter: a number where it is one."""
    for kind in (int, float):
        try:
            return kind(str(text))
        except ValueError:
            pass
    return text


class ExtrapolationWarning(UserWarning):
    """Some of the rows at which predict was asked for variances lie outside the range of those of fit."""


class Parts(NamedTuple):
    """Variances at each point, in squared units of y; NaN where unknown."""

    procedural: Floats
    """of one network, over random starts: would retraining change the prediction?"""
    data: Floats
    """over training sets: would other rows change it?"""
    ensemble: Floats
    """data + procedural / ensemble_size: of the mean of so many networks, unless told as many as ``batches``, 5"""
    prediction: Floats
    """of what predict returns, the mean of the members: data + procedural / members"""


class EpistemicRegressor(RegressorMixin, BaseEstimator):
    """An ensemble of neural networks that says how far its predictions can be trusted, and why not further.

    Parameters are the options of `epiq fit` (docs/options.md) with their defaults, but for these:

    methods
        "if,ev": the data part and the procedural part, each directly. Adding ba trains `batches` networks more, which
        only `explain` shows, beside data + procedural / batches.
    random_state
        the library's seed. A whole number (default 1) gives the same bits every time; None or a numpy generator draws one.
    exact
        predict in double precision throughout, as `epiq predict --exact`.

    Features and target are scaled inside (scale="standard"). There is no sample_weight: the theory has none.

    Texts in columns of a data frame, true and false or a few categories, become 0/1 features, each of which counts in
    n_features_in_; other frames are read in the same way.

    After fit: n_features_in_, feature_names_in_ (of data frames of numbers), seed_, warnings_ (a code and a message each), model_, and
    on rows that the networks have not seen: error_ (root mean square) and r2_; noise_, the standard deviation of y around the best
    prediction. `save` writes the file that `epiq fit` would, for `epiq predict` and for `epiq.load`.

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
    error_: float
    r2_: float
    noise_: float
    model_: Model
    warnings_: list[dict[str, str]]
    _features: tuple[str, ...] | None = None  # of a model from a file

    def __init__(
        self,
        *,
        members: int = 50,
        width: int | Literal["auto"] = "auto",
        depth: int = 1,
        lambda_: float | Literal["auto"] = "auto",
        bias: float = 1.0,
        bias_sd: float = 1.0,
        methods: str | Sequence[str] = "if,ev",
        batches: int = 5,
        ensemble_size: int = 0,
        correction: str = "moderated",
        data_by: str = "auto",
        replicates: int = 5,
        folds: int = 5,
        fold_members: int = 4,
        confidence: str = "none",
        probes: int = 0,
        hbar: str = "kernel",
        engine: str = "network",
        linear_kernel: str = "population",
        optimizer: str = "auto",
        lr: float = 1e-2,
        steps: int = 0,
        batch_size: int = 32,
        vary: str = "both",
        predictor: str = "usual",
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
        self.fold_members = fold_members
        self.confidence = confidence
        self.probes = probes
        self.hbar = hbar
        self.engine = engine
        self.linear_kernel = linear_kernel
        self.optimizer = optimizer
        self.lr = lr
        self.steps = steps
        self.batch_size = batch_size
        self.vary = vary
        self.predictor = predictor
        self.scale = scale
        self.random_state = random_state
        self.threads = threads
        self.backend = backend
        self.exact = exact

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | str | None = None, *, progress: Progress = False
    ) -> Self:
        """Train on ``X`` (rows by features) and ``y`` (a number for each row).

        ``groups``: labels, one for each row; rows with equal labels are repeated measurements of one thing and count together.
        ``"same-features"``: rows with equal features do. ``progress`` is that of ``epiq.decompose``.
        """
        coded, self._plan = _frames.encode(X, "X")
        self._features = None
        _arrays.frame_is_finite(coded, "X")
        rows, targets = validate_data(self, coded, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self.seed_ = seed_of(self.random_state)
        self._names = coded.columns if self._plan else getattr(self, "feature_names_in_", None)
        names = self._names
        table = _Named(rows, names), _Named(targets, name=_arrays.name_of(y, "y")), _arrays.labels(groups, "groups")
        options = self._options()
        self.model_ = _model.fit(*table, function=type(self).__name__, options=options, progress=progress)
        self._fitted = table, options  # for explain
        self._learn()
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
        its variances, as ``Parts``. Both are of the prediction: the noise of a new observation is not in them, as it is in
        those of ``predict_interval``.

        NaN stands where a variance is unknown; a deviation that no point could have is refused. ``ExtrapolationWarning`` is
        given when variances are asked for at rows outside the range of the training rows.
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

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> Floats:
        """Where a new observation of y would fall at each row of ``X``, with this probability: rows by 2, the lower end first.

        It is made of the errors of networks on rows they have not seen, wider where the place is hard, and holds the noise.
        Outside the data there is no interval: both ends are NaN there, and ``ExtrapolationWarning`` says at how many rows.
        """
        rows = self._check(X)
        level = self._level(level)
        told = _model.predict(self.model_, rows, ["lo", "hi"], threads=self.threads, exact=self.exact, level=level)
        if told.withheld:
            warnings.warn(
                f"{told.withheld} of {len(rows)} rows lie outside the data, where no interval is known: it is NaN there",
                ExtrapolationWarning,
                stacklevel=2,
            )
        return np.column_stack([told.parts["lo"], told.parts["hi"]])

    def predict_confidence(self, X: ArrayLike, level: float = 0.95) -> Floats:
        """Where the expected prediction lies at each row of ``X``, what infinitely many networks on tables like this one would predict:
        rows by 2, the lower end first. Of models with ``confidence`` batching or retrain; it is no interval of y."""
        rows = self._check(X)
        if "confidence" not in self.model_.describe()["parts"]:
            raise ValueError('the model has no interval of the expected prediction; fit it with confidence="batching" or "retrain"')
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it must be a number between 0 and 1, as 0.95")
        ends = ["confidence_lo", "confidence_hi"]
        told = _model.predict(self.model_, rows, ends, threads=self.threads, exact=self.exact, level=float(level))
        return np.column_stack([told.parts[end] for end in ends])

    def score_report(self, X: ArrayLike, y: ArrayLike | None = None, level: float = 0.95) -> Score:
        """Errors, coverage and calibration on rows whose y is known, which it should not have learned from: what `epiq score`
        says. Without ``y`` the frame ``X`` has a column with the target's name. ``score`` is R2 alone, as everywhere."""
        if not self.__sklearn_is_fitted__():
            raise self._not_fitted()
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it must be a number between 0 and 1, as 0.95")
        X, y = self._split(X, y)
        options = _options.texts("score", {"level": level, "threads": self.threads})
        command = _options.command("score", ["model", "X", "y"], {"level": level})
        rows = _arrays.matrix(self._check(X), "X", "rows", "features")
        handle = self.model_.score(rows, _arrays.vector(y, "y"), options, self.exact, command)
        return Score._of(handle, _arrays.index_of(X) if _arrays.names_of(X, "X") is not None else None)

    def _split(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X and y; y may be the column of X with the target's name."""
        target, names = self.model_.describe()["target"], _arrays.names_of(X, "X")
        if y is None and (names is None or target not in names):
            raise ValueError(f'y is missing; give one number for each row of X, or a frame X with the column "{target}"')
        return (X, y) if y is not None else _table.split(X, None, target)

    def plot(self, X: ArrayLike, y: ArrayLike | None = None, level: float = 0.95, ax: Any = None) -> Any:
        """Predictions at the rows of ``X`` in rising order with their intervals, and ``y`` where it is given.

        Draws into ``ax``, or a new figure, and returns the Axes. Needs matplotlib."""
        rows = self._check(X)
        level = self._level(level)
        asked = ["prediction", "lo", "hi"]
        told = _model.predict(self.model_, rows, asked, threads=self.threads, exact=self.exact, level=level).parts
        observed = None if y is None else _arrays.vector(y, "y")
        if observed is not None and len(observed) != len(rows):
            raise ValueError(f"X has {len(rows)} rows but y has {len(observed)}; give one for each row of X")
        ends, target = np.column_stack([told["lo"], told["hi"]]), self.model_.describe()["target"]
        return _plot.intervals(told["prediction"], ends, target, f"{100 * level:g} % interval", observed, ax)

    def explain(self, X: ArrayLike, *, progress: Progress = False, **options: Unpack[Options]) -> Result:
        """The full ``Result`` at the rows of ``X``: every part with its interval, the rows that carry the prediction, where
        a new observation would fall, what to do. Options override the estimator's: ``level=0.9``, ``methods="if,ev,ba"``.

        It trains again, which takes as long as ``fit`` did, because a model keeps only what predictions need; the networks
        are the same, and so are the numbers but for rounding. Ask for all points in one call.
        """
        at = _Named(self._check(X), self._names)
        if self._features is not None:
            raise ValueError("a model from a file does not keep its rows as they were; fit again, or use epiq.decompose")
        (rows, targets, labels), fitted = self._fitted
        result = decompose(rows, targets, at, group=labels, progress=progress, **{**fitted, **options})
        result._labels = _arrays.index_of(X) if _arrays.names_of(X, "X") is not None else None
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as the file of `epiq fit` (docs/model-file.md): the whole file, or none. It holds the training rows."""
        if not self.__sklearn_is_fitted__():
            raise self._not_fitted()
        _files.write(path, self.model_.to_bytes(), "the model")

    @classmethod
    def _of(cls, model: Model) -> Self:
        """Fitted: the model, with the options it was made with as parameters."""
        about = model.describe()
        options = {_options.spelled(name): value for name, value in about["options"].items()}
        chosen = {name: _value(options[name]) for name in inspect.signature(cls).parameters if name in options}
        self = cls(**{**chosen, "threads": 0, "random_state": int(str(options["seed"]))})
        self.seed_, self.model_ = self.random_state, model
        self._learn()
        self._features = self._names = names = tuple(about["features"])
        self.n_features_in_, self._plan = len(names), None
        if names != tuple(f"x{k}" for k in range(1, len(names) + 1)) and not any("=" in name for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def __sklearn_is_fitted__(self) -> bool:  # an underscore at the end, as lambda_ has, would pass for the mark of fit
        return hasattr(self, "model_")

    def _learn(self) -> None:
        """What the model says of itself."""
        about = self.model_.describe()
        unseen = about["fit"]
        self.warnings_ = about["warnings"]
        self.error_, self.r2_, self.noise_ = (
            np.nan if number is None else number for number in (unseen["rmse"], unseen["r2"], unseen["noise_sd"])
        )

    def _options(self) -> dict[str, Any]:
        """Those of the library; the parameters that are none of them become what they mean there."""
        own = self.get_params(deep=False)
        del own["random_state"], own["exact"]
        return {**own, "seed": self.seed_}

    def _level(self, level: float) -> float:
        """A level at which the model has intervals."""
        about = self.model_.describe()
        if about["no_interval"] is not None:
            raise ValueError(about["no_interval"])
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it must be a number between 0 and 1, as 0.95")
        return float(level)

    def _check(self, X: ArrayLike) -> Floats:
        if not self.__sklearn_is_fitted__():
            raise self._not_fitted()
        plan = self._plan if self._features is None else _frames.recognise(X, self._features, "X")
        table = _frames.apply(X, plan, "X", self.model_.describe()["target"])
        if self._features is not None and isinstance(table, _frames.Coded):  # its columns were found by their names
            return _arrays.matrix(table, "X", "rows", "features")
        _arrays.frame_is_finite(table, "X")
        if self._plan and _arrays.names_of(table, "X") is None and np.asarray(table).shape[1:] != (self.n_features_in_,):
            columns = ", ".join(column.name for column in self._plan)
            raise InputError(f"X has no columns with names; give a data frame with those that the model has learned from: {columns}")
        rows: Floats = validate_data(self, table, dtype=np.float64, reset=False)
        return rows

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _ask(self, rows: Floats, parts: Sequence[str]) -> dict[str, Floats]:
        told, outside, _ = _model.predict(self.model_, rows, parts, threads=self.threads, exact=self.exact)
        if outside and len(parts) > 1:  # scores of cross-validation, where most folds have such rows, stay quiet
            warnings.warn(
                f"{outside} of {len(rows)} rows lie outside the range of the training rows; variances there are extrapolations",
                ExtrapolationWarning,
                stacklevel=3,
            )
        return told

    def _own_variance(self, procedural: Floats, data: Floats) -> Floats:
        """Of the prediction: without members it is kernel regression's, which does not vary with the start."""
        options = self.model_.describe()["options"]
        trained = "ev" in str(options["methods"]).split(",") and options["engine"] != "infinite"
        return data + procedural / int(str(options["members"])) if trained else data


def score(
    model: EpistemicRegressor | _arrays.Path, X: ArrayLike, y: ArrayLike | None = None, *, level: float = 0.95
) -> Score:
    """Can a model be trusted? Errors, coverage and calibration on rows whose y is known: `epiq score`.

    Parameters
    ----------
    model : EpistemicRegressor or path
        A fitted one, or the file of one.
    X, y : array_like
        Rows that the model has not learned from. Without ``y`` the frame ``X`` has a column with the target's name.
    level : float
        Of the intervals whose coverage and width are told.

    Examples
    --------
    >>> import epiq
    >>> X = [[i / 10, (i % 7) / 7] for i in range(60)]
    >>> y = [a * a + b for a, b in X]
    >>> model = epiq.EpistemicRegressor(engine="infinite").fit(X[::2], y[::2])
    >>> epiq.score(model, X[1::2], y[1::2])["r2"] > 0.99
    True
    """
    regressor = model if isinstance(model, EpistemicRegressor) else load(model)
    return regressor.score_report(X, y, level)


def load(path: _arrays.Path) -> EpistemicRegressor:
    """The model in a file of `epiq fit` or of `EpistemicRegressor.save`, as a fitted ``EpistemicRegressor``.

    It predicts what `epiq predict` does. A frame's columns are found by their names, in any order, and texts in them are read as
    those of the table were; an array has one column for each of ``model_.describe()["features"]``. The file keeps no rows as they
    were given, so ``explain`` needs a new ``fit``.

    The file is mapped, not read: it may be replaced or removed meanwhile, but must not be changed in place.

    Examples
    --------
    >>> import epiq, os, tempfile
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> regressor = epiq.EpistemicRegressor(members=5, width=64).fit(X, [a * a + b for a, b in X])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     regressor.save(os.path.join(folder, "y.epiq"))
    ...     loaded = epiq.load(os.path.join(folder, "y.epiq"))
    >>> bool((loaded.predict(X) == regressor.predict(X)).all())
    True
    """
    return EpistemicRegressor._of(model_from_file(_arrays.path(path, "path")))
