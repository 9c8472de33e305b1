"""What kernels need of the machine itself: addresses, arrays at addresses, and calls to addresses; loads numba.

Kernels know these functions by the names in `stages`, which does not load it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.extending import intrinsic

from titop.solvers.native import lanes
from titop.solvers.native.jets import JET, JETS_ADDRESS
from titop.solvers.native.lanes import LANES, LANES_ADDRESS
from titop.solvers.native.signatures import (
    ALONG,
    ALONG_LOADED,
    ANSWERED,
    IN_LANES,
    IN_PYTHON,
    LOST,
    OF_MEMBERS,
    RAISED,
    SINGLE,
    Type,
)

_WORD, _STATUS = ir.IntType(64), ir.IntType(32)

#: The types of addresses of what is no plain number.
_ADDRESSES: dict[Any, Any] = {LANES: LANES_ADDRESS, JET: JETS_ADDRESS}


@intrinsic
def address_of(typing_context: Any, array: Any, k: Any) -> Any:
    """Return the address of the k-th number of an array that lies in memory without gaps."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lying = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(builder.gep(lying.data, [arguments[1]]), _WORD)

    return _ADDRESSES.get(array.dtype, types.int64)(array, types.int64), generate


@intrinsic
def place_of(typing_context: Any, array: Any) -> Any:
    """Return the address of an array's first number as an integer, whether it lies in lanes or not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(context.make_array(signature.args[0])(context, builder, arguments[0]).data, _WORD)

    return types.int64(array), generate


@intrinsic
def vector_at(typing_context: Any, address: Any, count: Any) -> Any:
    """Return the array (count) of floats, or lanes, at an address; who calls answers for its lying there long enough."""
    kind = types.Array(_lying_at(address), 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array_at(context, builder, kind, arguments[0], [arguments[1]])

    return kind(address, types.int64), generate


@intrinsic
def row_at(typing_context: Any, address: Any, count: Any) -> Any:
    """Return the array (1, count) of floats, or lanes, at an address; who calls answers for its lying there long enough."""
    kind = types.Array(_lying_at(address), 2, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _array_at(context, builder, kind, arguments[0], [ir.Constant(_WORD, 1), arguments[1]])

    return kind(address, types.int64), generate


@intrinsic
def floats_at(typing_context: Any, address: Any, rows: Any, columns: Any) -> Any:
    """Return the array (rows, columns) of floats, or lanes, at an address; who calls answers for its lying there."""
    return _table_at(_lying_at(address), address)


@intrinsic
def ints_at(typing_context: Any, address: Any, rows: Any, columns: Any) -> Any:
    """Return the array (rows, columns) of integers at an address; who calls answers for its lying there long enough."""
    return _table_at(types.int64, types.int64)


def _lying_at(address: Any) -> Any:
    return {kind: number for number, kind in _ADDRESSES.items()}.get(address, types.float64)


def _table_at(dtype: Any, address: Any) -> Any:
    kind = types.Array(dtype, 2, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, columns = (
            context.cast(builder, x, given, types.int64) for x, given in zip(arguments[1:], signature.args[1:], strict=True)
        )
        return _array_at(context, builder, kind, arguments[0], [rows, columns])

    return kind(address, types.int64, types.int64), generate


def _array_at(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    size = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    array = context.make_array(kind)(context, builder)
    strides = [builder.mul(shape[1], size), size] if len(shape) == 2 else [size]
    array.data, array.itemsize, array.nitems = builder.inttoptr(address, array.data.type), size, shape[-1]
    array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
    array.meminfo, array.parent = (ir.Constant(owner.type, None) for owner in (array.meminfo, array.parent))
    return array._getvalue()


@intrinsic
def part_of(typing_context: Any, array: Any, k: Any, shape: Any) -> Any:
    """Return the array of this shape whose numbers are those of another from its k-th on; it keeps the other alive."""
    kind = types.Array(array.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(signature.args[0])(context, builder, arguments[0])
        part, size = context.make_array(kind)(context, builder), context.get_constant(types.intp, 1)
        lengths = cgutils.unpack_tuple(builder, arguments[2])
        strides: list[Any] = []
        for length in reversed(lengths):
            strides.insert(0, builder.mul(size, whole.itemsize))
            size = builder.mul(size, length)
        part.data, part.itemsize, part.nitems = builder.gep(whole.data, [arguments[1]]), whole.itemsize, size
        part.shape, part.strides = cgutils.pack_array(builder, lengths), cgutils.pack_array(builder, strides)
        part.meminfo, part.parent = whole.meminfo, whole.parent
        return impl_ret_borrowed(context, builder, kind, part._getvalue())

    return kind(array, types.int64, types.UniTuple(types.int64, len(shape))), generate


@intrinsic
def call_at(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the function at an address with integers, which may be addresses; it returns one."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _call(context, builder, values[0], signature.args[1], values[1])

    return types.int64(types.int64, arguments), generate


def calling_through(symbols: dict[str, str], kinds: tuple[Type, ...]) -> Any:
    """Return numba's type of a function that calls, with a tuple of integers, the function whose address a symbol holds.

    There is a symbol for each form: by the addresses that are of numbers in lanes.
    """

    @intrinsic
    def call(typing_context: Any, arguments: Any) -> Any:
        lying = {kind.stacked for kind, given in zip(kinds, arguments, strict=True) if given in _ADDRESSES.values()}
        if "" in lying:
            return None
        some, all_tables = (ALONG, ALONG_LOADED) if JETS_ADDRESS in arguments else (IN_LANES, OF_MEMBERS)
        form = all_tables if "table" in lying else some if lying else SINGLE

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            called = builder.load(_global(builder, symbols[form]))
            return _call(context, builder, called, signature.args[0], values[0])

        return types.int64(arguments), generate

    return _resolved(call)


def _call(context: Any, builder: Any, address: Any, kinds: Any, arguments: Any) -> Any:
    """Call the function at an address, perhaps one of Python's; count where none answers."""
    given = cgutils.unpack_tuple(builder, arguments)
    words = [context.cast(builder, x, kind, types.int64) for x, kind in zip(given, kinds, strict=True)]
    function = ir.FunctionType(_WORD, [_WORD] * len(words)).as_pointer()
    in_python = builder.and_(address, _WORD(IN_PYTHON))
    answer = builder.call(builder.inttoptr(builder.xor(address, in_python), function), words)
    meant = builder.sub(answer, builder.mul(in_python, _WORD(ANSWERED)))
    lost = builder.icmp_signed("!=", meant, builder.sext(builder.trunc(meant, _STATUS), _WORD))
    with builder.if_then(lost, likely=False):
        count = _global(builder, LOST)
        builder.store(builder.add(builder.load(count), _WORD(1)), count)
    return builder.select(lost, _WORD(RAISED), meant)


def _global(builder: Any, symbol: str) -> Any:
    known = builder.module.globals
    return known[symbol] if symbol in known else ir.GlobalVariable(builder.module, _WORD, symbol)


def type_of(name: str) -> Any:
    """Return numba's type of one of these functions, or of those of `lanes`."""
    return _resolved(globals().get(name) or getattr(lanes, name))


def _resolved(function: Any) -> Any:
    context = cpu_target.typing_context
    context.refresh()  # it may have been read before the function was registered
    return context.resolve_value_type(function)


def provide_runtime() -> None:
    """Let machine code find numba's own functions by their names."""
    rtsys.initialize(cpu_target.target_context)
