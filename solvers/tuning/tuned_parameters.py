"""Tuned numbers of blocks: their names, starts, bounds and units, and what users give in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import read_linear

#: Parameters of filters that are positive numbers; others are gains.
_POSITIVE = ("time", "zero", "pole", "frequency", "depth", "damping")
#: Powers of 1/s in parameters of filters.
_RATES = {"ki": 1, "kd": -1, "time": -1, "zero": 1, "pole": 1, "frequency": 1}
#: Bounds of parameters by name.
Bounds = Mapping[str, tuple[float, float]] | None


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
    return value is not None and not np.any(value)


def check_bounds(block: str, parameter: Parameter) -> Parameter:
    """Refuse bounds that exclude everything, or the start."""
    name = f"{block}.{parameter.name}"
    if not parameter.lower <= parameter.upper:
        got = f"{parameter.lower:g} to {parameter.upper:g}"
        raise ModelError(Finding("bad-bounds", name, got, "a lower bound below the upper one", "exchange them"))
    if not np.isnan(parameter.start) and not parameter.is_inside(parameter.start):
        expected = f"a start between {parameter.lower:g} and {parameter.upper:g}"
        raise ModelError(Finding("bad-bounds", name, parameter.start, expected, "move the start, or widen the bounds"))
    return parameter


def named_parameters(block: str, starts: Mapping[str, Any], bounds: Bounds) -> tuple[Parameter, ...]:
    """Return the parameters of a filter by their names and starts."""
    limits = {name: (0.0, np.inf) for name in starts if name in _POSITIVE} | dict(bounds or {})
    for name in limits:
        if name not in starts:
            expected, advice = f"one of {', '.join(starts)}", "name a parameter of the block"
            raise ModelError(Finding("unknown-parameter", f"bounds of {block}", name, expected, advice))
    return tuple(
        check_bounds(
            block,
            Parameter(
                name,
                np.nan if start is None else float(start),
                *limits.get(name, (-np.inf, np.inf)),
                _RATES.get(name, 0),
                name not in _POSITIVE,
            ),
        )
        for name, start in starts.items()
    )


def matrix_entries(
    symbol: str, shape: tuple[int, int], start: Any, lower: Any = -np.inf, upper: Any = np.inf, block: str = ""
) -> tuple[Parameter, ...]:
    """Return the entries of a matrix as parameters, row by row."""
    starts, lows, highs = (_matrix(block, value, shape) for value in (np.nan if start is None else start, lower, upper))
    return tuple(
        check_bounds(block, Parameter(f"{symbol}[{i},{j}]", float(starts[i, j]), float(lows[i, j]), float(highs[i, j])))
        for i, j in np.ndindex(shape)
    )


def _matrix(block: str, value: Any, shape: tuple[int, int]) -> Array:
    array = np.asarray(value, dtype=float)
    if array.ndim and array.shape != shape:
        raise ModelError(
            Finding("wrong-shape", block, f"shape {array.shape}", f"shape {shape} (outputs, inputs)", "give one number for all")
        )
    return np.broadcast_to(array, shape)


def tridiagonal_form(system: Any, order: int, shape: tuple[int, int], name: str) -> list[Array]:
    """Return a state space in coordinates in which A is tridiagonal: of its modes, pairs as blocks of two."""
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
        return kind, lambda rho: float(rho[name]) ** powers
    places = real_array(kind)
    if places is None or places.ndim != 1 or len(places) < 2 or not (np.diff(places) > 0).all():
        expected = "a degree, or two places or more in ascending order"
        raise ModelError(Finding("bad-value", f"over[{name!r}]", kind, expected, 'such as {"angle": 2}'))
    hats = np.eye(len(places))[:, 1:]
    return len(places) - 1, lambda rho: np.array([np.interp(rho[name], places, hat) for hat in hats.T])
