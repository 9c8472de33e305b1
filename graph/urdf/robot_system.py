"""Systems from robot descriptions in URDF: the tree of links, meshes, names and blocks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, quaternion_log, rotation_exp
from titop.blocks.basics.user_functions import check_switch
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.constraints.gear import Gear
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.joints.friction_and_limits import Friction, Limits
from titop.blocks.joints.joint import Joint, unit_vector
from titop.blocks.joints.plain_joints import Planar, Prismatic, Revolute, Weld
from titop.blocks.joints.quaternion_joints import Free
from titop.graph.network.connections import no_inertia, reached
from titop.graph.system import System
from titop.graph.urdf.elements import REPAIR, Report
from titop.graph.urdf.repair import massless_joints
from titop.graph.urdf.repair import repair as mend
from titop.graph.urdf.robot import RobotReader, UrdfJoint, UrdfLink
from titop.graph.urdf.xml_gate import folder_of, read_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Name of the joint between the world and the root link.
ROOT_JOINT = "root_joint"
_AXIAL = {"revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic}
#: Port of a child of a planar joint, whose z axis is the plane's normal.
_PLANAR_PORT = "plane"
#: What blocks find wrong that repair mends.
_MENDED = ("negative-inertia", "bad-limits")


def check_tree(reader: RobotReader) -> str:
    """Report errors because of which the links are not one tree; return the name of its root (empty if there is none)."""
    report, links, joints = reader.report, dict.fromkeys(link.name for link in reader.links), reader.joints
    if not links:
        report.error("no-links", "", "no link", "a robot with at least one link", "expand xacro files first")
        return ""
    for kind, names in (("link", [link.name for link in reader.links]), ("joint", [joint.name for joint in joints])):
        for name in [name for name, count in Counter(names).items() if count > 1]:
            report.error("duplicate-name", name, f"{kind} {name!r}", f"unique {kind} names", "rename one of the two")
    before = len(report.findings)
    _check_ends(reader, links)
    _check_parents(reader, links)
    edges = [(joint.parent, joint.child) for joint in joints if joint.parent and joint.child]
    children = {child for _, child in edges}
    roots = [name for name in links if name not in children]
    if len(report.findings) > before or (len(roots) == 1 and len(reached(edges, roots[0])) == len(links)):
        return roots[0] if roots else ""
    import networkx as nx

    graph = nx.DiGraph(edges)
    try:
        hops = [edge[0] for edge in nx.find_cycle(graph)]
        advice = "cut it, and close the loop in Python"
        report.error("cycle", hops[0], " -> ".join([*hops, hops[0]]), "a tree of links", advice)
    except nx.NetworkXNoCycle:
        if len(roots) > 1:
            advice = "give every other link a joint that has it as its child"
            report.error("several-roots", "", ", ".join(roots), "one link without parent", advice)
    return roots[0] if roots else ""


def _check_ends(reader: RobotReader, links: Collection[str]) -> None:
    ends = [(j, role, name) for j in reader.joints for role, name in (("parent", j.parent), ("child", j.child)) if name]
    for joint, role, name in ends:
        if name not in links:
            where, advice = f"{joint.name}.{role}.link", did_you_mean(name, links)
            reader.report.error("unknown-link", where, repr(name), "the name of a link", advice)


def _check_parents(reader: RobotReader, links: Collection[str]) -> None:
    parents: dict[str, list[str]] = {name: [] for name in links}
    for joint in reader.joints:
        parents.setdefault(joint.child, []).append(joint.name)
    for link, joints in parents.items():
        if link and len(joints) > 1:
            advice = "keep one of them, and close the loop in Python"
            reader.report.error("two-parents", link, " and ".join(joints), "one joint with this link as its child", advice)


def check_meshes(root: Element, folder: str, report: Report) -> None:
    """Tell once which meshes with a path of their own, relative to the robot's `folder`, are missing."""
    names = dict.fromkeys(mesh.get("filename", "") for mesh in root.iter("mesh"))
    local = [name for name in names if name and "\0" not in name and "://" not in name and not name.startswith(("//", "\\\\"))]
    missing = [name for name in local if not os.path.isfile(os.path.join(folder, name))]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        advice = "the dynamics do without them; other programs may not"
        report.suspect("missing-mesh", "", f"{missing[0]!r}{others}", "files beside the robot", advice)


