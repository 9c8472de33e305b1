"""Fluids around bodies and rods: water, or air."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import replace_entry
from titop.blocks.basics.user_input import FieldReader


class Fluid:
    """An unbounded fluid around bodies and rods, with a uniform current.

    Parameters
    ----------
    density : float, kg/m^3
    current : array_like (3,), m/s
        Constant velocity of the fluid in the inertial frame.

    Raises
    ------
    ModelError
        If the density is negative, or zero with a current.

    Examples
    --------
    >>> import titop as tt
    >>> tt.Fluid(1025.0, current=[0.3, 0, 0])
    Fluid(1025.0, current=[0.3, 0.0, 0.0])
    """

    def __init__(self, density: float, current: Any = (0.0, 0.0, 0.0)) -> None:
        reader = FieldReader("fluid")
        #: kg/m^3
        self.density = reader.non_negative("density", density, "bad-density")
        #: (3,) array, m/s
        self.current = reader.array("current", current, (3,), "give its velocity in the inertial frame, as [0.3, 0, 0]")
        if self.density == 0.0 and self.current.any():
            advice = "give the fluid's density, 1000.0 for water, 1.2 for air"
            reader.report("current-without-fluid", "current", current, "no current where there is no fluid", advice)
        if reader.findings:
            raise ModelError(reader.findings)

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return density and current by name, with units."""
        current = {f"current.{axis}": (float(x), "m/s") for axis, x in zip("xyz", self.current, strict=True)}
        return {"density": (float(self.density), "kg/m^3")} | current

    def with_parameter(self, name: str, value: Any) -> Fluid:
        """Return a fluid with one of its numbers changed.

        Parameters
        ----------
        name : str
            As in `parameters`.
        value : float or complex
        """
        changed = Fluid.__new__(Fluid)
        changed.density, changed.current = self.density, self.current
        if name == "density":
            changed.density = value
        else:
            changed.current = replace_entry(self.current, "xyz".index(name[-1]), value)
        return changed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fluid) and self.density == other.density and np.array_equal(self.current, other.current)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        current = f", current={self.current.tolist()}" if self.current.any() else ""
        return f"Fluid({self.density}{current})"


def read_fluid(block: Any, field: str, value: Any) -> Fluid | None:
    """Read a fluid, or None."""
    if value is None or isinstance(value, Fluid):
        return value
    block.reader.report("wrong-type", field, value, "a tt.Fluid", "write fluid=tt.Fluid(1000.0)")
    return None
