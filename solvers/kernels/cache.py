"""A folder of compiled kernels, on disk, that notices every edit and every change of what they depend on."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

_DIGEST_SIZE = hashlib.sha256().digest_size


def read(name: str) -> bytes | None:
    """Return the code kept under a name, or None where there is none, or where it is not as it was written."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        content = (folder / name).read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    return code if hashlib.sha256(code).digest() == digest else None


def write(name: str, code: bytes) -> None:
    """Keep code under a name, whole or not at all, where the cache can be written."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        handle, path = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(path, folder / name)
    except OSError:  # a full disk, say: the code is in memory, and the next process compiles again
        return


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of this version's compiled kernels, or None where nothing can be written.

    ``TITOP_CACHE_DIR`` sets its parent; by default it is the user's cache folder.
    """
    chosen = os.environ.get("TITOP_CACHE_DIR")
    user = str(os.getuid()) if hasattr(os, "getuid") else ""
    roots = [Path(chosen)] if chosen else [_user_cache() / "titop", Path(tempfile.gettempdir()) / f"titop-{user}"]
    for root in roots:
        folder = root / f"{source_hash()}-{_platform_hash()}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and _is_ours(folder):
            return folder
    return None


def source_hash(folder: Path = Path(__file__).parent) -> str:
    """Return a hash of all kernel sources in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _platform_hash() -> str:
    """Return a hash of everything else that decides what machine code a kernel becomes."""
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    processor = (llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    versions = (sys.version, np.__version__, version("numba"), version("llvmlite"))
    return hashlib.sha256(repr((settings, processor, versions)).encode()).hexdigest()[:16]


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can put code there: code in it will be run."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
