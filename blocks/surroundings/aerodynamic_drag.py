"""Drag of the thin air in low orbits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field, bound, non_negative, scalar, vector
from titop.blocks.contract.law import Law
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.laws.vectors import cross3, dot3, times, transposed
from titop.blocks.surroundings.facets import Facet, OnFacets, press
from titop.blocks.surroundings.inertial_places import PLACE, inertial_place

#: An exponential law holds for about so many scale heights to both sides: there the density is a hundredth, or a hundredfold.
_VALID = 5.0


def drag_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the wrenches of the air; see `AerodynamicDrag.law_numbers`."""
    o = PLACE
    wind, turning = (numbers[o + 5], numbers[o + 6], numbers[o + 7]), (numbers[o + 8], numbers[o + 9], numbers[o + 10])
    for k in range(1, len(motion.R)):
        place, turn = inertial_place(numbers, 0, motion, k)
        V, carried = motion.V[k], cross3(turning, place)
        density = numbers[o] * np.exp((numbers[o + 1] - np.sqrt(dot3(place, place))) * numbers[o + 2])
        v = (numbers[12] - wind[0] - carried[0], numbers[13] - wind[1] - carried[1], numbers[14] - wind[2] - carried[2])
        v, w = times(transposed(turn), v), times(transposed(turn), turning)
        v, w = (V[0] + v[0], V[1] + v[1], V[2] + v[2]), (V[3] - w[0], V[4] - w[1], V[5] - w[2])
        shares = density * numbers[o + 3], 0.0, density * numbers[o + 4], 0.0, 0.0
        press(numbers, o + 11, k, v, w, shares, loads)


#: Its machine code is kept once, for all of these.
DRAG_LAW = Law(drag_loads)


