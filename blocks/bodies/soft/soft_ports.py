"""Frames of the ports of deformable bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.soft.domain import Domain
from titop.blocks.contract.block import PARENT_PORT


class SoftPort(NamedTuple):
    """Where a port stands.

    Attributes
    ----------
    points : tuple of (x, y, z), m
        One material point, or three.
    frame : callable, optional
        Instead, ``frame(q)`` or ``frame(q, numbers)``.
    """

    points: tuple[tuple[float, ...], ...]
    frame: Callable[..., Any] | None = None


#: The port that stands at the domain's tip if none is named.
TIP = "tip"


def read_soft_ports(reader: FieldReader, ports: Any, domain: Domain) -> dict[str, SoftPort]:
    """Read ports: a material point, three of them, or a function of q."""
    if ports is None:
        ports = {} if domain.tip is None else {TIP: _end_points(domain, domain.tip)}
    if not isinstance(ports, Mapping):
        reader.report("wrong-type", "ports", ports, "a mapping of names to material points", 'write {"tip": [0, 0, 0.2]}')
        ports = {}
    read: dict[str, SoftPort] = {}
    for name, value in ports.items():
        if not isinstance(name, str) or not name or "." in name or not name.isprintable() or name == PARENT_PORT:
            expected = f"a port name without dots or control characters, other than {PARENT_PORT!r}"
            reader.report("bad-name", str(name), name, expected, "rename the port")
        elif port := _read_port(reader, f"ports.{name}", value):
            read[name] = port
    return read


def _end_points(domain: Domain, tip: Array) -> Array:
    """Return the tip, and points as far from it along x and y as the material reaches; the tip alone if it does not."""
    x, y, _ = np.abs(domain.points - tip).max(axis=0)
    return tip + np.array([[0.0, 0.0, 0.0], [x, 0.0, 0.0], [0.0, y, 0.0]]) if x * y > 0 else tip


def _read_port(reader: FieldReader, field: str, value: Any) -> SoftPort | None:
    if callable(value):
        return SoftPort((), value)
    given = real_array(value)
    expected = "a material point (3), three of them (3 x 3), or a function of q"
    if given is None or given.shape not in ((3,), (3, 3)) or not np.isfinite(given).all():
        reader.report("wrong-type", field, value, expected, "give the port's place, and points along its x and y axes")
        return None
    points = given.reshape(-1, 3)
    if len(points) == 3:
        along, beside = points[1] - points[0], points[2] - points[0]
        if not abs(along @ beside) < SAME * np.linalg.norm(along) * np.linalg.norm(beside):
            advice = "let the second point lie along the port's x axis, and the third along its y axis"
            reader.report("bad-frame", field, value, "points at a right angle, seen from the first (key P, (3))", advice)
            return None
    return SoftPort(tuple(map(tuple, points.tolist())))


def frame_through(port: SoftPort, state: Any) -> tuple[Any, Any]:
    """Return rotation (3 x 3) and position (3) of a port, of unknowns.

    At three points the x axis goes through the second and y near the third: key P, (4) to (6), if they keep their distances and
    their right angle. At one point these axes are those of the material there: the first two columns of ``F = df/dx``.

    Parameters
    ----------
    port : SoftPort
        With points.
    state : (9,) or (12,) array
        Where three points stand; or where one does, and the columns of F there.
    """
    place, along, beside = state[:3], state[3:6], state[6:9]
    if len(port.points) == 3:
        along, beside = along - place, beside - place
    x = _unit(along)
    y = _unit(beside - (beside @ x) * x)
    z = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return np.column_stack([x, y, np.array(z, dtype=object)]), place


def _unit(vector: Any) -> Any:
    return vector / np.sqrt(vector @ vector)
