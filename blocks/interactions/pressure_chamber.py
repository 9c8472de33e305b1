"""Pressure chambers in soft rods."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rods.dimensions import Dimension, read_dimension
from titop.blocks.contract.fields import Field, bound, refuse_change, switch
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.rod_line import RodLine


class PressureChamber(RodLine):
    """A slender chamber along a line in a soft rod, or in several in series, which pushes. Input: ``pressure``, Pa.

    `System.add_interaction` lets it act on its rods.

    Parameters
    ----------
    name : str
        Unique name in the system; the input is ``name.pressure``, what can be read ``name.volume`` and ``name.rate``.
    rods, y, z, relative, start, end, points
        Where its line runs; as for `Tendon`.
    area : float, pair of float or callable, m^2
        Of its section: a number, two at its start and end, or a function of X (m).
    max_pressure : float, Pa
        The input is between zero and this.
    suction : bool
        Whether the input may be negative, down to minus `max_pressure`.

    Notes
    -----
    Its volume is ``V = int A |dr/dX| dX`` along its line; a pressure p above that outside does ``p dV/dq`` on the coordinates.
    With the same area everywhere it is a tendon of the tension ``-p A``. Its walls do not widen: what they would store belongs
    to the rod.

    Examples
    --------
    >>> import titop as tt
    >>> rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"elongation": 0})
    >>> s = tt.System("bellows", gravity=[0, 0, 0])
    >>> s.connect("world", rod, tt.Weld("clamp"))
    >>> chamber = tt.PressureChamber("chamber", rod, area=1e-4, y=0.002)
    >>> s.add_interaction(chamber)
    >>> m = s.resolve(engine="reference")
    >>> longer = tt.trim(m, u={"chamber.pressure": 1e5}).q[0]  # p A L / (E A_rod)
    >>> round(float(longer), 9), round(1e5 * 1e-4 / (1e6 * 3.14159265359e-4), 9)
    (0.031830989, 0.031830989)
    """

    inputs = ("pressure",)
    input_units = ("Pa",)
    measured = "volume"
    needs_lever = False
    _dimension_units: ClassVar[dict[str, str]] = {"y": "m", "z": "m", "area": "m^2"}

    area = Field(lambda chamber, field, value: read_dimension(chamber.reader, field, value, "m^2"))
    upper = Field(bound, "max_pressure")
    max_pressure: float
    suction = Field(switch)

    def __init__(
        self,
        name: str,
        rods: Any,
        area: Any,
        y: Any = 0.0,
        z: Any = 0.0,
        relative: bool = False,
        start: float = 0.0,
        end: float | None = None,
        max_pressure: float = math.inf,
        suction: bool = False,
        points: int = 8,
    ) -> None:
        super().__init__(name, rods, y, z, relative, start, end, points)
        self.area, self.upper, self.suction = area, max_pressure, suction
        self._update()

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        """Whether a negative pressure is refused."""
        return not self.suction

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The least pressure (Pa)."""
        return -self.upper if self.suction else 0.0

    @lower.setter
    def lower(self, lower: Any) -> None:
        refuse_change(self, "lower", lower, "set suction and max_pressure, from which it follows")

    @property
    def _content(self) -> Dimension:
        return self.area

    def tension(self, motion: TargetMotion) -> Any:
        """Return minus the pressure (Pa)."""
        return -motion.u[0]

    def law_numbers(self) -> Array:
        """Return the path, without elasticity and arms."""
        return self._line_numbers(-1.0, (0.0, 0.0, 0.0), np.zeros(0))

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the chamber and what is suspicious."""
        errors, warnings = super().check()
        weights = np.concatenate([np.zeros(0), *(np.real(part.weights) for part in self.path.parts)])
        if not errors and weights.size and not (weights.min() >= 0 and weights.any()):
            found, advice = "a volume that is not positive", "check the sign and the unit"
            errors.append(Finding("bad-area", f"{self.name}.area", found, "areas >= 0, not all of them 0", advice))
        return errors, warnings
