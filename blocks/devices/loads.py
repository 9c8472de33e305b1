"""Loads: wrenches that act on a port."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import Field, choice, vector

#: Frames in which loads on a port can be given.
FRAMES = ("world", "port")


def read_target(block: Block, field: str, target: Any) -> PortRef:
    """Return the port at which a block acts; anything else is reported to the block's reader."""
    if isinstance(target, PortRef):
        return target
    if isinstance(target, Block):
        return PortRef(target, None)
    block.reader.report("not-a-port", field, target, 'a block or a port such as body.port("C")', "pass the block itself")
    return PortRef(block, None)


class Load(Block):
    """A constant wrench on a port.

    Parameters
    ----------
    name : str
    target : PortRef or block
        Port at which the wrench acts (a block means its reference frame).
    force, torque : array_like (3,), N and N m
    frame : {"world", "port"}
        Frame of the components: inertial, or the port's.
    """

    rational_parameters = tuple(f"{field}.{axis}" for field in ("force", "torque") for axis in "xyz")
    file_tables = ("loads",)
    parameter_units: ClassVar = {"force": "N", "torque": "N m"}
    target = Field(read_target)
    force = Field(vector)
    torque = Field(vector)
    frame = Field(choice(FRAMES, "bad-frame"))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        force: Any = (0.0, 0.0, 0.0),
        torque: Any = (0.0, 0.0, 0.0),
        frame: str = "port",
    ) -> None:
        super().__init__(name)
        self.target, self.force, self.torque, self.frame = target, force, torque, frame

    def wrench(self, rotation: Array) -> Array:
        """Return the wrench (6, N and N m) in the port's frame, whose attitude is `rotation` (port to inertial)."""
        wrench = np.concatenate([self.force, self.torque])
        if self.frame == "port":
            return wrench
        return np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])

    @property
    def load_parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of all components."""
        return tuple(self.parameters())
