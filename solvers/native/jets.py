"""Jets: a number along a motion, as the first coefficients of its power series in time; a type of numba's, which it loads.

Kernels are written for numbers. Compiled for jets, ``x_0 + x_1 t + ...`` up to `ORDERS` coefficients, they compute with the
derivatives of all that they compute with (Griewank and Walther, Evaluating Derivatives, chapter 13), the leading
coefficient being a plain number's. That decides comparisons. A function f of a jet is ``f(x_0) + f'(x_0) d + ...`` in powers of
what the jet has beside x_0, or the integral of its rate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature

from titop.solvers.native.signatures import ORDERS

_NUMBERS, _NUMBER, _INDEX = ir.VectorType(ir.DoubleType(), ORDERS), ir.DoubleType(), ir.IntType(32)
_NOTHING = ir.Constant(_NUMBERS, [0.0] * ORDERS)
_COUNTS = ir.Constant(_NUMBERS, [1.0, *map(float, range(1, ORDERS))])


class Wide(types.Type):
    """A type of several values side by side, to which single ones are widened."""

    single: tuple[type[types.Type], ...]

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, self.single) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, self.single) else None


class Jet(Wide):
    """A number along a motion; plain ones stand still."""

    single = (types.Float, types.Integer)


class WideAddress(types.Type):
    """The address of wide numbers: an integer to the machine, so that no array of numbers is taken to lie there."""

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Integer) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return types.int64 if isinstance(other, types.Integer) else None


JET, JETS_ADDRESS = Jet(f"jet{ORDERS}"), WideAddress(f"jet{ORDERS}_address")


def held_as(kind: Any, held: ir.Type) -> None:
    """Say what values of a type are to the machine."""

    @register_default(kind)
    class _Model(models.PrimitiveModel):
        def __init__(self, dmm: Any, fe_type: Any) -> None:
            super().__init__(dmm, fe_type, held)


held_as(Jet, _NUMBERS)
held_as(WideAddress, ir.IntType(64))


@lower_cast(types.Float, Jet)
@lower_cast(types.Integer, Jet)
def _from_number(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return standing(builder, context.cast(builder, value, given, types.float64))


@lower_cast(WideAddress, types.Integer)
def _as_integer(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return value


@infer_getattr
class _Parts(AttributeTemplate):
    """Jets are real, as numbers are."""

    key = Jet

    def resolve_real(self, jet: Any) -> Any:
        return JET


@lower_getattr(Jet, "real")
def _itself(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value


# -- arithmetic, as instructions


def leading(builder: Any, x: Any) -> Any:
    """Return the leading coefficient."""
    return builder.extract_element(x, _INDEX(0))


def with_leading(builder: Any, x: Any, number: Any) -> Any:
    """Return the jet with another leading coefficient."""
    return builder.insert_element(x, number, _INDEX(0))


def standing(builder: Any, number: Any) -> Any:
    """Return the jet of a number that does not change; a jet is returned as it is."""
    return number if number.type == _NUMBERS else with_leading(builder, _NOTHING, number)


def _shuffled(builder: Any, x: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(x, _NOTHING, ir.Constant(ir.VectorType(_INDEX, ORDERS), places))


def _in_all(builder: Any, number: Any) -> Any:
    return _shuffled(builder, with_leading(builder, ir.Constant(_NUMBERS, ir.Undefined), number), [0] * ORDERS)


def _later(builder: Any, x: Any, k: int) -> Any:
    """Return ``t^k x``."""
    return _shuffled(builder, x, [ORDERS] * k + list(range(ORDERS - k)))


def _product(builder: Any, x: Any, y: Any) -> Any:
    """The part of each order is added at once: the leading coefficient is that of numbers."""
    total = builder.fmul(_shuffled(builder, x, [0] * ORDERS), y)
    for k in range(1, ORDERS):
        total = builder.fadd(total, builder.fmul(_shuffled(builder, x, [k] * ORDERS), _later(builder, y, k)))
    return total


def _over(builder: Any, x: Any, y: Any) -> Any:
    """``z = x / y_0 - z d / y_0``, from lower orders on."""
    first = _in_all(builder, leading(builder, y))
    ratio = builder.fdiv(x, first)
    rest = builder.fdiv(with_leading(builder, y, _NUMBER(0.0)), first)
    z = ratio
    for _ in range(ORDERS - 1):
        z = builder.fsub(ratio, _product(builder, rest, z))
    return z


def _rate(builder: Any, x: Any) -> Any:
    """Return the derivative, of which the last coefficient is not known."""
    return _shuffled(builder, builder.fmul(x, _COUNTS), [*range(1, ORDERS), ORDERS])


def integral(builder: Any, start: Any, rate: Any) -> Any:
    """Return the jet that begins with a number and changes at a rate."""
    return with_leading(builder, builder.fdiv(_later(builder, rate, 1), _COUNTS), start)


def composed(builder: Any, x: Any, coefficients: list[Any]) -> Any:
    """Return the function of x with these coefficients of its series about the leading one."""
    beside = with_leading(builder, x, _NUMBER(0.0))
    total = standing(builder, coefficients[-1])
    for number in coefficients[-2::-1]:
        total = with_leading(builder, _product(builder, beside, total), number)
    moves = _differs(builder, beside, _NOTHING)
    return builder.select(moves, total, standing(builder, coefficients[0]))  # also where there is no slope


def all_of(builder: Any, truths: Any) -> Any:
    """Tell whether something is so at all orders."""
    bits = ir.IntType(ORDERS)
    return builder.icmp_unsigned("==", builder.bitcast(truths, bits), bits(2**ORDERS - 1))


def _differs(builder: Any, x: Any, y: Any) -> Any:
    return builder.not_(all_of(builder, builder.fcmp_ordered("==", x, y)))


def _signed(builder: Any, x: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", leading(builder, x), _NUMBER(0.0)), builder.fneg(x), x)


# -- what numba knows of them


def _typed(function: Any, result: Any, *given: Any, strict: bool = False) -> None:
    """Let numba know the type of a function; unless it is `strict`, numbers may stand for jets."""

    def fits(kind: Any, wanted: Any) -> bool:
        is_number = isinstance(kind, types.Float | types.Integer)
        return isinstance(kind, Jet) or (is_number and not strict) if wanted == JET else is_number

    class _JetTyping(AbstractTemplate):
        key = function

        def generic(self, args: Any, kws: Any) -> Any:
            known = not kws and len(args) == len(given) and any(isinstance(kind, Jet) for kind in args)
            return signature(result, *given) if known and all(map(fits, args, given)) else None

    infer_global(function, types.Function(_JetTyping))


def _known(function: Any, result: Any, write: Callable[..., Any], *given: Any) -> None:
    """Let numba know a function of jets and numbers by what it writes of them."""
    _typed(function, result, *given, strict=True)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return write(builder, *args)

    lower_builtin(function, *map(type, given))(lower)


_FLOAT = types.float64


def _both_ways(function: Any, result: Any, write: Callable[..., Any]) -> None:
    """Likewise of two jets, one of which may be a number."""
    for given in ((JET, JET), (JET, _FLOAT), (_FLOAT, JET)):
        _known(function, result, lambda b, x, y: write(b, standing(b, x), standing(b, y)), *given)


for _operator, _inplace, _write in (
    (operator.add, operator.iadd, ir.IRBuilder.fadd),
    (operator.sub, operator.isub, ir.IRBuilder.fsub),
):
    for _each in (_operator, _inplace):
        _both_ways(_each, JET, _write)
for _each in (operator.mul, operator.imul):
    _known(_each, JET, _product, JET, JET)
    _known(_each, JET, lambda b, x, y: b.fmul(x, _in_all(b, y)), JET, _FLOAT)
    _known(_each, JET, lambda b, x, y: b.fmul(_in_all(b, x), y), _FLOAT, JET)
for _each in (operator.truediv, operator.itruediv):
    _known(_each, JET, _over, JET, JET)
    _known(_each, JET, lambda b, x, y: b.fdiv(x, _in_all(b, y)), JET, _FLOAT)
    _known(_each, JET, lambda b, x, y: _over(b, standing(b, x), y), _FLOAT, JET)
for _operator, _symbol in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">=")):
    _both_ways(_operator, types.boolean, lambda b, x, y, symbol=_symbol: b.fcmp_ordered(symbol, leading(b, x), leading(b, y)))
_both_ways(operator.eq, types.boolean, lambda b, x, y: b.not_(_differs(b, x, y)))  # all along the motion
_both_ways(operator.ne, types.boolean, _differs)
_known(operator.neg, JET, ir.IRBuilder.fneg, JET)
_known(operator.pos, JET, lambda builder, x: x, JET)
for _size in (abs, np.abs):
    _known(_size, JET, _signed, JET)
_both_ways(max, JET, lambda b, x, y: b.select(b.fcmp_ordered(">", leading(b, y), leading(b, x)), y, x))
_both_ways(min, JET, lambda b, x, y: b.select(b.fcmp_ordered("<", leading(b, y), leading(b, x)), y, x))


def _number_by(function: Any, count: int = 1) -> Callable[..., Any]:
    """Return what calls a function of numbers."""

    def call(context: Any, builder: Any, *args: Any) -> Any:
        found = context.typing_context.resolve_value_type(function)
        of_numbers = context.get_function(found, found.get_call_type(context.typing_context, (_FLOAT,) * count, {}))
        return of_numbers(builder, args)

    return call


def _composed_by(function: Any, coefficients: Callable[..., list[Any]], *beside: Any) -> None:
    """Let numba know a function of jets by the coefficients of its series; `beside` are types of its further arguments."""
    _typed(function, JET, JET, *beside)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number = leading(builder, args[0])
        return composed(builder, args[0], coefficients(context, builder, number, *args[1:]))

    lower_builtin(function, Jet, *map(type, beside))(lower)


def _shared_out(b: Any, x: Any, k: int) -> Any:
    return b.fdiv(x, _NUMBER(float(k)))


def circular(b: Any, y: Any, slope: Any, sign: float) -> list[Any]:
    """Return the coefficients of a function with this value and slope whose second derivative is `sign` times itself."""
    found = [y, slope]
    for k in range(2, ORDERS):
        found.append(b.fmul(_shared_out(b, found[k - 2], k * (k - 1)), _NUMBER(sign)))
    return found


def _with_slope(function: Any, other: Any, sign: float, outer: float) -> Callable[..., list[Any]]:
    """Return the coefficients of one of a pair of functions: `outer` times the other one is its slope."""

    def coefficients(context: Any, b: Any, x: Any) -> list[Any]:
        y, slope = _number_by(function)(context, b, x), _number_by(other)(context, b, x)
        return circular(b, y, b.fmul(slope, _NUMBER(outer)), sign)

    return coefficients


def _exponential(context: Any, b: Any, x: Any) -> list[Any]:
    found = [_number_by(math.exp)(context, b, x)]
    for k in range(1, ORDERS):
        found.append(_shared_out(b, found[-1], k))
    return found


def _hyperbolic_tangent(context: Any, b: Any, x: Any) -> list[Any]:
    """``y' = 1 - y^2``."""
    found = [_number_by(math.tanh)(context, b, x)]
    for k in range(1, ORDERS):
        slope = _NUMBER(1.0 if k == 1 else 0.0)
        for j in range(k):
            slope = b.fsub(slope, b.fmul(found[j], found[k - 1 - j]))
        found.append(_shared_out(b, slope, k))
    return found


