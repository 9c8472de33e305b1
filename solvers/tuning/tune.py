"""Tuning a controller of fixed structure on one plant, on several, or on a family until it is proved: `tune`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.robust.uncertain_loop import middle_rate
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, SweepInterrupt, death, read_workers
from titop.solvers.support.workers import one_thread
from titop.solvers.tuning.controller_blocks import ControllerBlocks
from titop.solvers.tuning.goal_terms import GoalChannels, Time, read_terms
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.minimax import Found, optimality
from titop.solvers.tuning.objective import Objective, Requirement
from titop.solvers.tuning.plant_families import PlantFamily, read_family
from titop.solvers.tuning.proof import GoalProof
from titop.solvers.tuning.proof import prove as prove_goals
from titop.solvers.tuning.tuned_loop import AugmentedPlant, augment
from titop.solvers.tuning.tuning_search import TURNS, SearchStart, finish, first_look, stabilise, whole_search
from titop.solvers.tuning.worst_members import WORSE, MemberSearch

#: Rounds of tuning, finding the worst members of an uncertain family, and tuning again, at most.
_ROUNDS = 8
#: Short searches for each start that is searched whole; of goals for poles alone: these are quick, their optima many.
_LOOKS, _LOOKS_AT_POLES = 3, 16
#: Turns of a search of the order below, and how much a state that is added is coupled, in units.
_GROWING, _COUPLED = 2, 0.5
#: Turns of a search of a family whose worst members may not be known yet.
_FED_BACK = 3
#: Rounds over hard and soft goals.
_LEVELS = 6


@dataclass(frozen=True)
class GoalValue:
    """What was reached of a goal.

    Attributes
    ----------
    goal : Goal
    value : float
        Over what is allowed, of the worst member tuned on.
    member : str
        This member.
    """

    goal: Goal
    value: float
    member: str

    def __str__(self) -> str:
        mark = "hard" if self.goal.hard else "soft"
        return f"{self.value:8.4f}  {mark}  {self.goal}  ({self.member})"


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
        Of an uncertain family: proved bounds of goals. Empty for others.
    values : dict of str to float
        The tuned numbers by name, in their units.
    members : tuple of str
        What was tuned on.
    starts : tuple of float
        The highest value of each whole search, for a first idea of how many optima there are.
    """

    controller: Any
    goals: tuple[GoalValue, ...]
    binding: tuple[Goal, ...]
    optimality: float
    proof: tuple[GoalProof, ...]
    values: dict[str, float]
    members: tuple[str, ...]
    starts: tuple[float, ...] = field(default=())

    def __str__(self) -> str:
        lines = [str(value) for value in self.goals] + [str(proof) for proof in self.proof]
        lines += [f"{name} = {value:.6g}" for name, value in self.values.items()]
        return "\n".join(lines)


