"""plan, compare and explore: more rows or more networks, which network, where to measure next."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _epiq, _options, _plot, _table
from ._answer import Answer
from ._arrays import Points
from ._epiq import InputError
from ._options import CompareOptions, ExploreOptions, PlanOptions
from ._progress import Progress

if TYPE_CHECKING:
    import pandas


def _real(value: Any, name: str) -> float:
    """A finite number; the library says which are too small."""
    number = _arrays.real(value)
    if np.isnan(number):
        raise InputError(f"{name} is {_arrays.shown(value)}; it must be a finite number")
    return number


def _whole(value: Any, name: str, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= 1_000_000:
        raise InputError(f"{name} is {_arrays.shown(value)}; it must be a whole number from {least} to 1000000")
    return number


def _choice(value: Any, name: str, choices: Sequence[str]) -> int:
    if value not in choices:
        raise InputError(f"{name} is {_arrays.shown(value)}; it must be one of {', '.join(choices)}")
    return choices.index(value)


# ---- plan ----


class Plan(Answer):
    """More rows, more networks, or nothing: what to buy, and how sure that is.

    ``print`` shows the text of `epiq plan`; ``json`` is its JSON (docs/json.md). Steps are dicts with rows, members, new_rows,
    trainings, cost, variance, interval and sd.
    """

    @property
    def now(self) -> dict[str, Any]:
        """Nothing bought."""
        now: dict[str, Any] = self.json["now"]
        return now

    @property
    def best(self) -> dict[str, Any]:
        """The cheapest step expected to reach the goal, or the best for the budget; with its ``chance`` and a ``text``."""
        best: dict[str, Any] = self.json["plan"]
        return best

    @property
    def likely(self) -> dict[str, Any] | None:
        """The cheapest step that reaches the goal with a chance of 80 %; None: no such step is known."""
        likely: dict[str, Any] | None = self.json["likely"]
        return likely

    @property
    def cautious(self) -> dict[str, Any] | None:
        """The cheapest step that reaches it almost certainly; None: no such step is known."""
        cautious: dict[str, Any] | None = self.json["cautious"]
        return cautious

    @property
    def recommended(self) -> dict[str, Any]:
        """``likely`` where there is one, else ``best``."""
        return self.likely or self.best

    def plot(self, ax: Any = None) -> Any:
        """The standard deviation that every amount buys, with its interval, the goal and the steps.

        Draws into ``ax``, or a new figure, and returns the Axes. Needs matplotlib."""
        return _plot.plan(self, ax)

    def to_frame(self) -> pandas.DataFrame:
        """The curve, one row for each amount spent: what `epiq plan --csv` writes. Needs pandas."""
        return self._table()


def plan(
    X: ArrayLike,
    y: ArrayLike | None = None,
    at: Points = None,
    *,
    price_row: float,
    price_training: float,
    goal_sd: float | None = None,
    goal: float | None = None,
    budget: float | None = None,
    target: str | None = None,
    group: ArrayLike | str | None = None,
    progress: Progress = False,
    **options: Unpack[PlanOptions],
) -> Plan:
    """More rows or more networks? The cheapest mix that reaches a standard deviation, or the best use of a budget.

    Parameters
    ----------
    X, y, at, target, group, progress
        As those of ``decompose``. Over several points the mean of their variances counts.
    price_row, price_training : float
        What one more row and training one network cost, in the same unit; new rows mean training every network again.
    goal_sd : float
        The standard deviation that the prediction should have, in units of y.
    goal : float
        The same as a variance.
    budget : float
        Instead: what may be spent.
    **options
        Those of `epiq plan` with underscores (docs/options.md).

    Examples
    --------
    >>> import epiq
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> y = [a * a + b + (i * 7 % 5 - 2) / 9 for i, (a, b) in enumerate(X)]
    >>> plan = epiq.plan(X, y, price_row=5, price_training=1, budget=100, engine="infinite")
    >>> plan.best["cost"] <= 100 and plan.best["variance"] < plan.now["variance"]
    True
    """
    given = {"goal_sd": goal_sd, "goal": goal, "budget": budget}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        wrong = f"{' and '.join(asked)} are different questions" if asked else "there is nothing to plan for"
        raise InputError(f"{wrong}; give goal_sd, a standard deviation to reach (or goal, its square), or budget, an amount to spend")
    amount = _real(given[asked[0]], asked[0])
    if asked == ["goal_sd"]:
        if amount <= 0:
            raise InputError(f"goal_sd is {_arrays.shown(goal_sd)}; it must be above 0, in the units of y")
        amount *= amount
    texts = _options.texts("plan", options, _options.PLAN)
    if texts.get("methods") in ("if", "ev", "ba") and texts.get("engine") != "infinite":
        raise InputError(f"methods {texts['methods']!r} tells one part only, and a plan needs both; name two of if, ev, ba")
    prices = _real(price_row, "price_row"), _real(price_training, "price_training")
    table = _table.read(X, y, at, group, target, texts)
    more = {"price_row": price_row, "price_training": price_training, asked[0]: given[asked[0]], **options}
    command = _options.command("plan", _table.typed(at, group, target), more)
    return Plan._of(*table.ask(_epiq.plan, command, progress, (*prices, int(asked == ["budget"]), amount)))


# ---- compare ----


class Comparison(Answer):
    """Networks compared by their error on rows they have not seen and by how sure they are.

    ``print`` shows the text of `epiq compare`; ``json`` is its JSON (docs/json.md).
    """

    @property
    def models(self) -> list[dict[str, Any]]:
        """Every combination of the lists: width, depth, lambda, bias, errors, variance, interval, parts, front."""
        models: list[dict[str, Any]] = self.json["models"]
        return models

    @property
    def choice(self) -> dict[str, Any] | None:
        """The model recommended, its ``index`` among ``models`` and the ``reason``; None: none has an error."""
        choice: dict[str, Any] | None = self.json["choice"]
        return choice

    @property
    def options(self) -> dict[str, Any]:
        """The choice as options: ``epiq.decompose(X, y, **comparison.options)``."""
        choice = self.choice or {}
        named = {_options.spelled(name): choice.get(name) for name in ("width", "depth", "lambda", "bias")}
        return {name: value for name, value in named.items() if value is not None}

    def plot(self, ax: Any = None) -> Any:
        """The error of every model on rows it has not seen, with its standard error; the choice stands out.

        Draws into ``ax``, or a new figure, and returns the Axes. Needs matplotlib."""
        return _plot.comparison(self, ax)

    def to_frame(self) -> pandas.DataFrame:
        """One row per model: what `epiq compare --csv` writes. Needs pandas."""
        return self._table()


def compare(
    X: ArrayLike,
    y: ArrayLike | None = None,
    at: Points = None,
    *,
    width: int | Sequence[int] | None = None,
    depth: int | Sequence[int] | None = None,
    lambda_: float | Sequence[float] | None = None,
    bias: float | Sequence[float] | None = None,
    folds: int = 5,
    target: str | None = None,
    group: ArrayLike | str | None = None,
    progress: Progress = False,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Which network? Widths, depths and penalties compared by error and by how sure they are.

    Parameters
    ----------
    X, y, at, target, group, progress
        As those of ``decompose``. Over several points the mean of their variances counts.
    width, depth, lambda_, bias : number or list of numbers, optional
        Every combination is a model; without them those of `epiq compare`.
    folds : int
        Parts of the rows left out in turn to measure the error; 0: none, the leave-one-out error of the kernel decides.
    **options
        Those of `epiq compare` with underscores (docs/options.md).

    Examples
    --------
    >>> import epiq
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> y = [a * a + b for a, b in X]
    >>> comparison = epiq.compare(X, y, lambda_=[1e-4, 1], engine="infinite")
    >>> comparison.options["lambda_"]
    0.0001
    """
    defaults = _epiq.DEFAULTS["compare"]
    lists = {"width": width, "depth": depth, "lambda": lambda_, "bias": bias}
    texts = {k: v for k, v in defaults.items() if k not in lists} | _options.texts("compare", options, _options.COMPARE)
    items = {
        name: tuple(defaults[name].split(",")) if values is None else _options.listed(_options.spelled(name), values)
        for name, values in lists.items()
    }
    if texts.get("engine") == "infinite" and width is None:
        texts["width"], items["width"] = items["width"][0], ()  # it has none
    count = _whole(folds, "folds", 0)
    table = _table.read(X, y, at, group, target, texts)
    more = {"width": width, "depth": depth, "lambda_": lambda_, "bias": bias, "folds": folds if folds != 5 else None, **options}
    command = _options.command("compare", _table.typed(at, group, target), more)
    ask = (items["width"], items["depth"], items["lambda"], items["bias"], count)
    return Comparison._of(*table.ask(_epiq.compare, command, progress, ask))


