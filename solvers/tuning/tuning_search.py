"""One search from one start: a stable loop first, then the least maximum, by turns of two methods and a certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, NEGLIGIBLE, RANK, SAME
from titop.solvers.tuning.minimax import Found, descend, minimise_maximum, sample_gradients
from titop.solvers.tuning.objective import Objective

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
