"""Reduction from all coordinates to independent ones.

Small motions about a state satisfy ``dq = T dq_i`` and ``dv = T dv_i + R dq_i``, with ``dq_i`` the independent coordinates. In
a tree all coordinates that are not held are independent. With rigid closures or gears and their constraint Jacobian ``J(q)``, T
spans the null space of J, and R follows from differentiating ``J(q) v = 0``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import LOOSE_RANK
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.signals.grammar import read_entries

if TYPE_CHECKING:
    from titop.solvers.model.model import Model


class Reduction(NamedTuple):
    """Which entries of ``x = [dq; dv]`` (2 nv) are states of a linear model, and how the others follow from these.

    Attributes
    ----------
    states : (2n,) int array
        Entries of x.
    basis : (2nv, 2n) array or None
        All of x from the states; None where the others are zero.
    """

    states: Array
    basis: Array | None = None

    def columns(self, matrix: Array) -> Array:
        """Return the matrix that acts on the states as `matrix` acts on x."""
        return matrix[..., self.states] if self.basis is None else matrix @ self.basis

    def rows(self, matrix: Array) -> Array:
        """Return the rows of the states, from a matrix with one row for each entry of x."""
        return matrix[..., self.states, :]


def reduction(model: Model, q: Array, v: Array, held: Array, independent: Any = None) -> Reduction:
    """Return the reduction to the states of a linear model about a linearization point.

    Raises `ModelError` if the coordinates are unknown, not independent, or too few.

    Parameters
    ----------
    q, v : (nq,), (nv,) arrays
    held : (nv,) bool array
        Coordinates that are frozen.
    independent : sequence of str, optional
        Names of the independent coordinates; by default those chosen by pivoting, in a tree all.
    """
    free = np.flatnonzero(~held)
    chosen = None if independent is None else read_independent(model, independent)
    closures = closure_derivatives(model, q, v)
    if closures is None:
        if chosen is not None and not np.array_equal(chosen, free):
            raise _not_independent(model, independent, free)
        return Reduction(np.concatenate([free, model.nv + free]))
    jacobian, derivatives = closures
    if chosen is None:
        chosen = independent_columns(jacobian, free)
    T, R = null_space(jacobian, derivatives, free, chosen)
    if T is None:
        raise _not_independent(model, independent, independent_columns(jacobian, free))
    sizes = model.mechanism.scale.coordinates
    T, R = (sizes[:, None] * part / sizes[chosen] for part in (T, R))
    basis = np.block([[T, np.zeros_like(T)], [R, T]])
    return Reduction(np.concatenate([chosen, model.nv + chosen]), basis)


def closure_derivatives(model: Model, q: Array, v: Array) -> tuple[Array, Array] | None:
    """Return the constraint Jacobian (k, nv) and the derivative of ``J(q) v`` by q (k, nv), both scaled; None for a tree."""
    if not model.is_constrained:
        return None
    return model.mechanism.scale.comparable(model.closure_jacobian(q)), model.mechanism.scale.comparable(
        model.mechanism.engine.derivatives.closure_rate(q, v)
    )


def independent_columns(jacobian: Array, free: Array) -> Array:
    """Return the independent ones of the coordinates `free`: all that pivoting does not choose as dependent.

    Among pivots of equal size the first coordinate is chosen, so that rounding does not change the choice.
    """
    return np.delete(free, independent_rows(jacobian[:, free].T))


def free_motions(jacobian: Array) -> Array:
    """Return orthonormal columns (coordinates, n) that span the null space of a Jacobian."""
    _, sizes, right = np.linalg.svd(jacobian)
    rank = int((sizes > LOOSE_RANK * sizes.max(initial=0.0)).sum())
    motions: Array = right[rank:].T
    return motions


def null_space(jacobian: Array, derivatives: Array, free: Array, chosen: Array) -> tuple[Array, Array] | tuple[None, None]:
    """Return T and R (nv, n) for the chosen independent coordinates; None where these do not determine the others."""
    others = np.setdiff1d(free, chosen)
    rank, rank_of_others = (
        np.linalg.matrix_rank(J, rtol=LOOSE_RANK) if J.size else 0 for J in (jacobian[:, free], jacobian[:, others])
    )
    if not np.isin(chosen, free).all() or not len(others) == rank == rank_of_others:
        return None, None
    T, R = np.zeros((2, jacobian.shape[1], len(chosen)))
    T[chosen, range(len(chosen))] = 1.0
    inverse = np.linalg.pinv(jacobian[:, others], rtol=LOOSE_RANK)
    T[others] = -inverse @ jacobian[:, chosen]
    R[others] = -inverse @ derivatives @ T
    return T, R


def read_independent(model: Model, names: Any) -> Array:
    """Return the entries of v that names of independent coordinates stand for. Raises `ModelError` for unknown names."""
    return np.unique(np.array(read_entries(model, "independent", names), dtype=int))


def _not_independent(model: Model, independent: Any, possible: Array) -> ModelError:
    names = ", ".join(model.coordinate_names[k] for k in possible)
    advice = "leave coordinates out with hold= or omit="
    return ModelError(
        Finding("not-independent", "independent", independent, f"a complete independent choice, such as {names}", advice)
    )
