"""Kepler's orbits against integrated ones, and states on them there and back."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import titop as tt
from tests.refusals import refusal
from tests.systems import Array

MU, RADIUS = 3.986004418e14, 6378136.3
EARTH = tt.CentralGravity(MU, RADIUS)


def random_orbit(rng: np.random.Generator, eccentricity: float = 0.3) -> tt.Orbit:
    angles = dict(zip(("inclination", "node", "perigee", "anomaly"), rng.uniform(0.2, 2.9, 4), strict=True))
    return tt.Orbit(EARTH, rng.uniform(1.2e7, 2e7), eccentricity=eccentricity, **angles)


def fallen(position: Array, velocity: Array, time: float) -> tuple[Array, Array]:
    """Return where a point mass is after a time, by integration."""

    def rate(t: float, y: Array) -> Array:
        return np.concatenate([y[3:], -MU * y[:3] / np.linalg.norm(y[:3]) ** 3])

    y = solve_ivp(rate, (0, time), np.concatenate([position, velocity]), "DOP853", rtol=1e-13, atol=1e-6).y[:, -1]
    return y[:3], y[3:]


@pytest.mark.parametrize("seed", range(4))
def test_a_point_falls_along_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    orbit = random_orbit(rng, eccentricity=(0.0, 0.01, 0.4, 0.6)[seed])
    time = rng.uniform(0.3, 2.2) * orbit.period
    axes, position = orbit.place
    there, speed = fallen(position, orbit.velocity, time)
    later = orbit.after(time)
    # the integrator leaves 1e-13 a step, over some hundred steps, of 1e7 m and 1e4 m/s
    np.testing.assert_allclose(later.place[1], there, atol=1e-2)
    np.testing.assert_allclose(later.velocity, speed, atol=1e-5)
    back = later.after(-time)
    np.testing.assert_allclose(back.place[1], position, atol=1e-6)  # 1e-13 of the distance
    np.testing.assert_allclose(
        np.cross(position, orbit.velocity) @ axes[:, 2], orbit.turning[2] * orbit.distance**2, rtol=1e-14
    )


def test_rates() -> None:
    orbit = random_orbit(np.random.default_rng(0))
    h = 10.0  # s: errors are h^2 of 1e-3 rad/s
    ahead, back = orbit.after(h), orbit.after(-h)
    turn = (orbit.place[0].T @ (ahead.place[0] - back.place[0]) / (2 * h))[1, 0]
    np.testing.assert_allclose(orbit.turning[2], turn, rtol=1e-4)
    np.testing.assert_allclose(orbit.turning[5], (ahead.turning[2] - back.turning[2]) / (2 * h), rtol=1e-4)
    assert orbit.turning[5] != 0


@pytest.mark.parametrize("seed", range(3))
def test_from_a_state(seed: int) -> None:
    orbit = random_orbit(np.random.default_rng(seed))
    again = tt.Orbit.from_state(EARTH, orbit.place[1], orbit.velocity)
    for name, (value, _) in orbit.parameters().items():
        assert again.parameters()[name][0] == pytest.approx(value, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("inclination", [0.0, 0.4, np.pi / 2, np.pi])
@pytest.mark.parametrize("eccentricity", [0.0, 0.2])
def test_from_a_state_without_node_or_perigee(inclination: float, eccentricity: float) -> None:
    orbit = tt.Orbit(EARTH, 1e7, eccentricity=eccentricity, inclination=inclination, node=0.3, perigee=0.2, anomaly=0.5)
    again = tt.Orbit.from_state(EARTH, orbit.place[1], orbit.velocity)
    assert (again.eccentricity == 0) == (eccentricity == 0)
    np.testing.assert_allclose(again.place[1], orbit.place[1], rtol=1e-13, atol=1e-6)
    np.testing.assert_allclose(again.velocity, orbit.velocity, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(again.place[0], orbit.place[0], atol=1e-12)


def test_states_there_and_back() -> None:
    rng = np.random.default_rng(3)
    orbit = random_orbit(rng)
    R = tt.Pose([1.0, -2.0, 0.5], rotation_of(rng))
    v = rng.normal(size=6)
    q, twist = orbit.state(R, v)
    back, rates = orbit.relative(q, twist)
    np.testing.assert_allclose(back[:3], R.position, atol=1e-8)  # rounding of 1e7 m
    np.testing.assert_allclose(rates, v, atol=1e-11)
    again, twice = orbit.state(back, rates)
    np.testing.assert_allclose(again, q, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(twice, twist, rtol=1e-14)
    at_rest = orbit.state()
    np.testing.assert_allclose(at_rest[0][:3], orbit.place[1])
    np.testing.assert_allclose(at_rest[1][3:], [0, 0, orbit.turning[2]])


def rotation_of(rng: np.random.Generator) -> Array:
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return matrix * np.linalg.det(matrix)


def test_velocities_are_derivatives_of_places() -> None:
    """A point at rest in Hill's frame moves as its inertial twist says."""
    orbit, h, x = random_orbit(np.random.default_rng(1)), 1.0, np.array([10.0, 2e3, -40.0])
    v = orbit.state(tt.Pose(x))[1]
    ahead, back = (orbit.after(t).state(tt.Pose(x))[0][:3] for t in (h, -h))
    np.testing.assert_allclose(orbit.place[0] @ v[:3], (ahead - back) / (2 * h), atol=1e-3)  # h^2/6 of 1e-3 m/s^3


