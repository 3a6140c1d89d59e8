"""plan, compare and explore: the numbers of the command line, to the bit, and its sentences."""

import copy
import csv
import io
import json
import pickle

import epiq
import numpy as np
import pytest
from conftest import QUICK, ROOT, as_python, flags

PRICES = {"price_row": 5, "price_training": 0.5}
PLANNED = {**PRICES, "goal_sd": 0.05, "width": 32, "members": 6, "lambda_": 0.01}
COMPARED = {"width": [16, 32], "lambda_": [1e-3, 1e-2], "members": 4, "ensemble_size": 2, "folds": 3}
EXPLORED = {"rule": "ucb", "goal": "min", "kappa": 1.5, "batch": 2, "width": 32, "members": 6, "lambda_": 0.01}
VERBS = {"plan": (epiq.plan, PLANNED), "compare": (epiq.compare, COMPARED), "explore": (epiq.explore, EXPLORED)}


def told(cli, verb, options, folder, *more):
    typed = {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in options.items()}
    return cli.json(verb, "rows.npy", "--target", "y", *more, *flags(typed), cwd=folder)


@pytest.fixture
def folder(table, tmp_path):
    X, y, at = table
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    np.save(tmp_path / "at.npy", at)
    return tmp_path


def without(whole, *names):
    return {name: value for name, value in whole.items() if name not in names}


def same(got, want):
    """All but how it ran."""
    want = as_python(want)
    ran = [without(one["run"]["options"], "target") for one in (got, want)]
    return without(got, "run", "epiq") == without(want, "run", "epiq") and ran[0] == ran[1]


def words(text):
    """Without the line that tells how long it took."""
    return [line.split() for line in text.rstrip("\n").split("\n") if not line.endswith(" s")]


@pytest.mark.parametrize("verb", VERBS)
def test_the_json_is_the_command_lines(table, cli, folder, verb):
    X, y, at = table
    function, options = VERBS[verb]
    want = told(cli, verb, options, folder, "--candidates" if verb == "explore" else "--at", "at.npy")
    answer = function(X, y, at, **options)
    got = answer.to_dict()
    assert same(got, want), (got, want)
    got["now"] = 3
    assert answer.json is not got and same(answer.json, want)


def test_engine_infinite_and_defaults(table, cli, folder):
    X, y, at = table
    got = epiq.compare(X, y, engine="infinite")
    assert same(got.json, cli.json("compare", "rows.npy", "--target", "y", "--engine", "infinite", cwd=folder))
    assert got.choice["width"] is None and "width" not in got.options and got.options["lambda_"] == got.choice["lambda"]
    prices = {**PRICES, "budget": 100, "engine": "infinite"}
    assert same(epiq.plan(X, y, **prices).json, told(cli, "plan", prices, folder))
    squared, rooted = (epiq.plan(X, y, **PRICES, **goal, engine="infinite").json for goal in ({"goal": 0.05 * 0.05}, {"goal_sd": 0.05}))
    assert squared["plan"] == rooted["plan"] and squared["asked"]["goal_sd"] == 0.05
    file = folder / "new.npy"
    np.save(file, at)
    asked = ("explore", "rows.npy", "--target", "y", "--candidates", file, "--engine", "infinite")
    assert same(epiq.explore(X, y, file, engine="infinite").json, cli.json(*asked, cwd=folder))


def test_a_comparison_without_folds_is_at_the_mean_as_on_the_command_line(table, cli, folder):
    X, y, _ = table
    asked = ("compare", "rows.npy", "--target", "y", "--folds", "0", "--width", "16", "--lambda", "1e-2", "--members", "3")
    assert same(epiq.compare(X, y, folds=0, width=[16], lambda_=[1e-2], members=3).json, cli.json(*asked, cwd=folder))


def test_defaults_are_those_of_the_command_line():
    page = (ROOT / "docs" / "options.md").read_text()
    for verb, wanted in {
        "compare": epiq._epiq.DEFAULTS["compare"] | {"folds": "5"},
        "plan": epiq._epiq.DEFAULTS.get("plan", {}),
        "explore": {"rule": "ucb", "goal": "max", "kappa": "2", "batch": "1", "top": "20"},
    }.items():
        section = page.split(f"## epiq {verb}\n")[1].split("\n## ")[0]
        for name, value in wanted.items():
            assert f"| `--{name}` | `{value}` |" in section, (verb, name)


