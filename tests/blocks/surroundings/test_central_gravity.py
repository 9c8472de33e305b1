"""Gravity of a central body: the field, and what flies in it, against closed forms of celestial mechanics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import titop as tt
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.laws.central_field import contracted, field_acceleration, field_gradient, field_potential

MU, RADIUS, J2 = 3.986004418e14, 6378136.3, 1.0826e-3
EARTH = tt.CentralGravity(MU, RADIUS)
OBLATE = tt.CentralGravity(MU, RADIUS, j2=J2)
TILTED = tt.CentralGravity(MU, RADIUS, j2=0.1, axis=[0.3, -0.5, 2.0])


def satellite(field: Any = EARTH, mass: float = 100.0, inertia: Any = 1.0, engine: str = "compiled", **others: Any) -> tt.Model:
    """Return a free rigid body in a field."""
    s = tt.System("satellite", gravity=field)
    s.connect("world", tt.RigidBody("hub", mass, inertia=inertia, **others), tt.Free("base"))
    return s.resolve(engine=engine)


def field_of(field: tt.CentralGravity, origin: Any = (0.0, 0.0, 0.0)) -> tuple[Any, ...]:
    """Return a field as the law takes it, the world's origin falling freely at another place."""
    mu, k, axis, _, square, _ = field.as_law
    return mu, k, axis, tuple(origin), square, any(origin)


class TestField:
    @pytest.mark.parametrize("origin", [(0.0, 0.0, 0.0), (5e6, -4e6, 4e6)])
    def test_each_derivative_is_that_of_the_one_before(self, origin: Any) -> None:
        rng = np.random.default_rng(1)
        field, S = field_of(TILTED, origin), tuple(rng.normal(size=6))
        place = rng.normal(size=3) * 1e3 + (0.0 if any(origin) else np.array([-6e6, 5e6, 3e6]))
        g, (gradient, change) = np.array(field_acceleration(field, place)), field_gradient(field, place, S)
        xx, yy, zz, xy, xz, yz = gradient
        Gamma = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        by_phi = complex_step(lambda x: np.array([field_potential(field, x)]), place)[0]
        by_g = complex_step(lambda x: np.array(field_acceleration(field, x)), place)
        by_S = complex_step(lambda x: np.array([contracted(field_gradient(field, x, S)[0], S)]), place)[0]
        # steps are exact; some thirty roundings
        assert np.allclose(by_phi, g, rtol=0, atol=1e-13 * np.abs(g).max())
        assert np.allclose(by_g, Gamma, rtol=0, atol=1e-14 * np.abs(Gamma).max())
        assert np.allclose(0.5 * by_S, change, rtol=0, atol=1e-14 * np.abs(change).max())
        assert abs(np.trace(Gamma)) < 1e-14 * np.abs(Gamma).max()  # nothing attracts outside

    def test_a_falling_origin_loses_no_digits(self) -> None:
        origin, step = np.array([5e6, -4e6, 4e6]), np.array([3e-4, -5e-4, 2e-4])
        field, Gamma = field_of(TILTED, origin), TILTED.gradient(origin)
        # to first order; the second is step / origin, some 1e-10
        assert np.allclose(field_acceleration(field, step), Gamma @ step, rtol=1e-9, atol=0)
        assert field_potential(field, step) == pytest.approx(0.5 * step @ Gamma @ step, rel=1e-9)
        far = 1e6 * step  # and beside it what it is made of, from 1e-3 m/s^2 in 10
        assert np.allclose(
            field_acceleration(field, far), TILTED.acceleration(origin + far) - TILTED.acceleration(origin), atol=1e-14
        )

    def test_a_point_of_it_on_the_equator_is_the_textbooks(self) -> None:
        r = 7e6
        expected = -MU / r**2 * (1.0 + 1.5 * J2 * (RADIUS / r) ** 2)  # Vallado, eq. 8-35
        assert OBLATE.acceleration(np.array([0.0, r, 0.0])) == pytest.approx([0.0, expected, 0.0], rel=1e-15)

    def test_inside_it_is_that_of_a_ball(self) -> None:
        for part in (0.0, 0.5):
            g = OBLATE.acceleration(np.array([part * RADIUS, 0.0, 0.0]))
            assert g == pytest.approx([-part * MU / RADIUS**2, 0.0, 0.0], rel=1e-14)

    @pytest.mark.parametrize(
        ("field", "code"),
        [
            (tt.CentralGravity(-1.0, 1.0), "no-mu"),
            (tt.CentralGravity(0.0, 1.0), "no-mu"),
            (tt.CentralGravity(1.0, 0.0), "no-radius"),
            (tt.CentralGravity(1.0, 1.0, axis=[0, 0, 0]), "zero-axis"),
            (tt.CentralGravity(np.nan, 1.0), "not-finite"),
        ],
    )
    def test_wrong_numbers_are_told_when_it_is_resolved(self, field: Any, code: str) -> None:
        with pytest.raises(tt.ModelError) as error:
            satellite(field)
        assert code in [finding.code for finding in error.value.findings]

    def test_what_is_no_gravity_is_refused(self) -> None:
        with pytest.raises(tt.ModelError, match=r"gravity: got .*tt\.CentralGravity"):
            tt.System("odd", gravity="down").resolve()


