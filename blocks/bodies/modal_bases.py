"""Bases of few deformations of a body that is held at P: static ones, and its lowest natural modes.

Matrices are dense, or sparse: then the stiffness is factorised once (`solver_of`), and the modes come from a Lanczos iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, NEAR_AXIS, TYPED

#: Relative excess at which a squared period counts as larger than another; and the accuracy of the first search for one.
_LARGER = 10 * NEAR_AXIS
_ROUGH = NEAR_AXIS
#: Vectors of an iteration: so many a mode, and so many more. With few of them it begins anew more often.
_ROOM = 3, 40
#: From so many modes on, one in so many degrees of freedom, a dense matrix holds little more than they do.
_MANY = 4


def is_sparse(matrix: Any) -> bool:
    """Return whether a matrix is a sparse one."""
    return hasattr(matrix, "toarray")


def craig_bampton(mass: Any, stiffness: Any, boundary: int, modes: int) -> Array:
    """Return the Craig-Bampton basis of a body held at P.

    Parameters
    ----------
    mass, stiffness : (N, N) arrays, or sparse ones
        Boundary degrees of freedom first.
    boundary : int
        Number of these.
    modes : int
        Number of fixed-interface modes, the lowest.

    Returns
    -------
    (N, boundary + modes) array
        Static deformations under unit displacements of the boundary, then modes with the boundary held, mass-normalised.

    Raises
    ------
    LinAlgError
        As `solver_of` and `lowest_modes`.
    """
    size, interior = mass.shape[0], slice(boundary, None)
    basis = np.zeros((size, boundary + modes))
    basis[:boundary, :boundary] = np.eye(boundary)
    if size == boundary:
        return basis
    held, moved = stiffness[interior, interior], stiffness[interior, :boundary]
    solve = solver_of(held)
    basis[interior, :boundary] = -solve(moved.toarray() if is_sparse(moved) else moved)
    basis[interior, boundary:] = lowest_modes(mass[interior, interior], held, modes, solve)
    return basis


def attachment_modes(mass: Any, stiffness: Any, boundary: int, modes: int) -> Array:
    """Return the natural modes of the space of clamped modes and static deformations under loads at the boundary.

    Parameters and errors as `craig_bampton`; the basis (N, modes + boundary) is mass-normalised.
    """
    from scipy import linalg

    solve = solver_of(stiffness)
    clamped = lowest_modes(mass, stiffness, modes, solve)
    static = solve(np.eye(mass.shape[0], boundary))
    static = static - clamped @ (clamped.T @ (mass @ static))
    static /= np.sqrt(np.einsum("ij,ij->j", static, mass @ static))
    basis = np.hstack([clamped, static])
    return _fix_signs(basis @ linalg.eigh(basis.T @ stiffness @ basis, basis.T @ mass @ basis)[1])


def solver_of(stiffness: Any) -> Callable[[Array], Array]:
    """Return a function that solves with a stiffness (N, N), for vectors (N) or columns (N, m).

    Raises
    ------
    LinAlgError
        If it is not positive definite.
    """
    from scipy import linalg

    if is_sparse(stiffness):
        return _factored_sparse(stiffness)
    factor = linalg.cho_factor(stiffness)
    return lambda loads: np.asarray(linalg.cho_solve(factor, loads))


def _factored_sparse(stiffness: Any) -> Callable[[Array], Array]:
    """Return `solver_of` of a sparse matrix: elimination along the diagonal, whose pivots have the signs of the eigenvalues."""
    from scipy.sparse.linalg import splu

    try:
        factor = splu(stiffness.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:  # a pivot is zero
        raise np.linalg.LinAlgError from error
    order = np.argsort(factor.perm_c)
    along_diagonal = np.array_equal(factor.perm_r, factor.perm_c)
    if not along_diagonal or not (factor.U.diagonal() > CANCELLED * np.abs(stiffness.diagonal()[order])).all():
        raise np.linalg.LinAlgError
    return lambda loads: np.asarray(factor.solve(loads))


def lowest_modes(mass: Any, stiffness: Any, modes: int, solve: Callable[[Array], Array]) -> Array:
    """Return the lowest natural modes (N, modes), mass-normalised; the mass may be singular, not the stiffness.

    The largest entry of each is positive.

    From ``M phi = phi K / w^2``, whose largest eigenvalues are the accurate ones. `solve` is that of the stiffness.

    Raises
    ------
    LinAlgError
        If the stiffness is singular, or there are fewer modes with mass.
    ConvergenceError
        If the Lanczos iteration of sparse matrices does not find them.
    """
    from scipy import linalg

    n = mass.shape[0]
    if not modes:
        return np.zeros((n, 0))
    if is_sparse(mass) and modes < n // _MANY:
        inverse_squares, shapes = _largest(mass, stiffness, modes, solve)
    else:
        both = (matrix.toarray() if is_sparse(matrix) else matrix for matrix in (mass, stiffness))
        inverse_squares, shapes = linalg.eigh(*both, subset_by_index=(n - modes, n - 1))
    if len(inverse_squares) < modes or not inverse_squares[0] > CANCELLED * inverse_squares[-1]:
        raise np.linalg.LinAlgError
    return _fix_signs(shapes[:, ::-1] / np.sqrt(inverse_squares[::-1]))


def _fix_signs(modes: Array) -> Array:
    """Return modes (N, n) with signs such that the largest entry of each (the first of several) is positive."""
    if not modes.size:
        return modes
    sizes = np.abs(modes)
    first = (sizes >= (1 - TYPED) * sizes.max(axis=0, initial=0.0)).argmax(axis=0)
    return modes * np.sign(modes[first, np.arange(modes.shape[1])])


def _largest(mass: Any, stiffness: Any, modes: int, solve: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of ``M x = nu K x``.

    An iteration from one vector may miss some of several equal eigenvalues: the complement of the eigenvectors is searched
    until it contains none as large.
    """
    values, vectors = _lanczos(lambda x: mass @ x, stiffness, modes, solve)
    while True:
        pulled = mass @ vectors
        kept = values > CANCELLED * values[-1]

        def rest(x: Array, pulled: Array = pulled[:, kept], values: Array = values[kept]) -> Array:
            return np.asarray(mass @ x - pulled @ ((pulled.T @ x) / values))

        if not kept.all() or not _lanczos(rest, stiffness, 1, solve, _ROUGH)[0][0] > (1 + _LARGER) * values[0]:
            break
        more, missed = _lanczos(rest, stiffness, 1, solve)
        order = np.argsort(np.append(values, more), kind="stable")[-modes:]
        values, vectors = np.append(values, more)[order], np.column_stack([vectors, missed])[:, order]
    return values, vectors


def _lanczos(
    product: Callable[[Array], Array], stiffness: Any, number: int, solve: Any, accuracy: float = 0.0
) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of a symmetric `product` over the stiffness.

    To rounding, or a part `accuracy` of them.
    """
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    n = stiffness.shape[0]
    room = min(n, _ROOM[0] * number + _ROOM[1])
    operators = (LinearOperator((n, n), matvec=function, dtype=float) for function in (product, solve))
    start = np.random.default_rng(0).normal(size=n)
    try:
        values, vectors = eigsh(
            next(operators), number, M=stiffness, Minv=next(operators), which="LA", v0=start, ncv=room, tol=accuracy
        )
    except ArpackNoConvergence as error:
        raise ConvergenceError(f"the Lanczos iteration does not find {number} natural modes; ask for fewer") from error
    except ArpackError as error:  # without mass nothing is left to iterate
        raise np.linalg.LinAlgError from error
    order = np.argsort(values)
    return values[order], vectors[:, order]
