"""A URDF robot as links and joints, in the words and units of URDF."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.graph.robots.looks import Looks, color_of, placed, urdf_colors
from titop.graph.robots.report import LONGEST_NAME, MAX_PARTS, SHOWN, Report
from titop.graph.robots.robot import AXIAL_KINDS, Mimic, Robot, RobotClosure, RobotJoint, RobotLink
from titop.graph.robots.urdf_elements import DRAKE, DRIVES, GAZEBO_DYNAMICS, KINDS, ElementReader, bare_tag, plain_numbers

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: How far an axis' length may be from one: directions are typed with three digits, such as 0.707.
_ROUNDED = 2 * NEGLIGIBLE
#: Attributes of a mimic element, with what URDF takes where they are missing.
_MIMIC = {"multiplier": 1.0, "offset": 0.0}
#: Gazebo's springs of joints.
_SPRINGS = {"springStiffness": "stiffness", "springReference": "rest"}
_LIMITS = ("lower", "upper", "velocity", "effort")


class UrdfReader(ElementReader):
    """Reads the elements of a robot in the order of the file.

    Its `robot` has what it says, and what is wrong and suspicious. Leftovers that say nothing are mended if `repair` is set.
    Meshes are looked for from `folder` on.
    Raises `ModelError` if the root is not a robot, or there are too many links and joints.
    """

    def __init__(self, root: Element, repair: bool = False, folder: str | None = None) -> None:
        bare = {tag: bare_tag(tag) for tag in {element.tag for element in root.iter()}}  # one text for all that share it
        for element in root.iter():
            element.tag = bare[element.tag]
        self._drakes = {id(element) for element in root.iter(f"{DRAKE}joint")}  # as URDF's own, of more kinds
        for tag in ("joint", "mimic"):
            for element in root.iter(f"{DRAKE}{tag}"):
                element.tag = tag
        if root.tag != "robot":
            advice = "use tt.from_sdf or tt.from_mjcf for these; expand xacro files first"
            raise ModelError(Finding("not-urdf", "root", f"<{root.tag[:SHOWN]}>", "<robot>", advice))
        parts = sum(child.tag in ("link", "joint") for child in root)
        if parts > MAX_PARTS:
            expected, advice = f"at most {MAX_PARTS} links and joints", "split the robot, and include the parts in one system"
            raise ModelError(Finding("too-large", "root", f"{parts} links and joints", expected, advice))
        super().__init__(Report((root.get("name") or "robot")[:LONGEST_NAME]), repair)
        self.check_vocabulary(root, "")
        self._looks, self._colors = Looks(folder, self.report), urdf_colors(root)
        self._looks.check(mesh.get("filename", "") for mesh in root.iter("mesh"))
        self._rotors = dict(self._rotor_inertias(root))
        links = [self._link(element, f"link[{k}]") for k, element in enumerate(root.findall("link"), start=1)]
        joints = [self._joint(element, f"joint[{k}]") for k, element in enumerate(root.findall("joint"), start=1)]
        for element in root.findall("gazebo"):
            self._check_gazebo(element)
        for element in root.findall("ros2_control"):
            self._check_drives(element)
        for name in self._rotors.keys() - {joint.name for joint in joints}:
            self.report.error("unknown-joint", "transmission", name, "the name of a joint", "correct the transmission")
        joints = [self._sprung(joint, root) for joint in joints]
        loops = [self._loop(element, f"loop_joint[{k}]") for k, element in enumerate(root.findall("loop_joint"), start=1)]
        loops += [self._ball(element, k) for k, element in enumerate(root.findall(f"{DRAKE}ball_constraint"), start=1)]
        self.robot = Robot(self.report, links, joints, loops)

    # -- links ---------------------------------------------------------------------------------------------------------

    def _name(self, element: Element, placeholder: str) -> str:
        return self.text(element, "name", placeholder) or placeholder

    def _link(self, element: Element, placeholder: str) -> RobotLink:
        name = self._name(element, placeholder)
        self.check_vocabulary(element, name)
        inertial, visuals = self.child(element, "inertial", name), self._visuals(element)
        if inertial is None:
            return RobotLink(name, visuals=visuals)
        where = f"{name}.inertial"
        origin = self.pose(self.child(inertial, "origin", where), f"{where}.origin")
        mass = self.child(inertial, "mass", where, required=True)
        inertia = self.child(inertial, "inertia", where, required=True)
        return RobotLink(
            name,
            0.0 if mass is None else self.number(mass, "value", f"{where}.mass"),
            origin.position,
            np.zeros((3, 3)) if inertia is None else self._inertia(inertia, origin, f"{where}.inertia"),
            visuals,
        )

    def _visuals(self, link: Element) -> list[dict[str, Any]]:
        """Return the shapes of a link; what is wrong with one leaves it out, since the dynamics do without it."""
        shapes = []
        for visual in link.iter("visual"):
            origin, material = visual.find("origin"), visual.find("material")
            pose = Pose() if origin is None else placed(origin.get("xyz", ""), origin.get("rpy", ""))
            color = None if material is None else self._colors.get(material.get("name", ""))
            if material is not None and (own := material.find("color")) is not None:
                color = color_of(own.get("rgba", ""))
            shapes.append(self._looks.shape(visual.find("geometry"), pose, color))
        return [shape for shape in shapes if shape is not None]

    def _inertia(self, element: Element, origin: Pose, where: str) -> Array:
        """Return the inertia about the centre of mass, turned from the axes of the inertial origin into the link's."""
        xx, yy, zz = (self.number(element, entry, where) for entry in ("ixx", "iyy", "izz"))
        xy, xz, yz = (self._product(element, entry, where) for entry in ("ixy", "ixz", "iyz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return origin.rotation @ inertia @ origin.rotation.T if origin.rotation_vector.any() else inertia

    def _product(self, element: Element, entry: str, where: str) -> float:
        """Return a product of inertia; one that is missing is zero if it may be mended."""
        twin = entry[0] + entry[:0:-1]
        if entry in element.attrib or not self.repair:
            return self.number(element, entry, where)
        self.report.repaired(where, f"no {entry}", "all products of inertia", f"taken as {element.get(twin, '0')}")
        return self.number(element, twin, where, 0.0)

    # -- joints --------------------------------------------------------------------------------------------------------

    def _joint(self, element: Element, placeholder: str) -> RobotJoint:
        name = self._name(element, placeholder)
        self.check_vocabulary(element, name)
        origin = self.pose(self.child(element, "origin", name), f"{name}.origin")
        kind, parent, child = self._kind(element, name), self._end(element, "parent", name), self._end(element, "child", name)
        if kind == "fixed":
            if element.find("mimic") is not None:
                self.report.report_unused("<mimic> of a fixed joint", name, "make it revolute or prismatic if it moves")
            return RobotJoint(name, kind, parent, child, origin, np.array([1.0, 0.0, 0.0]))
        damping, friction, armature = self._dynamics(element, kind, name)
        axis, limits, mimic = (
            self._axis(element, kind, name),
            self._limits(element, kind, name),
            self._mimic(element, kind, name),
        )
        second = np.array([0.0, 1.0, 0.0]) if kind == "universal" else None  # x, then y: Drake's
        return RobotJoint(name, kind, parent, child, origin, axis, limits, damping, friction, armature, mimic, second=second)

    def _kind(self, element: Element, name: str) -> str:
        kind, known = self.text(element, "type", name), (*KINDS, "ball", "universal") if id(element) in self._drakes else KINDS
        if kind in known:
            return kind
        if kind:
            self.report.error("unknown-type", f"{name}.type", repr(kind), "a URDF joint type", did_you_mean(kind, known))
        return "fixed"

    def _end(self, element: Element, role: str, name: str) -> str:
        end = self.child(element, role, name, required=True)
        return "" if end is None else self.text(end, "link", f"{name}.{role}")

    def _axis(self, element: Element, kind: str, name: str) -> Array:
        axis = self.child(element, "axis", name)
        if axis is None:
            if kind in AXIAL_KINDS:
                expected, advice = "an axis of what moves along one", 'URDF takes 1 0 0; write <axis xyz="..."/>'
                self.report.suspect("no-axis", name, "no <axis>", expected, advice)
            return np.array([1.0, 0.0, 0.0])
        direction = self.numbers(axis, "xyz", f"{name}.axis", (1.0, 0.0, 0.0))
        if not direction.any():
            advice = "give a direction such as 0 0 1"
            self.report.error("zero-axis", f"{name}.axis.xyz", axis.get("xyz"), "a non-zero direction", advice)
            return np.array([1.0, 0.0, 0.0])
        if abs(np.linalg.norm(direction) - 1.0) > _ROUNDED and kind in AXIAL_KINDS:
            advice = "titop takes the direction alone; other programs may scale the motion"
            self.report.suspect("not-unit-axis", name, "an axis that is not of length one", "a unit vector", advice)
        return direction

    def _dynamics(self, element: Element, kind: str, name: str) -> tuple[float, float, float]:
        dynamics = self.child(element, "dynamics", name)
        fields = ("damping", "friction", "armature")
        where = f"{name}.dynamics"
        values = [0.0 if dynamics is None else self.non_negative(dynamics, key, where, 0.0) for key in fields]
        rotor = self._rotors.get(name, 0.0)
        if values[2] and rotor:
            self.report.error("two-armatures", where, values[2], "an armature or a rotor inertia", "remove one of the two")
        values[2] += rotor
        if kind not in (*AXIAL_KINDS, "ball", "universal") and any(values):
            shown = ", ".join(f"{key} {value:g}" for key, value in zip(fields, values, strict=True) if value)
            advice = "one number for displacements and rotations has no unit; remove it and set the joint's in Python"
            self.report.error("not-representable", where, shown, f"none at a {kind} joint", advice)
        return values[0], values[1], values[2]

    def _mimic(self, element: Element, kind: str, name: str) -> Mimic | None:
        mimic = self.child(element, "mimic", name)
        if mimic is None:
            return None
        where = f"{name}.mimic"
        if kind not in AXIAL_KINDS:
            advice = "remove it, and constrain the joint in Python"
            self.report.error("not-representable", where, f"<mimic> of a {kind} joint", "one of a joint with an axis", advice)
            return None
        multiplier, offset = (self.number(mimic, key, where, value) for key, value in _MIMIC.items())
        return Mimic(self.text(mimic, "joint", where), multiplier, offset)

    def _limits(self, element: Element, kind: str, name: str) -> dict[str, float]:
        limit = self.child(element, "limit", name)
        bounded = kind in ("revolute", "prismatic")
        if limit is None:
            if bounded:
                self._suspect_limit("no <limit>", name)
            return {}
        values = {key: self.number(limit, key, f"{name}.limit") for key in limit.attrib if key in _LIMITS}
        if self.repair:
            values = self._mended_limits(values, f"{name}.limit")
        if kind not in AXIAL_KINDS and values:
            self.report.report_unused(f"<limit> of a {kind} joint", name, "check limits in Python")
            return {}
        if kind == "continuous" and ("lower" in values or "upper" in values):
            self.report.report_unused("lower and upper of a continuous joint", name, "make it revolute if it has an end")
        if bounded and not ("lower" in values or "upper" in values):
            self._suspect_limit("neither lower nor upper", name)
        elif bounded:
            values = {"lower": 0.0, "upper": 0.0} | values  # URDF's defaults
        for key in ("velocity", "effort"):
            if bounded and key not in values:
                self._suspect_limit(f"no {key}", name)
        return values if bounded else {key: values[key] for key in ("velocity", "effort") if key in values}

    def _mended_limits(self, values: dict[str, float], where: str) -> dict[str, float]:
        """Return limits without placeholder values, which real files have where there is no limit."""
        kept = dict(values)
        for key in ("velocity", "effort"):
            if values.get(key, 0.0) < 0.0:
                self.report.repaired(where, f"{key} {values[key]:g}", "a value >= 0", "taken as unlimited")
                kept[key] = math.inf
        lower, upper = values.get("lower", 0.0), values.get("upper", 0.0)
        if lower > upper:
            self.report.repaired(where, f"lower {lower:g} above upper {upper:g}", "lower <= upper", "taken as unlimited")
            kept |= {"lower": -math.inf, "upper": math.inf}
        return kept

    def _suspect_limit(self, value: str, name: str) -> None:
        expected = "limits, which URDF asks for at revolute and prismatic joints"
        self.report.suspect("missing-limit", f"{name}.limit", value, expected, "without them the joint is taken as unlimited")

    # -- extensions ----------------------------------------------------------------------------------------------------

    def _rotor_inertias(self, root: Element) -> Iterator[tuple[str, float]]:
        """Yield joints and armatures of Drake's `rotor_inertia`: the rotor's times the square of `gear_ratio`."""
        for transmission in root.findall("transmission"):
            rotor = transmission.find(f"actuator/{DRAKE}rotor_inertia")
            gear = transmission.find(f"actuator/{DRAKE}gear_ratio")
            joints = [joint.get("name", "") for joint in transmission.findall("joint")]
            if rotor is None:
                self._check_other_rotor(transmission)
                self._check_drives(transmission)
                continue
            inertia = self.non_negative(rotor, "value", "transmission.rotor_inertia")
            ratio = 1.0 if gear is None else self.number(gear, "value", "transmission.gear_ratio")
            if len(joints) != 1:
                self.report.error("not-representable", "transmission.rotor_inertia", joints, "one joint", "split it")
            else:
                yield joints[0], inertia * ratio**2

    def _check_other_rotor(self, transmission: Element) -> None:
        other = transmission.find("actuator/{*}rotor_inertia")
        if other is not None:
            advice = 'if it is Drake\'s, write xmlns:drake="http://drake.mit.edu" and <drake:rotor_inertia>'
            self.report.report_unused(f"element <{other.tag[:SHOWN]}>", "transmission", advice)

    def _check_drives(self, transmission: Element) -> None:
        """Report reductions and rotors as ROS has them: no armature is made of them, since few files mean one."""
        for element in transmission.iter():
            text = (element.text or "").strip()
            if element.tag in DRIVES and text and plain_numbers(text) != [DRIVES[element.tag]]:
                advice = "if the rotor matters, give the joint the armature motorInertia * mechanicalReduction^2"
                where = transmission.get("name") or "transmission"
                self.report.report_unused(f"<{element.tag}>{text[:SHOWN]}", where, advice)

    def _sprung(self, joint: RobotJoint, root: Element) -> RobotJoint:
        """Return a joint with the spring that Gazebo's extensions give it, if any."""
        found: dict[str, Any] = {}
        for element in root.findall("gazebo"):
            for child in element if element.get("reference") == joint.name else ():
                if child.tag in _SPRINGS:
                    element.set(child.tag, (child.text or "").strip())
                    found[_SPRINGS[child.tag]] = self.number(element, child.tag, joint.name)
        if any(found.values()) and joint.kind not in AXIAL_KINDS:
            self.report.error("not-representable", joint.name, "a spring", f"none at a {joint.kind} joint", "add it in Python")
        return replace(joint, **found) if found else joint

    def _loop(self, element: Element, placeholder: str) -> RobotClosure:
        """Return a `loop_joint`: a joint between frames of two links that closes a loop, as Drake and others had it."""
        name = self._name(element, placeholder)
        self.check_vocabulary(element, name)
        ends = [self.child(element, tag, name, required=True) for tag in ("link1", "link2")]
        first, second = ("" if end is None else self.text(end, "link", name) for end in ends)
        poses = [self.pose(end, name) for end in ends]
        kind = self._kind(element, name)
        axis = self._axis(element, kind, name)
        return RobotClosure.of(RobotJoint(name, kind, first, second, poses[0], axis, port=poses[1]), self.report)

    def _ball(self, element: Element, k: int) -> RobotClosure:
        """Return Drake's `ball_constraint`: points of two links that coincide."""
        name = f"ball_constraint_{k}"
        self.check_vocabulary(element, name)
        parts = [element.find(f"{DRAKE}{tag}") for tag in ("ball_constraint_body_A", "p_AP", "ball_constraint_body_B", "p_BQ")]
        if any(part is None for part in parts):
            expected = "bodies A and B, and points p_AP and p_BQ"
            self.report.error("missing-element", name, f"{4 - parts.count(None)} of four elements", expected, "add the others")
            return RobotClosure(name, "spherical", ("", ""), (Pose(), Pose()))
        links = [self.text(part, "name", name) for part in parts[::2] if part is not None]
        points = [Pose(self.numbers(part, "value", name)) for part in parts[1::2] if part is not None]
        return RobotClosure(name, "spherical", (links[0], links[1]), (points[0], points[1]))

    def _check_gazebo(self, element: Element) -> None:
        for child in element:
            if child.tag in GAZEBO_DYNAMICS:
                where = element.get("reference") or "gazebo"
                self.report.report_unused(f"element <gazebo><{child.tag}>", where, "set it in Python if it matters")
