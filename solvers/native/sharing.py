"""Between kernels and the shared parts that they call: functions in LLVM's language.

numba passes an array as seven to eleven words: owners, size, itemsize, address, shape and strides. From one object code to
another only address and shape are passed, in a third of the time; the rest follows from them, since shared parts take arrays
without gaps. Those that give arrays back are passed the owners as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target


class _Word(NamedTuple):
    """A number or address that numba passes: its kind in LLVM's language, its name, and whether it leaves an object code."""

    kind: str
    name: str
    is_passed: bool = True

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def stub(symbol: str, function: Any) -> str:
    """Return the text of what a kernel calls by numba's name of a function: it calls the `symbol` of a shared part."""
    words = _words(function)
    passed = [word for word in words if word.is_passed]
    unused = [word._replace(name=f"%unused{k}") if not word.is_passed else word for k, word in enumerate(words)]
    return f"""
declare i32 @{symbol}({_listed(word.kind for word in passed)})

define i32 @"{function.llvm_func_name}"({_listed(unused)}) alwaysinline {{
  %status = call i32 @{symbol}({_listed(passed)})
  ret i32 %status
}}
"""


def door(symbol: str, function: Any) -> str:
    """Return the text of the `symbol` of a shared part: it calls what numba has made of the function."""
    words = _words(function)
    lines = (line for k, leaf in enumerate(_leaves(function.argtypes)) for line in _products(f"%given{k}", leaf))
    return f"""
declare i32 @"{function.llvm_func_name}"({_listed(word.kind for word in words)})

define i32 @{symbol}({_listed(word for word in words if word.is_passed)}) {{
{"".join(f"  {line}" + chr(10) for line in lines)}
  %status = call i32 @"{function.llvm_func_name}"({_listed(words)})
  ret i32 %status
}}
"""


def _listed(words: Iterable[Any]) -> str:
    return ", ".join(map(str, words))


def _words(function: Any) -> list[_Word]:
    """Return what numba passes to a function: places for the result and for what goes wrong, and its arguments."""
    gives_arrays = any(isinstance(leaf, types.Array) for leaf in _leaves([function.restype]))
    words = [_Word("ptr", "%result"), _Word("ptr", "%fault")]
    for k, leaf in enumerate(_leaves(function.argtypes)):
        words += _array(f"%given{k}", leaf, gives_arrays) if isinstance(leaf, types.Array) else _plain(f"%given{k}", leaf)
    return words


def _leaves(kinds: Any) -> Iterator[types.Type]:
    """Yield the types of a tuple or list, and instead of those of tuples those of what is in them."""
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            yield from _leaves(kind)
        else:
            yield kind


def _plain(name: str, kind: types.Type) -> Iterator[_Word]:
    for k, word in enumerate(cpu_target.target_context.get_arg_packer([kind]).argument_types):
        yield _Word("ptr" if isinstance(word, ir.PointerType) else str(word), f"{name}.{k}")


def _array(name: str, kind: types.Array, with_owners: bool) -> Iterator[_Word]:
    if kind.layout != "C":
        raise RuntimeError(f"shared helpers take arrays without gaps, not {kind}")
    for owner in ("owner", "parent"):
        yield _Word("ptr", f"{name}.{owner}" if with_owners else "null", with_owners)
    yield _Word("i64", f"{name}.size0", False)
    yield _Word("i64", str(_itemsize(kind)), False)
    yield _Word("ptr", f"{name}.data")
    yield from (_Word("i64", f"{name}.extent{axis}") for axis in range(kind.ndim))
    yield from (_Word("i64", f"{name}.stride{axis}", False) for axis in range(kind.ndim))


def _products(name: str, kind: types.Type) -> Iterator[str]:
    """Yield the lines that find an array's size and strides."""
    if isinstance(kind, types.Array):
        yield f"{name}.size{kind.ndim} = add i64 1, 0"
        for axis in reversed(range(kind.ndim)):
            yield f"{name}.stride{axis} = mul i64 {name}.size{axis + 1}, {_itemsize(kind)}"
            yield f"{name}.size{axis} = mul i64 {name}.size{axis + 1}, {name}.extent{axis}"


def _itemsize(kind: types.Array) -> int:
    return int(cpu_target.target_context.get_abi_sizeof(cpu_target.target_context.get_data_type(kind.dtype)))
