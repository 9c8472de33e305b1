"""Gears: two joint coordinates that move together."""

from __future__ import annotations

from typing import ClassVar

from titop.blocks.block import Block


class Gear(Block):
    """A rigid transmission between two joint coordinates: ``driven = ratio * driver + offset``.

    Both keep their coordinates; a Lagrange multiplier holds them together, as those of rigid closures do. URDF calls the driven
    joint a mimic joint.

    Parameters
    ----------
    name : str
    driver, driven : str or Block
        The joints, or their names; ``"joint.coordinate"`` for one of several coordinates. Neither may be spherical or free.
    ratio : float
        Motion of the driven coordinate a unit of the driver's.
    offset : float, rad or m
        Of the driven coordinate, where the driver's is zero.
    """

    #: The constraint's name within the gear.
    constraint = "mesh"
    joint_fields: ClassVar[tuple[str, ...]] = ("driver", "driven")
    parameter_units: ClassVar = {"ratio": "1", "offset": "rad or m"}

    def __init__(self, name: str, driver: str | Block, driven: str | Block, ratio: float = 1.0, offset: float = 0.0) -> None:
        super().__init__(name)
        self.driver = driver.name if isinstance(driver, Block) else str(driver)
        self.driven = driven.name if isinstance(driven, Block) else str(driven)
        self.ratio = self.reader.scalar("ratio", ratio)
        self.offset = self.reader.scalar("offset", offset)
