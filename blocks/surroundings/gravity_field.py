"""Fields of gravity that differ from place to place: what a `System` takes as ``gravity`` in place of a uniform vector."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, axis, positive, scalar
from titop.blocks.laws.central_field import field_acceleration, field_gradient, field_potential

#: The name of a system's field among its blocks: that of its parameters, as ``"gravity.mu"``.
GRAVITY = "gravity"
#: How many numbers a field is.
FIELD_NUMBERS = 9
#: Advice for numbers of a planet.
_EARTH = "check sign and unit: the earth has 3.986e14 m^3/s^2 and 6.378e6 m"


class GravityField(Block):
    """Common part of the fields of gravity. A field is a block without ports, named ``"gravity"``: its numbers are parameters.

    Positions are from the world's origin, in the world's axes; what is returned is in these axes too. Complex positions are
    allowed.
    """

    file_tables: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(GRAVITY)

    @property
    def words(self) -> str:
        """What it is called in texts and pictures."""
        return "gravity of a central body"

    @property
    def place(self) -> tuple[Array, Array]:
        """The world's axes (3, 3; as columns) and origin (3, m) in inertial axes through the planet's centre."""
        return np.eye(3), np.zeros(3)

    @property
    def velocity(self) -> Array:
        """The velocity (3, m/s) of the world's origin, in the same axes."""
        return np.zeros(3)

    @property
    def turning(self) -> Array:
        """The angular velocity (3, rad/s) of the world, and its derivative (3, rad/s^2), in its own axes."""
        return np.zeros(6)

    def along_time(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong, and what is suspicious, with motions over some time in this field."""
        return [], []

    def field_numbers(self) -> Array:
        """Return the numbers (9; m^3/s^2, m^5/s^2, 1, m, m^2) of `titop.blocks.laws.central_field`, but whether r0 is zero."""
        raise NotImplementedError

    def acceleration(self, position: Array) -> Array:
        """Return g (3, m/s^2) at a `position` (3, m), seen from the world's origin: less that there, if this falls freely."""
        return np.array(field_acceleration(self.as_law, tuple(position)))

    def gradient(self, position: Array) -> Array:
        """Return the gradient of g (3, 3; 1/s^2) at a `position` (3, m): symmetric and free of trace."""
        (xx, yy, zz, xy, xz, yz), _ = field_gradient(self.as_law, tuple(position), (0.0,) * 6)
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def potential(self, position: Array) -> Any:
        """Return minus the potential energy of a unit of mass (J/kg) at a `position` (3, m): its gradient is g."""
        return field_potential(self.as_law, tuple(position))

    @property
    def as_law(self) -> tuple[Any, ...]:
        """The field as `titop.blocks.laws.central_field` takes it."""
        mu, k, x, y, z, *r0, square = self.field_numbers().tolist()
        return mu, k, (x, y, z), tuple(r0), square, any(r0)

    def over_ground(self, positions: Array) -> Array:
        """Return the heights (n, m) of `positions` (n, 3; m) above the planet's sphere, or that of one (3)."""
        raise NotImplementedError


def gravity_words(gravity: Any) -> str:
    """Return in words what the gravity of a system is."""
    return gravity.words if isinstance(gravity, GravityField) else f"gravity [{', '.join(f'{x:.4g}' for x in gravity)}] m/s²"


def read_gravity(system: Any, field: str, value: Any) -> Any:
    """Read a uniform field (3, m/s^2), or one that differs from place to place."""
    if isinstance(value, GravityField):
        return value
    return system.reader.array(field, value, (3,), "give three numbers in m/s^2, a tt.CentralGravity or a tt.Orbit")


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
    mu = Field(positive("no-mu", "a gravitational parameter > 0", _EARTH))
    radius = Field(positive("no-radius", "a radius > 0", _EARTH))
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
