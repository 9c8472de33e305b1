"""What is tuned, as it was given: blocks of a controller, goals, plants; and the function that searches make small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.tolerances import CLOSE
from titop.solvers.linear.state_space import middle_rate
from titop.solvers.tuning.controller_blocks import ControllerBlocks
from titop.solvers.tuning.goal_terms import GoalChannels, Time, read_terms, spread_names
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.objective import Objective, Requirement
from titop.solvers.tuning.plant_families import PlantFamily, read_family
from titop.solvers.tuning.tuned_loop import AugmentedPlant, augment


class TuningProblem(NamedTuple):
    """What a process needs for searches; the `sign` of the feedback is 1 or -1."""

    controller: tuple[Any, ...]
    goals: tuple[Goal, ...]
    family: PlantFamily
    sign: int

    @classmethod
    def read(cls, plants: Any, controller: Any, goals: Any, sign: Any, delay: Any) -> TuningProblem:
        """Return a problem of the arguments of `tune`."""
        family = read_family(plants, delay)
        every = (goals,) if isinstance(goals, Goal) else tuple(goals) if isinstance(goals, Sequence) else ()
        if not every or not all(isinstance(goal, Goal) for goal in every):
            example = "such as [tt.Goal.margins('hinge.tau')]"
            raise ModelError(Finding("wrong-type", "goals", goals, "one tt.Goal or more", example))
        if isinstance(sign, bool) or not isinstance(sign, int | float | np.number) or sign not in (-1, 1):
            raise ModelError(Finding("bad-value", "sign", sign, "1 or -1", "-1 for u = K (reference - y), 1 for u = K y"))
        return cls(tuple(controller) if isinstance(controller, Sequence) else (controller,), every, family, int(sign))

    def objective(self) -> Objective:
        """Return the function of this problem, with all members known beforehand."""
        family = self.family
        blocks = ControllerBlocks(self.controller, family.inputs, family.outputs, self.sign)
        channels, time = GoalChannels(family.inputs, family.outputs, blocks), Time(family.period)
        requirements, size = [], len(blocks.parameters)
        places = {name: k for k, signal in enumerate(family.inputs) for name in (signal.path, signal.name)}
        for k, goal in enumerate(self.goals):
            if goal.kind == "poles" and goal.of == "loop" and "fastest" in goal.numbers:
                _refuse_late(f"goals[{k}]", family)
            opened = tuple(sorted(places[name] for name in spread_names("opened", goal.opened, places)))
            for term in read_terms(goal, channels, time):
                scalings = slice(size, size + term.scalings)
                size += term.scalings
                requirements.append(Requirement(k, term, opened, scalings, goal.of == "controller"))
        rate = float(np.median([middle_rate(member.plant.system.A) for member in family.members]))
        plant = AugmentedPlant(augment(family.members[0].plant, blocks.wires), blocks.sizes)
        result = Objective(blocks, self.goals, requirements, blocks.scale(plant, rate), rate)
        for member in family.members:
            result.add(member)
        return result

    @property
    def below(self) -> TuningProblem | None:
        """The same with state spaces of the order below; None where there are none."""
        smaller = [getattr(block, "smaller", None) for block in self.controller]
        if not any(smaller):
            return None
        return self._replace(controller=tuple(s or b for s, b in zip(smaller, self.controller, strict=True)))


def _refuse_late(where: str, family: PlantFamily) -> None:
    """Refuse sampled plants with poles at z = 0, which those of delays are, faster than any limit; at -2 / T in the map."""
    if family.period and any((np.abs(1 + m.plant.system.poles * family.period / 2) < CLOSE).any() for m in family.members):
        expected, advice = "plants without delays, whose poles are faster than any", 'limit the controller\'s: of="controller"'
        raise ModelError(Finding("late-poles", where, "poles at z = 0", expected, advice))
