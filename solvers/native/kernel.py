"""Kernels: Python functions that are compiled when they are first called, and kept in the cache from then on.

numba compiles them; a process that finds them in the cache never loads numba.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from titop.blocks.basics.garbage import collection_paused
from titop.solvers.native import cache, calling, object_code
from titop.solvers.native.callbacks import Callback
from titop.solvers.native.calling import members_function, python_function, stacked_function, stage_function
from titop.solvers.native.identity import LANE_COUNT, hashed, identity_of
from titop.solvers.native.object_code import LOADED, Codes, load, load_address, provide
from titop.solvers.native.pieces import CodePiece, Wanted, machine_code, shipped, with_needs
from titop.solvers.native.signatures import ALONG, ALONG_LOADED, IN_LANES, INTEGER, OF_MEMBERS, SINGLE, Signature, Type

#: A compilation longer than this (s) is announced on the terminal.
ANNOUNCE_AFTER = 2.0

_PACKAGE = "titop.solvers.kernels."

_ADVICE = "set TITOP_CACHE_DIR to a folder of your own"

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child finds the lock free, and no half-done compilation
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class Unit:
    """A function that is compiled for itself: when it is first needed, and kept in the cache from then on.

    Parameters
    ----------
    function : callable
        Written for numba.
    signature : Signature
        The only types that it is compiled for.
    caller : callable
        The function of `calling` whose text makes it callable.
    name : str
        Of the function in its machine code; that of the file that keeps it begins with it.
    kept : bool
        Whether the cache keeps it.
    whole : bool
        Whether shared helpers become part of it: for a function that is done within a microsecond.
    form : str
        What lies in lanes: see `signatures`.

    Attributes
    ----------
    title : str
        What it is called on the terminal.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        caller: Any,
        name: str,
        kept: bool = True,
        whole: bool = False,
        form: str = SINGLE,
    ) -> None:
        self.function, self.signature, self.caller = function, signature, caller
        self.name = f"{name}_{form}" if form else name
        self.title = self.name
        self.kept, self.whole, self.form = kept, whole, form
        self.__doc__ = function.__doc__

    @functools.cached_property
    def file(self) -> str:
        """The name of the file that keeps it: another one after each edit of what the function depends on."""
        lanes = LANE_COUNT if self.form else 1
        return f"{self.name}_{hashed(identity_of(self.function), self.signature, self.caller.__name__, self.whole, lanes)}"

    @property
    def wanted(self) -> Wanted:
        """What is to be compiled."""
        place = self.function.__module__.removeprefix("titop.")
        return Wanted(self.name, self.file, f"{place}/{self.file}", self.signature, self.caller, self.whole, self.form)

    def pieces(self) -> dict[str, CodePiece]:
        """Return the function and all that it calls in LLVM's language: what came with titop, or else what numba makes."""
        try:
            return with_needs(self.wanted.piece, shipped)
        except KeyError:
            with collection_paused():
                from titop.solvers.native import compilation  # loads numba

                return compilation.pieces(self.function, self.signature, self.form, self.wanted.piece)

    def codes(self) -> Codes:
        """Return machine code: read from the cache, or compiled and, if it may be kept, put there."""
        codes = object_code.read(self.file, LOADED) if self.kept else None
        if codes is None:
            with _Announcement(self.title, self.kept and cache.cache_folder() is not None):
                codes = self._compile()
            if self.kept and (reason := object_code.keep(codes)):
                _say_once(f"titop: kernels cannot be kept, so that every process compiles them: {reason}; {_ADVICE}")
        return codes

    def compile_quietly(self) -> None:
        """Put machine code into the cache, whoever else says so."""
        object_code.keep(self._compile(loaded=()))

    @property
    def is_kept(self) -> bool:
        """Whether the cache has machine code of the function and of all that it needs."""
        return self.kept and object_code.read(self.file) is not None

    def _compile(self, loaded: Container[str] = LOADED) -> Codes:
        """Return machine code of the function, and of the shared parts that it needs, less what is `loaded`."""
        try:
            return machine_code(self.wanted, shipped, loaded)
        except (KeyError, RuntimeError):  # there is none, or of an LLVM that this one does not understand
            return machine_code(self.wanted, self.pieces().__getitem__, loaded)


