"""The motion of a port."""

from __future__ import annotations

from typing import NamedTuple

from titop.blocks.basics.spatial import Array


class PortMotion(NamedTuple):
    """Motion of a port: `rotation` (3x3) and `position` (3, m) in the inertial frame, `twist` and `acceleration` in the port's.

    `twist` (6, m/s and rad/s) has its linear part first; `acceleration` (6, m/s^2 and rad/s^2) is the spatial acceleration less
    gravity's, ``A - G``.
    """

    rotation: Array
    position: Array
    twist: Array
    acceleration: Array
