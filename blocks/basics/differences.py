"""Derivatives by real differences, with steps that adapt to the function: results do not depend on units.

Six values give estimates of fourth and of sixth order. If the step is too long, the estimates differ by the truncation error;
if it is too short, by rounding. Their difference therefore measures how good a step is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, EPS, EXACT, FEW_ROUNDINGS

#: Offsets in steps, with their weights in the estimates of sixth and of fourth order.
_STENCIL = ((1, 3 / 4, 2 / 3), (2, -3 / 20, -1 / 12), (3, 1 / 60, 0.0))
#: Steps are chosen at a point this many steps away from the given one, which may be a point of symmetry.
_AWAY = 4
#: Difference of the estimates over the change of the function: of the best step (1 % of the radius of a circle); and the levels
#: at which a step is accepted, settled, or much too long.
_BEST, _ACCEPTED, _SETTLED, _BENT = EPS ** (2 / 3), EPS**0.5, 4 * FEW_ROUNDINGS, COARSE
#: Rounding over the change of the function, above which longer steps are tried.
_ROUNDED = EXACT
#: Difference of the estimates, or change of the function, over the rounding of its values: less is noise.
_NOISE = 1e3
#: Distances, in initial steps, at which a function is evaluated before it is taken as constant.
_REACHES = tuple(256.0**k for k in (0, 1, 2, 3, 4, -1, -2, -3, -4, -5))
_TRIALS = 40
#: Number of times that a step is shortened without effect: a nearby jump is seen until the step is much shorter.
_PATIENCE = 3


class _Estimate(NamedTuple):
    """A derivative, and over its stencil: the difference of two estimates, the change of the function, and its rounding.

    The last three are products of derivative and step.
    """

    slope: Array
    error: float
    change: float
    rounding: float

    @property
    def bends(self) -> bool:
        """Whether the step is too long."""
        return self.error > max(_ACCEPTED * self.change, _NOISE * self.rounding)

    @property
    def moves(self) -> bool:
        """Whether the function changes at all."""
        return self.change > _NOISE * self.rounding

    @property
    def doubt(self) -> float:
        """The relative error of the worse estimate."""
        return max(self.error, self.rounding) / (self.change or 1.0)


def derivative(function: Callable[[float], Any], step: float) -> Array:
    """Return the derivative of ``function(s)`` (numbers of any shape) at zero, of sixth order.

    The step is shortened if the truncation error is too large, and lengthened if rounding dominates, as long as the function
    does not raise `ModelError`. The arrays that the function returns may be reused by its next call.
    """

    def at(step: float) -> _Estimate:
        return _estimate([(np.array(function(k * step)), np.array(function(-k * step))) for k, *_ in _STENCIL], step)

    best, vain, shorter = at(step), 0, step
    while best.bends and vain < _PATIENCE:
        shorter /= 4
        finer = at(shorter)
        vain += 1
        if finer.doubt < best.doubt:
            best, vain, step = finer, 0, shorter
    while best.moves and best.rounding > max(_ROUNDED * best.change, best.error / _NOISE):
        step *= 16
        try:
            longer = at(step)
        except ModelError:  # for example a density that would become negative
            return best.slope
        if not (longer.moves and longer.doubt < best.doubt):
            return best.slope
        best = longer
    return best.slope


def settled_step(functions: Callable[[float], Sequence[Any]], start: float) -> float | None:
    """Return the step with the most accurate differences about zero, for all of several functions of a number.

    The search compares estimates, from `start` on; a function that fails counts as a too long step. None if nothing changes,
    or nothing is smooth.
    """
    step = next((start * reach for reach in _REACHES if _disagreement(functions, start * reach) is not None), None)
    best, least = None, _BENT
    for _ in range(_TRIALS):
        if step is None:
            break
        doubt = _disagreement(functions, step) or 0.0
        if 0.0 < doubt < least:
            best, least = step, doubt
        if doubt > _BENT:
            step /= 16
            continue
        if 0.0 < doubt < _SETTLED:
            return step
        above = _disagreement(functions, 4 * step) or 0.0
        if above < doubt / 2 or not doubt:  # rounding, which decreases for longer steps
            step *= 16
            continue
        better = 4 * step * float(_BEST / min(above, 1.0)) ** 0.25
        if step / 4 < better < 16 * step:
            return better
        step = better
    return best


def _disagreement(functions: Callable[[float], Sequence[Any]], step: float) -> float | None:
    """Return the largest difference of the functions' estimates over their changes; None if nothing changes."""
    try:
        with np.errstate(all="ignore"):
            rows = [[_copies(functions((_AWAY + side * k) * step)) for side in (1, -1)] for k, *_ in _STENCIL]
    except Exception:  # far away a user's function may raise anything
        return np.inf
    largest = None
    for part in range(len(rows[0][0])):
        with np.errstate(all="ignore"):
            estimate = _estimate([(ahead[part], behind[part]) for ahead, behind in rows], step)
        if not estimate.error < np.inf:
            return np.inf
        if estimate.moves:
            largest = max(largest or 0.0, estimate.doubt)
    return largest


def _copies(values: Sequence[Any]) -> list[Array]:
    """Return copies of results, since functions may reuse their arrays."""
    return [np.array(value) for value in values]


def _estimate(pairs: Sequence[tuple[Array, Array]], step: float) -> _Estimate:
    """Return the estimate from the values at one, two and three steps ahead and behind."""
    sixth: Any = 0.0
    fourth: Any = 0.0
    for (_, six, four), (ahead, behind) in zip(_STENCIL, pairs, strict=True):
        sixth, fourth = sixth + six * (ahead - behind), fourth + four * (ahead - behind)
    values = np.array([value for pair in pairs for value in pair])
    spread = np.abs(values - values[0]).max(initial=0.0)
    error = np.abs(sixth - fourth).max(initial=0.0)
    rounding = EPS * np.abs(values).max(initial=0.0)
    return _Estimate(np.asarray(sixth / step), float(error) if np.isfinite(error) else np.inf, float(spread), float(rounding))
