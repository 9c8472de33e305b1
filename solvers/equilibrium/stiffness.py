"""The stiffness at an equilibrium: which unknowns it determines, what does not depend on them, and whether it stands.

Stiff and soft coordinates stand side by side in the equations' derivatives. An entry counts as zero beside the rounding of the
terms that made it, and rows and columns are brought to one size before ranks are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, EXACT, SAME
from titop.solvers.equilibrium.newton import equilibrate, regular_inverse
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.signals.quantities import Kind

#: Entries of null spaces below this are rounding of double roots.
_ENTRY = np.sqrt(EXACT)


def with_rank(point: OperatingPoint, derivatives: Array, unknowns: TrimUnknowns) -> OperatingPoint:
    """Return an equilibrium with what its equations say of the unknowns.

    Equations are compared as efforts, not as accelerations: an effort that no unknown changes accelerates all coordinates that
    are coupled to its own. `derivatives` (equations, unknowns) are those of `AccelerationEquations`.
    """
    model, nv, names = point.model, point.model.nv, unknowns.names
    efforts = _efforts(model.mass_matrix(point.q), unknowns.sizes.accelerations[:, None] * derivatives[:nv])
    independent = [*model.independent_coordinates(point.q)] if model.is_constrained else [*model.coordinate_names]
    motions, closed = _motions(point, independent), _closed_directions(point, derivatives)
    reduced, terms = motions.T @ efforts @ closed, np.abs(motions).T @ np.abs(efforts) @ np.abs(closed)
    balanced = equilibrate(np.where(np.abs(reduced) > EXACT * terms, reduced, 0.0))[2]
    if regular_inverse(balanced, BALANCED) is not None:  # every motion that closes loops changes an effort of its own
        negative = _negative(unknowns, efforts, motions)
        return point.with_findings(unknowns=names, rank=len(names), free=(), overdetermined=(), negative=negative)
    left, sizes, _ = np.linalg.svd(balanced)
    lost = np.abs(left[:, _rank(sizes) :]).max(axis=1, initial=0.0) > _ENTRY
    rest = derivatives[nv:]  # along the motion by differences, and of closures
    rest = np.where(np.abs(rest) > BALANCED * max(1.0, np.abs(rest).max(initial=0.0)), rest, 0.0)
    _, sizes, right = np.linalg.svd(equilibrate(np.vstack([efforts, rest]))[2])
    rank = _rank(sizes)
    free = np.abs(right[rank:]).max(axis=0, initial=0.0) > _ENTRY
    return point.with_findings(
        unknowns=names,
        rank=rank,
        free=tuple(name for name, is_free in zip(names, free, strict=True) if is_free),
        overdetermined=tuple(name for name, is_lost in zip(independent, lost, strict=True) if is_lost),
        negative=_negative(unknowns, efforts, motions) if rank == len(names) else None,
    )


def _rank(sizes: Array) -> int:
    """Return how many singular values of efforts count."""
    return decided_rank(sizes, BALANCED * max(1.0, sizes.max(initial=0.0)))


def _negative(unknowns: TrimUnknowns, efforts: Array, motions: Array) -> int | None:
    """Return how many stiffnesses over the unknowns are negative; None if these are not one for each of some efforts.

    Where loops are closed they are those along the motions, of all coordinates only.
    """
    nv, count = motions.shape
    rows = [entry.number for entry in unknowns.entries if entry.kind in (Kind.POSITION, Kind.EFFORT)]
    if unknowns.are_all_coordinates:
        return negative_stiffnesses(-motions.T @ (efforts / unknowns.scales) @ motions)
    if count == nv and len(set(rows)) == len(unknowns.entries):
        return negative_stiffnesses(-efforts[rows] / unknowns.scales)
    return None


def negative_stiffnesses(stiffness: Array) -> int:
    """Return how many eigenvalues of a stiffness (n, n) are negative; that of loads that follow a body has no symmetry."""
    sizes = np.sqrt(np.abs(np.diag(stiffness)))
    stiffness = stiffness / np.outer(sizes, sizes) if sizes.all() else stiffness
    largest = np.abs(stiffness).max(initial=0.0)
    zero = -EXACT * largest
    if np.abs(stiffness - stiffness.T).max(initial=0.0) <= SAME * largest:
        return int((np.linalg.eigvalsh(stiffness) < zero).sum())
    values = np.linalg.eigvals(stiffness)  # those of loads that follow a body: pairs have no zero
    return int(((values.real < zero) & (values.imag == 0)).sum())


def stiffness_at(point: OperatingPoint) -> Array:
    """Return the stiffness (n, n) of a point at rest along its independent motions."""
    return -efforts_of_motions(point, point.forward_derivatives[0])


def stands(point: OperatingPoint) -> bool:
    """Tell whether the stiffness of a point at rest is positive: that of loads that turn with a body has no symmetry."""
    stiffness = stiffness_at(point)
    sizes = np.sqrt(np.abs(np.diag(stiffness)))
    if not sizes.all():
        return False
    stiffness = stiffness / np.outer(sizes, sizes)
    try:
        np.linalg.cholesky((stiffness + stiffness.T) / 2.0 - EXACT * np.eye(len(stiffness)))  # told ten times as fast
    except np.linalg.LinAlgError:
        return bool(np.linalg.eigvals(stiffness).real.min() > EXACT)
    return True


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
    return np.where(compared > EXACT * compared.max(axis=0, initial=0.0), efforts, 0.0)


def _motions(point: OperatingPoint, names: Sequence[str]) -> Array:
    """Return the motions (nv, n) of all coordinates with independent ones: one for each of them."""
    model = point.model
    if not model.is_constrained:
        return np.eye(model.nv)
    chosen = [model.coordinate_names.index(name) for name in names]
    motions = np.eye(model.nv)[:, chosen]
    others = np.setdiff1d(np.arange(model.nv), chosen)
    weighted = model.mechanism.scale.weights[:, None] * model.closure_jacobian(point.q)
    motions[others] = -np.linalg.lstsq(weighted[:, others], weighted[:, chosen], rcond=None)[0]
    return motions


def _closed_directions(point: OperatingPoint, derivatives: Array) -> Array:
    """Return directions of the unknowns (columns) in which rigid closures and gears stay closed: all of them for a tree."""
    constraints = len(point.model.constraint_names)
    if not constraints:
        return np.eye(derivatives.shape[1])
    _, sizes, right = np.linalg.svd(derivatives[-2 * constraints :])
    directions: Array = right[_rank(sizes) :].T
    return directions
