"""Derivatives of the dynamics in any causality, from those of inverse dynamics.

``tau = ID(q, v, a)`` holds in every causality; where efforts are imposed (coordinates f), its change is solved for ``a_f``::

    M_ff da_f = dtau_f - (ID_q dq + ID_v dv)_f - M_fm da_m        dtau_m = (ID_q dq + ID_v dv + M da)_m
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from titop.blocks.spatial import Array


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


def hybrid_derivatives(inverse: Array, mask: Array) -> HybridDerivatives:
    """Return the derivatives of hybrid dynamics.

    Parameters
    ----------
    inverse : (3, nv, nv) array
        Derivatives of inverse dynamics by q, v and a at the resolved state.
    mask : (nv,) bool array
        Where the motion is prescribed.
    """
    by_q, by_v, mass = inverse
    free, n = ~mask, len(mask)
    nothing, efforts, motions = np.zeros((n, n)), np.diag(free.astype(float)), np.diag(mask.astype(float))
    # by q, v, the imposed efforts and the imposed motions: what inverse dynamics changes, what is imposed of tau and of a
    cases = ((by_q, nothing, nothing), (by_v, nothing, nothing), (nothing, efforts, nothing), (nothing, nothing, motions))
    results = []
    for change, tau, a in cases:
        a = a.copy()
        a[free] = np.linalg.solve(mass[np.ix_(free, free)], (tau - change - mass @ a)[free])
        results.append((a, np.where(mask[:, None], change + mass @ a, tau)))
    return HybridDerivatives(*(a for a, _ in results), *(tau for _, tau in results))
