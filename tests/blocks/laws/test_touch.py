"""The law of contacts at a sphere, against the same written with vectors, and with distances by cases of each shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.taylor import Taylor
from titop.blocks.laws.touch import bristle_rate, pressed_energy, touch

SHAPES = {
    "plane": tt.Shape.plane([0, 1, 1]),
    "sphere": tt.Shape.sphere(0.3),
    "round": tt.Shape.cylinder(0.4),
    "hollow": tt.Shape.cylinder(0.9, inside=True),
    "barrel": tt.Shape.cylinder(0.4, 1.0),
    "box": tt.Shape.box([1, 0.5, 0.3]),
    "capsule": tt.Shape.capsule(0.2, 1.0),
}
STIFFNESS, DISSIPATION, FRICTION, SLIP, ROLLING, BRISTLES = 300.0, 0.4, 0.6, 0.05, 0.03, 50.0
RADIUS = 0.7


def distance(name: str, r: Any) -> tuple[Any, Any]:
    """Return the distance of a place from a shape of `SHAPES` and the gradient of that: outside of the material."""
    x, y, z = r
    if name == "plane":
        n = np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0)
        return n @ r, n
    if name == "capsule":
        offset = r - np.array([0.0, 0.0, np.clip(z, -0.5, 0.5)])
    elif name == "box":
        offset = r - np.clip(r, [-0.5, -0.25, -0.15], [0.5, 0.25, 0.15])
    elif name == "barrel":
        across = np.hypot(x, y)
        inward = min(1.0, 0.4 / across)
        offset = r - np.array([inward * x, inward * y, np.clip(z, -0.5, 0.5)])
    else:
        offset = r * (1.0, 1.0, 1.0 if name == "sphere" else 0.0)
    size = max(np.linalg.norm(offset), 1e-300)  # zero inside
    radius = {"sphere": 0.3, "round": 0.4, "hollow": 0.9, "capsule": 0.2}.get(name, 0.0)
    side = -1.0 if name == "hollow" else 1.0
    return side * (size - radius), side * offset / size


def loads(name: str, exponent: float, r: Any, rate: Any, spin: Any, bristle: Any) -> tuple[Any, ...]:
    """Return gap, force, torque, slip and the rate of the bristle, None for none, as `tt.Contact` says."""
    apart, n = distance(name, r)
    depth = max(RADIUS - apart, 0.0)
    push = STIFFNESS * depth**exponent * max(1.0 - DISSIPATION * (n @ rate), 0.0)
    lever = -apart * n
    slip = (np.eye(3) - np.outer(n, n)) @ (rate + np.cross(spin, lever))
    bending, w = None, slip / np.hypot(np.linalg.norm(slip), SLIP)
    if bristle is not None:
        e = FRICTION / BRISTLES
        b = bristle - n * (n @ bristle)
        s = np.clip((b @ b / e**2 - 1.0) / 3.0, 0.0, 1.0)
        bending = slip - (3 * s**2 - 2 * s**3) * max(slip @ b, 0.0) * b / (b @ b)
        w = b / e + bending / SLIP
        w = w / (1.0 + np.linalg.norm(w) ** 8) ** 0.125
        bending = bending - SLIP / e * (bristle - b) if depth > 0 else -SLIP / e * bristle
    force = push * (n - FRICTION * w)
    rolling = ROLLING * push * RADIUS * spin / np.hypot(RADIUS * np.linalg.norm(spin), SLIP)
    return apart - RADIUS, force, np.cross(lever, force) - rolling, slip, bending


def numbers(name: str, exponent: float, bristles: float) -> Any:
    """Return the numbers of the law."""
    own = STIFFNESS, exponent, DISSIPATION, FRICTION, SLIP, ROLLING, 1.0, bristles
    return np.array([[*SHAPES[name].numbers, *own]])


def states(name: str) -> Any:
    """Yield places outside of the material, some in contact, with rates, spins and bristles of which some give in."""
    rng = np.random.default_rng(3)
    found = []
    while len(found) < 40:
        r, rate, spin, bristle = rng.normal(size=(4, 3)) * np.array([0.6, 2.0, 3.0, 0.015])[:, None]
        if distance(name, r)[0] > 0.01:
            found.append((r, rate, spin, bristle))
    gaps = [distance(name, r)[0] - RADIUS for r, *_ in found]
    assert min(gaps) < -0.1  # else nothing was compared
    return found


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.2])
@pytest.mark.parametrize("name", SHAPES)
def test_what_happens_at_a_sphere(name: str, exponent: float) -> None:
    for r, rate, spin, bristle in states(name):
        for given, stiffness in ((None, 0.0), (bristle, BRISTLES)):
            law = numbers(name, exponent, stiffness)
            gap, force, torque, slip, bending = loads(name, exponent, r, rate, spin, given)
            told = touch(law, r, rate, spin, RADIUS, bristle)
            for one, two in zip(told, (gap, force, torque, slip), strict=True):
                np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * (1.0 + np.abs(force).max()))  # some fifty operations
            assert pressed_energy(law, r, RADIUS) == pytest.approx(
                STIFFNESS * max(-gap, 0.0) ** (exponent + 1) / (exponent + 1), rel=1e-12
            )
            if given is not None:
                np.testing.assert_allclose(bristle_rate(law, r, rate, spin, RADIUS, bristle), bending, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", SHAPES)
def test_complex_steps_and_series_agree(name: str) -> None:
    """The first derivative along a line through all arguments: by complex steps, by Taylor series and by differences."""
    law, h = numbers(name, 2.2, BRISTLES), 1e-6
    for r, rate, spin, bristle in states(name)[:10]:
        begun, along = np.concatenate([r, rate, spin, bristle]), np.linspace(0.2, 1.0, 12)

        def force(x: Any) -> Any:
            return np.array(touch(law, x[:3], x[3:6], x[6:9], RADIUS, x[9:])[1])

        by_step = np.imag(force(begun + 1e-30j * along)) / 1e-30
        series = force([Taylor(np.array(pair)) for pair in zip(begun, along, strict=True)])
        by_series = [0.0 if np.isscalar(x) else x.coefficients[1] for x in series]
        np.testing.assert_allclose(by_series, by_step, rtol=0, atol=1e-11 * (1.0 + np.abs(by_step).max()))
        differences = (force(begun + h * along) - force(begun - h * along)) / (2 * h)
        # second derivatives of bristles are 1e4 times as large as first ones, and jump where they begin to give in
        np.testing.assert_allclose(differences, by_step, rtol=0, atol=1e-4 * (1.0 + np.abs(by_step).max()))
