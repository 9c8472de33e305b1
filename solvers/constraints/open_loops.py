"""Loops that a state leaves open, or opens: which, by how much, and what to do."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import OPEN
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.mechanism import ClosedMechanism


def refuse_open(model: ClosedMechanism, q: Array, v: Array, code: str, where: tuple[str, str], cures: tuple[str, str]) -> None:
    """Refuse a configuration that does not close the loops, and a velocity that opens them; `where` and `cures` are of both.

    Raises
    ------
    ModelError
        Naming the loop.
    """
    if not model.is_constrained:
        return
    rows = model.engine.dynamics.constraints(q, v)
    if np.abs(model.scale.weights * rows.error).max() > OPEN:
        found = f"{open_loops(model, q)} {where[0]} leaves it so"
        raise ModelError(Finding(code, where[0], found, "a configuration that closes the loops", cures[0]))
    changes = rows.jacobian @ v
    sizes, terms = (model.scale.weights * np.abs(part) for part in (changes, np.abs(rows.jacobian) @ np.abs(v)))
    if sizes.max() > OPEN * max(1.0, terms.max()):
        worst = int(sizes.argmax())
        found = f"{model.constraint_names[worst]} changing at {changes[worst]:.3g}"
        raise ModelError(Finding(code, where[1], found, "a velocity that keeps the loops closed", cures[1]))


def open_loops(model: ClosedMechanism, q: Array) -> str:
    """Return the name of the most open loop, or gear, with what is left of its errors, as text."""
    rows = model.engine.dynamics.constraints(q, np.zeros(model.nv))
    row = int((model.scale.weights * np.abs(rows.error)).argmax())
    name = owner_of(model.constraint_names[row])
    own = np.array([constraint.startswith(f"{name}.") for constraint in model.constraint_names])
    if any(gear.name == model.constraint_names[row] for gear in model.gear_constraints):
        return f"gear {name!r} is out of mesh by {abs(rows.error[row]):.3g} {model.constraint_units[row]} and"
    metres = np.abs(rows.error[own & ~model.angular_constraints]).max(initial=0.0)
    radians = np.abs(rows.error[own & model.angular_constraints]).max(initial=0.0)
    return f"loop {name!r} is open by {metres:.3g} m and {radians:.3g} rad and"


def refuse_flipped(model: ClosedMechanism, q: Array) -> None:
    """Refuse a configuration at which a closure's axes are antiparallel.

    Raises
    ------
    ConvergenceError
        Naming the loop.
    """
    for loop in model.rigid_loops:
        if loop.closure.is_flipped(relative_pose(model, loop, q)[0]):
            raise ConvergenceError(
                f"loop {loop.closure.name!r} closes with its axes antiparallel; "
                "start nearer to a configuration in which they point the same way"
            )