#: How Python calls kernels in each form.
_CALLERS = {SINGLE: python_function, IN_LANES: stacked_function, OF_MEMBERS: members_function}


class Kernel(Unit):
    """An entry point into compiled code, for one signature: arguments of other types give a `TypeError`.

    Parameters
    ----------
    function : callable
        Written for numba.
    signature : Signature
    patience : float
        For how long (s) in a process the function runs as it is written, uncompiled, if no machine code of it is kept: for one
        whose first calls take less than its compilation.
    whole : bool
        See `Unit`.
    form : str
        Of another than `SINGLE` it takes stacked states (see `calling.stacked_function` and `members_function`).
    """

    _loaded: Callable[..., Any] | None = None

    def __init__(
        self, function: Callable[..., Any], signature: Signature, patience: float = 0.0, whole: bool = False, form: str = SINGLE
    ) -> None:
        name = f"{function.__module__}.{function.__name__}".removeprefix(_PACKAGE).replace(".", "_")
        kept = function.__module__.startswith(_PACKAGE)
        super().__init__(function, signature, _CALLERS[form], name, kept, whole, form)
        self.title, self.patience = function.__name__, patience

    @property
    def compiled(self) -> Callable[..., Any]:
        """The compiled function."""
        with _lock:
            if self._loaded is None:
                self._loaded = load(self.name, self.file, self.codes()) if _is_native() else self._dispatched()
            return self._loaded

    def _dispatched(self) -> Callable[..., Any]:
        with _Announcement(self.title, kept=False):
            from titop.solvers.native.compilation import dispatched  # loads numba

            return dispatched(self.function, self.signature)

    def __call__(self, *arguments: Any) -> Any:
        if self._loaded is None and self._is_waiting():
            return self._interpreted(*arguments)
        return (self._loaded or self.compiled)(*arguments)

    def _is_waiting(self) -> bool:
        """Tell whether the function is to run uncompiled."""
        if self.patience > 0.0 and self.is_kept:
            self.patience = 0.0
        return self.patience > 0.0

    def _interpreted(self, *arguments: Any) -> Any:
        begin = time.perf_counter()
        with np.errstate(all="ignore"):
            result = self.function(*arguments)
        self.patience -= time.perf_counter() - begin
        return result


class Stage(Unit):
    """A function of integers, some of them addresses of a state's numbers (`STATE_AT`), that kernels call by its address."""

    _address = 0
    #: Whether the function is written for lanes, and whether for members' numbers in these, too.
    is_for_lanes = is_for_members = False

    def __init__(self, name: str, function: Callable[..., Any], arguments: tuple[Type, ...], form: str = SINGLE) -> None:
        super().__init__(function, Signature(arguments), stage_function, name, form=form)
        self.arguments, self._name = arguments, name

    def for_lanes(self, of_members: bool = False) -> Stage:
        """Tell that the function is written for lanes, too, perhaps for numbers in these as well; return the stage."""
        self.is_for_lanes, self.is_for_members = True, of_members
        return self

    def of_form(self, form: str) -> Stage | None:
        """Return the stage in a form for lanes, None if there is none."""
        if not (self.is_for_members if form == OF_MEMBERS else self.is_for_lanes):
            return None
        stage: Stage = getattr(self, form)
        return stage if stage.is_for_lanes else None

    @property
    def count(self) -> int:
        """The number of its arguments."""
        return len(self.arguments)

    @property
    def has_forms(self) -> bool:
        """Whether some arguments are addresses of what may lie in lanes."""
        return any(kind.stacked for kind in self.arguments)

    @functools.cached_property
    def in_lanes(self) -> Stage:
        """The stage for states in lanes."""
        return type(self)(self._name, self.function, self.arguments, IN_LANES).for_lanes()

    @functools.cached_property
    def of_members(self) -> Stage:
        """The stage for members, whose tables lie in lanes as well."""
        return type(self)(self._name, self.function, self.arguments, OF_MEMBERS).for_lanes()

    @functools.cached_property
    def along(self) -> Stage:
        """The stage for a state along a motion."""
        return type(self)(self._name, self.function, self.arguments, ALONG).for_lanes()

    @functools.cached_property
    def along_loaded(self) -> Stage:
        """The same for a state with tables of its own."""
        return type(self)(self._name, self.function, self.arguments, ALONG_LOADED).for_lanes()

    @property
    def is_loaded(self) -> bool:
        """Whether it can be called without being compiled or read from the cache."""
        return bool(self._address)

    def __call__(self, *arguments: int) -> int:
        return int(ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))(self.address)(*arguments))

    @property
    def address(self) -> int:
        """Where the compiled function stands in this process."""
        with _lock:
            if not self._address:
                self._address = load_address(self.name, self.file, self.codes()) if _is_native() else self._dispatched().address
            return self._address

    def _dispatched(self) -> Any:
        with _Announcement(self.title, kept=False):
            from titop.solvers.native.compilation import called_by_address  # loads numba

            self._compiled = called_by_address(self.function, self.signature)
            return self._compiled


