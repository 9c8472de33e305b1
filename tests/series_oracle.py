"""Time derivatives of inverse dynamics from Newton's and Euler's laws in the inertial frame, in 50-digit arithmetic.

Shares nothing with titop but what a `titop.System` says of itself: attitudes and positions of bodies as Taylor series, their
momenta by differentiating these, and each joint's efforts as what moves all that it carries. No twist is carried along the
tree, no recursion in body frames, no spatial algebra.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import titop as tt
from tests.precise_series import MP, Series, array, attitude, each, from_derivatives, integral, rates, sin_cos, time, turning
from tests.systems import Array

#: Of the trajectory of paper L, Table 3: duration (s), first angles and travels of the joints (deg).
DURATION = 30
START = (10, -5, 15, -10, 7, -12)
TRAVEL = (60, 50, 40, 55, 45, 35)


@dataclass(frozen=True)
class Relative:
    """How a joint's child moves in its joint frame: rotation (3, 3) and position (3), of series."""

    rotation: Any
    position: Any


class Oracle:
    """Trees of rigid bodies on free, spherical, revolute, prismatic and welded joints, without springs, dampers and armature.

    Parameters
    ----------
    s : titop.System
    """

    def __init__(self, s: tt.System) -> None:
        self.system = s
        starts_q = np.cumsum([0, *(c.joint.nq for c in s.connections)])
        starts_v = np.cumsum([0, *(c.joint.nv for c in s.connections)])
        self.of_q = [slice(a, b) for a, b in itertools.pairwise(starts_q)]
        self.of_v = [slice(a, b) for a, b in itertools.pairwise(starts_v)]
        self.nv = int(starts_v[-1])

    # -- motions ---------------------------------------------------------------------------------------------------------

    def moving(self, q: Array, v_series: Array) -> list[Relative]:
        """Return the joints' motions from a configuration (nq) and the derivatives of velocities (n, nv)."""
        one = Series([1, *[0] * len(v_series)])
        return [
            self._joint_motion(c.joint, q[in_q], [from_derivatives(column) for column in v_series[:, in_v].T], one)
            for c, in_q, in_v in zip(self.system.connections, self.of_q, self.of_v, strict=True)
        ]

    def _joint_motion(self, joint: tt.Joint, q: Array, v: list[Series], one: Series) -> Relative:
        still, unturned = array(np.zeros(3)) * one, array(np.eye(3)) * one
        match joint:
            case tt.Revolute():
                return Relative(turning(unit(joint.axis), integral(q[0], v[0])), still)
            case tt.Prismatic():
                return Relative(unturned, unit(joint.axis) * integral(q[0], v[0]))
            case tt.Spherical():
                return Relative(attitude(matrix(q), v), still)
            case tt.Free():
                rotation = attitude(matrix(q[3:]), v[3:])
                velocity = rotation @ np.array(v[:3], object)
                return Relative(rotation, np.array([integral(x, rate) for x, rate in zip(q[:3], velocity, strict=True)]))
            case tt.Weld():
                return Relative(unturned, still)
        raise TypeError(f"no motion of a {type(joint).__name__}")

    def velocities(self, joints: list[Relative]) -> Array:
        """Return what titop calls the velocities' derivatives (n, nv) of motions given as functions of time."""
        columns: list[Series] = []
        for c, motion in zip(self.system.connections, joints, strict=True):
            spin = angular_velocity(motion.rotation)
            match c.joint:
                case tt.Revolute():
                    columns.append(unit(c.joint.axis) @ spin)
                case tt.Prismatic():
                    columns.append(unit(c.joint.axis) @ rates(motion.position))
                case tt.Spherical():
                    columns.extend(spin)
                case tt.Free():
                    columns.extend([*(motion.rotation.T @ rates(motion.position)), *spin])
        return derivatives(columns)

    # -- dynamics --------------------------------------------------------------------------------------------------------

    def poses(self, joints: list[Relative]) -> dict[str, tuple[Any, Any]]:
        """Return attitude (3, 3) and position (3) of each body and port, of series, by dotted name."""
        length = max((len(motion.rotation[0, 0].c) for motion in joints), default=1)
        one = Series([1, *[0] * (length - 1)])
        found = {"world": (array(np.eye(3)) * one, array(np.zeros(3)) * one)}
        for port, pose in self.system.world.port_poses.items():
            found[f"world.{port}"] = placed(found["world"], pose)
        for c, motion in zip(self.system.connections, joints, strict=True):
            rotation, position = placed(found[str(c.parent)], c.placement)
            rotation, position = rotation @ motion.rotation, position + rotation @ motion.position
            body = c.child.block
            if c.child.name is not None:
                inward = body.port_poses[c.child.name]
                rotation = rotation @ array(inward.rotation).T
                position = position - rotation @ array(inward.position)
            found[body.name] = rotation, position
            for port, pose in body.port_poses.items():
                found[f"{body.name}.{port}"] = placed(found[body.name], pose)
        return found

    def inverse(self, joints: list[Relative], wrenches: Mapping[str, Array] | None = None) -> Array:
        """Return the efforts and their derivatives (r + 1, nv), precise numbers.

        Parameters
        ----------
        joints : list of Relative
            Motions, two coefficients longer than the efforts.
        wrenches : mapping
            Derivatives (r + 1, 6) of wrenches on ports, in their frames.
        """
        poses, gravity = self.poses(joints), array(self.system.gravity)
        #: Force and moment about the inertial origin that move each body and all that it carries.
        needed: dict[str, list[Any]] = {}
        for c in self.system.connections:
            body = c.child.block
            rotation, position = poses[body.name]
            com = position + rotation @ array(body.com)
            force = (rates(rates(com)) - gravity) * body.mass
            spin = rotation @ array(body.inertia) @ angular_velocity(rotation)
            needed[body.name] = [force, rates(spin) + np.cross(com, force)]
        for port, given in (wrenches or {}).items():
            rotation, position = poses[port]
            pushed = np.array([from_derivatives(column) for column in np.transpose(given)], object)
            force, moment = rotation @ pushed[:3], rotation @ pushed[3:]
            own = needed[port.partition(".")[0]]
            own[0], own[1] = own[0] - force, own[1] - moment - np.cross(position, force)
        columns: list[list[Series]] = []
        for c in reversed(self.system.connections):
            force, moment = needed[c.child.block.name]
            columns.append(self._efforts(c, poses, force, moment))
            parent = c.parent.block.name
            if parent in needed:
                needed[parent] = [needed[parent][0] + force, needed[parent][1] + moment]
        return derivatives([effort for own in reversed(columns) for effort in own])

    def _efforts(self, c: Any, poses: dict[str, tuple[Any, Any]], force: Any, moment: Any) -> list[Series]:
        """Return a joint's efforts from the force and the moment about the inertial origin that it transmits."""
        frame, _ = placed(poses[str(c.parent)], c.placement)
        child, position = poses[str(c.child)]
        about = moment - np.cross(position, force)
        match c.joint:
            case tt.Revolute():
                return [frame @ unit(c.joint.axis) @ about]
            case tt.Prismatic():
                return [frame @ unit(c.joint.axis) @ force]
            case tt.Spherical():
                return list(child.T @ about)
            case tt.Free():
                return [*(child.T @ force), *(child.T @ about)]
        return []


