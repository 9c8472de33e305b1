"""How states of the first order follow coordinates that move slowly.

Where rates depend on states, these come to rest; the rest of them, as a bristle that sticks, goes along with the rates of the
coordinates, ``dx = (d rate/d v) dq``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.mechanism import StateDerivatives
from titop.solvers.equilibrium.root_search import of_one_size

#: Singular values of derivatives of rates, in parts of the largest, that count as zero.
_DEPENDENT = 1e-10


class Following(NamedTuple):
    """Derivatives of efforts (nv, nv; nv, nv; nv, nu) by coordinates, rates and inputs, while first-order states follow."""

    by_q: Array
    by_v: Array
    by_u: Array


def resting_inverse(by_x: Array) -> Array:
    """Return minus the inverse (nx, nx) of derivatives of rates by states, of least norm where rates do not depend on these."""
    rows, columns, scaled = of_one_size(by_x)
    inverse: Array = -columns[:, None] * np.linalg.pinv(scaled, rcond=_DEPENDENT) * rows
    return inverse


def following(rates: StateDerivatives, efforts: Array) -> Following:
    """Return what efforts (nv, nx; of the states) change by while these follow."""
    inverse = resting_inverse(rates.by_x)
    along = efforts @ inverse
    carried = efforts + along @ rates.by_x
    return Following(along @ rates.by_q + carried @ rates.by_v, along @ rates.by_v, along @ rates.by_u)


def without_followers(matrix: Array, count: int, by_u: Array) -> Array:
    """Return a linear model at rest without the states that integrate rates of coordinates alone: displacements once more.

    Parameters
    ----------
    matrix : (2 count + nx, 2 count + nx) array
        Of displacements, rates, and states of the first order.
    count : int
    by_u : (nx, nu) array
        Derivatives of the states' rates by inputs: what integrates these is a state of its own.
    """
    by_q, by_v, by_x = np.split(matrix[2 * count :], [count, 2 * count], axis=1)
    rows, _, scaled = of_one_size(np.hstack([by_q, by_x, by_u]))
    left, sizes, _ = np.linalg.svd(scaled)
    known = int((sizes > _DEPENDENT * sizes.max(initial=0.0)).sum())
    sums = left[:, known:].T * rows  # sums of states that integrate
    others = np.linalg.svd(sums)[2][len(sums) :]
    onto = np.eye(2 * count + len(others), len(matrix))
    onto[2 * count :, 2 * count :] = others
    back = onto.T.copy()
    back[2 * count :, :count] = np.linalg.pinv(sums) @ (sums @ by_v)
    reduced: Array = onto @ matrix @ back
    return reduced
