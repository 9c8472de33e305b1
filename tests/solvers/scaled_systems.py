"""Systems in other units of length, mass and time."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import titop as tt
from tests.systems import Array


class Units(NamedTuple):
    """How many of the new units are a metre, a kilogram and a second."""

    length: float
    mass: float
    time: float

    @property
    def effort(self) -> float:
        return self.mass * self.length**2 / self.time**2

    def of(self, unit: str) -> float:
        """Return how many of the new units one of a unit such as ``"N m s/rad"`` or ``"N/m^1.5"`` is; radians are numbers."""
        force = self.mass * self.length / self.time**2
        names = {"m": self.length, "kg": self.mass, "s": self.time, "N": force, "J": force * self.length, "rad": 1.0}
        names |= {"Pa": force / self.length**2, "W": force * self.length / self.time, "sqrt": math.sqrt}
        return float(eval(unit.replace("^", "**").replace(" ", "*"), {}, names))


SI = Units(1.0, 1.0, 1.0)
UNITS = [Units(*each) for each in itertools.product([1e-6, 1e6], repeat=3)]


def bar(name: str, length: float, units: Units) -> tt.RigidBody:
    mass = 2.0 * length * units.mass
    about = mass * (length * units.length) ** 2 / 12
    ports = {"end": [length * units.length, 0, 0]}
    return tt.RigidBody(name, mass, [length / 2 * units.length, 0, 0], [0.01 * about, about, about], ports)


def linkage(units: Units, geared: bool = False) -> tt.System:
    """Return a four-bar with redundant constraints, springs and dampers; if geared, the crank drives a wheel too."""
    effort, damper = units.effort, {"damping": 0.1 * units.effort * units.time}
    s = tt.System("linkage", gravity=[0, -9.81 * units.length / units.time**2, 0])
    crank, coupler, rocker = (bar(name, length, units) for name, length in (("crank", 0.4), ("coupler", 1.1), ("rocker", 0.9)))
    s.connect("world", crank, tt.Revolute("A", **damper))
    s.connect(crank.port("end"), coupler, tt.Revolute("B", stiffness=0.3 * effort))
    s.connect("world", rocker, tt.Revolute("D"), placement=[1.2 * units.length, 0, 0])
    s.close_loop(coupler.port("end"), rocker.port("end"), tt.RigidClosure("C", "revolute"))
    if geared:
        wheel = tt.RigidBody("wheel", units.mass, inertia=0.2 * units.mass * units.length**2)
        s.connect("world", wheel, tt.Revolute("E", **damper))
        s.add_gear(tt.Gear("mesh", driver="A", driven="E", ratio=-2.0, offset=0.1))
    return s


def closed(m: tt.Model, units: Units) -> tuple[Array, Array]:
    """Return a closed state with the crank at 1 rad, turning at 2 rad/s."""
    q = m.assemble(m.configuration({"A": 1.0, "B": -0.6, "D": 1.2}), fixed=["A"])
    return q, m.assemble_velocity(q, m.velocity({"A": 2.0 / units.time}), fixed=["A"])


def pendulum_on_a_slider(units: Units) -> tt.Model:
    """Return a cart on a spring with a pendulum whose motor holds it up."""
    s = tt.System("cart", gravity=[0, -9.81 * units.length / units.time**2, 0])
    cart = tt.RigidBody("cart", units.mass)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=3.0 * units.mass / units.time**2))
    s.connect(cart, bar("rod", 0.5, units), tt.Revolute("hinge"))
    return s.resolve()
