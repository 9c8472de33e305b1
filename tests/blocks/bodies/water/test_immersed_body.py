"""Rigid bodies in water against closed forms, and against Kirchhoff's equations integrated on their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.spatial.transform import Rotation

import titop as tt
from tests.example_scripts import script
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import is_acted_on
from titop.solvers.model.terms import mass_center

RHO, GRAVITY = 1000.0, 9.81
ENGINES = ["compiled", "reference"]


def sliding(body: tt.RigidBody, gravity: float = 0.0, **joint: Any) -> tt.System:
    s = tt.System("s", gravity=[0, 0, -gravity])
    s.connect("world", body, tt.Prismatic("slide", axis=[0, 0, 1], **joint))
    return s


def floating(gravity: Any = (0, 0, 0), **given: Any) -> tt.System:
    s = tt.System("s", gravity=gravity)
    s.connect("world", tt.RigidBody("hull", **given), tt.Free("base"))
    return s


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sphere_on_a_spring_moves_half_its_water_along(engine: str) -> None:
    """``w^2 = k / (m + rho V / 2)``."""
    volume = 4 / 3 * np.pi * 0.1**3
    ball = tt.RigidBody("ball", 5.0, fluid=tt.Fluid(RHO), volume=volume, added_mass=0.5)
    m = sliding(ball, GRAVITY, stiffness=200.0).resolve(engine=engine)
    poles = tt.linearize(m, tt.trim(m)).poles()
    np.testing.assert_allclose(np.abs(poles.imag), np.sqrt(200.0 / (5.0 + RHO * volume / 2)), rtol=1e-13)  # rounding
    assert mass_center(m, m.neutral())[3] == pytest.approx(5.0, rel=1e-15)  # water is no part of it


@pytest.mark.parametrize("engine", ENGINES)
def test_sinking_from_rest(engine: str) -> None:
    """``v = v_t tanh(t/T)``: ``v_t^2 = 2 (m - rho V) g / (rho C A)``, ``T = (m + m_a) v_t / ((m - rho V) g)``."""
    volume = 0.002
    ball = tt.RigidBody("ball", 5.0, fluid=tt.Fluid(RHO), volume=volume, added_mass={"z": 0.6}, drag={"z": 0.02})
    m, t = sliding(ball, GRAVITY).resolve(engine=engine), np.linspace(0.0, 3.0, 7)
    run = tt.simulate(m, t, [0.0], [0.0], rtol=1e-11, atol=1e-13)
    weight = (5.0 - RHO * volume) * GRAVITY
    final = np.sqrt(2 * weight / (RHO * 0.02))
    expected = -final * np.tanh(t / ((5.0 + 0.6 * RHO * volume) * final / weight))
    np.testing.assert_allclose(run.v[:, 0], expected, rtol=0, atol=1e-9)  # what rtol leaves


def test_munks_moment() -> None:
    """A body that moves steadily with (u, v) is turned broadside by ``(A_yy - A_xx) u v``: so much holds it."""
    for added in (np.diag([2.0, 7.0, 7.0, 0.0, 0.0, 0.0]), {"x": 0.2, "y": 0.7, "z": 0.7}):
        s = floating(mass=10.0, inertia=1.0, fluid=tt.Fluid(RHO), volume=0.01, added_mass=added)
        for engine in ENGINES:
            m = s.resolve(engine=engine)
            tau = m.inverse_dynamics(m.neutral(), [0.5, 0.3, 0, 0, 0, 0], np.zeros(6))
            np.testing.assert_allclose(tau, [0, 0, 0, 0, 0, 5.0 * 0.5 * 0.3], rtol=0, atol=1e-14)  # rounding


def test_buoyancy_turns_a_body_upright() -> None:
    """About com: ``w^2 = rho V g h / J``, the centre of buoyancy a height h above it."""
    s = tt.System("s", gravity=[0, 0, -GRAVITY])
    hull = tt.RigidBody("hull", 3.0, inertia=0.2, fluid=tt.Fluid(RHO), volume=0.003, buoyancy_center=[0, 0, 0.1])
    s.connect("world", hull, tt.Revolute("roll", axis=[1, 0, 0]))
    for engine in ENGINES:
        m = s.resolve(engine=engine)
        poles = tt.linearize(m, tt.trim(m, q={"roll": 0.1})).poles()
        np.testing.assert_allclose(np.abs(poles.imag), np.sqrt(3.0 * GRAVITY * 0.1 / 0.2), rtol=1e-12)
        q, h = m.configuration({"roll": 0.4}), 1e-5
        ahead, behind = (m.energy(q + t, [0.0]).gravity for t in (h, -h))
        assert (ahead - behind) / (2 * h) == pytest.approx(m.gravity_effects(q)[0], rel=1e-9)  # differences of 1e-5


def test_a_spin_fades_by_its_square() -> None:
    """``w = w0 / (1 + c w0 t / J)``; with linear drag ``w0 exp(-c t / J)``."""
    t = np.linspace(0.0, 2.0, 5)
    for drag, expected in (({"turn_x": 0.3}, 4.0 / (1 + 0.3 * 4.0 * t / 0.5)), ({"linear_turn": 0.3}, 4.0 * np.exp(-0.6 * t))):
        s = tt.System("s")
        rotor = tt.RigidBody("rotor", 1.0, inertia=0.5, fluid=tt.Fluid(RHO), volume=0.0, drag=drag)
        s.connect("world", rotor, tt.Revolute("spin", axis=[1, 0, 0]))
        run = tt.simulate(s.resolve(), t, [0.0], [4.0], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(run.v[:, 0], expected, rtol=0, atol=1e-9)  # what rtol leaves


def ellipsoid(a: float, b: float, c: float) -> tuple[float, Array, Array]:
    """Return volume, added masses and added moments of inertia of an ellipsoid (Lamb, Hydrodynamics, art. 114 and 115)."""

    def alpha(k: int) -> float:
        squares = np.array([a, b, c]) ** 2
        found, _ = quad(lambda s: 1 / ((squares[k] + s) * np.sqrt(np.prod(squares + s))), 0, np.inf, epsabs=0, epsrel=1e-11)
        return float(a * b * c * found)

    alphas, squares, volume = np.array([alpha(k) for k in range(3)]), np.array([a, b, c]) ** 2, 4 / 3 * np.pi * a * b * c
    masses = RHO * volume * alphas / (2 - alphas)
    moments = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        gap, differing = squares[i] - squares[j], alphas[j] - alphas[i]
        moments.append(RHO * volume / 5 * gap**2 * differing / (2 * gap + (squares[i] + squares[j]) * -differing))
    return volume, masses, np.array(moments)


def kirchhoff(masses: Array, moments: Array, start: Array, t: Array) -> tuple[Array, Array]:
    """Return twists (k, 6) and positions (k, 3) of a body in ideal fluid: its impulse keeps its place in space.

    ``dp/dt = p x w`` and ``dl/dt = l x w + p x v``, with p and l all of it, the body's and the fluid's.
    """

    def rate(_: float, x: Array) -> Array:
        v, w, (qx, qy, qz, qw) = x[:3], x[3:6], x[9:]
        p, angular = masses * v, moments * w
        turning = 0.5 * np.array(
            [
                qw * w[0] + qy * w[2] - qz * w[1],
                qw * w[1] + qz * w[0] - qx * w[2],
                qw * w[2] + qx * w[1] - qy * w[0],
                -qx * w[0] - qy * w[1] - qz * w[2],
            ]
        )
        moved = Rotation.from_quat(x[9:]).apply(v)
        faster = [np.cross(p, w) / masses, (np.cross(angular, w) + np.cross(p, v)) / moments]
        return np.concatenate([*faster, moved, turning])

    initial = np.concatenate([start, [0, 0, 0, 0, 0, 0, 1]])
    found = solve_ivp(rate, (0, t[-1]), initial, method="DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y.T
    return found[:, :6], found[:, 6:9]


@pytest.mark.parametrize("current", [(0.0, 0.0, 0.0), (0.4, -0.3, 0.2)])
def test_an_ellipsoid_moves_as_kirchhoff_says(current: Any) -> None:
    """In a current as in still water seen from a frame that moves with it; the control has the added mass at rest in it."""
    volume, masses, moments = ellipsoid(0.3, 0.2, 0.12)
    mass = RHO * volume
    inertia = mass / 5 * np.array([0.2**2 + 0.12**2, 0.3**2 + 0.12**2, 0.3**2 + 0.2**2])
    t, start = np.linspace(0.0, 4.0, 9), np.array([0.6, 0.2, -0.1, 0.4, -0.7, 0.3])
    expected, places = kirchhoff(mass + masses, inertia + moments, start, t)
    hull = {"mass": mass, "inertia": inertia, "volume": volume, "added_mass": np.array([*masses, *moments])}
    s = floating([0, 0, -GRAVITY], fluid=tt.Fluid(RHO, current), **hull)
    m, moved = s.resolve(), np.array([*current, 0, 0, 0])
    run = tt.simulate(m, t, m.neutral(), start + moved, rtol=1e-11, atol=1e-12)
    seen = np.array([Rotation.from_quat(q[3:]).apply(current, inverse=True) for q in run.q])
    np.testing.assert_allclose(run.v[:, :3] - seen, expected[:, :3], rtol=0, atol=1e-8)  # what rtol leaves
    np.testing.assert_allclose(run.v[:, 3:], expected[:, 3:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.q[:, :3] - np.outer(t, current), places, rtol=0, atol=1e-8)
    if not any(current):
        impulse = np.array([m.momentum(q, v) for q, v in zip(run.q, run.v, strict=True)])
        np.testing.assert_allclose(impulse, impulse[:1].repeat(len(t), 0), rtol=0, atol=1e-6)  # of 100, what rtol leaves
    else:
        still = floating(fluid=tt.Fluid(RHO), **hull)
        control = tt.simulate(still.resolve(), t, m.neutral(), start + moved, rtol=1e-9, atol=1e-10)
        assert np.abs(control.v - run.v).max() > 0.1


def test_lift_does_no_work_and_stands_across() -> None:
    s = floating(mass=2.0, inertia=0.1, fluid=tt.Fluid(RHO), volume=0.002, lift=[0.0, 0.0, 0.01])
    m = s.resolve()
    v = np.array([2.0, 0, 0, 0, 0, 0])
    assert m.dissipated_power(m.neutral(), v) == pytest.approx(0.0, abs=1e-15)
    a = m.forward_dynamics(m.neutral(), v, np.zeros(6))
    np.testing.assert_allclose(a, [0, RHO / 2 * 0.01 * 4 / 2.0, 0, 0, 0, 0], rtol=0, atol=1e-13)


def test_an_immersed_body_hangs_by_any_port() -> None:
    """It is the same body: by its port, turned and elsewhere, or by its reference frame."""
    place, rng = tt.Pose([0.1, -0.2, 0.3], Rotation.from_rotvec([0.3, 0.8, -0.5])), np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    found = []
    for hung in (False, True):
        s = tt.System("s", gravity=[1.0, 2.0, -9.81])
        hull = tt.RigidBody(
            *("hull", 3.0, [0.02, 0.0, -0.03], [0.1, 0.2, 0.15], {"grip": place}),
            fluid=tt.Fluid(RHO, [0.2, 0.1, -0.3]),
            volume=0.004,
            buoyancy_center=[0.0, 0.01, 0.05],
            added_mass=root @ root.T,
            drag={"all": 0.01, "turn": 0.1},
        )
        target = hull.port("grip") if hung else hull
        s.connect("world", target, tt.Free("base"))
        for engine in ENGINES:
            m = s.resolve(engine=engine)
            q, twist = m.neutral(), np.array([0.3, 0.1, -0.2, 0.5, -0.4, 0.2])
            if hung:  # the frame stands at the origin as before, and moves as before
                q = m.configuration({"base": [*place.position, *Rotation.from_matrix(place.rotation).as_quat()]})
                lever = np.concatenate([twist[:3] + np.cross(twist[3:], place.position), twist[3:]])
                twist = np.concatenate([place.rotation.T @ lever[:3], place.rotation.T @ lever[3:]])
            a = m.forward_dynamics(q, twist, np.zeros(6))
            found.append(np.concatenate([m.motion("hull", q, twist, a)[:6], m.center_of_mass(q)]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-12 * np.abs(found[0]).max())  # conditioning


def test_a_body_that_says_all_itself_does_the_same() -> None:
    """As the hull of `examples/diver.py`, written by a user, with 1e-6 m/s in the root of its speed."""
    diver = script("diver")
    own = diver["build"]().resolve()
    s = tt.System("diver", gravity=[0, 0, -GRAVITY])
    hull = tt.RigidBody(
        *("hull", diver["MASS"], [0, 0, -diver["BALLAST"]], [3.0, 3.0, 0.5]),
        fluid=tt.Fluid(diver["WATER"]),
        volume=diver["VOLUME"],
        buoyancy_center=[0, 0, 0],
        added_mass=[*diver["Hull"].along, 2.0, 2.0, 0.0],
        drag={**dict(zip("xyz", 2 * diver["Hull"].against / diver["WATER"], strict=True)), "linear_turn": diver["TURNING"]},
    )
    s.connect("world", hull, tt.Free("base"))
    m, rng = s.resolve(), np.random.default_rng(0)
    for _ in range(3):
        q, (v, a) = m.random_configuration(rng), rng.normal(size=(2, 6))
        expected = own.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(m.inverse_dynamics(q, v, a), expected, rtol=0, atol=1e-9)  # of 100 N


def test_dry_bodies_are_as_before() -> None:
    m = floating(mass=1.0, inertia=1.0).resolve(engine="reference")
    dry = m.mechanism.assembly.blocks["hull"]
    assert dry.is_rigid
    assert not is_acted_on(dry)
    assert not dry.law_numbers().size
    assert not any("fluid" in name or "volume" in name for name in m.parameters())


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_what_nothing_drags_has_time_derivatives_at_rest(engine: str) -> None:
    """``tau = m a + rho/2 C v^2`` and its rate, of a body that does not turn; its reference frame at a hinge does not move.

    Roots of their speeds, which are zero, have no derivatives, and count for nothing.
    """
    s = tt.System("s", gravity=[0, 0, 0])
    water = {"fluid": tt.Fluid(1000.0), "volume": 0.001, "drag": {"x": 0.1}}
    s.connect("world", tt.RigidBody("slider", 1.0, **water), tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect("world", tt.RigidBody("bob", 2.0, [0, -0.5, 0], inertia=0.0, **water), tt.Revolute("hinge", axis=[0, 0, 1]))
    m = s.resolve(engine=engine)
    v, a, rate = np.array([0.5, 0.4]), np.array([0.1, -0.2]), np.array([0.2, 0.3])
    mass, drag = np.array([1.0, 2.0 * 0.5**2]), np.array([50.0, 50.0 * 0.5**3])
    found = m.inverse_dynamics_series(m.neutral(), np.array([v, a, rate]))
    np.testing.assert_allclose(found, [mass * a + drag * v**2, mass * rate + 2 * drag * v * a], rtol=1e-13)
