"""Frames of the ports of deformable bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.soft.domain import Domain
from titop.blocks.bodies.soft.soft_fields import with_numbers
from titop.blocks.contract.block import PARENT_PORT

#: ``frame(q, numbers)``: rotation (3 x 3) and position (3) in the parent port's frame.
Frame = Callable[[Any, Any], tuple[Any, Any]]
#: ``f(x, q, numbers)``: where a material point stands.
Kinematics = Callable[[Any, Any, Any], Any]

#: The port that stands at the domain's tip if none is named.
TIP = "tip"
#: How far from square the directions to a frame's points may be.
_SQUARE = 1e-9


def read_soft_ports(reader: FieldReader, ports: Any, domain: Domain, kinematics: Kinematics) -> dict[str, Frame]:
    """Read ports: a material point, three of them, or a function of q."""
    if ports is None:
        ports = {} if domain.tip is None else {TIP: domain.tip}
    if not isinstance(ports, Mapping):
        reader.report("wrong-type", "ports", ports, "a mapping of names to material points", 'write {"tip": [0, 0, 0.2]}')
        ports = {}
    frames: dict[str, Frame] = {}
    for name, value in ports.items():
        if not isinstance(name, str) or not name or "." in name or not name.isprintable() or name == PARENT_PORT:
            expected = f"a port name without dots or control characters, other than {PARENT_PORT!r}"
            reader.report("bad-name", str(name), name, expected, "rename the port")
        elif frame := _read_frame(reader, f"ports.{name}", value, domain, kinematics):
            frames[name] = frame
    return frames


def _read_frame(reader: FieldReader, field: str, value: Any, domain: Domain, kinematics: Kinematics) -> Frame | None:
    if callable(value):
        return with_numbers(value, 1)
    given = real_array(value)
    if given is not None and given.shape == (3,):
        reach = 0.01 * np.ptp(domain.points, axis=0).max()
        given = given + np.array([[0.0, 0.0, 0.0], [reach, 0.0, 0.0], [0.0, reach, 0.0]])
    expected = "a material point (3), three of them (3 x 3), or a function of q"
    if given is None or given.shape != (3, 3) or not np.isfinite(given).all():
        reader.report("wrong-type", field, value, expected, "give the port's place, and points along its x and y axes")
        return None
    along, beside = given[1] - given[0], given[2] - given[0]
    if not abs(along @ beside) < _SQUARE * np.linalg.norm(along) * np.linalg.norm(beside):
        advice = "let the second point lie along the port's x axis, and the third along its y axis"
        reader.report("bad-frame", field, value, "points at a right angle, seen from the first (key P, (3))", advice)
        return None
    return three_point_frame(given, kinematics)


def three_point_frame(points: Array, kinematics: Kinematics) -> Frame:
    """Return the frame at the first of three material points whose x axis goes through the second, y near the third.

    Key P, (4) to (6), for points that keep their distances and their right angle; else y is made square to x.
    """

    def frame(q: Any, numbers: Any) -> tuple[Any, Any]:
        place, along, beside = (kinematics(point, q, numbers) for point in points)
        x = _unit(along - place)
        aside = beside - place
        y = _unit(aside - (aside @ x) * x)
        z = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
        return np.column_stack([x, y, np.array(z, dtype=object)]), place

    return frame


def _unit(vector: Any) -> Any:
    return vector / np.sqrt(vector @ vector)
