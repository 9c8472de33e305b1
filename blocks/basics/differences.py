"""Derivatives by real differences, whose steps follow the function: nothing here depends on units.

Six values give estimates of fourth and of sixth order. Where the step is long they disagree because the function bends, where
it is short because of rounding; comparing them tells a good step from a bad one.
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
#: Steps are sought around a place this many of them away from the given one, which may be one of symmetry.
_AWAY = 4
#: Disagreement over what the function changes: of the best step (1 % of the radius of a circle), and where a step is accepted,
#: settled, or much too long.
_BEST, _ACCEPTED, _SETTLED, _BENT = EPS ** (2 / 3), EPS**0.5, 4 * FEW_ROUNDINGS, COARSE
#: Rounding over what the function changes, above which longer steps are tried.
_ROUNDED = EXACT
#: Disagreement, or change of the function, over the rounding of its values: less is noise.
_NOISE = 1e3
#: Where, in first steps, a function is looked at before it is taken for constant.
_REACHES = tuple(256.0**k for k in (0, 1, 2, 3, 4, -1, -2, -3, -4, -5))
_TRIALS = 40
#: Steps are shortened this often without effect: a jump in reach shows until the step is much shorter.
_PATIENCE = 3


class _Estimate(NamedTuple):
    """A derivative, and over its stencil: how two estimates differ, how much the function changes, and its rounding.

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

    The step is shortened where the function bends too much for it, and lengthened where all is lost in rounding, as far as the
    function does not refuse (`ModelError`). What it returns may be overwritten when it is called again.
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
        except ModelError:  # as of a density: there it would be negative
            return best.slope
        if not (longer.moves and longer.doubt < best.doubt):
            return best.slope
        best = longer
    return best.slope


def settled_step(functions: Callable[[float], Sequence[Any]], start: float) -> float | None:
    """Return the step with which differences about zero are at their best for all of several functions of a number.

    Found by comparing estimates, from `start` on; a function that fails counts as one that bends. None where nothing changes,
    or nothing is smooth.
    """
    step = next((start * reach for reach in _REACHES if _disagreement(functions, start * reach) is not None), None)
    best, least = None, _BENT
    for _ in range(_TRIALS):
        if step is None:
            break
        found = _disagreement(functions, step) or 0.0
        if 0.0 < found < least:
            best, least = step, found
        if found > _BENT:
            step /= 16
            continue
        if 0.0 < found < _SETTLED:
            return step
        above = _disagreement(functions, 4 * step) or 0.0
        if above < found / 2 or not found:  # rounding, which longer steps make less of
            step *= 16
            continue
        better = 4 * step * float(_BEST / min(above, 1.0)) ** 0.25
        if step / 4 < better < 16 * step:
            return better
        step = better
    return best


def _disagreement(functions: Callable[[float], Sequence[Any]], step: float) -> float | None:
    """Return the largest disagreement of the functions' estimates over their changes; None if nothing changes."""
    try:
        with np.errstate(all="ignore"):
            rows = [[_kept(functions((_AWAY + side * k) * step)) for side in (1, -1)] for k, *_ in _STENCIL]
    except Exception:  # a user's function may refuse in any way what is far out
        return np.inf
    found = None
    for part in range(len(rows[0][0])):
        with np.errstate(all="ignore"):
            estimate = _estimate([(ahead[part], behind[part]) for ahead, behind in rows], step)
        if not estimate.error < np.inf:
            return np.inf
        if estimate.moves:
            found = max(found or 0.0, estimate.doubt)
    return found


def _kept(values: Sequence[Any]) -> list[Array]:
    """Return copies of what functions return, which they may use again."""
    return [np.array(value) for value in values]


def _estimate(pairs: Sequence[tuple[Array, Array]], step: float) -> _Estimate:
    """Return the estimate from the values ahead and behind, a step, two and three away."""
    sixth: Any = 0.0
    fourth: Any = 0.0
    for (_, six, four), (ahead, behind) in zip(_STENCIL, pairs, strict=True):
        sixth, fourth = sixth + six * (ahead - behind), fourth + four * (ahead - behind)
    values = np.array([value for pair in pairs for value in pair])
    spread = np.abs(values - values[0]).max(initial=0.0)
    error = np.abs(sixth - fourth).max(initial=0.0)
    rounding = EPS * np.abs(values).max(initial=0.0)
    return _Estimate(np.asarray(sixth / step), float(error) if np.isfinite(error) else np.inf, float(spread), float(rounding))