def test_relative_gravity() -> None:
    """It is the difference of gravity at two places, which here are far enough for digits; to first order 2, -1, -1."""
    orbit = random_orbit(np.random.default_rng(2))
    axes, r0 = orbit.place
    d = np.array([3e5, -2e5, 1e5])
    expected = axes.T @ (EARTH.acceleration(r0 + axes @ d) - EARTH.acceleration(r0))
    np.testing.assert_allclose(orbit.acceleration(d), expected, rtol=1e-12, atol=1e-13)
    rate = MU / orbit.distance**3
    near = orbit.acceleration(np.array([1e-6, 2e-6, -1e-6]))
    np.testing.assert_allclose(near, rate * np.array([2e-6, -2e-6, 1e-6]), rtol=1e-12)


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("orbit-meets-ground", {"altitude": -1.0}),
        ("orbit-meets-ground", {"semi_major_axis": 8e6, "eccentricity": 0.3}),
        ("no-ellipse", {"altitude": 1e6, "eccentricity": 1.0}),
        ("no-ellipse", {"altitude": 1e6, "eccentricity": -0.1}),
        ("not-finite", {"altitude": 1e6, "anomaly": np.nan}),
    ],
)
def test_what_is_no_orbit(code: str, fields: dict[str, float]) -> None:
    s = tt.System("satellite", gravity=tt.Orbit(EARTH, **fields))
    s.connect("world", tt.RigidBody("hub", mass=1.0, inertia=1.0), tt.Free("base"))
    with refusal(code, "gravity"):
        s.resolve()


def test_heights_are_told() -> None:
    s = tt.System("satellite", gravity=tt.Orbit(EARTH, semi_major_axis=8e6, eccentricity=0.3))
    s.connect("world", tt.RigidBody("hub", mass=1.0, inertia=1.0), tt.Free("base"))
    with pytest.raises(tt.ModelError, match=r"perigee -778\.136 km and apogee 4021\.86 km"):
        s.resolve()


@pytest.mark.parametrize("arguments", [{}, {"semi_major_axis": 7e6, "altitude": 6e5}])
def test_one_size(arguments: dict[str, Any]) -> None:
    with refusal("orbit-size", "gravity"):
        tt.Orbit(EARTH, **arguments)


def test_wrong_arguments() -> None:
    orbit = tt.Orbit(EARTH, altitude=1e6)
    with refusal("wrong-type", "gravity.gravity"):
        tt.Orbit([0, 0, -9.81], altitude=1e6)  # type: ignore[arg-type]
    with refusal("no-ellipse", "velocity"):
        tt.Orbit.from_state(EARTH, [7e6, 0, 0], [0, 12e3, 0])
    with refusal("wrong-shape", "position"):
        tt.Orbit.from_state(EARTH, [7e6, 0], [0, 7e3, 0])
    with refusal("wrong-shape", "base"):
        orbit.state([0, 0, 0])
    with refusal("not-unit", "base"):
        orbit.state([0, 0, 0, 0, 0, 0, 2])
    with refusal("wrong-shape", "v"):
        orbit.state(v=[0, 0, 0])


def test_texts_and_files(tmp_path: Path) -> None:
    planet = tt.CentralGravity(MU, RADIUS, j2=1e-3, axis=[0, 0.1, 1])
    orbit = tt.Orbit(planet, semi_major_axis=8e6, eccentricity=0.1, inclination=0.3, anomaly=1.0)
    s = tt.System("satellite", gravity=orbit)
    s.connect("world", tt.RigidBody("hub", mass=1.0, inertia=1.0), tt.Free("base"))
    assert str(s).splitlines()[0] == "satellite: 1 connection, Hill's frame of an elliptic orbit, 821.86 to 2421.9 km high"
    s.save(tmp_path / "satellite.toml")
    again = tt.load(tmp_path / "satellite.toml").gravity
    assert type(again) is tt.Orbit
    assert again.parameters() == orbit.parameters()
    assert orbit.gravity.parameters() == planet.parameters()
    circular = tt.System("satellite", gravity=tt.Orbit(EARTH, altitude=7e5, node=0.2))
    assert "a circular orbit, 700 km high" in str(circular)
    copied = eval(repr(circular.gravity), {"Orbit": tt.Orbit, "CentralGravity": tt.CentralGravity})
    assert copied.parameters() == circular.gravity.parameters()


def test_a_wrong_kind_in_a_file_is_all_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "satellite.toml"
    s = tt.System("satellite", gravity=tt.Orbit(EARTH, altitude=7e5))
    s.connect("world", tt.RigidBody("hub", mass=1.0, inertia=1.0), tt.Free("base"))
    s.save(path)
    path.write_text(path.read_text().replace('kind = "orbit"', 'kind = "orbot"'))
    with warnings.catch_warnings(), refusal("unknown-kind", "system.gravity.kind"):
        warnings.simplefilter("error")  # not that no gravity is defined
        tt.load(path)
