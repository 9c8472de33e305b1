"""How far members of linear fractional models are from exact ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.connections.closing import Closing
from titop.solvers.lft.model.responses import frequencies_around, largest_difference, points_at, response

if TYPE_CHECKING:
    from control import StateSpace

#: An error above this, in parts of the response, is worth a warning.
_COARSE = 1e-2


def difference(found: StateSpace, right: Callable[[Array, Array], Array]) -> float:
    """Return the largest difference from a response at frequencies (rad/s) and s or z there, in parts of its norm."""
    omega = frequencies_around(found)
    points = points_at(found, omega)
    return largest_difference(response((found.A, found.B, found.C, found.D), points), right(omega, points))


def coarse(closing: Closing, members: Iterable[tuple[StateSpace, StateSpace]]) -> list[Finding]:
    """Return what is to be warned of: stages too few for the period, or motions too fast for any number of them.

    Parameters
    ----------
    closing : Closing
    members : iterable of pairs
        Members of the model in continuous time, and those of the sampled loop at the same values.
    """

    def error(plant: StateSpace, loop: StateSpace) -> float:
        exact = closing.exact((plant.A, plant.B, plant.C, plant.D))
        return difference(loop, lambda _, points: response(exact, points))

    pairs = [*members]
    worst = max((error(plant, loop) for plant, loop in pairs), default=0.0)
    if worst <= _COARSE:
        return []
    where, found = f"close: stages={closing.stages}", f"errors up to {worst:.2g} of the response"
    advice = f"try stages={closing.stages + 1}, or sample faster; see check"
    half, fastest = np.pi / closing.period, max(np.abs(plant.poles()).max(initial=0.0) for plant, _ in pairs)
    if fastest > half:
        found = f"{found}, with poles up to {fastest:.4g} rad/s"
        advice = (
            f"hold what is faster than half the sampling frequency, {half:.4g} rad/s, with hold= of tt.lft, or sample faster: "
            "more stages are no cure there"
        )
    return [Finding("coarse-stages", where, found, f"{_COARSE:g} or less", advice)]
