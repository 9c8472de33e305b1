"""How a bent, twisted and stretched beam foreshortens.

Along the beam strains are linear in its coordinates: curvature and twist ``k`` and the strain ``e`` of its line (stretch
along x, shear across). Sections turn by R with ``R' = R k~``, the line goes along ``R (1_x + e)``. With ``t = int k dx``, to
the second order in the coordinates::

    line: u1' = t x 1_x + e    u2' = t x e + int t x (k x 1_x) dx    rotation vector: t + int t x k dx / 2

whose part along x is ``-int |t|^2 dx / 2`` in pure bending; that of bending with twist moves the line across. Sections take
part by the inertia of the undeformed beam only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.second_order import CYCLIC


@dataclass(frozen=True)
class BeamShapes:
    """What each coordinate moves, at points along the beam: (3, n, p) arrays.

    Attributes
    ----------
    line, turns : array
        Displacement of the line (m), rotation of the sections (rad).
    curvature, strain : array
        Of twist about x and bending about y and z (rad/m); of stretch along x and shear along y and z.
    """

    line: Array
    turns: Array
    curvature: Array
    strain: Array

    @classmethod
    def nothing(cls, n: int, points: int) -> BeamShapes:
        """Return shapes that move nothing, to be filled."""
        return cls(*np.zeros((4, 3, n, points)))


def line_moments(shapes: BeamShapes, x: Array, masses: Array) -> tuple[Array, Array]:
    """Return ``int x0_k u_l dm`` (3, 3, n) and ``int u_k^T u_l dm`` (3, 3, n, n) of the line.

    Parameters
    ----------
    shapes : BeamShapes
    x : (p,) array, m
        The points along the beam.
    masses : (p,) array, kg
        At these.
    """
    first = np.zeros((3, *shapes.line.shape[:2]))
    first[0] = shapes.line @ (x * masses)
    second = np.einsum("kip,ljp->klij", shapes.line * masses, shapes.line, optimize=True)
    return first, second


def line_shortening(shapes: BeamShapes, x: Array, masses: Array, length: float) -> Array:
    """Return ``int (1, x0)_k H_l dm`` (4, 3, n, n) of the line, whose points stand at ``-q^T H q / 2`` beside ``u1``."""
    line = masses.sum() / length
    weights = masses / line
    beyond, moment = length - x, (length**2 - x**2) / 2
    result = np.zeros((4, 3, *[shapes.line.shape[1]] * 2))
    # int_x^L (1, s) ds of u2' at x, and int_x^L (1, s) (s - x) ds of u2'' there
    result[0] = line * _curved(shapes, weights * beyond, weights * beyond**2 / 2)
    result[1] = line * _curved(shapes, weights * moment, weights * ((length**3 - x**3) / 3 - x * moment))
    return result


def tip_shortening(shapes: BeamShapes, x: Array, weights: Array, length: float) -> Array:
    """Return H (6, n, n) of the tip's displacement and rotation vector; `weights` (p) integrate along the beam."""
    return np.concatenate(
        [_curved(shapes, weights, weights * (length - x)), _symmetric(_crossed(shapes.turns, shapes.curvature, weights / 2))]
    )


def _curved(shapes: BeamShapes, by_strain: Array, by_curvature: Array) -> Array:
    """Return H of weighted sums of ``t x e`` and ``t x (k x 1_x)``."""
    across = np.zeros_like(shapes.curvature)
    across[1], across[2] = shapes.curvature[2], -shapes.curvature[1]
    return _symmetric(_crossed(shapes.turns, shapes.strain, by_strain) + _crossed(shapes.turns, across, by_curvature))


def _crossed(first: Array, second: Array, weights: Array) -> Array:
    """Return the weighted sum of the cross products as bilinear forms (3, n, n)."""
    weighted = first * weights
    return np.stack([weighted[i] @ second[j].T - weighted[j] @ second[i].T for _, i, j in CYCLIC])


def _symmetric(forms: Array) -> Array:
    """Return H of ``q^T form q = -q^T H q / 2``."""
    return -(forms + forms.transpose(0, 2, 1))
