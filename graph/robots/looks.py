"""What links of robot files look like: primitive shapes and meshes, whose files are found but not opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import quaternion_log, rotation_exp
from titop.blocks.basics.user_input import LARGEST
from titop.graph.robots.report import SHOWN, Report
from titop.graph.robots.urdf_elements import plain_numbers, rpy_quaternion

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Numbers of each primitive shape: elements or attributes, and how many numbers each has.
_PRIMITIVES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "ellipsoid": {"radii": 3},
}
#: Beginnings of names of files that belong to a package, and of those that stand somewhere else.
_PACKAGED, _NETWORK = ("package://", "model://"), ("//", "\\\\")
#: Environment variables with the folders of packages, those of ROS, ROS 2 and Gazebo, and what lies between.
_SEARCHED = {"ROS_PACKAGE_PATH": "", "AMENT_PREFIX_PATH": "share", "GAZEBO_MODEL_PATH": "", "GZ_SIM_RESOURCE_PATH": ""}


class Looks:
    """Reads the shapes of links; finds meshes in the robot's `folder` (None for a text) and in packages, each file once."""

    def __init__(self, folder: str | None, report: Report) -> None:
        self.folder, self.report = folder, report
        self._found: dict[str, str | None] = {}

    def shape(self, geometry: Element | None, pose: Pose, color: str | None) -> dict[str, Any] | None:
        """Return a shape as `Trajectory.animate` takes it; None if it is none, or its mesh is missing."""
        for element in () if geometry is None else geometry:
            look: dict[str, Any] = {"position": pose.position, "rotation": pose.rotation}
            look |= {"color": color} if color else {}
            if element.tag == "mesh":
                file = self.file(_text(element, "filename") or _text(element, "uri"))
                scale = few_numbers(_text(element, "scale"), 3) or [1.0, 1.0, 1.0]
                return None if file is None or not all(scale) else {"mesh": file, "scale": scale} | look
            counts = _PRIMITIVES.get(element.tag, {})
            parts = [few_numbers(_text(element, key), count) for key, count in counts.items()]
            numbers = [number for part in parts for number in part or (0.0,)]
            if counts and min(numbers) > 0:
                return {element.tag: numbers if len(numbers) > 1 else numbers[0]} | look
        return None

    def file(self, name: str) -> str | None:
        """Return the path of a mesh; None if it is not there, which is remembered."""
        if name not in self._found:
            candidates = () if not name or "\0" in name or name.startswith(_NETWORK) else self._candidates(name)
            self._found[name] = next(filter(os.path.isfile, candidates), None)
        return self._found[name]

    def _candidates(self, name: str) -> Iterator[str]:
        if name.startswith("file://"):
            yield name.removeprefix("file://")
        elif name.startswith(_PACKAGED):
            package, _, rest = name.partition("://")[2].partition("/")
            yield from (os.path.join(place, rest) for place in self._packages(package))
        elif self.folder is not None and "://" not in name:
            yield os.path.join(self.folder, name)

    def _packages(self, package: str) -> Iterator[str]:
        """Yield where a package may lie: around the robot's file, then where ROS and Gazebo look."""
        for place in () if self.folder is None else [*(Path(self.folder).resolve() / "robot").parents][:-1]:
            if place.name == package:
                yield str(place)
            yield str(place / package)
        for variable, between in _SEARCHED.items():
            for searched in filter(None, os.environ.get(variable, "").split(os.pathsep)):
                yield os.path.join(searched, between, package)
                if os.path.basename(searched) == package:
                    yield searched

    def check(self, names: Iterable[str]) -> None:
        """Tell once which of the meshes of a file are missing; of a text, and of other machines' files, nothing is known."""
        known = [name for name in dict.fromkeys(names) if name and "\0" not in name and not name.startswith(_NETWORK)]
        local = [name for name in known if "://" not in name or name.startswith(_PACKAGED)]
        missing = [name for name in local if self.file(name) is None]
        if missing and self.folder is not None:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            expected = f"files beside the robot, in {self.folder or os.curdir}"
            if missing[0].startswith(_PACKAGED):
                expected += " and the folders above it, or in a folder of ROS_PACKAGE_PATH"
            advice = "the dynamics and pictures do without them"
            self.report.suspect("missing-mesh", "", f"{missing[0][:SHOWN]!r}{others}", expected, advice)


def _text(element: Element, name: str) -> str:
    """Return an attribute or the text of a child: URDF has the one, SDF the other."""
    return (element.get(name) or element.findtext(name) or "").strip()


def few_numbers(text: str, count: int) -> list[float] | None:
    """Return so many numbers of a text; None if it has others, or more or fewer."""
    numbers = plain_numbers(text) or []
    return numbers if len(numbers) == count and max(map(abs, numbers)) <= LARGEST else None


def placed(xyz: str, rpy: str) -> Pose:
    """Return the pose that two texts tell, as far as they do."""
    turns = few_numbers(rpy, 3)
    rotation = None if turns is None else rotation_exp(quaternion_log(rpy_quaternion(turns)))
    return Pose(few_numbers(xyz, 3) or np.zeros(3), rotation)


def color_of(text: str) -> str | None:
    """Return red, green, blue and opacity from 0 to 1 as ``#rrggbb``; None if the text is no colour."""
    numbers = plain_numbers(text) or []
    if len(numbers) not in (3, 4) or not all(0 <= number <= 1 for number in numbers):
        return None
    return hex_color(numbers)


def hex_color(numbers: Sequence[float]) -> str:
    """Return red, green and blue from 0 to 1 as ``#rrggbb``."""
    return "#" + "".join(f"{round(255 * number):02x}" for number in numbers[:3])


def urdf_colors(root: Element) -> Mapping[str, str | None]:
    """Return the colours of the materials that a URDF robot names."""
    named = [material for material in root.iter("material") if material.find("color") is not None]
    return {material.get("name", ""): color_of(color.get("rgba", "")) for material in named for color in material.iter("color")}
