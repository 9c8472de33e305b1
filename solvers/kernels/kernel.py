"""Kernels: Python functions that are compiled when they are first called, and kept in the cache from then on.

numba compiles them; a process that finds them in the cache never loads numba.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from titop.blocks.garbage import collection_paused
from titop.solvers.kernels import cache
from titop.solvers.kernels.loading import load
from titop.solvers.kernels.signatures import INTEGER, Signature, Type

#: A compilation longer than this (s) is announced on the terminal.
ANNOUNCE_AFTER = 2.0

_PACKAGE = "titop.solvers.kernels."

_ADVICE = "set TITOP_CACHE_DIR to a folder of your own"

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child finds the lock free, and no half-done compilation
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class Kernel:
    """An entry point into compiled code, for one signature.

    Parameters
    ----------
    function : callable
        Written for numba.
    signature : Signature
        The only types that it accepts; others give a `TypeError`.

    Attributes
    ----------
    name : str
        Of the function in its machine code, and of the file that keeps it.
    """

    def __init__(self, function: Callable[..., Any], signature: Signature) -> None:
        self.function = function
        self.signature = signature
        self.name = f"{function.__module__}.{function.__name__}".removeprefix(_PACKAGE).replace(".", "_")
        self.__doc__ = function.__doc__
        self._loaded: Callable[..., Any] | None = None

    @property
    def compiled(self) -> Callable[..., Any]:
        """The compiled function: read from the cache, or compiled and, if it is titop's own, put there."""
        with _lock:
            if self._loaded is None:
                kept = self.function.__module__.startswith(_PACKAGE)
                code = cache.read(self.name) if kept else None
                if code is None:
                    code = self._compile(kept and cache.cache_folder() is not None)
                    if kept and (reason := cache.write(self.name, code)):
                        _say_once(f"titop: kernels cannot be kept, so that every process compiles them: {reason}; {_ADVICE}")
                self._loaded = load(self.name, code)
            return self._loaded

    def _compile(self, kept: bool) -> bytes:
        with _Announcement(self.function.__name__, kept), collection_paused():
            from titop.solvers.kernels.compilation import machine_code  # loads numba

            return machine_code(self.name, self.function, self.signature)

    def __call__(self, *arguments: Any) -> Any:
        return (self._loaded or self.compiled)(*arguments)


def entry(*arguments: Type, result: Type = INTEGER) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a function of such arguments a `Kernel`."""
    return lambda function: Kernel(function, Signature(arguments, result))


class Helper:
    """A function that kernels call: it is compiled into them, and not called from Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where it meets the helper in a kernel."""
        return self._dispatcher._numba_type_

    @functools.cached_property
    def _dispatcher(self) -> Any:
        from titop.solvers.kernels.compilation import inlined

        return inlined(self.function)


def helper(function: Callable[..., Any]) -> Any:
    """Make a function a `Helper`."""
    return Helper(function)


@functools.cache
def _say_once(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Announcement:
    """Says on the terminal that something takes long, once it does."""

    def __init__(self, what: str, kept: bool) -> None:
        self.timer = threading.Timer(ANNOUNCE_AFTER, self._say)
        self.what, self.note = what, " (once; kept in a cache)" if kept else ""
        self.said = False

    def _say(self) -> None:
        self.said = True
        print(f"titop: compiling {self.what}{self.note} ...", file=sys.stderr, flush=True)

    def __enter__(self) -> _Announcement:
        self.begin = time.perf_counter()
        self.timer.daemon = True
        self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        if self.said:
            print(f"titop: compiled {self.what} in {time.perf_counter() - self.begin:.1f} s", file=sys.stderr, flush=True)
