"""combine: the command line's numbers and sentences, from arrays; network_start: the weights epiq's own networks start from."""

import decimal
import json
import os
import pathlib

import epiq
import numpy as np
import pytest
from conftest import as_python, flags


def saved(arrays, folder):
    args = []
    for name, a in arrays.items():
        np.save(folder / f"{name}.npy", a)
        args += [f"--{name}", f"{name}.npy"]
    return args


def chosen(given, names):
    return {name: given[name] for name in names.split()}


@pytest.mark.parametrize(
    "names, options",
    [
        ("ensemble", {"until": 0.3}),
        ("batched", {}),
        ("batched", {"confidence": "batching"}),
        ("ensemble resampled", {"confidence": "halves"}),
        ("ensemble batched", {"ensemble_size": 9}),
        ("gram cross y", {"lambda_": 0.1}),
        ("ensemble gram cross y yhat", {"level": 0.8, "correction": "unbiased", "influential": 2}),
        ("ensemble batched jacobian jacobian0 y yhat", {"lambda_": 0.01, "probes": 16, "seed": 3}),
    ],
)
def test_numbers_are_the_command_lines(given, names, options, cli, tmp_path):
    arrays = chosen(given, names)
    told = cli.json("combine", *saved(arrays, tmp_path), *flags(options), cwd=tmp_path)
    result = epiq.combine(**arrays, **options)
    for key in set(told) - {"run", "timing", "epiq"}:
        said = json.loads(json.dumps(as_python(told[key])).replace(".npy", ""))  # an array is called after its argument alone
        assert result.json[key] == said, key
    assert set(result.json) == set(told)


def test_parts_are_what_they_are(given):
    r = epiq.combine(**chosen(given, "ensemble batched gram cross y yhat"), lambda_=0.1, correction="none")
    assert np.allclose(r.procedural, given["ensemble"].var(axis=0, ddof=1), rtol=1e-12)
    c = np.linalg.solve(given["gram"] + 0.1 * 30 * np.eye(30), given["cross"])
    influence = 30 * c * (given["y"] - given["yhat"])[:, None]
    assert np.allclose(r.data, influence.var(axis=0) / 30, rtol=1e-9)  # the condition is some 100
    assert np.allclose(r.prediction, given["ensemble"].mean(axis=0), rtol=1e-12)
    assert np.array_equal(r.members, given["ensemble"].T) and np.array_equal(r.batches, given["batched"].T)


def test_single_precision_and_maps_are_read_as_they_are(given, cli, tmp_path):
    J, J0 = given["jacobian"].astype("f4"), given["jacobian0"].astype("f4")
    np.save(tmp_path / "jacobian.npy", J)
    mapped = np.load(tmp_path / "jacobian.npy", mmap_mode="r")
    want = epiq.combine(jacobian=J.astype(float), jacobian0=J0.astype(float), y=given["y"]).json["points"]
    for a in (J, mapped, J.astype(">f4"), np.asfortranarray(J)):
        assert epiq.combine(jacobian=a, jacobian0=J0, y=given["y"]).json["points"] == want


@pytest.fixture(scope="module")
def again(given):
    """Networks that follow half of each target's difference from yhat at one row, retrained on what targets() makes."""
    rng = np.random.default_rng(9)
    left_out = given["y"] + rng.normal(size=(2, 30))
    vectors = epiq.targets(given["y"], given["yhat"], left_out, 6, seed=4)
    starts = rng.normal(size=(6, 1, 3, 4)) / 5
    retrained = 0.5 * (vectors - given["yhat"])[:, :4].reshape(6, 2, 1, 4) + starts + rng.normal(size=(6, 2, 3, 4)) / 50
    return {"left_out": left_out, "retrained": retrained.reshape(12, 3, 4), "targets": vectors}


