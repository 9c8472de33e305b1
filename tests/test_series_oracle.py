"""The oracle of time derivatives against closed forms and, at order zero, other engines."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.precise_series import MP, Series, array, from_derivatives, integral, sin_cos, time, turning
from tests.series_oracle import Array, Oracle, Relative, aerial_manipulator, rounded, table3
from tests.systems import random_tree

#: Fifty digits, less what sums and factorials of ten terms take.
EXACT = 1e-45

#: What the oracle needs of the velocities' derivatives for efforts up to order 5.
ROWS = 7


def swinging(instant: float, order: int) -> Series:
    """Return the angle of a pendulum, some function of time."""
    return 1.5 * sin_cos(1.3 * time(instant, order + 3))[0] + 0.2


def pendulum(at: list[float]) -> tuple[Oracle, float]:
    """Return a pendulum along `at` from its pivot, and its moment of inertia about that."""
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("arm", 1.7, com=at, inertia=[0.3, 0.2, 0.1]), tt.Revolute("hinge", axis=[0, 2, 0]))
    return Oracle(s), 0.2 + 1.7 * 0.8**2


def test_a_pendulum_needs_the_derivatives_of_its_closed_form() -> None:
    oracle, inertia = pendulum([0, 0, -0.8])
    angle = swinging(0.4, 8)
    found = oracle.inverse([Relative(turning([0, 1, 0], angle), array(np.zeros(3)) * angle)])

    def torque(t: float) -> float:
        q = 1.5 * MP.sin(MP.mpf(1.3) * t) + 0.2
        return inertia * -1.5 * MP.mpf(1.3) ** 2 * MP.sin(MP.mpf(1.3) * t) + 1.7 * 9.81 * 0.8 * MP.sin(q)

    # differences of a function that is computed in 15 digits more than the oracle's leave some 20
    with MP.workdps(120):
        expected = [MP.diff(torque, MP.mpf(0.4), k) for k in range(9)]
    assert len(found) == 9
    for value, known in zip(found[:, 0], expected, strict=True):
        assert abs(value - known) < 1e-14 * abs(known)  # its constants were multiplied in double precision
    assert abs(found[5, 0] - expected[4]) > 0.1


def test_bodies_that_nothing_turns_need_no_wrench() -> None:
    """A symmetric top in free fall: its axis goes round the angular momentum, evenly, while it spins about it."""
    s = tt.System("top", gravity=[0.5, 0, -9.81])
    s.connect("world", tt.RigidBody("top", 1.5, inertia=[0.3, 0.3, 0.5]), tt.Free("flight"))
    t, tilt, momentum = time(0.7, 10), MP.mpf(0.6), MP.mpf(2)
    across, along = MP.mpf(0.3), MP.mpf(0.5)
    spin = (1 / along - 1 / across) * momentum * MP.cos(tilt)
    fixed = turning([1, 0, 0], Series([tilt, *[0] * 9]))

    def efforts(rate: object) -> Array:
        rotation = turning([0, 0, 1], t * (momentum / across)) @ fixed @ turning([0, 0, 1], t * rate)
        fall = array([0.5, 0, -9.81]) * (0.5 * t * t) + array([0.3, -0.2, 0.9]) * t
        return rounded(Oracle(s).inverse([Relative(rotation, fall)]))

    assert np.abs(efforts(spin)).max() < EXACT * 1e5  # the eighth derivative of motions at 7 rad/s
    assert np.abs(efforts(1.001 * spin)[0]).max() > 1e-4


def test_wrenches_that_need_nothing_else_balance() -> None:
    """A body that hangs on a port's wrench of its weight, turned into its frame, needs nothing at its joint."""
    s = tt.System("hanging", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 2.0, com=[0.1, 0, 0.2], inertia=0.4, ports={"A": [0.1, 0, 0.2]})
    s.connect("world", hub, tt.Spherical("ball"))
    angle = swinging(0.4, 5)
    rotation = turning([1, 0, 0], angle)
    joints = [Relative(rotation, array(np.zeros(3)) * angle)]
    lift = rotation.T @ (array([0, 0, 2.0 * 9.81]) * Series([1, *[0] * 5]))
    wrench = np.array([*([x.derivatives() for x in lift]), *[[0] * 6] * 3], object).T
    inertia_only = Oracle(tt.System("weightless", gravity=[0, 0, 0]))
    inertia_only.system.connect("world", hub, tt.Spherical("ball"))
    unloaded = Oracle(inertia_only.system).inverse(joints)
    held = Oracle(s).inverse(joints, {"hub.A": wrench})
    assert np.abs(rounded(held - unloaded)).max() < EXACT
    assert np.abs(rounded(Oracle(s).inverse(joints) - unloaded)).max() > 1


