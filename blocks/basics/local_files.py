"""Local files: read only if they are files, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class NotAFileError(OSError):
    """What is to be read is a folder, a pipe or a device."""


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading, and wait for nothing.

    Raises
    ------
    NotAFileError
        If it is a folder, or a pipe or device, which may give no end of bytes or none at all.
    OSError
        If it cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotAFileError("a folder, pipe or device, not a file")
    return os.fdopen(handle, "rb")


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` when all is written, and of nothing otherwise.

    Who may read and write a file that is there already may do so with the new one, and nobody else while it is written.

    Raises
    ------
    OSError
        If none can be written there; it names `path`.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            file = _new_file(temporary, target)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        with file:
            yield file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _new_file(path: Path, like: Path) -> BinaryIO:
    """Open a new file for writing, with the permissions of another one if that is there."""
    mode = stat.S_IMODE(like.stat().st_mode) & 0o777 if like.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666 if mode is None else mode)
    if mode is not None:
        path.chmod(mode)  # what the process lets nobody have by itself
    return os.fdopen(handle, "wb")
