"""Starts of searches: from the user, at random, from optima of the order below; and what searches from them give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, death
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.tuning_problem import TuningProblem
from titop.solvers.tuning.tuning_search import FED_BACK, TURNS, SearchStart, first_look, whole_search

#: Short searches for each start that is searched whole; of goals for poles alone: these are quick, their optima many.
_LOOKS, _LOOKS_AT_POLES = 3, 16
#: Turns of a search of the order below, and how much a state that is added is coupled, in units.
_GROWING, _COUPLED = 2, 0.5
#: Seeds of short searches between those of one search and of the next: a multiple of four, by which their kinds go round.
_APART = 1000
#: Powers of ten of distances of points around the user's, in the coordinates of a search.
_NEAR = -0.5, 0.5


class _Looks(NamedTuple):
    """A task: short searches, of which the best is searched whole; from a point, around it, or from random ones.

    Attributes
    ----------
    x : array (n) or None
        The user's point.
    seeds : range
    is_first : bool
        Whether one search starts at the point itself.
    """

    x: Array | None
    seeds: range
    is_first: bool


def search_starts(
    objective: Objective, problem: TuningProblem, starts: int, seed: int, workers: int | Executor, progress: bool
) -> Iterator[Found]:
    """Yield the optimum of each start; none of one whose loop stayed unstable."""
    count = 1 if objective.is_smooth else _LOOKS_AT_POLES if objective.has_poles_alone else _LOOKS
    given = given_start(objective)
    first = _APART * seed
    tasks = [(k, _Looks(given, range(first + count * k, first + count * (k + 1)), not k)) for k in range(starts)]
    bar = progress_bar(total=starts, progress=progress, desc="tuning", unit="start")
    with bar, Spread(_searcher, (problem,), workers, _died) as sweep:
        for _, result in sweep.results(tasks):
            bar.update()
            if result is not None:
                yield result


def given_start(objective: Objective) -> Array | None:
    """Return the user's start, the middle for numbers without one; None if there is none at all."""
    starts = np.array([p.start for p in objective.blocks.parameters])
    if np.isnan(starts).all():
        return None
    x = np.zeros(objective.size)
    x[: len(starts)] = objective.coordinates.places(starts)
    return x


def _died(task: _Looks, how: str) -> Any:
    raise death(f"the search of seed {task.seeds[0]}", how)


def _searcher(problem: TuningProblem) -> Callable[[_Looks], Found | None]:
    """Return what does a task, in each process."""

    def search(task: _Looks) -> Found | None:
        objective = problem.objective()
        smooth = objective.smooth()
        looks = []
        for k, seed in enumerate(task.seeds):
            x = task.x if task.is_first and k == 0 else None
            if x is None and seed % 2:
                x = _around(task.x, seed) if (grown := _grow(problem, objective, seed)) is None else grown
            start = SearchStart(x, seed, seed % 4 < 2)
            look = first_look(objective, smooth if seed % 2 == 0 and x is None else None, start)
            if look is not None:
                looks.append((look.value, k, look, start.descends))
        if not looks:
            return None
        _, _, look, descends = min(looks, key=lambda one: one[:2])
        return whole_search(objective, look, descends, TURNS if problem.family.uncertain is None else FED_BACK)

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
