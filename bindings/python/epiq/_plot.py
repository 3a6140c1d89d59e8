"""Pictures by matplotlib, where it is installed. Each function draws into ``ax``, or into a new figure, and returns the Axes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._epiq import InputError

if TYPE_CHECKING:
    from ._arrays import Floats
    from ._decide import Comparison, Plan, Ranking
    from ._result import Result

DATA, RETRAINING, OTHER = "#0065a3", "#b84a00", "#007a58"  # as on the pages
_MOST_BARS = 30
_MOST_NUMBERED = 25  # picks with their number beside them: more would overlap


def _axes(ax: Any, height: float = 4.8) -> Any:
    if ax is not None:
        return ax
    try:
        plt = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("plot needs matplotlib, which is not installed; pip install matplotlib") from error
    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]


def _lines(ax: Any, labels: Sequence[object]) -> None:
    """One line for each label, the first on top."""
    ax.set_yticks(range(len(labels)), [str(label) for label in labels])
    ax.set_ylim(len(labels) - 0.4, -0.6)


def _tall(lines: int) -> float:
    return 1.4 + 0.28 * max(lines, 3)


# ---- decompose ----


def parts(result: Result, ax: Any = None) -> Any:
    """What one network's variance is made of, point by point; of many points the least sure."""
    single = np.nan_to_num(result.single, nan=-1.0)
    shown = np.arange(len(result))
    if len(shown) > _MOST_BARS:
        shown = np.argsort(-single, kind="stable")[:_MOST_BARS]
    ax = _axes(ax, _tall(len(shown)))
    data, procedural = (np.nan_to_num(part[shown]) for part in (result.data, result.procedural))
    lines = np.arange(len(shown))
    ax.barh(lines, data, 0.7, color=DATA, label="data (other rows)")
    ax.barh(lines, procedural, 0.7, left=data, color=RETRAINING, label="retraining")
    names = result.at
    _lines(ax, [names[k] for k in shown])
    target = result.json["data"]["target"] or "the target"
    ax.set_xlabel(f"variance of one network, in squared units of {target}")
    ax.set_title(f"The {_MOST_BARS} least sure of {len(result)} points" if len(shown) < len(result) else "Why the prediction is unsure")
    ax.legend()
    return ax


def intervals(
    prediction: Floats, ends: Floats, target: str, label: str, y: Floats | None = None, ax: Any = None
) -> Any:
    """Predictions in rising order with an interval each, and what was observed where it is known. NaN: no interval."""
    ax = _axes(ax)
    order = np.argsort(prediction, kind="stable")
    place = np.arange(len(order))
    lo, hi = ends[order].T
    known = np.isfinite(lo) & np.isfinite(hi)
    ax.vlines(place[known], lo[known], hi[known], color=DATA, alpha=0.35, linewidth=max(1.0, min(6.0, 200 / len(place))), label=label)
    ax.plot(place, prediction[order], ".", color=DATA, markersize=5, label="prediction")
    if y is not None:
        ax.plot(place, y[order], "x", color=RETRAINING, markersize=4, label="observed")
    ax.set_xlabel("points, in the order of their predictions")
    ax.set_ylabel(target)
    ax.legend(loc="upper left")  # where rising predictions leave room
    return ax


def rows(result: Result, ax: Any = None) -> Any:
    """The prediction at every point, with the interval of a new observation there."""
    level = 100 * result.json["run"]["options"]["level"]
    target = result.json["data"]["target"] or "the target"
    label = f"{level:g} % interval of a new observation"
    ax = intervals(result.prediction, result.predictive_interval, target, label, ax=ax)
    ax.set_title(f"Predictions of {target}")
    return ax


def result(of: Result, kind: Literal["parts", "rows"] | None, ax: Any) -> Any:
    """``kind`` None: parts for a few points, rows for many and for rows left out."""
    kinds = {"parts": parts, "rows": rows}
    usual = "rows" if len(of) > _MOST_BARS or any(point.get("left_out") for point in of) else "parts"
    if kind is not None and kind not in kinds:
        raise InputError(f'kind is {kind!r}; it must be "parts" or "rows"')
    return kinds[kind or usual](of, ax)