def test_retrained_networks_tell_the_data_part(given, again):
    """The formulas by NumPy, and the same whatever shape they come in."""
    arrays = chosen(given, "ensemble y yhat")
    vectors, left = again["targets"], again["left_out"]
    e = given["y"] - left.mean(0)
    error2 = (e**2).mean() - left.var(0, ddof=1).mean() / 2
    step = np.sqrt(0.8 * error2)
    assert np.allclose(np.abs(vectors - given["yhat"]), step, rtol=1e-12)
    assert np.allclose(vectors[0::2] + vectors[1::2], 2 * given["yhat"], atol=1e-12)
    r = epiq.combine(**arrays, **again, seed=4)
    g = (again["retrained"][0::2] - again["retrained"][1::2]) / (2 * step)  # pairs by starts by points
    every = (g.mean(1) ** 2).mean(0)
    own = every - g.var(1, ddof=1).mean(0) / 3
    noise = min(max(error2 / (1 + 1.25 * own.mean()), ((given["y"] - given["yhat"]) ** 2).mean()), error2)
    assert np.isclose(r.json["retrain"]["noise_variance"], noise, rtol=1e-10)
    assert np.allclose(r.data, noise * (own.clip(0) + every * own.sum() / every.sum()) / 2, rtol=1e-9)
    assert {p["data"]["method"] for p in r.json["points"]} == {"retrain"}
    low, high = r.data_interval.T  # six pairs alone tell little: some upper ends cannot be known
    assert (0 < low).all() and (low <= r.data).all() and (np.isnan(high) | (high >= r.data)).all()
    assert [p["data"]["interval"][1] is None for p in r.json["points"]] == np.isnan(high).tolist()
    flat = epiq.combine(**arrays, left_out=left, retrained=again["retrained"].reshape(36, 4), replicates=6)
    assert np.array_equal(flat.data, r.data) and flat.json["retrain"]["starts"] == 3
    single = epiq.combine(**arrays, left_out=left, retrained=again["retrained"].astype("f4"))
    assert np.allclose(single.data, r.data, rtol=1e-4)


def test_retrained_networks_are_the_command_lines(given, again, cli, tmp_path):
    arrays = chosen(given, "ensemble y yhat gram cross")
    args = saved(arrays, tmp_path)
    for name, a in again.items():
        np.save(tmp_path / f"{name}.npy", a.reshape(-1, a.shape[-1]))
    args += ["--left-out", "left_out.npy", "--seed", 4]
    told = cli.json("combine", *args, "--retrained", "retrained.npy", "--targets-file", "targets.npy", cwd=tmp_path)
    result = epiq.combine(**arrays, **again, seed=4)
    assert result.json["retrain"] == told["retrain"] and told["retrain"]["kappa"] is not None
    assert result.json["points"] == told["points"]
    made = cli.run("combine", "--targets", 6, *args[2:6], *args[-4:], "-o", "made.npy", cwd=tmp_path)
    assert made.returncode == 0 and np.array_equal(np.load(tmp_path / "made.npy"), again["targets"])


def test_retrained_networks_that_do_not_fit(given, again):
    arrays = chosen(given, "ensemble y yhat")
    left, retrained = again["left_out"], again["retrained"]
    for wrong, said in (
        ({"retrained": retrained}, "^retrained needs left_out"),
        ({"left_out": left}, "^left_out needs retrained"),
        ({"left_out": left, "retrained": retrained[:-1]}, "^retrained is about 11 target vectors; they come in pairs"),
        ({"left_out": left, "retrained": retrained[:6]}, "^3 pairs of target vectors are too few; use 4 or more"),
        ({"left_out": left, "retrained": retrained[:, :, 1:]}, "^retrained has 3 columns but ensemble has 4"),
        ({"left_out": left[:, 1:], "retrained": retrained}, "^left_out has 29 columns but y has 30 rows"),
        ({"left_out": left, "retrained": retrained * np.nan}, "^retrained"),
        ({"left_out": left, "retrained": retrained, "replicates": 5}, "6 pairs of targets but replicates is 5"),
        ({"left_out": left, "retrained": retrained, "replicates": 5.5}, "^replicates is 5.5; it must be a whole number"),
        ({"left_out": left, "retrained": retrained.reshape(36, 4)}, "^retrained has 36 rows; 10 pairs of target vectors"),
        ({"left_out": left, "retrained": retrained, "targets": again["targets"]}, "so that these are other targets"),
    ):
        with pytest.raises(epiq.InputError, match=said):
            epiq.combine(**arrays, **wrong)
    for few in (0, -4, "x", 3):
        with pytest.raises(epiq.InputError, match="replicates is|3 pairs"):
            epiq.targets(given["y"], given["yhat"], left, few)
    with pytest.raises(epiq.InputError, match="left_out has 29 columns but y has 30 rows"):
        epiq.targets(given["y"], given["yhat"], left[:, 1:])
    with pytest.raises(epiq.InputError, match="no noise is left"):
        epiq.targets(given["y"], given["yhat"], given["y"][None])


def test_an_array_of_one_dimension_is_a_column(given):
    a = epiq.combine(given["ensemble"][:, 0], gram=given["gram"], cross=given["cross"][:, 0], y=given["y"])
    b = epiq.combine(given["ensemble"][:, :1], gram=given["gram"], cross=given["cross"][:, :1], y=given["y"][:, None])
    assert a.json["points"] == b.json["points"]


