"""Searches: where they start (the user's point, random ones, optima of the order below, controllers of full order), and one of
them: a stable loop first, then the least maximum, by turns of two methods and a certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, NEGLIGIBLE, RANK, SAME
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, died_at
from titop.solvers.tuning.full_order import full_order_start
from titop.solvers.tuning.minimax import Found, descend, minimise_maximum, sample_gradients
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.tuning_problem import TuningProblem

#: Short searches for each start that is searched whole; of goals for poles alone: these are quick, their optima many.
_LOOKS, _LOOKS_AT_POLES = 3, 16
#: Turns of a search of the order below, and how much a state that is added is coupled, in units.
_GROWING, _COUPLED = 1, 0.5
#: Turns after which the best whole search alone goes on; no more begin once so many gave the same.
_FEW, _ALIKE = 2, 3
#: One in so many short searches starts anywhere where users gave a start for all numbers, every other one where for some. Of
#: the first of these that start anywhere, those of even seeds go by way of the optimum of the H2 norm: most are the same.
_FAR = _BY_WAY = 8
#: Seeds of short searches between those of one search and of the next: a multiple of four, by which their kinds go round.
_APART = 1000
#: Powers of ten of distances of points around the user's, in the coordinates of a search.
_NEAR = -0.5, 0.5
#: A loop is stable enough to begin with when its poles are so far left, in parts of the plant's rate. Some are not for long: of
#: lightly damped structures. Steps at most until it is stable, and from there.
_STABLE = (-SAME, 200), (-NEGLIGIBLE, 20)
#: When quasi-Newton steps end. At multiple poles, where their region's optimum often is, gains come late and are small.
_USUAL: dict[str, Any] = {"steps": 200, "gain": CLOSE * NEGLIGIBLE, "patience": 15}
_PATIENT: dict[str, Any] = {"steps": 1000, "gain": RANK, "patience": 60}
#: One that looks first is shorter.
_LOOK: dict[str, Any] = {**_PATIENT, "steps": 200}
#: Of a smooth function.
_SMOOTH: dict[str, Any] = {"steps": 300, "gain": CLOSE**2, "patience": 5, "measured": 30}
#: Turns of a whole search at most.
TURNS = 10
#: Turns of a search of a family whose worst members may not be known yet.
FED_BACK = 3
#: Rounds of a patient end at most.
_FINISHES = 3


class Search(NamedTuple):
    """A search from a point, or from what a seed tells; short, unless it has turns."""

    x: Array | None
    seed: int
    turns: int = 0

    @property
    def descends(self) -> bool:
        """Whether quasi-Newton steps come first; steps over all peaks otherwise."""
        return self.seed % 4 < 2


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
    with bar, Spread(partial, (_search, problem), workers, died_at(lambda task: f"the search of seed {task.seed}")) as sweep:

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


def _search(problem: TuningProblem, task: Search) -> Found | None:
    objective = problem.objective()
    if task.turns and task.x is not None:
        pieces = objective(task.x)
        return None if pieces is None else whole_search(objective, Found(task.x, pieces), task.descends, task.turns)
    x, smooth = task.x, None
    if x is None and task.seed % 4 == 3:
        x = _grow(problem, objective, task.seed)
    whole = not any(np.isnan(p.start) for p in objective.blocks.parameters)
    if x is None and (task.seed % 2 or (whole and task.seed % _FAR < _FAR - 2)):
        x = given_start(objective)
        if x is not None:
            rng = np.random.default_rng(task.seed)
            x = x + rng.standard_normal(len(x)) * 10 ** rng.uniform(*_NEAR)
    if x is None and task.seed % 2 == 0 and task.seed % _APART < _BY_WAY and not whole:
        smooth = objective.smooth()
    return first_look(objective, smooth, Search(x, task.seed))


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


def stabilise(objective: Objective, x: Array) -> Array:
    """Return a point with stable loops if the search finds one; where it ended otherwise."""
    pieces = objective.abscissa(x)
    if pieces is None:
        return x
    found = Found(x, pieces)
    for value, steps in _STABLE:
        if found.value > value:
            found = descend(objective.abscissa, found, steps=steps, gain=CLOSE**2, patience=20, until=value)
    return found.x


def first_look(objective: Objective, smooth: Objective | None, start: Search) -> Found | None:
    """Return what a short search finds; None if it finds no stable loop. With a `smooth` objective its minimum comes first."""
    x = start.x
    if x is None:
        rng = np.random.default_rng(start.seed)
        x = rng.standard_normal(objective.size) * 10 ** rng.uniform(-1.5, 1.5)
        x[len(objective.coordinates) :] = 0.0
    if objective.has_poles and (start.descends or objective.has_poles_alone) and (pieces := objective.abscissa(x)) is not None:
        x = descend(objective.abscissa, Found(x, pieces), **_LOOK).x
    x = stabilise(objective, x)
    if smooth is not None and (pieces := smooth(x)) is not None:
        x = descend(smooth, Found(x, pieces), **_SMOOTH).x
    pieces = objective(x)
    if pieces is None:
        return None
    found = Found(x, pieces)
    if objective.is_smooth:
        return descend(objective, found, **{**_SMOOTH, "gain": CLOSE * NEGLIGIBLE})
    if start.descends or objective.has_poles_alone:
        return descend(objective, found, steps=60, gain=CLOSE * NEGLIGIBLE**0.5, patience=10)
    return minimise_maximum(objective, found, steps=40)


def whole_search(objective: Objective, found: Found, descends: bool, turns: int = TURNS) -> Found:
    """Return the least maximum near a point: both methods by turns until neither gains, peaks that were missed taken along."""
    if objective.is_smooth:
        return found
    best = found
    for turn in range(turns):
        before = found.value
        if (turn % 2 == 0) == descends:
            found = descend(objective, found, **(_PATIENT if objective.is_of_poles(found.pieces[0]) else _USUAL))
        else:
            found = minimise_maximum(objective, found)
        whole = certified(objective, found)
        if whole is None:
            return best
        if whole.value <= best.value or turn == 0:
            best = whole
        if turn and before - whole.value < CLOSE * abs(whole.value) and whole is found:
            break
        found = whole
    return best


def finish(objective: Objective, found: Found, seed: int) -> Found:
    """Return the least maximum near a point, patiently: with gradients around it."""
    if objective.is_smooth:
        return descend(objective, found, **_SMOOTH)
    rng, best = np.random.default_rng(seed), found
    for _ in range(_FINISHES):
        found = sample_gradients(objective, found, rng)
        found = minimise_maximum(objective, found)
        found = descend(objective, found, **(_PATIENT if objective.is_of_poles(found.pieces[0]) else _USUAL))
        whole = certified(objective, found)
        if whole is None:
            break
        gained, found = best.value - whole.value, whole
        if whole.value < best.value:
            best = whole
        if gained < CLOSE * abs(best.value):
            break
    return best


def certified(objective: Objective, found: Found) -> Found | None:
    """Return a point with all its peaks seen; None where it is not stable."""
    for _ in range(4):
        if objective.certify(found.x, found.value):
            return found
        pieces = objective(found.x)
        if pieces is None:
            return None
        found = Found(found.x, pieces)
    return found
