"""The common part of actuators and sensors, and what the filters of their paths act on or receive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, instance, put
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.devices.signal_path import SignalPath

#: Reads the path of a device.
read_path = instance(SignalPath, "write path=tt.SignalPath.lag(0.05)")


class FilterKind(IntEnum):
    """What filters act on or receive: the first three and the last of actuators, the others of sensors."""

    #: An effort on a coordinate, times a number.
    EFFORT = 0
    #: A wrench (6) for each channel on a port, in its axes; on the second port, in the axes of the first.
    WRENCH = 1
    WRENCH_IN_WORLD = 2
    #: A coordinate, its rate, the angular velocity of a port; the specific force at a second port, the first being the world.
    POSITION = 3
    RATE = 4
    ANGULAR_VELOCITY = 5
    SPECIFIC_FORCE = 6
    #: What the sensor says by its `Device.observation`.
    OBSERVED = 7
    #: A magnetic moment (3) for each channel of a dipole at the second port, in its axes; the first port is the world's.
    DIPOLE = 8


class Device(Block):
    """Common part of actuators and sensors: what their signals pass.

    Attributes
    ----------
    path : SignalPath or None
    channels : tuple of str
        Names of their signals within the block.
    """

    path = Field(read_path)
    #: Smallest absolute command that has an effect in simulations.
    least_command: float = 0.0
    #: Whether it has a law of its own, by which an interaction acts for it.
    acts_by_law: ClassVar[bool] = False

    def __init__(self, name: str, path: SignalPath | None = None) -> None:
        super().__init__(name)
        self.path = path

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the signals."""
        raise NotImplementedError

    @property
    def is_filtered(self) -> bool:
        """Whether there is a filter, or a scale factor or misalignment."""
        return self.path is not None and (self.path.filter is not None or self.path.is_scaled)

    @property
    def is_attached(self) -> bool:
        """Whether systems add an interaction for it: for its filter, or its law."""
        return self.acts_by_law or (self.path is not None and self.path.filter is not None)

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        """Ports on which the filter acts, or whose motion it receives: `PortRef`, or "world"."""
        return ()

    @property
    def filter_coordinates(self) -> tuple[str, ...]:
        """Coordinates likewise."""
        return ()

    def observation(self, blocks: Mapping[str, Block]) -> tuple[tuple[str, ...], Callable[[TargetMotion], Array]]:
        """Return the coordinates that the filter receives, and from their motion and that of `filter_ports` what it receives.

        `blocks` are all of the system.
        """
        raise NotImplementedError

    @property
    def filter_law(self) -> tuple[FilterKind, Any]:
        """What the filter acts on or receives there, and the numbers (channels, ...) of that."""
        raise NotImplementedError

    def under(self, field: Any) -> Device:
        """Return the device as it measures under a `field` of gravity, or none (None), which says where the world is."""
        return self

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self.path is not None:
            errors += self.path.findings(f"{self.name}.path", len(self.channels))
        return errors, warnings

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the unit of each signal, "1" where it is unknown; `along` has those of the coordinates of the filter."""
        return ("1",) * len(self.channels)

    def parameters(self) -> dict[str, tuple[float, str]]:
        if self.path is None:
            return super().parameters()
        return super().parameters() | self._path_parameters(())

    def _path_parameters(self, along: Sequence[str]) -> dict[str, tuple[float, str]]:
        path, units = self.path, self.channel_units(along)
        if path is None:
            return {}
        unit = units[0] if len(set(units)) == 1 else "1"
        return {f"path.{name}": (float(path.parameter(name)), own or unit) for name, own in path.parameters().items()}

    def with_parameters(self, values: dict[str, float]) -> Block:
        of_path = {name.removeprefix("path."): value for name, value in values.items() if name.startswith("path.")}
        changed = super().with_parameters({name: value for name, value in values.items() if not name.startswith("path.")})
        if of_path and self.path is not None:
            path = self.path.with_parameters(of_path)
            if all(isinstance(value, int | float) for value in of_path.values()) and (
                wrong := path.findings(f"{self.name}.path", len(self.channels))
            ):
                raise ModelError(wrong)  # before anything divides by a time constant
            put(changed, "path", path)
        return changed
