"""What kernels need of the machine itself: addresses, arrays at addresses, and calls to addresses; loads numba.

Kernels know these functions by the names in `stages`, which does not load it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.extending import intrinsic

_WORD = ir.IntType(64)


@intrinsic
def address_of(typing_context: Any, array: Any, k: Any) -> Any:
    """Return the address of the k-th number of an array that lies in memory without gaps."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lying = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(builder.gep(lying.data, [arguments[1]]), _WORD)

    return types.int64(array, types.int64), generate


@intrinsic
def vector_at(typing_context: Any, address: Any, count: Any) -> Any:
    """Return the array (count) of floats at an address; who calls answers for its lying there long enough."""
    kind = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array_at(context, builder, kind, arguments[0], [arguments[1]])

    return kind(types.int64, types.int64), generate


@intrinsic
def row_at(typing_context: Any, address: Any, count: Any) -> Any:
    """Return the array (1, count) of floats at an address; who calls answers for its lying there long enough."""
    kind = types.Array(types.float64, 2, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array_at(context, builder, kind, arguments[0], [ir.Constant(_WORD, 1), arguments[1]])

    return kind(types.int64, types.int64), generate


def _array_at(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    array, size = context.make_array(kind)(context, builder), ir.Constant(_WORD, 8)
    strides = [builder.mul(shape[1], size), size] if len(shape) == 2 else [size]
    array.data, array.itemsize, array.nitems = builder.inttoptr(address, array.data.type), size, shape[-1]
    array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
    array.meminfo, array.parent = (ir.Constant(owner.type, None) for owner in (array.meminfo, array.parent))
    return array._getvalue()


@intrinsic
def call_at(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the function at an address with integers, which may be addresses; it returns one."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = cgutils.unpack_tuple(builder, values[1])
        words = [context.cast(builder, x, kind, types.int64) for x, kind in zip(given, signature.args[1], strict=True)]
        function = ir.FunctionType(_WORD, [_WORD] * len(words)).as_pointer()
        return builder.call(builder.inttoptr(values[0], function), words)

    return types.int64(types.int64, arguments), generate


def type_of(name: str) -> Any:
    """Return numba's type of one of these functions."""
    context = cpu_target.typing_context
    context.refresh()  # it may have been read before these functions were registered
    return context.resolve_value_type(globals()[name])


def provide_runtime() -> None:
    """Let machine code find numba's own functions by their names."""
    rtsys.initialize(cpu_target.target_context)
