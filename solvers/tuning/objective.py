"""Members that a controller is tuned on, and all goals of all of them as one function of its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import LOOSE_RANK, SAME
from titop.solvers.linear.matrices import Matrices
from titop.solvers.tuning.controller_blocks import ControllerBlocks, Coordinates
from titop.solvers.tuning.goal_terms import GoalTerm, PeakTerm, PoleTerm, Scan, VarianceTerm
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.minimax import Piece
from titop.solvers.tuning.tuned_loop import AugmentedPlant, ClosedLoop, Plant, augment

#: Pieces at least so near to the highest one are seen by the search.
NEAR = 0.8
#: So many of them at most.
_MOST = 30
#: Frequencies at which it is seen first whether a maximum is too high: those of the last highest peaks.
_LOOKED = 2
#: Levels at most at which a peak that no grid showed is sought.
_LEVELS = 12
#: Infima at infinite numbers are common: so far from their units they are sought.
_BOX = 1 / LOOSE_RANK


@dataclass
class Member:
    """A plant of a family, its uncertainty closed; its name, and the values of scheduling parameters.

    - `delta` (n): of a member of an uncertain family: normalised values.
    """

    plant: Plant
    name: str = "nominal"
    rho: Mapping[str, float] = field(default_factory=dict)
    delta: Array | None = None

    @property
    def scheduled(self) -> tuple[tuple[str, float], ...]:
        """The values of scheduling parameters: members with the same have the same controller."""
        return tuple(self.rho.items())


class Requirement(NamedTuple):
    """A term of a goal, loops opened for it, where its scalings stand, and whether the controller alone counts."""

    goal: int
    term: GoalTerm
    opened: tuple[int, ...]
    scalings: slice
    of_controller: bool


class Objective:
    """The maximum of all goals of all members over what is tuned and scaled.

    - `rate` (rad/s): of the plant;
    - `soft`: what soft goals may reach beside hard ones, which may reach one.
    """

    def __init__(
        self,
        blocks: ControllerBlocks,
        goals: Sequence[Goal],
        requirements: Sequence[Requirement],
        coordinates: Coordinates,
        rate: float,
    ) -> None:
        self.blocks, self.goals, self.requirements = blocks, goals, requirements
        self.coordinates, self.rate = coordinates, rate
        self.members: list[Member] = []
        self.soft = 1.0
        self.evaluations = 0
        self.size = max((r.scalings.stop for r in requirements), default=len(coordinates))
        of_poles = [isinstance(r.term, PoleTerm) for r in requirements]
        self.has_poles, self.has_poles_alone = any(of_poles), all(of_poles)
        self._plants: list[dict[tuple[int, ...], AugmentedPlant]] = []
        self._known: dict[tuple[int, int], Array] = {}
        self._worst, self._alone = (0, 0), self._controller_alone()

    def add(self, member: Member) -> None:
        """Take a member along."""
        opened = {r.opened for r in self.requirements} | {()}
        sizes = self.blocks.sizes
        self._plants.append({o: AugmentedPlant(augment(member.plant, self.blocks.wires, o), sizes) for o in sorted(opened)})
        self.members.append(member)

    def without_members(self) -> Objective:
        """Return the same without any member."""
        result = Objective(self.blocks, self.goals, self.requirements, self.coordinates, self.rate)
        result.soft = self.soft
        return result

    def augmented(self, k: int) -> AugmentedPlant:
        """Return the augmented plant of a member, no loop opened."""
        return self._plants[k][()]

    def leave_members(self, count: int) -> None:
        """Leave all members out but the first ones."""
        del self._plants[count:], self.members[count:]

    def _controller_alone(self) -> AugmentedPlant:
        wires = self.blocks.wires
        alone = wires._replace(measured=np.zeros_like(wires.measured), driven=np.zeros_like(wires.driven))
        nothing = Matrices.constant(np.zeros((wires.measured.shape[1], len(wires.driven))))
        return AugmentedPlant(augment(Plant.of(nothing, (0, 0)), alone), self.blocks.sizes)

    @property
    def is_smooth(self) -> bool:
        """Whether it is one smooth function: that of one norm and one member."""
        return len(self.members) == len(self.requirements) == 1 and isinstance(self.requirements[0].term, VarianceTerm)

    def is_of_poles(self, piece: Piece) -> bool:
        """Whether a piece is that of a pole: at the least maximum of these several poles are one."""
        return isinstance(self.requirements[piece.term[1]].term, PoleTerm)

    def smooth(self) -> Objective | None:
        """Return the same with the H2 norm in place of gains, which is smooth, where that is finite; None of others."""
        if self.is_smooth:
            return None
        first = self._plants[0]
        changed = [r._replace(term=term) for r in self.requirements if (term := r.term.smooth(first[r.opened])) is not None]
        if not changed:
            return None
        result = Objective(self.blocks, self.goals, changed, self.coordinates, self.rate)
        result.size = self.size  # scalings of others are left as they are
        for member in self.members:
            result.add(member)
        return result

    @property
    def limits(self) -> Array:
        """What goals may reach (goals): one of hard ones."""
        return np.array([1.0 if goal.hard else self.soft for goal in self.goals])

    # -- numbers -----------------------------------------------------------------------------------------------------------

    def theta(self, x: Array) -> Array:
        """Return the numbers (n) at a point of the search."""
        return self.coordinates.values(x[: len(self.coordinates)])

    def _is_within(self, x: Array) -> bool:
        count = len(self.coordinates)
        return self.coordinates.reach(x[:count]) < _BOX and float(np.abs(x[count:]).max(initial=0.0)) < np.log(_BOX)

    def _gradient(self, x: Array, chain: Array, by_S: Array) -> Array:
        """Return the gradient (size) of a number with respect to x from that with respect to S."""
        count, result = len(self.coordinates), np.zeros(self.size)
        result[:count] = (chain @ by_S.ravel()) * self.coordinates.slopes(x[:count])
        return result

    # -- the function ------------------------------------------------------------------------------------------------------

    def loops(self, k: int, S: Array) -> dict[tuple[int, ...], ClosedLoop] | None:
        """Return the loops of a member, whole and opened; None where one has no solution at once."""
        result = {}
        for opened, plant in self._plants[k].items():
            loop = plant.close(S)
            if loop is None:
                return None
            result[opened] = loop
        return result

    def _closed(
        self, x: Array, stable: bool = True, below: float = np.inf
    ) -> Iterator[tuple[int, int, Requirement, ClosedLoop]]:
        """Yield each member's and requirement's place, the requirement, and its loop; of the last highest member first.

        Raises `_NoLoopError` where one has no solution at once, is unstable and must not be, or has clearly more than `below`.
        """
        theta, smooth = self.theta(x), self.is_smooth
        gains = {rho: self.blocks.gain(theta, dict(rho)) for rho in {member.scheduled for member in self.members}}
        for k in sorted(range(len(self.members)), key=lambda k: k != self._worst[0]):
            S = gains[self.members[k].scheduled]
            loops = self.loops(k, S)
            if loops is None or (k == self._worst[0] and self._is_above(loops, x, below)):
                raise _NoLoopError
            real = [one.schur[2] if smooth else one.poles.real for one in loops.values()]
            if stable and not all((part < -SAME * self.rate).all() for part in real):
                raise _NoLoopError
            for j, requirement in enumerate(self.requirements):
                loop = self._alone.close(S) if requirement.of_controller else loops[requirement.opened]
                if loop is None:
                    raise _NoLoopError
                yield k, j, requirement, loop

    def _is_above(self, loops: Mapping[tuple[int, ...], ClosedLoop], x: Array, below: float) -> bool:
        """Tell whether the term that was the highest is above a value where it was highest: what costs least is seen first."""
        known = self._known.get(self._worst, np.zeros(0))[:_LOOKED]
        if not len(known) or not np.isfinite(below):
            return False
        requirement = self.requirements[self._worst[1]]
        if requirement.of_controller:
            return False
        value = requirement.term.highest_at(loops[requirement.opened], known, x[requirement.scalings])
        return value > below * self.limits[requirement.goal] * (1 + SAME)

    def __call__(self, x: Array, below: float = np.inf) -> list[Piece] | None:
        """Return the pieces near the maximum, from the highest one down.

        None where a loop is unstable, x is too large, or the maximum is known to be above `below`.
        """
        self.evaluations += 1
        if not self._is_within(x):
            return None
        scans: list[tuple[int, int, Scan]] = []
        allowed, theta = self.limits, self.theta(x)
        try:
            for k, j, requirement, loop in self._closed(x, below=below):
                scan = requirement.term.scan(loop, self._known.get((k, j), np.zeros(0)), x[requirement.scalings])
                if not (np.isfinite(scan.highest) and scan.highest <= below * allowed[requirement.goal]):
                    return None
                scans.append((k, j, scan))
        except _NoLoopError:
            return None
        highest = max(scan.highest / allowed[self.requirements[j].goal] for _, j, scan in scans)
        chain, pieces = cache(lambda rho: self.blocks.chain(theta, dict(rho))), list[Piece]()
        for k, j, scan in scans:
            requirement = self.requirements[j]
            limit = allowed[requirement.goal]
            if scan.highest < NEAR * highest * limit / 1.5:  # a grid shows less than the peaks between
                continue
            found = scan.pieces(highest * limit, NEAR)
            self._known[k, j] = np.array([s.omega for s in found if np.isfinite(s.omega)])
            for s in found:
                gradient = self._gradient(x, chain(self.members[k].scheduled), s.by_S)
                gradient[requirement.scalings] = s.by_scalings
                pieces.append(Piece(s.value / limit, gradient / limit, (k, j, s.part), s.omega))
        pieces.sort(key=lambda piece: -piece.value)
        if not pieces:
            return None
        self._worst = pieces[0].term[:2]
        return pieces[:_MOST]

    def abscissa(self, x: Array, below: float = np.inf) -> list[Piece] | None:
        """Return the highest real part of the poles of each loop, in parts of the plant's rate, as pieces; see `__call__`."""
        self.evaluations += 1
        if not self._is_within(x):
            return None
        theta, pieces = self.theta(x), list[Piece]()
        gain, chain = (cache(lambda rho, f=f: f(theta, dict(rho))) for f in (self.blocks.gain, self.blocks.chain))
        for k, member in enumerate(self.members):
            loops = self.loops(k, gain(member.scheduled))
            if loops is None:
                return None
            for opened, loop in loops.items():
                if not len(loop.poles):
                    continue
                highest = int(np.argmax(loop.poles.real))
                pole = loop.poles[highest]
                if pole.real > below * self.rate:
                    return None
                (slope,) = loop.pole_slopes([highest])
                gradient = self._gradient(x, chain(member.scheduled), slope.real) / self.rate
                pieces.append(Piece(float(pole.real) / self.rate, gradient, (k, opened), float(abs(pole))))
        pieces.sort(key=lambda piece: -piece.value)
        return pieces[:_MOST] or None

    def certify(self, x: Array, value: float) -> bool:
        """Look for peaks above a value that the search did not see, and tell it; return whether there are none."""
        whole = True
        try:
            for k, j, requirement, loop in self._closed(x, stable=False):
                if requirement.of_controller:
                    continue
                missed = requirement.term.missed(loop, value * self.limits[requirement.goal], x[requirement.scalings])
                if len(missed):
                    self._known[k, j] = np.concatenate([self._known.get((k, j), np.zeros(0)), missed])
                    whole = False
        except _NoLoopError:
            return False
        return whole

    def values(self, x: Array, certified: bool = False) -> Array | None:
        """Return the value of each goal (members, goals), each with all its peaks; None where a loop is unstable.

        Certified ones have those, too, that no grid shows.
        """
        result = np.zeros((len(self.members), len(self.goals)))
        try:
            for k, j, requirement, loop in self._closed(x):
                value = _value(requirement.term, loop, self._known.get((k, j), np.zeros(0)), x[requirement.scalings])
                if certified and isinstance(requirement.term, PeakTerm):
                    value = _certified(requirement.term, loop, value, x[requirement.scalings])
                result[k, requirement.goal] = max(result[k, requirement.goal], value)
        except _NoLoopError:
            return None
        return result


class _NoLoopError(Exception):
    """A loop that has no solution at once, or is unstable."""


def _value(term: GoalTerm, loop: ClosedLoop, known: Array, scalings: Array) -> float:
    scan = term.scan(loop, known, scalings)
    return max((s.value for s in scan.pieces(scan.highest, 1.0)), default=scan.highest)


def _certified(term: PeakTerm, loop: ClosedLoop, value: float, scalings: Array) -> float:
    """Return a gain's peak from a lower one on: levels are raised to the gain above them until there is none."""
    for _ in range(_LEVELS):
        missed = term.missed(loop, value, scalings)
        if not len(missed):
            break
        value = max(term.highest_at(loop, missed, scalings), _value(term, loop, missed, scalings))
    return value
