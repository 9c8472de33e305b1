"""Proved bounds of goals over an uncertain family, for a tuned controller.

Gains are bounded by skew mu, as in `worst_case_gain`; places that are changed independently have a complex number each, as in
`margins`. A weight that is no system of the loop is constant in each of several bands of frequency. Poles are proved by
stability: all are left of ``-decay`` if the loop that is slower by that is robustly stable, they have a damping ratio if a loop
turned by its angle is, and are within a circle if, divided by its radius, they are those of a stable sampled loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.notebook import attributes_page, member_text
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure, channel_signals
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.peaks import Band
from titop.solvers.linear.state_space import named_system
from titop.solvers.robust.branch_and_bound import CELLS, cells_spread
from titop.solvers.robust.exact_margins import peak_of_all
from titop.solvers.robust.member_search import GainSearch
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import sweep
from titop.solvers.robust.uncertain_loop import UncertainLoop, balance, read_stable_loop, to_sampled
from titop.solvers.robust.worst_case_gain import SkewSweep, bound_performance
from titop.solvers.signals.exported import Signal
from titop.solvers.tuning.goal_terms import PeakTerm, PoleTerm
from titop.solvers.tuning.goals import Goal, Weight
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.objective import Objective, Requirement
from titop.solvers.tuning.plant_families import values_at
from titop.solvers.tuning.tuned_loop import AugmentedPlant, augment
from titop.solvers.tuning.worst_members import MemberSearch

#: How far a bound may be above the worst member found, relative, and how often it is raised by twice as much.
_TOLERANCE, _RAISES = 2 * COARSE, 6
#: Bands of frequency at most, and how many times wider the next one beside a frequency is, towards zero and infinity.
_BANDS, _WIDER = 400, 8.0
#: Parts of a band in which a weight and what stands in for it are compared.
_PARTS = 200
#: No weight.
_ONE = Matrices.constant(np.eye(1))


@dataclass(frozen=True)
class GoalProof:
    """Bounds of a goal's value over a whole family.

    Attributes
    ----------
    goal : Goal
    upper : float
        No member has more, at any frequency; infinite if nothing was proved. Of goals that do not bind it is that of those that
        do, which is proved sooner.
    lower : float
        That of the worst member found. Of margins of several loops at once it is the structured singular value, which the value
        that was tuned is above.
    member : dict
        Its parameters by name.
    reason : str
        Why nothing was proved.

    Examples
    --------
    >>> import control, titop as tt
    >>> names = {"inputs": ["w", "u"], "outputs": ["z", "y"]}
    >>> M = control.ss([[-1]], [[0.2, 1]], [[1], [1]], [[0, 0], [0, 0]], **names)
    >>> family = tt.LFTModel(M, (tt.DeltaBlock.real("a"),), ())
    >>> k = tt.Tunable.gain("k", "y", "u", start=1.0, lower=0, upper=9)
    >>> proof = tt.tune(family, k, [tt.Goal.poles(decay=2.0)], starts=1).proof[0]
    >>> proof.proved, bool(proof.lower <= proof.upper), proof.member
    (True, True, {'a': 1.0})
    """

    goal: Goal
    upper: float
    lower: float
    member: dict[str, Any]
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether there is an upper bound."""
        return bool(np.isfinite(self.upper))

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        known = {name: value for name, value in self.member.items() if isinstance(value, float)}
        bound = f"at most {self.upper:.4f} in the family" if self.proved else f"not proved: {self.reason}"
        return f"{self.goal}: {bound}, {self.lower:.4f} found" + f" ({member_text(known)})" * bool(known)


class _TermBound(NamedTuple):
    """What is proved of a term, what a member has, its normalised parameters (None: those known), and why nothing is proved."""

    upper: float
    lower: float
    delta: Array | None = None
    reason: str = ""


