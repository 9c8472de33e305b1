"""States on the closures: at the start of a simulation, and next to those that an integrator reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.assembling import open_loops, refuse_flipped
from titop.solvers.constraints.closed_dynamics import rank_of_free
from titop.solvers.model.model import Model
from titop.solvers.simulation.plant import Plant

#: Start values that miss the closures by less (rad and m, for a system of size one; and their rates) are projected.
_START = 1e-6
#: How well loops are closed after each step (rad, and m for a system of size one).
PRECISION = 1e-13
#: Distance from singular configurations, by the least independent constraint, relative to the largest of the motion so far,
#: below which states within a step are projected too.
NEAR = 0.3


def closed_start(model: Model, q: Array, v: Array, fixed: Sequence[str]) -> tuple[Array, Array]:
    """Return start values on the closures; prescribed motions (`fixed`) keep theirs.

    Raises
    ------
    ModelError
        If they are further away than rounding explains.
    """
    rows = model.engine.dynamics.constraints(q, v)
    names = f", fixed={list(fixed)}" if fixed else ""
    if np.abs(model.closure_weights * rows.error).max() > _START:
        found, advice = f"{open_loops(model, q)} q0 leaves it so", f"start from m.assemble(q0{names})"
        raise ModelError(Finding("open-start", "q0", found, "a configuration that closes the loops", advice))
    rates = model.closure_weights * (rows.jacobian @ v)
    if np.abs(rates).max() > _START * max(1.0, np.abs(v).max()):
        worst = int(np.abs(rates).argmax())
        found = f"{model.constraint_names[worst]} changing at {(rows.jacobian @ v)[worst]:.3g}"
        advice = f"start with m.assemble_velocity(q0, v0{names})"
        raise ModelError(Finding("open-start", "v0", found, "a velocity that keeps the loops closed", advice))
    refuse_flipped(model, q)
    q = model.assemble(q, fixed)
    return q, model.assemble_velocity(q, v, fixed)


class OnClosures(NamedTuple):
    """A state ``y`` on the closures.

    Attributes
    ----------
    y : array
    distance : float
        From a singular configuration, and
    rank : int
        how many constraints are independent there; see `Closed`.
    """

    y: Array
    distance: float
    rank: int


def project(plant: Plant, t: float, y: Array, precision: float = PRECISION) -> OnClosures:
    """Return the state on the closures next to a given one, prescribed motions imposed."""
    model = plant.model
    own = y[model.nq + model.nv :]
    if not model.is_constrained:
        return OnClosures(np.concatenate([*plant.split(t, y), own]), 1.0, 0)
    try:
        q, v, distance, rank = plant.closed(t, y, precision)
    except ConvergenceError as error:
        raise ConvergenceError(f"at t = {t:.6g} s {error}") from None
    return OnClosures(np.concatenate([q, v, own]), distance, rank)


def follow_branch(plant: Plant, t: float, closed: OnClosures) -> OnClosures:
    """Return a state that is reached; count the constraints that act anew, unless it is next to a singular configuration."""
    model = plant.model
    if closed.rank == plant.held_rank or not model.is_constrained:
        return closed
    try:
        plant.held_rank = rank_of_free(model, closed.y[: model.nq], plant.motion.mask)
    except ModelError:
        return closed
    return project(plant, t, closed.y)