class TestTorque:
    def test_that_of_the_gradient(self) -> None:
        rng = np.random.default_rng(1)
        J = np.array([[10.0, 1.0, -2.0], [1.0, 20.0, 0.5], [-2.0, 0.5, 15.0]])
        m = satellite(inertia=J)
        q = m.random_configuration(rng)
        q[:3] = [5e6, -4e6, 3e6]
        R, r = m.pose("hub", q)
        up = R.T @ r / np.linalg.norm(r)
        expected = 3.0 * MU / np.linalg.norm(r) ** 3 * np.cross(up, J @ up)
        # sums of moments up to 1e7 times the differences that are the torque of a body about its mass centre
        assert -m.gravity_effects(q)[3:] == pytest.approx(expected, rel=1e-13)

    def test_four_points_are_one_body_up_to_the_order_of_the_expansion(self) -> None:
        """The next term of the force, of fourth order, falls by sixteen where the size is halved."""

        def error(half: float) -> float:
            place, arms = np.array([6e6, 4e6, 2e6]), half * np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
            points = np.array([*arms, *-arms])
            four = sum(25.0 * TILTED.acceleration(place + point) for point in points)
            second = 25.0 * points.T @ points
            body = satellite(TILTED, inertia=np.trace(second) * np.eye(3) - second)
            q = body.configuration({"base": [*place, 0, 0, 0, 1]})
            return float(np.linalg.norm(-body.gravity_effects(q)[:3] - four))

        assert error(2e5) / error(1e5) == pytest.approx(16.0, rel=0.02)  # and sixth order beside it

    def test_energy_is_its_potential(self) -> None:
        rng = np.random.default_rng(1)
        s = tt.System("boom", gravity=tt.CentralGravity(50.0, 1.0, j2=0.1))  # small numbers, so that energy has digits left
        s.connect("world", tt.RigidBody("hub", 3.0, [0.1, 0.2, 0.0], [0.2, 0.3, 0.4]), tt.Free("base"))
        s.connect(s.connections[0].child, tt.RigidBody("tip", 1.0, [0.5, 0, 0]), tt.Revolute("hinge", axis=[0, 1, 1]))
        m = s.resolve(engine="reference")
        q = m.random_configuration(rng)
        q[:3] = [2.0, 1.0, 2.0]
        slope = complex_step(lambda dq: np.array([m.energy(m.integrate(q, dq), 0 * dq).gravity]), np.zeros(m.nv))[0]
        assert m.gravity_effects(q) == pytest.approx(slope, rel=1e-12)


