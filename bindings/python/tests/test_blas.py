"""Which kernels OpenBLAS uses in a Python process."""

import os
import pathlib

import pytest
from epiq._blas import core_type, suitable_kernels

WORN = "sse sse2 ssse3 sse4_1 sse4_2"
AVX2 = f"{WORN} avx avx2 fma f16c bmi1 bmi2"
AVX512 = f"{AVX2} avx512f avx512dq avx512cd avx512bw avx512vl"

# the core that this process has, by the OpenBLAS that the extension has loaded
CORE = """
import ctypes, os, epiq
from epiq import _epiq
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line and "numpy" not in line}
assert len(loaded) <= 1, loaded
tell = getattr(ctypes.CDLL(loaded.pop()), "openblas_get_corename") if loaded else None
if tell:
    tell.restype = ctypes.c_char_p
print(tell().decode() if tell else "none", os.environ.get("OPENBLAS_CORETYPE", "unset"))
import numpy as np
x = np.linspace(0, 1, 40).reshape(20, 2)
r = epiq.decompose(x, x[:, 0], at="mean", engine="infinite")
print(sum(w["code"] == "slow_blas" for w in r.warnings))
"""


def cpuinfo(vendor, family, flags):
    return f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: 207\nflags\t\t: {flags}\n\nprocessor\t: 1\n"


@pytest.mark.parametrize(
    ("vendor", "family", "flags", "want"),
    [
        ("GenuineIntel", 6, AVX512, "SkylakeX"),
        ("GenuineIntel", 19, AVX512, "SkylakeX"),
        ("GenuineIntel", 6, f"{AVX2} avx512f avx512cd", "Haswell"),  # Knights Landing
        ("GenuineIntel", 6, AVX2, "Haswell"),
        ("GenuineIntel", 6, WORN, None),
        ("AuthenticAMD", 26, AVX512, "SkylakeX"),
        ("AuthenticAMD", 25, AVX2, "Zen"),
        ("HygonGenuine", 24, AVX2, "Zen"),
        ("AuthenticAMD", 21, AVX2, None),  # Excavator, which OpenBLAS knows
        ("AuthenticAMD", 16, WORN, None),
        ("CentaurHauls", 7, AVX2, None),
    ],
)
def test_core_type(vendor, family, flags, want):
    assert core_type(cpuinfo(vendor, family, flags)) == want


def test_nothing_is_known_of_other_machines():
    assert core_type("") is None
    assert core_type("processor\t: 0\nFeatures\t: fp asimd evtstrm aes\nCPU implementer\t: 0x41\n") is None


def test_the_environment_is_restored(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    before = dict(os.environ)
    with pytest.raises(ImportError), suitable_kernels():
        raise ImportError
    assert dict(os.environ) == before
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    with suitable_kernels():
        assert os.environ["OPENBLAS_CORETYPE"] == "Nehalem"
    assert os.environ["OPENBLAS_CORETYPE"] == "Nehalem"


def test_a_process_has_the_kernels(python, monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    core, after, warnings = python(CORE).stdout.split()
    assert (after, warnings) == ("unset", "0")
    want = core_type(pathlib.Path("/proc/cpuinfo").read_text())
    if core == "none" or want is None:
        pytest.skip("the BLAS is not OpenBLAS, or it is left to choose")
    assert core == want
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    assert python(CORE).stdout.split() == ["Prescott", "Prescott", "1"]