class _Problem(NamedTuple):
    """What a process needs for searches."""

    controller: Any
    goals: tuple[Goal, ...]
    family: PlantFamily
    sign: int


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
        Whole searches. Each is the best of some short ones, from random numbers (the first from the given starts), some by way
        of the optimum of the H2 norm, of state spaces of that of a lower order.
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
        not well-posed, and loops that no search could stabilise: it names the pole and where it moves.

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
    family = read_family(plants, delay)
    problem = _Problem(controller, _read_goals(goals), family, _read_sign(sign))
    for name, value in (("starts", starts), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < (name == "starts"):
            raise ModelError(Finding("bad-value", name, value, "a whole number", "5 starts suffice for most"))
    objective, so_far, proof = _objective(problem), _SoFar(), tuple[GoalProof, ...]()
    try:
        _search_starts(objective, problem, so_far, int(starts), int(seed), read_workers(workers), progress)
        if family.uncertain is not None:
            search = MemberSearch(family.uncertain, Structure.of(family.blocks), int(seed))
            proof = _feed_back(objective, so_far, search, prove, int(seed))
    except KeyboardInterrupt:
        if not so_far.reached:
            raise
        objective.leave_members(so_far.members)
        message = "tuning was stopped; the best controller so far is in `found`"
        raise SweepInterrupt(message, _result(objective, problem, so_far, ())) from None
    return _result(objective, problem, so_far, proof)


def _objective(problem: _Problem) -> Objective:
    """Return the function of a problem, with all members known beforehand."""
    family, goals = problem.family, problem.goals
    blocks = ControllerBlocks(problem.controller, family.inputs, family.outputs, problem.sign)
    channels, time = GoalChannels(family.inputs, family.outputs, blocks), Time(family.period)
    requirements, size = [], len(blocks.parameters)
    places = {name: k for k, signal in enumerate(family.inputs) for name in (signal.path, signal.name)}
    for k, goal in enumerate(goals):
        for name in goal.opened:
            if name not in places:
                raise ModelError(
                    Finding("unknown-signal", "opened", name, "an input of the plant", f"one of {', '.join(places)}")
                )
        for term in read_terms(goal, channels, time):
            opened = tuple(sorted(places[name] for name in goal.opened))
            scalings = slice(size, size + term.scalings)
            size += term.scalings
            requirements.append(Requirement(k, term, opened, scalings, goal.of == "controller"))
    poles = [middle_rate(member.plant.system.A) for member in family.members]
    rate = float(np.median(poles))
    plant = AugmentedPlant(augment(family.members[0].plant, blocks.wires), blocks.sizes)
    result = Objective(blocks, goals, requirements, blocks.scale(plant, rate), rate)
    for member in family.members:
        result.add(member)
    return result


# -- searches ----------------------------------------------------------------------------------------------------------------


@dataclass
class _SoFar:
    """The best that was reached so far, what each start reached, and how many members the best is for."""

    best: Found = field(default_factory=lambda: Found(np.zeros(0), []))
    reached: list[float] = field(default_factory=list)
    members: int = 0


def _search_starts(
    objective: Objective, problem: _Problem, so_far: _SoFar, starts: int, seed: int, workers: int | Executor, progress: bool
) -> None:
    """Search from several starts, then from the best of them patiently."""
    given = _given_start(objective)
    looks = _LOOKS_AT_POLES if objective.has_poles_alone else _LOOKS
    tasks = [(k, _Looks(given if k == 0 else None, range(seed + looks * k, seed + looks * (k + 1)))) for k in range(starts)]
    so_far.members = len(objective.members)
    bar = progress_bar(total=starts, progress=progress, desc="tuning", unit="start")
    with bar, Spread(_searcher, (problem,), workers, _died) as sweep:
        for _, result in sweep.results(tasks):
            bar.update()
            if result is not None:
                if not so_far.reached or result.value < so_far.best.value:
                    so_far.best = result
                so_far.reached.append(result.value)
    if not so_far.reached:
        x = stabilise(objective, given if given is not None else np.zeros(objective.size))
        raise ModelError(_unstable(objective, x))
    objective(so_far.best.x)
    if problem.family.uncertain is None:
        so_far.best = _at_levels(objective, finish(objective, so_far.best, seed))


def _feed_back(objective: Objective, so_far: _SoFar, search: MemberSearch, proving: bool, seed: int) -> tuple[GoalProof, ...]:
    """Tune on the worst members of a family, too, until there are no worse ones, and return what is proved."""
    proof, finished = tuple[GoalProof, ...](), False
    for _ in range(_ROUNDS):
        worse = search.run(objective, so_far.best)
        if not (worse or finished):
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
        if pieces is None:
            raise ModelError(_unstable(objective, x))
        so_far.best = _at_levels(objective, whole_search(objective, Found(x, pieces), False, _FED_BACK), _FED_BACK)
        so_far.members = len(objective.members)
    return prove_goals(objective, so_far.best, search) if proving else proof


class _Looks(NamedTuple):
    """A task: short searches from a point or from random ones, of which the best is searched whole."""

    x: Array | None
    seeds: range


def _searcher(problem: _Problem) -> Callable[[_Looks], Found | None]:
    """Return what does a task, in each process."""

    def search(task: _Looks) -> Found | None:
        objective = _objective(problem)
        smooth = objective.smooth()
        looks = []
        for k, seed in enumerate(task.seeds):
            x = task.x if k == 0 else _grow(problem, objective, seed) if seed % 2 else None
            start = SearchStart(x, seed, seed % 4 < 2)
            look = first_look(objective, smooth if seed % 2 == 0 and x is None else None, start)
            if look is not None:
                looks.append((look.value, k, look, start.descends))
        if not looks:
            return None
        _, _, look, descends = min(looks, key=lambda one: one[:2])
        return whole_search(objective, look, descends, TURNS if problem.family.uncertain is None else _FED_BACK)

    return search


def _grow(problem: _Problem, objective: Objective, seed: int) -> Array | None:
    """Return an optimum of the order below with one more state, weakly coupled; None where there is no such order."""
    blocks = list(problem.controller) if isinstance(problem.controller, Sequence) else [problem.controller]
    smaller = [getattr(block, "smaller", None) for block in blocks]
    if objective.has_poles_alone or not any(smaller):
        return None
    below = problem._replace(controller=[small or block for small, block in zip(smaller, blocks, strict=True)])
    lower = _objective(below)
    look = first_look(lower, None, SearchStart(_grow(below, lower, seed), seed, seed % 4 < 2))
    if look is None:
        return None
    optimum = whole_search(lower, look, seed % 4 < 2, _GROWING).x
    known = dict(zip(lower.blocks.names, optimum, strict=False))
    x = np.random.default_rng(seed).standard_normal(objective.size) * _COUPLED
    for k, (name, parameter) in enumerate(zip(objective.blocks.names, objective.blocks.parameters, strict=True)):
        if name in known:
            x[k] = known[name]
        elif parameter.name.startswith("A"):
            row, column = parameter.name[2:-1].split(",")
            x[k] = -1.0 if row == column else 0.0
    x[len(objective.coordinates) :] = optimum[len(lower.coordinates) :]
    return x


def _died(task: _Looks, how: str) -> Any:
    raise death(f"the search of seed {task.seeds[0]}", how)


def _given_start(objective: Objective) -> Array | None:
    """Return the user's start, the middle for numbers without one; None if there is none at all."""
    starts = np.array([p.start for p in objective.blocks.parameters])
    if np.isnan(starts).all():
        return None
    x = np.zeros(objective.size)
    x[: len(starts)] = objective.coordinates.places(starts)
    return x


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


# -- result ------------------------------------------------------------------------------------------------------------------


def _result(objective: Objective, problem: _Problem, so_far: _SoFar, proof: tuple[GoalProof, ...]) -> Tuned:
    """Return the tuned controller with what it reaches."""
    best = so_far.best
    theta, family = objective.theta(best.x), problem.family
    reach = objective.values(best.x)
    if reach is None:
        raise ModelError(_unstable(objective, best.x))
    worst = reach.argmax(axis=0)
    values = tuple(
        GoalValue(goal, float(reach[worst[j], j]), objective.members[worst[j]].name) for j, goal in enumerate(problem.goals)
    )
    missed = [value for value in values if value.goal.hard and value.value > 1 + COARSE]
    if missed:
        shown = "; ".join(f"{value.goal} at {value.value:.4g}" for value in missed)
        advice = "these contradict each other, or the structure cannot meet them: loosen one, or add states"
        warn([Finding("hard-goals", "goals", shown, "at most 1", advice)], stacklevel=4)
    limits = [1.0 if value.goal.hard else objective.soft for value in values]
    highest = max(value.value / limit for value, limit in zip(values, limits, strict=True))
    binding = tuple(v.goal for v, limit in zip(values, limits, strict=True) if v.value / limit >= (1 - COARSE) * highest)
    scheduled = any(member.rho for member in objective.members)

    def member(rho: Mapping[str, float]) -> Any:
        return objective.blocks.system(theta, rho, family.period)

    return Tuned(
        member if scheduled else member({}),
        values,
        binding,
        optimality(best.pieces),
        proof,
        dict(zip(objective.blocks.names, theta.tolist(), strict=True)),
        tuple(one.name for one in objective.members),
        tuple(so_far.reached),
    )


def _unstable(objective: Objective, x: Array) -> Finding:
    """Return which pole stays unstable, of which member."""
    theta = objective.theta(x)
    worst, name = -np.inf + 0j, ""
    for k, member in enumerate(objective.members):
        loops = objective.loops(k, objective.blocks.gain(theta, member.rho))
        for loop in (loops or {}).values():
            if len(loop.poles) and (pole := loop.poles[np.argmax(loop.poles.real)]).real > worst.real:
                worst, name = pole, member.name
    advice = "a mode that the controller's inputs do not see, or its outputs do not reach, stays: give it these, or more states"
    return Finding("unstable", "controller", f"a pole at {worst:.4g} rad/s of the {name} plant", "a stable loop", advice)


# -- reading -----------------------------------------------------------------------------------------------------------------


def _read_goals(goals: Any) -> tuple[Goal, ...]:
    result = (goals,) if isinstance(goals, Goal) else tuple(goals) if isinstance(goals, Sequence) else ()
    if not result or not all(isinstance(goal, Goal) for goal in result):
        raise ModelError(Finding("wrong-type", "goals", goals, "one tt.Goal or more", "such as [tt.Goal.margins('hinge.tau')]"))
    return result


def _read_sign(sign: Any) -> int:
    if isinstance(sign, bool) or sign not in (-1, 1):
        raise ModelError(Finding("bad-value", "sign", sign, "1 or -1", "-1 for u = K (reference - y), 1 for u = K y"))
    return int(sign)
