"""What acts on a model at the output times of a simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import all_finite
from titop.solvers.simulation.driven_model import DrivenModel


class ActingRows(NamedTuple):
    """What acts at n times, a row each.

    Attributes
    ----------
    tau : (n, nv) array
        All efforts that are not inputs.
    u : (n, nu) array
        Inputs; zero where there are none.
    wrenches : dict of port name to (n, 6) array, N and N m
        In the ports' frames.
    """

    tau: Array
    u: Array
    wrenches: dict[str, Array]


def acting_rows(plant: DrivenModel, t: Array, y: Array, q: Array, v: Array) -> ActingRows:
    """Return what acts on a plant at times t (n, s), where its states are y (n, ...): q (n, nq) and v (n, nv).

    Functions of the state are asked once for each time, in this order.

    Raises
    ------
    ModelError
        For efforts and inputs that are not finite.
    """
    n, model = len(t), plant.model
    wrenches = {port: np.tile(plant.constant.get(port, np.zeros(6)), (n, 1)) for port in (*plant.constant, *plant.varying)}
    known = plant.known(t)
    if known is not None:
        tau, u = known
        return ActingRows(tau, np.zeros((n, model.nu)) if u is None else u, wrenches)
    acting = ActingRows(np.empty((n, model.nv)), np.zeros((n, model.nu)), wrenches)
    for k in range(n):
        _write(plant, t.item(k), y[k], (q[k], v[k]), k, acting)
        if not (all_finite(acting.tau[k]) and all_finite(acting.u[k])):
            plant.check_acting()
    return acting


def _write(plant: DrivenModel, t: float, y: Array, state: tuple[Array, Array], row: int, acting: ActingRows) -> None:
    """Write what acts at a time, where the state is y, q and v, into a row."""
    if plant.loop is not None:
        plant.command = plant.loop.command_at(plant, t, y)
    acting.tau[row], u = plant.efforts(t, *state), plant.inputs(t, *state)
    if u is not None:
        acting.u[row] = plant.model.inputs.given(u)
    for port, wrench in plant.varying.items():
        acting.wrenches[port][row] = wrench.at(t, *state)
