"""Efforts of a tree as Taylor series, another way: Newton's and Euler's laws in the inertial frame, about centres of mass.

Built from what a `titop.System` says of itself. A series is an array of coefficients along its first axis.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import Array

#: What a product of two series is for each pair of coefficients.
MATRICES, APPLIED, DOT = "ab,bc->ac", "ab,b->a", "a,a->"


def product(kind: str, x: Array, y: Array) -> Array:
    """Return the product of two series, as long as the shorter one."""
    n = min(len(x), len(y))
    return np.array([sum(np.einsum(kind, x[j], y[k - j]) for j in range(k + 1)) for k in range(n)])


def rate(x: Array) -> Array:
    """Return the derivative of a series, one coefficient shorter."""
    return np.arange(1, len(x)).reshape(-1, *[1] * (x.ndim - 1)) * x[1:]


def integral(start: Any, x: Array) -> Array:
    """Return the series from `start` on with this derivative."""
    return np.concatenate([[start], x / np.arange(1, len(x) + 1).reshape(-1, *[1] * (x.ndim - 1))])


def constant(x: Any, n: int) -> Array:
    """Return a series of n coefficients that stays x."""
    value = np.asarray(x, dtype=float)
    return np.concatenate([value[None], np.zeros((n - 1, *value.shape))])


def skew(w: Array) -> Array:
    """Return the matrices of the cross products with w."""
    x, y, z, nothing = *np.moveaxis(w, -1, 0), np.zeros(w.shape[:-1])
    return np.stack([np.stack([nothing, -z, y], -1), np.stack([z, nothing, -x], -1), np.stack([-y, x, nothing], -1)], -2)


def turned(start: Array, w: Array) -> Array:
    """Return R with ``dR/dt = R [w]``."""
    result, turning = [start], skew(w)
    for k in range(len(w)):
        result.append(sum(result[j] @ turning[k - j] for j in range(k + 1)) / (k + 1))
    return np.array(result)


class Frame:
    """A moving frame: rotation (n, 3, 3) and position (n, 3) in the inertial one, what hangs on it and what it hangs on."""

    def __init__(self, rotation: Array, position: Array, parent: Frame | None = None) -> None:
        self.rotation, self.position, self.parent = rotation, position, parent
        self.force, self.moment = np.zeros(position.shape), np.zeros(position.shape)  # about the inertial origin

    def placed(self, rotation: Any, position: Any) -> Frame:
        """Return a frame at a pose in this one, fixed or moving."""
        n = len(self.rotation)
        rotation, position = (constant(x, n) if np.ndim(x) == d else x for x, d in ((rotation, 2), (position, 1)))
        where = self.position + product(APPLIED, self.rotation, position)
        return Frame(product(MATRICES, self.rotation, rotation), where, self)

    def press(self, force: Array, at: Array, moment: Array) -> None:
        """Add a force at a point and a moment to what this frame and all that it hangs on have to carry."""
        n, frame = len(force), self
        moment = moment[:n] + product(APPLIED, skew(at)[:n], force)
        while frame is not None:
            frame.force[:n] += force
            frame.moment[:n] += moment
            frame = frame.parent  # type: ignore[assignment]


def port_pose(block: tt.Block, name: str | None) -> tuple[Array, Array]:
    """Return rotation and position of a body's port, or of its reference frame."""
    return (np.eye(3), np.zeros(3)) if name is None else block.pose(name, np.zeros(0))


