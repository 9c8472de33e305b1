"""Refusals to call something an equilibrium that is none, or only in passing."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.equations import Equations, later_along
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.model.sections import overlaps

#: An unknown as close to its bound as this, in what counts as one of it, is said to be at it.
_AT_BOUND = 1e-6

#: How much less exactly than at the point the equations hold a few radians, or lengths of the system, later.
_LATER = 1e3


def refuse_residual(
    point: OperatingPoint, found: Equations, excess: Array, unknowns: Unknowns, x: Array, bounds: tuple[Array, Array]
) -> None:
    """Refuse to call something an equilibrium that is none.

    Raises
    ------
    ConvergenceError
        If an `excess`, a residual in parts of what is allowed, is more than one.
    """
    if not (excess > 1).any():
        return
    worst = int(excess.argmax())
    room = np.minimum(x - bounds[0], bounds[1] - x)
    at_bound = [name for name, left in zip(unknowns.names, room, strict=True) if left < _AT_BOUND]
    hint = f"{', '.join(at_bound)} at a bound; " if at_bound else ""
    hint += "".join(f"{each.where} has {each.value}; " for each in overlaps(point.model, point.q[None]))
    raise ConvergenceError(
        f"no equilibrium near the guess: {found.names[worst]}, {found.values[worst] * found.sizes[worst]:.3g}, is left at "
        f"{_values(point, unknowns) or 'the given point'}; {hint}try another guess, or more unknowns"
    )


def refuse_passing(point: OperatingPoint, derivatives: Array, tolerance: float, unknowns: Unknowns) -> None:
    """Refuse a state whose accelerations vanish, or whose closures and gears hold, only in passing.

    Raises
    ------
    ConvergenceError
        If they do.
    """
    names, sizes, allowed = point.model.coordinate_names, unknowns.sizes, _LATER * tolerance
    try:
        later = later_along(point, sizes)
    except ConvergenceError as error:
        raise ConvergenceError(f"no equilibrium: at constant rates, {error}") from None
    size = sizes.accelerations * (1.0 + np.abs(derivatives[: point.model.nv]) @ unknowns.least)
    accelerated = np.abs(later.accelerations).max(axis=0, initial=0.0) / (allowed * size)
    if (accelerated > 1).any():
        raise ConvergenceError(
            f"no equilibrium: the accelerations vanish, but not while the system moves ({names[int(accelerated.argmax())]}); "
            "let only coordinates move on which nothing depends"
        )
    moved = np.maximum(np.abs(later.openings), np.abs(later.rates) / (sizes.rate + sizes.speed(point.v)))
    opened = (moved / sizes.coordinates).max(axis=0, initial=0.0) / allowed
    if (opened > 1).any():
        raise ConvergenceError(
            "no equilibrium: closures and gears do not hold while the system moves at constant rates "
            f"({names[int(opened.argmax())]}); let only coordinates move on which nothing depends"
        )


def _values(point: OperatingPoint, unknowns: Unknowns) -> str:
    """Return the unknowns' values as text."""
    values = Unknowns(point, unknowns.names[:8]).values()
    shown = [f"{name} = {value:.6g}" for name, value in zip(unknowns.names, values, strict=False) if not np.isnan(value)]
    return ", ".join(shown) + (", ..." if len(unknowns.entries) > 8 else "")
