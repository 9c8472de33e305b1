"""Planar mechanisms of one degree of freedom in closed form, in as many digits as it takes: an oracle of the tests.

With theta the angle of the crank and ``q(theta)`` all coordinates, virtual work says ``sum tau_j q_j' = I theta'' + I' w^2 / 2
+ V'``, where I is the sum of ``m c'^2 + J phi'^2`` over the bodies, and V their weight. Dashes are derivatives by theta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

import titop as tt
from tests.closed_systems import LENGTHS, MASSES
from tests.closed_systems import four_bar as linkage
from tests.systems import Array

#: Digits, and the step of central differences: each takes 18 digits, three in turn leave 46, and the square of the step is off.
DIGITS, STEP = 100, mp.mpf(10) ** -18


class Planar(NamedTuple):
    """A mechanism: its system, and its coordinates and what its weight and inertia follow from as functions of theta.

    Attributes
    ----------
    system : tt.System
    coordinates : callable
        From theta to all coordinates.
    bodies : callable
        From theta to rows of mass, moment of inertia, x, y (of the centre of mass) and angle.
    """

    system: tt.System
    coordinates: Callable[[Any], list[Any]]
    bodies: Callable[[Any], list[tuple[Any, ...]]]


class State(NamedTuple):
    """A state (nv each) of a motion along which all is consistent, with the efforts that are given."""

    q: Array
    v: Array
    a: Array
    tau: Array


def slope(function: Callable[[Any], list[Any]], x: Any) -> list[Any]:
    """Return the derivative of a function of a number to a list."""
    ahead, behind = function(x + STEP), function(x - STEP)
    return [(one - other) / (2 * STEP) for one, other in zip(ahead, behind, strict=True)]


def expansion(planar: Planar, theta: Any, order: int) -> list[list[Any]]:
    """Return the derivatives of all coordinates by theta, from the values to those of an order."""

    def derivative(x: Any, n: int) -> list[Any]:
        return slope(lambda y: derivative(y, n - 1), x) if n else planar.coordinates(x)

    return [derivative(theta, n) for n in range(order + 1)]


def needed(planar: Planar, theta: Any, rate: Any, second: Any, gravity: float = 9.81) -> Any:
    """Return ``I theta'' + I' w^2 / 2 + V'``, the generalised effort along theta."""
    masses = [row[:2] for row in planar.bodies(theta)]

    def places(x: Any) -> list[Any]:
        return [number for row in planar.bodies(x) for number in row[2:]]

    def inertia(x: Any) -> list[Any]:
        rates = slope(places, x)
        return [
            sum(m * (rates[3 * k] ** 2 + rates[3 * k + 1] ** 2) + j * rates[3 * k + 2] ** 2 for k, (m, j) in enumerate(masses))
        ]

    lifted = sum(mass * gravity * rate for (mass, _), rate in zip(masses, slope(places, theta)[1::3], strict=True))
    return inertia(theta)[0] * second + slope(inertia, theta)[0] * rate**2 / 2 + lifted


def hybrid(planar: Planar, theta: Any, rate: Any, second: Any, tau: Sequence[float], prescribed: int) -> tuple[State, Any]:
    """Return a state that moves with theta'' = `second`, and the effort on the `prescribed` coordinate beside the others."""
    with mp.workdps(DIGITS):
        theta, rate, second = mp.mpf(theta), mp.mpf(rate), mp.mpf(second)
        q, by, twice = expansion(planar, theta, 2)
        v, a = [x * rate for x in by], [x * second + y * rate**2 for x, y in zip(by, twice, strict=True)]
        others = sum(mp.mpf(effort) * x for j, (effort, x) in enumerate(zip(tau, by, strict=True)) if j != prescribed)
        effort = (needed(planar, theta, rate, second) - others) / by[prescribed]
        return State(*(np.array([float(x) for x in row]) for row in (q, v, a)), np.array(tau, float)), effort


def slider_crank(turned: float = 0.0, geared: bool = False, r: float = 0.3, length: float = 0.8) -> Planar:
    """Return a crank, a rod and a block on a slide, all of it `turned` about z (rad); coordinates crank, pin, slide.

    A `geared` one has a flywheel too, which turns minus three times as fast as the crank.
    """
    s = tt.System("slider-crank", gravity=[0, -9.81, 0])
    slender = [0.001, 0.01, 0.01]
    crank = tt.RigidBody("c", 1.0, com=[r / 2, 0, 0], inertia=slender, ports={"e": [r, 0, 0]})
    rod = tt.RigidBody("k", 1.5, com=[length / 2, 0, 0], inertia=[0.001, 0.05, 0.05], ports={"e": [length, 0, 0]})
    block = tt.RigidBody("p", 2.0)
    cos, sin = np.cos(turned), np.sin(turned)
    base = tt.Pose(rotation=[[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    s.connect("world", crank, tt.Revolute("crank"), placement=base)
    s.connect(crank.port("e"), rod, tt.Revolute("pin"))
    s.connect("world", block, tt.Prismatic("slide", axis=[1, 0, 0]), placement=base)
    if geared:
        s.connect("world", tt.RigidBody("f", 0.7, inertia=0.02), tt.Revolute("wheel"))
        s.add_gear(tt.Gear("mesh", driver="crank", driven="wheel", ratio=-3.0))
    s.close_loop(rod.port("e"), block, tt.RigidClosure("w", directions=np.eye(6)[:, :2]))

    def coordinates(x: Any) -> list[Any]:
        down = mp.asin(-r * mp.sin(x) / length)
        return [x, down - x, r * mp.cos(x) + length * mp.cos(down), *([-3 * x] if geared else [])]

    def bodies(x: Any) -> list[tuple[Any, ...]]:
        down = mp.asin(-r * mp.sin(x) / length)
        places = [
            (r / 2 * mp.cos(x), r / 2 * mp.sin(x)),
            (r * mp.cos(x) + length / 2 * mp.cos(down), r * mp.sin(x) + length / 2 * mp.sin(down)),
            (r * mp.cos(x) + length * mp.cos(down), mp.mpf(0)),
        ]
        c, d = mp.cos(mp.mpf(turned)), mp.sin(mp.mpf(turned))
        whole = [(c * px - d * py, d * px + c * py) for px, py in places]
        rows = zip((1.0, 1.5, 2.0), (0.01, 0.05, 0.0), whole, (x, down, mp.mpf(0)), strict=True)
        wheel = [(0.7, 0.02, mp.mpf(0), mp.mpf(0), -3 * x)] if geared else []
        return [*((mass, moment, *place, angle) for mass, moment, place, angle in rows), *wheel]

    return Planar(s, coordinates, bodies)


def four_bar() -> Planar:
    """Return the four-bar linkage of `tests.closed_systems`, theta the crank's angle.

    Where that is zero, crank and ground are in line, and the angle between coupler and rocker, the last coordinate, turns back.
    """
    ground, crank, coupler, rocker = (mp.mpf(x) for x in LENGTHS)

    def angles(x: Any) -> tuple[Any, Any, Any]:
        """Return the absolute angles of crank, coupler and rocker."""
        tip = crank * mp.cos(x), crank * mp.sin(x)
        to = ground - tip[0], -tip[1]
        span = mp.sqrt(to[0] ** 2 + to[1] ** 2)
        second = mp.atan2(to[1], to[0]) + mp.acos((span**2 + coupler**2 - rocker**2) / (2 * span * coupler))
        end = tip[0] + coupler * mp.cos(second), tip[1] + coupler * mp.sin(second)
        return x, second, mp.atan2(-end[1], ground - end[0])

    def coordinates(x: Any) -> list[Any]:
        first, second, third = angles(x)
        return [first, second - first, third - second]

    def bodies(x: Any) -> list[tuple[Any, ...]]:
        rows, at = [], (mp.mpf(0), mp.mpf(0))
        for angle, length, mass in zip(angles(x), (crank, coupler, rocker), MASSES[1:], strict=True):
            own = length * mp.cos(angle), length * mp.sin(angle)
            moment = mp.mpf(mass) * length**2 / 12
            rows.append((mass, moment, at[0] + own[0] / 2, at[1] + own[1] / 2, angle))
            at = at[0] + own[0], at[1] + own[1]
        return rows

    pin = tt.RigidClosure("pin", directions=np.eye(6)[:, :2])
    return Planar(linkage(pin), coordinates, bodies)
