"""The Coriolis matrix of random trees, with a control that breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.refusals import ENGINES
from tests.solvers.model.identities import FEW, SEEDS, Array, Case, assert_equal, control_case, derivative
from tests.systems import KINDS


def assert_is_coriolis_matrix(c: Case, coriolis: Array) -> None:
    """``dM/dt - 2 C`` is skew and ``C v`` with gravity makes up the nonlinear effects."""
    matrix_rate = derivative(lambda t: c.model.mass_matrix(c.model.integrate(c.q, t * c.v)))
    difference = matrix_rate - 2 * coriolis
    scale = float(np.linalg.norm(c.model.mass_matrix(c.q)))
    # the step of the difference leaves 1e-11 of the mass matrix at chains of eight fast joints
    assert_equal(difference / scale, -difference.T / scale, 1e-9)
    assert_equal(coriolis @ c.v + c.model.gravity_effects(c.q), c.model.nonlinear_effects(c.q, c.v), 1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@FEW
def test_coriolis_matrix(engine: str, seed: int) -> None:
    c = Case(seed, engine, [kind for kind in KINDS if kind != "Weld"])
    assert_is_coriolis_matrix(c, c.model.coriolis_matrix(c.q, c.v))


@pytest.mark.parametrize("engine", ENGINES)
def test_half_the_velocity_derivative_is_no_coriolis_matrix(engine: str) -> None:
    c = control_case(engine)
    steps = np.eye(c.model.nv)
    ahead, behind = (np.array([c.model.nonlinear_effects(c.q, c.v + s * step) for step in steps]).T for s in (1.0, -1.0))
    with pytest.raises(AssertionError):
        assert_is_coriolis_matrix(c, 0.25 * (ahead - behind))  # exact, since quadratic, but for what joints of groups add
