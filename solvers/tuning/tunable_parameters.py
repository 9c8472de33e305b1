"""Numbers that are tuned, as users give them: names, starts, bounds, matrices, and what they follow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array, read_number
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import read_linear


@dataclass(frozen=True)
class Parameter:
    """A tuned number: its name, start (NaN: none) and bounds, in its own unit, and which unit that is beside a gain's.

    `rate` is the power of 1/s in it: 1 of an integral gain, -1 of a derivative gain or a time constant. `is_gain` tells whether
    it is measured in the gain's unit: those of the block's output over its input.
    """

    name: str
    start: float = np.nan
    lower: float = -np.inf
    upper: float = np.inf
    rate: int = 0
    is_gain: bool = True

    def is_inside(self, value: float) -> bool:
        """Whether a value respects the bounds."""
        return self.lower <= value <= self.upper


def is_zero(value: Any) -> bool:
    """Whether a value was given, and is zero."""
    return value is not None and not np.any(value)


def count_states(block: str, law: Any, start: Array) -> int:
    """Return how many states a user's law has; refuse one that does not return matrices, or none of complex numbers."""
    expected = "a function that returns A, B, C, D for an array of numbers, real or complex"
    advice = "keep to arithmetic and NumPy: no float(), no comparisons"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            for theta in (start.astype(complex), start):
                A, _, _, _ = law(theta)
            return len(np.atleast_2d(A)) if np.size(A) else 0
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise ModelError(Finding("bad-function", f"law of {block}", got, expected, advice)) from error


def check_parameter(block: str, parameter: Parameter) -> Parameter:
    """Refuse bounds that exclude everything, or the start."""
    name = f"{block}.{parameter.name}"
    if not parameter.lower <= parameter.upper:
        got = f"{parameter.lower:g} to {parameter.upper:g}"
        raise ModelError(Finding("bad-bounds", name, got, "a lower bound below the upper one", "exchange them"))
    if not np.isnan(parameter.start) and not parameter.is_inside(parameter.start):
        expected = f"a start between {parameter.lower:g} and {parameter.upper:g}"
        raise ModelError(Finding("bad-bounds", name, parameter.start, expected, "move the start, or widen the bounds"))
    return parameter


def named_parameters(
    block: str, rows: Sequence[tuple[str, Any, int, bool]], bounds: Mapping[str, tuple[float, float]] | None
) -> tuple[Parameter, ...]:
    """Return parameters by name, start, power of a rate, and whether they are gains: others are positive."""
    known, given = [name for name, *_ in rows], bounds or {}
    for name in given:
        if name not in known and name not in ("time", "ki", "kd", "damping"):
            expected, advice = f"one of {', '.join(known)}", "name a parameter of the block"
            raise ModelError(Finding("unknown-parameter", f"bounds of {block}", name, expected, advice))
    result = []
    for name, start, rate, gain in rows:
        where, bound = f"{block}.{name}", given.get(name, (-np.inf if gain else 0.0, np.inf))
        wrong = Finding("wrong-type", where, np.nan if start is None else start, "a number", "where its search starts")
        value = read_number(wrong, lambda x: True)
        wrong = Finding("bad-bounds", where, bound, "a lower and an upper bound", f'such as {{"{name}": (0.1, 10.0)}}')
        lower, upper = read_array(wrong, lambda bound: bound.shape == (2,)).tolist()
        if not gain and (lower < 0 or upper <= 0 or value == 0):
            got = f"a start of {start}, bounds {lower:g} to {upper:g}"
            raise ModelError(Finding("bad-bounds", where, got, "positive numbers", "take a small one for zero"))
        result.append(check_parameter(block, Parameter(name, value, lower, upper, rate, gain)))
    return tuple(result)


def matrix_entries(
    symbol: str, shape: tuple[int, int], start: Any, lower: Any = -np.inf, upper: Any = np.inf, block: str = ""
) -> tuple[Parameter, ...]:
    """Return the entries of a matrix as parameters, row by row."""
    starts, lows, highs = (read_matrix(block, value, shape) for value in (np.nan if start is None else start, lower, upper))
    return tuple(
        check_parameter(block, Parameter(f"{symbol}[{i},{j}]", float(starts[i, j]), float(lows[i, j]), float(highs[i, j])))
        for i, j in np.ndindex(shape)
    )


def read_matrix(block: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a matrix (of a shape, own units) of a number or a matrix."""
    advice = "give one number for all"
    wrong = Finding("wrong-type", block, value, "a number, or a matrix of numbers", advice)
    array = read_array(wrong)
    if array.ndim and array.shape != shape:
        raise ModelError(Finding("wrong-shape", block, f"shape {array.shape}", f"shape {shape} (outputs, inputs)", advice))
    return np.broadcast_to(array, shape)


def tridiagonal_form(system: Any, order: int, shape: tuple[int, int], name: str) -> list[Array]:
    """Return A, B, C, D (own units) in coordinates in which A is tridiagonal: of modes, pairs as blocks of two."""
    given = Matrices.of(read_linear(f"start of {name}", system))
    if len(given.A) != order or given.D.shape != shape:
        got, expected = f"{len(given.A)} states, D {given.D.shape}", f"{order} states, D {shape}"
        raise ModelError(Finding("wrong-shape", f"start of {name}", got, expected, "reduce it first, or take its order"))
    poles, vectors = np.linalg.eig(given.A)
    columns, k = [], 0
    for k, pole in enumerate(poles):
        if pole.imag > 0:
            columns += [vectors[:, k].real, vectors[:, k].imag]
        elif not pole.imag:
            columns.append(vectors[:, k].real)
    basis = np.array(columns).T.reshape(order, order)
    back = np.linalg.pinv(basis)
    return [back @ given.A @ basis, back @ given.B, given.C @ basis, given.D]


def schedule_terms(name: str, kind: Any) -> tuple[int, Callable[[Mapping[str, float]], Array]]:
    """Return how many terms a scheduling parameter has, and their values: powers, or hats about places but the first."""
    if isinstance(kind, int) and not isinstance(kind, bool) and kind >= 0:
        powers = np.arange(1, kind + 1)
        return kind, lambda rho: _value_of(rho, name) ** powers
    expected = "a degree, or two places or more in ascending order"
    wrong = Finding("bad-value", f"over[{name!r}]", kind, expected, 'such as {"angle": 2}')
    places = read_array(wrong, lambda places: places.ndim == 1 and len(places) > 1 and (np.diff(places) > 0).all())
    hats = np.eye(len(places))[:, 1:]
    return len(places) - 1, lambda rho: np.array([np.interp(_value_of(rho, name), places, hat) for hat in hats.T])


def _value_of(rho: Mapping[str, float], name: str) -> float:
    if name not in rho:
        known = f"one of {', '.join(rho)}" if rho else "a parameter of plants that have some"
        advice = "tune on an LPVModel over it, and call the scheduled controller with all its parameters"
        raise ModelError(Finding("unknown-parameter", "over", name, known, advice))
    return float(rho[name])