def from_urdf(
    path_or_text: str | bytes | os.PathLike[str], base: str = "fixed", gravity: Any = (0.0, 0.0, -9.81), repair: bool = False
) -> System:
    """Return the system that a URDF file describes.

    Parameters
    ----------
    path_or_text : str, bytes or path
        A local file, or the URDF itself (a text that begins with ``<``). No other file is opened, meshes least of all.
    base : {"fixed", "free"}
        Whether the root link is welded to the world or moves freely.
    gravity : array_like (3,), m/s^2
    repair : bool
        Mend what real files have wrong, each with a warning: inertias of no distribution of mass become the nearest sound
        ones; products of inertia that are missing become zero; joints that carry no inertia become fixed; joints that mimic
        unknown or such joints move on their own; negative limits of effort and velocity, and a lower limit above the upper,
        limit nothing; attributes that URDF does not have are left out where they are zero or repeat another.

    Returns
    -------
    System
        Links are rigid bodies (massless without ``<inertial>``), in link axes; joints are connected in the order of the
        file, after ``root_joint``, which holds the root link. What is suspicious in a body is reported by `resolve`.

    Raises
    ------
    ModelError
        With everything that is wrong in the file or cannot be represented.

    Warns
    -----
    ModelWarning
        For elements and attributes that are left out although they might matter, missing limits and axes, angles beyond a
        turn, meshes that are not where the file says, renamed blocks, what is repaired, and robots in which nothing that moves
        has inertia: these have poses and Jacobians, but no dynamics.

    Notes
    -----
    - Names: what titop does not allow in names (dots, blanks) becomes ``_``; a link called ``world`` becomes
      ``world_link``; a joint that shares its name with a link gets the suffix ``_joint``. Names that meet are refused.
    - Revolute and continuous joints become `Revolute`, fixed ones `Weld`, floating ones `Free`. A planar joint becomes
      `Planar` in a frame whose z axis is turned onto URDF's ``axis`` the short way.
    - ``<dynamics>`` gives damping, friction (`Friction`) and armature; Drake's ``rotor_inertia`` times ``gear_ratio`` squared
      is an armature too. ``<limit>`` gives `Limits`; a lower or upper limit alone makes the other zero, as URDF has it.
    - ``<mimic>`` gives a `Gear` named ``<joint>_mimic``; where its offset is not zero, the neutral configuration is not in
      mesh: see `Model.assemble`.
    - Silently left out, since they say nothing about the dynamics: visual, collision, contact, material, sensor, transmission,
      ros2_control, gazebo (but for its springs and gravity), calibration, safety_controller.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.from_urdf('''<robot name="pendulum">
    ...   <link name="stand"/>
    ...   <link name="bob"><inertial>
    ...     <origin xyz="0 0 -1"/><mass value="2"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>
    ...   </inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="stand"/><child link="bob"/><axis xyz="1 0 0"/></joint>
    ... </robot>''')
    >>> round(float(s.resolve().inverse_dynamics([0.5], [0.0], [0.0])[0]), 6)
    9.406329
    """
    check_switch("repair", repair)
    with collection_paused():
        root_element, folder = read_xml(path_or_text), folder_of(path_or_text)
        robot = RobotReader(root_element, repair)
        report = robot.report
        if folder is not None:
            check_meshes(root_element, folder, report)
        if repair:
            mend(robot, base)
        robot.check_mimics()
        massless, is_kinematic = massless_joints(robot, base)
        if is_kinematic:
            nothing = no_inertia("")
            report.suspect(nothing.code, "", nothing.value, nothing.expected, nothing.advice)
        else:
            for idle in massless:
                advice = f"give it mass or an armature before resolve(), {REPAIR}"
                report.suspect("massless-joint", idle.name, "a joint that carries no inertia", "inertia to move", advice)
        if base not in ("fixed", "free"):
            report.findings.append(Finding("bad-base", "base", base, "'fixed' or 'free'", "choose one of the two"))
        root = check_tree(robot)
        link_names, joint_names = _block_names(robot)
        system = System(_allowed(report.robot), gravity)
        bodies = {link.name: _body(link, link_names[link.name]) for link in robot.links}
        joints = [_joint(element, joint_names[element.name]) for element in robot.joints]
        _report_blocks(report, [*bodies.values(), *joints])
        if report.findings or system.reader.findings:
            raise ModelError([*report.findings, *system.reader.findings])
        warn(report.warnings())
        root_name = _free_name(ROOT_JOINT, {*link_names.values(), *joint_names.values()})
        system.connect("world", bodies[root], joint=Free(root_name) if base == "free" else Weld(root_name))
        for element, joint in zip(robot.joints, joints, strict=True):
            _connect(system, element, joint, bodies)
        _add_gears(system, robot, joint_names)
        return system