def unit(axis: Array) -> Any:
    """Return a direction of length one."""
    return array(axis) / MP.sqrt(MP.fdot(array(axis), array(axis)))


def matrix(quaternion: Array) -> Any:
    """Return the rotation matrix of a quaternion (x, y, z, w) of any length."""
    x, y, z, w = array(quaternion) / MP.sqrt(MP.fdot(array(quaternion), array(quaternion)))
    return array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def angular_velocity(rotation: Any) -> Any:
    """Return the angular velocity (3) in the turning frame, of ``R^T dR/dt = skew(w)``."""
    spin = rotation.T @ rates(rotation)
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0]], object)


def placed(frame: tuple[Any, Any], pose: tt.Pose) -> tuple[Any, Any]:
    """Return attitude and position of what stands at a fixed pose in a moving frame."""
    return frame[0] @ array(pose.rotation), frame[1] + frame[0] @ array(pose.position)


def derivatives(columns: list[Series]) -> Any:
    """Return the derivatives of series (orders, series), as many as all of them have."""
    length = min(len(column.c) for column in columns)
    return np.array([column.derivatives()[:length] for column in columns], object).T


def rounded(values: Any) -> Array:
    """Return precise numbers as ordinary ones."""
    return np.asarray(each(float, values), np.float64)


def table3(t: float, order: int) -> tuple[list[Relative], Array]:
    """Return the motions of Table 3 at t (s), for efforts up to an order, and the configuration (13) there.

    The paper leaves the phases open: here the circle begins at (1, 0, 0), the yaw at zero.
    """
    now = time(t, order + 3)
    s, c = sin_cos(now * (MP.pi / 10))
    swing, _ = sin_cos(now * (MP.pi / 15))
    yaw = swing * MP.radians(25)
    base = Relative(turning([0, 0, 1], yaw), np.array([c, s, 0 * now], object))
    _, along = sin_cos(now * (MP.pi / DURATION))
    angles = [MP.radians(a) + MP.radians(b) / 2 * (1 - along) for a, b in zip(START, TRAVEL, strict=True)]
    axes = [[0, 1, 0], [1, 0, 0], [0, 0, 1]] * 2
    still = array(np.zeros(3)) * now
    arms = [Relative(turning(axis, angle), still) for axis, angle in zip(axes, angles, strict=True)]
    half = yaw.c[0] / 2
    q = [c.c[0], s.c[0], 0, 0, 0, MP.sin(half), MP.cos(half), *(angle.c[0] for angle in angles)]
    return [base, *arms], rounded(np.array(q, object))


def aerial_manipulator() -> tt.System:
    """Return paper L's aerial manipulator (section 7, Table 3), g = 9.81 m/s^2, which it does not print."""
    below, half_link, spacing = 0.10, 0.06, 0.18  # b, d, c (m)
    s = tt.System("aerial manipulator", gravity=[0, 0, -9.81])
    base = tt.RigidBody("base", 2.5, inertia=[0.03, 0.03, 0.05])
    s.connect("world", base, tt.Free("flight"))
    for arm, side in enumerate((0.5, -0.5)):
        parent, place = base, [side * spacing, 0, -below]
        for k, axis in enumerate(([0, 1, 0], [1, 0, 0], [0, 0, 1]), start=2 + 3 * arm):
            link = tt.RigidBody(f"B{k}", 0.25, com=[0, 0, -half_link], inertia=[0.002, 0.002, 0.001])
            s.connect(parent, link, tt.Revolute(f"q{k}", axis=axis), placement=place)
            parent, place = link, [0, 0, -2 * half_link]
    return s
