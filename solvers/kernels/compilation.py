"""Compiling kernels at first use, and keeping them in a cache that notices every edit.

numba's own disk cache looks only at the file of the function itself, not at the helpers that it calls. Here the cache's
folder is named after a hash of all kernel sources, so that any edit starts a fresh one.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
from numba import njit

#: A compilation longer than this (s) is announced on the terminal.
ANNOUNCE_AFTER = 2.0

_lock = threading.RLock()


class Kernel:
    """An entry point into compiled code, for one signature.

    Parameters
    ----------
    function : callable
        Written for numba.
    signature : numba signature
        The only types that it accepts; others give a `TypeError`.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.function = function
        self.signature = signature
        self.__doc__ = function.__doc__

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The compiled function: read from the cache, or compiled and put there."""
        with _lock:
            dispatcher = self._dispatcher()
            with _Announcement(self.function.__name__), _collection_paused():
                dispatcher.compile(self.signature)
            dispatcher.disable_compile()
            return dispatcher

    def _dispatcher(self) -> Any:
        folder = cache_folder()
        if folder is None:
            return njit(error_model="numpy", nogil=True)(self.function)
        config: Any = numba.config
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            return njit(error_model="numpy", nogil=True, cache=True)(self.function)
        finally:
            config.CACHE_DIR = before

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


def entry(signature: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a function a `Kernel`."""
    return lambda function: Kernel(function, signature)


def source_hash(folder: Path = Path(__file__).parent) -> str:
    """Return a hash of all kernel sources in a folder."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of this version's compiled kernels, or None where nothing can be written.

    ``TITOP_CACHE_DIR`` sets its parent; by default it is the user's cache folder.
    """
    chosen = os.environ.get("TITOP_CACHE_DIR")
    roots = (
        [Path(chosen)]
        if chosen
        else [_user_cache() / "titop", Path(tempfile.gettempdir()) / f"titop-{os.getuid() if hasattr(os, 'getuid') else 0}"]
    )
    for root in roots:
        folder = root / source_hash()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause Python's garbage collector, which looks through the compiler's many objects over and over."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Announcement:
    """Says on the terminal that something takes long, once it does."""

    def __init__(self, what: str) -> None:
        self.timer = threading.Timer(ANNOUNCE_AFTER, self._say)
        self.what = what
        self.said = False

    def _say(self) -> None:
        self.said = True
        print(f"titop: compiling {self.what} (once; kept in a cache) ...", file=sys.stderr, flush=True)

    def __enter__(self) -> _Announcement:
        self.begin = time.perf_counter()
        self.timer.daemon = True
        self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        if self.said:
            print(f"titop: compiled {self.what} in {time.perf_counter() - self.begin:.1f} s", file=sys.stderr, flush=True)
