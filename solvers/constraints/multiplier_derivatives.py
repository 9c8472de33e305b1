"""How the multipliers of closures and gears change with all that they depend on.

They carry efforts e, and independent rows of the constraints' Jacobian J would do. Others are combinations of these: with these
combinations ``N^T J = 0``, and the least multipliers, ``lambda = J w``, have no part along N while J turns::

    J^T dlambda = de - dJ^T lambda          N^T dlambda = N^T dJ w
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.mechanism import ClosedMechanism
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.mechanism.inputs import Push


def inverse_with_constraints(
    model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array
) -> tuple[Array, Array]:
    """Return the derivatives (3, nv, nv) of the tree's inverse dynamics, constraints acting with `multipliers` (k), and J."""
    if not len(multipliers):
        return model.engine.derivatives.tree_inverse(q, v, a, pushes), np.zeros((0, model.nv))
    changes, rows = model.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    return changes, rows[0]


def multiplier_changes(
    model: ClosedMechanism, q: Array, jacobian: Array, multipliers: Array, efforts: Array, moved: Array
) -> Array:
    """Return the changes (k, z) of the least multipliers, N or N m.

    Parameters
    ----------
    model : ClosedMechanism
    q : (nq,) array
    jacobian : (k, nv) array
        Of all constraints, J.
    multipliers : (k,) array
    efforts : (nv, z) array
        How the efforts change that the constraints have to carry, beside what they carry with their `multipliers`.
    moved : (nv, z) array
        How the coordinates change.
    """
    weights, k = model.scale.weights, len(jacobian)
    weighted, rank = weights[:, None] * jacobian, model.acting_rank(q, jacobian)
    rows = np.arange(k) if rank == k else independent_rows(model.scale.comparable(jacobian), rank, model.gear_count)
    inverse = np.linalg.pinv(weighted[rows]) * weights[rows]  # of the independent rows of J
    changes = np.zeros((k, efforts.shape[1]))
    changes[rows] = inverse.T @ efforts
    if rank == k:
        return changes
    others, N = np.delete(np.arange(k), rows), np.zeros((k, k - rank))
    N[others], N[rows] = np.eye(k - rank), -(jacobian[others] @ inverse).T
    turning = model.engine.derivatives.closure_rate(q, inverse @ multipliers[rows]) @ moved
    part: Array = np.linalg.lstsq(N, turning - changes)[0]
    return changes + N @ part
