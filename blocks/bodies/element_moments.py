"""Moments of the modes of finite elements, from the mass matrix alone: what a body's inertia is to second order.

A field u of displacements that is turned about an axis a becomes ``a x u``. Over the degrees of freedom its displacements are
those of the nodes, turned; rotations follow them as the stiffness wants, for the slopes of ``a x u`` are not those of u turned
(what a beam's bending becomes along the beam has none). Moments are products of such fields, of rigid motion and of modes, by
the mass matrix; then the inertia of the deformed body is one Gram matrix, never negative in any direction.
Solids have nothing but displacements, of which all this holds exactly; a beam's slopes are right to second order in the length
of its elements. Of this order are combinations of modes and translations that the turned fields gain, so that the identities
hold exactly which the equations of motion rely on: ``int a x u dm = a x int u dm`` and ``(a x u) . w = -(a x w) . u``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.tolerances import RANK, SINGULAR
from titop.blocks.bodies.modal_bases import is_sparse
from titop.blocks.bodies.second_order import CYCLIC

#: What holds rotations that no stiffness holds, as of a straight beam about itself, relative to the stiffness of others.
_HOLD = RANK


def element_moments(mass: Any, stiffness: Any, rigid: Array, modes: Array, freedoms: int) -> tuple[Array, Array]:
    """Return the position moments (3, 3, n) and displacement moments (3, 3, n, n) of modes, as `FlexibleBody` takes them.

    Parameters
    ----------
    mass, stiffness : (N, N) array or sparse
    rigid : (N, 6) array
        The rigid-body vectors about P.
    modes : (N, n) array
        Fields over the degrees of freedom, with P at rest.
    freedoms : {3, 6}
        Of a node.
    """
    turned = [_identical(mass, rigid, modes, axis, field) for axis, field in _turned(stiffness, modes, freedoms)]
    momenta = [mass @ field for field in turned]
    beside = np.array([[rigid[:, 3 + i] @ momentum for momentum in momenta] for i in range(3)])
    inertia = np.array([[field.T @ momentum for momentum in momenta] for field in turned])
    inertia = (inertia + inertia.transpose(0, 1, 3, 2)) / 2
    position, products = _moments_of(beside).swapaxes(0, 1), _moments_of(inertia)
    for (_, i, j), momentum in zip(CYCLIC, momenta, strict=True):
        stirred = momentum.T @ modes
        products[i, j] += (stirred - stirred.T) / 4
        products[j, i] -= (stirred - stirred.T) / 4
    return position, products


def rotary_part(mass: Any, rigid: Array, freedoms: int) -> float:
    """Return which part of the body's inertia is rotary inertia of nodes.

    A mass matrix has it, J, on its diagonal: ``d = J + x`` with what a beam's consistent mass has there without any. Rigid
    rotation about the node has the momentum ``J + 3.5 x``.
    """
    if freedoms == 3:
        return 0.0
    own = mass.diagonal().reshape(-1, 6)[:, 3:].sum()
    momenta = (mass @ rigid).reshape(-1, 6, 6)[:, 3:]
    places = rigid.reshape(-1, 6, 6)[:, :3, 3:]  # what rotations about P move the nodes by
    about = np.trace(momenta[:, :, 3:] - momenta[:, :, :3] @ places, axis1=1, axis2=2).sum()
    return float(1.4 * own - 0.4 * about) / float(np.trace((rigid.T @ (mass @ rigid))[3:, 3:]))


def _turned(stiffness: Any, modes: Array, freedoms: int) -> list[tuple[Array, Array]]:
    """Return each axis with the modes turned about it."""
    vectors = modes.reshape(-1, freedoms // 3, 3, modes.shape[1])
    fields = [(axis, np.cross(axis, vectors, axisb=2, axisc=2).reshape(modes.shape)) for axis in np.eye(3)]
    if freedoms == 3:
        return fields
    rotates = np.arange(len(modes)) % 6 >= 3
    own, driven = stiffness[rotates][:, rotates], stiffness[rotates][:, ~rotates]
    diagonal = np.abs(own.diagonal())
    hold = _HOLD * np.where(diagonal > 0, diagonal, diagonal.max(initial=0.0) or 1.0)
    right = np.hstack([-(driven @ field[~rotates]) for _, field in fields])
    rotations = np.split(_solved(own, hold, right), 3, axis=1)
    for (_, field), rotation in zip(fields, rotations, strict=True):
        field[rotates] = rotation
    return fields


def _solved(matrix: Any, hold: Array, right: Array) -> Array:
    if not is_sparse(matrix):
        return np.linalg.solve(matrix + np.diag(hold), right)
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    return splu((matrix + diags_array(hold)).tocsc()).solve(right)


def _identical(mass: Any, rigid: Array, modes: Array, axis: Array, turned: Array) -> Array:
    """Return turned modes with what they lack of translations and modes for the identities to hold."""
    fields = np.hstack([rigid[:, :3], modes])
    momenta = mass @ fields
    found = momenta.T @ turned
    stirred = (found[3:] - found[3:].T) / 2
    wanted = np.vstack([skew(axis) @ (momenta[:, :3].T @ modes), stirred])
    gram = fields.T @ momenta
    scale = np.sqrt(np.abs(np.diag(gram)))
    scale[scale == 0] = 1.0
    inverse = np.linalg.pinv(gram / np.outer(scale, scale), rcond=SINGULAR, hermitian=True) / np.outer(scale, scale)
    return turned + fields @ (inverse @ (wanted - found))


def _moments_of(inertia: Array) -> Array:
    """Return c of ``tr(c) 1 - c`` (3, 3, ...)."""
    result = -inertia
    result[range(3), range(3)] += np.trace(inertia) / 2
    return result
