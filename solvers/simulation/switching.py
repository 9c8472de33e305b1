"""Steps that end where something switches: where a gap of a block, joint or interaction changes its sign (see `gaps`).

After a step each gap is looked at where it ends, and its rate at both ends. Where the curve through these stays away from zero
there is no more to do. Others are looked at within the step too: also where they come to zero and leave it on the same side.
What is found first ends the step: methods of one step make it anew, up to there, so that no stage of it has felt what is
behind; of others what they say between their steps is taken. Whoever integrates begins anew from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.ports.guards import NEARNESS, RATE, ROUNDED, SIDE, VALUE
from titop.solvers.simulation.plant import Plant

#: Into how many parts a step is split where something may switch within: the longest are about a quarter of a period.
PARTS = 8
#: How exactly a step ends where something switches, and over which part of a step rates are differences.
_EXACT, _RATE = 1e-6, 1e-4
#: Gaps that come beyond zero by less than this part of what they change by only touch it.
_TOUCHING = 1e-12
#: Evaluations to find where one passes zero: multiple zeros want several times as many as bisection.
_MOST = 1000
_ROUNDING = float(np.finfo(float).eps)


class Solver(Protocol):
    """A solver as far as its last step is looked at; see `Stepper` of `constrained_integration`."""

    @property
    def t(self) -> float: ...

    @property
    def begin(self) -> float: ...

    @property
    def is_clear(self) -> bool | None: ...


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
        self._plant, self.begin, self.end, self._states = plant, begin, end, states
        self._step, self.exact = _RATE * (end - begin), _EXACT * (end - begin) + 4 * _ROUNDING * abs(end)

    def prepare(self, times: Sequence[float]) -> None:
        """Let the states that gaps and their rates at some times want be found at once: by positions, one for each time."""
        self._states([*times, *(t + self._aside(t) for t in times if self._plant.gaps.follow_rates)])

    def _aside(self, t: float) -> float:
        """Return a time from t to one beside it."""
        return self._step if t < 0.5 * (self.begin + self.end) else -self._step

    def gaps_at(self, t: float, y: Array) -> Array:
        """Return the gaps at a state."""
        return self._plant.gaps.at(*self._plant.split(t, y))

    def gaps(self, t: float) -> Array:
        """Return the gaps at a time within."""
        return self.gaps_at(t, self._states([t])[0])

    def rates(self, t: float, gaps: Array) -> Array:
        """Return the rates of the `gaps` at a time within."""
        if not self._plant.gaps.follow_rates:
            return self.end_rates(t, self._states([t])[0], gaps)
        step = self._aside(t)
        rates: Array = (self.gaps(t + step) - gaps) / step
        return rates

    def end_rates(self, t: float, y: Array, gaps: Array) -> Array:
        """Return the rates of the `gaps` at one of the ends, where the state is y."""
        if self._plant.gaps.follow_rates:
            return self.rates(t, gaps)
        q, v = self._plant.split(t, y)
        return self._plant.gaps.rows(q[None], v[None], self._step)[1][0]


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
        self._plant, self._at, (q, v) = plant, math.nan, plant.split(span[0], y)
        self._gaps, self._rates = (x[0] for x in plant.gaps.rows(q[None], v[None], _EXACT * (span[1] - span[0])))
        self._sides = np.sign(self._gaps)
        self._guards = plant.guards
        self.is_guarded = bool(len(self._guards))
        if self.is_guarded:
            self._guards[:, ROUNDED] = plant.gaps.rounding
        self.go_back()

    def go_back(self) -> None:
        """Let compiled code, if it guards the gaps, know them at the beginning of a step that is made next."""
        if self.is_guarded:
            self._guards[:, SIDE], self._guards[:, VALUE], self._guards[:, RATE] = self._sides, self._gaps, self._rates

    def clears(self, solver: Solver, y: Array) -> bool:
        """Tell whether compiled code has seen, or sees, that nothing switches in the last step of a solver to a state."""
        if not self.is_guarded:
            return False
        if solver.is_clear is None:
            return self._plant.clears(solver.t, y, solver.t - solver.begin)
        return solver.is_clear

    def first(self, within: Within, before: Array, after: Array) -> tuple[float, Array]:
        """Return when (s) something switches first in a step between two states, endless if nothing does, and what (mask)."""
        begin, end = within.begin, within.end
        if self._at != begin:
            self._at, self._gaps = begin, within.gaps_at(begin, before)
            self._rates = within.end_rates(begin, before, self._gaps)
            self._sides = np.where(self._sides == 0, np.sign(self._rates), self._sides)
        self._after = within.gaps_at(end, after)
        self._after_rates = within.end_rates(end, after, self._after)
        near = self._near(end - begin)
        found = self._look(within, near) if len(near) else {}
        first = min(found.values(), default=math.inf)
        switched = np.zeros(len(self._gaps), dtype=bool)
        for k, t in found.items():
            switched[k] = t <= first + within.exact
        return first, switched

    def _near(self, h: float) -> Array:
        """Return which gaps may come to zero in a step of length h: a cubic stays above its four control points.

        Those that are zero up to rounding, and stay so, do not come there.
        """
        sides, change = self._sides, np.abs(self._after - self._gaps)
        begin, end, out, into = sides * self._gaps, sides * self._after, h / 3 * self._rates, h / 3 * self._after_rates
        least = np.minimum(np.minimum(begin, begin + sides * out), np.minimum(end, end - sides * into))
        size = np.maximum(change, 3 * np.maximum(np.abs(out), np.abs(into)))
        is_none = np.maximum(np.maximum(np.abs(self._gaps), np.abs(self._after)), size) <= self._plant.gaps.rounding
        return np.flatnonzero((~(least > NEARNESS * size) | (sides == 0)) & ~is_none)

    def _look(self, within: Within, near: Array) -> dict[int, float]:
        """Return when gaps that come `near` to zero in a step switch first, of those that do."""
        h = within.end - within.begin
        inner = [within.begin + k / PARTS * h for k in range(1, PARTS)]
        within.prepare(inner)
        gaps = [self._gaps, *(within.gaps(t) for t in inner), self._after]
        rates = [self._rates, *(within.rates(t, gap) for t, gap in zip(inner, gaps[1:], strict=False)), self._after_rates]
        times, found = [within.begin, *inner, within.end], dict[int, float]()
        for k in near.tolist():
            curve = _Curve(within, k, times, np.array(gaps)[:, k], np.array(rates)[:, k])
            side = self._sides[k] or curve.first_sign()
            t = curve.leaves(side)
            if t <= within.begin + within.exact:  # it was on the other side from the beginning
                side = -side
                t = curve.leaves(side)
            if t <= within.begin + within.exact:
                side, t = curve.last_sign(), math.inf
            self._sides[k] = side
            if t < math.inf:
                found[k] = t
        return found

    def stuck(self, cut: Array) -> Array:
        """Return which of those gaps that `cut` the step (mask) have come no nearer: rounding keeps them from switching."""
        return cut & (self._sides * (self._after - self._gaps) >= 0)

    def go_on(self, within: Within, switched: Array, stuck: Array) -> None:
        """Go on from the end of the step that was looked at last, where some gaps have switched, of these some by `stuck`."""
        self._at, self._gaps, self._rates = within.end, self._after, self._after_rates
        beyond = ~stuck & (np.abs(self._gaps) > within.exact * np.abs(self._rates))
        moved = np.where(self._rates == 0, -self._sides, np.sign(self._rates))
        self._sides = np.where(beyond, np.sign(self._gaps), np.where(switched, moved, self._sides))
        self.go_back()


class _Curve:
    """A gap within a step, known at some times with its rates."""

    def __init__(self, within: Within, k: int, times: list[float], values: Array, rates: Array) -> None:
        self._within, self._k, self._times = within, k, times
        self._values, self._rates = values.tolist(), rates.tolist()
        self._touching = _TOUCHING * float(np.abs(values).max())

    def first_sign(self) -> float:
        """Return the sign with which it begins, zero if it stays there."""
        return next((math.copysign(1.0, value) for value in self._values if value != 0), 0.0)

    def last_sign(self) -> float:
        """Return the sign with which it ends."""
        return float(np.sign(self._values[-1]))

    def leaves(self, side: float) -> float:
        """Return when it leaves a side on which it is at the beginning, endless if it does not."""
        if side == 0:
            return math.inf
        times, values, rates = self._times, self._values, self._rates
        for j in range(len(times) - 1):
            ends = side * values[j], side * values[j + 1], side * rates[j], side * rates[j + 1]
            if (t := self._leaves(side, (times[j], times[j + 1]), *ends)) < math.inf:
                return t
        left, fall = side * values[-1], -side * rates[-1]
        return times[-1] if left <= fall * self._within.exact else math.inf

    def _leaves(self, side: float, span: tuple[float, float], a: float, b: float, rate_a: float, rate_b: float) -> float:
        """Return so for a part of the step with the gap and its rates at the ends, positive on its side."""
        if a > 0 >= b:
            return self._zero(side, span, a, b)
        if b > 0:
            if a <= 0 and rate_a < 0:
                return span[0]
            if not (a > 0 and rate_a < 0 < rate_b):
                return math.inf
            turn = self._turn(side, span, rate_a, rate_b)
            least = side * self._value(turn)
            return self._zero(side, (span[0], turn), a, least) if least < -self._touching else math.inf
        if rate_a > 0 > rate_b:
            turn = self._turn(side, span, rate_a, rate_b)
            most = side * self._value(turn)
            return self._zero(side, (turn, span[1]), most, b) if most > 0 else span[0]
        return span[0]

    def _value(self, t: float) -> float:
        return float(self._within.gaps(t)[self._k])

    def _rate(self, t: float) -> float:
        return float(self._within.rates(t, self._within.gaps(t))[self._k])

    def _zero(self, side: float, span: tuple[float, float], a: float, b: float) -> float:
        """Return where it is zero, about; at the ends it is a and b, positive on its side."""
        return self._passing(lambda t: side * self._value(t), span, (a, b), 0.01 * self._within.exact)

    def _turn(self, side: float, span: tuple[float, float], a: float, b: float) -> float:
        """Return where the rate, a and b at the ends, changes its sign, about."""
        return self._passing(lambda t: side * self._rate(t), span, (a, b), self._within.exact)

    def _passing(
        self, f: Callable[[float], float], span: tuple[float, float], ends: tuple[float, float], exact: float
    ) -> float:
        """Return where f passes zero between ends at which its values, of unlike signs, are known.

        These are taken as they are: curves of methods of several steps do not begin where those before them ended.
        """
        known = dict(zip(span, ends, strict=True))
        if len(known) == 1:
            return span[0]
        return float(brentq(lambda t: known[t] if t in known else f(t), *span, xtol=exact, rtol=4 * _ROUNDING, maxiter=_MOST))
