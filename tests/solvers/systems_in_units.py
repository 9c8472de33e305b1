"""A dozen systems, one of each kind, built in any units of length, mass and time; with states that suit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import titop as tt
from tests.solvers.scaled_systems import Units, linkage
from tests.systems import Array


class Built(NamedTuple):
    """A system, and a state of it in SI units by name: positions, rates; what else trims and linear models need."""

    system: tt.System
    q: dict[str, Any]
    v: dict[str, Any]
    options: Mapping[str, Any] = MappingProxyType({})


def fall(u: Units, *direction: float) -> Array:
    return 9.81 * u.of("m/s^2") * np.array(direction or (0.0, 0.0, -1.0))


def at(u: Units, *place: float) -> Array:
    return u.length * np.array(place)


def solid(u: Units, name: str, mass: float, *moments: float, com: Any = (0.05, 0.02, -0.04), **ports: Any) -> tt.RigidBody:
    inertia = np.array(moments or (0.02, 0.03, 0.04)) * mass * u.of("kg m^2")
    places = {port: at(u, *place) for port, place in ports.items()}
    return tt.RigidBody(name, mass * u.mass, at(u, *com), inertia, places)


def arm(u: Units) -> Built:
    """A tree of all elementary joints, with springs, dampers, friction and a load."""
    s = tt.System("arm", gravity=fall(u))
    torque, damper = {"stiffness": 3.0 * u.of("N m/rad")}, 0.2 * u.of("N m s/rad")
    cart = solid(u, "cart", 2.0)
    friction = tt.Friction(0.7 * u.of("N"), stribeck_velocity=0.01 * u.of("m/s"), smoothing=0.001 * u.of("m/s"))
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=40.0 * u.of("N/m"), friction=friction))
    s.connect(cart, solid(u, "upper", 1.0, C=[0.3, 0, 0]), tt.Revolute("hinge", axis=[0, 1, 0], damping=damper, **torque))
    bent = tt.Pose(at(u, 0.3, 0.0, 0.1))
    s.connect(s["upper"], solid(u, "fore", 0.7, C=[0.4, 0, 0]), tt.Spherical("ball", damping=damper, **torque), placement=bent)
    screw = tt.Screw("screw", axis=[0, 0, 1], pitch=0.02 * u.of("m/rad"), stiffness=2.0 * u.of("N m/rad"))
    s.connect(s["fore"].port("C"), solid(u, "nut", 0.3), screw)
    s.add_load(tt.Load("weight", s["nut"], force=np.array([0.5, 0.2, -1.0]) * u.of("N"), frame="world"))
    s.add_actuator(tt.Motor("motor", "hinge", gear=3.0, rotor_inertia=0.002 * u.of("kg m^2")))
    q = {"rail": 0.2, "hinge": 0.4, "screw": 0.3}
    return Built(s, q, {"rail": 0.3, "hinge": -0.5, "ball.rx": 0.2, "screw": 1.0})


def satellite(u: Units) -> Built:
    """A free base with a wheel and a flexible panel by frequencies."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = solid(u, "hub", 100.0, 0.3, 0.25, 0.35, A=[0.5, 0, 0], W=[0, 0, 0.2])
    s.connect("world", hub, tt.Free("base"))
    root = np.sqrt(u.mass)
    participation = np.array([[0.0, 0.0, 1.2, 0.0, -2.1, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 1.4]])
    participation = participation * root * np.array([1.0] * 3 + [u.length] * 3)
    panel = tt.FlexibleBody(
        "panel", 6.0 * u.mass, at(u, 1.0, 0, 0), np.array([0.2, 2.0, 2.1]) * u.of("kg m^2"),
        frequencies=np.array([3.0, 7.0]) / u.time, participation=participation, damping_ratios=0.01,
    )  # fmt: skip
    s.connect(hub.port("A"), panel, tt.Revolute("drive", axis=[1, 0, 0], stiffness=5.0 * u.of("N m/rad")))
    wheel = tt.RigidBody("wheel", 2.0 * u.mass, inertia=np.array([0.01, 0.01, 0.02]) * u.of("kg m^2"))
    s.connect(hub.port("W"), wheel, tt.Revolute("shaft", axis=[0, 0, 1]))
    s.add_actuator(tt.Thruster("jet", hub.port("W"), direction=[1, 0, 0]))
    s.add_sensor(tt.Gyro("gyro", hub))
    q = {"base": [0.3, -0.2, 0.4, 0.1, 0.2, -0.3, np.sqrt(0.86)], "drive": 0.3}
    return Built(s, q, {"base.rx": 0.02, "base.y": 0.1, "shaft": 30.0, "drive": 0.1})


def closed_linkage(u: Units) -> Built:
    """A four-bar with redundant constraints."""
    return Built(linkage(u), {"A": 1.0, "B": -0.6, "D": 1.2}, {"A": 2.0}, {"fixed": ["A"]})


def geared_linkage(u: Units) -> Built:
    """The same, whose crank drives a wheel too."""
    return Built(linkage(u, geared=True), {"A": 1.0, "B": -0.6, "D": 1.2}, {"A": 2.0}, {"fixed": ["A"]})


