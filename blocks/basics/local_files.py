"""Local files: reading of regular files only, and atomic writing."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from titop.blocks.basics.errors import Finding, ModelError


class NotAFileError(OSError):
    """The path to be read is a folder, a pipe or a device."""


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading, without blocking.

    Raises `NotAFileError` if it is a folder, a pipe or a device; the last two may give endless bytes or none at all. Raises
    `OSError` if it cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotAFileError("a folder, pipe or device, not a file")
    return os.fdopen(handle, "rb")


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when everything is written; after an error `path` is unchanged.

    The new file has the permissions of an existing one from the start.

    Raises `ModelError` if its folder does not exist. Raises `OSError` if no file can be written there; it names `path`.
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        advice = "make the folder, or check the path"
        raise ModelError(Finding("no-folder", "path", str(path), "a file in a folder that exists", advice))
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
    """Open a new file for writing, with the permissions of another one if that exists."""
    mode = stat.S_IMODE(like.stat().st_mode) & 0o777 if like.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666 if mode is None else mode)
    if mode is not None:
        path.chmod(mode)  # the process' umask may have removed some of them
    return os.fdopen(handle, "wb")


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a folder to be filled that becomes `path` when everything is written; after an error there is none.

    Raises `ModelError` if `path` is no name or exists, or the folder that it shall be in does not. Raises `OSError` that names
    `path` if none can be made there.
    """
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise ModelError(Finding("wrong-type", "folder", path, "the name of a folder", 'write "name"'))
    target = Path(path).absolute()
    if target.exists() or target.is_symlink():
        advice = "remove it, or name another one: nothing is written over"
        raise ModelError(Finding("exists", "folder", str(path), "a folder that does not exist yet", advice))
    if not target.parent.is_dir():
        advice = "make the folder that it is in, or check the path"
        raise ModelError(Finding("no-folder", "folder", str(path), "a folder in one that exists", advice))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        temporary.mkdir()
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
