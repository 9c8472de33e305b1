"""SDF as links and joints: names in scopes, poses by frames, joints and their axes."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, quaternion_log
from titop.blocks.basics.tolerances import TYPED
from titop.graph.robots.building import free_name
from titop.graph.robots.looks import Looks, color_of, placed
from titop.graph.robots.report import LONGEST_NAME, MAX_PARTS, SHOWN, Report
from titop.graph.robots.robot import WORLD, Mimic, Robot, RobotClosure, RobotJoint, RobotLink, composed
from titop.graph.robots.urdf_elements import ElementReader, rpy_quaternion
from titop.graph.robots.xml_gate import read_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Types of joints, with the kinds that they are here.
_TYPES = {kind: kind for kind in ("revolute", "continuous", "prismatic", "ball", "fixed", "universal", "screw")}
_TYPES["revolute2"] = "universal"
#: What is read of each element; what says nothing about smooth dynamics; the rest is reported.
_READ: dict[str, tuple[str, str]] = {
    "sdf": ("world model", "light actor"),
    "world": ("model include gravity frame joint", "light scene physics gui plugin magnetic_field atmosphere wind actor audio "
              "spherical_coordinates road state population"),
    "model": ("link joint frame model include pose static", "plugin self_collide allow_auto_disable gripper enable_wind"),
    "link": ("pose inertial", "visual collision sensor light plugin battery particle_emitter projector self_collide "
             "audio_sink audio_source must_be_base_link"),
    "inertial": ("pose mass inertia", "density"),
    "joint": ("pose parent child axis axis2 thread_pitch screw_thread_pitch", "sensor plugin physics"),
    "axis": ("xyz limit dynamics mimic use_parent_model_frame", ""),
    "limit": ("lower upper effort velocity", "stiffness dissipation"),
    "dynamics": ("damping friction spring_reference spring_stiffness", ""),
}  # fmt: skip
#: Elements at their defaults say nothing; at other values they change the dynamics.
_DEFAULTS = {"gravity": ("true", "1"), "kinematic": ("false", "0"), "enable_wind": ("false", "0")}
#: Ranges beyond this, and negative efforts and speeds, are none.
_NO_LIMIT = 1e15
_DEEPEST, _MOST_INCLUDED = 10, 1000
#: The name of a model's own frame.
_MODEL = "__model__"


@dataclass
class _Frame:
    """A frame: its pose in the frame `base`, and the link (or the frame of one) to which it belongs.

    Names are those of the model whose parts' names begin with `scope`.
    """

    scope: str
    pose: Pose
    base: str
    attached: str
    placed: Pose | None = field(default=None)


class SdfReader(ElementReader):
    """Reads models and worlds; its `robot` has what they say, its `gravity` that of the world (None where it says nothing).

    Names of parts of models in worlds and in models begin with that model's: ``arm/link``. Raises `ModelError` if the root is
    not SDF.
    """

    def __init__(self, root: Element, folder: str | None, repair: bool, base: str | None) -> None:
        if root.tag != "sdf":
            found, advice = f"<{root.tag[:SHOWN]}>", "use tt.from_urdf or tt.from_mjcf for other files"
            raise ModelError(Finding("not-sdf", "root", found, "<sdf>", advice))
        _read_version(root)
        tops = root.findall("world") + root.findall("model")
        if len(tops) != 1:
            found, expected = f"{len(tops)} of <world> and <model>", "one of them"
            raise ModelError(Finding("no-model", "root", found, expected, "put several models into one <world>"))
        top = tops[0]
        super().__init__(Report((top.get("name") or "robot")[:LONGEST_NAME], "SDF"), repair)
        self.robot, self.base, self.gravity = Robot(self.report), base, None
        self.frames: dict[str, _Frame] = {"world": _Frame("", Pose(), "", "", Pose())}
        self._joints: list[tuple[Element, str]] = []
        self._free: dict[str, bool] = {}
        self._carried: set[str] = set()
        self._included = 0
        self._check("sdf", root, "")
        if top.tag == "world":
            self._check("world", top, "")
            self.frames[_MODEL] = self.frames["world"]
            if (gravity := top.find("gravity")) is not None:
                self.gravity = self._texts(top).numbers(top, gravity.tag, "world", (0.0, 0.0, -9.8))
            self._read_parts(top, "", folder, False, 0)
        else:
            self._read_model(top, "", folder, False, 0)
        for element, scope in self._joints:
            self._read_joint(element, scope)
        self._add_roots()

    # -- elements ----------------------------------------------------------------------------------------------------------

    def _check(self, kind: str, element: Element, where: str) -> None:
        read, silent = (words.split() for words in _READ[kind])
        for child in element:
            if child.tag in read or child.tag in silent or (child.text or "").strip() in _DEFAULTS.get(child.tag, ()):
                continue
            self.report.report_unused(f"element <{child.tag[:SHOWN]}>", where)

    def _texts(self, element: Element) -> SdfReader:
        """Let the texts of an element's children be read as its attributes."""
        for child in element:
            if len(child) == 0 and (child.text or "").strip():
                element.set(child.tag, (child.text or "").strip())
        return self

    def _value(self, element: Element | None, tag: str, where: str, default: float) -> float:
        return default if element is None else self._texts(element).number(element, tag, where, default)

    def _pose(self, element: Element, where: str) -> tuple[Pose, str]:
        """Return the pose of an element and the name of the frame in which it is given (empty: the default one)."""
        child = element.find("pose")
        if child is None:
            return Pose(), ""
        is_quaternion = child.get("rotation_format") == "quat_xyzw"
        count, neutral = (7, (0.0,) * 6 + (1.0,)) if is_quaternion else (6, (0.0,) * 6)
        numbers = self._texts(element).numbers(element, "pose", where, neutral, count)
        if is_quaternion and abs(np.linalg.norm(numbers[3:]) - 1) > TYPED:
            self.report.error("not-unit", f"{where}.pose", numbers[3:].tolist(), "a unit quaternion", "divide by its norm")
            numbers = np.array(neutral)
        turn = math.pi / 180 if child.get("degrees") in ("true", "1") else 1.0
        turns = numbers[3:] / np.linalg.norm(numbers[3:]) if is_quaternion else (turn * numbers[3:]).tolist()
        quaternion = turns if is_quaternion else rpy_quaternion(turns)
        return Pose.from_rotation_vector(numbers[:3], quaternion_log(quaternion)), child.get("relative_to", "")

    # -- models ------------------------------------------------------------------------------------------------------------

    def _read_parts(self, element: Element, scope: str, folder: str | None, is_static: bool, depth: int) -> None:
        """Read models, included ones too, frames and joints of a model or world."""
        for child in element:
            name = child.get("name", "")
            if child.tag == "model":
                self._read_model(child, f"{scope}{name}/", folder, is_static, depth + 1)
            elif child.tag == "include":
                self._include(child, scope, folder, is_static, depth + 1)
            elif child.tag == "frame":
                attached = child.get("attached_to", "")
                self._add_frame(scope, name, self._pose(child, f"{scope}{name}"), attached, attached)
            elif child.tag == "joint" and not is_static:
                end = (child.findtext("child") or "").strip()
                self._add_frame(scope, name, self._pose(child, f"{scope}{name}"), end, end)
                self._joints.append((child, scope))

    def _add_frame(self, scope: str, name: str, given: tuple[Pose, str], base: str, attached: str) -> None:
        """Add a frame with the pose that is given, or else in the frame `base`."""
        if not name or len(name) > LONGEST_NAME or scope + name in self.frames:
            expected = f"unique names of at most {LONGEST_NAME} characters in a model"
            self.report.error("bad-name", scope + name[:SHOWN], name[:SHOWN], expected, "rename it")
            return
        self.frames[scope + name] = _Frame(scope, given[0], given[1] or base, attached)

    def _read_model(
        self, model: Element, scope: str, folder: str | None, is_static: bool, depth: int, place: tuple[Pose, str] | None = None
    ) -> None:
        """Read a model whose parts have names that begin with `scope`; `place`: where an include puts it instead."""
        self._check("model", model, scope)
        is_static = is_static or self._texts(model).is_true(model, "static")
        outer = "".join(f"{name}/" for name in scope.split("/")[:-2])
        links = model.findall("link")
        canonical: str = model.get("canonical_link") or (links[0].get("name", "") if links else "") or ""
        if placement := model.get("placement_frame"):
            found, expected = f"placement_frame={placement!r}", "a pose of the model"
            self.report.error("not-representable", scope or "model", found, expected, "write <pose>")
        pose, base = place or self._pose(model, scope or "model")
        own = _Frame(outer, pose, base or ("world" if not scope else ""), scope[len(outer) :] + canonical)
        self.frames[scope + _MODEL] = own
        self._looks = Looks(folder, self.report)
        self._looks.check((mesh.findtext("uri") or "").strip() for link in links for mesh in link.iter("mesh"))
        for link in links:
            name = scope + link.get("name", "")
            self._add_frame(scope, link.get("name", ""), self._pose(link, name), "", f"\0{name}")
            self._read_link(link, name)
            self._free[name] = not is_static
        self._read_parts(model, scope, folder, is_static, depth)
        if not canonical:  # the first model in it
            inner = [name for name in self.frames if name.startswith(scope) and name.endswith(f"/{_MODEL}")]
            own.attached = next((name[len(outer) :] for name in inner if self.frames[name] is not own), own.attached)

    def is_true(self, element: Element, name: str) -> bool:
        """Tell whether a switch is on."""
        return element.get(name, "false") in ("true", "1")

    def _include(self, include: Element, scope: str, folder: str | None, is_static: bool, depth: int) -> None:
        """Read the model in another file: beside this one, or in the folder of a model beside it or beside its folder."""
        uri = (include.findtext("uri") or "").strip()
        path = uri.partition("://")[2] if uri.startswith(("model://", "file://")) else uri
        parts = PurePath(path)
        is_near = folder is not None and not parts.anchor and ".." not in parts.parts
        places = [os.path.join(place, path) for place in (folder, os.path.dirname(folder))] if folder and is_near else []
        files = [os.path.join(place, "model.sdf") if os.path.isdir(place) else place for place in places]
        found = next((file for file in files if path and os.path.isfile(file)), None)
        self._included += 1
        if found is None or depth > _DEEPEST or self._included > _MOST_INCLUDED or self.is_true(include, "merge"):
            expected = f"a model beside the file, in at most {_DEEPEST} levels, {_MOST_INCLUDED} in all, not merged"
            advice = "put it there, or write it out"
            self.report.error("unknown-include", f"{scope}include", repr(uri[:SHOWN]), expected, advice)
            return
        root = read_xml(found)
        _read_version(root)
        model = root.find("model")
        if model is None:
            self.report.error("no-model", f"{scope}include", repr(uri[:SHOWN]), "a file with a <model>", "name another file")
            return
        self._texts(include)
        name = include.get("name") or model.get("name", "")
        place = self._pose(include, f"{scope}{name}") if include.find("pose") is not None else None
        is_static = is_static or self.is_true(include, "static")
        self._read_model(model, f"{scope}{name}/", os.path.dirname(found), is_static, depth, place)

    def _read_link(self, link: Element, name: str) -> None:
        self._check("link", link, name)
        if len(self.robot.links) >= MAX_PARTS:
            raise ModelError(Finding("too-large", name, f"more than {MAX_PARTS} links", "fewer", "split the robot"))
        inertial, visuals = link.find("inertial"), self._visuals(link)
        where = f"{name}.inertial"
        if inertial is None or self.is_true(inertial, "auto"):
            if inertial is not None:
                self.report.error("not-representable", where, "auto", "numbers", "write mass and inertia")
            self.report.suspect("no-inertial", name, "no <inertial>", "mass and inertia", "SDF takes 1 kg and 1 kg m^2")
            self.robot.links.append(RobotLink(name, 1.0, np.zeros(3), np.eye(3), visuals))
            return
        self._check("inertial", inertial, where)
        pose, _ = self._pose(inertial, where)
        inertia = inertial.find("inertia")
        xx, yy, zz = (self._value(inertia, entry, f"{where}.inertia", 1.0) for entry in ("ixx", "iyy", "izz"))
        xy, xz, yz = (self._value(inertia, entry, f"{where}.inertia", 0.0) for entry in ("ixy", "ixz", "iyz"))
        matrix = pose.rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ pose.rotation.T
        mass = self._value(inertial, "mass", where, 1.0)
        self.robot.links.append(RobotLink(name, mass, pose.position, (matrix + matrix.T) / 2, visuals))

    def _visuals(self, link: Element) -> list[dict[str, Any]]:
        """Return the shapes of a link; those placed in other frames, and what is wrong, are left out."""
        shapes = []
        for visual in link.findall("visual"):
            words = (visual.findtext("pose") or "").split()
            pose = placed(" ".join(words[:3]), " ".join(words[3:]))
            color = color_of(visual.findtext("material/diffuse") or visual.findtext("material/ambient") or "")
            if not (words and visual.find("pose[@relative_to]") is not None):
                shapes.append(self._looks.shape(visual.find("geometry"), pose, color))
        return [shape for shape in shapes if shape is not None]

    # -- frames ------------------------------------------------------------------------------------------------------------

    def _frame(self, scope: str, name: str, where: str) -> _Frame | None:
        """Return the frame of a link, joint, frame or model that a model names; None, with an error, if there is none."""
        if name == "world":
            return self.frames["world"]
        name = scope + (name.replace("::", "/") or _MODEL)
        found = self.frames.get(name) or self.frames.get(f"{name}/{_MODEL}")
        if found is None:
            self.report.error("unknown-frame", where, repr(name), "a frame of the model", did_you_mean(name, self.frames))
        return found

    def _placed(self, scope: str, name: str, where: str, hops: int = 0) -> Pose:
        """Return the pose of a frame in the world."""
        frame = self._frame(scope, name, where)
        if frame is not None and hops > len(self.frames):
            self.report.error("cycle", where, repr(name), "poses that end at the model", "correct relative_to")
        elif frame is not None and frame.placed is None:
            frame.placed = composed(self._placed(frame.scope, frame.base, where, hops + 1), frame.pose)
        return Pose() if frame is None or frame.placed is None else frame.placed

    def _link_of(self, scope: str, name: str, where: str) -> str:
        """Return the link to which a frame belongs."""
        for _ in self.frames:
            if name == "world":
                return WORLD
            if name.startswith("\0"):
                return name[1:]
            frame = self._frame(scope, name, where)
            if frame is None:
                return WORLD
            scope, name = frame.scope, frame.attached
        self.report.error("cycle", where, repr(name), "frames that end at a link", "correct attached_to")
        return WORLD

    # -- joints ------------------------------------------------------------------------------------------------------------

    def _read_joint(self, element: Element, scope: str) -> None:
        name = scope + element.get("name", "")
        self._check("joint", element, name)
        self._texts(element)
        kind = _TYPES.get(element.get("type", ""))
        if kind is None:
            given = element.get("type", "")
            advice = "add a tt.Gear in Python" if given == "gearbox" else did_you_mean(given, _TYPES)
            self.report.error("unknown-type", f"{name}.type", repr(given), "a joint that titop has", advice)
            return
        for role in ("parent", "child"):
            if not element.get(role):
                self.report.error("missing-element", name, f"no <{role}>", "a parent and a child", f"add <{role}>")
                return
        ends = [self._link_of(scope, element.get(role, ""), f"{name}.{role}") for role in ("parent", "child")]
        placed = self._placed("", name, name)
        origin, port = (relative(self._placed("", end or "world", name), placed) for end in ends)
        children = [*element.findall("axis"), *element.findall("axis2")]
        axes = [self._axis(child, placed, scope, f"{name}.{child.tag}") for child in children]
        needed = {"universal": 2, "ball": 0, "fixed": 0}.get(kind, 1)
        if len(axes) < needed:
            self.report.error("missing-element", name, f"{len(axes)} axes", f"{needed} axes of a {kind} joint", "add <axis>")
            return
        found = [self._passive(child, scope, f"{name}.{child.tag}") for child in children[:needed]]
        passive: dict[str, Any] = dict(found[0]) | {"axis": axes[0]} if needed else {}
        if kind == "universal":
            passive["second"] = axes[1]
            for key in ("damping", "stiffness", "rest"):
                passive[key] = np.array([of[key] for of in found])
            if any(of["friction"] or of["limits"] or of["mimic"] for of in found):
                self.report.report_unused("friction, limits and mimic of two axes", name, "set the joint's in Python")
                passive |= {"friction": 0.0, "limits": {}, "mimic": None}
        if kind == "screw":
            old = self._value(element, "thread_pitch", name, 0.0)
            turn = self._value(element, "screw_thread_pitch", name, -2 * math.pi / old if old else 1.0)
            passive["pitch"] = turn / (2 * math.pi)
        joint = RobotJoint(name, kind, ends[0], ends[1], origin, port=port, **passive)
        if ends[1] != WORLD and ends[1] not in self._carried:
            self._carried.add(ends[1])
            self.robot.joints.append(joint)
        else:
            self.robot.closures.append(RobotClosure.of(joint, self.report))

    def _axis(self, axis: Element, placed: Pose, scope: str, where: str) -> Array:
        """Return the direction of an axis in the frame of its joint, whose pose in the world is `placed`."""
        self._check("axis", axis, where)
        direction = self._texts(axis).numbers(axis, "xyz", where, (0.0, 0.0, 1.0))
        if not direction.any():
            self.report.error("zero-axis", f"{where}.xyz", direction.tolist(), "a non-zero direction", "such as 0 0 1")
            return np.array([0.0, 0.0, 1.0])
        xyz = axis.find("xyz")
        frame = "" if xyz is None else xyz.get("expressed_in", "")
        if self.is_true(axis, "use_parent_model_frame"):
            frame = _MODEL
        if not frame:
            return direction
        return np.asarray(placed.rotation.T @ self._placed(scope, frame, where).rotation @ direction)

    def _passive(self, axis: Element, scope: str, where: str) -> dict[str, Any]:
        """Return damping, friction, spring, limits and mimic of an axis."""
        dynamics, limit = axis.find("dynamics"), axis.find("limit")
        for part in (dynamics, limit):
            if part is not None:
                self._check(part.tag, part, where)
        limits = {key: self._value(limit, key, where, math.inf) for key in ("upper", "effort", "velocity")}
        limits["lower"] = self._value(limit, "lower", where, -math.inf)
        limits = {key: value for key, value in limits.items() if abs(value) < _NO_LIMIT}
        limits = {key: value for key, value in limits.items() if key in ("lower", "upper") or value >= 0}
        tags = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness", "rest": "spring_reference"}
        values: dict[str, Any] = {key: self._value(dynamics, tag, where, 0.0) for key, tag in tags.items()}
        return values | {"limits": limits, "mimic": self._mimic(axis, scope, where)}

    def _mimic(self, axis: Element, scope: str, where: str) -> Mimic | None:
        mimic = axis.find("mimic")
        if mimic is None:
            return None
        multiplier, offset, reference = (
            self._value(mimic, tag, f"{where}.mimic", default)
            for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
        )
        driver = mimic.get("joint", "").replace("::", "/")
        return Mimic(scope + driver, multiplier, offset - multiplier * reference)

    # -- roots -------------------------------------------------------------------------------------------------------------

    def _add_roots(self) -> None:
        """Let links without a joint above them move freely, or weld them to the world: as the file says, or `base`."""
        robot, names, roots = self.robot, {joint.name for joint in self.robot.joints}, []
        for link in robot.links:
            if link.name not in self._carried:
                is_free = self._free[link.name] if self.base is None else self.base == "free"
                kind, placed = "floating" if is_free else "fixed", self._placed("", link.name, link.name)
                name = free_name(f"{link.name}_base", names)
                roots.append(RobotJoint(name, kind, WORLD, link.name, placed))
        robot.joints[:0] = roots


def _read_version(root: Element) -> None:
    """Give axes of files before SDF 1.5 their frame, which was that of the model by default."""
    if root.get("version") in ("1.0", "1.2", "1.3", "1.4"):
        for axis in (*root.iter("axis"), *root.iter("axis2")):
            axis.set("use_parent_model_frame", "true")


def relative(frame: Pose, pose: Pose) -> Pose:
    """Return a pose as seen from a frame; both are given in the world."""
    return Pose(frame.rotation.T @ (pose.position - frame.position), frame.rotation.T @ pose.rotation)
