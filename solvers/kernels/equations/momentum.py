"""The matrix from rates to momentum for trees of rigid bodies: sums of the subtrees' masses, as in `derivatives`."""

from __future__ import annotations

from titop.solvers.kernels.derivatives.tree_derivatives import write_base, write_mass
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import carry_twist, carry_wrench
from titop.solvers.kernels.tree.composite import put_column
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.kernels.tree.subtree_sums import sum_momentum
from titop.solvers.native.kernel import helper


@helper
def write_rigid_momentum_matrix(ints, floats, work, sums, firsts, matrix):
    """Write the matrix (6 x nv) from v to momentum, linear and angular about the inertial origin, from known poses (in `work`).

    `sums` and `firsts` (an integer for each element) are room.
    """
    for i in range(1, ints[0, layout.ELEMENTS]):
        p = ints[i, layout.PARENT]
        firsts[i] = i if p == 0 else firsts[p]
        write_base(ints, None, work, i, sums)
        write_mass(floats, i, sums)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        p = ints[i, layout.PARENT]
        if p > 0:
            for c in range(layout.SUM_MASS, layout.MOMENTUM):
                sums[p, c] += sums[i, c]
    for i in range(1, ints[0, layout.ELEMENTS]):
        for j in range(coordinates_of(ints[i, layout.KIND])):
            s = carry_twist(sums, i, layout.BASE, axis(ints, floats, i, j))
            put_column(matrix, ints[i, layout.V] + j, carry_wrench(work, firsts[i], layout.R, sum_momentum(sums, i, s)))
