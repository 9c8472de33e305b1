"""Capsules that touch convex shapes: distances by other formulas, the gradient of the energy, impacts, rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import titop as tt
from tests.energy_balance import balance
from tests.tolerances import TIGHT
from titop.blocks.basics.spatial import rotation_exp
from titop.blocks.contract.target_motion import TargetMotion

RADIUS, LENGTH = 0.1, 0.6
SHAPES = {
    "sphere": tt.Shape.sphere(0.3),
    "round": tt.Shape.cylinder(0.2),
    "barrel": tt.Shape.cylinder(0.3, 0.4),
    "box": tt.Shape.box([0.6, 0.4, 0.3]),
    "capsule": tt.Shape.capsule(0.15, 0.5),
}


def capsule(shape: tt.Shape, **given: Any) -> tt.Contact:
    return tt.Contact("touch", None, 1e3, shape=shape, on=tt.Shape.capsule(RADIUS, LENGTH), **given)


def at(R: Any, r: Any) -> TargetMotion:
    """Return the motion of a port at rest in another one."""
    none = np.zeros(0)
    return TargetMotion(np.array([np.eye(3), R]), np.array([np.zeros(3), r]), np.zeros((2, 6)), none, none, none)


def _rotation(rng: np.random.Generator) -> Any:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def beyond(shape: tt.Shape, place: Any) -> float:
    """Return the distance of a place outside from a shape, written for itself."""
    x, y, z = place
    own = shape.dimensions
    if shape.kind == "box":
        return float(np.linalg.norm(np.maximum(np.abs(place) - 0.5 * own["sides"], 0.0)))
    if shape.kind == "capsule":
        return float(np.linalg.norm([x, y, max(abs(z) - 0.5 * own["length"], 0.0)])) - own["radius"]
    if shape.kind == "sphere":
        return float(np.linalg.norm(place)) - own["radius"]
    aside = np.hypot(x, y) - own["radius"]
    if own["length"] is None:
        return float(aside)
    return float(np.hypot(max(aside, 0.0), max(abs(z) - 0.5 * own["length"], 0.0)))


@pytest.mark.parametrize("name", SHAPES)
def test_capsules_are_as_far_away_as_the_nearest_place_of_their_axis(name: str) -> None:
    """By Brent's search along the axis, whose minimum is good to the square of its 1e-9."""
    shape, contact, ends = SHAPES[name], capsule(SHAPES[name]), 0
    rng = np.random.default_rng(3)
    for _ in range(40):
        R, r = _rotation(rng), rng.normal(size=3)
        half = 0.5 * LENGTH
        found = minimize_scalar(
            lambda s, R=R, r=r: beyond(shape, r + s * R[:, 2]), bounds=(-half, half), method="bounded", options={"xatol": 1e-9}
        )
        expected = min(found.fun, *(beyond(shape, r + s * R[:, 2]) for s in (-half, half)))
        gap = contact.gaps(at(R, r))[0]
        if expected > 1e-3:
            assert gap + RADIUS == pytest.approx(expected, abs=1e-12)
            ends += half - abs(found.x) < 1e-6
    assert 5 < ends < 35  # at the ends, and between them


def segments_apart(p: Any, u: Any, a: float, q: Any, w: Any, b: float) -> float:
    """Return the distance of two lines, by the closed form of the sides and the inside of the square of their parameters."""
    d, c = p - q, u @ w
    s, t = np.linalg.solve([[1.0, -c], [-c, 1.0]], [-u @ d, w @ d])
    candidates = [(s, t)] if abs(s) <= a and abs(t) <= b else []
    candidates += [(x, np.clip(w @ (d + x * u), -b, b)) for x in (-a, a)]
    candidates += [(np.clip(u @ (x * w - d), -a, a), x) for x in (-b, b)]
    return float(min(np.linalg.norm(d + x * u - y * w) for x, y in candidates))


