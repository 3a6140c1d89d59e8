"""Files that the package writes: whole, or not at all."""

from __future__ import annotations

import os
import threading

from ._epiq import FileError


def write(path: str | os.PathLike[str], content: bytes, what: str) -> None:
    """``what`` names the content in the sentence that says why it was not written."""
    path = os.path.realpath(path)
    whole = not os.path.exists(path) or os.path.isfile(path)  # a device is written to, not replaced
    target = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp" if whole else path
    try:
        with open(target, "wb") as file:
            file.write(content)
        if whole:
            os.replace(target, path)
    except OSError as error:
        if whole and os.path.exists(target):
            os.unlink(target)
        raise FileError(f"{path}: {error.strerror}; {what} was not written") from error
