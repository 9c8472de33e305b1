"""A spring and a damper between two points."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.fields import Field, non_negative, scalar
from titop.blocks.interactions.interaction import Interaction, line_along, opposite_wrenches, relative_rates


class SpringDamper(Interaction):
    """A spring and a damper along the line between the origins of two ports, free to turn at both.

    Parameters
    ----------
    name : str
        Unique name in the system.
    stiffness : float, N/m
    damping : float, N s/m
    length : float, m
        Natural length.

    Notes
    -----
    The tension is ``stiffness (d - length) + damping dd/dt`` at the distance d. Where the ports coincide, up to rounding, no
    line is defined and nothing acts: a spring with a natural length must not be compressed to that point. One without is
    ``-stiffness r``, as smooth there as anywhere.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("hung", gravity=[0, 0, 0])
    >>> mass = tt.RigidBody("mass", mass=2.0)
    >>> s.connect("world", mass, tt.Prismatic("slide", axis=[1, 0, 0]))
    >>> s.close_loop("world", mass, tt.SpringDamper("spring", stiffness=10.0, length=1.0))
    >>> s.resolve().forward_dynamics([1.5], [0.0]).round(12).tolist()
    [-2.5]
    """

    parameter_units: ClassVar = {"stiffness": "N/m", "damping": "N s/m", "length": "m"}
    stiffness = Field(scalar)
    damping = Field(scalar)
    length = Field(non_negative("negative-length"))

    def __init__(self, name: str, stiffness: float = 0.0, damping: float = 0.0, length: float = 0.0) -> None:
        super().__init__(name)
        self.stiffness, self.damping, self.length = stiffness, damping, length

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        """Return the wrenches (6) on both ports, each in its port's frame."""
        _, along = line_along(r)
        rate = relative_rates(R, r, V1, V2)[0]
        pushed = self.stiffness * self.length - self.damping * (along @ rate)
        return opposite_wrenches(R, r, r, pushed * along - self.stiffness * r)

    def energy(self, R: Array, r: Array) -> Any:
        """Return the stored energy (J) at the relative pose ``(R, r)``."""
        return 0.5 * self.stiffness * (np.sqrt(r @ r) - self.length) ** 2

    def law_numbers(self) -> Array:
        """Return stiffness, damping and natural length."""
        return np.array([self.stiffness, self.damping, self.length])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the spring and what is suspicious."""
        errors, warnings = super().check()
        for field in ("stiffness", "damping"):
            if (value := getattr(self, field)) < 0:
                advice = "check the sign: the interaction feeds energy or is unstable"
                warnings.append(Finding(f"negative-{field}", f"{self.name}.{field}", value, "a number >= 0", advice))
        if not self.stiffness and not self.damping:
            advice = "give a stiffness, a damping or both"
            errors.append(Finding("empty-closure", self.name, "neither stiffness nor damping", "one of the two", advice))
        return errors, warnings
