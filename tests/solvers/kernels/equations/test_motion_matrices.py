"""The Coriolis matrix of random trees, with a control that breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.refusals import ENGINES
from tests.solvers.kernels.packed_trees import Packed
from tests.solvers.kernels.spatial.matrices_by_hand import adjoint
from tests.solvers.model.identities import FEW, SEEDS, Array, Case, assert_equal, control_case, derivative
from tests.systems import KINDS
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.kernels.equations.motion_matrices import write_rigid_momentum_matrix
from titop.solvers.kernels.interface import layout


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


# The matrix from rates to momentum, as it is written, against sums over bodies.


def test_columns_are_the_momentum_of_bodies_that_move_at_unit_rates() -> None:
    """``sum Ad^-T M J`` about the inertial origin, in inertial axes."""
    packed = Packed(4, bodies=8)
    count, nv = packed.ints[0, layout.ELEMENTS], packed.model.nv
    found, sums = np.full((6, nv), np.nan), np.empty((count, layout.SUM_COLUMNS))
    write_rigid_momentum_matrix(packed.ints, packed.floats, packed.work(), sums, np.empty(count, dtype=np.int64), found)
    expected = np.zeros((6, nv))
    for body in packed.bodies():
        to_world = np.linalg.inv(adjoint(*packed.reference.pose(body.name, packed.q))).T
        expected += to_world @ body.mass_matrix() @ packed.reference.jacobian(body.name, packed.q)
    np.testing.assert_allclose(found, expected, **ROUNDING_OF_MANY)
