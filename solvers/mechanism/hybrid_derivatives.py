"""Derivatives of the dynamics in any causality, from those of inverse dynamics.

``tau = ID(q, v, a) - J^T lambda`` holds in every causality, with ``J a + bias = 0`` for closed loops. On coordinates f with
imposed efforts and m with imposed motion, it is linearised and solved for ``da_f`` and the multipliers::

    [M_ff  -J_f^T] [da_f   ]   [dtau_f - (ID_q dq + ID_v dv)_f - M_fm da_m]
    [J_f    0    ] [dlambda] = [-E_q dq - E_v dv - J_m da_m               ]

    dtau_m = (ID_q dq + ID_v dv + M da - J^T dlambda)_m
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array


class HybridDerivatives(NamedTuple):
    """Derivatives (nv, nv) of hybrid dynamics; columns by efforts where motion is prescribed, and the reverse, are zero."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    da_da: Array
    dtau_dq: Array
    dtau_dv: Array
    dtau_dtau: Array
    dtau_da: Array


def hybrid_derivatives(inverse: Array, mask: Array, closures: tuple[Array, Array, Array]) -> HybridDerivatives:
    """Return the derivatives of hybrid dynamics.

    Parameters
    ----------
    inverse : (3, nv, nv) array
        Derivatives of inverse dynamics by q, v and a at the resolved state.
    mask : (nv,) bool array
        Where the motion is prescribed.
    closures : J, E_q, E_v, each (k, nv)
        Of independent constraints, none in a tree.
    """
    by_q, by_v, mass = inverse
    free, n = ~mask, len(mask)
    J, E_q, E_v = closures
    matrix = np.block([[mass[np.ix_(free, free)], -J[:, free].T], [J[:, free], np.zeros((len(J), len(J)))]])
    nothing, efforts, motions = np.zeros((n, n)), np.diag(free.astype(float)), np.diag(mask.astype(float))
    # by q, v, the imposed efforts and the imposed motions: changes of inverse dynamics, of closures, of tau and of a
    cases = (
        (by_q, E_q, nothing, nothing),
        (by_v, E_v, nothing, nothing),
        (nothing, 0.0 * J, efforts, nothing),
        (nothing, 0.0 * J, nothing, motions),
    )
    results = []
    for change, opening, tau, a in cases:
        a = a.copy()
        right = np.vstack([(tau - change - mass @ a)[free], -opening - J @ a])
        solution = np.linalg.solve(matrix, right)
        a[free] = solution[: free.sum()]
        results.append((a, np.where(mask[:, None], change + mass @ a - J.T @ solution[free.sum() :], tau)))
    return HybridDerivatives(*(a for a, _ in results), *(tau for _, tau in results))