def test_two_capsules_are_as_far_apart_as_their_axes() -> None:
    contact, rng = capsule(SHAPES["capsule"]), np.random.default_rng(5)
    for _ in range(200):
        R, r = _rotation(rng), 0.5 * rng.normal(size=3)
        apart = segments_apart(r, R[:, 2], 0.5 * LENGTH, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.25)
        assert contact.gaps(at(R, r))[0] == pytest.approx(apart - 0.15 - RADIUS, abs=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_what_capsules_push_with_is_the_gradient_of_their_energy(name: str) -> None:
    """Which it would not be at any other place of the axis."""
    tt.check_block(capsule(SHAPES[name], dissipation=0.3, friction=0.4, slip_velocity=0.2))
    contact, rng = capsule(SHAPES[name]), np.random.default_rng(7)
    pressed = 0
    for _ in range(100):
        R, r = _rotation(rng), 0.35 * rng.normal(size=3)
        if not -RADIUS < contact.gaps(at(R, r))[0] < 0.0:
            continue
        pressed += 1
        wrench, h = contact.wrenches(R, r, np.zeros(6), np.zeros(6))[1], 1e-5
        for k in range(6):
            e = np.eye(6)[k]
            one, two = (contact.energy(*_moved(R, r, sign * h * e)) for sign in (1.0, -1.0))
            # central differences of 1e-5: a millionth of the curvature, 1e3 N/m^1.5 on 0.3 m of lever, and rounding
            assert wrench[k] == pytest.approx(-(one - two) / (2 * h), abs=1e-6)
    assert pressed >= 3


def _moved(R: Any, r: Any, step: Any) -> tuple[Any, Any]:
    return R @ rotation_exp(step[3:]), r + R @ step[:3]


def two_free(shape: tt.Shape, **given: Any) -> tt.Model:
    s = tt.System("two", gravity=[0, 0, 0])
    for name, mass in (("one", 1.0), ("two", 2.0)):
        body = tt.RigidBody(name, mass=mass, com=[0.02, 0.01, 0.0], inertia=[0.02, 0.03, 0.03])
        s.connect("world", body, tt.Free(f"{name}_moves"))
    s.close_loop(s["one"], s["two"], capsule(shape, **given))
    return s.resolve()


def meeting(m: tt.Model) -> tuple[Any, Any]:
    """Return a state in which the second comes towards the first, turning."""
    q = m.configuration({"two_moves": [0.55, 0.05, 0.03, *np.array([0.4, 0.1, 0.0, 0.9]) / np.sqrt(0.98)]})
    return q, m.velocity({"two_moves": [-2.0, 0.3, 0.1, 3.0, 2.0, -5.0]})


@pytest.mark.parametrize("name", SHAPES)
def test_capsules_keep_momentum_and_lose_what_friction_takes(name: str) -> None:
    laws: dict[str, Any] = {"dissipation": 0.2, "friction": 0.4, "slip_velocity": 0.05, "rolling": 1e-3}
    m = two_free(SHAPES[name], **laws)
    q, v = meeting(m)
    end = 0.12 if name == "box" else 0.4  # after that its axis passes through being parallel to a side: the push jumps
    trajectory = tt.simulate(m, np.linspace(0, end, 101), q, v, **TIGHT)
    assert 1e-3 < trajectory.contacts().depth.max() < RADIUS
    momentum = np.array([m.momentum(*at) for at in zip(trajectory.q, trajectory.v, strict=True)])
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), rtol=0, atol=1e-9)  # `ACCURACY`
    lost, taken = balance(m, q, v, end, **TIGHT)
    assert lost > 0.01
    assert taken == pytest.approx(lost, rel=1e-7)


def test_a_capsule_across_a_cylinder_is_pushed_where_it_touches() -> None:
    """20 mm deep at 50 mm from its middle, by closed forms."""
    contact = capsule(tt.Shape.cylinder(0.2))
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    wrench = contact.wrenches(along_y, np.array([0.28, 0.05, 0.1]), np.zeros(6), np.zeros(6))[1].reshape(2, 3) @ along_y.T
    push = 1e3 * 0.02**1.5
    np.testing.assert_allclose(wrench, [[push, 0, 0], [0, 0, 0.05 * push]], rtol=0, atol=1e-12)


def test_a_capsule_rests_across_a_cylinder_as_deep_as_its_weight_says() -> None:
    s = tt.System("across", gravity=[0, 0, -9.81])
    s.world.add_port("log", rotation=_turned("y"))
    bar = tt.RigidBody("bar", mass=2.0, ports={"along": tt.Pose([0, 0, 0], _turned("x"))})
    s.connect("world", bar, tt.Prismatic("up", axis=[0, 0, 1]))
    s.close_loop(s.world.port("log"), bar.port("along"), capsule(tt.Shape.cylinder(0.2)))
    point = tt.trim(s.resolve(), q=[0.29])
    assert 0.3 - point.q[0] == pytest.approx((2.0 * 9.81 / 1e3) ** (2 / 3), rel=1e-8)


def _turned(axis: str) -> Any:
    return Rotation.from_euler(axis, np.pi / 2)