def prove(objective: Objective, found: Found, search: MemberSearch) -> tuple[GoalProof, ...]:
    """Return proved bounds of all goals, with the reason where there is none.

    Worse members that are met on the way are told to the search.
    """
    theta = objective.theta(found.x)
    S, structure, result = objective.blocks.gain(theta, {}), search.structure, []
    lows, deltas = search.values(objective, found)
    search.worst, top = deltas, float((lows / objective.limits).max())
    loops: dict[tuple[int, ...], _FamilyLoop | None] = {}
    for k, goal in enumerate(objective.goals):
        bounds = []
        for requirement in (r for r in objective.requirements if r.goal == k):
            if requirement.opened not in loops:
                augmented = augment(search.family, objective.blocks.wires, requirement.opened)
                plant = AugmentedPlant(augmented, objective.blocks.sizes)
                closed = plant.close(S)
                loops[requirement.opened] = None if closed is None else _FamilyLoop(closed.system, structure)
            low, least = float(lows[k]), top * float(objective.limits[k])
            bounds.append(_bound(requirement, loops[requirement.opened], found.x, (low, least), deltas[k]))
        worst = max(bounds, key=lambda one: one.lower)
        if worst.delta is not None and worst.lower > lows[k]:
            search.worst[k] = worst.delta
        reason = next((one.reason for one in bounds if one.reason), "")
        upper = np.inf if reason else max(one.upper for one in bounds)
        place = deltas[k] if worst.delta is None else worst.delta
        result.append(GoalProof(goal, float(upper), float(worst.lower), values_at(structure, place), reason))
    return tuple(result)


def _bound(
    requirement: Requirement, loop: _FamilyLoop | None, x: Array, levels: tuple[float, float], delta: Array
) -> _TermBound:
    """Return what is proved of a term; `levels`: that of the worst member known (`delta`), and the least to be proved."""
    term, (lower, least) = requirement.term, levels
    if requirement.of_controller:  # nothing is uncertain there
        return _TermBound(lower, lower)
    if loop is None:
        return _TermBound(np.inf, lower, None, "the family's loop is ill-posed at nominal values")
    try:
        if isinstance(term, PeakTerm):
            return loop.gain(term, x[requirement.scalings], levels, delta)
        if isinstance(term, PoleTerm):
            return loop.poles(term, lower, least)
    except ModelError as error:
        return _TermBound(np.inf, lower, None, str(error.findings[0]))
    return _TermBound(np.inf, lower, None, "variances over a family are not bounded")


