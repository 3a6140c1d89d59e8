"""Which kernels OpenBLAS should use, decided before it is loaded with the extension.

OpenBLAS knows processors by their numbers, and on one that is newer than itself it falls back to kernels of 2004. Where it
knows the processor its own choice has the same kernels for matrices as the one made here, and the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
_AVX2 = {"avx2", "fma"}
_ZEN = 23  # the family of AMD's first processors with fast AVX2


def core_type(cpuinfo: str) -> str | None:
    """The core type for the first processor of /proc/cpuinfo, or None, where OpenBLAS is left to choose."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    vendor, family, flags = fields.get("vendor_id"), fields.get("cpu family", ""), set(fields.get("flags", "").split())
    amd = vendor in ("AuthenticAMD", "HygonGenuine") and family.isdigit() and int(family) >= _ZEN
    if not _AVX2 <= flags or not (amd or vendor == "GenuineIntel"):
        return None
    return "SkylakeX" if flags >= _AVX512 else "Zen" if amd else "Haswell"


@contextmanager
def suitable_kernels() -> Iterator[None]:
    """OPENBLAS_CORETYPE is set meanwhile, unless it is set already, to whatever."""
    chosen = None
    if "OPENBLAS_CORETYPE" not in os.environ:
        try:
            with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
                chosen = core_type(file.read(1 << 14))  # the first processor is enough
        except OSError:
            pass
    if chosen is None:
        yield
        return
    os.environ["OPENBLAS_CORETYPE"] = chosen
    try:
        yield
    finally:
        os.environ.pop("OPENBLAS_CORETYPE", None)