# ---- plan, compare, explore ----


def plan(of: Plan, ax: Any = None) -> Any:
    """The standard deviation that money buys."""
    ax = _axes(ax)
    curve = of.json["curve"]
    cost, sd = ([step[key] for step in curve] for key in ("cost", "sd"))
    interval = np.array([step["interval"] or (np.nan, np.nan) for step in curve], dtype=np.float64)
    ax.fill_between(cost, *np.sqrt(interval.T), color=DATA, alpha=0.2, linewidth=0, label=f"{100 * of.best['level']:g} % interval")
    ax.plot(cost, sd, color=DATA)
    for name, step, mark in (("best", of.best, "o"), ("likely (80 %)", of.likely, "D"), ("cautious", of.cautious, "s")):
        if step is not None and step["cost"] <= cost[-1]:
            ax.plot(step["cost"], step["sd"], mark, color=RETRAINING, label=name)
    if of.json["asked"]["goal_sd"] is not None:
        ax.axhline(of.json["asked"]["goal_sd"], color=OTHER, linestyle="--", label="goal")
    ax.set_xlabel("cost, in the unit of the prices")
    ax.set_ylabel(f"standard deviation of the predicted {of.json['data']['target']}")
    ax.set_ylim(bottom=0)
    ax.set_title("More rows or more networks")
    ax.legend()
    return ax


def _model_names(models: list[dict[str, Any]]) -> list[str]:
    """By what differs among them."""
    differ = [name for name in ("width", "depth", "lambda", "bias") if len({model[name] for model in models}) > 1]
    return [", ".join(f"{name} {model[name]:g}" for name in differ) or "the model" for model in models]


def comparison(of: Comparison, ax: Any = None) -> Any:
    """The error of every model on rows it has not seen, with one standard error; the choice in another colour."""
    key = of.json["comparison"]["error"].removesuffix("_rmse")
    names, chosen = _model_names(of.models), of.choice["index"] if of.choice else None
    known = [k for k, model in enumerate(of.models) if model[f"{key}_rmse"] is not None]
    known.sort(key=lambda k: of.models[k][f"{key}_rmse"])
    ax = _axes(ax, _tall(len(known)))
    for line, k in enumerate(known):
        error, se = of.models[k][f"{key}_rmse"], of.models[k][f"{key}_se"] or 0.0
        colour = RETRAINING if k == chosen else DATA
        ax.errorbar(error, line, xerr=se, fmt="D" if k == chosen else "o", color=colour, capsize=3, label="choice" if k == chosen else None)
    _lines(ax, [names[k] for k in known])
    how = "cross-validated" if key == "cv" else "leave-one-out"
    ax.set_xlabel(f"{how} error of {of.json['data']['target']}, +- one standard error")
    ax.set_title("Which network")
    if chosen is not None:
        ax.legend()
    return ax


def ranking(of: Ranking, ax: Any = None) -> Any:
    """Every candidate by its prediction and how unsure that is; the picks with their numbers."""
    ax = _axes(ax)
    ranked, asked = of.json["ranked"], of.json["explore"]
    size = np.inf if asked["rule"] == "data" else asked["ensemble_size"]
    variance = [one["data"] + (one["procedural"] or 0) / size if one["data"] is not None else np.nan for one in ranked]
    sd, prediction = np.sqrt(variance), [one["prediction"] for one in ranked]
    picked = len(of.picks)
    ax.plot(sd[picked:], prediction[picked:], ".", color=DATA, label="candidates")
    ax.plot(sd[:picked], prediction[:picked], "s", color=RETRAINING, label="picked, in this order")
    for k in range(picked if picked <= _MOST_NUMBERED else 0):
        ax.annotate(str(k + 1), (sd[k], prediction[k]), textcoords="offset points", xytext=(6, 4))
    ax.set_xlabel("standard deviation due to the data" if asked["rule"] == "data" else f"standard deviation of an ensemble of {size}")
    ax.set_ylabel(f"predicted {of.json['data']['target']}")
    ax.set_title("Which points to measure next")
    ax.legend()
    return ax