class Feature(Stage):
    """A stage that kernels call by its name, with a tuple of its arguments; it is compiled when that happens first.

    What only some systems have stands in features, so that the others do not wait for its compilation. Kernels in lanes call
    other forms of the same function.
    """

    def __init__(self, name: str, function: Callable[..., Any], arguments: tuple[Type, ...], form: str = SINGLE) -> None:
        super().__init__(name, function, arguments, form)
        self._first = Callback(self._compile_and_call, len(arguments))
        self._called = ctypes.c_int64(self._first.address)
        provide(f"titop_{self.name}", ctypes.addressof(self._called))
        if form == SINGLE:
            self._forms = self.in_lanes, self.of_members, self.along, self.along_loaded

    def _compile_and_call(self, *arguments: int) -> int:
        self._called.value = self.address
        return self(*arguments)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """What numba asks for where it meets the feature in a kernel."""
        from titop.solvers.native.intrinsics import calling_through

        features = zip((SINGLE, IN_LANES, OF_MEMBERS, ALONG, ALONG_LOADED), (self, *self._forms), strict=True)
        return calling_through({form: f"titop_{feature.name}" for form, feature in features}, self.arguments)


def feature(*arguments: Type) -> Callable[[Callable[..., int]], Any]:
    """Return a decorator that makes a function of integers and addresses, which returns a status, a `Feature`."""
    return lambda function: Feature(f"feature_{function.__name__}", function, arguments)


def entry(*arguments: Type, result: Type = INTEGER, patience: float = 0.0) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a function of such arguments a `Kernel`."""
    return lambda function: Kernel(function, Signature(arguments, result), patience)


class Helper:
    """A function that kernels call: it is compiled into them. Called from Python, it runs as it is written."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where it meets the helper in a kernel."""
        return self._dispatcher._numba_type_

    @functools.cached_property
    def _dispatcher(self) -> Any:
        from titop.solvers.native.compilation import inlined

        return inlined(self.function)


class SharedHelper(Helper):
    """A function that is compiled for itself, once for all kernels that call it; it may allocate memory.

    A call takes some 20 ns, with a dozen tables: for passes, not for what they do with each element.
    """

    @functools.cached_property
    def _dispatcher(self) -> Any:
        from titop.solvers.native.compilation import shared

        return shared(self.function)


class StageHelper(Helper):
    """A function that a stage calls, and becomes part of it; it may allocate memory."""

    @functools.cached_property
    def _dispatcher(self) -> Any:
        from titop.solvers.native.compilation import part

        return part(self.function)


class UserHelper(Helper):
    """A user's function, of all that numba knows, which stages call."""

    @functools.cached_property
    def _dispatcher(self) -> Any:
        from titop.solvers.native.compilation import users

        return users(self.function)


def helper(function: Callable[..., Any]) -> Any:
    """Make a function a `Helper`."""
    return Helper(function)


def shared(function: Callable[..., Any]) -> Any:
    """Make a function at the top of its module a `SharedHelper`: its names tell it from all others."""
    if function.__qualname__ != function.__name__:
        raise ValueError(f"{function.__qualname__} is within another function or a class; shared helpers stand at the top")
    return SharedHelper(function)


@functools.cache
def _is_native() -> bool:
    """Tell whether kernels are called by `calling`'s functions; where they cannot be, say so once."""
    reason = calling.obstacle()
    if reason:
        print(f"titop: every process compiles kernels, and calls them through numba: {reason}", file=sys.stderr, flush=True)
    return reason is None


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
