"""Devices that are made of several blocks: one call adds them, and their parameters are those of the device."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, ClassVar

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rigid_body import pose_parameters
from titop.blocks.contract.block import Block, PortRef


class CompositeDevice(Block):
    """A device made of several blocks, such as a wheel of rotor, bearing and motor; `System.add_device` adds it.

    To write a device, subclass it, declare its fields as those of any block (`Field`, `parameter_units`), and define `parts`.
    Fields that change which parts there are must be `Fixed`; other fields may be set later, and parts follow.

    The parameters of the device are parameters of the model: ``"wheel.mass"`` in `Model.parameters`, `Model.with_parameters`,
    `lpv`, `lft`, `monte_carlo`, `trim` and sensitivities. Those of the parts follow, and can be varied by themselves, too.

    Parameters
    ----------
    name : str
        Parts are called ``name/part``; one of them, usually a joint, may have the device's own name.
    """

    file_tables: ClassVar[tuple[str, ...]] = ("devices",)
    complex_parameters = False

    def parts(self) -> Iterable[tuple[Any, ...]]:
        """Return how the parts are added: for each a method of `System` by name, and its arguments.

        Blocks among the arguments are parts, but no devices; those of others are given by their ports. A placement is a
        `Pose`. Parts are made anew from the device's fields whenever these change.
        """
        raise NotImplementedError(f"device {self.name!r} does not say what its parts are")

    @cached_property
    def calls(self) -> tuple[tuple[Any, ...], ...]:
        """The parts as they were added."""
        return tuple(map(tuple, self.parts()))

    @property
    def blocks(self) -> dict[str, Any]:
        """The parts by name."""
        return {part.name: part for call in self.calls for part in call if isinstance(part, Block)}

    def __getitem__(self, part: str) -> Any:
        """Return a part by its name without the device's; that of the device's own name for ``""``."""
        name, known = f"{self.name}/{part}" if part else self.name, self.blocks
        if name not in known:
            raise ModelError(Finding("unknown-part", self.name, part, "a part of the device", did_you_mean(name, known)))
        return known[name]

    @property
    def placements(self) -> Iterator[tuple[str, Pose]]:
        """Names of the joints that are placed beside a port, and where."""
        return ((call[3].name, call[4]) for call in self.calls if call[0] == "connect" and len(call) > 4)

    def part_numbers(self) -> dict[str, float]:
        """Return the present value of every parameter of the parts, by dotted name."""
        numbers = {f"{name}.{entry}": x for name, part in self.blocks.items() for entry, (x, _) in part.parameters().items()}
        for joint, pose in self.placements:
            numbers |= {f"{joint}.placement.{entry}": x for entry, (x, _) in pose_parameters(pose).items()}
        return numbers

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The `part_numbers` of parts that are made from the fields."""
        return copy.copy(self).part_numbers()

    def _update(self) -> None:
        """Let the parts follow the fields, if these are right."""
        vars(self).pop("numbers", None)
        if "calls" not in vars(self) or self.check()[0]:
            return
        made = copy.copy(self)
        for part, other in zip(self.blocks.values(), made.blocks.values(), strict=True):
            kept = {name: value for name, value in vars(part).items() if isinstance(value, PortRef)}
            vars(part).clear()
            vars(part).update(vars(other) | kept)
        pairs = (zip(call, other, strict=True) for call, other in zip(self.calls, made.calls, strict=True))
        vars(self)["calls"] = tuple(tuple(new if isinstance(new, Pose) else old for old, new in pair) for pair in pairs)

    def __copy__(self) -> Block:
        copied = super().__copy__()
        vars(copied).pop("calls", None)
        return copied

    def snapshot(self) -> Block:
        copied = super().snapshot()
        vars(copied).pop("numbers", None)
        return copied
