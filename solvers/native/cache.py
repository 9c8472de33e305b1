"""A folder of compiled kernels, on disk, that notices every edit and every change of what they depend on.

What lies there will be run: a folder or file that others can write, or that belongs to neither the user nor root, is not read.
What came with titop in its wheel is as safe as titop's sources, and is looked at first.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from titop.solvers.native.identity import SOURCES, exact_name, source_hash, wheel_name, wheel_obstacle

_DIGEST_SIZE = hashlib.sha256().digest_size


def read(name: str) -> bytes | None:
    """Return the code under a name that came with titop, or else that is kept; None where there is none as it was written."""
    shipped, kept = shipped_folder(), cache_folder()
    code = _read(shipped / name, is_checked=False) if shipped else None
    return _read(kept / name, is_checked=True) if code is None and kept else code


def _read(path: Path, is_checked: bool) -> bytes | None:
    try:
        with open(path, "rb") as file:
            content = file.read() if not is_checked or _is_safe(os.fstat(file.fileno())) else b""
    except OSError:
        return None
    digest, code = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    return code if hashlib.sha256(code).digest() == digest else None


def write(name: str, code: bytes) -> str | None:
    """Keep code under a name, whole or not at all, where the cache can be written and no source was edited meanwhile.

    Return None, or why it was not kept.
    """
    folder = cache_folder()
    if folder is None:
        return obstacle()
    if source_hash() != SOURCES:
        return "titop's sources were edited after they were imported"
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


_FOLDER = Path(__file__).with_name("machine_code")


@functools.cache
def shipped_folder() -> Path | None:
    """Return the folder of machine code that came with titop and can be run in this process, or None where there is none."""
    if not _FOLDER.is_dir() or wheel_obstacle():
        return None
    folder = _FOLDER / wheel_name()
    return folder if folder.is_dir() else None


@contextmanager
def shipping() -> Iterator[Path]:
    """Give a folder within the package; the one folder that is then made in it comes with titop, all of it or nothing."""
    _FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=_FOLDER) as scratch:
        yield Path(scratch)
        (kept,) = Path(scratch).iterdir()
        new, folder = Path(scratch) / "new", _FOLDER / wheel_name()
        shutil.copytree(kept, new, copy_function=shutil.copyfile)  # for everyone to read, which the cache is not
        new.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(new, folder)
