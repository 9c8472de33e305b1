"""Small systems that switch for 8 ms and more, each beside its equations of motion, which titop has no part in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import titop as tt
from titop.blocks.basics.spatial import Array

GRAVITY = 9.81


class Switching(NamedTuple):
    """A system, its initial q and v, and dy/dt of ``y = [q, v]`` (one coordinate)."""

    system: tt.System
    q0: float
    v0: float
    rate: Callable[[float, Array], Any]

    def reference(self, end: float) -> Array:
        """Return the state at the end, in steps that are shorter than all that switches."""
        y0, longest = [self.q0, self.v0], 1e-3
        solution = solve_ivp(self.rate, (0, end), y0, method="DOP853", rtol=1e-10, atol=1e-12, max_step=longest)
        return np.array(solution.y[:, -1])


def push(depth: float, rate: float, stiffness: float, dissipation: float = 0.0) -> float:
    """Return Hertz's push with Hunt and Crossley's dissipation."""
    return stiffness * max(depth, 0.0) ** 1.5 * max(1.0 + dissipation * rate, 0.0)


def scuffing(contact: type[tt.Contact] = tt.Contact) -> Switching:
    """A pendulum whose tip is 0.1 mm in the floor for 8 ms of each swing, and rubs there."""
    depth, stiffness, friction, dissipation, slip = 1e-4, 1e8, 0.5, 0.1, 1e-3
    s = tt.System("pendulum", gravity=[0, 0, -GRAVITY])
    bob = tt.RigidBody("bob", 1.0, com=[0, 0, -1], inertia=1e-3, ports={"tip": [0, 0, -1]})
    s.world.add_port("floor", [0, 0, -1 + depth])
    s.connect("world", bob, tt.Revolute("h", axis=[0, 1, 0]))
    floor = contact("c", 0.0, stiffness, dissipation=dissipation, friction=friction, slip_velocity=slip)
    s.close_loop(s.world.port("floor"), bob.port("tip"), floor)

    def rate(t: float, y: Array) -> list[float]:
        (angle, w), total = y, -GRAVITY * np.sin(y[0])
        along, up, arm = -(1 - depth) * w, np.sin(angle) * w, 1 - depth  # friction acts in the plane
        normal = push(-1 + depth + np.cos(angle), -up, stiffness, dissipation)
        drag = -friction * normal * along / np.hypot(along, slip)
        return [w, (total - arm * drag + np.sin(angle) * normal) / 1.001]

    return Switching(s, 1.2, 0.0, rate)


def _swinging(joint: tt.Prismatic, stiffness: float) -> tt.System:
    s = tt.System("swing", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), joint)
    return s


def stopped(joint: type[tt.Prismatic] = tt.Prismatic) -> Switching:
    """A mass on a soft spring that just reaches a hard stop, 1 mm deep if it were not there, at the end of each swing."""
    spring, stop, bound = 4.0, 1e6, 0.999
    x = joint("x", stiffness=spring, limits=tt.Limits(upper=bound, stiffness=stop, dissipation=2.0))
    return Switching(_swinging(x, spring), -1.0, 0.0, lambda t, y: [y[1], -spring * y[0] - push(y[0] - bound, y[1], stop, 2.0)])


def tethered(cable: type[tt.Cable] = tt.Cable) -> Switching:
    """The same with a stiff rope that goes taut for a few hundredths of each period, and is heavily damped there."""
    spring, rope, length, dissipation = 4.0, 2e4, 0.999, 0.05
    s = _swinging(tt.Prismatic("x", axis=[1, 0, 0], stiffness=spring), spring)
    s.world.add_port("eye", [-3.0, 0, 0])
    s.add_interaction(cable("rope", rope, 3.0 + length, dissipation), s.world.port("eye"), s["mass"])

    def rate(t: float, y: Array) -> list[float]:
        stretch, share = y[0] - length, 1.0 + dissipation * y[1]
        return [y[1], -spring * y[0] - (rope * stretch * share if stretch > 0 and share > 0 else 0.0)]

    return Switching(s, -1.0, 0.0, rate)


def teeth_law(numbers: Any, motion: Any, loads: Any) -> None:
    """Push points of the second port's body out of the first port's ground; `numbers` are stiffness and places along x."""
    R, r = motion.R[1], motion.r[1]
    for x in numbers[1:]:
        at = r + x * R[:, 0]
        if at[2].real < 0.0:
            push = numbers[0] * (-at[2]) ** 1.5
            loads.wrenches[0, 2] -= push
            loads.wrenches[0, 3] -= at[1] * push
            loads.wrenches[0, 4] += at[0] * push
            loads.wrenches[1, :3] += push * R[2]
            loads.wrenches[1, 4] -= x * push * R[2, 2]
            loads.wrenches[1, 5] += x * push * R[2, 1]


def teeth_heights(numbers: Any, motion: Any) -> Any:
    """Return how high the points are above the ground."""
    return motion.r[1, 2] + motion.R[1, 2, 0] * numbers[1:]


class Teeth(tt.Interaction):
    """A row of points that push out of a plane: as many gaps."""

    compiled_law = tt.Law(teeth_law, gaps=teeth_heights)

    def __init__(self, name: str, stiffness: float, places: Any) -> None:
        super().__init__(name)
        self.numbers = np.array([stiffness, *places])

    def law_numbers(self) -> Array:
        return self.numbers

    def energy(self, R: Array, r: Array) -> Any:
        heights = r[2] + R[2, 0] * self.numbers[1:]
        return sum(self.numbers[0] * (-height) ** 2.5 / 2.5 for height in heights if np.real(height) < 0)


PLACES = (-0.5, -0.1, 0.3, 0.4)


def landing(teeth: type[Teeth] = Teeth, stiffness: float = 1e6) -> tuple[tt.System, Callable[[float, Array], Any]]:
    """Return a plank that falls on its teeth and tips over on them, and dy/dt of ``y = [height, tilt, rates]``."""
    s = tt.System("plank", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("carriage", 1.0), tt.Prismatic("z", axis=[0, 0, 1]))
    plank = tt.RigidBody("plank", 1.0, inertia=[0.01, 0.1, 0.1])
    s.connect(s["carriage"], plank, tt.Revolute("tilt", axis=[0, 1, 0]))
    s.close_loop("world", plank, teeth("teeth", stiffness, PLACES))

    def rate(t: float, y: Array) -> list[float]:
        pushes = [push(x * np.sin(y[1]) - y[0], 0.0, stiffness) for x in PLACES]
        turning = -np.cos(y[1]) * np.dot(PLACES, pushes)
        return [y[2], y[3], -GRAVITY + sum(pushes) / 2.0, turning / 0.1]

    return s, rate
