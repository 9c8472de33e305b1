"""Strict reading of single URDF elements and attributes, with a collection of errors and of unused content.

Every element and attribute is read, known to say nothing about the dynamics, refused, or warned about by name: the vocabulary
says which.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.errors import did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, quaternion_log
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.basics.user_input import LARGEST
from titop.graph.robots.report import LONGEST_NAME, REPAIR, SHOWN, Report
from titop.graph.robots.robot import AXIAL_KINDS

#: Kinds of joint.
KINDS = ("fixed", *AXIAL_KINDS, "planar", "floating")

#: Namespaces, as `bare_tag` has them, of elements that other programs have to expand.
UNEXPANDED = ("{ros.org/wiki/xacro}", "{wiki.ros.org/xacro}", "{w3.org/2001/XInclude}")
#: Namespace of Drake's extensions, as `bare_tag` has it.
DRAKE = "{drake.mit.edu}"


@dataclass(frozen=True)
class Vocabulary:
    """The attributes and children that an element may have.

    - `attributes`, `children`: what is read;
    - `silent`: children that say nothing about the dynamics of the robot;
    - `strict`: whether an unknown attribute is an error: where it surely changes the dynamics;
    - `leftovers`: attributes that real files have though URDF has none, and which say nothing if they are zero, or repeat
      another.
    """

    attributes: tuple[str, ...]
    children: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    strict: bool = False
    leftovers: Mapping[str, str] = field(default_factory=dict)


VOCABULARY = {
    "robot": Vocabulary(
        ("name", "version"),
        ("link", "joint", "transmission", "gazebo", "loop_joint", f"{DRAKE}ball_constraint"),
        ("material", "sensor", "ros2_control"),
    ),
    "link": Vocabulary(("name",), ("inertial",), ("visual", "collision", "contact", "material")),
    "inertial": Vocabulary((), ("mass", "inertia", "origin")),
    "mass": Vocabulary(("value",), strict=True),
    "inertia": Vocabulary(
        ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), strict=True, leftovers={"iyx": "ixy", "izx": "ixz", "izy": "iyz"}
    ),
    "origin": Vocabulary(("xyz", "rpy", "quat_xyzw"), strict=True),
    "joint": Vocabulary(
        ("name", "type"),
        ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
        ("calibration", "safety_controller"),
    ),
    "loop_joint": Vocabulary(("name", "type"), ("link1", "link2", "axis"), strict=True),
    "link1": Vocabulary(("link", "xyz", "rpy"), strict=True),
    "link2": Vocabulary(("link", "xyz", "rpy"), strict=True),
    f"{DRAKE}ball_constraint": Vocabulary(
        (), tuple(f"{DRAKE}{name}" for name in ("ball_constraint_body_A", "ball_constraint_body_B", "p_AP", "p_BQ"))
    ),
    "parent": Vocabulary(("link",), strict=True),
    "child": Vocabulary(("link",), strict=True),
    "axis": Vocabulary(("xyz",), strict=True, leftovers={"rpy": ""}),
    "limit": Vocabulary(("lower", "upper", "velocity", "effort")),
    "dynamics": Vocabulary(("damping", "friction", "armature")),
    "mimic": Vocabulary(("joint", "multiplier", "offset"), strict=True),
}


def bare_tag(tag: str) -> str:
    """Return a tag, its namespace without scheme, ``www.`` and closing slashes: files write one in many ways."""
    namespace, closing, name = tag.rpartition("}")
    if not closing:
        return tag
    for start in ("{", "http://", "https://", "www."):
        namespace = namespace.removeprefix(start)
    return f"{{{namespace.rstrip('/')}}}{name}"


#: What a robot cannot do without and titop has no block for, with advice.
REFUSED = {"include": "put everything into one file", f"{DRAKE}linear_bushing_rpy": "add the spring in Python"}

#: Children of `gazebo` elements that change the dynamics and are not read.
GAZEBO_DYNAMICS = ("turnGravityOff", "gravity", "dampingFactor")

#: Elements inside of transmissions, with the value that says nothing: with both, a rotor adds to a joint's inertia.
DRIVES = {"mechanicalReduction": 1.0, "mechanical_reduction": 1.0, "motorInertia": 0.0}


if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_LONGEST_NUMBER = 60
#: Larger angles (rad) are suspected to be degrees; 6.2832 is a turn as people type it.
_FULL_TURN = 6.29


class ElementReader:
    """Reads single elements and attributes.

    What cannot be used is reported and replaced by something harmless, so that one report shows all that is wrong.
    Leftovers that say nothing are mended if `repair` is set.
    """

    def __init__(self, report: Report, repair: bool = False) -> None:
        self.report = report
        self.repair = repair

    # -- elements ------------------------------------------------------------------------------------------------------

    def check_vocabulary(self, element: Element, where: str) -> None:
        """Report attributes and children that are not in the element's vocabulary, and children given twice."""
        known = VOCABULARY[element.tag]
        for name in element.attrib:
            if name in known.attributes or (name in known.leftovers and self._is_mended(element, name, where)):
                continue
            if known.strict:
                path, value = f"{where}.{name[:SHOWN]}", repr(element.attrib[name])
                advice = (
                    f"remove it, {REPAIR} where it says nothing"
                    if name in known.leftovers
                    else did_you_mean(name, known.attributes)
                )
                self.report.error("unknown-attribute", path, value, "an attribute of URDF", advice)
            else:
                self.report.report_unused(f"attribute {name[:SHOWN]!r} of <{element.tag}>", where)
        if not len(element):
            return
        tags = [child.tag for child in element]
        for child in element:
            if child.tag not in known.children and child.tag not in known.silent:
                self._unknown_child(child, where)
        counts = Counter(tags) if len(set(tags)) < len(tags) and element.tag != "robot" else {}
        for tag, count in counts.items():
            if count > 1 and tag in known.children:
                self.report.error("duplicate-element", f"{where}.{tag}", f"<{tag}> {count} times", "it once", "keep one")

    def _is_mended(self, element: Element, name: str, where: str) -> bool:
        """Tell whether a leftover has no content; it is then ignored with a warning."""
        numbers, twin = plain_numbers(element.get(name, "")), VOCABULARY[element.tag].leftovers[name]
        if twin and twin not in element.attrib:  # it stands for that one: who reads that one says so
            return self.repair and numbers is not None
        says_nothing = numbers is not None and (numbers == plain_numbers(element.get(twin, "")) if twin else not any(numbers))
        if not self.repair or not says_nothing:
            return False
        expected = f"{twin} alone" if twin else "no such attribute"
        self.report.repaired(
            where, f"{name}={element.get(name)!r} of <{element.tag}>", expected, "left out: it says nothing more"
        )
        return True

    def _unknown_child(self, child: Element, where: str) -> None:
        path = f"{where}.{child.tag[:SHOWN]}" if where else child.tag[:SHOWN]
        if child.tag.startswith(UNEXPANDED):
            advice = "expand it first: xacro robot.urdf.xacro > robot.urdf"
            self.report.error("not-expanded", path, f"<{child.tag}>", "plain URDF", advice)
        elif child.tag in REFUSED:
            value = " ".join([child.tag, *(f"{name}={text!r}" for name, text in child.attrib.items())])
            self.report.error("not-representable", path, f"<{value}>", "what titop can represent", REFUSED[child.tag])
        else:
            self.report.report_unused(f"element <{child.tag[:SHOWN]}>", where)

    def child(self, element: Element, tag: str, where: str, required: bool = False) -> Element | None:
        """Return the first child with a tag, its vocabulary checked."""
        child = element.find(tag)
        if child is not None:
            self.check_vocabulary(child, f"{where}.{tag}")
        elif required:
            self.report.error("missing-element", f"{where}.{tag}", "nothing", f"an element <{tag}>", "add it")
        return child

    # -- attributes ----------------------------------------------------------------------------------------------------

    def text(self, element: Element, attribute: str, where: str) -> str:
        """Return a required name that must not be empty, nor long enough to make a report useless."""
        value = element.get(attribute)
        if not value:
            found = "nothing" if value is None else "an empty text"
            self.report.error("missing-attribute", f"{where}.{attribute}", found, "a name", f'write {attribute}="..."')
        if value and len(value) > LONGEST_NAME:
            advice = "shorten it"
            self.report.error("bad-name", f"{where}.{attribute}", value, f"at most {LONGEST_NAME} characters", advice)
        return (value or "")[:LONGEST_NAME]

    def number(self, element: Element, attribute: str, where: str, default: float | None = None) -> float:
        """Return one number; without a default it is required."""
        return self._values(element, attribute, where, None if default is None else (default,), 1)[0]

    def non_negative(self, element: Element, attribute: str, where: str, default: float | None = None) -> float:
        """Return one number that must not be negative."""
        number = self.number(element, attribute, where, default)
        if number < 0:
            self.report.error(f"negative-{attribute}", f"{where}.{attribute}", number, "a value >= 0", "check the sign")
        return max(number, 0.0)

    def numbers(
        self, element: Element, attribute: str, where: str, default: tuple[float, ...] | None = None, count: int = 3
    ) -> Array:
        """Return `count` numbers separated by blanks; without a default they are required."""
        return np.array(self._values(element, attribute, where, default, count), dtype=float)

    def _values(
        self, element: Element, attribute: str, where: str, default: tuple[float, ...] | None, count: int
    ) -> Sequence[float]:
        text, infinite = element.get(attribute), element.tag == "limit"
        words = text.split() if text else []
        numbers = _read_numbers(words, infinite) if len(words) == count else None
        if numbers and (infinite or max(map(abs, numbers)) <= LARGEST):
            return numbers
        path, expected = f"{where}.{attribute}", f"{count} numbers separated by blanks" if count > 1 else "a number"
        if text is None:
            if default is None:
                mends = f", {REPAIR}" if attribute in VOCABULARY["inertia"].leftovers.values() else ""
                self.report.error("missing-attribute", path, "nothing", expected, f'write {attribute}="..."{mends}')
        elif len(words) != count:
            self.report.error("wrong-shape", path, repr(text), f"{expected}, not {len(words)}", "check the attribute")
        elif not numbers:
            advice = "expand it first with xacro" if "${" in text else "write decimal numbers such as -1.5e-3"
            self.report.error("not-a-number", path, repr(text), expected, advice)
        else:
            self.report.error("not-finite", path, repr(text), f"magnitudes up to {LARGEST:g}", "check the number and its unit")
        return default or (0.0,) * count

    def pose(self, element: Element | None, where: str) -> Pose:
        """Return the pose of an `origin` element: a position, and turns about fixed x, y and z axes or a quaternion."""
        if element is None:
            return Pose()
        position = self._values(element, "xyz", where, (0.0, 0.0, 0.0), 3)
        if "quat_xyzw" in element.attrib:
            return Pose.from_rotation_vector(position, quaternion_log(self._quaternion(element, where)))
        rpy = self._values(element, "rpy", where, (0.0, 0.0, 0.0), 3)
        if max(map(abs, rpy)) > _FULL_TURN:
            advice = "if they are degrees, multiply by pi/180"
            self.report.suspect("beyond-a-turn", f"{where}.rpy", repr(element.get("rpy")), "angles in radians", advice)
        return Pose.from_rotation_vector(position, quaternion_log(rpy_quaternion(rpy))) if any(rpy) else Pose(position)

    def _quaternion(self, element: Element, where: str) -> Array:
        quaternion = self.numbers(element, "quat_xyzw", where, (0.0, 0.0, 0.0, 1.0), 4)
        norm = float(np.linalg.norm(quaternion))
        if "rpy" in element.attrib:
            self.report.error("two-rotations", where, "rpy and quat_xyzw", "one of the two", "remove the other")
        if abs(norm - 1) > TYPED:
            self.report.error("not-unit", f"{where}.quat_xyzw", quaternion.tolist(), "a unit quaternion", "divide by its norm")
            return np.array([0.0, 0.0, 0.0, 1.0])
        return quaternion / norm


def plain_numbers(text: str) -> list[float] | None:
    """Return the numbers in a text, of any count; None if it is empty or has others than decimal numbers."""
    words = text.split()
    return _read_numbers(words, False) if words else None


def _read_numbers(words: Sequence[str], infinite: bool) -> list[float] | None:
    """Return decimal numbers, or None if one is not: no hexadecimals, no underscores, no digits of other scripts, no NaN."""
    if max(map(len, words)) > _LONGEST_NUMBER:
        return None
    if all(map(_NUMBER.fullmatch, words)) or (infinite and all(_NUMBER.fullmatch(w) or _INFINITE.fullmatch(w) for w in words)):
        return [*map(float, words)]
    return None


def rpy_quaternion(rpy: Sequence[float]) -> Array:
    """Return the quaternion (x, y, z, w) of turns about fixed x, y and z axes, in this order (3, rad)."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle / 2), math.cos(angle / 2)) for angle in rpy)
    return np.array(
        [sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy]
    )
