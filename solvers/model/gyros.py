"""The momentum that wheels and control moment gyros store, and what their gimbals make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.joints.joint import unit_vector
from titop.solvers.model.mechanism import Resolved


@dataclass(frozen=True)
class GyroMomentum:
    """The momentum of a cluster, relative to the body that carries it and in that body's axes.

    Attributes
    ----------
    momentum : (3,) array, N m s
        Sum of the rotors' inertias times speeds along their axes.
    jacobian : (3, k) array, N m s/rad
        Its derivative by each gimbal's angle: ``-jacobian @ rates`` is the torque on the body that carries them.
    gimbals : tuple of str
        Names of these coordinates.
    """

    momentum: Array
    jacobian: Array
    gimbals: tuple[str, ...]

    @property
    def singular_values(self) -> Array:
        """Singular values (k, N m s/rad) of the Jacobian, at most three: along one of zero there is no torque."""
        values: Array = np.linalg.svd(self.jacobian, compute_uv=False) if self.jacobian.size else np.zeros(0)
        return values

    @property
    def gain(self) -> float:
        """The measure of singularity ``sqrt(det(J J^T))`` ((N m s/rad)^3): zero where the cluster is singular.

        Margulies and Aubrun, *Geometric theory of single-gimbal control moment gyro systems*, Journal of the Astronautical
        Sciences 26(2), 1978.
        """
        return float(np.prod(self.singular_values)) if len(self.gimbals) > 2 else 0.0


def gyro_momentum(model: Resolved, gyros: Sequence[str], q: Any, v: Any) -> GyroMomentum:
    """Return the stored momentum of reaction wheels and control moment gyros, and its derivatives by their gimbals' angles.

    Parameters
    ----------
    model : Model
    gyros : sequence of str
        Names of the devices, all on one body.
    q, v : array_like (nq,), (nv,)

    Raises
    ------
    ModelError
        For names that are none of such devices, devices on several bodies, and unusable states.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("agile", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", 100.0, inertia=10.0)
    >>> s.connect("world", hub, tt.Free("base"))
    >>> s.add_device(tt.ControlMomentGyro("cmg", hub, [1, 0, 0], [0, 0, 1], inertia=0.1, mass=5.0))
    >>> m = s.resolve()
    >>> cluster = tt.gyro_momentum(m, ["cmg"], m.neutral(), m.velocity({"cmg/wheel": 300.0}))
    >>> cluster.momentum.round(9).tolist(), cluster.jacobian.round(9).tolist()
    ([0.0, 0.0, 30.0], [[0.0], [-30.0], [0.0]])
    """
    mechanism = model.mechanism
    assembly, q, v = mechanism.assembly, mechanism._read_q(q), mechanism._read_v("v", v)
    rotors = {device.name: f"{device.name}/rotor" for device in assembly.devices if f"{device.name}/rotor" in assembly.hanging}
    total, columns, gimbals, carriers = np.zeros(3), list[Array](), list[str](), list[str]()
    for name in [gyros] if isinstance(gyros, str) else gyros:
        if name not in rotors:
            expected, advice = "a reaction wheel or a control moment gyro", did_you_mean(str(name), rotors)
            raise ModelError(Finding("unknown-device", "gyros", name, expected, advice))
        rotor: Any = assembly.blocks[rotors[name]]
        way = [assembly.hanging[rotor.name]]
        while way[0].parent.block.name in (f"{name}/frame", f"{name}/yoke"):
            way.insert(0, assembly.hanging[way[0].parent.block.name])
        carriers.append(way[0].parent.block.name)
        if carriers[-1] != carriers[0]:
            expected, advice = f"devices on {carriers[0]}", "ask for those of each body by themselves"
            raise ModelError(Finding("other-carrier", "gyros", f"{name} on {carriers[-1]}", expected, advice))
        carrier = mechanism.pose(carriers[0], q)[0]
        axes = [carrier.T @ mechanism.pose(each.child.block.name, q)[0] @ unit_vector(each.joint.axis) for each in way]  # type: ignore[attr-defined]
        spin = unit_vector(way[-1].joint.axis)  # type: ignore[attr-defined]
        momentum = spin @ rotor.inertia @ spin * v[assembly.place(way[-1].joint.name)[1]] * axes[-1]
        total = total + momentum
        columns += [cross(axis, momentum) for axis in axes[:-1]]
        gimbals += [each.joint.name for each in way[:-1]]
    return GyroMomentum(total, np.array(columns).reshape(-1, 3).T, tuple(gimbals))
