"""The ten numbers of a rigid body, against material points."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.refusals import refusal
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.bodies.inertial_numbers import NAMES, inertial_derivatives, inertial_numbers, own_numbers, wrenches_of_numbers
from titop.blocks.bodies.rigid_body import INERTIAL_NAMES

Array = NDArray[np.float64]
RNG = np.random.default_rng(0)
MASSES, PLACES = RNG.uniform(0.5, 2.0, 6), RNG.normal(size=(6, 3))
#: Sums of six terms of size one.
ROUNDING = 1e-13


def made_of_points() -> tt.RigidBody:
    """Return the body of six material points."""
    mass, com = MASSES.sum(), MASSES @ PLACES / MASSES.sum()
    off = PLACES - com
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(MASSES, off, strict=True))
    return tt.RigidBody("b", mass, com, inertia)


def test_numbers_are_moments_of_mass_about_the_frame() -> None:
    x, y, z = PLACES.T
    moments = [np.ones(6), x, y, z, y**2 + z**2, x**2 + z**2, x**2 + y**2, -x * y, -x * z, -y * z]
    np.testing.assert_allclose(inertial_numbers([made_of_points()])[0], np.array(moments) @ MASSES, rtol=0, atol=ROUNDING)
    assert (len(NAMES), NAMES[0], NAMES[3], NAMES[7]) == (10, "mass", "moment.z", "inertia_at_frame.xy")


def test_own_numbers_are_the_bodys() -> None:
    body = made_of_points()
    own = [value for name, (value, _) in body.parameters().items() if name in INERTIAL_NAMES]
    found = dict(zip(INERTIAL_NAMES, own_numbers(["b"], inertial_numbers([body]))[0], strict=True))
    in_order = [found[name] for name in body.parameters() if name in INERTIAL_NAMES]
    np.testing.assert_allclose(in_order, own, rtol=0, atol=ROUNDING)


def test_massless_bodies_have_no_first_moments() -> None:
    np.testing.assert_array_equal(own_numbers(["b"], np.zeros((1, 10)))[0], np.zeros(10))
    with refusal("massless-moment", "b: got [0"):
        own_numbers(["a", "b"], np.eye(10)[[0, 2]])


def test_derivatives_are_complex_steps() -> None:
    body = made_of_points()
    own = np.array([body.parameters()[name][0] for name in INERTIAL_NAMES])

    def numbers(values: Array) -> Array:
        changed = body.with_parameters(dict(zip(INERTIAL_NAMES, values, strict=True)))
        assert isinstance(changed, tt.RigidBody)
        return inertial_numbers([changed])[0]

    np.testing.assert_allclose(inertial_derivatives(body), complex_step(numbers, own), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_wrenches_are_those_of_the_points(seed: int) -> None:
    """``f = m (A + w x v + dw x r + w x (w x r))`` of every point, and its moment about the frame."""
    twist, acceleration = np.random.default_rng(seed).normal(size=(2, 6))
    v, w, turning = twist[:3], twist[3:], acceleration[3:]
    forces = MASSES[:, None] * (
        acceleration[:3] + np.cross(w, v) + np.cross(turning, PLACES) + np.cross(w, np.cross(w, PLACES))
    )
    expected = np.concatenate([forces.sum(axis=0), np.cross(PLACES, forces).sum(axis=0)])
    columns, numbers = wrenches_of_numbers(twist, acceleration), inertial_numbers([made_of_points()])[0]
    np.testing.assert_allclose(columns @ numbers, expected, rtol=0, atol=10 * ROUNDING)
    numbers[7] *= -1.0  # a product of inertia with the other sign is noticed
    assert np.abs(columns @ numbers - expected).max() > 1e-3
