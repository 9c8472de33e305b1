"""Steps that end at switches: where a gap of a block, joint or interaction changes its sign (see `gaps`).

After a step each gap is evaluated at its end, and its time derivative at both ends. If the cubic through these stays away from
zero, nothing switches. Otherwise the gap is examined within the step too, also where it touches zero on one side only. The
first switch ends the step. One-step methods repeat the step up to there, so that no stage lies behind the switch; others
are interpolated. The integration begins anew from there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import ROUNDING
from titop.solvers.kernels.entries.gap_entries import lateness, look_at_ends, switch
from titop.solvers.kernels.ports import guards
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.steppers import LastStep

#: Gaps that pass zero by less than this part of their change only touch it.
_TOUCHING = ROUNDING
#: Most evaluations of a gap in search of a zero.
_MOST = 200


class Switching:
    """The gaps of a plant, followed step by step.

    - `span` (float, float), s: begin and end of the integration;
    - `y`: state at the beginning;
    - `is_guarded`: whether compiled code checks all gaps itself, and tells when to look closer.
    """

    def __init__(self, plant: DrivenModel, span: tuple[float, float], y: Array) -> None:
        self._plant, self._at = plant, span[0]
        q, v = plant.split(span[0], y)
        gaps, self.is_guarded = plant.gaps, plant.gaps.is_guarded
        #: The latest values of the gaps, in the columns of guards: compiled code's own, if it checks them.
        self._known = plant.gaps.step_guards if self.is_guarded else np.zeros((gaps.count, guards.GUARD_COLUMNS))
        values, rates = gaps.rows(q[None], v[None], guards.LOCATED * (span[1] - span[0]))
        self._known[:, guards.VALUE], self._known[:, guards.RATE] = values[0], rates[0]
        self._known[:, guards.SIDE], self._known[:, guards.ROUNDED] = np.sign(values[0]), gaps.rounding

    @property
    def counts(self) -> Array:
        """Number of switches of each gap (n)."""
        return self._known[:, guards.SWITCHED]

    def memory(self) -> Array:
        """Return the gaps' values, rates and sides (3, n) at the end of the last step."""
        return self._known[:, [guards.VALUE, guards.RATE, guards.SIDE]].T

    def recall(self, memory: Array) -> None:
        """Go on as after the step that left a `memory`."""
        self._known[:, [guards.VALUE, guards.RATE, guards.SIDE]] = memory.T

    def go_back(self, step: LastStep) -> None:
        """Return to the beginning of the step examined last."""
        known, self._at = self._known, step.begin
        known[:, guards.VALUE], known[:, guards.RATE] = known[:, guards.BEFORE], known[:, guards.RATE_BEFORE]

    def clears(self, step: LastStep, y: Array, is_clear: bool | None) -> bool:
        """Evaluate the gaps at the end of a step, at the state y; tell whether nothing switches in it.

        `is_clear` is the answer of compiled code that guards all gaps, None if it has not checked.
        """
        gaps = self._plant.gaps
        if self.is_guarded:
            if is_clear is None:
                is_clear = gaps.stay_clear(step.end - step.begin, *self._plant.split(step.end, y))
            return is_clear
        known = self._known
        if self._at != step.begin:
            self._write(step, step.begin)
        known[:, guards.BEFORE], known[:, guards.RATE_BEFORE] = known[:, guards.VALUE], known[:, guards.RATE]
        self._write(step, step.end)
        look_at_ends(step.end - step.begin, known)
        return not known[:, guards.CLOSE].any()

    def _write(self, step: LastStep, t: float) -> None:
        self._at, (values, rates) = t, step.gaps([t])
        self._known[:, guards.VALUE], self._known[:, guards.RATE] = values[0], rates[0]

    def first(self, step: LastStep) -> tuple[float, Array]:
        """Return the time (s) of the first switch in a step that is not clear, infinite if none, and its gaps (mask)."""
        known = self._known
        near = np.flatnonzero(known[:, guards.CLOSE])
        inner = step.split()
        inside = step.gaps(inner)
        times, leaving = [step.begin, *inner, step.end], np.full(len(known), math.inf)
        for k in near.tolist():
            values = [known.item(k, guards.BEFORE), *inside[0][:, k].tolist(), known.item(k, guards.VALUE)]
            rates = [known.item(k, guards.RATE_BEFORE), *inside[1][:, k].tolist(), known.item(k, guards.RATE)]
            curve = _Curve(step, k, times, values, rates)
            side = known.item(k, guards.SIDE) or _sign(rates[0]) or curve.first_sign()
            t = curve.leaves(side)
            if t <= step.begin + step.exact:  # it was on the other side already
                side = -side
                t = curve.leaves(side)
            if t <= step.begin + step.exact:
                side, t = curve.last_sign(), math.inf
            known[k, guards.SIDE], leaving[k] = side, t
        first = float(leaving.min())
        return first, (leaving <= first + step.exact) & (leaving < math.inf)

    def late(self) -> float:
        """Return by how much (s) the step ends after the first switch; negative if it ends before."""
        return float(lateness(self._known))

    def go_on(self, step: LastStep, cut: Array) -> bool:
        """Continue from the end of the step examined last, which some gaps have `cut` (mask); tell whether any of them switch.

        Gaps that cut the step and have come no closer to zero switch as well: rounding keeps them from zero.
        """
        known, sides = self._known, self._known[:, guards.SIDE].copy()
        before, stuck = self.counts.copy(), cut & (sides * (known[:, guards.VALUE] - known[:, guards.BEFORE]) >= 0)
        switches = switch(known, step.exact) > 0
        stuck &= self.counts == before
        if stuck.any():
            rates = known[stuck, guards.RATE]
            known[stuck, guards.SIDE] = np.where(rates == 0, -sides[stuck], np.sign(rates))
            known[stuck, guards.SWITCHED] += 1
        return switches or bool(stuck.any())


