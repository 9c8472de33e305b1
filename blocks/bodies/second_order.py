"""The second order of a body's deformation: displacements of its points, moments of its modes, and the inertia that follows.

A material point is at ``r0 + Phi q - q^T H q / 2``, with one matrix H (n x n) for each direction: bending and rotation shorten
the body. A load f on the point then has the potential ``q^T (f . H) q / 2`` beside ``-f . Phi q``: H is the
*geometric stiffness* under a unit load, as finite-element programs give it, and summed over a body that under unit
accelerations and spins. Moments about P are those of displacements u with ``(1, r0)``, a 4x3 array: ``int u dm``, then
``int r0_k u_l dm``.

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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SINGULAR

#: Loads of the geometric stiffness beside those at ports, and the number of matrices of each.
LOADS = {"acceleration": 3, "angular_acceleration": 3, "spin": 6}
#: The products of spins, in their order.
SPINS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
#: Cyclic permutations of the axes.
CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


@dataclass(frozen=True)
class SecondOrder:
    """The second-order terms of a body with n modes."""

    first: Array  #: (4, 3, n): moments of the modes: ``int Phi_l dm``, then ``int r0_k Phi_l dm``.
    second: Array  #: (3, 3, n, n): ``int Phi_k^T Phi_l dm``.
    shortening: Array  #: (4, 3, n, n): ``int H_l dm``, then ``int r0_k H_l dm``.
    ports: dict[str, Array]  #: (6, n, n) by name: H of each port's displacement and rotation vector.

    @classmethod
    def of(cls, stiffness: Mapping[str, Array], participation: Array, position: Array, displacement: Array, ports: Any) -> Any:
        """Return it from the fields of a body: see `titop.blocks.bodies.flexible_body.FlexibleBody`."""
        n = len(participation)
        ports = {port: stiffness.get(port, np.zeros((6, n, n))) for port in ports}
        first = np.concatenate([participation[None, :, :3].transpose(0, 2, 1), position])
        return cls(first, displacement, shortening_of(stiffness, n), ports)

    def in_coordinates(self, basis: Array) -> SecondOrder:
        """Return the same body in other coordinates p, with q = `basis` p (n x m)."""
        turned = {port: basis.T @ matrices @ basis for port, matrices in self.ports.items()}
        return SecondOrder(self.first @ basis, basis.T @ self.second @ basis, basis.T @ self.shortening @ basis, turned)

    def moments(self, q: Array) -> tuple[Array, Array]:
        """Return the moments (4 x 3) of the displacements of first and of second order."""
        return self.first @ q, -0.5 * (self.shortening @ q) @ q

    @cached_property
    def stirred(self) -> Array:
        """``int Phi x Phi dm`` (3, n, n)."""
        return np.stack([self.second[i, j] - self.second[j, i] for _, i, j in CYCLIC])

    def law_numbers(self, inverse: Array, first: int) -> Array:
        """Return the numbers of the compiled law behind the `first` ones: see `titop.solvers.kernels.laws.stiffening`.

        `inverse` (6x6) is that of the rigid inertia.
        """
        n = self.first.shape[2]
        products = np.array([(self.second[i, j] + self.second[j, i]) / 2 for i, j in SPINS])
        halves = 2 if self.first[2:].any() or self.shortening[2:].any() else 1
        own = np.concatenate([self.stirred, self.shortening.reshape(12, n, n)[: 6 * halves], products])
        groups = [_group(own, 3 + 6 * halves), *(_group(matrices, 6) for matrices in self.ports.values())]
        sizes = [len(group) for group in groups]
        starts = first + 36 + 12 * n + 1 + len(groups) + np.cumsum([0, *sizes[:-1]])
        return np.concatenate([np.ravel(inverse), np.ravel(self.first), [halves], starts, *groups])


def _group(matrices: Array, before: int) -> Array:
    """Return a group of matrices (k, n, n) as the compiled law has it, of which it asks for those `before` a place alone."""
    kept = np.array([matrix.any() for matrix in matrices])
    places = np.where(kept, np.cumsum(kept) - 1, -1)
    return np.concatenate([[kept.sum(), kept[:before].sum()], places, np.ravel(matrices[kept].swapaxes(0, 1))])


def shortening_of(stiffness: Mapping[str, Array], n: int) -> Array:
    """Return ``int (1, r0)_k H_l dm`` (4, 3, n, n) from the geometric stiffness under accelerations and spins."""
    result = np.zeros((4, 3, n, n))
    result[0] = -stiffness["acceleration"]
    spin, turning = stiffness["spin"], stiffness.get("angular_acceleration", np.zeros((3, n, n)))
    for k, (i, j) in enumerate(SPINS):
        result[1 + i, j] = result[1 + j, i] = spin[:3].sum(axis=0) / 2 - spin[k] if i == j else -spin[k] / 2
    for k, i, j in CYCLIC:
        result[1 + i, j] -= turning[k] / 2
        result[1 + j, i] += turning[k] / 2
    return result


def stiffness_of(shortening: Array) -> dict[str, Array]:
    """Return the geometric stiffness under accelerations and spins: the inverse of `shortening_of`."""
    moments = shortening[1:]
    trace = moments[0, 0] + moments[1, 1] + moments[2, 2]
    spin = [trace - moments[i, i] if i == j else -moments[i, j] - moments[j, i] for i, j in SPINS]
    turning = [moments[j, i] - moments[i, j] for _, i, j in CYCLIC]
    return {"acceleration": -shortening[0], "angular_acceleration": np.array(turning), "spin": np.array(spin)}


def momentum(moments: Array) -> Array:
    """Return ``int [u; r0 x u] dm`` (6, ...) from the moments (4, 3, ...) of u."""
    about = [moments[1 + i, j] - moments[1 + j, i] for _, i, j in CYCLIC]
    return np.concatenate([moments[0], about])


def turning(moments: Array) -> Array:
    """Return ``int [w x u; r0 x (w x u)] dm`` as matrices for w (6, 3, ...), from the moments (4, 3, ...) of u."""
    (x, y, z), about = moments[0], moments[1:]
    trace, nothing = about[0, 0] + about[1, 1] + about[2, 2], 0.0 * x
    rows = [[nothing, z, -y], [-z, nothing, x], [y, -x, nothing]]
    rows += [[(trace if i == j else nothing) - about[j, i] for j in range(3)] for i in range(3)]
    return np.array(rows)


def inertia_of(products: Array) -> Array:
    """Return ``tr(c) 1 - c`` (3, 3, ...) of ``c = int u u^T dm``."""
    result = -products
    for k in range(3):
        result[k, k] = products[(k + 1) % 3, (k + 1) % 3] + products[(k + 2) % 3, (k + 2) % 3]
    return result


# -- the inertia -----------------------------------------------------------------------------------------------------------


def deformed_inertia(body: SecondOrder, undeformed: Array, inverse: Array, q: Array) -> Array:
    """Return the inertia (6 + n square) at a deformation.

    `undeformed` (6 + n, 6 + n): the inertia of the undeformed body; `inverse` (6, 6): `rigid_inverse` of its part D_P.
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