def slider_crank(u: Units) -> Built:
    """Lengths among the coordinates of a loop."""
    s = tt.System("engine", gravity=fall(u, 0.0, -1.0, 0.0))
    crank, rod = (
        solid(u, name, 1.0, com=(0.5 * length, 0, 0), E=[length, 0, 0]) for name, length in (("crank", 0.3), ("rod", 0.8))
    )
    s.connect("world", crank, tt.Revolute("shaft", damping=0.5 * u.of("N m s/rad"), stiffness=4.0 * u.of("N m/rad")))
    s.connect(crank.port("E"), rod, tt.Revolute("pin"))
    s.connect("world", solid(u, "piston", 0.6), tt.Prismatic("bore", axis=[1, 0, 0], stiffness=30.0 * u.of("N/m")))
    s.close_loop(rod.port("E"), s["piston"], tt.RigidClosure("wrist", directions=np.eye(6)[:, :2]))
    return Built(s, {"shaft": 0.7, "pin": -0.9, "bore": 0.9}, {"shaft": 3.0}, {"fixed": ["shaft"]})


def beam(u: Units) -> Built:
    """A cantilever of modes with a tip mass on a soft hinge."""
    s = tt.System("cantilever", gravity=fall(u))
    area, second = 1e-3 * u.of("m^2"), 1e-7 * u.of("m^4")
    boom = tt.Beam("boom", u.length, 1e3 * u.of("kg/m^3"), area, 3e8 * u.of("Pa"), second, second, damping_ratio=0.01)
    s.connect("world", boom, tt.Revolute("root", axis=[0, 1, 0], stiffness=200.0 * u.of("N m/rad")))
    joint = tt.Revolute("end", axis=[0, 1, 0], stiffness=20.0 * u.of("N m/rad"), damping=0.1 * u.of("N m s/rad"))
    s.connect(boom.port("C"), solid(u, "tip", 0.6, com=(0.15, 0, 0)), joint)
    return Built(s, {"root": 0.1, "end": 0.2}, {"root": 0.3, "end": -0.4})


def rod(u: Units) -> Built:
    """A rod in water pulled by a tendon, with a tip mass."""
    s = tt.System("rod", gravity=fall(u))
    slender = tt.Rod(
        "rod", 0.5 * u.length, tt.Section.circle(0.01 * u.length), young=1e6 * u.of("Pa"), density=1100.0 * u.of("kg/m^3"),
        damping=300.0 * u.of("Pa s"), strains={"bending_y": 1, "bending_z": 1, "elongation": 0},
        fluid=tt.Fluid(1000.0 * u.of("kg/m^3")), drag={"normal": 1.1},
    )  # fmt: skip
    s.connect("world", slender, tt.Weld("clamp"))
    s.connect(slender.port("tip"), solid(u, "tip", 0.02, 1e-4, 1e-4, 1e-4, com=(0, 0, 0)), tt.Weld("glue"))
    s.add_interaction(tt.Tendon("tendon", slender, y=0.006 * u.length))
    return Built(
        s, {"rod.bending_y0": 0.2, "rod.bending_z0": -0.3}, {"rod.bending_y0": 0.5}, {"u": {"tendon.tension": 0.2 * u.of("N")}}
    )


def sprung(u: Units) -> Built:
    """A free body on a bushing, and a spring and damper between ports."""
    s = tt.System("mount", gravity=fall(u))
    s.world.add_port("eye", at(u, 0.5, 0.3, 0.6))
    s.connect("world", solid(u, "block", 3.0, E=[0.1, 0.1, 0.1]), tt.Free("base"))
    linear, angular = np.array([900.0, 800.0, 1200.0]) * u.of("N/m"), np.array([30.0, 40.0, 50.0]) * u.of("N m/rad")
    bushing = tt.CompliantClosure("bushing", np.diag([*linear, *angular]), np.diag([*linear, *angular]) * 0.01 * u.time)
    s.close_loop("world", s["block"], bushing)
    spring = tt.SpringDamper("spring", 50.0 * u.of("N/m"), 2.0 * u.of("N s/m"), length=0.4 * u.length)
    s.close_loop(s.world.port("eye"), s["block"].port("E"), spring)
    return Built(s, {"base.x": 0.01, "base.z": -0.02}, {"base.y": 0.1, "base.rz": 0.4})


def resting(u: Units) -> Built:
    """A ball on the floor, by Hertz's law, with friction, and a stop of a joint."""
    s = tt.System("floor", gravity=fall(u))
    ball = solid(u, "ball", 0.5, 0.004, 0.004, 0.004, com=(0, 0, 0))
    s.connect("world", ball, tt.Planar("base"), placement=tt.Pose([0, 0, 0], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]))
    law = {"stiffness": 1e4 * u.of("N/m^1.5"), "dissipation": 0.5 * u.of("s/m")}
    contact = tt.Contact("ground", 0.1 * u.length, friction=0.4, slip_velocity=1e-3 * u.of("m/s"), **law)
    s.close_loop("world", ball, contact)
    limits = tt.Limits(-0.2, 0.3, stiffness=50.0 * u.of("N m/rad"), dissipation=1.0 * u.of("s/rad"))
    s.connect(ball, solid(u, "flap", 0.1), tt.Revolute("stop", axis=[0, 1, 0], limits=limits, damping=0.05 * u.of("N m s/rad")))
    return Built(s, {"base.x": 0.1, "base.y": 0.095, "stop": 0.32}, {"base.x": 0.2, "base.y": -0.05, "base.theta": 0.3})


