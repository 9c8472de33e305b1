"""Starts of searches: the user's, random ones, optima of the order below, controllers of full order; and what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, death
from titop.solvers.tuning.full_order import full_order_start
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.tuning_problem import TuningProblem
from titop.solvers.tuning.tuning_search import TURNS, Search, first_look, whole_search

#: Short searches for each start that is searched whole; of goals for poles alone: these are quick, their optima many.
_LOOKS, _LOOKS_AT_POLES = 3, 16
#: Turns of a search of the order below, and how much a state that is added is coupled, in units.
_GROWING, _COUPLED = 1, 0.5
#: Turns after which the best whole search alone goes on; no more begin once so many gave the same.
_FEW, _ALIKE = 2, 3
#: One in so many short searches starts anywhere where users gave a start for all numbers, every other one where for some. Of
#: the first of these that start anywhere, those of even seeds go by way of the optimum of the H2 norm: most are the same.
_FAR = _SMOOTH = 8
#: Seeds of short searches between those of one search and of the next: a multiple of four, by which their kinds go round.
_APART = 1000
#: Powers of ten of distances of points around the user's, in the coordinates of a search.
_NEAR = -0.5, 0.5


def search_starts(
    objective: Objective, problem: TuningProblem, starts: int, seed: int, workers: int | Executor, progress: bool
) -> Iterator[tuple[int, Found]]:
    """Yield optima by seed, the better ones twice: after some turns, and in the end; none where all loops stayed unstable."""
    count = 1 if objective.is_smooth else _LOOKS_AT_POLES if objective.has_poles_alone else _LOOKS
    given = given_start(objective)
    first = _APART * seed
    looks = [(k, Search(given if k == first else None, k)) for k in range(first, first + starts * count)]
    if (full := full_order_start(objective, problem)) is not None:
        looks.append((-1, Search(full, first + len(looks))))
    bar = progress_bar(total=len(looks) + starts + 1, progress=progress, desc="tuning", unit="search")
    with bar, Spread(_searcher, (problem,), workers, _died) as sweep:

        def answers(tasks: list[tuple[Any, Search]]) -> Iterator[tuple[Search, Found]]:
            for (_, task), (_, result) in zip(tasks, sweep.results(tasks), strict=True):
                bar.update()
                if result is not None:
                    yield task, result

        best = sorted(answers(looks), key=lambda one: one[1].value)[:starts]
        few: list[tuple[Search, Found]] = []
        for task, result in answers([((k.seed, _FEW), Search(look.x, k.seed, _FEW)) for k, look in best]):
            few.append((task, result))
            yield task.seed, result
            lowest = min(one.value for _, one in few)
            if sum(one.value - lowest < CLOSE * abs(lowest) for _, one in few) >= _ALIKE:
                sweep.forget()
                break
        best = sorted(few, key=lambda one: one[1].value)[: int(problem.family.uncertain is None)]
        for task, result in answers([((k.seed, TURNS), Search(one.x, k.seed, TURNS)) for k, one in best]):
            yield task.seed, result


def given_start(objective: Objective) -> Array | None:
    """Return the user's start, the middle for numbers without one; None if there is none at all."""
    starts = np.array([p.start for p in objective.blocks.parameters])
    if np.isnan(starts).all():
        return None
    x = np.zeros(objective.size)
    x[: len(starts)] = objective.coordinates.places(starts)
    return x


def _died(task: Search, how: str) -> Any:
    raise death(f"the search of seed {task.seed}", how)


def _searcher(problem: TuningProblem) -> Callable[[Search], Found | None]:
    """Return what does a task, in each process."""

    def search(task: Search) -> Found | None:
        objective = problem.objective()
        if task.turns and task.x is not None:
            pieces = objective(task.x)
            return None if pieces is None else whole_search(objective, Found(task.x, pieces), task.descends, task.turns)
        x, smooth = task.x, None
        if x is None and task.seed % 4 == 3:
            x = _grow(problem, objective, task.seed)
        whole = not any(np.isnan(p.start) for p in objective.blocks.parameters)
        if x is None and (task.seed % 2 or (whole and task.seed % _FAR < _FAR - 2)):
            x = _around(given_start(objective), task.seed)
        if x is None and task.seed % 2 == 0 and task.seed % _APART < _SMOOTH and not whole:
            smooth = objective.smooth()
        return first_look(objective, smooth, Search(x, task.seed))

    return search


def _around(x: Array | None, seed: int) -> Array | None:
    """Return a random point around the user's, if there is one."""
    rng = np.random.default_rng(seed)
    return None if x is None else x + rng.standard_normal(len(x)) * 10 ** rng.uniform(*_NEAR)


def _grow(problem: TuningProblem, objective: Objective, seed: int) -> Array | None:
    """Return an optimum of the order below with one more state, weakly coupled; None where there is no such order."""
    below = problem.below
    if below is None or objective.has_poles_alone:
        return None
    lower = below.objective()
    start = Search(_grow(below, lower, seed), seed)
    look = first_look(lower, None, start)
    if look is None:
        return None
    optimum = whole_search(lower, look, start.descends, _GROWING).x
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
