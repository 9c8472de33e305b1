"""Displacements from a configuration by which positions and rotations of free joints do not change each other.

``model.integrate`` moves a free joint along a screw: turned by a part of its displacement, it goes astray from the line of the
others. Here it goes along the axes that it has in the configuration, or in another one, then turns about its own origin.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array, quaternion_matrix
from titop.solvers.model.model import Model


def along_axes(model: Model, q: Array, axes: Array) -> Array | None:
    """Return the displacement (nv, nv) at q (nq) for each one along the axes that free joints have in another configuration.

    None where they have the same ones.
    """
    turned = None
    for name, place in model.mechanism.assembly.v_slices.items():
        if model.mechanism.assembly.blocks[name].quaternion.start:
            end = model.mechanism.assembly.q_slices[name].stop
            here, there = q[end - 4 : end], axes[end - 4 : end]
            if (here != there).any():
                turned, along = np.eye(model.nv) if turned is None else turned, slice(place.start, place.start + 3)
                turned[along, along] = quaternion_matrix(here).T @ quaternion_matrix(there)
    return turned


def displace(model: Model, q: Array, dq: Array) -> Array:
    """Return the configuration (nq) a displacement (nv, rad or m, of free joints along the axes at q) away from q (nq)."""
    turned = _rotations(model, dq)
    if not turned.any():
        return model.integrate(q, dq)
    return model.integrate(model.integrate(q, dq - turned), turned)


def displacement_motions(model: Model, dq: Array) -> Array:
    """Return the derivative (nv, nv) of tangent displacements at ``displace(model, q, dq)`` by dq."""
    turned = _rotations(model, dq)
    turning = np.linalg.inv(model.mechanism.difference_jacobian(turned))
    motions: Array = turning @ model.mechanism.difference_jacobian(-turned)  # seen from axes that have turned
    for start in model.mechanism.rotations:
        motions[:, start : start + 3] = turning[:, start : start + 3]
    return motions


def _rotations(model: Model, dq: Array) -> Array:
    """Return the parts of a displacement (nv) that turn free and spherical joints."""
    turned = np.zeros(len(dq))
    for start in model.mechanism.rotations:
        turned[start : start + 3] = dq[start : start + 3]
    return turned
