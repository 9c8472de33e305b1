"""Systems of the links and joints of a robot: names, blocks and connections."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelError, warn
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, quaternion_log, rotation_exp
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.constraints.relation import Gear
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.joints.friction_and_limits import Friction, Limits
from titop.blocks.joints.joint import Joint, unit_vector
from titop.blocks.joints.plain_joints import Planar, Prismatic, Revolute, Screw, Universal, Weld
from titop.blocks.joints.quaternion_joints import Free, Spherical
from titop.graph.network.connections import no_inertia
from titop.graph.robots.repair import massless_joints
from titop.graph.robots.report import REPAIR
from titop.graph.robots.robot import WORLD, Robot, RobotJoint
from titop.graph.system import System

_KINDS = {
    **{"revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "screw": Screw, "universal": Universal},
    **{"ball": Spherical, "fixed": Weld, "floating": Free, "planar": Planar},
}
#: Port of a child whose joint is elsewhere than its frame: of a planar joint, its z axis is the plane's normal.
_PORT = {"planar": "plane"}
#: What blocks find wrong that repair mends.
_MENDED = ("negative-inertia", "bad-limits")


class Built(NamedTuple):
    """A system of a robot, and its bodies (the world too) and joints by their names in the file."""

    system: System
    bodies: dict[str, Block]
    joints: dict[str, Joint]


def build(robot: Robot, gravity: Any, base: str = "fixed") -> Built:
    """Return the system of a robot.

    `base`: of the links that no joint carries. Raises `ModelError` with all that is wrong, and warns of what is suspicious.
    """
    report = robot.report
    _suspect_massless(robot, base)
    link_names, joint_names = _block_names(robot)
    system = System(allowed(report.robot), gravity)
    bodies: dict[str, Any] = {
        link.name: RigidBody(link_names[link.name], link.mass, link.com, link.inertia) for link in robot.links
    }
    for link in robot.links:
        bodies[link.name].visuals = link.visuals
    joints = {joint.name: _joint(joint, joint_names[joint.name]) for joint in robot.joints}
    for block in [*bodies.values(), *joints.values()]:
        for found in block.check()[0]:
            advice = f"{found.advice}, {REPAIR}" if found.code in _MENDED else found.advice
            report.error(found.code, found.where, found.value, found.expected, advice)
    if report.findings or system.reader.findings:
        raise ModelError([*report.findings, *system.reader.findings])
    warn(report.warnings())
    bodies[WORLD], system.world.visuals = system.world, robot.visuals
    for element in robot.joints:
        _connect(system, element, joints[element.name], bodies)
    for loop in robot.closures:
        name = free_name(allowed(loop.name), system.by_name)
        ends = zip(loop.links, loop.poses, strict=True)
        ports = [add_port(bodies[link], name, pose.position, pose.rotation) for link, pose in ends]
        closure = RigidClosure(name, loop.kind, loop.axis, loop.second, redundant=True, pitch=loop.pitch)
        system.close_loop(ports[0], ports[1], closure)
    for element in robot.joints:
        if element.mimic is not None:
            name = free_name(f"{joint_names[element.name]}_mimic", system.by_name)
            driver, driven = joint_names[element.mimic.joint], joint_names[element.name]
            system.add_gear(Gear(name, driver, driven, element.mimic.multiplier, element.mimic.offset))
    return Built(system, bodies, joints)


def _suspect_massless(robot: Robot, base: str) -> None:
    massless, is_kinematic = massless_joints(robot, base)
    if is_kinematic:
        nothing = no_inertia("")
        robot.report.suspect(nothing.code, "", nothing.value, nothing.expected, nothing.advice)
        return
    for idle in massless:
        advice = f"give it mass or an armature before resolve(), {REPAIR}"
        robot.report.suspect("massless-joint", idle.name, "a joint that carries no inertia", "inertia to move", advice)


# -- blocks ------------------------------------------------------------------------------------------------------------


def _joint(joint: RobotJoint, name: str) -> Joint:
    if joint.kind in ("fixed", "planar"):
        return _KINDS[joint.kind](name)  # type: ignore[no-any-return]
    passive: dict[str, Any] = {"damping": joint.damping, "armature": joint.armature, "stiffness": joint.stiffness}
    if joint.kind in ("floating", "ball"):
        return _KINDS[joint.kind](name, **passive | _friction(joint))  # type: ignore[no-any-return]
    if joint.kind == "universal":
        return Universal(name, joint.axis, joint.second, rest=np.zeros(2) + joint.rest, **passive | _friction(joint))
    if joint.kind == "screw":
        passive["pitch"] = joint.pitch
    limits = Limits(**joint.limits) if joint.limits else None
    passive |= {"rest": joint.rest, "limits": limits} | _friction(joint)
    return _KINDS[joint.kind](name, axis=joint.axis, **passive)  # type: ignore[no-any-return]


def _friction(joint: RobotJoint) -> dict[str, Any]:
    return {"friction": Friction(coulomb=joint.friction)} if joint.friction else {}


def _connect(system: System, element: RobotJoint, joint: Joint, bodies: dict[str, Any]) -> None:
    """Connect the child link to the parent link."""
    parent, child, origin, port = bodies[element.parent], bodies[element.child], element.origin, element.port
    if element.kind == "planar":
        turn = rotation_exp(_onto(element.axis))
        origin = Pose(origin.position, origin.rotation @ turn)
        port = Pose(rotation=turn) if port is None else Pose(port.position, port.rotation @ turn)
    if port is None:
        system.connect(parent, child, joint, origin)
        return
    end = add_port(child, _PORT.get(element.kind, allowed(joint.name)), port.position, port.rotation)
    system.connect(parent, end, joint, origin)


def add_port(body: Any, name: str, position: Any, rotation: Any = None) -> PortRef:
    """Add a port to a body, under this name or a free one like it, and return it."""
    name = free_name(name, (*body.ports, "P"))
    body.add_port(name, np.array(position), rotation)
    return PortRef(body, name)


def _onto(axis: Array) -> Array:
    """Return the rotation vector (3, rad) that turns the z axis onto `axis` the short way (the opposite: about x)."""
    x, y, z = unit_vector(axis)
    quaternion = np.array([-y, x, 0.0, 1 + z if z > 0 else (x * x + y * y) / (1 - z)])
    if not quaternion.any():
        return np.array([np.pi, 0.0, 0.0])
    return quaternion_log(quaternion / np.linalg.norm(quaternion))


# -- names -------------------------------------------------------------------------------------------------------------


def allowed(name: str) -> str:
    """Return a name with _ for all that titop does not allow in names."""
    return re.sub(r"[^\w/-]", "_", name)


def _block_names(robot: Robot) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of blocks by the names of links and joints; report names that coincide."""
    links = {link.name: allowed(link.name) for link in robot.links}
    links |= {name: "world_link" for name, taken in links.items() if taken == "world"}
    joints = {joint.name: allowed(joint.name) for joint in robot.joints}
    of_links = {"world", *links.values()}
    joints |= {name: f"{taken}_joint" for name, taken in joints.items() if taken in of_links}
    renamed = [f"{old!r} -> {new!r}" for names in (links, joints) for old, new in names.items() if old != new]
    if renamed:
        robot.report.suspect("renamed", "", ", ".join(renamed), "unique names of letters, digits and _-/", "use the new names")
    users: dict[str, list[str]] = {}
    for kind, names in (("link", links), ("joint", joints)):
        for name, taken in names.items():
            users.setdefault(taken, []).append(f"{kind} {name!r}")
    for taken, names_of in users.items():
        if len(names_of) > 1:
            expected = "names that differ in letters, digits and _-/"
            robot.report.error("name-collision", taken, " and ".join(names_of), expected, "rename one of them")
    return links, joints


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name, with as many _ behind it as it takes not to be taken."""
    while name in taken:
        name += "_"
    return name
