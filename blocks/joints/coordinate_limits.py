"""Limits of coordinates of bodies, which belong to no joint."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, replace_entry
from titop.blocks.contract.block import Block, block_name
from titop.blocks.contract.fields import Field, without
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.joints.friction_and_limits import (
    Limits,
    bounded_sides,
    limit_findings,
    read_limits,
    stop_efforts,
    stop_energy,
    stop_entries,
    stop_gaps,
    stop_unit,
)


class CoordinateLimits(Block):
    """Limits of a coordinate of a body: data for checks of trajectories, and stops if they have a stiffness.

    Limits of joints' coordinates are given to the joint: ``tt.Revolute("hinge", limits=tt.Limits(...))``.

    Parameters
    ----------
    name : str
    joint : str or Block
        The body's coordinate, such as ``"boom.mode1"``, or the body, or its name, if it has only one coordinate. Its rate must
        be a velocity.
    limits : Limits

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("bumper", gravity=[0, 0, 0])
    >>> beam = tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4)
    >>> s.connect("world", beam, tt.Weld("clamp"))
    >>> s.add_limits(tt.CoordinateLimits("bumper", "boom.C_y", tt.Limits(upper=0.01, stiffness=1e3)))
    >>> m = s.resolve()
    >>> q, v, free = m.configuration({"boom.C_y": 0.02}), m.velocity({}), m.with_parameters({"bumper.limits.stiffness": 0.0})
    >>> push = m.passive_efforts(q, v) - free.passive_efforts(q, v)
    >>> push[1].round(9).item()  # 1e3 N/m^1.5 on 10 mm
    -1.0
    """

    rational_parameters = ()
    file_tables = ("limits",)
    joint_fields: ClassVar[tuple[str, ...]] = ("joint",)
    joint = Field(block_name)

    def __init__(self, name: str, joint: str | Block, limits: Limits) -> None:
        super().__init__(name)
        self.joint = joint
        self.limit_numbers = read_limits(self.reader, limits, 1)

    @property
    def limits(self) -> tuple[Limits, ...]:
        """The limits, like those of a joint with one coordinate; when set, they are read as by the constructor."""
        return (Limits(*self.limit_numbers[0].tolist()),)

    @limits.setter
    def limits(self, limits: Any) -> None:
        self.reader = without(self.reader, "limits")
        self.limit_numbers = read_limits(self.reader, limits, 1)

    def effort(self, x: Any, rate: Any) -> Any:
        """Return the effort of the stops on the coordinate at `x` with its `rate`."""
        return stop_efforts(self.limit_numbers, x, rate)[0]

    def energy(self, x: Any) -> Any:
        """Return the energy (J) that the stops store at `x`."""
        return stop_energy(self.limit_numbers, x)

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the distances (k, m or rad) of the coordinate from the stops."""
        return stop_gaps(self.limit_numbers, motion.q)

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the bounds and coefficients of the stops."""
        return self.parameters_along(("1",))

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`, with units for that of the coordinate."""
        entries = self._entries.items()
        return {f"limits.{name}": (float(self.limit_numbers[0, k]), stop_unit(name, units[0])) for name, k in entries}

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed."""
        changed = copy.copy(self)
        for name, value in values.items():
            place = 0, self._entries[name.removeprefix("limits.")]
            changed.limit_numbers = replace_entry(changed.limit_numbers, place, value)
        return changed

    @property
    def _entries(self) -> dict[str, int]:
        return dict(stop_entries(*bounded_sides(self.limit_numbers)[0]))

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the limits and what is suspicious."""
        errors, warnings = super().check()
        wrong, suspicious = limit_findings(self.name, self.limit_numbers, (self.joint,), plain=True)
        return errors + wrong, warnings + suspicious
