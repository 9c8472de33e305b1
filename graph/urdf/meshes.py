"""Whether the meshes that a robot names are there, though nothing of them is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from titop.graph.urdf.elements import Report

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def check_meshes(root: Element, folder: str, report: Report) -> None:
    """Tell once which meshes with a path of their own, relative to the robot's `folder`, are missing."""
    names = dict.fromkeys(mesh.get("filename", "") for mesh in root.iter("mesh"))
    local = [name for name in names if name and "\0" not in name and "://" not in name and not name.startswith(("//", "\\\\"))]
    missing = [name for name in local if not os.path.isfile(os.path.join(folder, name))]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        advice = "the dynamics do without them; other programs may not"
        report.suspect("missing-mesh", "", f"{missing[0]!r}{others}", "files beside the robot", advice)