def winch(u: Units) -> Built:
    """A load on a cable from a drum."""
    s = tt.System("winch", gravity=fall(u))
    load = solid(u, "load", 2.0, com=(0, 0, 0))
    drum = tt.RigidBody("drum", u.mass, inertia=0.01 * u.of("kg m^2"))
    s.world.add_port("eye", at(u, 0, 0, 3))
    s.world.add_port("drum", at(u, 1, 0, 3))
    s.connect("world", load, tt.Prismatic("up", axis=[0, 0, 1]))
    hold = {"stiffness": 40.0 * u.of("N m/rad"), "damping": 0.1 * u.of("N m s/rad")}
    s.connect("world", drum, tt.Revolute("axle", axis=[0, 1, 0], **hold))
    cable = tt.Cable("cable", 1e3 * u.of("N/m"), 4.0 * u.length, 0.1 * u.of("s/m"), arms=[-0.1 * u.length])
    s.add_interaction(cable, s.world.port("drum"), s.world.port("eye"), load, "axle")
    return Built(s, {"up": -0.03, "axle": -0.02}, {"up": 0.1, "axle": 0.2})


class Lever(tt.Block):
    """A user's body whose functions lose imaginary parts: derivatives by differences. Its coordinate is a length."""

    coordinates, ports, units = ("sag",), ("C",), ("m",)

    def __init__(self, name: str, length: float, mass: float, stiffness: float) -> None:
        super().__init__(name)
        self.length, self.lump, self.stiffness = length, mass, stiffness

    def pose(self, port: str, q: Any) -> Any:
        s = np.real(q[0]) / self.length
        c = np.sqrt(1.0 - s * s)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), self.length * np.array([c, s, 0.0])

    def mass_matrix(self, q: Any) -> Any:
        s = np.real(q[0]) / self.length
        c = np.sqrt(1.0 - s * s)
        x, y = self.length * np.array([c, s])
        moves = np.array([[1, 0, 0, 0, 0, -y, -s / c], [0, 1, 0, 0, 0, x, 1], [0, 0, 1, y, -x, 0, 0]])
        turns = np.hstack([np.zeros((3, 3)), np.eye(3), [[0], [0], [1 / (self.length * c)]]])
        return self.lump * (moves.T @ moves + 0.1 * self.length**2 * turns.T @ turns)

    def elastic_energy(self, q: Any) -> Any:
        return 0.5 * self.stiffness * np.real(q[0]) ** 2


def lever(u: Units) -> Built:
    """A block in Python, between joints."""
    s = tt.System("lever", gravity=fall(u, 0.0, -1.0, 0.0))
    body = Lever("lever", 0.4 * u.length, 1.5 * u.mass, 300.0 * u.of("N/m"))
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=20.0 * u.of("N m/rad")))
    s.connect(body.port("C"), solid(u, "bob", 0.5), tt.Revolute("wrist", stiffness=5.0 * u.of("N m/rad")))
    return Built(s, {"hinge": 0.3, "lever": 0.05, "wrist": -0.2}, {"hinge": 0.5, "lever": 0.1})


class Lag(tt.Interaction):
    """A force on a rail that follows its command with a time constant."""

    port_counts, coordinate_counts = (0, 0), (1, 1)
    inputs, input_units, state_names, state_units = ("command",), ("N",), ("effort",), ("N",)

    def __init__(self, name: str, time: float) -> None:
        super().__init__(name)
        self.time = time

    def act(self, motion: Any) -> Any:
        return np.zeros((0, 6)), motion.x

    def state_rates(self, motion: Any) -> Any:
        return (motion.u - motion.x) / self.time


def lagging(u: Units) -> Built:
    """States of the first order: a drive with a lag on a cart with a pendulum."""
    s = tt.System("drive", gravity=fall(u, 0.0, -1.0, 0.0))
    cart = tt.RigidBody("cart", u.mass)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=3.0 * u.of("N/m"), damping=u.of("N s/m")))
    s.connect(cart, solid(u, "bob", 0.5, com=(0.1, -0.3, 0)), tt.Revolute("hinge", damping=0.05 * u.of("N m s/rad")))
    s.add_interaction(Lag("drive", 0.3 * u.time), "rail")
    return Built(s, {"rail": 0.1, "hinge": 0.4}, {"rail": 0.2, "hinge": -0.3}, {"u": {"drive.command": 0.5 * u.of("N")}})


SYSTEMS: dict[str, Callable[[Units], Built]] = {
    each.__name__: each
    for each in (
        arm, satellite, closed_linkage, geared_linkage, slider_crank, beam, rod, sprung, resting, winch, lever, lagging,
    )
}  # fmt: skip
