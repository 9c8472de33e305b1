"""Members of an uncertain family that are worst for a tuned controller: quickly found, without a proof."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.robust.member_search import corners
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.objective import Member, Objective
from titop.solvers.tuning.plant_families import member_at
from titop.solvers.tuning.tuned_loop import Plant

#: Random members beside corners, climbs from the worst, and steps along each parameter.
_RANDOM, _CLIMBS, _STEPS = 30, 2, (0.5, 0.25, 0.1)
#: Members are added for a value so much above that of the members tuned on.
WORSE = 5 * NEGLIGIBLE
#: A goal may be the worst of all where its worst member known has so much of that.
_LIKELY = 0.8


class MemberSearch:
    """Searches a box of parameters for the worst member of each goal: corners, random members, and climbs along parameters.

    - `family`: with the channels of its uncertainty;
    - `structure`: of the uncertainty; blocks other than real ones are zero;
    - `worst` (n): normalised parameters of the worst member that is known of each goal.
    """

    def __init__(self, family: Plant, structure: Structure, seed: int) -> None:
        self.family, self.structure, self.worst = family, structure, list[Array]()
        self._rng = np.random.default_rng(seed)

    def run(self, objective: Objective, found: Found) -> list[Member]:
        """Return the members that are worse than those tuned on: the worst of each goal, or an unstable one."""
        values = objective.values(found.x)
        assert values is not None
        limits = objective.limits
        known = values / limits
        count, top = len(self.structure.real), float(known.max())
        tried = {
            tuple(member.delta): row for member, row in zip(objective.members, known, strict=True) if member.delta is not None
        }
        tried.setdefault((0.0,) * count, known[0])

        def look(delta: Array) -> Array:
            key = tuple(delta.tolist())
            if key not in tried:
                tried[key] = self._values(objective, found.x, delta) / limits
            return tried[key]

        for delta in [*corners(count, self._rng), *self._rng.uniform(-1, 1, (_RANDOM, count)), *self.worst]:
            look(delta)
        for j in range(len(limits)):
            best = sorted(tried, key=lambda delta: -tried[delta][j])[:_CLIMBS]
            for start in best if tried[best[0]][j] >= _LIKELY * top else ():
                _climb(look, np.array(start), j)
        self.worst = [np.array(max(tried, key=lambda delta: tried[delta][j])) for j in range(len(limits))]
        worse = [tuple(delta.tolist()) for j, delta in enumerate(self.worst) if look(delta)[j] > top * (1 + WORSE)]
        return [self.member(np.array(delta)) for delta in dict.fromkeys(worse)]

    def values(self, objective: Objective, found: Found) -> tuple[Array, list[Array]]:
        """Return the highest value of each goal among the members known, and normalised parameters of these."""
        deltas = [member.delta for member in objective.members if member.delta is not None] + self.worst
        deltas = [np.zeros(len(self.structure.real)), *deltas]
        rows = np.array([self._values(objective, found.x, delta) for delta in deltas])
        return rows.max(axis=0), [deltas[k] for k in rows.argmax(axis=0)]

    def member(self, delta: Array) -> Member:
        """Return the member of normalised parameters (n)."""
        return member_at(self.family, self.structure, delta)

    def _values(self, objective: Objective, x: Array, delta: Array) -> Array:
        """Return the goals' values of a member, infinite where it is unstable or ill-posed."""
        alone, nothing = objective.without_members(), np.full(len(objective.goals), np.inf)
        try:
            alone.add(self.member(delta))
        except np.linalg.LinAlgError:
            return nothing
        values = alone.values(x)
        return nothing if values is None else values[0]


def _climb(look: Callable[[Array], Array], place: Array, j: int) -> None:
    """Raise the value of goal j along each parameter, by smaller and smaller steps."""
    for step in _STEPS:
        for k, side in product(range(len(place)), (-step, step)):
            moved = place.copy()
            moved[k] = np.clip(moved[k] + side, -1.0, 1.0)
            if look(moved)[j] > look(place)[j]:
                place = moved
