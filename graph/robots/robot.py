"""A robot as its links and joints: what all readers of robot files return, and what systems are built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from titop.blocks.basics.errors import did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.graph.robots.report import REPAIR, Report

#: Kinds of joint of URDF with one axis along or about which they move.
AXIAL_KINDS = ("revolute", "continuous", "prismatic")
#: The parent of links that are connected to the world.
WORLD = ""


@dataclass(frozen=True)
class RobotLink:
    """A link: centre of mass (3, m) and inertia about it (3x3, kg m^2), both in link axes."""

    name: str
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: Sequence[Mapping[str, Any]] = ()  #: As `titop.graph.robots.looks` reads them.


@dataclass(frozen=True)
class Mimic:
    """How a joint follows another: its coordinate is `multiplier` times that of `joint`, plus `offset` (rad or m)."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class RobotJoint:
    """A joint between two links."""

    name: str
    kind: str  #: URDF's type, or ball, universal or screw.
    parent: str  #: Name of a link, or `WORLD`.
    child: str  #: Name of a link.
    origin: Pose  #: Of the joint, at zero coordinates, in the parent link.
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))  #: (3): in the joint frame.
    limits: dict[str, float] = field(default_factory=dict)  #: Lower, upper, velocity and effort, as far as they limit anything.
    damping: Any = 0.0  #: A number, or one for each axis.
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    stiffness: Any = 0.0
    rest: Any = 0.0  #: Coordinate without elastic effort.
    port: Pose | None = None  #: Of the joint in the child link; None where the two coincide.
    second: Array | None = None  #: (3): second axis of a universal joint.
    pitch: float = 0.0  #: m/rad, of a screw.


def composed(outer: Pose, inner: Pose) -> Pose:
    """Return the pose in the outermost frame of a pose given in the frame of another."""
    if not outer.rotation_vector.any() and not outer.position.any():
        return inner
    return Pose(outer.position + outer.rotation @ inner.position, outer.rotation @ inner.rotation)


#: Kinds of joints that can close loops, with the kinds of closures that they are.
_CLOSURES = {kind: kind for kind in ("revolute", "prismatic", "universal", "screw")}
_CLOSURES |= {"fixed": "weld", "continuous": "revolute", "ball": "spherical"}


@dataclass(frozen=True)
class RobotClosure:
    """A joint that closes a loop: its poses in both links, and its axes."""

    name: str
    kind: str  #: Of a `RigidClosure`.
    links: tuple[str, str]
    poses: tuple[Pose, Pose]
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    second: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    pitch: float = 0.0

    @classmethod
    def of(cls, joint: RobotJoint, report: Report) -> RobotClosure:
        """Return a joint as a closure; what acts on its coordinates is refused."""
        if joint.kind not in _CLOSURES:
            expected = "one of " + ", ".join(_CLOSURES)
            report.error("not-representable", joint.name, f"a {joint.kind} joint that closes a loop", expected, "cut elsewhere")
        if np.any(joint.damping) or joint.friction or joint.armature or np.any(joint.stiffness) or joint.mimic is not None:
            found, expected = "damping, friction or a spring of a joint that closes a loop", "none: it has no coordinate"
            report.error("not-representable", joint.name, found, expected, "let another joint of the loop close it")
        ends, second = (joint.parent, joint.child), np.array([0.0, 1.0, 0.0]) if joint.second is None else joint.second
        kind = _CLOSURES.get(joint.kind, "weld")
        return cls(joint.name, kind, ends, (joint.origin, joint.port or Pose()), joint.axis, second, joint.pitch)


@dataclass
class Robot:
    """The links and joints of a robot in the order of its file, and what is wrong with them."""

    report: Report
    links: list[RobotLink] = field(default_factory=list)
    joints: list[RobotJoint] = field(default_factory=list)
    closures: list[RobotClosure] = field(default_factory=list)
    visuals: Sequence[Mapping[str, Any]] = ()  #: Of the world.

    def check_mimics(self) -> None:
        """Report joints that follow a joint without an axis of motion."""
        kinds, axial = {joint.name: joint.kind for joint in self.joints}, (*AXIAL_KINDS, "screw")
        for joint in self.joints:
            driver = joint.mimic.joint if joint.mimic else ""
            if not driver or (kinds.get(driver) in axial and driver != joint.name):
                continue
            expected = "another joint, revolute, continuous or prismatic"
            others = (name for name, kind in kinds.items() if kind in axial and name != joint.name)
            if driver in kinds and driver != joint.name:
                advice = "that joint has no axis: remove the mimic element"
            else:
                advice = did_you_mean(driver, others) + ("" if driver in kinds else f"; {REPAIR}")
            self.report.error("unknown-joint", f"{joint.name}.mimic.joint", repr(driver), expected, advice)