class TestOrbits:
    def test_kepler_for_a_day(self) -> None:
        m, r, v = satellite(), np.array([7e6, 1e5, -2e5]), np.array([200.0, 6500.0, 5000.0])
        end = 86400.0
        start = m.configuration({"base": [*r, 0, 0, 0, 1]})
        run = tt.simulate(m, [0.0, end], start, [*v, 0, 0, 0], rtol=1e-12, atol=1e-9, progress=False)
        assert np.linalg.norm(run.q[-1, :3] - kepler(r, v, end)) < 1e-3  # a day's rounding and 1e-12 of 7e6 m a step
        energy = [m.energy(run.q[k], run.v[k]).total for k in (0, -1)]
        assert energy[1] == pytest.approx(energy[0], rel=1e-11)

    def test_node_and_perigee_drift_as_oblateness_says(self) -> None:
        a, e, i = 8e6, 0.05, 0.9
        m, n, p = satellite(OBLATE), np.sqrt(MU / a**3), a * (1 - e**2)
        r, v = state_of(a, e, i, 0.3, 0.5, 0.0)
        turns = 20
        q = m.configuration({"base": [*r, 0, 0, 0, 1]})
        times = np.linspace(0.0, turns * 2 * np.pi / n, 64 * turns + 1)
        run = tt.simulate(m, times, q, [*v, 0, 0, 0], rtol=1e-10, atol=1e-6, progress=False)
        rates = m.integrate(q, np.zeros(6))  # attitude stays, so that twists are inertial velocities
        assert (run.q[:, 3:] == rates[3:]).all()
        nodes, perigees = np.unwrap([elements(*state) for state in zip(run.q[:, :3], run.v[:, :3], strict=True)], axis=0).T
        drift = 1.5 * n * J2 * (RADIUS / p) ** 2
        # of first order in J2, beside short periods that a fit over whole turns leaves a part of
        assert np.polyfit(times, nodes, 1)[0] == pytest.approx(-drift * np.cos(i), rel=0.01)
        assert np.polyfit(times, perigees, 1)[0] == pytest.approx(drift * (2 - 2.5 * np.sin(i) ** 2), rel=0.02)

    def test_large_libration_is_an_elliptic_function(self) -> None:
        """In a circular orbit the pitch is a pendulum's: ``theta'' = -(3 n^2/2) (B - A)/C sin 2 theta``."""
        A, B, C = 10.0, 16.0, 20.0
        m, r, swing = satellite(inertia=[A, B, C]), 7e6, 1.2
        n = np.sqrt(MU / r**3)
        end, k = 2 * np.pi / n, np.sqrt(3 * (B - A) / C)  # small swings are k times as fast as the orbit
        q = m.configuration({"base": [r, 0, 0, 0, 0, np.sin(swing / 2), np.cos(swing / 2)]})
        v = np.array([*m.pose("hub", q)[0].T @ [0, n * r, 0], 0, 0, n])
        run = tt.simulate(m, [0.0, end], q, v, rtol=1e-12, atol=1e-10, progress=False)
        R = m.pose("hub", run.q[-1])[0]
        pitch = np.arctan2(R[1, 0], R[0, 0]) - np.arctan2(run.q[-1, 1], run.q[-1, 0])
        modulus = np.sin(swing) ** 2  # that of the pendulum 2 theta
        sn = ellipj(ellipk(modulus) - k * n * end, modulus)[0]
        assert np.sin(pitch) == pytest.approx(np.sin(swing) * sn, abs=1e-8)

    @pytest.mark.parametrize("engine", ["reference", "compiled"])
    def test_tension_of_a_dumbbell(self, engine: str) -> None:
        """Two points on a massless rod, upright: ``T = m (w^2 r - mu/r^2)``, with the w at which both go round together."""
        mass, inner, outer = 5.0, 7e6 - 2e4, 7e6 + 2e4
        s = tt.System("dumbbell", gravity=EARTH)
        for name, place in (("inner", inner), ("outer", outer)):
            s.connect("world", tt.RigidBody(name, mass, inertia=1.0), tt.Free(f"{name}_base"), placement=[place, 0, 0])
        s.close_loop(*(each.child for each in s.connections), tt.Distance("rod", length=outer - inner))
        m = s.resolve(engine=engine)
        w2 = MU * (inner**-2 + outer**-2) / (inner + outer)
        q = m.neutral()
        v = m.velocity({"inner_base": [0, np.sqrt(w2) * inner, 0, 0, 0, 0], "outer_base": [0, np.sqrt(w2) * outer, 0, 0, 0, 0]})
        a = m.forward_dynamics(q, v)
        tension = mass * (w2 * outer - MU / outer**2)
        # of the size of 3 m w^2 times half the length: 1e-3 of what both terms are, which costs three digits
        assert m.reaction("rod", q, v, a)[:3] == pytest.approx([-tension, 0, 0], rel=1e-9, abs=1e-12)