class AerodynamicDrag(OnFacets):
    """Drag on facets in an atmosphere whose density falls exponentially, in free molecular flow.

    ``s.add_interaction(tt.AerodynamicDrag("drag", facets, 2.8e-12, 60e3, 400e3, 6.378e6))`` connects it to the ports of the
    facets.

    Parameters
    ----------
    name : str
    facets : list of Facet
        Facets do not shade each other.
    density : float, kg/m^3
        At the reference altitude.
    scale_height : float, m
        By which the density falls to 1/e; infinite, and no parameter, for the same density everywhere.
    altitude : float, m
        The reference altitude.
    radius : float, m
        Of the planet, from which altitudes count.
    drag_coefficient : float
        Of a facet against the flow, for molecules that stay for a while: 2 if they leave slowly, 2.2 to 2.5 of most satellites.
    accommodation : float
        Part of the molecules that stay for a while; the others are reflected as by a mirror.
    wind : array_like (3,), m/s
        Of the air, in the planet's inertial frame, beside its rotation.
    rotation : array_like (3,), rad/s
        With which the air turns about the planet's centre, in the inertial frame: with the earth (0, 0, 7.292e-5).

    Raises
    ------
    ModelError
        When the model is built: for wrong facets, a negative density, a scale height of zero, and an accommodation outside 0
        to 1.

    Warns
    -----
    ModelWarning
        By `simulate`, for a start more than five scale heights from the reference altitude.

    Notes
    -----
    A facet of area A and normal n, whose centre moves through the air with the velocity v, has the force

        -density A c (accommodation drag_coefficient/2 v + 2 (1 - accommodation) c n)         c = n . v > 0

    none for c < 0: Maxwell's surface in the limit of air much slower than the satellite (Storch, Aerodynamic Disturbances on
    Spacecraft in Free-Molecular Flow, SMC-TR-03-06, 2002, of equal coefficients of accommodation). A sphere of radius r thus
    has the drag coefficient ``2 + accommodation (drag_coefficient - 2)``. The density is that at the port, the velocity that at
    the centre of the facet, so that turning is damped. The force has a kink at c = 0, for which steps of simulations are not
    cut short; linear models there take the slope of the lee side.

    Positions count from the planet's centre: the world's origin, without an `Orbit`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("plate", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", mass=10.0, inertia=1.0)
    >>> s.connect("world", hub, tt.Free("base"))
    >>> s.add_interaction(tt.AerodynamicDrag("drag", [tt.Facet(hub, 2.0, [1, 0, 0])], 1e-12, 60e3, 400e3, 6.378e6))
    >>> m = s.resolve(engine="reference")
    >>> q, v = m.configuration({"base": [6.778e6, 0, 0, 0, 0, 0, 1]}), m.velocity({"base": [7600, 0, 0, 0, 0, 0]})
    >>> m.forward_dynamics(q, v)[:3].round(12).tolist()  # 1e-12 2 7600^2 / 10 kg
    [-1.1552e-05, 0.0, 0.0]
    """

    compiled_law = DRAG_LAW
    parameter_units: ClassVar = {
        **{"density": "kg/m^3", "scale_height": "m", "altitude": "m", "radius": "m"},
        **{"drag_coefficient": "1", "accommodation": "1", "wind": "m/s", "rotation": "rad/s"},
    }
    density = Field(non_negative("negative-density"))
    scale_height = Field(bound)
    altitude = Field(scalar)
    radius = Field(non_negative("negative-radius"))
    drag_coefficient = Field(non_negative("negative-drag"))
    accommodation = Field(scalar)
    wind = Field(vector)
    rotation = Field(vector)

    def __init__(
        self,
        name: str,
        facets: Iterable[Facet],
        density: float,
        scale_height: float,
        altitude: float,
        radius: float,
        drag_coefficient: float = 2.0,
        accommodation: float = 1.0,
        wind: Any = (0.0, 0.0, 0.0),
        rotation: Any = (0.0, 0.0, 0.0),
    ) -> None:
        super().__init__(name, facets)
        self.density, self.scale_height, self.altitude, self.radius = density, scale_height, altitude, radius
        self.drag_coefficient, self.accommodation = drag_coefficient, accommodation
        self.wind, self.rotation = wind, rotation

    def law_numbers(self) -> Array:
        """Return the world's place; density, distance, inverse height, two factors, wind, rotation of the air; the facets."""
        stays = self.accommodation
        air = [self.density, self.radius + self.altitude, 1.0 / self.scale_height, stays * self.drag_coefficient / 2]
        return np.concatenate([self.place, air, [2.0 * (1.0 - stays)], self.wind, self.rotation, self._rows()])

    def parameter_fields(self) -> ParameterFields:
        fields = super().parameter_fields()
        if not np.isfinite(self.scale_height):  # as all parameters are
            del fields["scale_height"]
        return fields

    def along_time(self) -> Iterator[Finding]:
        return super().along_time() if self.wind.any() or self.rotation.any() else iter(())

    def doubts(self, motion: TargetMotion) -> Iterator[Finding]:
        for k in range(1, len(motion.R)):
            height = float(np.linalg.norm(inertial_place(self.place, 0, motion, k)[0])) - self.radius
            if abs(height - self.altitude) > _VALID * self.scale_height:
                low, high = (self.altitude + way * _VALID * self.scale_height for way in (-1, 1))
                expected = f"{low / 1e3:.6g} to {high / 1e3:.6g} km, about the reference altitude"
                advice = "give density and scale height of the orbit's altitude"
                yield Finding("outside-atmosphere", self.name, f"an altitude of {height / 1e3:.6g} km", expected, advice)
                return

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not self.scale_height > 0:
            advice = "the earth's air has 60 km at an altitude of 400 km; np.inf is the same density everywhere"
            errors.append(Finding("no-height", f"{self.name}.scale_height", self.scale_height, "a height > 0", advice))
        if not 0 <= self.accommodation <= 1:
            expected, advice = "0 to 1", "give the part of the molecules that stay for a while"
            errors.append(Finding("bad-share", f"{self.name}.accommodation", self.accommodation, expected, advice))
        return errors, warnings
