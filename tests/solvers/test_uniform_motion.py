"""Galileo: what a free system does is the same for all who watch it from frames in uniform motion.

A velocity u of everything adds ``-w x u`` to the spatial acceleration of a base that spins at w, whose derivatives by the
base's velocity are -[w] and [u], and nothing else to anything. What is left of u is the rounding of ``w x u`` (and of u itself
in derivatives by velocities): it grows with u, not with its square.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import titop as tt
from tests.flexible import Cloud, random_body
from tests.refusals import ENGINES, LONG_BY_REFERENCE
from tests.systems import Array
from titop.blocks.basics.spatial import rigid_inertia, skew, twist_cross

#: Metres a second: in low orbit, and beyond what leaves the Earth.
SPEEDS = (7.5e3, 3e4)
#: Rates (1/s) beside which 3e4 m/s is fast: products of two velocities would leave 1e-16 (3e4)^2, a ten thousandth of them.
SLOW = 1e-3


class Swing(tt.Block):
    """A small ball that runs around an axis, in plain Python: its gyroscopic terms are those that follow from the inertia."""

    coordinates, ports, units = ("angle",), ("C",), ("rad",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the pose of the ball."""
        c, s, x = np.cos(q[0]), np.sin(q[0]), 0 * q[0]
        return np.array([[c, -s, x], [s, c, x], [x, x, 1 + x]]), np.array([0.3 * c, 0.3 * s, 0.1 + x])

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia of a point mass and of a ball that turns along."""
        p, mass = self.pose("C", q)[1], 0.8
        along = np.array([-0.3 * np.sin(q[0]), 0.3 * np.cos(q[0]), 0 * q[0]])
        turning = np.column_stack([np.eye(3), [0, 0, 1]])
        G = np.column_stack([-skew(p), along])
        return np.block([[mass * np.eye(3), mass * G], [mass * G.T, mass * G.T @ G + 0.04 * turning.T @ turning]])


def _soft(name: str) -> tt.SoftBody:
    bend, round_bar = tt.Kinematics.constant_curvature(0.3), tt.Domain.cylinder(0.02, 0.3)
    return tt.SoftBody(name, bend, round_bar, 1000.0, tt.Material.linear(1e5, 0.3), ports={"C": [0, 0, 0.3]})


def _rod(name: str) -> tt.Rod:
    return tt.Rod(name, 0.4, tt.Section.circle(0.05), young=2e4, density=900.0, strains={"torsion": 0, "bending_y": 1})


#: One of every kind that has a law of its own.
KINDS: dict[str, Callable[[str], tt.Block]] = {
    "rigid": lambda name: tt.RigidBody(name, 1.2, [0.2, -0.1, 0.3], [0.1, 0.12, 0.15], ports={"C": [0.4, 0.1, 0]}),
    "flexible": lambda name: random_body(np.random.default_rng(3), name),
    "stiffening": lambda name: Cloud.random(np.random.default_rng(1)).body(np.random.default_rng(2), name),
    "beam": lambda name: tt.Beam(name, length=1.0, density=1500.0, area=1e-3, young=2e4, iy=1e-7, iz=2e-7),
    "rod": _rod,
    "soft": _soft,
    "user's": Swing,
}


def flyer(block: tt.Block) -> tt.System:
    """Return a free body that carries a block on a ball joint, which carries a body on a hinge."""
    s = tt.System("flyer")
    port = tt.Pose([0, 0.4, 0], Rotation.from_rotvec([0.3, 0.2, 0.1]))
    hub = tt.RigidBody("hub", 3.0, [0.1, 0.0, -0.1], [0.5, 0.6, 0.7], ports={"A": port})
    s.connect("world", hub, tt.Free("base", armature=[0.5] * 6))
    s.connect(hub.port("A"), block, tt.Spherical("ball", armature=[0.01, 0.02, 0.03]))
    tip = tt.RigidBody("tip", 0.6, [0, 0.1, 0], [0.02, 0.03, 0.04])
    s.connect(block.port(block.ports[0]), tip, tt.Revolute("wrist", axis=[1, 2, 3]))
    return s


def told(m: tt.Model, speed: float) -> dict[str, Array]:
    """Return what a model tells of a state in which all moves at a speed, less what is to come of that."""
    rng = np.random.default_rng(5)
    q = m.integrate(m.neutral(), 0.02 * rng.normal(size=m.nv))  # a fifth would bend the beam far
    v, a = SLOW * rng.normal(size=(2, m.nv))
    u = speed * Rotation.from_quat(q[3:7]).inv().apply([0.6, -0.64, 0.48])
    v[:3] += u
    kept = np.zeros(m.nv)
    kept[:3] = -np.cross(v[3:6], u)
    given, M = a + kept, m.mass_matrix(q)
    dq, dv, _ = m.inverse_dynamics_derivatives(q, v, given)
    free_q, free_v, _ = m.forward_dynamics_derivatives(q, v)
    by_v, nothing = np.zeros((m.nv, m.nv)), np.zeros(m.nv)
    by_v[:3, 3:6] = skew(u)
    found = {
        "inverse": m.inverse_dynamics(q, v, given),
        "inverse with the mass matrix": m.mass_inverse_dynamics(q, v, given)[0],
        "nonlinear": m.nonlinear_effects(q, v) + M @ kept,
        "reaction": m.reaction("wrist", q, v, given),
        "reaction at the block": m.reaction("ball", q, v, given),
        "regressor": m.regressor(q, v, given),
        "forward": m.forward_dynamics(q, v) - kept,
        "series": m.forward_dynamics_series(q, v, np.zeros((2, m.nv)))[:, 3:],
        "inverse by q": dq,
        "forward by q": free_q,
        "forward along q": m.forward_dynamics_tangent(q, v, nothing, nothing + 1.0, nothing, nothing),
        "forward, weighted, by q": m.forward_dynamics_adjoint(q, v, nothing, nothing + 1.0)[0],
        "inverse by v": dv + M @ by_v,
        "forward by v": free_v - by_v,
    }
    if isinstance(m.mechanism.assembly.blocks["block"], tt.Rod):
        found["section"] = m.section_wrenches("block", [0.1, 0.3], q, v, given)
    return found


def disagreements(m: tt.Model, speed: float) -> dict[str, float]:
    """Return by how much a model breaks Galileo's rule beyond rounding, by what it tells."""
    still, moving = told(m, 0.0), told(m, speed)
    M = m.mass_matrix(m.neutral())
    spread = np.linalg.norm(M) * np.linalg.norm(np.linalg.inv(M))  # by which solving for accelerations magnifies rounding
    excess = {}
    for name, value in moving.items():
        # the rounding of what w x u is taken from; of u itself where rates are taken out of products with it
        size = np.abs(still[name]).max() + (10.0 if name.endswith("by v") else 10.0 * SLOW) * speed
        # operations in a row leave up to 2e-14; ten times that for other orders of summation
        magnified = 1.0 if name.startswith(("inverse", "nonlinear", "regressor", "reaction", "section")) else spread
        excess[name] = float(np.abs(value - still[name]).max() / (2e-13 * magnified * size))
    return {name: error for name, error in excess.items() if not error < 1.0}