def kepler(r: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
    """Return the position after a time, by universal variables (Battin, section 4.5), with Newton's method."""
    size, root, radial = np.linalg.norm(r), np.sqrt(MU), r @ v / np.sqrt(MU)
    alpha = 2 / size - v @ v / MU
    x = root * alpha * t
    for _ in range(50):
        z = alpha * x * x
        c, s = (1 - np.cos(np.sqrt(z))) / z, (np.sqrt(z) - np.sin(np.sqrt(z))) / z**1.5
        reached = x**3 * s + radial * x**2 * c + size * x * (1 - z * s)
        x += (root * t - reached) / (x**2 * c + radial * x * (1 - z * s) + size * (1 - z * c))
    z = alpha * x * x
    c, s = (1 - np.cos(np.sqrt(z))) / z, (np.sqrt(z) - np.sin(np.sqrt(z))) / z**1.5
    position: np.ndarray = (1 - x**2 / size * c) * r + (t - x**3 / root * s) * v
    return position


def state_of(a: float, e: float, i: float, node: float, perigee: float, anomaly: float) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity of Keplerian elements."""
    p, f = a * (1 - e * e), anomaly
    plane = (
        p / (1 + e * np.cos(f)) * np.array([np.cos(f), np.sin(f), 0]),
        np.sqrt(MU / p) * np.array([-np.sin(f), e + np.cos(f), 0]),
    )
    turns = [(2, node), (0, i), (2, perigee)]
    R = np.eye(3)
    for axis, angle in turns:
        c, s, (j, k) = np.cos(angle), np.sin(angle), ((axis + 1) % 3, (axis + 2) % 3)
        turn = np.eye(3)
        turn[j, j], turn[j, k], turn[k, j], turn[k, k] = c, -s, s, c
        R = R @ turn
    return R @ plane[0], R @ plane[1]


def elements(r: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Return the angles of node and perigee of the osculating orbit."""
    h = np.cross(r, v)
    node, towards = np.array([-h[1], h[0], 0.0]), np.cross(v, h) / MU - r / np.linalg.norm(r)
    across = np.cross(h / np.linalg.norm(h), node)
    return float(np.arctan2(node[1], node[0])), float(np.arctan2(towards @ across, towards @ node))


def test_equilibria_are_found_where_loads_are_raised_in_steps() -> None:
    """A double pendulum on a planet hangs along gravity: its search begins far away, and a field stays whole."""
    s = tt.System("tower", gravity=tt.CentralGravity(1e7, 2000.0, j2=0.1, axis=[0.2, -0.3, 1.0]))
    s.world.add_port("top", [2500.0, 100.0, 300.0])
    upper = tt.RigidBody("upper", 1.0, [-1.0, 0.1, 0], 0.2, ports={"end": [-2, 0, 0]})
    s.connect(s.world.port("top"), upper, tt.Universal("hinge", damping=0.1, armature=0.05))
    lower = tt.RigidBody("lower", 2.0, [-0.5, 0, 0.1], 0.3)
    s.connect(upper.port("end"), lower, tt.Revolute("knee", [0, 1, 0], stiffness=0.1))
    point = tt.trim(s.resolve(), prefer="stable")
    assert point.stability == "stable"
    assert np.abs(point.model.gravity_effects(point.q) - point.model.passive_efforts(point.q, point.v)).max() < 1e-8  # N m
