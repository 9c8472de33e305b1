"""Connections of blocks by joints, and loops by closures and interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from titop.blocks.basics.pose import Pose
from titop.blocks.contract.block import Block, PortRef


@dataclass(frozen=True)
class Connection:
    """A child block connected to a parent's port by a joint.

    Attributes
    ----------
    parent, child : PortRef
    joint : Block
        A joint, or any block with one child port ``C``.
    placement : Pose
        Of the joint frame in the parent's port frame.
    """

    parent: PortRef
    child: PortRef
    joint: Block
    placement: Pose


@dataclass(frozen=True)
class Joined:
    """A closure with its two ports, or an interaction with its ports and coordinates.

    Attributes
    ----------
    ports : tuple of PortRef
    closure : RigidClosure or Interaction
    coordinates : tuple of str
        As motors name them.
    """

    ports: tuple[PortRef, ...]
    closure: Any
    coordinates: tuple[str, ...] = ()

    @property
    def first(self) -> PortRef:
        """The first port."""
        return self.ports[0]

    @property
    def second(self) -> PortRef:
        """The second port."""
        return self.ports[1]

    @property
    def is_between_two_ports(self) -> bool:
        """Whether it acts on exactly two ports and no coordinates."""
        return len(self.ports) == 2 and not self.coordinates

    @property
    def named_ports(self) -> tuple[PortRef, ...]:
        """The ports that users named, without those that the closure knows itself."""
        return self.ports[len(self.closure.own_ports) :]

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        """The coordinates that users named, without those that the closure knows itself."""
        return self.coordinates[len(self.closure.own_coordinates) :]

    @property
    def targets(self) -> tuple[PortRef | str, ...]:
        """Ports, then blocks of which it needs no telling, then coordinates."""
        return (*self.named_ports, *self.named_targets)

    @property
    def named_targets(self) -> tuple[str, ...]:
        """Those that are no ports, by name."""
        return (*(block.name for block in self.closure.own_blocks), *self.named_coordinates)
