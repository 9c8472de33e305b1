"""Uncertain families: their worst members for a tuned controller, and proved bounds of what it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure, channel_signals
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import named_system
from titop.solvers.robust.robust_stability import robust_stability
from titop.solvers.robust.worst_case_gain import worst_case_gain
from titop.solvers.signals.exported import Signal
from titop.solvers.tuning.goal_terms import PeakTerm, PoleTerm
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.objective import Member, Objective
from titop.solvers.tuning.tuned_loop import AugmentedPlant, Plant, augment

#: Corners of the box at most, random members beside them, climbs from the worst, and steps along each parameter.
_CORNERS, _RANDOM, _CLIMBS, _STEPS = 64, 30, 2, (0.5, 0.25, 0.1)
#: Members are added for a value so much above that of the members tuned on.
_WORSE = 5 * NEGLIGIBLE


@dataclass(frozen=True)
class GoalProof:
    """Bounds of a goal's value over a whole family.

    Attributes
    ----------
    goal : Goal
    upper : float
        No member has more, at any frequency; infinite if nothing was proved.
    lower : float
        That of the worst member found.
    member : dict
        Its parameters by name.
    """

    goal: Goal
    upper: float
    lower: float
    member: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.goal}: at most {self.upper:.4f} in the family, {self.lower:.4f} with {self.member}"


def worst_members(objective: Objective, found: Found, family: Plant | None, structure: Structure, seed: int) -> list[Member]:
    """Return members that are worse than those tuned on: the worst of each goal, or an unstable one.

    Corners, random members and climbs along each parameter: quick, no proof.
    """
    assert family is not None
    values = objective.values(found.x)
    assert values is not None
    limits = np.array([1.0 if goal.hard else objective.soft for goal in objective.goals])
    known = (values / limits).max(axis=0)
    top = float(known.max())
    count = len(structure.real)
    corners: list[Array] = [np.array(c) for c in product((-1.0, 1.0), repeat=count)] if 2**count <= _CORNERS else []
    rng = np.random.default_rng(seed)
    if not corners:
        corners = list(rng.choice((-1.0, 1.0), (_CORNERS, count)))
    tried = {
        tuple(delta): _value(objective, found.x, family, structure, delta)
        for delta in [*corners, *rng.uniform(-1, 1, (_RANDOM, count))]
    }
    for j in range(len(limits)):
        best = sorted(tried, key=lambda delta: -_reached(tried[delta], j, limits))[:_CLIMBS]
        for start in best:
            place = np.array(start)
            for step in _STEPS:
                for k in range(count):
                    for side in (-step, step):
                        moved = place.copy()
                        moved[k] = np.clip(moved[k] + side, -1.0, 1.0)
                        key = tuple(moved)
                        if key not in tried:
                            tried[key] = _value(objective, found.x, family, structure, moved)
                        if _reached(tried[key], j, limits) > _reached(tried[tuple(place)], j, limits):
                            place = moved
    chosen = []
    for j in range(len(limits)):
        key = max(tried, key=lambda delta: _reached(tried[delta], j, limits))
        if _reached(tried[key], j, limits) > max(top * (1 + _WORSE), 0.0) and key not in chosen:
            chosen.append(key)
    return [_member(family, structure, np.array(key)) for key in chosen]


def _reached(values: Array | None, j: int, limits: Array) -> float:
    return np.inf if values is None else float(values[j] / limits[j])


def _member(family: Plant, structure: Structure, delta: Array) -> Member:
    named = ", ".join(
        f"{structure.blocks[k].name} = {structure.blocks[k].value(float(d)):.6g}"
        for k, d in zip(structure.real, delta, strict=True)
    )
    return Member(family.member(structure.real_matrix(delta)), named, {}, delta)


def _value(objective: Objective, x: Array, family: Plant, structure: Structure, delta: Array) -> Array | None:
    """Return the goals' values of a member, None where it is unstable or ill-posed."""
    alone = Objective(objective.blocks, objective.goals, objective.requirements, objective.coordinates, objective.rate)
    try:
        alone.add(_member(family, structure, delta))
    except np.linalg.LinAlgError:
        return None
    values = alone.values(x)
    return None if values is None else values[0]