def _power(context: Any, b: Any, x: Any, exponent: Any) -> list[Any]:
    found, factor = [_number_by(operator.pow, 2)(context, b, x, exponent)], _NUMBER(1.0)
    for k in range(1, ORDERS):
        left = b.fsub(exponent, _NUMBER(float(k)))
        factor = _shared_out(b, b.fmul(factor, b.fadd(left, _NUMBER(1.0))), k)
        term = b.fmul(factor, _number_by(operator.pow, 2)(context, b, x, left))
        found.append(b.select(b.fcmp_ordered("==", factor, _NUMBER(0.0)), _NUMBER(0.0), term))
    return found


def _root(context: Any, b: Any, x: Any) -> list[Any]:
    found = [_number_by(math.sqrt)(context, b, x)]
    for k in range(1, ORDERS):
        found.append(b.fdiv(b.fmul(found[-1], _NUMBER((1.5 - k) / k)), x))
    return found


for _module in (math, np):
    _composed_by(_module.sin, _with_slope(math.sin, math.cos, -1.0, 1.0))
    _composed_by(_module.cos, _with_slope(math.cos, math.sin, -1.0, -1.0))
    _composed_by(_module.sinh, _with_slope(math.sinh, math.cosh, 1.0, 1.0))
    _composed_by(_module.cosh, _with_slope(math.cosh, math.sinh, 1.0, 1.0))
    _composed_by(_module.exp, _exponential)
    _composed_by(_module.tanh, _hyperbolic_tangent)
    _composed_by(_module.sqrt, _root)
