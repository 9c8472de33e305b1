"""What `tune` returns: the controller, what it reaches of each goal, and which goals bind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.notebook import counted, member_text, page, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.minimax import Found, optimality
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.proof import GoalProof
from titop.solvers.tuning.tuning_problem import TuningProblem


@dataclass(frozen=True)
class GoalValue:
    """What was reached of a goal.

    Attributes
    ----------
    goal : Goal
    value : float
        Over what is allowed, of the worst member tuned on.
    member : dict of str to float
        Its parameters by name, in their units, for ``family.at``; of one of several plants ``{"model": its number}``; empty
        for a single plant.

    Examples
    --------
    >>> import control, titop as tt
    >>> plant = control.ss([[-1]], [[1]], [[1]], [[0]], inputs=["u"], outputs=["y"])
    >>> reached = tt.tune(plant, tt.Tunable.gain("k", "y", "u"), [tt.Goal.poles(decay=2.0)], starts=1).goals[0]
    >>> bool(reached.value <= 1.01), reached.member
    (True, {})
    """

    goal: Goal
    value: float
    member: dict[str, float]

    def __str__(self) -> str:
        mark = "hard" if self.goal.hard else "soft"
        return f"{self.value:8.4f}  {mark}  {self.goal}  ({member_text(self.member)})"


@dataclass(frozen=True)
class Tuned:
    """A tuned controller.

    Attributes
    ----------
    controller : control.StateSpace, or callable ``f(rho) -> control.StateSpace``
        A function of the scheduling parameters if blocks are scheduled: a family for `ScheduledController`.
    goals : tuple of GoalValue
    binding : tuple of Goal
        Those within one percent of the highest value.
    optimality : float
        Size of the least combination of gradients of what binds, in parts of the largest: zero at a local optimum.
    proof : tuple of GoalProof
        Of an uncertain family: bounds of all goals, or why there are none. Empty for others.
    values : dict of str to float
        The tuned numbers by name, in their units.
    members : tuple of dict
        What was tuned on: parameters by name, as `GoalValue.member` has them.
    starts : tuple of float
        The highest value of each whole search, for a first idea of how many optima there are.

    Examples
    --------
    >>> import control, titop as tt
    >>> plant = control.ss([[-1]], [[1]], [[1]], [[0]], inputs=["u"], outputs=["y"])
    >>> tuned = tt.tune(plant, tt.Tunable.gain("k", "y", "u", lower=0, upper=9), [tt.Goal.poles(decay=2.0)], starts=1)
    >>> list(tuned.values), tuned.members, bool(tuned.controller.D[0, 0] > 0.98)
    (['k.k'], ({},), True)
    """

    controller: Any
    goals: tuple[GoalValue, ...]
    binding: tuple[Goal, ...]
    optimality: float
    proof: tuple[GoalProof, ...]
    values: dict[str, float]
    members: tuple[dict[str, float], ...]
    starts: tuple[float, ...] = field(default=())

    def _repr_html_(self) -> str:
        rows = ((each.value, "hard" if each.goal.hard else "soft", str(each.goal), each.member) for each in self.goals)
        goals = table("goals", rows, ("reached", "", "goal", "worst member tuned on"))
        proofs = table("proofs", ([str(each)] for each in self.proof))
        facts = (
            f"{counted(len(self.values), 'number')}, {counted(len(self.members), 'member')}, optimality {self.optimality:.3g}"
        )
        return page("tuned controller", facts, goals, proofs, table("tuned numbers", self.values.items()))

    def __str__(self) -> str:
        lines = [str(value) for value in self.goals] + [str(proof) for proof in self.proof]
        lines += [f"{name} = {value:.6g}" for name, value in self.values.items()]
        return "\n".join(lines)


def read_result(
    objective: Objective, problem: TuningProblem, best: Found, starts: list[float], proof: tuple[GoalProof, ...]
) -> Tuned:
    """Return the controller of a point with what it reaches; hard goals that are not met are told."""
    theta, family = objective.theta(best.x), problem.family
    reach = objective.values(best.x, certified=True)
    if reach is None:
        raise ModelError(unstable_pole(objective, best.x))
    members = [family.values(*one) for one in enumerate(objective.members)]
    values = tuple(
        GoalValue(goal, float(column.max()), members[column.argmax()])
        for goal, column in zip(problem.goals, reach.T, strict=True)
    )
    missed = [value for value in values if value.goal.hard and value.value > 1 + COARSE]
    if missed:
        shown = "; ".join(f"{value.goal} at {value.value:.4g}" for value in missed)
        advice = "these contradict each other, or the structure cannot meet them: loosen one, or add states"
        warn([Finding("hard-goals", "goals", shown, "at most 1", advice)])
    parts = reach.max(axis=0) / objective.limits
    binding = tuple(goal for goal, part in zip(problem.goals, parts, strict=True) if part >= (1 - COARSE) * parts.max())

    def member(rho: Mapping[str, float]) -> Any:
        return objective.blocks.system(theta, rho, family.period)

    is_scheduled = any(one.rho for one in objective.members)
    named = dict(zip(objective.blocks.names, theta.tolist(), strict=True))
    controller = member if is_scheduled else member({})
    return Tuned(controller, values, binding, optimality(best.pieces), proof, named, tuple(members), tuple(map(float, starts)))


def unstable_pole(objective: Objective, x: Array) -> Finding:
    """Return which pole stays unstable, of which member; or that there is no solution at once."""
    worst, name = -np.inf + 0j, ""
    for k, member in enumerate(objective.members):
        loops = objective.loops(k, objective.blocks.gain(objective.theta(x), member.rho))
        if loops is None:
            advice = "add a lag to a block, or take the feedthrough out of the plant"
            expected = "a loop with a solution at once"
            return Finding("algebraic-loop", "controller", f"a singular loop with the {member.name} plant", expected, advice)
        for loop in loops.values():
            if len(loop.poles) and (pole := loop.poles[np.argmax(loop.poles.real)]).real > worst.real:
                worst, name = pole, member.name
    reach = objective.values(x) if worst.real < 0 else None
    if reach is not None:
        values = "; ".join(f"{goal} at {v:.4g}" for goal, v in zip(objective.goals, reach.max(axis=0).tolist(), strict=True))
        advice = "zero: name channels with a path between them; an H2 norm is infinite with feedthrough: filter it"
        return Finding("nothing-to-tune", "goals", values, "goals with a finite value above zero", advice)
    advice = "a mode that the controller's inputs do not see, or its outputs do not reach, stays: give it these, or more states"
    return Finding("unstable", "controller", f"a pole at {worst:.4g} rad/s of the {name} plant", "a stable loop", advice)
