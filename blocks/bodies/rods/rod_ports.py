"""Ports along a rod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.pose import Pose, read_pose
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.contract.block import PARENT_PORT

#: Name of the port at the tip, which every rod has.
TIP = "tip"


class RodPort(NamedTuple):
    """Where a port stands.

    Attributes
    ----------
    abscissa : float, m
        For the length with which the rod was made.
    pose : Pose
        Of the port in the frame of the section.
    """

    abscissa: float
    pose: Pose


def read_rod_ports(reader: FieldReader, ports: Any, length: float) -> dict[str, RodPort]:
    """Read the ports of a rod: abscissas X (m), or pairs of one and a pose in the section's frame; the tip comes first."""
    if ports is not None and not isinstance(ports, Mapping):
        reader.report("wrong-type", "ports", ports, "a mapping of names to abscissas", 'write {"camera": 0.2}')
        ports = {}
    read = {TIP: RodPort(length, Pose())}
    for name, value in (ports or {}).items():
        if not isinstance(name, str) or not name or "." in name or not name.isprintable() or name == PARENT_PORT:
            expected = f"a port name without dots or control characters, other than {PARENT_PORT!r}"
            reader.report("bad-name", str(name), name, expected, "rename the port")
        read[str(name)] = _read_port(reader, f"ports.{name}", value, length)
    return read


def _read_port(reader: FieldReader, field: str, value: Any, length: float) -> RodPort:
    pose = Pose()
    if isinstance(value, tuple) and len(value) == 2:
        value, pose = value[0], read_pose(reader, field, value[1])
    given = real_array(value)
    if given is None or given.shape:
        expected, advice = "an abscissa (m), or (abscissa, pose in the section's frame)", "write 0.2 or (0.2, tt.Pose(...))"
        reader.report("wrong-type", field, value, expected, advice)
        return RodPort(length, pose)
    abscissa = reader.scalar(field, value)
    if not -SAME * length <= abscissa <= (1.0 + SAME) * length:
        if np.isfinite(abscissa):
            advice = "count from the base, in metres; what lies beyond the rod is placed by a pose"
            reader.report("off-the-rod", field, abscissa, f"an abscissa from 0 to the length, {length:g} m", advice)
        return RodPort(length, pose)
    return RodPort(float(np.clip(abscissa, 0.0, length)), pose)