def _add_gears(system: System, robot: RobotReader, names: dict[str, str]) -> None:
    for joint in robot.joints:
        if joint.mimic is not None:
            name = _free_name(f"{names[joint.name]}_mimic", system.by_name)
            driver, driven = names[joint.mimic.joint], names[joint.name]
            system.add_gear(Gear(name, driver, driven, joint.mimic.multiplier, joint.mimic.offset))


def _report_blocks(report: Report, blocks: Iterable[Block]) -> None:
    for block in blocks:
        errors, _ = block.check()
        for finding in errors:
            advice = f"{finding.advice}, {REPAIR}" if finding.code in _MENDED else finding.advice
            report.error(finding.code, finding.where, finding.value, finding.expected, advice)


# -- blocks ------------------------------------------------------------------------------------------------------------


def _body(link: UrdfLink, name: str) -> RigidBody:
    return RigidBody(name, mass=link.mass, com=link.com, inertia=link.inertia)


def _joint(joint: UrdfJoint, name: str) -> Joint:
    if joint.kind == "fixed":
        return Weld(name)
    if joint.kind == "floating":
        return Free(name)
    if joint.kind == "planar":
        return Planar(name)
    limits = Limits(**joint.limits) if joint.limits else None
    friction = Friction(coulomb=joint.friction) if joint.friction else None
    passive = {"damping": joint.damping, "armature": joint.armature, "limits": limits, "friction": friction}
    return _AXIAL[joint.kind](name, axis=joint.axis, **passive)


def _connect(system: System, element: UrdfJoint, joint: Joint, bodies: dict[str, RigidBody]) -> None:
    """Connect the child link to the parent link, with the joint frame at URDF's origin."""
    parent, child = bodies[element.parent], bodies[element.child]
    if element.kind != "planar":
        system.connect(parent, child, joint, element.origin)
        return
    turn = _onto(element.axis)
    child.add_port(_PLANAR_PORT, rotation=rotation_exp(turn))
    placement = Pose(element.origin.position, element.origin.rotation @ rotation_exp(turn))
    system.connect(parent, PortRef(child, _PLANAR_PORT), joint, placement)


def _onto(axis: Array) -> Array:
    """Return the rotation vector (3, rad) that turns the z axis onto `axis` the short way (the opposite: about x)."""
    x, y, z = unit_vector(axis)
    quaternion = np.array([-y, x, 0.0, 1 + z if z > 0 else (x * x + y * y) / (1 - z)])
    if not quaternion.any():
        return np.array([np.pi, 0.0, 0.0])
    return quaternion_log(quaternion / np.linalg.norm(quaternion))


# -- names -------------------------------------------------------------------------------------------------------------


def _allowed(name: str) -> str:
    return re.sub(r"[^\w/-]", "_", name)


def _block_names(robot: RobotReader) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of blocks by the names of links and joints; report names that coincide."""
    links = {link.name: _allowed(link.name) for link in robot.links}
    links |= {name: "world_link" for name, allowed in links.items() if allowed == "world"}
    joints = {joint.name: _allowed(joint.name) for joint in robot.joints}
    of_links = {"world", *links.values()}
    joints |= {name: f"{allowed}_joint" for name, allowed in joints.items() if allowed in of_links}
    renamed = [f"{old!r} -> {new!r}" for names in (links, joints) for old, new in names.items() if old != new]
    if renamed:
        robot.report.suspect("renamed", "", ", ".join(renamed), "unique names of letters, digits and _-/", "use the new names")
    users: dict[str, list[str]] = {}
    for kind, names in (("link", links), ("joint", joints)):
        for name, allowed in names.items():
            users.setdefault(allowed, []).append(f"{kind} {name!r}")
    for allowed, names_of in users.items():
        if len(names_of) > 1:
            expected = "names that differ in letters, digits and _-/"
            robot.report.error("name-collision", allowed, " and ".join(names_of), expected, "rename one of them")
    return links, joints


def _free_name(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