@dataclass(frozen=True)
class _FamilyLoop:
    """A closed loop with the channels of an uncertainty first; sampled ones by the bilinear map."""

    system: Matrices
    structure: Structure

    # -- gains -------------------------------------------------------------------------------------------------------------

    def gain(self, term: PeakTerm, scalings: Array, levels: tuple[float, float], delta: Array) -> _TermBound:
        w, z = self.structure.shape
        part = self.system.part(np.r_[:z, z + term.rows], np.r_[:w, w + term.columns])
        D = part.D.copy()
        D[z:, w:] += term.offset * np.eye(*D[z:, w:].shape)
        part = Matrices(part.A, part.B, part.C, D).scale(np.r_[np.ones(z), np.full(len(term.rows), 1 / term.bound)])
        performance = [DeltaBlock.full("performance", len(term.columns), len(term.rows))]
        if term.scalings:
            performance = [DeltaBlock.complex(f"performance {k}") for k in range(len(term.rows))]
        weight = _rational(term)
        if weight is None or (term.time.period and len(weight.A)) or term.band != (0.0, np.inf):
            weights = [weight, None] if weight is not None and len(weight.A) else [weight]
            loops = [(each, self._weighted(part, each or _ONE)) for each in weights]
            return self._in_bands(_Banded(loops, performance, term), *levels)
        loop = self._weighted(part, weight)
        system, place = balance(loop.system, loop.structure), _exchange(self.structure, loop.structure, delta)
        search = GainSearch(system, loop.structure)
        if term.scalings:
            left, right = term.sides(scalings)
            scaled = system.scale(np.r_[np.ones(z), left], np.r_[np.ones(w), right])
            climbed = GainSearch(scaled, loop.structure).run(starts=[place]).deltas
            search = GainSearch(system, loop.structure, peak_of_all)
            search.look(climbed)
        else:
            search.run(starts=[place])
        with cells_spread(1, None) as spread:
            options = None, CELLS, _TOLERANCE
            bound = bound_performance(loop, system, performance, search, options, False, spread, levels[1])
        best = search.best
        reason = "" if np.isfinite(bound.upper) else "a member is unstable" if np.isinf(best.value) else "bounds are too loose"
        return _TermBound(bound.upper, best.value, _exchange(loop.structure, self.structure, best.deltas), reason)

    def _weighted(self, part: Matrices, weight: Matrices) -> UncertainLoop:
        z = self.structure.shape[1]
        passing = [Matrices.constant(np.eye(z))] if z else []
        return _read(part.in_series(side_by_side([*passing, *[weight] * (len(part.C) - z)])), self.structure.blocks)

    def _in_bands(self, banded: _Banded, lower: float, least: float) -> _TermBound:
        if not self.is_stable:
            return _TermBound(np.inf, lower, None, "not proved stable")
        upper = banded.run(max(lower, least))
        return _TermBound(upper, lower, None, "" if np.isfinite(upper) else "bounds are too loose")

    # -- poles -------------------------------------------------------------------------------------------------------------

    @cached_property
    def is_stable(self) -> bool:
        return _is_proved_stable(self._uncertain, self.structure.blocks, 0.0)

    @property
    def _uncertain(self) -> Matrices:
        w, z = self.structure.shape
        return self.system.part(np.arange(z), np.arange(w))

    def poles(self, term: PoleTerm, lower: float, least: float) -> _TermBound:
        """Return the lowest level of a region's value that is proved, not far above that of the worst member known."""
        if not self.structure.is_real:
            return _TermBound(np.inf, lower, None, "poles with neglected dynamics are not bounded")
        if term.time.period and (term.damping or np.isfinite(term.fastest)):
            return _TermBound(np.inf, lower, None, "damping and fastest poles of sampled loops are not bounded")
        if not np.isfinite(lower):
            return _TermBound(np.inf, lower, None, "a member is unstable")
        for k in range(_RAISES):
            level = max(lower, least) * (1 + _TOLERANCE * 2**k)
            try:
                if all(_is_proved_stable(*region) for region in self._regions(term, level)):
                    return _TermBound(level, lower)
            except np.linalg.LinAlgError:  # a pole that the map does not take
                continue
        return _TermBound(np.inf, lower, None, "bounds are too loose")

    def _regions(self, term: PoleTerm, level: float) -> Iterator[tuple[Matrices, Sequence[DeltaBlock], float]]:
        """Yield loops that are robustly stable if all poles are in a region, with their blocks and periods (s)."""
        part, blocks, period = self._uncertain, self.structure.blocks, term.time.period
        decay = term.decay / level
        if decay and period:
            A, B, C, D = to_sampled(part, period)
            grown = np.exp(decay * period)
            yield Matrices(grown * A, grown * B, C, D), blocks, period
        elif decay:
            yield replace(part, A=part.A + decay * np.eye(len(part.A))), blocks, 0.0
        if term.damping:
            yield *self._turned(part, float(np.arcsin(min(term.damping / level, 1.0)))), 0.0
        if np.isfinite(term.fastest):
            radius = term.fastest * level
            yield Matrices(part.A / radius, part.B / radius, part.C, part.D), blocks, 1.0

    def _turned(self, part: Matrices, angle: float) -> tuple[Matrices, Sequence[DeltaBlock]]:
        """Return a loop whose poles are turned by an angle (rad), and their conjugates: real and imaginary parts apart."""
        turn, one = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), np.eye(2)
        w, z = (
            np.concatenate([np.r_[s, s.start + total : s.stop + total] for s in side])
            for side, total in zip((self.structure.w, self.structure.z), self.structure.shape, strict=True)
        )
        both = Matrices(np.kron(turn, part.A), np.kron(turn, part.B), np.kron(one, part.C), np.kron(one, part.D)).part(z, w)
        return both, [b._replace(repetitions=2 * b.repetitions, columns=2 * b.columns) for b in self.structure.blocks]