def test_names_of_points_come_from_data_frames(given):
    pandas = pytest.importorskip("pandas")
    ensemble = pandas.DataFrame(given["ensemble"], columns=["north", "south", "east", "west"])
    assert epiq.combine(ensemble).at == ["north", "south", "east", "west"]
    with pytest.raises(epiq.InputError, match="north"):
        epiq.combine(ensemble, batched=pandas.DataFrame(given["batched"], columns=list("abcd")))


def broken(given):
    gram = given["gram"]
    crooked, negative, hole = gram.copy(), gram - 2 * gram.max() * np.eye(30), gram.copy()
    crooked[3, 5] *= 1.1
    hole[2, 1] = np.nan
    saddle = np.ones((30, 30)) - 0.5 * np.eye(30)
    y, cross, J, J0 = given["y"], given["cross"], given["jacobian"], given["jacobian0"]
    return [
        {},
        {"gram": gram},
        {"gram": gram, "cross": cross},
        {"cross": cross, "y": y},
        {"yhat": y},
        {"gram": gram, "cross": cross, "jacobian": J, "jacobian0": J0, "y": y},
        {"gram": crooked, "cross": cross, "y": y},
        {"gram": negative, "cross": cross, "y": y},
        {"gram": saddle, "cross": cross, "y": y},
        {"gram": hole, "cross": cross, "y": y},
        {"gram": gram[:, :-1], "cross": cross, "y": y},
        {"gram": gram, "cross": cross[:-1], "y": y},
        {"gram": gram, "cross": cross, "y": y[:-1]},
        {"gram": gram, "cross": cross, "y": y, "yhat": y[:-2]},
        {"ensemble": given["ensemble"][:1]},
        {"batched": given["batched"][:1]},
        {"ensemble": given["ensemble"], "batched": given["batched"][:, :-1]},
        {"ensemble": given["ensemble"], "gram": gram, "cross": cross[:, :-1], "y": y},
        {"jacobian": J, "jacobian0": J0[:, :-1], "y": y},
        {"jacobian": J[:, :0], "jacobian0": J0[:, :0], "y": y},
        {"y": y[:0], "jacobian": J[:0], "jacobian0": J0},
        {"ensemble": given["ensemble"][:, :0]},
        {"ensemble": np.where(given["ensemble"] == given["ensemble"].max(), np.inf, given["ensemble"])},
        {"y": y},
    ]


@pytest.mark.parametrize("case", range(24))
def test_what_is_wrong_is_refused_as_by_the_command_line(given, case, cli, tmp_path):
    arrays = broken(given)[case]
    said = cli.sentence("combine", *saved(arrays, tmp_path), cwd=tmp_path).replace(".npy", "")
    said = said.replace(": the array is ", " is ")  # told by the reader of files there
    with pytest.raises(epiq.Error) as caught:
        epiq.combine(**arrays)
    assert str(caught.value) == said or (case == 20 and "0 x" in str(caught.value))  # here y is looked at first


def test_wrong_options_and_shapes(given):
    ensemble = given["ensemble"]
    with pytest.raises(epiq.InputError, match="^ensemble has 3 dimensions; it must have 2, or 1 for one column$"):
        epiq.combine(ensemble[None])
    with pytest.raises(epiq.InputError, match="^ensemble is an array of complex128"):
        epiq.combine(ensemble.astype(complex))
    for wrong, said in (
        (0, "0"), (-1.5, "-1.5"), (float("inf"), "inf"), (float("nan"), "nan"), ("x", "'x'"), ("0.5", "'0.5'"),
        ([0.5], r"\[0.5\]"), (10**400, r"10*\.\.\."), (10**5000, "a huge int"),
    ):
        with pytest.raises(epiq.InputError, match=f"^until is {said}; it must be a finite number above 0"):
            epiq.combine(ensemble, until=wrong)
    with pytest.raises(epiq.InputError, match="until is 1e-300; it must be above 0 and not tiny"):
        epiq.combine(ensemble, until=1e-300)
    assert epiq.combine(ensemble, until=decimal.Decimal("0.5")).json["until"]["relative"] == 0.5
    with pytest.raises(epiq.InputError, match="until counts the networks of ensemble, append and merge"):
        epiq.combine(batched=given["batched"], until=0.3)
    with pytest.raises(TypeError, match="combine.. has no option members"):
        epiq.combine(ensemble, members=3)


