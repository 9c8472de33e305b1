"""The matrix from rates to momentum, as it is written, against sums over bodies."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.packed_trees import Packed
from tests.solvers.kernels.spatial.matrices_by_hand import adjoint
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.kernels.equations.motion_matrices import write_rigid_momentum_matrix
from titop.solvers.kernels.interface import layout


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
