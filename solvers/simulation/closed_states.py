"""Projection of states onto the closures, and errors of trial states that lie too far away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, ROUNDING
from titop.solvers.constraints.assembling import refuse_flipped, refuse_open
from titop.solvers.constraints.closed_dynamics import rank_of_free
from titop.solvers.model.model import Model
from titop.solvers.simulation.driven_model import DrivenModel

#: Closure error allowed after each step (rad, and m for a system of size one).
PRECISION = ROUNDING
#: The same near singular configurations: down to rounding.
UTMOST = 0.05 * EPS
#: States within a step are projected too where the smallest independent constraint, relative to the largest of the motion so
#: far, is below this: there a singular configuration is near.
NEAR = 0.3


def close_start(model: Model, q: Array, v: Array, fixed: Sequence[str]) -> tuple[Array, Array]:
    """Return start values projected onto the closures; coordinates with prescribed motion (`fixed`) keep theirs."""
    names = f", fixed={list(fixed)}" if fixed else ""
    cures = f"start from m.assemble(q0{names})", f"start with m.assemble_velocity(q0, v0{names})"
    refuse_open(model.mechanism, q, v, "open-start", ("q0", "v0"), cures)
    refuse_flipped(model.mechanism, q)
    q = model.assemble(q, fixed)
    return q, model.assemble_velocity(q, v, fixed)


class ClosedState(NamedTuple):
    """A state ``y`` on the closures.

    - `distance`: from a singular configuration; see `Closed`;
    - `rank`: number of independent constraints there.
    """

    y: Array
    distance: float
    rank: int


def project(plant: DrivenModel, t: float, y: Array, precision: float = PRECISION) -> ClosedState:
    """Return the state on the closures closest to a given one, with prescribed motions imposed."""
    model = plant.model
    others = y[model.nq + model.nv :]
    if not model.is_constrained:
        return ClosedState(np.concatenate([*plant.split(t, y), others]), 1.0, 0)
    try:
        q, v, distance, rank = plant.prepared.project(*plant.split(t, y), precision)
    except ConvergenceError as error:
        raise ConvergenceError(f"at t = {t:.6g} s {error}") from None
    return ClosedState(np.concatenate([q, v, others]), distance, rank)


def project_rows(plant: DrivenModel, t: Array, y: Array) -> Array:
    """Return the states (n, ...) on the closures closest to given ones at times t (n, s), with prescribed motions imposed."""
    model = plant.model
    if model.is_constrained:
        return np.array([project(plant, instant, row).y for instant, row in zip(t.tolist(), y, strict=True)])
    return y if plant.has_plain_states else np.hstack([*plant.split_rows(t, y), y[:, model.nq + model.nv :]])


def follow_branch(plant: DrivenModel, t: float, closed: ClosedState) -> ClosedState:
    """Accept a state as reached: count the independent constraints again, unless it is next to a singular configuration."""
    model = plant.model
    if closed.rank == plant.prepared.rank or not model.is_constrained:
        return closed
    try:
        plant.prepared.rank = rank_of_free(model.mechanism, closed.y[: model.nq], plant.motion.mask, plant.motion.still)
    except ModelError as error:
        if error.code != "singular-closure":
            raise
        return closed
    return project(plant, t, closed.y)


def went_too_far(error: ModelError) -> bool:
    """Tell whether an error may come from the trial state alone, so that a shorter step may succeed.

    Numbers overflow there, or a body is strained so far that no inertia is left.
    """
    return error.code == "massless-joint" or (error.code, error.where) == ("not-finite", "result")


def explain_trial(error: ModelError) -> str:
    """Return the message for a trial state: the step, not the model, is the reason why no inertia is left."""
    if error.code == "massless-joint":
        return f"a trial step strains {error.where} until no inertia is left; perhaps a stiff system, or loose tolerances"
    return str(error)
