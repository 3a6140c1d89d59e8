"""The extension: arrays as the library wants them, C-contiguous and of native numbers. _arrays.py makes them so."""

from collections.abc import Callable
from typing import TypeAlias, TypedDict

from numpy import float64, int64
from numpy.typing import NDArray

from ._arrays import Reals

version: str
OPTION_COLUMNS: int
OPTION_FILE: int
DEFAULTS: dict[str, dict[str, str]]
FOR_ESTIMATE: int
FOR_PLAN: int
FOR_COMPARE: int
FOR_EXPLORE: int
FOR_COMBINE: int
MOST_CATEGORIES: int
ROWS_PER_CATEGORY: int

_Report: TypeAlias = Callable[[str, int, int | None], object] | None
_Texts: TypeAlias = tuple[str, ...]

class Error(Exception): ...
class InputError(Error, ValueError): ...
class FileError(Error, OSError): ...
class NumericalError(Error, ArithmeticError): ...
class OutOfMemory(Error, MemoryError): ...

class _Described(TypedDict):
    rows: int
    features: list[str]
    target: str
    shift: float
    factor: float
    data_sha256: str
    version: str
    parts: list[str]
    options: dict[str, str | None]
    warnings: list[dict[str, str]]
    fit: _Fit
    most_level: float
    no_interval: str | None

class _Fit(TypedDict):
    rmse: float | None
    r2: float | None
    noise_sd: float | None
    folds: int
    by_group: bool
    kernel_rmse: float | None
    kernel_r2: float | None

class Result:
    def json(self) -> str: ...
    def csv(self) -> str: ...
    def text(self) -> str: ...
    def verbose_text(self) -> str: ...
    def page(self) -> bytes: ...
    def at(self) -> list[str]: ...
    def numbers(self, name: str, /) -> bytearray: ...
    def __len__(self) -> int: ...

class Model:
    def predict(
        self, X: NDArray[float64], parts: int = 15, threads: int = 0, exact: bool = False, level: float = 0
    ) -> tuple[
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray | None,
        bytearray,
        int,
        int,
        int,
    ]: ...
    def score(
        self, X: NDArray[float64], y: NDArray[float64], options: dict[str, str | bytes], exact: bool, command: str
    ) -> Result: ...
    def to_bytes(self) -> bytes: ...
    def describe(self) -> _Described: ...

def number(text: str, /) -> tuple[float, str]: ...
def truth(text: str, /) -> int: ...
def rounded_sd(sd: float, /) -> str: ...
def rounded_beside(value: float, sd: float, /) -> str: ...
def rounded_end(value: float, sd: float, /) -> str: ...
def decompose(
    X: NDArray[float64],
    y: NDArray[float64],
    at: NDArray[float64] | None,
    where: tuple[bytes, ...] | None,
    group: NDArray[int64] | None,
    names: tuple[str, ...] | None,
    target: str | None,
    options: dict[str, str | bytes],
    command: str,
    progress: _Report,
    ask: None = None,
    labels: _Texts | None = None,
) -> Result: ...
def plan(
    X: NDArray[float64],
    y: NDArray[float64],
    at: NDArray[float64] | None,
    where: tuple[bytes, ...] | None,
    group: NDArray[int64] | None,
    names: tuple[str, ...] | None,
    target: str | None,
    options: dict[str, str | bytes],
    command: str,
    progress: _Report,
    ask: tuple[float, float, int, float],
    labels: _Texts | None = None,
) -> Result: ...
def compare(
    X: NDArray[float64],
    y: NDArray[float64],
    at: NDArray[float64] | None,
    where: tuple[bytes, ...] | None,
    group: NDArray[int64] | None,
    names: tuple[str, ...] | None,
    target: str | None,
    options: dict[str, str | bytes],
    command: str,
    progress: _Report,
    ask: tuple[_Texts, _Texts, _Texts, _Texts, int],
    labels: _Texts | None = None,
) -> Result: ...
def explore(
    X: NDArray[float64],
    y: NDArray[float64],
    at: NDArray[float64] | None,
    where: tuple[bytes, ...] | None,
    group: NDArray[int64] | None,
    names: tuple[str, ...] | None,
    target: str | None,
    options: dict[str, str | bytes],
    command: str,
    progress: _Report,
    ask: tuple[int, int, float, int, int],
    labels: _Texts | None = None,
) -> Result: ...
def combine(
    arrays: dict[str, Reals],
    columns: dict[str, tuple[str, ...]],
    merge: tuple[bytes, ...],
    until: float | None,
    options: dict[str, str | bytes],
    command: str,
    replicates: int,
    progress: _Report,
) -> Result: ...
def targets(arrays: dict[str, Reals], replicates: int, options: dict[str, str | bytes]) -> bytearray: ...
def network_start(features: int, member: int, options: dict[str, str | bytes]) -> bytearray: ...
def fit(
    X: NDArray[float64],
    y: NDArray[float64],
    group: NDArray[int64] | None,
    names: tuple[str, ...] | None,
    target: str | None,
    options: dict[str, str | bytes],
    progress: _Report = None,
) -> Model: ...
def model_from_bytes(bytes: bytes) -> Model: ...
def model_from_file(path: bytes, /) -> Model: ...
def options() -> list[tuple[str, str, str, str | None, str, int]]: ...
