"""The laws that follow from a block's functions: no unit of length, mass or time enters them."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import titop as tt
from tests.blocks.scaled_blocks import ACCURACY, DECADES, Lever, RealLever


def closed_form(lever: Lever, q: float, v: float, a: float, gravity: float, tip: float) -> float:
    """Return the effort on the deflection, by the angle ``asin(q / L)``; gravity pulls along -y."""
    length = lever.length
    s = q / length
    c = np.sqrt(1 - s * s)
    rate = v / (length * c)
    acceleration = (a / length + s * rate**2) / c
    inertia = (1.1 * lever.mass + 1.1 * tip) * length**2
    torque = inertia * acceleration + (lever.mass + tip) * gravity * length * c
    return torque / (length * c) + lever.stiffness * q


def model(lever: Lever, gravity: float, tip: float, engine: str) -> tt.Model:
    """Return the lever on the world, with a body of the same kind as its own mass at the tip."""
    s = tt.System("lever", gravity=[0, -gravity, 0])
    s.connect("world", tt.RigidBody("tip", tip, inertia=0.1 * tip * lever.length**2), lever)
    return s.resolve(engine)


def error(cls: type[Lever], length: float, mass: float, rate: float, engine: str = "compiled") -> float:
    """Return the relative error of the effort at a fast motion."""
    lever = cls("lever", length, mass, rate)
    q, v, a, gravity, tip = 0.6 * length, 2.0 * length * rate, -3.0 * length * rate**2, 4.0 * length * rate**2, 0.7 * mass
    with pytest.warns(tt.ModelWarning, match="not-complex-safe") if cls is RealLever else nullcontext():
        found = model(lever, gravity, tip, engine).inverse_dynamics([q], [v], [a])[0]
    expected = closed_form(lever, q, v, a, gravity, tip)
    return abs(found - expected) / abs(expected)


@pytest.mark.parametrize("cls", [Lever, RealLever])
def test_dynamics_over_twelve_decades(cls: type[Lever]) -> None:
    for size in DECADES:
        for length, mass, rate in ((size, 1.0, 1.0), (1.0, size, 1.0), (1.0, 1.0, size), (size, size**3, 1 / size)):
            assert error(cls, length, mass, rate) < ACCURACY, (length, mass, rate)
    assert error(cls, 1e-3, 1e-6, 1e3, "reference") < ACCURACY


def test_linearised_laws_over_twelve_decades() -> None:
    """In units of the lever's own, all of them have the same linearised law."""
    expected = None
    for size in DECADES:
        lever = Lever("lever", size, size**3, 1.0)
        units = np.array([size] * 3 + [1.0] * 3 + [size])
        rng = np.random.default_rng(0)
        q, motion, x = np.array([0.5 * size]), units * rng.normal(size=7), units * rng.normal(size=7)
        slopes = np.hstack(lever.law_slopes(q, motion[6:], motion[:6], x))
        slopes *= np.outer(units, [size, size, *units[:6]]) / size**5  # energies
        expected = slopes if expected is None else expected
        assert np.abs(slopes - expected).max() < ACCURACY * np.abs(expected).max(), size
