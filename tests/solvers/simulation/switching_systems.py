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
