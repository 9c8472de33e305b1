"""The constraint of a gear between two coordinates of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.gear import Gear
from titop.graph.network.assembly import Assembly


@dataclass(frozen=True)
class GearConstraint:
    """``q[driven] - ratio q[driver] - offset = 0``: linear in the coordinates.

    Attributes
    ----------
    gear : Gear
    driven, driver : tuple of int
        Indices of the coordinate in q and in v.
    unit : str
        Unit of the driven coordinate.
    """

    gear: Gear
    driven: tuple[int, int]
    driver: tuple[int, int]
    unit: str

    @classmethod
    def of(cls, gear: Gear, assembly: Assembly) -> GearConstraint:
        """Return the constraint of a gear of an assembly."""
        driven, driver = assembly.place(gear.driven), assembly.place(gear.driver)
        return cls(gear, driven, driver, assembly.coordinate_units[driven[1]])

    @property
    def name(self) -> str:
        """Name among the constraints of the model."""
        return f"{self.gear.name}.{self.gear.constraint}"

    def follow(self, q: Array) -> None:
        """Set the driven coordinate of a configuration from its driver."""
        q[self.driven[0]] = self.gear.ratio * q[self.driver[0]] + self.gear.offset

    def follow_rate(self, v: Array) -> None:
        """Set the velocity, or acceleration, of the driven coordinate from its driver's."""
        v[self.driven[1]] = self.gear.ratio * v[self.driver[1]]

    def error(self, q: Array) -> Array:
        """Return the error of the gear, as an array of one entry (in the driven coordinate's unit)."""
        return np.array([q[self.driven[0]] - self.gear.ratio * q[self.driver[0]] - self.gear.offset])

    def jacobian(self, nv: int) -> Array:
        """Return the derivative of the error by the coordinates (1 x nv)."""
        jacobian = np.zeros((1, nv), dtype=np.result_type(self.gear.ratio, float))
        jacobian[0, self.driven[1]], jacobian[0, self.driver[1]] = 1.0, -self.gear.ratio
        return jacobian