@pytest.mark.parametrize("verb", VERBS)
def test_text_table_and_page(table, cli, folder, verb):
    pandas = pytest.importorskip("pandas")
    X, y, at = table
    function, options = VERBS[verb]
    answer = function(X, y, at, **options)
    typed = {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in options.items()}
    place = "--candidates" if verb == "explore" else "--at"
    more = ("--csv", "-") if verb != "explore" else ("--csv", "-", "--quiet")
    done = cli.run(verb, "rows.npy", "--target", "y", place, "at.npy", *flags(typed), *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout.replace("at.npy:", ""))))
    frame = answer.to_frame()
    assert list(frame.columns) == list(rows[0]) and len(frame) == len(rows)
    for name in frame.columns:
        column = [row[name] for row in rows]
        if pandas.api.types.is_bool_dtype(frame[name]):
            assert [str(v).lower() for v in frame[name]] == column, name
        else:
            assert np.array_equal(frame[name].astype(float), [float(v or "nan") for v in column], equal_nan=True), name
    said = cli.run(verb, "rows.npy", "--target", "y", place, "at.npy", *flags(typed), cwd=folder).stdout
    said = as_python(said.replace("at.npy:", ""))
    if verb == "compare":  # which names its choice as flags
        said = said.replace("Choice: width 32 depth 1 lambda 1e-3.", "Choice: Start with width 32, depth 1 and lambda 1e-3.")
    assert words(str(answer)) == words(said)
    answer.save_report(folder / "page.html")
    page = (folder / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and f"epiq {verb}" in page and f"epiq.{verb}(X, y, " in page


@pytest.mark.parametrize("verb", VERBS)
def test_answers_can_be_kept(table, folder, verb):
    X, y, at = table
    function, options = VERBS[verb]
    answer = function(X, y, at, **options)
    for other in (pickle.loads(pickle.dumps(answer)), copy.copy(answer), copy.deepcopy(answer)):
        assert other.json == answer.json and str(other) == str(answer)
        assert other.to_frame().equals(answer.to_frame())
        other.save_report(folder / "page.html")
        assert (folder / "page.html").read_bytes() == answer._drawn()
    json.dumps(answer.to_dict())


def test_what_they_say(table):
    X, y, at = table
    plan = epiq.plan(X, y, at, **PLANNED)
    assert plan.now["rows"] == 60 and plan.now["cost"] == 0
    assert plan.recommended == (plan.likely or plan.best) and plan.best["variance"] <= 0.05**2 or "cannot" in plan.best["text"]
    assert plan.cautious is None or plan.cautious["chance"] > 0.9
    comparison = epiq.compare(X, y, at, **COMPARED)
    assert len(comparison.models) == 4 and comparison.models[comparison.choice["index"]]["width"] == comparison.choice["width"]
    result = epiq.decompose(X, y, at, **{**QUICK, **comparison.options})
    assert result.json["model"]["width"] == comparison.choice["width"]
    ranking = epiq.explore(X, y, at, **EXPLORED)
    assert list(ranking.picks) == list(ranking.order[:2]) and sorted(ranking.order) == list(range(5))
    first = ranking.json["ranked"][0]
    assert first["row"] == ranking.picks[0] + 1 and ranking.reason
    score = 1.5 * np.sqrt(first["data"] + first["procedural"] / ranking.json["explore"]["ensemble_size"]) - first["prediction"]
    np.testing.assert_allclose(first["score"], score, rtol=1e-12)


def test_frames_with_a_target(table):
    pandas = pytest.importorskip("pandas")
    X, y, at = table
    frame = pandas.DataFrame(X, columns=list("abc"), index=[f"r{k}" for k in range(60)]).assign(y=y)
    points = pandas.DataFrame(at, columns=list("abc"), index=pandas.Index(list("vwxyz"), name="mix"))
    for verb, (function, options) in VERBS.items():
        plain, named = function(X, y, at, **options), function(frame, None, points, target="y", **options)
        for key in ("plan", "models", "explore"):
            assert plain.json.get(key) == named.json.get(key), verb
        assert named.json["data"]["target"] == "y" and named.json["data"]["features"] == list("abc")
    ranked = named.to_frame()
    assert ranked.index.name == "mix" and list(ranked.index) == [list("vwxyz")[k] for k in named.order]
    with pytest.raises(epiq.InputError, match='X has no column \'z\'; its columns are a, b, c, y'):
        epiq.plan(frame, target="z", **PLANNED)
    with pytest.raises(epiq.InputError, match="y and target are both given"):
        epiq.compare(frame, y, target="y")
    with pytest.raises(epiq.InputError, match="X has no columns with names"):
        epiq.decompose(X, target="y")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X, y: epiq.plan(X, y, **PRICES), "there is nothing to plan for; give goal_sd"),
        (lambda X, y: epiq.plan(X, y, **PRICES, goal=1, budget=1), "goal and budget are different questions"),
        (lambda X, y: epiq.plan(X, y, **PRICES, goal_sd=-1), "goal_sd is -1; it must be above 0"),
        (lambda X, y: epiq.plan(X, y, **PRICES, goal_sd="big"), "goal_sd is 'big'; it must be a finite number"),
        (lambda X, y: epiq.plan(X, y, price_row=-1, price_training=1, goal=1), "row"),
        (lambda X, y: epiq.plan(X, y, **PLANNED, methods="ev"), "tells one part only, and a plan needs both"),
        (lambda X, y: epiq.compare(X, y, width=[]), "width is an empty list"),
        (lambda X, y: epiq.compare(X, y, width=[16, 0]), "width is "),
        (lambda X, y: epiq.compare(X, y, folds=-1), "folds is -1; it must be a whole number from 0"),
        (lambda X, y: epiq.explore(X, y), "candidates is missing"),
        (lambda X, y: epiq.explore(X, y, X[:, :2]), "at has 2 columns|candidates has 2 columns"),
        (lambda X, y: epiq.explore(X, y, X, rule="best"), "rule is 'best'; it must be one of ucb, data, total"),
        (lambda X, y: epiq.explore(X, y, X, kappa=-1), "kappa is -1; it must be a number from 0"),
        (lambda X, y: epiq.explore(X, y, X[:3], batch=4), "4"),
        (lambda X, y: epiq.explore(X, y, X * np.nan), r"candidates\[0\]\[0\] is nan"),
    ],
)
def test_what_is_refused(table, call, sentence):
    with pytest.raises(epiq.InputError, match=sentence):
        call(*table[:2])


def test_options_of_other_verbs_are_refused(table):
    X, y, at = table
    with pytest.raises(TypeError, match=r"plan\(\) has no option sweep"):
        epiq.plan(X, y, **PLANNED, sweep=5)
    with pytest.raises(TypeError, match=r"compare\(\) has no option hbar"):
        epiq.compare(X, y, hbar="kernel")
    with pytest.raises(TypeError, match=r"explore\(\) has no option members_; did you mean|explore\(\) has no option random_state; did you mean seed"):
        epiq.explore(X, y, at, random_state=3)
