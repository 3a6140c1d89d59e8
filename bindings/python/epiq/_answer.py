"""What every answer has: the command line's JSON, text and page, made when they are asked for."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from . import _files

if TYPE_CHECKING:
    import pandas

    from . import _epiq


def pandas_for(what: str) -> Any:
    """pandas, or a sentence that says what needs it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas, which is not installed; pip install pandas") from error
    return pandas


class Answer:
    """An answer of the library. ``print`` shows the command line's text."""

    _handle: _epiq.Result | None  # None after pickling: everything is in the object's own attributes then
    _page: bytes
    _labels: Any = None  # what the points are called by the frame they came from: its index, or a list; None: nothing
    _kept: ClassVar[tuple[str, ...]] = ("json", "text", "_csv")

    @classmethod
    def _of(cls, handle: _epiq.Result, labels: Any = None) -> Self:
        self = cls.__new__(cls)
        self._handle, self._labels = handle, labels
        return self

    # ---- made when asked for, and kept ----

    def _made(self) -> _epiq.Result:
        assert self._handle is not None, "a pickled result has all of its attributes"
        return self._handle

    @cached_property
    def json(self) -> dict[str, Any]:
        """Everything, as ``--json`` writes it (docs/json.md)."""
        whole: dict[str, Any] = json.loads(self._made().json())
        return whole

    @cached_property
    def text(self) -> str:
        """The command line's text, with options as Python spells them."""
        return self._made().text()

    @cached_property
    def _csv(self) -> str:
        return self._made().csv()

    def _drawn(self) -> bytes:
        return zlib.decompress(self._page) if self._handle is None else self._handle.page()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: all of it, the page too."""
        kept = {name: getattr(self, name) for name in (*self._kept, "_labels")}
        return kept | {"_handle": None, "_page": zlib.compress(self._drawn(), 1)}

    def __copy__(self) -> Self:
        same = self.__class__.__new__(self.__class__)
        same.__dict__ |= self.__dict__
        return same

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        same = self.__class__.__new__(self.__class__)
        same._handle = self._handle  # which nothing changes
        same.__dict__ |= {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items() if name != "_handle"}
        return same

    # ---- for people and programs ----

    @property
    def warnings(self) -> list[dict[str, str]]:
        """A ``code`` and a ``message`` each."""
        warnings: list[dict[str, str]] = self.json["warnings"]
        return warnings

    def to_dict(self) -> dict[str, Any]:
        """A copy of ``json``, to be changed at will."""
        return copy.deepcopy(self.json)

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Write the page with pictures: one file for any browser, offline. The whole file is written, or none."""
        _files.write(path, self._drawn(), "the report")

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _table(self) -> pandas.DataFrame:
        """What ``--csv`` writes."""
        head, *lines = csv.reader(io.StringIO(self._csv))
        columns = {name: _column([line[k] for line in lines]) for k, name in enumerate(head)}
        frame: pandas.DataFrame = pandas_for("to_frame").DataFrame(columns)
        return frame


def _column(cells: list[str]) -> list[Any]:
    """Truth, whole numbers, numbers (NaN: unknown) or texts."""
    if all(cell in ("true", "false") for cell in cells):
        return [cell == "true" for cell in cells]
    for kind in (int, lambda cell: float(cell or "nan")):
        try:
            return [kind(cell) for cell in cells]
        except ValueError:
            pass
    return cells
