"""What may be left of accelerations where terms balance, in closed form for a pendulum and by what is known already."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.systems import random_state, random_tree
from titop.solvers.equilibrium.balance import excess, parts_of
from titop.solvers.equilibrium.sizes import acceleration_derivatives


def test_terms_count_without_their_signs() -> None:
    """A point of 2 kg at 0.5 m, nearly held by a torque: it leaves 1e-3 of what weight and torque do, each 20 rad/s^2."""
    s = tt.System("swing", gravity=[0, 0, -10.0])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -0.5]), tt.Revolute("hinge", axis=[1, 0, 0]))
    m = s.resolve()
    point = tt.OperatingPoint(m, [np.pi / 2], tau=[10.0 * (1 - 1e-3)])
    falling = 10.0 / m.size
    alone = 20.0 * (1 - 1e-3) + 20.0 + falling
    found = excess(point, point.residual, np.zeros(1))
    np.testing.assert_allclose(found, [[20e-3 / (1e-6 * alone)], [0.0]], rtol=1e-10)  # the residual cancels three digits
    assert abs(point.residual[0]) == pytest.approx(20e-3, rel=1e-12)


def test_every_motion_counts_alone_and_derivatives_may_be_known() -> None:
    rng = np.random.default_rng(2)
    m = random_tree(rng, 6).resolve()
    q, v, a = random_state(m, rng)[:3]
    v[0] = 0.0
    point = tt.OperatingPoint(m, q, v)
    derivatives = acceleration_derivatives(point)
    found = excess(point, a, a)
    np.testing.assert_array_equal(excess(point, a, a, derivatives), found)
    weight, efforts = m.gravity_effects(q), [m.passive_efforts(q, v)]
    efforts += [weight, m.nonlinear_effects(q, v) - weight]
    for k in range(m.nv):
        one = np.zeros(m.nv)
        one[k] = v[k]
        efforts.append(m.nonlinear_effects(q, one) - weight)
    alone = np.abs(derivatives[1]) @ np.abs(efforts).sum(axis=0)
    assert (np.abs(a) > found[0] * 1e-6 * alone).all()  # there is more that excuses accelerations
    assert (found[0] > 1).all()


@pytest.mark.parametrize(("rate", "excused"), [(1e-20, True), (1e-9, True), (1e-6, False)])
def test_rates_as_small_as_errors_are_none(rate: float, excused: bool) -> None:
    """A spring at rest that moves by a rate over its own, 10 rad/s: its acceleration changes by -100 times that."""
    s = tt.System("spring", gravity=[0, 0, 0])
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0, rest=0.5)
    s.connect("world", tt.RigidBody("arm", 1.0, inertia=[0.1, 0.5, 0.5]), hinge)
    point = tt.OperatingPoint(s.resolve(), [0.5], [rate])
    found = excess(point, point.residual, np.array([-100.0 * rate]))
    assert found[0] == 0.0
    assert (found[1, 0] < 1.0) == excused


@pytest.mark.parametrize("torque", [1e-3, 1e-8])
def test_translations_excuse_no_torque(torque: float) -> None:
    """As fast as in orbit: nothing turns, so that nothing is pushed."""
    s = tt.System("cube", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 1.0, inertia=1.5e-3 * np.ones(3)), tt.Free("base"))
    m = s.resolve()
    flying, wrenches = {"base.x": 7.5e3}, {"hub": [0, 0, 0, 0, 0, torque]}
    assert tt.trim(m, v=flying).drifting == ("base.x",)
    with pytest.raises(tt.ConvergenceError, match=r"an acceleration of base\.rz"):
        tt.trim(m, v=flying, wrenches=wrenches)
    with pytest.warns(tt.ModelWarning, match=f"base.rz: got accelerated by {torque / 1.5e-3:.3g};"):
        tt.linearize(m, tt.OperatingPoint(m, m.neutral(), m.velocity(flying), wrenches=wrenches))


def test_parts_of_next_to_nothing_are_endless_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parts_of(np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, 5e-324, 4.0]))
    assert found.tolist() == [0.0, np.inf, np.inf, 0.5]
