"""Points at which something that acts is about to switch: linear models hold on one side only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.coordinates import redefines
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.equilibrium.balance import OF_REACH
from titop.solvers.model.model import Model


def switching_findings(model: Model, q: Array, v: Array) -> Iterator[Finding]:
    """Yield every contact, cable or other interaction that switches within what coordinates of points are known to.

    Parameters
    ----------
    model : Model
    q, v : (n, nq) and (n, nv) arrays
    """
    for loop in model.interactions:
        if not redefines(loop.closure, "gaps", Block):
            continue
        gaps = np.array([loop.closure.gaps(target_motion(model, loop, *at)) for at in zip(q, v, strict=True)], float)
        for k in np.flatnonzero((np.abs(gaps) <= OF_REACH * model.size).any(axis=0)):
            name = loop.closure.point_names[k] if loop.closure.has_points else loop.closure.name
            found = f"a gap of {gaps[np.abs(gaps[:, k]).argmin(), k]:.3g} m"
            expected = f"a point more than {OF_REACH * model.size:.1g} m from where it switches"
            advice = "the linear model holds on one side only: take a point that touches, or one that does not"
            yield Finding("near-switching", name, found, expected, advice)