class NewtonSeries:
    """The efforts of a tree and their derivatives.

    Parameters
    ----------
    system : titop.System
        Of rigid bodies on built-in joints; without friction, stops, and springs on spherical and free joints.
    q : (nq,) array
    v_series : (r + 2, nv) array
    wrenches : mapping of port name to (r + 1, 6) array, optional
        In the ports' frames, or the inertial one (`inertial`).
    """

    def __init__(
        self, system: tt.System, q: Array, v_series: Array, wrenches: dict[str, Array] | None = None, inertial: bool = False
    ) -> None:
        self.count = len(v_series) - 1
        n = self.count + 2
        self.scales = np.array([1.0 / factorial(k) for k in range(n)])
        self.rates = self.scales[: n - 1, None] * v_series
        self.tau = np.zeros((self.count, v_series.shape[1]))
        self.gravity = np.asarray(system.gravity, dtype=float)
        self.motions: list[tuple[int, Array, Array, Frame]] = []
        world = Frame(constant(np.eye(3), n), np.zeros((n, 3)))
        self.bodies: dict[str, tuple[Any, Frame]] = {"world": (system.world, world)}
        at_q = at_v = 0
        for connection in system.connections:
            joint, body = connection.joint, connection.child.block
            parent, hung = self.bodies[connection.parent.block.name]
            frame = hung.placed(*port_pose(parent, connection.parent.name))
            frame = frame.placed(connection.placement.rotation, connection.placement.position)
            frame = self._joint(joint, frame, q[at_q : at_q + joint.nq], at_v)
            rotation, position = port_pose(body, connection.child.name)
            frame = frame.placed(rotation.T, -rotation.T @ position)
            self.bodies[body.name] = body, frame
            self._body(body, frame)
            self._own(joint, q[at_q : at_q + joint.nq], slice(at_v, at_v + joint.nv))
            at_q, at_v = at_q + joint.nq, at_v + joint.nv
        for load in system.loads:
            self._load(load.target, np.array([*load.force, *load.torque]), load.frame == "world")
        for port, wrench in (wrenches or {}).items():
            self._push(port, self.scales[: self.count, None] * wrench, inertial)
        for j, along, about, frame in self.motions:
            force, moment = frame.force[: self.count], frame.moment[: self.count]
            moment = moment - product(APPLIED, skew(frame.position), force)
            self.tau[:, j] += product(DOT, along, force) + product(DOT, about, moment)

    @property
    def efforts(self) -> Array:
        """The efforts and their derivatives (r + 1, nv)."""
        found: Array = self.tau / self.scales[: self.count, None]
        return found

    def _joint(self, joint: Any, frame: Frame, q: Array, first: int) -> Frame:
        """Return the frame behind a joint; remember how its coordinates move it."""
        if joint.nv == 0:
            return frame
        n, rates = self.count + 2, self.rates
        kind = joint.chain[0].kind
        if kind != "axial":
            free = kind == "free"
            angular = rates[:, first + 3 * free : first + 3 * free + 3]
            rotation = turned(Rotation.from_quat(q[-4:]).as_matrix(), angular)
            shift = np.zeros((n, 3))
            if free:
                shift = integral(q[:3], product(APPLIED, rotation, rates[:, first : first + 3]))
            frame = frame.placed(rotation, shift)
            for c in range(3):
                axis = frame.rotation[:, :, c]
                if free:
                    self.motions.append((first + c, axis, 0.0 * axis, frame))
                self.motions.append((first + 3 * free + c, 0.0 * axis, axis, frame))
            return frame
        for k, link in enumerate(joint.chain):
            axis = np.asarray(getattr(joint, link.axis) if isinstance(link.axis, str) else link.axis, dtype=float)
            axis = axis / np.linalg.norm(axis)
            linear = float(joint.pitch[0]) if link.linear == "pitch" else float(link.linear)
            way = integral(q[k], rates[:, first + k])
            rotation = turned(
                Rotation.from_rotvec(link.angular * q[k] * axis).as_matrix(), link.angular * np.outer(rate(way), axis)
            )
            frame = frame.placed(rotation, linear * np.outer(way, axis))
            direction = product(APPLIED, frame.rotation, constant(axis, n))
            self.motions.append((first + k, linear * direction, link.angular * direction, frame))
        return frame

    def _body(self, body: Any, frame: Frame) -> None:
        center = frame.position + product(APPLIED, frame.rotation, constant(body.com, self.count + 2))
        force = body.mass * (rate(rate(center)) - constant(self.gravity, self.count))
        turning = product(MATRICES, rate(frame.rotation), frame.rotation.transpose(0, 2, 1))
        omega = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], -1)
        inertia = product(MATRICES, frame.rotation, body.inertia @ frame.rotation.transpose(0, 2, 1))
        frame.press(force, center, rate(product(APPLIED, inertia, omega)))

    def _own(self, joint: Any, q: Array, where: slice) -> None:
        """Add what the joint's armature, spring and damper take."""
        if joint.nv == 0:
            return
        v, armature = self.rates[:, where], np.asarray(joint.armature, dtype=float)
        own = armature * rate(v) + (v @ np.asarray(joint.damping).T)[: self.count]
        kind = joint.chain[0].kind
        if kind == "axial":
            displacement = integral(q - joint.rest, v)
            own += (displacement @ np.asarray(joint.stiffness).T)[: self.count]
        else:
            momentum = armature * v
            own[:, -3:] += product(APPLIED, skew(v[:, -3:]), momentum[:, -3:])[: self.count]
            if kind == "free":
                own[:, :3] += product(APPLIED, skew(v[:, 3:]), momentum[:, :3])[: self.count]
                own[:, 3:] += product(APPLIED, skew(v[:, :3]), momentum[:, :3])[: self.count]
        self.tau[:, where] += own

    def _load(self, port: Any, wrench: Array, inertial: bool) -> None:
        self._push(str(port), constant(wrench, self.count), inertial)

    def _push(self, port: str, wrench: Array, inertial: bool) -> None:
        """Let a wrench (n, 6) act on a port."""
        body, _, name = port.partition(".")
        block, hung = self.bodies[body]
        frame = hung.placed(*port_pose(block, name or None))
        parts = [wrench[:, :3], wrench[:, 3:]]
        if not inertial:
            parts = [product(APPLIED, frame.rotation, part) for part in parts]
        hung.press(-parts[0], frame.position, -parts[1])
