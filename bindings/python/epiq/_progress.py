"""How far a call is: told to a function of the caller's, or shown as a line on standard error, as the command line does."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Report: TypeAlias = Callable[[str, int, int | None], object]
Progress: TypeAlias = bool | Report | None
"""True for a line on standard error, or a function of (stage, done, total); total is None where it is not known."""

_BAR = 30
_AGAIN = 0.1  # seconds between two drawings


class _Line:
    """One line, drawn over itself and removed at the end."""

    def __init__(self) -> None:
        self.out, self.stage, self.width, self.again = sys.stderr, "", 0, 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        now, share = time.monotonic(), done / total if total else None
        if stage != self.stage:
            self.stage, self.began, self.first, self.again = stage, now, share, now
        if self.out is None or now < self.again:
            return
        text = f"{stage:8} {done}" if share is None else f"{stage:8} {done}/{total} [{'#' * int(_BAR * share):{_BAR}}]"
        spent = now - self.began
        if share is not None and self.first is not None and share > self.first and spent > 1:
            left = spent * (1 - share) / (share - self.first)
            text += f"  {left:.0f} s left" if left < 100 else f"  {left / 60:.0f} min left"
        self.out.write(f"\r{text:{self.width}}")
        self.out.flush()
        self.width, self.again = len(text), now + _AGAIN

    def end(self) -> None:
        if self.out is not None and self.width:
            self.out.write(f"\r{'':{self.width}}\r")
            self.out.flush()


@contextmanager
def shown(progress: Progress) -> Iterator[Report | None]:
    """What the extension is to call."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        line = _Line()
        try:
            yield line
        finally:
            line.end()
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress is {progress!r}; it must be True, False or a function of (stage, done, total)")
