"""Displacements from a configuration by which positions and rotations of free joints do not change each other.

``model.integrate`` moves a free joint along a screw: turned by a part of its displacement, it goes astray from the line of the
others. Here it goes along the axes that it has in the configuration, then turns about its own origin.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model


def displaced(model: Model, q: Array, dq: Array) -> Array:
    """Return the configuration (nq) a displacement (nv, rad or m, of free joints along the axes at q) away from q (nq)."""
    turned = _rotations(model, dq)
    if not turned.any():
        return model.integrate(q, dq)
    return model.integrate(model.integrate(q, dq - turned), turned)


def displacement_motions(model: Model, dq: Array) -> Array:
    """Return the derivative (nv, nv) of tangent displacements at ``displaced(model, q, dq)`` by dq."""
    turned = _rotations(model, dq)
    turning = np.linalg.inv(model.difference_jacobian(turned))
    motions: Array = turning @ model.difference_jacobian(-turned)  # seen from axes that have turned
    for start in model.rotations:
        motions[:, start : start + 3] = turning[:, start : start + 3]
    return motions


def _rotations(model: Model, dq: Array) -> Array:
    """Return the parts of a displacement (nv) that turn free and spherical joints."""
    turned = np.zeros(len(dq))
    for start in model.rotations:
        turned[start : start + 3] = dq[start : start + 3]
    return turned