_composed_by(operator.pow, _power, _FLOAT)


@lower_builtin(operator.pow, Jet, types.IntegerLiteral)
def _whole_power(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """To a written whole power, by products."""
    power = abs(sig.args[1].literal_value)
    result = standing(builder, _NUMBER(1.0)) if power == 0 else args[0]
    for _ in range(power - 1):
        result = _product(builder, result, args[0])
    return result if sig.args[1].literal_value >= 0 else _over(builder, standing(builder, _NUMBER(1.0)), result)


def _integrated(function: Any, slope: Callable[..., Any], *of_numpy: Any) -> None:
    """Let numba know a function of jets by the jet that its rate is: ``slope(context, builder, *arguments)``."""
    count = slope.__code__.co_argcount - 2
    of_numbers = _number_by(function, count)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        start = of_numbers(context, builder, *(leading(builder, x) for x in args))
        return integral(builder, start, slope(context, builder, *args))

    for each in (function, *of_numpy):
        _typed(each, JET, *[JET] * count)
        lower_builtin(each, *[Jet] * count)(lower)


def _cosine_of(context: Any, b: Any, x: Any) -> Any:
    one = standing(b, _NUMBER(1.0))
    square = _product(b, b.fsub(one, x), b.fadd(one, x))
    return composed(b, square, _root(context, b, leading(b, square)))


def _turning(context: Any, b: Any, y: Any, x: Any) -> Any:
    turned = b.fsub(_product(b, x, _rate(b, y)), _product(b, y, _rate(b, x)))
    return _over(b, turned, b.fadd(_product(b, x, x), _product(b, y, y)))


def _arc(context: Any, b: Any, x: Any) -> Any:
    return _turning(context, b, x, standing(b, _NUMBER(1.0)))


_integrated(math.log, lambda context, b, x: _over(b, _rate(b, x), x), np.log)
_integrated(math.atan, _arc, np.arctan)
_integrated(math.asin, lambda context, b, x: _over(b, _rate(b, x), _cosine_of(context, b, x)), np.arcsin)
_integrated(math.acos, lambda context, b, x: _over(b, b.fneg(_rate(b, x)), _cosine_of(context, b, x)), np.arccos)
_integrated(math.atan2, _turning, np.arctan2)


def _length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    square = builder.fadd(*(_product(builder, x, x) for x in args))
    return composed(builder, square, _root(context, builder, leading(builder, square)))


for _of_two in (math.hypot, np.hypot):
    _typed(_of_two, JET, JET, JET)
    lower_builtin(_of_two, Jet, Jet)(_length)


def _tangent(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    number = leading(builder, args[0])
    sine, cosine = (_number_by(function)(context, builder, number) for function in (math.sin, math.cos))
    above = composed(builder, args[0], circular(builder, sine, cosine, -1.0))
    return _over(builder, above, composed(builder, args[0], circular(builder, cosine, builder.fneg(sine), -1.0)))


for _of_one in (math.tan, np.tan):
    _typed(_of_one, JET, JET)
    lower_builtin(_of_one, Jet)(_tangent)
