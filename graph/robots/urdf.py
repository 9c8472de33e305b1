"""Systems from robot descriptions in URDF: the tree of links, meshes, names and blocks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from typing import Any

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.user_functions import check_switch
from titop.graph.network.connections import reached
from titop.graph.robots.building import build, free_name
from titop.graph.robots.repair import repair as mend
from titop.graph.robots.robot import WORLD, Robot, RobotJoint
from titop.graph.robots.urdf_reader import UrdfReader
from titop.graph.robots.xml_gate import folder_of, path_of, read_xml
from titop.graph.system import System

#: Name of the joint between the world and the root link.
ROOT_JOINT = "root_joint"


def check_tree(robot: Robot) -> str:
    """Report errors because of which the links are not one tree; return the name of its root (empty if there is none)."""
    report, links, joints = robot.report, dict.fromkeys(link.name for link in robot.links), robot.joints
    if not links:
        report.error("no-links", "", "no link", "a robot with at least one link", "expand xacro files first")
        return ""
    for kind, names in (("link", [link.name for link in robot.links]), ("joint", [joint.name for joint in joints])):
        for name in [name for name, count in Counter(names).items() if count > 1]:
            report.error("duplicate-name", name, f"{kind} {name!r}", f"unique {kind} names", "rename one of the two")
    before = len(report.findings)
    _check_ends(robot, links)
    _check_parents(robot, links)
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


def _check_ends(robot: Robot, links: Collection[str]) -> None:
    ends: list[tuple[Any, str, str]] = [
        (j, role, name) for j in robot.joints for role, name in (("parent", j.parent), ("child", j.child)) if name
    ]
    ends += [(loop, f"link{k}", name) for loop in robot.closures for k, name in enumerate(loop.links, start=1) if name]
    for part, role, name in ends:
        if name not in links:
            where, advice = f"{part.name}.{role}.link", did_you_mean(name, links)
            robot.report.error("unknown-link", where, repr(name), "the name of a link", advice)


def _check_parents(robot: Robot, links: Collection[str]) -> None:
    parents: dict[str, list[str]] = {name: [] for name in links}
    for joint in robot.joints:
        parents.setdefault(joint.child, []).append(joint.name)
    for link, joints in parents.items():
        if link and len(joints) > 1:
            advice = "keep one of them, and close the loop in Python"
            robot.report.error("two-parents", link, " and ".join(joints), "one joint with this link as its child", advice)


def from_urdf(
    path_or_text: str | bytes | os.PathLike[str], base: str = "fixed", gravity: Any = (0.0, 0.0, -9.81), repair: bool = False
) -> System:
    """Return the system that a URDF file describes.

    Parameters
    ----------
    path_or_text : str, bytes or path
        A local file, the URDF itself (a text that begins with ``<``), or a name such as ``"panda_description"`` of the package
        robot_descriptions. No other file is opened: meshes are when they are drawn.
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
        For what is left out although it might matter, missing limits and axes, angles beyond a turn, renamed blocks, what is
        repaired, meshes that are not where the file says (``package://`` is looked for in the folders above the file, and
        where ROS and Gazebo look), and robots in which nothing that moves has inertia: these have no dynamics.

    Notes
    -----
    - Names: what titop does not allow in names (dots, blanks) becomes ``_``; a link called ``world`` becomes
      ``world_link``; a joint that shares its name with a link gets the suffix ``_joint``. Names that meet are refused.
    - Revolute and continuous joints become `Revolute`, fixed ones `Weld`, floating ones `Free`. A planar joint becomes
      `Planar` in a frame whose z axis is turned onto URDF's ``axis`` the short way.
    - ``<dynamics>`` gives damping, friction (`Friction`) and armature; Drake's ``rotor_inertia`` times ``gear_ratio`` squared
      is an armature too. ``<limit>`` gives `Limits`; a lower or upper limit alone makes the other zero, as URDF has it.
    - A ``<loop_joint>`` between two links, and Drake's ``ball_constraint``, become a `RigidClosure`. Of Drake's namespace
      ``joint`` (ball, universal, planar) and ``mimic`` are read, too; of Gazebo's elements ``springStiffness`` and
      ``springReference``, while links without gravity and with a damping factor are told.
    - ``<mimic>`` gives a `Gear` named ``<joint>_mimic``; where its offset is not zero, the neutral configuration is not in
      mesh: see `Model.assemble`.
    - ``<visual>`` says what pictures show: ``s["link"].visuals``, shapes and paths of meshes.
    - Silently left out, since they say nothing about the dynamics: collision, contact, material, sensor, transmission,
      ros2_control, gazebo (but for these), calibration, safety_controller.

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
    path_or_text = path_of(path_or_text, "URDF")
    with collection_paused():
        robot = UrdfReader(read_xml(path_or_text), repair, folder_of(path_or_text)).robot
        report = robot.report
        if repair:
            mend(robot, base)
        robot.check_mimics()
        if base not in ("fixed", "free"):
            report.findings.append(Finding("bad-base", "base", base, "'fixed' or 'free'", "choose one of the two"))
        root, names = check_tree(robot), {*(link.name for link in robot.links), *(joint.name for joint in robot.joints)}
        kind = "floating" if base == "free" else "fixed"
        robot.joints.insert(0, RobotJoint(free_name(ROOT_JOINT, names), kind, WORLD, root, Pose()))
        return build(robot, gravity).system
