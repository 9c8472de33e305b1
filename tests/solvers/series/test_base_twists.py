"""Twists of bases in inertial axes: against poses of ports, on mounts that are turned and off the origin."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.series_along import assert_derivatives, moved, slope
from tests.systems import Array, random_body, random_pose, random_rotation
from titop.blocks.basics.spatial import skew
from titop.solvers.series.base_twists import BaseTwists

#: A few transformations at each of five orders.
ROUNDING = 1e-11


def flying() -> tt.Model:
    """Return a base with a spring and a damper on a mount that is turned twice, and an arm."""
    rng = np.random.default_rng(0)
    s = tt.System("flying", gravity=[1, 2, -9])
    base = random_body(rng, "base")
    s.world.add_port("W", [0.3, 0.2, 0.1], random_rotation(rng))
    s.connect(s.world.port("W"), base.port("A"), tt.Free("float", damping=0.3, stiffness=2.0), random_pose(rng))
    s.connect(base.port("B"), random_body(rng, "arm"), tt.Universal("hip"))
    return s.resolve("reference")


def carried(m: tt.Model, q: Array) -> Array:
    """Return what takes body twists of the base to inertial ones, ``Ad(g)``, from the pose of its port."""
    R, p = m.pose("base.A", q)
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


@pytest.fixture(scope="module")
def state() -> tuple[tt.Model, Array, Array]:
    m, rng = flying(), np.random.default_rng(1)
    return m, m.random_configuration(rng), rng.normal(size=(5, m.nv))


def test_twists_are_those_of_the_pose(state: tuple[tt.Model, Array, Array]) -> None:
    m, q, stack = state
    bases = BaseTwists(m.mechanism, "spatial")

    def spatial(h: float) -> Array:
        return bases.to_spatial(*moved(m, q, stack, h))[:, :6]

    rows = assert_derivatives(spatial)
    np.testing.assert_allclose(rows[0], carried(m, q) @ stack[0, :6], rtol=0, atol=1e-13)
    # and of the pose's own derivative: dR/dt R^T, and the velocity of what is at the origin
    R, p = m.pose("base.A", q)
    turning = slope(lambda h: m.pose("base.A", moved(m, q, stack, h)[0])[0])
    velocity = slope(lambda h: m.pose("base.A", moved(m, q, stack, h)[0])[1])
    np.testing.assert_allclose(skew(rows[0, 3:]), turning @ R.T, rtol=0, atol=1e-9)  # differences
    np.testing.assert_allclose(rows[0, :3], velocity - np.cross(rows[0, 3:], p), rtol=0, atol=1e-9)


def test_there_and_back(state: tuple[tt.Model, Array, Array]) -> None:
    m, q, stack = state
    bases = BaseTwists(m.mechanism, "spatial")
    spatial = bases.to_spatial(q, stack)
    np.testing.assert_array_equal(spatial[:, 6:], stack[:, 6:])
    np.testing.assert_allclose(bases.to_body(q, spatial), stack, rtol=0, atol=ROUNDING)
    efforts = np.random.default_rng(2).normal(size=(4, m.nv))
    there = bases.wrenches_to_spatial(q, stack, efforts)
    np.testing.assert_allclose(bases.wrenches_to_body(q, stack, there), efforts, rtol=0, atol=ROUNDING)
    # power is the same in both
    np.testing.assert_allclose(there[0] @ spatial[0], efforts[0] @ stack[0], rtol=1e-13)
    assert np.abs(spatial - stack).max() > 1.0  # the control


def test_dynamics_in_any_causality(state: tuple[tt.Model, Array, Array]) -> None:
    m, q, stack = state
    spatial = BaseTwists(m.mechanism, "spatial").to_spatial(q, stack)
    tau = m.inverse_dynamics_series(q, spatial, twists="spatial")

    def wrench(h: float) -> Array:
        at, later = moved(m, q, stack, h)
        efforts = m.inverse_dynamics(at, later[0], later[1])
        return np.concatenate([np.linalg.solve(carried(m, at).T, efforts[:6]), efforts[6:]])

    np.testing.assert_allclose(tau[0], wrench(0.0), rtol=0, atol=1e-12 * np.abs(tau[0]).max())
    np.testing.assert_allclose(tau[1], slope(wrench), rtol=0, atol=1e-8 * np.abs(tau[:2]).max())
    size, strength = np.abs(spatial).max(), np.abs(tau).max()
    a = m.forward_dynamics_series(q, spatial[0], tau, twists="spatial")
    np.testing.assert_allclose(a, spatial[1:], rtol=0, atol=ROUNDING * size)
    for held, names in ((np.arange(m.nv) < 6, ["float"]), (np.arange(m.nv) == 6, ["hip.first"])):
        given = np.where(held, 9.0, tau), np.where(held, spatial[1:], 9.0)
        a, efforts = m.hybrid_dynamics_series(q, spatial[0], *given, names, twists="spatial")
        np.testing.assert_allclose(a, spatial[1:], rtol=0, atol=ROUNDING * size)
        np.testing.assert_allclose(efforts, tau, rtol=0, atol=ROUNDING * strength)
    for one, two in zip(
        m.motion_series("arm.A", q, spatial, twists="spatial"), m.motion_series("arm.A", q, stack), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=0, atol=ROUNDING * (1 + np.abs(two).max()))


def test_other_joints_are_as_they_were() -> None:
    s = tt.System("fixed")
    body = random_body(np.random.default_rng(0), "body")
    s.connect("world", body, tt.Spherical("ball"))
    s.connect(body, random_body(np.random.default_rng(1), "moon"), tt.Free("orbit"))
    m = s.resolve("reference")
    assert not BaseTwists(m.mechanism, "spatial")
    assert not BaseTwists(flying().mechanism, "body")
    assert BaseTwists(flying().mechanism, "spatial")


def test_parts_of_a_base_and_other_words_are_refused(state: tuple[tt.Model, Array, Array]) -> None:
    m, q, stack = state
    tau = np.zeros((4, m.nv))
    with refusal("part-of-base", "prescribed: got float; expected all six coordinates of a base, or none"):
        m.hybrid_dynamics_series(q, stack[0], tau, stack[1:], ["float.x", "hip"], twists="spatial")
    m.hybrid_dynamics_series(q, stack[0], tau, stack[1:], ["float.x", "hip"])
    with refusal("unknown-twists", "did you mean 'spatial'"):
        m.inverse_dynamics_series(q, stack, twists="spacial")
    with refusal("unknown-twists", 'expected "body" or "spatial"'):
        m.inverse_dynamics_series(q, stack, twists=np.zeros(2))
