"""Repair of common errors in robot files: invalid inertias, joints that move no inertia, invalid mimics."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import check_inertia
from titop.graph.network.connections import TreeNode, idle, moves_no_inertia, reached
from titop.graph.robots.robot import Robot, RobotJoint, RobotLink

#: Moments that second moments of mass make: each is the sum of the other two axes'.
_MOMENTS = np.ones((3, 3)) - np.eye(3)


def repair(robot: Robot, base: str = "fixed") -> None:
    """Repair a robot on a `base` that has been read; each change gives a warning."""
    robot.links = [_sound(link, robot) for link in robot.links]
    massless, is_kinematic = massless_joints(robot, base)
    welded = set() if is_kinematic else {joint.name for joint in massless}
    known = {joint.name for joint in robot.joints}
    robot.joints = [_welded(joint, robot) if joint.name in welded else joint for joint in robot.joints]
    robot.joints = [_released(joint, robot, known, welded) for joint in robot.joints]


def nearest_inertia(inertia: Array) -> Array:
    """Return the inertia (3x3, kg m^2) of a distribution of mass that is nearest to a symmetric matrix.

    Nearest is the least sum of squares of the differences of all entries: the axes stay, and principal moments move to the
    nearest ones of which none is above the sum of the others.
    """
    from scipy.optimize import nnls

    moments, axes = np.linalg.eigh(inertia)
    size = float(np.abs(moments).max()) or 1.0
    second_moments, _ = nnls(_MOMENTS, moments / size)
    nearest: Array = (axes * (_MOMENTS @ second_moments * size)) @ axes.T
    return (nearest + nearest.T) / 2


def massless_joints(robot: Robot, base: str) -> tuple[list[RobotJoint], bool]:
    """Return the joints with coordinates that neither carry nor have inertia, nor are coupled by mimics to others that do.

    And whether a robot on a fixed or free `base` describes motion alone: nothing that moves has inertia.
    """
    above: dict[str, Hashable] = {joint.child: (joint.name,) for joint in robot.joints}
    nodes = [TreeNode("", "", base == "free", False)]
    for joint in robot.joints:
        nodes.append(TreeNode((joint.name,), joint.parent, joint.kind != "fixed", False, bool(joint.armature)))
    for link in robot.links:
        nodes.append(TreeNode(link.name, above.get(link.name, ""), False, bool(link.mass > 0 or link.inertia.any())))
    found = set(idle(nodes))
    mimics = [(joint.name, joint.mimic.joint) for joint in robot.joints if joint.mimic]
    sound = [("", joint.name) for joint in robot.joints if joint.kind != "fixed" and (joint.name,) not in found]
    geared = reached([*sound, *mimics, *((driver, name) for name, driver in mimics)], "")
    alone = found - {(name,) for name in geared}
    return [joint for joint in robot.joints if (joint.name,) in alone], moves_no_inertia(nodes, found)


def _sound(link: RobotLink, robot: Robot) -> RobotLink:
    errors: list[object] = []
    check_inertia(link.name, link.inertia, link.mass, errors, errors)  # type: ignore[arg-type]
    if not errors:
        return link
    inertia = nearest_inertia(link.inertia)
    given, taken = (" ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(matrix)) for matrix in (link.inertia, inertia))
    found, expected = f"principal moments {given} of {link.name!r}", "moments >= 0, none above the sum of the others"
    robot.report.repaired(f"{link.name}.inertia", found, expected, f"taken as {taken} about the same axes")
    return replace(link, inertia=inertia)


def _welded(joint: RobotJoint, robot: Robot) -> RobotJoint:
    found, expected = f"a {joint.kind} joint {joint.name!r} that carries no inertia", "inertia to move"
    robot.report.repaired(joint.name, found, expected, "taken as fixed, at zero coordinates")
    return RobotJoint(joint.name, "fixed", joint.parent, joint.child, joint.origin, joint.axis)


def _released(joint: RobotJoint, robot: Robot, known: set[str], idle: set[str]) -> RobotJoint:
    driver = joint.mimic.joint if joint.mimic else ""
    if not driver or (driver in known and driver not in idle):
        return joint
    found = f"<mimic> of {driver!r}" + (", which carries no inertia" if driver in idle else "")
    robot.report.repaired(f"{joint.name}.mimic", found, "a joint that moves", f"{joint.name!r} moves on its own")
    return replace(joint, mimic=None)
