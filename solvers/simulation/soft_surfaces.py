"""Deformable bodies as animations show them: their surface, point by point."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft.soft_body import SoftBody
from titop.solvers.model.model import Model

#: Most points of a surface that is shown; bodies with finer meshes are lines between their ports.
MOST_POINTS = 4000
#: Bytes of a point: three 16-bit numbers, in base64.
POINT_BYTES = 3 * 2 * 4 / 3
#: Largest 16-bit number.
_FULL = 32767


@dataclass(frozen=True)
class SoftSurface:
    """A deformable body with the surface by which it is shown.

    Attributes
    ----------
    body : SoftBody
    own : slice
        Its coordinates, of the model's.
    points : (k, 3) array, m
        Of the surface at rest.
    triangles : (m, 3) array of int
    """

    body: SoftBody
    own: slice
    points: Array
    triangles: Array

    def course(self, configurations: Array) -> Array:
        """Return where the points stand (n, k, 3; m) in the body's frame.

        Parameters
        ----------
        configurations : (n, nq) array
        """
        return np.array([self.body.positions(q[self.own], self.points) for q in configurations])


def soft_surfaces(model: Model) -> list[SoftSurface]:
    """Return the bodies of a model that have a surface to show, in the order of its blocks."""
    slices = model.assembly.q_slices
    bodies = [block for block in model.assembly.blocks.values() if isinstance(block, SoftBody)]
    drawn = [(body, body.domain.outline) for body in bodies]
    return [
        SoftSurface(body, slices[body.name], outline.points, outline.triangles)
        for body, outline in drawn
        if outline is not None and len(outline.points) <= MOST_POINTS
    ]


def packed(course: Array) -> dict[str, Any]:
    """Return places as 16-bit parts of the farthest reach (m) in base64."""
    reach = float(np.abs(course).max())
    numbers = np.rint(course * (_FULL / reach)).astype("<i2")
    return {"unit": reach / _FULL, "points": base64.b64encode(numbers.tobytes()).decode("ascii")}
