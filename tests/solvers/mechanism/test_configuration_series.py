"""Configurations along a motion: against finite turns, integration in small steps, and their own equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import refusal
from tests.solvers.series_along import at_time, slope
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import derivatives_of, taylor_array
from titop.solvers.mechanism.coordinates import configuration_series, integral, quaternion_series

#: Recurrences of a few orders.
ROUNDING = 1e-14


def on_group(joint: tt.Joint, seed: int, rows: int = 9) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return joint.random_configuration(rng), rng.normal(size=(rows, joint.nv))


def test_plain_coordinates_are_integrated_termwise() -> None:
    q, stack = np.array([0.3, -0.2]), np.random.default_rng(0).normal(size=(4, 2))
    series = configuration_series(tt.Universal("u"), q, stack)
    np.testing.assert_allclose(derivatives_of(series, 3), [q, *stack[:3]], rtol=ROUNDING)


def test_a_steady_turn_is_the_exponential() -> None:
    """At 0.5 s and 2 rad/s, terms of order 24 are below rounding."""
    joint, w = tt.Spherical("ball"), np.array([0.5, -1.0, 1.5])
    q = joint.random_configuration(np.random.default_rng(1))
    stack = np.zeros((25, 3))
    stack[0] = w
    found = [np.polyval(entry.coefficients[::-1], 0.5) for entry in configuration_series(joint, q, stack)]
    expected = (Rotation.from_quat(q) * Rotation.from_rotvec(0.5 * w)).as_quat()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    reversed_turn = (Rotation.from_rotvec(0.5 * w) * Rotation.from_quat(q)).as_quat()
    assert np.abs(found - reversed_turn).max() > 0.1  # the control: the turn in the other frame


def test_a_steady_screw_is_the_exponential() -> None:
    joint, V = tt.Free("free"), np.array([0.3, 0.2, -0.4, 0.5, -1.0, 1.5])
    q = joint.random_configuration(np.random.default_rng(1))
    stack = np.zeros((25, 6))
    stack[0] = V
    found = [np.polyval(entry.coefficients[::-1], 0.5) for entry in configuration_series(joint, q, stack)]
    np.testing.assert_allclose(found, joint.integrate(q, 0.5 * V), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_quaternions_stay_unit(seed: int) -> None:
    """All derivatives of the norm's square are zero, to roundings of terms of order one (divided by factorials)."""
    q, stack = on_group(tt.Spherical("ball"), seed)
    turned = quaternion_series(q, taylor_array(stack))
    norm = turned @ turned
    np.testing.assert_allclose(norm.coefficients, [1.0, *[0.0] * 8], rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", ["Spherical", "Free"])
@pytest.mark.parametrize("seed", range(2))
def test_derivatives_are_those_of_differences(kind: str, seed: int) -> None:
    """Of one more order each, a little later along the same motion: what moves follows from its own series alone."""
    joint: tt.Joint = getattr(tt, kind)("joint")
    q, stack = on_group(joint, seed, 5)
    whole = configuration_series(joint, q, np.vstack([stack, np.zeros((12, joint.nv))]))

    def later(h: float) -> Any:
        at = np.array([np.polyval(entry.coefficients[::-1], h) for entry in whole])
        return derivatives_of(configuration_series(joint, at, at_time(stack, h)), 4)

    rows, differences = later(0.0), slope(later)
    for k in range(4):
        np.testing.assert_allclose(rows[k + 1], differences[k], rtol=0, atol=1e-9 * np.abs(rows).max())


@pytest.mark.parametrize("seed", range(2))
def test_the_velocity_is_the_twist_turned(seed: int) -> None:
    joint = tt.Free("free")
    q, stack = on_group(joint, seed, 6)
    series = configuration_series(joint, q, stack)
    rotation, position = joint.pose("C", series)
    velocity = rotation @ taylor_array(stack[:, :3])
    rates = np.array([entry.rate.coefficients[:-1] for entry in position])
    expected = np.array([entry.coefficients[:-1] for entry in velocity])
    np.testing.assert_allclose(rates, expected, rtol=0, atol=1e-13)  # sums of a few products of order one


def test_integral() -> None:
    rate = taylor_array(np.array([[2.0], [3.0], [4.0]]))[0]
    np.testing.assert_array_equal(integral(1.0, rate).coefficients, [1.0, 2.0, 1.5])


class Turning(tt.Block):
    """A user's joint whose configuration is not its coordinates, and no quaternion."""

    coordinates = ("turn",)
    ports = ("C",)

    @property
    def configuration_names(self) -> tuple[str, ...]:
        return ("cosine", "sine")


def test_other_coordinates_are_refused_by_name() -> None:
    with refusal("no-series", "wheel: got ('cosine', 'sine'); expected plain coordinates or a quaternion"):
        configuration_series(Turning("wheel"), np.array([1.0, 0.0]), np.ones((3, 1)))
