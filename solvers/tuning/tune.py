"""Tuning a controller of fixed structure on one plant, on several, or on a family until it is proved: `tune`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE
from titop.blocks.basics.user_input import read_count
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.support.spread import SweepInterrupt, read_workers
from titop.solvers.support.workers import one_thread
from titop.solvers.tuning.full_order import refuse_unreached_modes
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.minimax import Found, minimise_maximum, optimality
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.proof import GoalProof
from titop.solvers.tuning.proof import prove as prove_goals
from titop.solvers.tuning.tuned_controller import Tuned, read_result, unstable_pole
from titop.solvers.tuning.tuning_problem import TuningProblem
from titop.solvers.tuning.tuning_search import FED_BACK, TURNS, finish, given_start, search_starts, stabilise, whole_search
from titop.solvers.tuning.worst_members import WORSE, MemberSearch

#: Rounds of tuning, finding the worst members of an uncertain family, and tuning again, at most.
_ROUNDS = 8
#: Steps on these members from each optimum of the first searches.
_ELSEWHERE = 40
#: Rounds over hard and soft goals.
_LEVELS = 6


@one_thread()
def tune(
    plants: Any,
    controller: Any,
    goals: Sequence[Goal],
    starts: int = 5,
    seed: int = 0,
    workers: int | Executor = 1,
    progress: bool = True,
    *,
    sign: int = -1,
    delay: Any = 0.0,
    prove: bool = True,
) -> Tuned:
    """Tune the numbers of a controller of fixed structure so that the worst goal of the worst member is as good as possible.

    One function is minimised: the highest, over members and goals, of what is reached over what is allowed. Soft goals are made
    as good as hard ones, which are met first, allow. Members of an uncertain family are found as they are needed: after each
    search those with the highest values are added and the search goes on, until there are none; then the goals are proved.

    Parameters
    ----------
    plants : control.StateSpace, sequence of these, LPVModel or LFTModel
        With the same signals, in continuous time or sampled with one period. Open: without the controller.
    controller : Tunable, control.StateSpace, or sequence of these
        Blocks connected by names; at least one is a `Tunable`.
    goals : sequence of Goal
    starts : int
        Whole searches, from the best of three times as many short ones: from the given starts and from random numbers, some by
        way of the optimum of the H2 norm, of state spaces of that of a lower order. The best go on to the end.
    seed : int
        Of random starts: the same seed gives the same controller on the same machine.
    workers : int or Executor
        Number of processes, or an executor: see `monte_carlo`.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second. Ctrl-C raises `SweepInterrupt`, whose `found` is
        the best so far.
    sign : {-1, 1}
        -1: blocks take ``reference - y``, as `simulate` has it; 1: they take ``y``, as ``LFTModel.close`` has it by default,
        and so they do with either sign where some block takes a reference ``r_y``.
    delay : float or mapping of output name to float, s
        Of what the controller gives, in whole samples; sampled plants only.
    prove : bool
        Whether goals of an uncertain family are proved at the end.

    Returns
    -------
    Tuned

    Raises
    ------
    ModelError
        For unknown signals, blocks that cannot be connected, members of different signals or sample times, families that are
        not well-posed, unstable modes that no block drives or sees, and loops that no search could stabilise: by pole.

    Notes
    -----
    Apkarian and Noll (2006) tune fixed structures by the H-infinity norm; active scenarios are those of Apkarian, Gahinet and
    Buhr (2014). The search itself: `titop.solvers.tuning.minimax`.

    Examples
    --------
    >>> import control, titop as tt
    >>> plant = control.ss([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], [[0]], inputs=["force"], outputs=["place"], name="cart")
    >>> pid = tt.Tunable.pid("pid", "place", "force", ki=0, bounds={"time": (0.02, 0.02)})
    >>> goals = [tt.Goal.tracking("place", time=1.0), tt.Goal.margins("force", hard=True)]
    >>> tuned = tt.tune(plant, pid, goals, starts=1)
    >>> bool(tuned.goals[1].value < 1.01)
    True
    """
    problem = TuningProblem.read(plants, controller, goals, sign, delay)
    for name, value in (("starts", starts), ("seed", seed)):
        read_count(Finding("bad-value", name, value, "a whole number", "5 starts suffice for most"), int(name == "starts"))
    if not isinstance(prove, bool | np.bool_):
        raise ModelError(Finding("bad-value", "prove", prove, "True or False", "proofs come last, and cost most"))
    objective, so_far, proof = problem.objective(), _SoFar(), tuple[GoalProof, ...]()
    refuse_unreached_modes(objective, problem)
    try:
        for key, result in search_starts(objective, problem, int(starts), int(seed), read_workers(workers), progress):
            so_far.take(key, result, objective)
        if not so_far.reached:
            given = given_start(objective)
            found = stabilise(objective, np.zeros(objective.size) if given is None else given)
            raise ModelError(unstable_pole(objective, found))
        objective(so_far.best.x)
        if problem.family.uncertain is None:
            so_far.best = _at_levels(objective, finish(objective, so_far.best, int(seed)))
        else:
            search = MemberSearch(problem.family.uncertain, Structure.of(problem.family.blocks), int(seed))
            proof = _feed_back(objective, so_far, search, prove, int(seed))
    except KeyboardInterrupt:
        if not so_far.reached:
            raise
        objective.leave_members(so_far.members)
        message = "tuning was stopped; the best controller so far is in `found`"
        raise SweepInterrupt(message, read_result(objective, problem, so_far.best, so_far.values, ())) from None
    return read_result(objective, problem, so_far.best, so_far.values, proof)


@dataclass
class _SoFar:
    """The best that was reached so far, what each start reached, and how many members the best is for."""

    best: Found = field(default_factory=lambda: Found(np.zeros(0), []))
    reached: dict[int, Found] = field(default_factory=dict)
    members: int = 0

    @property
    def values(self) -> list[float]:
        return [one.value for one in self.reached.values()]

    def take(self, seed: int, result: Found, objective: Objective) -> None:
        if not self.reached or result.value < self.best.value:
            self.best, self.members = result, len(objective.members)
        self.reached[seed] = result


def _feed_back(objective: Objective, so_far: _SoFar, search: MemberSearch, proving: bool, seed: int) -> tuple[GoalProof, ...]:
    """Tune an uncertain family on its worst members, too, until there are no worse ones; return what is proved."""
    proof, finished, before = tuple[GoalProof, ...](), False, None
    for _ in range(_ROUNDS):
        worse = search.run(objective, so_far.best)
        if not worse and before is None:
            before = so_far.best
            if (lower := _elsewhere(objective, so_far)) is not None:
                so_far.best = _at_levels(objective, whole_search(objective, lower, False, FED_BACK), FED_BACK)
                worse = search.run(objective, so_far.best)
        if not (worse or finished) and optimality(so_far.best.pieces) > CLOSE:
            so_far.best, finished = _at_levels(objective, finish(objective, so_far.best, seed)), True
            worse = search.run(objective, so_far.best)
        if not worse and proving:
            proof = prove_goals(objective, so_far.best, search)
            highest = [one.lower / limit for one, limit in zip(proof, objective.limits, strict=True)]
            worst = [search.worst[k] for k, value in enumerate(highest) if value > so_far.best.value * (1 + WORSE)]
            worse = [search.member(delta) for delta in worst]
        if not worse:
            return proof
        for member in worse:
            objective.add(member)
        x = stabilise(objective, so_far.best.x)
        pieces = objective(x)
        if pieces is None and before is not None:
            x, pieces = before.x, objective(before.x)
        if pieces is None:
            raise ModelError(unstable_pole(objective, x))
        so_far.best = _at_levels(objective, whole_search(objective, Found(x, pieces), False, FED_BACK), FED_BACK)
        if before and (pieces := objective(before.x)) is not None and pieces[0].value < so_far.best.value:
            so_far.best = Found(before.x, pieces)  # what was better on fewer members is not on all
        so_far.members = len(objective.members)
    return prove_goals(objective, so_far.best, search) if proving else proof


def _elsewhere(objective: Objective, so_far: _SoFar) -> Found | None:
    """Return the best that other optima of the first searches lead to on all members, if it is better.

    Members that are added one after the other may lead to a poorer optimum than all of them at once.
    """
    found: list[Found] = []
    for other in so_far.reached.values():
        x = stabilise(objective, other.x)
        if (pieces := objective(x)) is None:
            continue
        found.append(minimise_maximum(objective, Found(x, pieces), steps=_ELSEWHERE))
        if sum(abs(one.value - found[-1].value) < CLOSE * found[-1].value for one in found) > 1:
            break
    lower = min(found, key=lambda one: one.value, default=so_far.best)
    return lower if lower.value < so_far.best.value * (1 - NEGLIGIBLE) else None


def _at_levels(objective: Objective, found: Found, turns: int = TURNS) -> Found:
    """Return a point where hard goals are met and soft ones as good as that allows: soft goals may reach what they did."""
    hard = [goal.hard for goal in objective.goals]
    if not any(hard) or all(hard):
        return found
    known: list[tuple[float, float]] = []
    for _ in range(_LEVELS):
        known.append((np.log(objective.soft), np.log(max(found.value, CLOSE))))
        if abs(known[-1][1]) < NEGLIGIBLE / 2:
            break
        objective.soft = float(np.exp(_level(known)))
        pieces = objective(found.x)
        if pieces is None:
            break
        found = whole_search(objective, Found(found.x, pieces), False, turns)
    return found


def _level(known: Sequence[tuple[float, float]]) -> float:
    """Return the logarithm of a level of soft goals at which the logarithm of the maximum is zero, by a secant, not too far."""
    (level, value), slope = known[-1], -1.0
    if len(known) > 1:
        before = known[-2]
        slope = (value - before[1]) / (level - before[0])
    return level - value / min(max(slope, -1.0), -COARSE * 5)
