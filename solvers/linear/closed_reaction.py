"""Reactions where loops are closed: their changes by complex steps through the reference resolver, exact to rounding."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array
from titop.solvers.engines.reference.resolver import ReferenceModel
from titop.solvers.linear.drives import Drives
from titop.solvers.linear.variation import Snapshot, Variation


class ClosedReaction:
    """The reaction of a joint or closure as a function of state, accelerations and all that acts.

    Parameters
    ----------
    name : str
        Of a joint or closure.
    drives : Drives
        Inputs of the system: wrenches and actuators among them enter the reaction.
    """

    def __init__(self, name: str, drives: Drives) -> None:
        self.name = name
        self._drives = drives

    def slopes(self, at: Snapshot, change: Variation) -> Array:
        """Return the change (6, z) of the reaction."""
        reference = ReferenceModel(at.model.assembly)

        def reaction(z: Array) -> Array:
            u, wrenches = self._acting(at, change.inputs @ z)
            q = reference.integrate(at.q, change.q @ z)
            v, a, tau = at.v + change.v @ z, at.a + change.a @ z, at.tau + change.tau @ z
            return reference.reaction(self.name, q, v, a, wrenches, u, tau)

        return complex_step(reaction, np.zeros(change.q.shape[-1]))

    def _acting(self, at: Snapshot, inputs: Array) -> tuple[Array | None, dict[str, Array]]:
        """Return actuators' inputs and wrenches with the changes of the system's inputs."""
        u = at.inputs.astype(complex)
        wrenches = {port: np.asarray(wrench, dtype=complex).copy() for port, wrench in (at.wrenches or {}).items()}
        for drive, step in zip(self._drives.channels, inputs, strict=True):
            if drive.kind == "actuator":
                u[drive.entry] += step
            elif drive.kind == "wrench":
                wrenches.setdefault(drive.port, np.zeros(6, dtype=complex))[drive.entry] += step
        return (u if u.size else None), wrenches
