"""Joints of every class."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from titop.blocks.joints.joint import Joint

#: Complex steps are exact: what is left is a few roundings of numbers of order one (stiffnesses of order ten).
ROUNDING = 1e-12

#: Axes are of no unit length and none is parallel to a coordinate axis.
FIELDS: dict[str, dict[str, Any]] = {
    "Revolute": {"axis": [1, -2, 0.5]},
    "Prismatic": {"axis": [0.3, 0.1, -0.7]},
    "Screw": {"axis": [-1, 0.4, 2], "pitch": 0.3},
    "Cylindrical": {"axis": [0.2, 3, -1]},
    "Universal": {"axis1": [1, 0.5, 0.1], "axis2": [-0.2, 2, 1]},
    "Cartesian": {},
    "Planar": {},
    "Spherical": {},
    "Free": {},
    "Curvilinear": {"points": [[0, 0, 0], [1, 0.3, 0], [1.5, 1, 0.5], [1, 2, 0.2], [0.3, 2.5, -0.5]], "up": [0.1, -0.2, 1]},
    "Weld": {},
}


def make(kind: str, rng: np.random.Generator) -> Joint:
    """Return a joint with a full, anisotropic stiffness and damping matrix, a random rest configuration and armatures."""
    plain: Joint = getattr(tt, kind)("plain", **FIELDS[kind])
    if kind == "Weld":
        return plain
    n = plain.nv
    spring, damper = rng.normal(size=(2, n, n))
    return getattr(tt, kind)(
        kind.lower(),
        stiffness=spring @ spring.T + np.diag(np.arange(1.0, n + 1)),
        damping=damper @ damper.T,
        rest=plain.random_configuration(rng),
        armature=rng.uniform(0.1, 1.0, n),
        **FIELDS[kind],
    )
