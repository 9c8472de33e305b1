"""The inertia of a body whose points foreshorten, and what follows from it.

The velocity of a material point is ``v + w x (r0 + u1 + u2) + u1' + u2'`` with ``u1 = Phi q``, ``u2 = -q^T H q / 2``. What u2
adds to it, ``w x u2 + u2'``, counts as the rigid motion z of the same momentum ``int [.; r0 x .] dm`` about P::

    z = D_P^-1 (A2 q' + B2 w)    y = V + z    A = int [Phi; r0 x Phi] dm (L^T)    B w = int [w x u; r0 x (w x u)] dm
    T = int |y_v + y_w x r0 + w x u1 + Phi q'|^2 dm / 2 = [y; q'; w]^T G [y; q'; w] / 2
    G = [[D_P, L^T, B1], [L, M_qq, N^T], [B1^T, N, C]]    N = int u1 x Phi dm    C = int |u1|^2 1 - u1 u1^T dm

Equal to the material points' energy up to second order in q and q' beside all products of V; a sum of squares whatever the
deformation; and linear in v exactly as mass and first moment ``s = m c + int u1 + u2 dm`` say: momentum is
``m v + w x s + s'``, deformations do not depend on the velocity of the observer, gravity has the potential
``-g . (m r_P + R s)``.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SINGULAR
from titop.blocks.bodies.second_order import SecondOrder, inertia_of, momentum, turning


def deformed_inertia(body: SecondOrder, undeformed: Array, inverse: Array, q: Array) -> Array:
    """Return the inertia (6 + n square) at a deformation.

    Parameters
    ----------
    body : SecondOrder
    undeformed : (6 + n, 6 + n) array
        The inertia of the undeformed body.
    inverse : (6, 6) array
        `rigid_inverse` of its part D_P.
    q : (n,) array
    """
    onto, gram = _factors(body, undeformed, inverse, q)
    return onto.T @ gram @ onto


def inertia_change(
    body: SecondOrder, undeformed: Array, inverse: Array, q: Array, v: Array, twist: Array
) -> tuple[Array, Array, Array]:
    """Return ``M x`` and ``dM/dt x`` (6 + n) for ``x = [V_P; v]``, and the slopes (n) of ``x^T M x / 2``, by q."""
    n, w = len(q), twist[3:]
    onto, gram = _factors(body, undeformed, inverse, q)
    by_q, by_v, products = -body.shortening @ q, -body.shortening @ v, body.second @ q
    own = inertia_of(products + products.swapaxes(0, 1))
    bending = _moved(n, inverse, by_q @ v, by_v)
    stirring = _beside(np.zeros_like(undeformed), turning(body.first @ v), v @ body.stirred, own @ v)
    x = np.concatenate([twist, v])
    z = onto @ x
    momenta = gram @ z
    changing = bending.T @ momenta + onto.T @ (gram @ (bending @ x) + stirring @ z)
    bent = inverse @ (_along(turning(by_q), w) + momentum(by_v))
    slope = bent.T @ momenta[:6] + _along(turning(body.first), w).T @ z[:6]
    slope = slope + np.tensordot(w, body.stirred, 1) @ v + 0.5 * _along(own, w).T @ w
    return onto.T @ momenta, changing, slope


def _factors(body: SecondOrder, undeformed: Array, inverse: Array, q: Array) -> tuple[Array, Array]:
    """Return what takes ``[V; q']`` to ``[y; q'; w]``, and G."""
    n = len(q)
    onto = _moved(n, inverse, body.moments(q)[1], -body.shortening @ q)
    onto[: 6 + n] += np.eye(6 + n)
    onto[6 + n :, 3:6] = np.eye(3)
    return onto, gram_at(body, undeformed, q)


def gram_at(body: SecondOrder, undeformed: Array, q: Array) -> Array:
    """Return G (9 + n square)."""
    return _beside(undeformed, turning(body.first @ q), q @ body.stirred, inertia_of((body.second @ q) @ q))


def _moved(n: int, inverse: Array, second: Array, by_rates: Array) -> Array:
    """Return what takes ``[V; q']`` to z (first rows), from the moments (4, 3) of u2 and those of ``u2'`` (4, 3, n)."""
    result = np.zeros((9 + n, 6 + n), np.result_type(inverse, second, by_rates))
    result[:6, 3:6], result[:6, 6:] = inverse @ turning(second), inverse @ momentum(by_rates)
    return result


def _beside(undeformed: Array, coupled: Array, stirring: Array, own: Array) -> Array:
    """Return G from its parts B1, N and C beside the undeformed body's inertia."""
    couplings = np.vstack([coupled, stirring.T])
    return np.block([[undeformed, couplings], [couplings.T, own]])


def _along(matrices: Array, w: Array) -> Array:
    """Return the products (m, n) of matrices (m, 3, n) and w."""
    return np.einsum("ikj,k->ij", matrices, w)


def rigid_inverse(rigid: Array) -> Array:
    """Return ``D_P^-1`` (6x6), in the directions that have inertia; not numbers where that is out of range."""
    scale = np.sqrt(np.abs(np.real(np.diag(rigid))))
    scale[scale == 0] = 1.0
    with np.errstate(all="ignore"):
        scaled = rigid / scale[:, None] / scale
        if not np.isfinite(scaled).all():
            return np.full((6, 6), np.nan)
        values, vectors = np.linalg.eigh(np.real(scaled))
        kept = vectors[:, values > SINGULAR]
        return kept @ np.linalg.inv(kept.T @ scaled @ kept) @ kept.T / scale[:, None] / scale