class Cubic(NamedTuple):
    """Values and slopes of a curve at two times (s), at which it is positive (a), or falls, and is not (b), or rises."""

    begin: float
    end: float
    a: float
    b: float
    rate_a: float
    rate_b: float

    def since(self, t: float, value: float, rate: float) -> Cubic:
        """Return the part after a time between."""
        return Cubic(t, self.end, value, self.b, rate, self.rate_b)

    def until(self, t: float, value: float, rate: float) -> Cubic:
        """Return the part before a time between."""
        return Cubic(self.begin, t, self.a, value, self.rate_a, rate)

    def opposite(self) -> Cubic:
        """Return the same with the other sign."""
        return Cubic(self.begin, self.end, -self.a, -self.b, -self.rate_a, -self.rate_b)

    def stays_above(self, part: float) -> bool:
        """Tell whether all control points of the cubic are above zero by more than a `part` of its change."""
        third = (self.end - self.begin) / 3
        out, into = third * self.rate_a, third * self.rate_b
        size = max(abs(self.b - self.a), 3 * abs(out), 3 * abs(into))
        return min(self.a, self.a + out, self.b, self.b - into) > part * size

    def zero(self) -> float:
        """Return a time at which the cubic is zero; it is positive at the first end and negative at the second."""
        h = self.end - self.begin
        return self.begin + h * float(guards.zero_between(h, self.a, self.b, self.rate_a, self.rate_b))

    def bottom(self) -> float:
        """Return the time of the cubic's minimum; it falls at the first end, and rises at the second."""
        h = self.end - self.begin
        p, r = h * self.rate_a, h * self.rate_b
        c, d = 3 * (self.b - self.a) - 2 * p - r, 2 * (self.a - self.b) + p + r
        root = math.sqrt(max(c * c - 3 * d * p, 0.0))
        x = -p / (c + root) if c + root > 0 else 0.5
        return self.begin + min(max(x, 0.0), 1.0) * h


def _sign(value: float) -> float:
    return float((value > 0) - (value < 0))


class _Curve:
    """A gap within a step, known at some times with its time derivatives."""

    def __init__(self, step: LastStep, k: int, times: list[float], values: list[float], rates: list[float]) -> None:
        self._step, self._k, self._times = step, k, times
        self._values, self._rates = values, rates
        self._touching = _TOUCHING * max(map(abs, values))

    def first_sign(self) -> float:
        """Return its first sign, zero if it stays at zero."""
        return next((math.copysign(1.0, value) for value in self._values if value != 0), 0.0)

    def last_sign(self) -> float:
        """Return its last sign."""
        return _sign(self._values[-1])

    def leaves(self, side: float) -> float:
        """Return when it leaves the side on which it begins, infinite if it does not."""
        if side == 0:
            return math.inf
        times, values, rates = self._times, self._values, self._rates
        for j in range(len(times) - 1):
            at_ends = side * values[j], side * values[j + 1], side * rates[j], side * rates[j + 1]
            if (t := self._leaves(side, Cubic(times[j], times[j + 1], *at_ends))) < math.inf:
                return t
        left, fall = side * values[-1], -side * rates[-1]
        return times[-1] if left <= fall * self._step.exact else math.inf

    def _leaves(self, side: float, part: Cubic) -> float:
        """Return the same for a part of the step, with the gap positive on its side."""
        if part.a > 0 >= part.b:
            return self._zero(side, part)
        if part.b > 0:
            if part.a <= 0 and part.rate_a < 0:
                return part.begin
            if not (part.a > 0 and part.rate_a < 0 < part.rate_b) or part.stays_above(guards.NEARNESS):
                return math.inf
            low = self._bottom(side, part, -self._touching)
            return math.inf if low is None else self._zero(side, part.until(*low))
        if part.rate_a > 0 > part.rate_b:
            high = self._bottom(-side, part.opposite(), 0.0)
            return part.begin if high is None else self._zero(side, part.opposite().since(*high).opposite())
        return part.begin

    def _at(self, side: float, t: float) -> tuple[float, float]:
        """Return the gap and its slope at a time, positive on a side."""
        gaps, rates = self._step.gaps([t])
        return side * gaps.item(0, self._k), side * rates.item(0, self._k)

    def _zero(self, side: float, part: Cubic) -> float:
        """Return an approximate zero in a part of the step with different signs at its ends."""
        exact, width, slow = guards.FINER * self._step.exact, part.end - part.begin, False
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

    def _bottom(self, side: float, part: Cubic, below: float) -> tuple[float, float, float] | None:
        width, slow = part.end - part.begin, False
        for _ in range(_MOST):
            t = 0.5 * (part.begin + part.end) if slow else part.bottom()
            value, rate = self._at(side, t)
            if value < below:
                return t, value, rate
            part = part.since(t, value, rate) if rate < 0 else part.until(t, value, rate)
            left = part.end - part.begin
            if value - below > abs(rate) * left or left <= self._step.exact:
                return None
            slow, width = left > 0.5 * width, left
        return None
