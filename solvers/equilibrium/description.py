"""What an equilibrium's equations say of its unknowns: which are free, and what does not depend on them.

Stiff and soft coordinates stand side by side in the equations' derivatives. An entry counts as zero beside the rounding of the
terms that made it, and rows and columns are brought to one size before ranks are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.root_search import sure_inverse
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.signals.quantities import Kind

#: What rounding leaves of a sum in parts of its terms, the condition of mass matrices included.
_ROUNDING = 1e-12

#: Singular values below this part of the largest one count as zero.
_RANK = 1e-8

#: Parts of its largest entry by which a stiffness may miss its symmetry.
_SYMMETRIC = 1e-9

#: Entries of null spaces below this are rounding.
_ENTRY = 1e-6


def described(point: OperatingPoint, derivatives: Array, unknowns: Unknowns) -> OperatingPoint:
    """Return an equilibrium with what its equations say of the unknowns.

    Equations are looked at as efforts: one that depends on no unknown accelerates all coordinates that its own is coupled to.

    Parameters
    ----------
    point : OperatingPoint
    derivatives : (equations, unknowns) array
        Derivatives of `titop.solvers.equilibrium.equations.equations` by the unknowns.
    unknowns : Unknowns
    """
    model, nv = point.model, point.model.nv
    efforts = _efforts(model.mass_matrix(point.q), unknowns.sizes.accelerations[:, None] * derivatives[:nv])
    independent = [*model.independent_coordinates(point.q)] if model.is_constrained else [*model.coordinate_names]
    if not model.is_constrained and len(derivatives) == nv and sure_inverse(_equilibrated(efforts), _RANK) is not None:
        return point.noted(unknowns.names, len(unknowns.names), negative=_negative(unknowns, efforts, np.eye(nv)))
    motions, closed = _motions(point, independent), _closed_directions(point, derivatives)
    reduced, terms = motions.T @ efforts @ closed, np.abs(motions).T @ np.abs(efforts) @ np.abs(closed)
    balanced = _equilibrated(np.where(np.abs(reduced) > _ROUNDING * terms, reduced, 0.0))
    if sure_inverse(balanced, _RANK) is not None:  # every motion that closes loops changes an effort of its own
        return point.noted(unknowns.names, len(unknowns.names), negative=_negative(unknowns, efforts, motions))
    left, sizes, _ = np.linalg.svd(balanced)
    lost = np.abs(left[:, _rank(sizes) :]).max(axis=1, initial=0.0) > _ENTRY
    rest = derivatives[nv:]  # along the motion by differences, and of closures
    rest = np.where(np.abs(rest) > _RANK * max(1.0, np.abs(rest).max(initial=0.0)), rest, 0.0)
    _, sizes, right = np.linalg.svd(_equilibrated(np.vstack([efforts, rest])))
    rank = _rank(sizes)
    free = np.abs(right[rank:]).max(axis=0, initial=0.0) > _ENTRY
    return point.noted(
        unknowns.names,
        rank,
        tuple(name for name, is_free in zip(unknowns.names, free, strict=True) if is_free),
        tuple(name for name, is_lost in zip(independent, lost, strict=True) if is_lost),
        _negative(unknowns, efforts, motions) if rank == len(unknowns.names) else None,
    )


def _negative(unknowns: Unknowns, efforts: Array, motions: Array) -> int | None:
    """Return how many stiffnesses over the unknowns are negative; None if these are not one for each of some efforts.

    Where loops are closed they are those along the motions, of all coordinates only.
    """
    nv, count = motions.shape
    own = [entry.number for entry in unknowns.entries if entry.kind in (Kind.POSITION, Kind.EFFORT)]
    if unknowns.select(Kind.POSITION)[1] == [*range(nv)] == [*range(len(unknowns.entries))]:
        return negative_stiffnesses(-motions.T @ (efforts / unknowns.scales) @ motions)
    if count == nv and len(set(own)) == len(unknowns.entries):
        return negative_stiffnesses(-efforts[own] / unknowns.scales)
    return None


def negative_stiffnesses(stiffness: Array) -> int:
    """Return how many eigenvalues of a stiffness (n, n) are negative; that of loads that follow a body has no symmetry."""
    sizes = np.sqrt(np.abs(np.diag(stiffness)))
    stiffness = stiffness / np.outer(sizes, sizes) if sizes.all() else stiffness
    largest = np.abs(stiffness).max(initial=0.0)
    zero = -_ROUNDING * largest
    if np.abs(stiffness - stiffness.T).max(initial=0.0) <= _SYMMETRIC * largest:
        return int((np.linalg.eigvalsh(stiffness) < zero).sum())
    values = np.linalg.eigvals(stiffness)  # those of loads that follow a body: pairs have no zero
    return int(((values.real < zero) & (values.imag == 0)).sum())


def efforts_of_motions(point: OperatingPoint, accelerations: Array) -> Array:
    """Return the efforts (n, n), along independent motions, that stand for accelerations by coordinates (nv, nv)."""
    model = point.model
    efforts: Array = model.mass_matrix(point.q) @ accelerations
    if not model.is_constrained:
        return efforts
    motions = _motions(point, [*model.independent_coordinates(point.q)])
    along: Array = motions.T @ efforts @ motions
    return along


def _efforts(mass: Array, derivatives: Array) -> Array:
    """Return the efforts M A that stand for accelerations A, without what is rounding beside others of the same unknown.

    Efforts compare with each other over the root of their coordinates' inertia; a soft coordinate's with its own only.
    """
    inertia = np.diag(mass)[:, None]
    efforts = mass @ derivatives
    compared = np.abs(efforts) / np.sqrt(np.where(inertia > 0, inertia, 1.0))
    return np.where(compared > _ROUNDING * compared.max(axis=0, initial=0.0), efforts, 0.0)


def _equilibrated(matrix: Array) -> Array:
    """Return a matrix with rows, and then columns, brought to one size."""
    for axis in (1, 0):
        sizes = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
        matrix = matrix / np.where(sizes > 0, sizes, 1.0)
    return matrix


def _motions(point: OperatingPoint, names: Sequence[str]) -> Array:
    """Return the motions (nv, n) of all coordinates with independent ones: one for each of them."""
    model = point.model
    if not model.is_constrained:
        return np.eye(model.nv)
    own = [model.coordinate_names.index(name) for name in names]
    motions = np.eye(model.nv)[:, own]
    others = np.setdiff1d(np.arange(model.nv), own)
    weighted = model.closure_weights[:, None] * model.closure_jacobian(point.q)
    motions[others] = -np.linalg.lstsq(weighted[:, others], weighted[:, own], rcond=None)[0]
    return motions


def _closed_directions(point: OperatingPoint, derivatives: Array) -> Array:
    """Return directions of the unknowns (columns) in which rigid closures and gears stay closed: all of them for a tree."""
    closures = derivatives[len(derivatives) - 2 * len(point.model.constraint_names) :]
    _, sizes, right = np.linalg.svd(closures)
    directions: Array = right[_rank(sizes) :].T
    return directions


def _rank(sizes: Array) -> int:
    return int((sizes > _RANK * max(1.0, sizes.max(initial=0.0))).sum())
