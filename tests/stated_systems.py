"""Blocks and interactions with states of the first order, and systems of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import titop as tt

#: Directions that a hinge about y closes in a plane.
IN_PLANE = np.eye(6)[:, [0, 2]]


class Lag(tt.Interaction):
    """An effort that follows its command with a time constant T: ``dx/dt = (u - x) / T``."""

    port_counts, coordinate_counts = (0, 0), (1, 1)
    inputs, input_units, state_names, state_units = ("command",), ("N m",), ("effort",), ("N m",)
    parameter_units: ClassVar[dict[str, str]] = {"T": "s"}

    def __init__(self, name: str, T: float) -> None:
        super().__init__(name)
        self.T = self.reader.scalar("T", T)

    def act(self, motion: Any) -> Any:
        return np.zeros((0, 6)), motion.x

    def state_rates(self, motion: Any) -> Any:
        return (motion.u - motion.x) / self.T


def drag(numbers: Any, motion: Any, loads: Any) -> None:
    """A pull on port 2 by states, not linearly, in the axes of port 1, and a spring; nothing of it on port 1."""
    force = motion.x * np.sqrt(1.0 + motion.x * motion.x) - numbers[0] * motion.r[1]
    back = motion.R[1].T @ force
    for k in range(3):
        loads.wrenches[1, k] += back[k]


def drag_rates(numbers: Any, motion: Any, rates: Any) -> None:
    """States that are stirred by the motion of port 2, and fade."""
    velocity = motion.R[1] @ motion.V[1, :3]
    for k in range(3):
        rates[k] = (motion.r[1, k] * velocity[k] - motion.x[k] * (1.0 + motion.x[k] * motion.x[k])) / numbers[1]


class Drag(tt.Interaction):
    """A compiled law with compiled rates; see `drag` and `drag_rates`."""

    external = True
    state_names, state_units = ("sx", "sy", "sz"), ("N",) * 3
    compiled_law = tt.Law(drag, rates=drag_rates)

    def law_numbers(self) -> Any:
        return np.array([3.0, 0.5])


class DragInPython(Drag):
    """The same in Python."""

    compiled_law = None  # type: ignore[assignment]

    def act(self, motion: Any) -> Any:
        loads = tt.blocks.interactions.interaction.TargetLoads(np.zeros((2, 6), motion_type(motion)), np.zeros(0))
        drag(self.law_numbers(), motion, loads)
        return loads

    def state_rates(self, motion: Any) -> Any:
        rates = np.zeros(3, motion_type(motion))
        drag_rates(self.law_numbers(), motion, rates)
        return rates


def motion_type(motion: Any) -> Any:
    """Return the type of numbers that a motion has."""
    return np.result_type(*motion, float)


class LaggingJoint(tt.Revolute):
    """A revolute joint with a drive that follows its command with a time constant of 0.3 s."""

    inputs, input_units, state_names, state_units = ("command",), ("N m",), ("effort",), ("N m",)

    def state_efforts(self, q: Any, v: Any, x: Any) -> Any:
        return x

    def state_rates(self, q: Any, v: Any, x: Any, u: Any) -> Any:
        return (u - x) / 0.3


class BristleJoint(tt.Prismatic):
    """A prismatic joint with the friction of LuGre (Canudas de Wit et al., IEEE TAC 40, 1995), |v| smoothed by 1e-6 m/s."""

    state_names, state_units = ("bristle",), ("m",)
    stiff, damped, viscous, coulomb, breakaway, stribeck = 1e3, 30.0, 0.4, 1.0, 1.5, 0.01

    def bristle_rate(self, v: Any, x: Any) -> Any:
        limit = (self.coulomb + (self.breakaway - self.coulomb) * np.exp(-((v / self.stribeck) ** 2))) / self.stiff
        return v - np.sqrt(v * v + 1e-12) / limit * x

    def state_efforts(self, q: Any, v: Any, x: Any) -> Any:
        return -(self.stiff * x + self.damped * self.bristle_rate(v, x) + self.viscous * v)

    def state_rates(self, q: Any, v: Any, x: Any, u: Any) -> Any:
        return self.bristle_rate(v, x)


class MaxwellJoint(tt.Revolute):
    """A spring of 20 N m/rad in series with a damper of 3 N m s/rad, beside the joint's own: a Zener element with stiffness."""

    state_names, state_units = ("creep",), ("rad",)

    def state_efforts(self, q: Any, v: Any, x: Any) -> Any:
        return -20.0 * (q - x)

    def state_rates(self, q: Any, v: Any, x: Any, u: Any) -> Any:
        return 20.0 * (q - x) / 3.0


def body(name: str, mass: float = 1.0) -> tt.RigidBody:
    """Return a body without symmetry."""
    return tt.RigidBody(name, mass=mass, inertia=[0.5, 0.6, 0.7], com=[0.2, 0.1, 0.3])


def interacting(law: type[tt.Interaction] = Drag) -> tt.System:
    """Return a chain with a spherical joint: a lag on its first joint, drag on its last body."""
    s = tt.System("interacting")
    first, last = body("first"), body("last", 2.0)
    s.connect("world", first, tt.Revolute("shaft", axis=[1, 1, 0], damping=0.3))
    s.connect(first, last, tt.Spherical("ball", damping=0.2), placement=tt.Pose([1, 0, 0]))
    s.add_interaction(Lag("motor", 0.5), "shaft")
    s.add_interaction(law("drag"), "world", last)
    return s


def jointed() -> tt.System:
    """Return a chain of joints that have states of their own."""
    s = tt.System("jointed")
    a, b, c = (body(name, 1.0 + k) for k, name in enumerate("abc"))
    s.connect("world", a, LaggingJoint("driven", axis=[1, 0, 0], damping=0.5))
    s.connect(a, b, BristleJoint("rail", axis=[0, 1, 0], stiffness=30.0))
    s.connect(b, c, MaxwellJoint("soft", axis=[0, 1, 1], stiffness=5.0, damping=0.2))
    return s


def looped() -> tt.System:
    """Return a four-bar linkage, one hinge of which is lagging and one viscoelastic."""
    s = tt.System("looped")
    crank, coupler, rocker = (
        tt.RigidBody(name, mass=1.0, com=[0.5 * length, 0, 0], inertia=0.1, ports={"E": [length, 0, 0]})
        for name, length in (("crank", 0.6), ("coupler", 1.1), ("rocker", 1.0))
    )
    s.world.add_port("B", position=[1.2, 0, 0])
    s.connect("world", crank, LaggingJoint("driven", axis=[0, 1, 0], damping=0.1))
    s.connect(crank.port("E"), coupler, MaxwellJoint("soft", axis=[0, 1, 0], stiffness=1.0))
    s.connect(s.world.port("B"), rocker, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.close_loop(coupler.port("E"), rocker.port("E"), tt.RigidClosure("pin", directions=IN_PLANE))
    return s
