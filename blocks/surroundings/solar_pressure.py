"""Pressure of sunlight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.fields import Field, axis, non_negative
from titop.blocks.contract.law import Law
from titop.blocks.joints.joint import unit_vector
from titop.blocks.laws.vectors import dot3, times, transposed
from titop.blocks.surroundings.facets import Facet, OnFacets, press
from titop.blocks.surroundings.inertial_places import PLACE, inertial_place

#: The sun's radius over its distance from the earth.
_SUN = 6.957e8 / 1.495978707e11


def sunlit_part(place: Any, sun: Any, radius: Any) -> Any:
    """Return which part of the sun's disc is seen at a place (3, m), beside a planet of a `radius` (m); `sun` is a unit vector.

    The planet's rim is straight before the sun's disc.
    """
    ahead = dot3(place, sun)
    if np.real(radius) == 0.0:
        return 0.0 * ahead + 1.0
    aside = dot3(place, place) - ahead * ahead
    aside = np.sqrt(select(aside.real > 0.0, aside, 0.0 * aside))
    behind = select(ahead.real < 0.0, -_SUN * ahead, 0.0 * ahead + 1.0)
    above = (aside - radius) / behind  # of the rim by the middle of the sun, in radii of the sun
    within = select(above.real * above.real < 1.0, above, 0.0 * above)
    seen = 0.5 + (np.arcsin(within) + within * np.sqrt(1.0 - within * within)) / np.pi
    seen = select(above.real <= -1.0, 0.0 * seen, select(above.real >= 1.0, 0.0 * seen + 1.0, seen))
    return select(ahead.real < 0.0, seen, 0.0 * seen + 1.0)


def solar_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the wrenches of sunlight; see `SolarPressure.law_numbers`."""
    o = PLACE
    sun = numbers[o + 2], numbers[o + 3], numbers[o + 4]
    for k in range(1, len(motion.R)):
        place, turn = inertial_place(numbers, 0, motion, k)
        pressure = numbers[o] * sunlit_part(place, sun, numbers[o + 1])
        shares = pressure, -pressure, 0.0, 2.0 * pressure, pressure * (2.0 / 3.0)
        press(numbers, o + 5, k, times(transposed(turn), sun), (0.0, 0.0, 0.0), shares, loads)


#: Its machine code is kept once, for all of these.
SOLAR_LAW = Law(solar_loads)


class SolarPressure(OnFacets):
    """Pressure of sunlight on facets, outside the shadow of a planet.

    ``s.add_interaction(tt.SolarPressure("sunlight", facets, [1, 0, 0], radius=6.378e6))`` connects it to the ports of the
    facets.

    Parameters
    ----------
    name : str
    facets : list of Facet
        Facets do not shade each other, and light that they reflect does not hit others.
    sun : array_like (3,)
        Direction to the sun in the planet's inertial frame; of any length.
    pressure : float, N/m^2
        Of the light on a plate that absorbs it: 4.56e-6 at the earth's distance from the sun.
    radius : float, m
        Of the planet that shades; zero for none.

    Raises
    ------
    ModelError
        When the model is built: for wrong facets, a direction of zeros, negative pressures and radii.

    Notes
    -----
    A facet of area A and normal n, with the direction s to the sun, has the force

        -P A c ((1 - specular) s + 2 (specular c + diffuse/3) n)         c = n . s > 0

    none for c < 0 (Wertz, Spacecraft Attitude Determination and Control, section 17.2). P is `pressure`, times the part of
    the sun's disc that the planet leaves uncovered at the port: its rim, straight before the disc, is a height h above the line
    to the middle of the sun, in radii of the disc, which is as wide as seen from the earth::

        1/2 + (asin x + x sqrt(1 - x^2))/pi,   x = -h from -1 to 1

    This is the penumbra's cone; near the apex of the umbra, 1.4e6 km behind the earth, it does not hold. The force has a kink
    at c = 0, for which steps of simulations are not cut short; linear models there take the slope of the dark side.

    Positions count from the planet's centre: the world's origin, without an `Orbit`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("sail", gravity=[0, 0, 0])
    >>> sail = tt.RigidBody("sail", mass=10.0, inertia=100.0)
    >>> s.connect("world", sail, tt.Free("base"))
    >>> s.add_interaction(tt.SolarPressure("sunlight", [tt.Facet(sail, 100.0, [1, 0, 0], specular=1.0)], [1, 0, 0]))
    >>> m = s.resolve(engine="reference")
    >>> m.forward_dynamics(m.neutral(), m.velocity({}))[:3].round(9).tolist()  # twice the pressure
    [-9.12e-05, 0.0, 0.0]
    """

    compiled_law = SOLAR_LAW
    parameter_units: ClassVar = {"sun": "1", "pressure": "N/m^2", "radius": "m"}
    sun = Field(axis)
    pressure = Field(non_negative("negative-pressure"))
    radius = Field(non_negative("negative-radius"))

    def __init__(self, name: str, facets: Iterable[Facet], sun: Any, pressure: float = 4.56e-6, radius: float = 0.0) -> None:
        super().__init__(name, facets)
        self.sun, self.pressure, self.radius = sun, pressure, radius

    def law_numbers(self) -> Array:
        """Return the world's place, pressure, radius of the planet, direction to the sun, and the facets."""
        return np.concatenate([self.place, [self.pressure, self.radius], unit_vector(self.sun), self._rows()])
