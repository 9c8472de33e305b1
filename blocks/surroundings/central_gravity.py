"""Gravity of a planet: that of a point mass, and of its oblateness."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.fields import Field, axis, scalar
from titop.blocks.surroundings.gravity_field import GravityField


class CentralGravity(GravityField):
    """Gravity of a central body, ``System(gravity=tt.CentralGravity(...))``: the world's origin is the body's centre.

    The world is inertial. Every body is pulled at its own place, and turned by the gradient of gravity over it.

    Parameters
    ----------
    mu : float, m^3/s^2
        The gravitational parameter.
    radius : float, m
        The equatorial radius, to which `j2` belongs. Simulations in which a body is inside are refused.
    j2 : float
        The oblateness J2.
    axis : array_like (3,)
        The axis of the oblateness, from pole to pole.

    Notes
    -----
    With r the distance from the centre, and z the height above the equator, minus the potential energy of a unit of mass is
    ``mu/r (1 - j2 (radius/r)^2 (3 z^2/r^2 - 1)/2)`` (Vallado, Fundamentals of Astrodynamics and Applications, chapter 8).
    The parameters of the model are ``gravity.mu``, ``gravity.radius``, ``gravity.j2`` and ``gravity.axis.x``, ``.y``, ``.z``.

    Wrong values are reported when the system is resolved.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> earth = tt.CentralGravity(3.986004418e14, 6378136.3, j2=1.0826e-3)
    >>> s = tt.System("satellite", gravity=earth)
    >>> s.connect("world", tt.RigidBody("hub", mass=100.0, inertia=[10, 20, 15]), tt.Free("base"))
    >>> m = s.resolve(engine="reference")
    >>> q = m.configuration({"base": [7e6, 0, 0, 0, 0, 0, 1]})
    >>> m.forward_dynamics(q, m.velocity({}))[:3].round(6).tolist()
    [-8.14567, 0.0, 0.0]
    """

    parameter_units: ClassVar[dict[str, str]] = {"mu": "m^3/s^2", "radius": "m", "j2": "1", "axis": "1"}
    mu = Field(scalar)
    radius = Field(scalar)
    j2 = Field(scalar)
    axis = Field(axis)

    def __init__(self, mu: float, radius: float, j2: float = 0.0, axis: Any = (0.0, 0.0, 1.0)) -> None:
        super().__init__()
        self.mu, self.radius, self.j2, self.axis = mu, radius, j2, axis

    def field_numbers(self) -> Array:
        square = self.radius * self.radius
        north = self.axis / np.sqrt(self.axis @ self.axis)
        return np.concatenate([[self.mu, 0.5 * self.mu * self.j2 * square], north, np.zeros(3), [square]])

    def __repr__(self) -> str:
        return f"CentralGravity({self.mu}, {self.radius}, j2={self.j2}, axis={self.axis.tolist()})"

    def over_ground(self, positions: Array) -> Array:
        heights: Array = np.linalg.norm(positions, axis=-1) - self.radius
        return heights

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for name, what in (("mu", "gravitational parameter"), ("radius", "radius")):
            value = getattr(self, name)
            if not errors and not value > 0:
                advice = "check sign and unit: the earth has 3.986e14 m^3/s^2 and 6.378e6 m"
                errors.append(Finding(f"no-{name}", f"{self.name}.{name}", value, f"a {what} > 0", advice))
        return errors, warnings