@pytest.mark.parametrize("seed", range(12))
def test_order_zero_is_inverse_dynamics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = random_tree(rng, rng.integers(1, 8), kinds=("Revolute", "Prismatic", "Spherical", "Free", "Weld"))
    m, oracle = s.resolve(), Oracle(s)
    q, stack = m.random_configuration(rng), rng.normal(size=(2, m.nv))
    wrenches = {m.port_names[-1]: rng.normal(size=6)}
    joints = oracle.moving(q, stack)
    found = rounded(oracle.inverse(joints, {name: wrench[None] for name, wrench in wrenches.items()}))
    expected = m.inverse_dynamics(q, *stack, wrenches)
    # rounding of sums of a hundred terms
    np.testing.assert_allclose(found, [expected], rtol=1e-12, atol=1e-12 * np.abs(expected).max(initial=1))
    np.testing.assert_allclose(rounded(oracle.velocities(joints)), stack, rtol=1e-14, atol=1e-14)


def test_later_orders_are_derivatives_of_the_first() -> None:
    """Along the motion that a stack begins, efforts a little later are the Taylor sum of all orders."""
    rng = np.random.default_rng(3)
    s = random_tree(rng, 4, kinds=("Revolute", "Spherical", "Free"))
    m, oracle = s.resolve(), Oracle(s)
    q, stack = m.random_configuration(rng), rng.normal(size=(ROWS, m.nv))
    joints = oracle.moving(q, stack)
    efforts = oracle.inverse(joints)
    step = MP.mpf(1e-6)

    def later(x: Series) -> Series:
        """Return the same polynomial of time, seen a step later."""
        values, n = x.derivatives(), len(x.c)
        return from_derivatives([sum(values[k + j] * step**j / MP.factorial(j) for j in range(n - k)) for k in range(n)])

    moved = [
        Relative(
            np.array([later(x) for x in joint.rotation.flat], object).reshape(3, 3),
            np.array([later(x) for x in joint.position], object),
        )
        for joint in joints
    ]
    found = oracle.inverse(moved)[0]
    expected = sum(efforts[k] * step**k / MP.factorial(k) for k in range(len(efforts)))
    assert np.abs(rounded(found - expected)).max() < 1e-30  # six steps of 1e-6
    assert np.abs(rounded(found - efforts[0])).max() > 1e-7


@pytest.mark.parametrize("instant", [0.0, 7.3, 29.0])
def test_table_3_at_order_zero(instant: float) -> None:
    joints, q = table3(instant, 5)
    oracle, m = Oracle(aerial_manipulator()), aerial_manipulator().resolve()
    stack, efforts = oracle.velocities(joints), oracle.inverse(joints)
    assert (stack.shape, efforts.shape) == ((7, 12), (6, 12))
    expected = m.inverse_dynamics(q, *rounded(stack[:2]))
    np.testing.assert_allclose(rounded(efforts[0]), expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())
    assert np.linalg.norm(m.pose("base", q)[1]) == pytest.approx(1.0, rel=1e-15)
    peer = pytest.importorskip("tests.pinocchio_peer").Peer(aerial_manipulator())
    np.testing.assert_allclose(rounded(efforts[0]), peer.inverse_dynamics(q, *rounded(stack[:2])), rtol=1e-12, atol=1e-12)


def test_table_3_says_the_same_by_functions_and_by_stacks() -> None:
    joints, _ = table3(4.2, 5)
    oracle = Oracle(aerial_manipulator())
    stack = oracle.velocities(joints)
    q = np.array([MP.mpf(0)] * 13, object)
    q[:3] = [x.c[0] for x in joints[0].position]
    yaw = MP.radians(25) * MP.sin(MP.pi / 15 * MP.mpf(4.2))
    q[5:7] = MP.sin(yaw / 2), MP.cos(yaw / 2)
    _, along = sin_cos(time(4.2, 2) * (MP.pi / 30))
    starts, travels = (10, -5, 15, -10, 7, -12), (60, 50, 40, 55, 45, 35)
    q[7:] = [MP.radians(a) + MP.radians(b) / 2 * (1 - along.c[0]) for a, b in zip(starts, travels, strict=True)]
    apart = oracle.inverse(oracle.moving(q, stack)) - oracle.inverse(joints)
    assert np.abs(rounded(apart)).max() < EXACT


def test_series_follow_their_rules() -> None:
    x = from_derivatives([2, 3, 5, 7])
    assert [float(value) for value in (x * x).derivatives()] == [4, 12, 38, 118]
    assert [float(value) for value in integral(2, x.rate()).derivatives()] == [2, 3, 5, 7]
    s, c = sin_cos(x)
    one = (s * s + c * c).derivatives()
    assert max(abs(value - known) for value, known in zip(one, [1, 0, 0, 0], strict=True)) < EXACT