# ---- explore ----


class Ranking(Answer):
    """Candidates in the order in which measuring them is worth most: the picks, then all others by their score.

    ``print`` shows the text of `epiq explore`; ``json`` is its JSON (docs/json.md).
    """

    @property
    def order(self) -> NDArray[np.intp]:
        """Every candidate by its place among those given, from 0, best first: ``candidates.iloc[ranking.order]``."""
        return np.array([one["row"] - 1 for one in self.json["ranked"]], dtype=np.intp)

    @property
    def picks(self) -> NDArray[np.intp]:
        """The batch to measure, likewise, in the order of picking."""
        return np.array([one["row"] - 1 for one in self.json["ranked"] if one.get("pick")], dtype=np.intp)

    @property
    def reason(self) -> str:
        """Why the first comes first."""
        reason: str = self.json["explore"]["reason"]
        return reason

    def plot(self, ax: Any = None) -> Any:
        """Every candidate by prediction and standard deviation, the picks with their numbers.

        Draws into ``ax``, or a new figure, and returns the Axes. Needs matplotlib."""
        return _plot.ranking(self, ax)

    def to_frame(self) -> pandas.DataFrame:
        """One row per candidate, best first: what `epiq explore --csv` writes; the index is that of the candidates' frame, where
        they came in one. Needs pandas."""
        frame = self._table()
        if self._labels is None:
            return frame
        taken = getattr(self._labels, "take", None)
        return frame.set_axis(taken(self.order) if taken else [self._labels[k] for k in self.order])


