"""Compliant closures act with minus the gradient of their energy."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.port_pairs import FIRST, STEP, Motion
from titop.blocks.constraints.closure import displacement, relative_pose


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
