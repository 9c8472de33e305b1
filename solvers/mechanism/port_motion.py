"""The motion of a port."""

from __future__ import annotations

from typing import NamedTuple

from titop.blocks.basics.spatial import Array


class PortMotion(NamedTuple):
    """Motion of a port: `rotation` and `position` in the inertial frame, `twist` and `acceleration` in the port's.

    `acceleration` is the spatial acceleration less gravity's, ``A - G``.
    """

    rotation: Array
    position: Array
    twist: Array
    acceleration: Array