def test_networks_gather_in_a_file(given, tmp_path):
    ensemble, state, other = given["ensemble"], tmp_path / "state", tmp_path / "other"
    at = np.arange(8.0).reshape(4, 2)
    first = epiq.combine(ensemble[:1], at=at, append=state)
    assert np.isnan(first.procedural).all() and "one_network" in [w["code"] for w in first.warnings]
    epiq.combine(ensemble[:5], at=at, append=state)
    epiq.combine(ensemble[5:], at=at, append=str(other))
    both = epiq.combine(at=at, append=state, merge=other, until=0.5)
    assert both.members.shape == (4, 12) and both.json["until"]["members"] == 12
    assert np.allclose(both.procedural, ensemble.var(axis=0, ddof=1), rtol=1e-12)
    with pytest.raises(epiq.Error, match="other points|points"):
        epiq.combine(ensemble, at=at + 1, append=state)
    with pytest.raises(epiq.FileError):
        epiq.combine(ensemble, merge=[tmp_path / "nothing"])
    assert np.array_equal(epiq.combine(at=at, append=state).members, both.members)  # after a failure as before


def test_a_file_is_not_gathered_into_itself(given, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = [*saved(chosen(given, "ensemble"), tmp_path), "--append", "here", "--merge", "./here"]
    for _ in range(2):  # before there is such a file, and after
        said = cli.sentence("combine", *args, cwd=tmp_path)
        for merge in ("./here", ["other", tmp_path / "here"], b"here"):
            with pytest.raises(epiq.InputError) as caught:
                epiq.combine(given["ensemble"], append="here", merge=merge)
            assert str(caught.value) == said
        epiq.combine(given["ensemble"], append="here")


def test_paths_are_paths_however_they_are_told(given, table, tmp_path, monkeypatch):
    """As bytes too, and with bytes that are no text."""
    monkeypatch.chdir(tmp_path)
    (X, y, _), odd = table, b"\xff.state"
    np.savetxt(os.fsdecode(odd), X[:2], delimiter=",", header="x1,x2,x3", comments="")
    assert len(epiq.decompose(X, y, pathlib.Path(os.fsdecode(odd)), engine="infinite")) == 2
    os.unlink(odd)
    for name in (b"plain", odd):
        epiq.combine(given["ensemble"][:6], append=name)
        epiq.combine(given["ensemble"][:6], append=pathlib.Path(os.fsdecode(name)))
        assert os.listdir(b".") == [name]
        for merge in (name, [name], (os.fsdecode(name),)):
            assert epiq.combine(given["ensemble"][6:], merge=merge).members.shape == (4, 12)
        epiq.decompose(X, y, state=b"of " + name, width=8, members=3, batches=2)
        assert sorted(os.listdir(b".")) == sorted([name, b"of " + name])
        os.unlink(name), os.unlink(b"of " + name)


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer needs terabytes of addresses")
def test_a_start_for_which_memory_is_refused(python):
    code = """
import resource, epiq
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
try:
    epiq.network_start(6000, width=100_000)  # 4.8 GB
except epiq.OutOfMemory as error:
    print(error)
"""
    done = python(code)
    assert done.stdout.startswith("600200001 weights take 4.8 GB") and not done.stderr, done.stderr


def test_networks_start_where_epiqs_own_do():
    start = epiq.network_start(3, width=8, depth=2, seed=5)
    assert [(W.shape, b.shape) for W, b in start] == [((8, 3), (8,)), ((8, 8), (8,)), ((1, 8), (1,))]
    other = epiq.network_start(3, 1, width=8, depth=2, seed=5)
    assert not np.array_equal(start[0][0], other[0][0])
    W, b = epiq.network_start(4, width=100_000)[0]
    assert abs(W.mean()) < 5 / np.sqrt(W.size) and abs(W.std() - 1) < 5 / np.sqrt(2 * W.size)  # N(0, 1), 5 deviations
    assert abs(b.std() - 1) < 5 / np.sqrt(2 * b.size)
    with pytest.raises(epiq.OutOfMemory, match="^1000002000001 weights take 8e\\+03 GB, more than there is here; ask for"):
        epiq.network_start(10**6, width=10**6)
    with pytest.raises(epiq.InputError, match="no network -1"):
        epiq.network_start(3, -1, width=8)
    with pytest.raises(epiq.InputError, match="width is auto"):
        epiq.network_start(3)
    with pytest.raises(epiq.InputError, match="0 features"):
        epiq.network_start(0, width=8)
