"""A folder of compiled kernels, on disk, for this very processor and Python; names of files tell what they depend on beside.

What lies there will be run: a folder or file that others can write, or that belongs to neither the user nor root, is not read.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from titop.solvers.native.identity import exact_name

_DIGEST_SIZE = hashlib.sha256().digest_size


def read(name: str) -> bytes | None:
    """Return the code that is kept under a name; None where there is none as it was written."""
    if (folder := cache_folder()) is None:
        return None
    try:
        with open(folder / name, "rb") as file:
            content = file.read() if _is_safe(os.fstat(file.fileno())) else b""
    except OSError:
        return None
    digest, code = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    return code if hashlib.sha256(code).digest() == digest else None


def write(name: str, code: bytes) -> str | None:
    """Keep code under a name, whole or not at all, where the cache can be written.

    Return None, or why it was not kept.
    """
    folder = cache_folder()
    if folder is None:
        return obstacle()
    try:
        handle, path = tempfile.mkstemp(dir=folder)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(path, folder / name)
    except OSError as error:  # a full disk, say: the code is in memory, and the next process compiles again
        return f"{folder}: {error.strerror or error}"
    finally:
        Path(path).unlink(missing_ok=True)
    return None


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of this version's compiled kernels, or None where there is none and none can be made.

    ``TITOP_CACHE_DIR`` sets its parent; by default it is in the user's cache folder, or else in the folder of temporary files.
    """
    return next((place for place in _places() if isinstance(place, Path)), None)


def obstacle() -> str | None:
    """Return why there is no folder of compiled kernels, or None where there is one."""
    places = list(_places())
    return None if any(isinstance(place, Path) for place in places) else "; ".join(map(str, places))


def _places() -> Iterator[Path | str]:
    chosen = os.environ.get("TITOP_CACHE_DIR")
    roots = (_user_root, _temporary_root) if not chosen else (lambda: Path(chosen),)
    return (_folder_in(root, check_parent=not chosen) for root in roots)


def _folder_in(root: Callable[[], Path], check_parent: bool) -> Path | str:
    """Return the folder in a root, made if need be; or why that fails, or that others could put code there.

    A root that the user has chosen is the user's to judge; one of our own choice is checked too.
    """
    try:
        parent = root().absolute()
        folder = parent / exact_name()
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        checked = (parent, folder) if check_parent else (folder,)
        unsafe = [f"{path} is another user's, or can be written by others" for path in checked if not _is_safe(path.stat())]
        return unsafe[0] if unsafe else folder
    except OSError as error:
        return f"{error.filename or 'no folder'}: {error.strerror or error}"
    except RuntimeError as error:  # Python raises it for a user without a home
        return str(error)


def _is_safe(status: os.stat_result) -> bool:
    """Whether nobody but the user and root can have written a file, or can write to a folder."""
    return not hasattr(os, "getuid") or (status.st_uid in (0, os.getuid()) and not status.st_mode & 0o022)


def _user_root() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "titop"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "titop"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "titop"


def _temporary_root() -> Path:
    return Path(tempfile.gettempdir()) / f"titop-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
