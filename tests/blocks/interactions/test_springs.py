"""Springs and dampers between two points."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.port_pairs import FIRST, STEP, Motion
from tests.refusals import ENGINES
from titop.blocks.constraints.closure import displacement, relative_pose


def test_a_spring_without_length_is_linear_in_the_distance_and_silent_at_none() -> None:
    spring = tt.SpringDamper("spring", stiffness=7.0)
    np.testing.assert_allclose(spring.wrenches(np.eye(3), np.array([1.0, 2, 3]), np.zeros(6), np.zeros(6))[0][:3], [7, 14, 21])
    assert not np.any(spring.wrenches(np.eye(3), np.zeros(3), np.zeros(6), np.ones(6)))


def test_a_spring_that_pushes_is_warned_of() -> None:
    errors, (warning,) = tt.SpringDamper("s", stiffness=-1.0).check()
    assert not errors
    assert "s.stiffness: got -1.0" in str(warning)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("place", [0.0, 1e-17, 0.3])
def test_a_spring_without_length_is_as_stiff_where_its_ends_meet(engine: str, place: float) -> None:
    """``-k / m`` along all axes, also at the place where no line is defined, or of rounding alone."""
    s = tt.System("point", gravity=[0, 0, 0])
    bead = tt.RigidBody("bead", mass=2.0, inertia=1.0)
    s.connect("world", bead, tt.Free("free"))
    s.close_loop("world", bead, tt.SpringDamper("spring", stiffness=10.0, damping=0.1))
    m = s.resolve(engine)
    q = np.array([place, 0, 0, 0, 0, 0, 1.0])
    found = m.forward_dynamics_derivatives(q, np.zeros(6))[0][:3, :3]
    np.testing.assert_allclose(found, -5.0 * np.eye(3), atol=1e-14)  # a handful of operations


@pytest.mark.parametrize("engine", ENGINES)
def test_a_spring_pushed_together_does_nothing(engine: str) -> None:
    s = tt.System("point", gravity=[0, 0, 0])
    bead = tt.RigidBody("bead", mass=2.0, inertia=1.0)
    s.connect("world", bead, tt.Free("free"))
    s.close_loop("world", bead, tt.SpringDamper("spring", stiffness=10.0, damping=0.1, length=1.0))
    m, v = s.resolve(engine), np.array([1.0, 2.0, 3.0, 0, 0, 0])
    assert not m.forward_dynamics([0, 0, 0, 0, 0, 0, 1.0], v).any()
    assert all(np.isfinite(part).all() for part in m.forward_dynamics_derivatives([0, 0, 0, 0, 0, 0, 1.0], v))


# -- compliant closures act with minus the gradient of their energy


def test_compliant_closure_acts_with_minus_the_gradient_of_its_energy():
    rng = np.random.default_rng(7)
    root = rng.normal(size=(6, 6))
    closure = tt.CompliantClosure("pad", stiffness=root @ root.T, damping=2.0)
    one = Motion(rng)
    two = Motion(rng, one, 0.5)
    R, r = relative_pose(one(0.0), two(0.0))
    W1, W2 = closure.wrenches(R, r, one.V, two.V)
    energies = [closure.energy(*relative_pose(one(k * STEP), two(k * STEP))) for k in range(-3, 4)]
    rates = FIRST @ [displacement(*relative_pose(one(k * STEP), two(k * STEP))) for k in range(-3, 4)] / STEP
    power = W1 @ one.V + W2 @ two.V
    # differences of energies of 10 J over 1e-3 s: 1e-12 relative
    assert power == pytest.approx(-FIRST @ energies / STEP - 2.0 * rates @ rates, rel=1e-10)
    inertial = [one.rotation @ W1[:3], two.rotation @ W2[:3]]
    assert inertial[0] + inertial[1] == pytest.approx(np.zeros(3), abs=1e-12)