@dataclass(frozen=True)
class _Banded:
    """A gain that is bounded in bands of frequency, with weights that stand in for one that is no system of the loop.

    `loops`: with each of these, or without any (None), as it suits a band.
    """

    loops: Sequence[tuple[Matrices | None, UncertainLoop]]
    performance: Sequence[DeltaBlock]
    term: PeakTerm

    def run(self, lowest: float) -> float:
        """Return a bound of a family that is stable, a little above the `lowest` or more; infinite where there is none."""
        level, count = lowest * (1 + _TOLERANCE), 0
        bands = [self.term.warped]
        while bands:
            band, count = bands.pop(), count + 1
            if self._level(band, level, False) <= level:
                continue
            if band[1] <= band[0] * (1 + _TOLERANCE / 2) or count > _BANDS:
                level = self._level(band, level, True)
                if np.isinf(level):
                    break
            else:
                cut = _middle(band)
                bands += [(band[0], cut), (cut, band[1])]
        return level

    def _level(self, band: Band, level: float, raised: bool) -> float:
        """Return what is proved in a band, from a level on, infinite where nothing is."""
        choices = [(self._beyond(band, weight is not None), loop) for weight, loop in self.loops]
        factor, loop = next((one for one in choices if np.isfinite(one[0])), choices[0])
        if np.isinf(factor):
            return np.inf
        if not factor:
            return level
        system = balance(loop.system, loop.structure)
        skew = SkewSweep(loop.structure, system, self.performance, level / factor)
        proof = skew.run(raised, _TOLERANCE, band=(band[0] / loop.rate, band[1] / loop.rate))
        return level * proof.level if proof.proved else np.inf

    def _beyond(self, band: Band, stands_in: bool) -> float:
        """Return how many times larger the weight may be in a band than what stands in for it: by parts of the band."""
        term, weight = self.term, self.term.weight
        if weight is None or (stands_in and not term.time.period):
            return 1.0
        if not stands_in:
            return largest_size(weight, self._true(band), term.inverse)
        ends = [end for end in band if 0 < end < np.inf]
        low, high = (ends[0], ends[-1]) if len(ends) > 1 else (ends[0] / _WIDER, ends[0] * _WIDER) if ends else (1.0, _WIDER)
        edges = np.unique([band[0], *np.geomspace(low, high, _PARTS), band[1]])
        parts = [(float(a), float(b)) for a, b in pairwise(edges[(edges >= band[0]) & (edges <= band[1])])]
        return max(
            largest_size(weight, self._true(part), term.inverse) * largest_size(weight, part, not term.inverse)
            for part in parts
        )

    def _true(self, band: Band) -> Band:
        """Return a band (rad/s) of one in the map."""
        low, high = self.term.time.frequencies(np.array(band)).tolist()
        return low, high


def _middle(band: Band) -> float:
    low, high = band
    if np.isinf(high):
        return _WIDER * low if low else 1.0
    return float(np.sqrt(low * high)) if low else high / _WIDER


def _rational(term: PeakTerm) -> Matrices | None:
    """Return the weight of a term as a system of its loop, which it is up to the map; None if there is none that is stable."""
    if term.weight is None:
        return _ONE
    if not term.inverse:
        return term.weight.system
    inverse = term.weight.inverse
    return inverse if inverse is not None and (inverse.poles.real < 0).all() else None


def largest_size(weight: Weight, band: Band, inverse: bool = False) -> float:
    """Return the largest size in a band (rad/s), at its ends or between, of a weight, or of one over it (`inverse`)."""
    ends = np.array(band)
    places = np.concatenate([ends, weight.extremes[(weight.extremes > ends[0]) & (weight.extremes < ends[1])]])
    sizes = weight.sizes(places)
    with np.errstate(divide="ignore"):
        return float(np.max(1 / sizes if inverse else sizes))


def _exchange(old: Structure, new: Structure, deltas: Array) -> Array:
    """Return normalised parameters in other ranges of the same blocks."""
    pairs = [(old.blocks[k], new.blocks[k]) for k in old.real]
    return np.array([after.normalised(before.value(float(d))) for (before, after), d in zip(pairs, deltas, strict=True)])


def _read(part: Matrices, blocks: Sequence[DeltaBlock], period: float = 0.0) -> UncertainLoop:
    """Return a loop with named channels, in its units, its ranges centred."""
    w, z = channel_signals(blocks)
    inputs = [Signal(f"in[{k}]", "") for k in range(part.B.shape[1] - len(w))]
    outputs = [Signal(f"out[{k}]", "") for k in range(len(part.C) - len(z))]
    states = [Signal(f"x[{k}]", "") for k in range(len(part.A))]
    return read_stable_loop(named_system(part, states, [*w, *inputs], [*z, *outputs], "loop", period), blocks)


def _is_proved_stable(part: Matrices, blocks: Sequence[DeltaBlock], period: float) -> bool:
    try:
        loop = _read(part, blocks, period)
    except ModelError:  # the nominal one is not
        return False
    balanced = replace(loop, system=balance(loop.system, loop.structure))
    return sweep(Centres(loop.structure), balanced.uncertain, 1.0, tolerance=_TOLERANCE, progress=False).proved
