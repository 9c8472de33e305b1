"""What efforts alone cause, by the factors of an elimination: the mass matrix gives the efforts back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.flexible import random_system
from tests.systems import random_state, random_tree


@pytest.mark.parametrize("seed", range(4))
def test_the_mass_matrix_gives_the_efforts_back(seed: int) -> None:
    """The adjoint's derivatives by the efforts, in trees of all joints and with flexible bodies; at another state they differ.

    What is left of sums of some twenty products is rounding.
    """
    rng = np.random.default_rng(seed)
    model = (random_tree(rng, 7, passive=True) if seed < 3 else random_system(rng)).resolve()
    q, v, _, tau = random_state(model, rng)
    efforts = rng.normal(size=(2, model.nv))
    mass = model.mass_matrix(q)
    for one, caused in zip(efforts, model.forward_dynamics_adjoint(q, v, tau, efforts)[2], strict=True):
        sizes = np.abs(mass) @ np.abs(caused) + np.abs(one)
        assert (np.abs(mass @ caused - one) / sizes).max() < 1e-13
        other = model.mass_matrix(model.random_configuration(rng))
        assert (np.abs(other @ caused - one) / sizes).max() > 1e-4
