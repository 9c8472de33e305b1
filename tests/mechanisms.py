"""Planar mechanisms of any number of loops for the tests, each with its configurations in closed form.

Every function takes `spatial`: whether the closures are full revolute joints, with redundant constraints out of the plane.
"""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.closed_systems import bar
from tests.systems import Array

_PLANE = np.eye(6)[:, :2]


def _pin(name: str, spatial: bool) -> tt.RigidClosure:
    return tt.RigidClosure(name, "revolute") if spatial else tt.RigidClosure(name, directions=_PLANE)


def windows(number: int, spatial: bool = False) -> tt.System:
    """Return the N-four-bar mechanism: parallel bars of 1 m and 1 kg, 1 m apart, neighbours joined by such a bar at their ends.

    M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado, A benchmarking system for MBS simulation software, Multibody System Dynamics
    16 (2006), problem A02. All bars in line are a singular position.
    """
    s = tt.System("windows", gravity=[0, -9.81, 0])
    leg = bar("leg0", 1.0, 1.0)
    s.connect("world", leg, tt.Revolute("q0"))
    for k in range(1, number + 1):
        top, following = bar(f"top{k}", 1.0, 1.0), bar(f"leg{k}", 1.0, 1.0)
        s.connect(leg.port("end"), top, tt.Revolute(f"t{k}"))
        s.connect("world", following, tt.Revolute(f"q{k}"), placement=[k, 0, 0])
        s.close_loop(top.port("end"), following.port("end"), _pin(f"pin{k}", spatial))
        leg = following
    return s


def windows_at(number: int, angle: float) -> Array:
    """Return the configuration, or with a rate the velocity, at which all legs stand at `angle` (rad)."""
    return np.array([angle, *[-angle, angle] * number])


def shared_top(legs: int, spatial: bool = False) -> tt.System:
    """Return parallel bars that carry one long bar: with more than two, one constraint a leg is redundant."""
    s, length = tt.System("table", gravity=[0, -9.81, 0]), legs - 1
    top = bar("top", length, length)
    s.connect("world", bar("leg0", 1.0, 1.0), tt.Revolute("q0"))
    s.connect(s["leg0"].port("end"), top, tt.Revolute("t"))
    for k in range(1, legs):
        top.add_port(f"E{k}", [k, 0, 0])
        s.connect("world", bar(f"leg{k}", 1.0, 1.0), tt.Revolute(f"q{k}"), placement=[k, 0, 0])
        s.close_loop(top.port(f"E{k}"), s[f"leg{k}"].port("end"), _pin(f"pin{k}", spatial))
    return s


def shared_top_at(legs: int, angle: float) -> Array:
    """Return the configuration, or with a rate the velocity, at which all legs stand at `angle` (rad)."""
    return np.array([angle, -angle, *[angle] * (legs - 1)])


def coupled_wheels(number: int, radius: float = 0.3, spatial: bool = False) -> tt.System:
    """Return wheels 1 m apart whose cranks of one `radius` (m) one rod joins, as of a locomotive: singular at dead centres."""
    s = tt.System("wheels", gravity=[0, -9.81, 0])
    rod = bar("rod", number - 1.0, 0.5)
    for k in range(number):
        wheel = tt.RigidBody(f"wheel{k}", mass=1.0, inertia=[0.05, 0.05, 0.1], ports={"crank": [radius, 0, 0]})
        s.connect("world", wheel, tt.Revolute(f"q{k}"), placement=[k, 0, 0])
        if k == 0:
            s.connect(wheel.port("crank"), rod, tt.Revolute("t"))
        else:
            rod.add_port(f"E{k}", [k, 0, 0])
            s.close_loop(rod.port(f"E{k}"), wheel.port("crank"), _pin(f"pin{k}", spatial))
    return s


def coupled_wheels_at(number: int, angle: float) -> Array:
    """Return the configuration, or with a rate the velocity, at which all wheels stand at `angle` (rad)."""
    return np.array([angle, -angle, *[angle] * (number - 1)])


def scissor_lift(stages: int, spatial: bool = False) -> tt.System:
    """Return a lift of crossed bars of 1 m and 1 kg on a fixed and a sliding foot."""
    s = tt.System("lift", gravity=[0, -9.81, 0])
    s.world.add_port("rail")
    ends = {"low": [-0.5, 0, 0], "middle": [0, 0, 0], "high": [0.5, 0, 0]}
    for k in range(stages):
        a, b = (tt.RigidBody(f"{side}{k}", mass=1.0, inertia=[1e-3, 1 / 12, 1 / 12], ports=ends) for side in "ab")
        below = s[f"b{k - 1}"].port("high") if k else "world"
        s.connect(below, a.port("low"), tt.Revolute(f"qa{k}"))
        s.connect(a.port("middle"), b.port("middle"), tt.Revolute(f"qb{k}"))
        if k:
            s.close_loop(s[f"a{k - 1}"].port("high"), b.port("low"), _pin(f"pin{k}", spatial))
        else:
            s.close_loop(s.world.port("rail"), b.port("low"), tt.RigidClosure("slide", directions=np.eye(6)[:, [1]]))
    return s


def scissor_lift_at(stages: int, angle: float) -> Array:
    """Return the configuration at which all bars stand at `angle` (rad) over the ground."""
    other = np.pi - angle
    return np.array([angle, other - angle, *[angle - other, other - angle] * (stages - 1)])