_RULES = ("ucb", "data", "total")  # in the order of epiq_rule
_GOALS = ("max", "min")


def explore(
    X: ArrayLike,
    y: ArrayLike | None = None,
    candidates: Points = None,
    *,
    rule: Literal["ucb", "data", "total"] = "ucb",
    goal: Literal["max", "min"] = "max",
    kappa: float = 2.0,
    batch: int = 1,
    top: int = 20,
    target: str | None = None,
    group: ArrayLike | str | None = None,
    progress: Progress = False,
    **options: Unpack[ExploreOptions],
) -> Ranking:
    """Which points to measure next: candidates ranked by predicted value and uncertainty.

    Parameters
    ----------
    X, y, target, group, progress
        As those of ``decompose``.
    candidates : array_like, points by features, or a file
        The points to choose from.
    rule : "ucb", "data" or "total"
        What a candidate is worth: prediction plus ``kappa`` standard deviations, or with ``confidence`` or ``budget_networks`` the
        upper end of that interval; the variance due to the data; or the ensemble's.
    goal : "max" or "min"
        Which end of y ucb looks for.
    kappa : float
        Standard deviations that ucb adds to the prediction.
    batch : int
        Candidates to pick, each as if those before it had been observed as predicted.
    top : int
        Candidates that the text lists.
    **options
        Those of `epiq explore` with underscores (docs/options.md).

    Examples
    --------
    >>> import epiq
    >>> X = [[i / 10, (i % 7) / 7] for i in range(40)]
    >>> y = [a * a + b for a, b in X]
    >>> ranking = epiq.explore(X, y, [[1.0, 0.5], [3.9, 0.5], [2.0, 0.5]], engine="infinite")
    >>> ranking.picks
    array([1])
    """
    if candidates is None:
        raise InputError("candidates is missing: the points to choose from, in the columns of X")
    weight = _real(kappa, "kappa")
    if not 0 <= weight <= 1e6:
        raise InputError(f"kappa is {_arrays.shown(kappa)}; it must be a number from 0 to 1e+06")
    ask = (_choice(rule, "rule", _RULES), _choice(goal, "goal", _GOALS), weight, _whole(batch, "batch", 1), _whole(top, "top", 1))
    texts = _options.texts("explore", options, _options.EXPLORE)
    table = _table.read(X, y, candidates, group, target, texts, "candidates")
    own = {"rule": (rule, "ucb"), "goal": (goal, "max"), "kappa": (kappa, 2.0), "batch": (batch, 1), "top": (top, 20)}
    more = {name: value for name, (value, usual) in own.items() if value != usual} | dict(options)
    command = _options.command("explore", _table.typed(candidates, group, target, "candidates"), more)
    return Ranking._of(*table.ask(_epiq.explore, command, progress, ask))
