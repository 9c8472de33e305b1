"""Reading and writing arrays, loops over ranges, calls and the ends of variables, in short.

Forward dynamics of all kinds of blocks take 27,000 lines of LLVM's language in place of 46,000. numba writes them for every
case: indices that count from the end, strides of any size, steps of any sign, owners that are counted. Kernels index arrays
without gaps, from the front.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, lowering, types
from numba.core.ir_utils import get_definition, guard
from numba.np.arrayobj import load_item, store_item

_WORD = llvm.IntType(64)


class KernelLowering(lowering.Lower):
    """Numba's translation of a function, in short where it can be."""

    def lower_inst(self, inst: Any) -> Any:
        if isinstance(inst, ir.StaticSetItem) and (place := self._place(inst.target, inst.index, inst.index_var)):
            return self._write(inst, *place)
        if isinstance(inst, ir.SetItem) and (place := self._place(inst.target, None, inst.index)):
            return self._write(inst, *place)
        if isinstance(inst, ir.Del) and not self._is_counted(self.typeof(inst.value)):
            return None
        if isinstance(inst, ir.Assign):
            value = self.lower_assign(self.typeof(inst.target.name), inst)
            return self.storevar(value, inst.target.name, 0 if isinstance(inst.value, ir.Arg) else None)
        return super().lower_inst(inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "getitem" and (place := self._place(expr.value, None, expr.index)):
            return self._read(resty, *place)
        if expr.op == "static_getitem" and (place := self._place(expr.value, expr.index, expr.index_var)):
            return self._read(resty, *place)
        if expr.op == "getiter" and self._counts_by_one(expr.value):
            return self._first(resty, self.loadvar(expr.value.name))
        if expr.op == "iternext" and isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            return self._next(resty, self.typeof(expr.value.name), self.loadvar(expr.value.name))
        if expr.op in ("pair_first", "pair_second") and not self._is_counted(resty):
            return self.builder.extract_value(self.loadvar(expr.value.name), int(expr.op == "pair_second"))
        return super().lower_expr(resty, expr)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
            return
        place, kind = self.getvar(name), self.typeof(name)
        if argidx is None and self._is_counted(kind):
            self.decref(kind, self.builder.load(place))
        self.builder.store(value, place)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def _is_counted(self, kind: Any) -> bool:
        """Tell whether values of a type have owners whose users are counted."""
        return self.context.enable_nrt and self.context.data_model_manager[kind].contains_nrt_meminfo()

    def _place(self, array: Any, known: Any, index: Any) -> tuple[Any, Any] | None:
        """Return the type of an array without gaps and the address of a number in it; None where it is something else.

        Its indices are `known`, or else in a variable.
        """
        kind = self.typeof(array.name)
        if not isinstance(kind, types.Array) or kind.layout != "C":
            return None
        indices = self._unvarying(known) if known is not None else self._varying(index)
        if indices is None or len(indices) != kind.ndim:
            return None
        model, value = self.context.data_model_manager[kind], self.loadvar(array.name)
        offset = indices[0]
        for axis in range(1, kind.ndim):
            extent = self.builder.extract_value(value, [model.get_field_position("shape"), axis])
            offset = self.builder.add(self.builder.mul(offset, extent), indices[axis])
        data = self.builder.extract_value(value, model.get_field_position("data"))
        return kind, self.builder.gep(data, [offset])

    def _unvarying(self, known: Any) -> list[Any] | None:
        """Return indices that are numbers, not counted from the end."""
        indices = known if isinstance(known, tuple) else (known,)
        is_plain = all(type(index) is int and index >= 0 for index in indices)
        return [llvm.Constant(_WORD, index) for index in indices] if is_plain else None

    def _varying(self, index: Any) -> list[Any] | None:
        """Return the integers that a variable holds."""
        kind = self.typeof(index.name)
        kinds = list(kind) if isinstance(kind, types.BaseTuple) else [kind]  # type: ignore[call-overload]
        if not all(isinstance(one, types.Integer) for one in kinds):
            return None
        value = self.loadvar(index.name)
        values = [self.builder.extract_value(value, k) for k in range(len(kinds))] if kinds != [kind] else [value]
        return [self.context.cast(self.builder, *pair, types.intp) for pair in zip(values, kinds, strict=True)]

    def _read(self, resty: Any, kind: Any, address: Any) -> Any:
        return self.context.cast(self.builder, load_item(self.context, self.builder, kind, address), kind.dtype, resty)

    def _write(self, inst: Any, kind: Any, address: Any) -> None:
        given = self.typeof(inst.value.name)
        value = self.context.cast(self.builder, self.loadvar(inst.value.name), given, kind.dtype)
        store_item(self.context, self.builder, kind, value, address)

    def _counts_by_one(self, variable: Any) -> bool:
        """Tell whether a variable is a range from one number, or zero, up to another."""
        made = guard(get_definition, self.func_ir, variable)
        is_range = isinstance(self.typeof(variable.name), types.RangeType)
        return is_range and isinstance(made, ir.Expr) and made.op == "call" and len(made.args) < 3

    def _first(self, resty: Any, limits: Any) -> Any:
        """Return an iterator at the start of a range: addresses of the next number and of how many there are."""
        builder = self.builder
        start, stop, step = (builder.extract_value(limits, k) for k in range(3))
        count = builder.sub(stop, start)
        places = [self.alloca_lltype("$range", start.type) for _ in range(2)]
        for value, place in zip((start, count), places, strict=True):
            builder.store(value, place)
        iterator = llvm.Constant(self.context.get_value_type(resty), llvm.Undefined)
        for k, value in enumerate((places[0], stop, step, places[1])):
            iterator = builder.insert_value(iterator, value, k)
        return iterator

    def _next(self, resty: Any, kind: Any, iterator: Any) -> Any:
        """Return the number at which an iterator stands and whether there is one; step on."""
        builder = self.builder
        place, step, counter = (builder.extract_value(iterator, k) for k in (0, 2, 3))
        value, count = builder.load(place), builder.load(counter)
        builder.store(builder.add(value, step), place)
        builder.store(builder.sub(count, llvm.Constant(count.type, 1), flags=["nsw"]), counter)
        there_is = builder.icmp_signed(">", count, llvm.Constant(count.type, 0))
        pair = llvm.Constant(self.context.get_value_type(resty), llvm.Undefined)
        return builder.insert_value(builder.insert_value(pair, value, 0), there_is, 1)


def calling(function: Any, library: Any) -> Any:
    """Return what numba asks for where a kernel calls a function: what goes wrong in it goes wrong in the kernel."""

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        callee = context.declare_function(builder.module, function)
        result = cgutils.alloca_once(builder, callee.args[0].type.pointee)
        fault = builder.function.args[1]
        words = context.get_arg_packer(function.argtypes).as_arguments(builder, arguments)
        status = builder.call(callee, [result, fault, *words])
        with cgutils.if_unlikely(builder, builder.icmp_unsigned("!=", status, llvm.Constant(status.type, 0))):
            builder.ret(status)
        return context.get_returned_value(builder, function.restype, builder.load(result))

    call.signature, call.libs = function.argtypes, (library,)  # type: ignore[attr-defined]
    return call
