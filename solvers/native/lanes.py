"""Lanes: one number of each of several states, side by side in a register of the processor; types of numba's, which it loads.

Kernels are written for numbers. Compiled for arrays of `LANES`, they compute with all at once, by the same operations in the
same order: a lane has the bits of a single state. Numbers among lanes, such as masses, are the same in all. What a value
decides is written with the functions of `titop.blocks.basics.choices`.
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
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import intrinsic

from titop.solvers.native import jets
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.jets import JET, Wide, WideAddress, held_as

_NUMBERS = ir.VectorType(ir.DoubleType(), LANE_COUNT)
_TRUTHS = ir.VectorType(ir.IntType(1), LANE_COUNT)
_INDEX = ir.IntType(32)


class Lanes(Wide):
    """A number in each lane."""

    single = (types.Float, types.Integer)


class ComplexLanes(Wide):
    """A complex number in each lane: of laws that are differentiated by complex steps."""

    single = (types.Float, types.Integer, types.Complex, Lanes)


class Truths(Wide):
    """A truth in each lane."""

    single = (types.Boolean,)


LANES, TRUTHS = Lanes(f"lanes{LANE_COUNT}"), Truths(f"truths{LANE_COUNT}")
COMPLEX = ComplexLanes(f"complex_lanes{LANE_COUNT}")
LANES_ADDRESS = WideAddress(f"lanes{LANE_COUNT}_address")


@register_default(ComplexLanes)
class _ComplexModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("real", LANES), ("imag", LANES)])


held_as(Lanes, _NUMBERS)
held_as(Truths, _TRUTHS)


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def _widen(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _in_all(builder, context.cast(builder, value, given, types.float64), _NUMBERS)


@lower_cast(types.Float, ComplexLanes)
@lower_cast(types.Integer, ComplexLanes)
@lower_cast(Lanes, ComplexLanes)
def _as_complex(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _complex(builder, context.cast(builder, value, given, LANES), ir.Constant(_NUMBERS, [0.0] * LANE_COUNT))


@lower_cast(types.Complex, ComplexLanes)
def _widen_complex(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _complex(builder, *(_in_all(builder, builder.extract_value(value, k), _NUMBERS) for k in range(2)))


def _complex(builder: Any, real: Any, imaginary: Any) -> Any:
    whole = ir.Constant(ir.LiteralStructType([_NUMBERS, _NUMBERS]), ir.Undefined)
    return builder.insert_value(builder.insert_value(whole, real, 0), imaginary, 1)


def _parts(builder: Any, value: Any) -> tuple[Any, Any]:
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


@lower_cast(types.Boolean, Truths)
def _widen_truth(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _in_all(builder, context.cast(builder, value, given, types.boolean), _TRUTHS)


def _in_all(builder: Any, value: Any, kind: ir.VectorType) -> Any:
    nowhere = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nowhere, value, _INDEX(0))
    return builder.shuffle_vector(first, nowhere, ir.Constant(ir.VectorType(_INDEX, LANE_COUNT), [0] * LANE_COUNT))


def _of_lanes(function: Any, result: Any, lower: Callable[..., Any], *given: Any) -> None:
    """Let numba know a function of lanes: numbers among its arguments are widened. `lower`: see `numba.extending`."""

    def fits(kinds: Any) -> bool:
        known = all(kind == wanted or isinstance(kind, wanted.single) for kind, wanted in zip(kinds, given, strict=True))
        complex_ones = COMPLEX in given and any(isinstance(kind, types.Complex | ComplexLanes) for kind in kinds)
        return known and any(isinstance(kind, Wide) for kind in kinds) and (complex_ones or COMPLEX not in given)

    class _Typing(AbstractTemplate):
        key = function

        def generic(self, args: Any, kws: Any) -> Any:
            return signature(result, *given) if len(args) == len(given) and not kws and fits(args) else None

    infer_global(function, types.Function(_Typing))  # as a decorator it asks for a module, which NumPy 2.0's functions lack
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


for _root in (math.sqrt, np.sqrt):
    _by_instruction(_root, LANES, lambda builder, x: _llvm(builder, "sqrt", x), LANES)
for _size in (abs, np.abs):
    _by_instruction(_size, LANES, lambda builder, x: _llvm(builder, "fabs", x), LANES)


def _lane_by_lane(function: Any, of_numbers: Any, count: int = 1) -> None:
    """Let numba call a function of numbers for each lane."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        call, result = _call_of(context, of_numbers, types.float64, count), ir.Constant(_NUMBERS, ir.Undefined)
        for lane in map(_INDEX, range(LANE_COUNT)):
            result = builder.insert_element(result, call(builder, [builder.extract_element(x, lane) for x in args]), lane)
        return result

    _of_lanes(function, LANES, lower, *[LANES] * count)


