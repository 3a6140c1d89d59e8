"""The wheel as it lies in a clean environment, whose command epiq is the first on PATH: version, libraries, bits, licences.
Run by tools/check-python. Usage: installed.py PATH/OF/epiq-that-was-built FOLDER/OF/examples
"""

import importlib.metadata
import json
import pathlib
import re
import shutil
import subprocess
import sys

import epiq
import numpy as np

BUNDLED = ("openblas", "sqlite3", "gfortran", "quadmath", "gomp")
QUICK = ("--members", "4", "--width", "64", "--batches", "3")


def answered(command, *arguments):
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def libraries_of_this_process():
    return {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if ".so" in line}


def check_libraries(paths, whose):
    """Those that come along lie in this environment, each of the kinds once or more; no other place has one."""
    ours = [p for p in map(pathlib.Path, paths) if any(f"lib{name}" in p.name for name in BUNDLED)]
    elsewhere = [p for p in ours if not p.resolve().is_relative_to(pathlib.Path(sys.prefix).resolve())]
    assert not elsewhere, f"{whose} loads {elsewhere}"
    for name in BUNDLED:
        assert any(f"lib{name}" in p.name and p.parent.name == "epiq.libs" for p in ours), f"{whose} has no lib{name} of its own"


def main():
    built, examples = sys.argv[1], pathlib.Path(sys.argv[2])
    command = shutil.which("epiq")
    assert pathlib.Path(command).is_relative_to(sys.prefix), command
    assert answered(command, "--version") == answered(built, "--version") == f"epiq {epiq.__version__}\n"
    assert importlib.metadata.version("epiq") == epiq.__version__
    failed = subprocess.run([command, "estimate", "nothing.csv"], stderr=subprocess.PIPE, text=True)
    assert failed.returncode == 2 and failed.stderr.startswith("epiq: "), "exit codes and messages are the program's"

    table = np.loadtxt(examples / "kiln.csv", delimiter=",", skiprows=1)
    where = np.loadtxt(examples / "kiln_new.csv", delimiter=",", skiprows=1)
    mine = epiq.decompose(table[:, :-1], table[:, -1], at=where, members=4, width=64, batches=3)
    asked = ("estimate", str(examples / "kiln.csv"), "--target", "strength_mpa", "--at", str(examples / "kiln_new.csv"))
    for program in (command, built):
        theirs = json.loads(answered(program, *asked, *QUICK, "--quiet", "--json", "-"))["points"]
        for part in ("procedural", "data"):
            assert [p[part]["variance"] for p in theirs] == list(getattr(mine, part)), f"{part} by {program}"
        assert [p["prediction"] for p in theirs] == list(mine.prediction), program

    check_libraries(libraries_of_this_process(), "the package")
    program = pathlib.Path(epiq.__file__).parent / "bin" / "epiq"
    check_libraries(re.findall(r"=> (/\S+)", answered("ldd", program)), "the command")

    texts = "".join(f.read_text() for f in importlib.metadata.files("epiq") if "licenses" in f.parts)
    for needed in ("Apache License", "The OpenBLAS Project", "GCC RUNTIME LIBRARY EXCEPTION", "public domain", "GNU LESSER GENERAL"):
        assert needed.lower() in texts.lower(), f"no licence text has {needed}"
    print("the wheel: one version, the same bits by command and package, no library of this machine, licences of all")


main()
