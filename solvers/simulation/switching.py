"""Steps that end where something switches: where a gap of a block, joint or interaction changes its sign (see `gaps`).

After a step each gap is looked at where it ends, and its rate at both ends. Where the curve through these stays away from zero
there is no more to do. Others are looked at within the step too: also where they come to zero and leave it on the same side.
What is found first ends the step: methods of one step make it anew, up to there, so that no stage of it has felt what is
behind; of others what they say between their steps is taken. Whoever integrates begins anew from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.entries.gap_entries import lateness, look_at_ends, switch
from titop.solvers.kernels.ports.guards import (
    BEFORE,
    CLOSE,
    EXACT,
    FINER,
    GUARD_COLUMNS,
    NEARNESS,
    PARTS,
    RATE,
    RATE_BEFORE,
    ROUNDED,
    SIDE,
    SWITCHED,
    VALUE,
    exactness,
)
from titop.solvers.simulation.cubics import Ends
from titop.solvers.simulation.plant import Plant

#: Over which part of a step rates are differences.
_RATE = 1e-4
#: Gaps that come beyond zero by less than this part of what they change by only touch it.
_TOUCHING = 1e-12
#: How often gaps are asked for a zero at most.
_MOST = 200


class Within:
    """States within a step, and the gaps there.

    Parameters
    ----------
    plant : Plant
    begin, end : float, s
    states : callable ``f(times)``
        States within, on the closures.

    Attributes
    ----------
    exact : float, s
        Times closer than this are the same.
    """

    def __init__(self, plant: Plant, begin: float, end: float, states: Callable[[Sequence[float]], list[Array]]) -> None:
        self.plant, self.begin, self.end, self._states = plant, begin, end, states
        self._step, self.exact = _RATE * (end - begin), exactness(end - begin, end)

    def look(self, times: Sequence[float]) -> tuple[Array, Array]:
        """Return the gaps (m, n) at times (m) within, and their rates; both ends are within."""
        gaps = self.plant.gaps
        if not gaps.follow_rates:
            return gaps.rows(*self._split(times), self._step)
        steps = np.array([self._aside(t) for t in times])
        q, v = self._split([*times, *(np.array(times) + steps).tolist()])
        here, aside = np.split(np.array([gaps.at(*state) for state in zip(q, v, strict=True)]), 2)
        return here, (aside - here) / steps[:, None]

    def _split(self, times: Sequence[float]) -> tuple[Array, Array]:
        return self.plant.split_rows(np.array(times), np.array(self._states(times)))

    def _aside(self, t: float) -> float:
        """Return a time from t to one beside it."""
        return self._step if t < 0.5 * (self.begin + self.end) else -self._step


class Switching:
    """The gaps of a plant, followed step by step.

    Parameters
    ----------
    plant : Plant
    span : (float, float), s
        From when to when it is followed.
    y : array
        State at the beginning.

    Attributes
    ----------
    is_guarded : bool
        Whether compiled code looks at all gaps itself, and tells where to look closer.
    """

    def __init__(self, plant: Plant, span: tuple[float, float], y: Array) -> None:
        self._plant, self._at = plant, span[0]
        q, v = plant.split(span[0], y)
        gaps, self.is_guarded = plant.gaps, plant.gaps.is_guarded
        #: What is known of the gaps, in the columns of guards: those that compiled code sees, if it does.
        self._known = plant.guards if self.is_guarded else np.zeros((gaps.count, GUARD_COLUMNS))
        values, rates = gaps.rows(q[None], v[None], EXACT * (span[1] - span[0]))
        self._known[:, VALUE], self._known[:, RATE], self._known[:, SIDE] = values[0], rates[0], np.sign(values[0])
        self._known[:, ROUNDED] = gaps.rounding

    @property
    def counts(self) -> Array:
        """How often each gap has switched (n)."""
        counts: Array = self._known[:, SWITCHED]
        return counts

    def go_back(self, within: Within) -> None:
        """Go back to the beginning of the step that was looked at last."""
        known, self._at = self._known, within.begin
        known[:, VALUE], known[:, RATE] = known[:, BEFORE], known[:, RATE_BEFORE]

    def clears(self, within: Within, y: Array, is_clear: bool | None) -> bool:
        """Look where the gaps are at the end of a step, to the state y; tell whether nothing switches in it.

        `is_clear` is what compiled code that guards all gaps has said of it, None if it has not looked.
        """
        if self.is_guarded:
            return self._plant.clears(within.end, y, within.end - within.begin) if is_clear is None else is_clear
        known = self._known
        if self._at != within.begin:
            self._write(within, within.begin)
        known[:, BEFORE], known[:, RATE_BEFORE] = known[:, VALUE], known[:, RATE]
        self._write(within, within.end)
        look_at_ends(within.end - within.begin, known)
        return not known[:, CLOSE].any()

    def _write(self, within: Within, t: float) -> None:
        self._at, (values, rates) = t, within.look([t])
        self._known[:, VALUE], self._known[:, RATE] = values[0], rates[0]

    def first(self, within: Within) -> tuple[float, Array]:
        """Return when (s) something switches first in a step that is not clear, endless if nothing does, and what (mask)."""
        known = self._known
        near = np.flatnonzero(known[:, CLOSE])
        inner = [within.begin + k / PARTS * (within.end - within.begin) for k in range(1, PARTS)]
        inside = within.look(inner)
        times, found = [within.begin, *inner, within.end], np.full(len(known), math.inf)
        for k in near.tolist():
            values = [known.item(k, BEFORE), *inside[0][:, k].tolist(), known.item(k, VALUE)]
            rates = [known.item(k, RATE_BEFORE), *inside[1][:, k].tolist(), known.item(k, RATE)]
            curve = _Curve(within, k, times, values, rates)
            side = known.item(k, SIDE) or _sign(rates[0]) or curve.first_sign()
            t = curve.leaves(side)
            if t <= within.begin + within.exact:  # it was on the other side from the beginning
                side = -side
                t = curve.leaves(side)
            if t <= within.begin + within.exact:
                side, t = curve.last_sign(), math.inf
            known[k, SIDE], found[k] = side, t
        first = float(found.min())
        return first, (found <= first + within.exact) & (found < math.inf)

    def late(self) -> float:
        """Return by how much (s) the step ends too late for what switches first; too soon if it is negative."""
        return float(lateness(self._known))

    def go_on(self, within: Within, cut: Array) -> bool:
        """Go on from the end of the step that was looked at last, which some gaps have `cut` (mask); tell whether any switch.

        Those that cut it and have come no nearer switch as well: rounding keeps them from zero.
        """
        known, sides = self._known, self._known[:, SIDE].copy()
        before, stuck = self.counts.copy(), cut & (sides * (known[:, VALUE] - known[:, BEFORE]) >= 0)
        found = switch(known, within.exact) > 0
        stuck &= self.counts == before
        if stuck.any():
            rates = known[stuck, RATE]
            known[stuck, SIDE] = np.where(rates == 0, -sides[stuck], np.sign(rates))
            known[stuck, SWITCHED] += 1
        return found or bool(stuck.any())


def _sign(value: float) -> float:
    return float((value > 0) - (value < 0))


class _Curve:
    """A gap within a step, known at some times with its rates."""

    def __init__(self, within: Within, k: int, times: list[float], values: list[float], rates: list[float]) -> None:
        self._within, self._k, self._times = within, k, times
        self._values, self._rates = values, rates
        self._touching = _TOUCHING * max(map(abs, values))

    def first_sign(self) -> float:
        """Return the sign with which it begins, zero if it stays there."""
        return next((math.copysign(1.0, value) for value in self._values if value != 0), 0.0)

    def last_sign(self) -> float:
        """Return the sign with which it ends."""
        return _sign(self._values[-1])

    def leaves(self, side: float) -> float:
        """Return when it leaves a side on which it is at the beginning, endless if it does not."""
        if side == 0:
            return math.inf
        times, values, rates = self._times, self._values, self._rates
        for j in range(len(times) - 1):
            at_ends = side * values[j], side * values[j + 1], side * rates[j], side * rates[j + 1]
            if (t := self._leaves(side, Ends(times[j], times[j + 1], *at_ends))) < math.inf:
                return t
        left, fall = side * values[-1], -side * rates[-1]
        return times[-1] if left <= fall * self._within.exact else math.inf

    def _leaves(self, side: float, part: Ends) -> float:
        """Return so for a part of the step, the gap positive on its side."""
        if part.a > 0 >= part.b:
            return self._zero(side, part)
        if part.b > 0:
            if part.a <= 0 and part.rate_a < 0:
                return part.begin
            if not (part.a > 0 and part.rate_a < 0 < part.rate_b) or part.stays_above(NEARNESS):
                return math.inf
            low = self._bottom(side, part, -self._touching)
            return math.inf if low is None else self._zero(side, part.until(*low))
        if part.rate_a > 0 > part.rate_b:
            high = self._bottom(-side, part.opposite(), 0.0)
            return part.begin if high is None else self._zero(side, part.opposite().since(*high).opposite())
        return part.begin

    def _at(self, side: float, t: float) -> tuple[float, float]:
        """Return the gap and its rate at a time, positive on a side."""
        gaps, rates = self._within.look([t])
        return side * gaps.item(0, self._k), side * rates.item(0, self._k)

    def _zero(self, side: float, part: Ends) -> float:
        """Return where it is zero, about, in a part of the step at whose ends its signs are unlike."""
        exact, width, slow = FINER * self._within.exact, part.end - part.begin, False
        for _ in range(_MOST):
            t = 0.5 * (part.begin + part.end) if slow else part.zero()
            if part.end - part.begin <= exact:
                break
            value, rate = self._at(side, t)
            if value == 0.0:
                return t
            if abs(value) <= -rate * exact:
                return min(max(t - value / rate, part.begin), part.end)
            part = part.since(t, value, rate) if value > 0 else part.until(t, value, rate)
            slow, width = part.end - part.begin > 0.5 * width, part.end - part.begin
        return t

    def _bottom(self, side: float, part: Ends, below: float) -> tuple[float, float, float] | None:
        """Return a time at which it is lower than `below`, between fall and rise, with value and rate; None if it is not."""
        width, slow = part.end - part.begin, False
        for _ in range(_MOST):
            t = 0.5 * (part.begin + part.end) if slow else part.bottom()
            value, rate = self._at(side, t)
            if value < below:
                return t, value, rate
            part = part.since(t, value, rate) if rate < 0 else part.until(t, value, rate)
            left = part.end - part.begin
            if value - below > abs(rate) * left or left <= self._within.exact:
                return None
            slow, width = left > 0.5 * width, left
        return None