def prove(objective: Objective, found: Found, family: Plant, blocks: Sequence[DeltaBlock]) -> tuple[GoalProof, ...]:
    """Return proved bounds of goals that are gains, and of decay; goals of other kinds are left out."""
    theta, result = objective.theta(found.x), []
    S = objective.blocks.gain(theta, {})
    w, z = family.channels
    for k, goal in enumerate(objective.goals):
        bounds = []
        for requirement in objective.requirements:
            if requirement.goal != k or requirement.of_controller:
                continue
            loop = AugmentedPlant(augment(family, objective.blocks.wires, requirement.opened), objective.blocks.sizes).close(S)
            term = requirement.term
            if loop is None:
                continue
            if isinstance(term, PeakTerm) and not term.inverse and term.band == (0.0, np.inf):
                bounds.append(_bound_gain(loop.system, term, found.x[requirement.scalings], (w, z), blocks))
            elif (
                isinstance(term, PoleTerm)
                and term.decay
                and not (term.damping or np.isfinite(term.fastest) or term.time.period)
            ):
                bounds.append(_bound_decay(loop.system, term.decay, (w, z), blocks))
            else:
                bounds = []
                break
        if bounds:
            worst = max(bounds, key=lambda one: one[1])
            result.append(GoalProof(goal, max(b[0] for b in bounds), worst[1], worst[2]))
    return tuple(result)


def _bound_gain(
    system: Matrices, term: PeakTerm, scalings: Array, channels: tuple[int, int], blocks: Sequence[DeltaBlock]
) -> tuple[float, float, dict[str, Any]]:
    """Return upper and lower bounds of a gain over a family, and the worst member."""
    w, z = channels
    rows, columns = np.r_[:z, z + term.rows], np.r_[:w, w + term.columns]
    part = system.part(rows, columns)
    D = part.D.copy()
    D[z:, w:] += term.offset * np.eye(*D[z:, w:].shape)
    left, right = term.sides(scalings)
    part = Matrices(part.A, part.B, part.C, D).scale(np.r_[np.ones(z), left / term.bound], np.r_[np.ones(w), right])
    if term.weight is not None:
        passing = [Matrices.constant(np.eye(z))] if z else []
        part = part.in_series(side_by_side([*passing, *[term.weight.system] * len(term.rows)]))
    new_w, new_z = channel_signals(blocks)
    u, y = [Signal(f"in[{k}]", "") for k in range(len(term.columns))], [Signal(f"out[{k}]", "") for k in range(len(term.rows))]
    states = [Signal(f"x[{k}]", "") for k in range(len(part.A))]
    named = named_system(part, states, [*new_w, *u], [*new_z, *y], "loop")
    try:
        found = worst_case_gain(named, [s.path for s in u], [s.path for s in y], blocks=blocks, progress=False)
    except ModelError:
        return np.inf, np.inf, {}
    return float(found.upper), float(found.lower), dict(found.member)


def _bound_decay(
    system: Matrices, decay: float, channels: tuple[int, int], blocks: Sequence[DeltaBlock]
) -> tuple[float, float, dict[str, Any]]:
    """Return one if every member decays as fast as required: a loop that is faster by that is robustly stable."""
    w, z = channels
    part = system.part(np.arange(z), np.arange(w))
    new_w, new_z = channel_signals(blocks)
    states = [Signal(f"x[{k}]", "") for k in range(len(part.A))]
    shifted = Matrices(part.A + decay * np.eye(len(part.A)), part.B, part.C, part.D)
    try:
        found = robust_stability(named_system(shifted, states, new_w, new_z, "loop"), blocks=blocks, progress=False)
    except ModelError:
        return np.inf, np.inf, {}
    proved = found.lower >= 1
    return (1.0 if proved else np.inf), 1.0, {} if proved else dict(found.member)