def _complex_lane_by_lane(function: Any, of_numbers: Any, count: int = 1) -> None:
    """Let numba call a function of complex numbers for each lane."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        call = _call_of(context, of_numbers, types.complex128, count)
        parts, results = [_parts(builder, x) for x in args], [ir.Constant(_NUMBERS, ir.Undefined)] * 2
        for lane in map(_INDEX, range(LANE_COUNT)):
            numbers = [cgutils.pack_struct(builder, [builder.extract_element(part, lane) for part in x]) for x in parts]
            value = call(builder, numbers)
            results = [builder.insert_element(results[k], builder.extract_value(value, k), lane) for k in range(2)]
        return _complex(builder, *results)

    _of_lanes(function, COMPLEX, lower, *[COMPLEX] * count)


def _call_of(context: Any, function: Any, kind: Any, count: int) -> Any:
    """Return what calls a function of so many numbers of a type."""
    found = context.typing_context.resolve_value_type(function)
    return context.get_function(found, found.get_call_type(context.typing_context, (kind,) * count, {}))


def _complex_by_parts(function: Any, write: Callable[..., tuple[Any, Any]], count: int) -> None:
    """Let numba know a function of complex lanes by what it writes of real and imaginary parts."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _complex(builder, *write(builder, *(part for x in args for part in _parts(builder, x))))

    _of_lanes(function, COMPLEX, lower, *[COMPLEX] * count)


def _product(b: Any, x: Any, y: Any, u: Any, v: Any) -> tuple[Any, Any]:
    return b.fsub(b.fmul(x, u), b.fmul(y, v)), b.fadd(b.fmul(x, v), b.fmul(y, u))


for _operators, _write in (
    ((operator.add, operator.iadd), lambda b, x, y, u, v: (b.fadd(x, u), b.fadd(y, v))),
    ((operator.sub, operator.isub), lambda b, x, y, u, v: (b.fsub(x, u), b.fsub(y, v))),
    ((operator.mul, operator.imul), _product),
):
    for _operator in _operators:
        _complex_by_parts(_operator, _write, 2)
_complex_by_parts(operator.neg, lambda b, x, y: (b.fneg(x), b.fneg(y)), 1)
for _operator in (operator.truediv, operator.itruediv):
    _complex_lane_by_lane(_operator, operator.truediv, 2)
for _name in ("sqrt", "sin", "cos", "exp", "log", "tanh", "arcsin", "arccos", "arctan"):
    _complex_lane_by_lane(getattr(np, _name), getattr(np, _name))
_complex_lane_by_lane(operator.pow, operator.pow, 2)


for _name in ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh"):
    _lane_by_lane(getattr(math, _name), getattr(math, _name))
    _lane_by_lane(getattr(np, _name), getattr(math, _name))
for _name in ("atan", "asin", "acos"):
    _lane_by_lane(getattr(math, _name), getattr(math, _name))
    _lane_by_lane(getattr(np, f"arc{_name[1:]}"), getattr(math, _name))
_lane_by_lane(math.hypot, math.hypot, 2)
_lane_by_lane(operator.pow, operator.pow, 2)
for _arctangent in (math.atan2, np.arctan2):
    _lane_by_lane(_arctangent, math.atan2, 2)


