"""Reactions as efforts: a joint whose child is held by six more coordinates, whose efforts are the joint's wrench."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import PortRef
from titop.blocks.joints.quaternion_joints import Free
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Connection
from titop.solvers.linear.drives import Drives
from titop.solvers.linear.variation import Snapshot, Variation

if TYPE_CHECKING:
    from titop.solvers.model.model import Model


class OpenedJoint:
    """A joint's reaction as a function of the state.

    Parameters
    ----------
    joint : str
    drives : Drives
        Inputs of the system: wrenches beyond the joint enter its reaction.
    """

    def __init__(self, joint: str, drives: Drives) -> None:
        self.joint = joint
        self._paths = [drive.signal.path for drive in drives.channels]
        self._last: tuple[Model, Model] | None = None

    def slopes(self, at: Snapshot, change: Variation) -> Array:
        """Return the change (6, z) of the reaction in a tree."""
        opened = self._opened(at.model)
        own = np.array([opened.coordinate_names.index(name) for name in at.model.coordinate_names], dtype=int)
        added = np.setdiff1d(range(opened.nv), own)
        q = opened.neutral()
        q[[opened.configuration_names.index(name) for name in at.model.configuration_names]] = at.q
        v, a = np.zeros((2, opened.nv))
        v[own], a[own] = at.v, at.a
        by_q, by_v, by_a = opened.inverse_dynamics_derivatives(q, v, a, at.wrenches, u=at.u)
        by_input = -Drives(opened, self._paths).efforts(opened, q)[added]
        rows = np.ix_(added, own)
        return by_q[rows] @ change.q + by_v[rows] @ change.v + by_a[rows] @ change.a + by_input @ change.inputs

    def _opened(self, model: Model) -> Model:
        """Return the model with six coordinates more, made anew when the model is another one."""
        if self._last is None or self._last[0] is not model:
            self._last = model, type(model)(_opened(model.assembly, self.joint))  # type: ignore[call-arg]
        return self._last[1]


def _opened(assembly: Assembly, joint: str) -> Assembly:
    """Return an assembly with a massless body and a free joint between a joint and its child."""
    position = next(k for k, connection in enumerate(assembly.connections) if connection.joint.name == joint)
    connection = assembly.connections[position]
    between = PortRef(RigidBody(f"{joint}/between", mass=0.0), None)
    inserted = (
        Connection(connection.parent, between, connection.joint, connection.placement),
        Connection(between, connection.child, Free(f"{joint}/opened"), Pose()),
    )
    order = [k + (k > position) for k in assembly.connect_order]
    return replace(
        assembly,
        connections=(*assembly.connections[:position], *inserted, *assembly.connections[position + 1 :]),
        connect_order=(*order, position + 1),
    )