@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
@pytest.mark.parametrize("kind", KINDS)
def test_who_watches_does_not_matter(kind: str, engine: str) -> None:
    """Every function and derivative, for every kind of block."""
    m = flyer(KINDS[kind]("block")).resolve(engine)
    assert {speed: found for speed in SPEEDS if (found := disagreements(m, speed))} == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_products_of_two_velocities_are_found(engine: str) -> None:
    """Negative control: the plain form, equal but for rounding."""

    class Plain(tt.RigidBody):
        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            return -twist_cross(twist).T @ (self.mass_matrix(q) @ twist)

    m = flyer(Plain("block", 1.2, [0.2, -0.1, 0.3], [0.1, 0.12, 0.15], ports={"C": [0.4, 0.1, 0]})).resolve(engine)
    assert disagreements(m, 0.0) == {}
    assert {"inverse", "reaction at the block", "forward"} <= disagreements(m, 3e4).keys()


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # that its added mass would weigh, if there were gravity
@pytest.mark.parametrize("engine", ENGINES)
def test_added_mass_turns_what_moves_across_it(engine: str) -> None:
    """Munk's moment stays: ``v x (A v)`` of a mass that has directions."""
    added = np.diag([1.0, 3.0, 5.0])

    class Wet(tt.RigidBody):
        def mass_matrix(self, q: Array | None = None) -> Array:
            return rigid_inertia(2.0, np.zeros(3), 0.4 * np.eye(3)) + np.pad(added, (0, 3))

    s = tt.System("wet")
    s.connect("world", Wet("hull", 2.0, inertia=0.4), tt.Free("base"))
    v = np.array([3e4, 2e4, -1e4, 0.0, 0.0, 0.0])
    found = s.resolve(engine).inverse_dynamics([0, 0, 0, 0, 0, 0, 1], v, np.zeros(6))
    np.testing.assert_allclose(found[3:], np.cross(v[:3], added @ v[:3]), rtol=1e-14)  # a sum of two products each


def test_torque_free_craft_in_orbit() -> None:
    """Two orbits at 7.5 km/s turn a body as Euler's equations alone do, in the steps that these ask for.

    With ``v x m v`` in the law: 8e-3 rad, in 54,000 evaluations.
    """
    mu, radius, mass, inertia = 3.986e14, 7e6, 300.0, np.diag([200.0, 260.0, 80.0])
    w, speed = np.array([1e-3, -2e-3, 0.5e-3]), np.sqrt(mu / radius)
    end, calls = 4 * np.pi * radius / speed, []
    s = tt.System("craft")
    s.connect("world", tt.RigidBody("hub", mass, inertia=inertia), tt.Free("base"))

    def weight(t: float, q: Array, v: Array) -> Array:
        calls.append(t)
        pull = -mu * mass / np.linalg.norm(q[:3]) ** 3 * q[:3]
        return np.concatenate([Rotation.from_quat(q[3:7]).inv().apply(pull), np.zeros(3)])

    start = np.array([radius, 0, 0, 0, 0, 0, 1.0]), np.array([0, speed, 0, *w])
    # a millimetre in orbits of 44,000 km: of the position, which asks for more than the attitude does
    result = tt.simulate(s.resolve(), [0, end], *start, wrenches={"hub": weight}, rtol=1e-9, atol=1e-3)

    def euler(t: float, y: Array) -> Array:
        x, spin = y[:4], y[4:]
        rate = 0.5 * np.concatenate([x[3] * spin + np.cross(x[:3], spin), [-x[:3] @ spin]])
        return np.concatenate([rate, -np.linalg.solve(inertia, np.cross(spin, inertia @ spin))])

    exact: Any = solve_ivp(euler, (0, end), [0, 0, 0, 1, *w], method="DOP853", rtol=1e-13, atol=1e-16)
    turned = Rotation.from_quat(exact.y[:4, -1]).inv() * Rotation.from_quat(result.q[-1, 3:7])
    assert turned.magnitude() < 2e-8
    assert len(calls) < 2500  # 1500, and as many again for other processors' rounding