@lower_builtin(operator.pow, Lanes, types.IntegerLiteral)
def _whole_power(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """To a written whole power, by products, as of numbers."""
    power = context.get_function(operator.pow, signature(types.float64, types.float64, sig.args[1]))
    result = ir.Constant(_NUMBERS, ir.Undefined)
    for lane in map(_INDEX, range(LANE_COUNT)):
        result = builder.insert_element(result, power(builder, [builder.extract_element(args[0], lane), args[1]]), lane)
    return result


@infer_getattr
class _PartsOfLanes(AttributeTemplate):
    """Lanes are real, as numbers are."""

    key = Lanes

    def resolve_real(self, lanes: Any) -> Any:
        return LANES

    resolve_imag = resolve_real


@infer_getattr
class _PartsOfComplex(_PartsOfLanes):
    key = ComplexLanes


@lower_getattr(Lanes, "real")
def _itself(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value


@lower_getattr(Lanes, "imag")
def _nothing(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return ir.Constant(_NUMBERS, [0.0] * LANE_COUNT)


@lower_getattr(ComplexLanes, "real")
def _real(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return builder.extract_value(value, 0)


@lower_getattr(ComplexLanes, "imag")
def _imaginary(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return builder.extract_value(value, 1)


# -- what kernels find under the names of `titop.blocks.basics.choices`


@intrinsic
def everywhere(typing_context: Any, truth: Any) -> Any:
    """See `titop.blocks.basics.choices`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if sig.args[0] == types.boolean:
            return args[0]
        bits = ir.IntType(LANE_COUNT)
        return builder.icmp_unsigned("==", builder.bitcast(args[0], bits), bits(2**LANE_COUNT - 1))

    return types.boolean(TRUTHS if truth == TRUTHS else types.boolean), generate


@intrinsic
def select(typing_context: Any, truth: Any, x: Any, y: Any) -> Any:
    """See `titop.blocks.basics.choices`."""
    kind = typing_context.unify_types(x, y)
    kind = types.float64 if isinstance(kind, types.Integer) else kind
    if truth != TRUTHS:
        return kind(types.boolean, kind, kind), lambda context, builder, sig, args: builder.select(*args)
    kind = COMPLEX if isinstance(kind, types.Complex | ComplexLanes) else LANES

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if kind == LANES:
            return builder.select(*args)
        sides = zip(*(_parts(builder, value) for value in args[1:]), strict=True)
        return _complex(builder, *(builder.select(args[0], *side) for side in sides))

    return kind(truth, kind, kind), generate


@intrinsic
def complex_type(typing_context: Any, array: Any) -> Any:
    """Return the type of the complex numbers that go with an array's numbers, for `np.empty`."""
    kind = types.DType(COMPLEX if array.dtype == LANES else types.complex128)
    return kind(array), lambda context, builder, sig, args: context.get_dummy_value()


@intrinsic
def entry_at(typing_context: Any, array: Any, first: Any, k: Any) -> Any:
    """Return the number of an array that lies k behind the `first` one in memory; k is a number, or one in each lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        places = _places(context, builder, sig, args)
        if sig.args[2] != LANES:
            return builder.load(places[0])
        result = ir.Constant(_NUMBERS, ir.Undefined)
        for lane, place in enumerate(places):
            result = builder.insert_element(result, builder.load(place), _INDEX(lane))
        return result

    return array.dtype(array, types.int64, _as_place(k)), generate


@intrinsic
def lane_count(typing_context: Any, array: Any) -> Any:
    """Return how many numbers one of an array's is: one, or as many as there are lanes, or coefficients of jets."""
    count = {LANES: LANE_COUNT, JET: jets.ORDERS}.get(array.dtype, 1)
    return types.int64(array), lambda context, builder, sig, args: ir.IntType(64)(count)


@intrinsic
def put_entry_at(typing_context: Any, array: Any, first: Any, k: Any, x: Any) -> Any:
    """Write a number into an array where `entry_at` reads it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        places = _places(context, builder, sig, args)
        if sig.args[2] != LANES:
            builder.store(args[3], places[0])
        else:
            for lane, place in enumerate(places):
                builder.store(builder.extract_element(args[3], _INDEX(lane)), place)
        return context.get_dummy_value()

    return types.none(array, types.int64, _as_place(k), array.dtype), generate


def _as_place(k: Any) -> Any:
    return types.int64 if isinstance(k, types.Integer) else k


def _in_array(context: Any, builder: Any, kind: Any, k: Any) -> Any:
    return (
        builder.fptosi(jets.leading(builder, k), ir.IntType(64)) if kind == JET else context.cast(builder, k, kind, types.int64)
    )


def _places(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """Return where the k-th number behind the first one of an array lies, or that of each lane."""
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    if sig.args[2] != LANES:
        return [builder.gep(data, [builder.add(args[1], _in_array(context, builder, sig.args[2], args[2]))])]
    numbers, word = builder.bitcast(data, ir.DoubleType().as_pointer()), ir.IntType(64)
    of_lanes = (builder.fptosi(builder.extract_element(args[2], _INDEX(lane)), word) for lane in range(LANE_COUNT))
    rows = (builder.mul(builder.add(args[1], k), word(LANE_COUNT)) for k in of_lanes)
    return [builder.gep(numbers, [builder.add(row, word(lane))]) for lane, row in enumerate(rows)]


@intrinsic
def rounded(typing_context: Any, x: Any) -> Any:
    """See `titop.blocks.basics.choices`."""
    kind = x if x in (LANES, JET) else types.float64

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if kind == JET:
            return jets.standing(builder, _llvm(builder, "rint", jets.leading(builder, args[0])))
        return _llvm(builder, "rint", *args)

    return kind(kind), generate


@intrinsic
def jet_type(typing_context: Any) -> Any:
    """Return the type of jets, for `np.empty`."""
    kind = types.DType(JET)
    return kind(), lambda context, builder, sig, args: context.get_dummy_value()


@intrinsic
def integral(typing_context: Any, start: Any, rate: Any) -> Any:
    """Return the jet that begins with the value of a jet and changes at a rate."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return jets.integral(builder, jets.leading(builder, args[0]), args[1])

    return JET(JET, JET), generate


def _wide_or_number(*kinds: Any) -> Any:
    return next((kind for kind in (JET, LANES) if kind in kinds), types.float64)


@intrinsic
def sizes(typing_context: Any, x: Any) -> Any:
    """Return the absolute value of a number, and of each coefficient of a jet."""
    kind = _wide_or_number(x)
    return kind(kind), lambda context, b, sig, args: b.select(
        b.fcmp_ordered("<", args[0], b.fneg(args[0])), b.fneg(args[0]), args[0]
    )


@intrinsic
def larger(typing_context: Any, x: Any, y: Any) -> Any:
    """Return the larger number, of jets the larger one of each order."""
    kind = _wide_or_number(x, y)
    return kind(kind, kind), lambda context, b, sig, args: b.select(b.fcmp_ordered(">", args[1], args[0]), args[1], args[0])


@intrinsic
def is_within(typing_context: Any, x: Any, y: Any) -> Any:
    """Tell whether x is not more than y, of jets at all orders."""
    kind = _wide_or_number(x, y)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        truth = builder.fcmp_ordered("<=", *args)
        return jets.all_of(builder, truth) if kind == JET else truth

    return (TRUTHS if kind == LANES else types.boolean)(kind, kind), generate


@intrinsic
def value_of(typing_context: Any, x: Any) -> Any:
    """Return a number without its derivatives."""
    kind = types.float64 if x == JET else x
    return kind(x), lambda context, builder, sig, args: jets.leading(builder, *args) if x == JET else args[0]


@intrinsic
def circular(typing_context: Any, x: Any, y: Any, slope: Any) -> Any:
    """Return what has value y and slope at x and minus itself as second derivative: y, but for a jet x."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return jets.composed(builder, args[0], jets.circular(builder, args[1], args[2], -1.0)) if x == JET else args[1]

    return (JET if x == JET else y)(x, y, slope), generate


@intrinsic
def fused(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return ``x y + z``, rounded once: by all processors, slowly by those that have no instruction for it."""
    kind = LANES if LANES in (x, y, z) else types.float64
    return kind(kind, kind, kind), lambda context, builder, sig, args: _llvm(builder, "fma", *args)
