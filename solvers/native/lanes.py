"""Lanes: one number of each of several states, side by side in a register of the processor; types of numba's, which it loads.

Kernels are written for numbers. Compiled for arrays of `LANES`, they compute with all at once, by the same operations in the
same order: a lane has the bits of a single state. Numbers among lanes, such as masses, are the same in all. What a value
decides is written with the functions of `titop.blocks.laws.vectors`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import intrinsic

from titop.solvers.native.identity import LANE_COUNT

_NUMBERS = ir.VectorType(ir.DoubleType(), LANE_COUNT)
_TRUTHS = ir.VectorType(ir.IntType(1), LANE_COUNT)
_INDEX = ir.IntType(32)


class _Wide(types.Type):
    """A type of several values side by side, to which single ones are widened."""

    single: tuple[type[types.Type], ...]

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, self.single) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, self.single) else None


class Lanes(_Wide):
    """A number in each lane."""

    single = (types.Float, types.Integer)


class Truths(_Wide):
    """A truth in each lane."""

    single = (types.Boolean,)


class LanesAddress(types.Type):
    """The address of numbers in lanes: an integer to the machine, so that no array of numbers is taken to lie there."""

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Integer) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return types.int64 if isinstance(other, types.Integer) else None


LANES, TRUTHS = Lanes(f"lanes{LANE_COUNT}"), Truths(f"truths{LANE_COUNT}")
LANES_ADDRESS = LanesAddress(f"lanes{LANE_COUNT}_address")


def _held_as(kind: Any, held: ir.Type) -> None:
    @register_default(kind)
    class _Model(models.PrimitiveModel):
        def __init__(self, dmm: Any, fe_type: Any) -> None:
            super().__init__(dmm, fe_type, held)


_held_as(Lanes, _NUMBERS)
_held_as(Truths, _TRUTHS)
_held_as(LanesAddress, ir.IntType(64))


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def _widen(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _in_all(builder, context.cast(builder, value, given, types.float64), _NUMBERS)


@lower_cast(types.Boolean, Truths)
def _widen_truth(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _in_all(builder, context.cast(builder, value, given, types.boolean), _TRUTHS)


@lower_cast(LanesAddress, types.Integer)
def _as_integer(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return value


def _in_all(builder: Any, value: Any, kind: ir.VectorType) -> Any:
    nowhere = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nowhere, value, _INDEX(0))
    return builder.shuffle_vector(first, nowhere, ir.Constant(ir.VectorType(_INDEX, LANE_COUNT), [0] * LANE_COUNT))


def _of_lanes(function: Any, result: Any, lower: Callable[..., Any], *given: Any) -> None:
    """Let numba know a function of lanes: numbers among its arguments are widened. `lower`: see `numba.extending`."""

    def fits(kinds: Any) -> bool:
        known = all(kind == wanted or isinstance(kind, wanted.single) for kind, wanted in zip(kinds, given, strict=True))
        return known and any(isinstance(kind, _Wide) for kind in kinds)

    @infer_global(function)
    class _Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(result, *given) if len(args) == len(given) and not kws and fits(args) else None

    lower_builtin(function, *map(type, given))(lower)


def _by_instruction(function: Any, result: Any, write: Callable[..., Any], *given: Any) -> None:
    _of_lanes(function, result, lambda context, builder, sig, args: write(builder, *args), *given)


for _operators, _instruction in (
    ((operator.add, operator.iadd), ir.IRBuilder.fadd),
    ((operator.sub, operator.isub), ir.IRBuilder.fsub),
    ((operator.mul, operator.imul), ir.IRBuilder.fmul),
    ((operator.truediv, operator.itruediv), ir.IRBuilder.fdiv),
):
    for _operator in _operators:
        _by_instruction(_operator, LANES, _instruction, LANES, LANES)

for _operator, _symbol in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
):
    _by_instruction(_operator, TRUTHS, lambda b, x, y, symbol=_symbol: b.fcmp_ordered(symbol, x, y), LANES, LANES)
_by_instruction(operator.ne, TRUTHS, lambda builder, x, y: builder.fcmp_unordered("!=", x, y), LANES, LANES)
_by_instruction(operator.and_, TRUTHS, ir.IRBuilder.and_, TRUTHS, TRUTHS)
_by_instruction(operator.or_, TRUTHS, ir.IRBuilder.or_, TRUTHS, TRUTHS)
_by_instruction(operator.invert, TRUTHS, ir.IRBuilder.not_, TRUTHS)
_by_instruction(operator.neg, LANES, ir.IRBuilder.fneg, LANES)
_by_instruction(operator.pos, LANES, lambda builder, x: x, LANES)
# of two equal numbers, and where one is none, Python's `max` and `min` take the first
_by_instruction(max, LANES, lambda b, x, y: b.select(b.fcmp_ordered(">", y, x), y, x), LANES, LANES)
_by_instruction(min, LANES, lambda b, x, y: b.select(b.fcmp_ordered("<", y, x), y, x), LANES, LANES)


def _llvm(builder: Any, name: str, *args: Any) -> Any:
    """Call a function of LLVM's own, of numbers or of lanes."""
    kind = args[0].type
    suffix = "f64" if kind == ir.DoubleType() else f"v{LANE_COUNT}f64"
    function = ir.FunctionType(kind, [kind] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.{suffix}"), args)


for _function, _name in ((abs, "fabs"), (np.abs, "fabs"), (math.sqrt, "sqrt"), (np.sqrt, "sqrt"), (math.floor, "floor")):
    _by_instruction(_function, LANES, lambda builder, x, name=_name: _llvm(builder, name, x), LANES)


def _lane_by_lane(function: Any, of_numbers: Any, count: int = 1) -> None:
    """Let numba call a function of numbers for each lane."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kinds = (types.float64,) * count
        found = context.typing_context.resolve_value_type(of_numbers)
        call = context.get_function(found, found.get_call_type(context.typing_context, kinds, {}))
        result = ir.Constant(_NUMBERS, ir.Undefined)
        for lane in map(_INDEX, range(LANE_COUNT)):
            result = builder.insert_element(result, call(builder, [builder.extract_element(x, lane) for x in args]), lane)
        return result

    _of_lanes(function, LANES, lower, *[LANES] * count)


for _name in ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh"):
    for _function in (getattr(math, _name), getattr(np, _name)):
        _lane_by_lane(_function, getattr(math, _name))
for _name in ("atan", "asin", "acos"):
    _lane_by_lane(getattr(math, _name), getattr(math, _name))
for _function, _of_numbers in ((math.atan2, math.atan2), (np.arctan2, math.atan2), (math.hypot, math.hypot), (pow, pow)):
    _lane_by_lane(_function, _of_numbers, 2)
_lane_by_lane(operator.pow, operator.pow, 2)


@infer_getattr
class _Parts(AttributeTemplate):
    """Lanes are real, as numbers are."""

    key = Lanes

    def resolve_real(self, lanes: Any) -> Any:
        return lanes


@lower_getattr(Lanes, "real")
def _real(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value


# -- what kernels find under the names of `titop.blocks.laws.vectors`


@intrinsic
def everywhere(typing_context: Any, truth: Any) -> Any:
    """See `titop.blocks.laws.vectors`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if sig.args[0] == types.boolean:
            return args[0]
        bits = ir.IntType(LANE_COUNT)
        return builder.icmp_unsigned("==", builder.bitcast(args[0], bits), bits(2**LANE_COUNT - 1))

    return types.boolean(TRUTHS if truth == TRUTHS else types.boolean), generate


@intrinsic
def select(typing_context: Any, truth: Any, x: Any, y: Any) -> Any:
    """See `titop.blocks.laws.vectors`."""
    kind = LANES if truth == TRUTHS else typing_context.unify_types(x, y)
    kind = types.float64 if isinstance(kind, types.Integer) else kind
    return kind(truth, kind, kind), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def rounded(typing_context: Any, x: Any) -> Any:
    """See `titop.blocks.laws.vectors`."""
    kind = LANES if x == LANES else types.float64
    return kind(kind), lambda context, builder, sig, args: _llvm(builder, "rint", *args)


@intrinsic
def fused(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return ``x y + z``, rounded once: by all processors, slowly by those that have no instruction for it."""
    kind = LANES if LANES in (x, y, z) else types.float64
    return kind(kind, kind, kind), lambda context, builder, sig, args: _llvm(builder, "fma", *args)
