"""Coordinates in which the law of a beam is a polynomial of its section, density and length.

Against a beam of other parameters, with ``l`` the length, ``m`` the mass a length and ``J`` its polar moment (for torsion, in
place of m): deflections go as ``l^2``, slopes, twist and stretch as ``l``, their efforts as ``l`` and 1; amplitudes of modes,
of unit mass with the tip held, as ``(m l)^1/2`` times the same. Stiffness then goes with the section alone, inertia up to
``l^4``.

In these coordinates displacements along the beam are those of a beam of fixed length for ``l`` times slopes and ``l^2`` times
own coordinates. Hence the law is ``R(l) N(l) C(l)``, the diagonals C and R of powers of the length, N of first degree; and
beside it stiffness and damping on the own coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.description import CoordinateScaling

#: Parameters with which the amplitudes of modes scale, but not the tip's displacements.
MODE_SCALES = ("density", "area", "iy", "iz")
#: Powers of the length with which the tip's coordinates scale: stretch, deflections, twist, slopes; and their efforts.
_TIP_SCALE, _TIP_EFFORT_SCALE = (1.0, 2.0, 2.0, 1.0, 1.0, 1.0), (0.0, 1.0, 1.0, 0.0, 0.0, 0.0)
#: Powers of the length in a law: of the motion of P, and of the wrench there.
_AT_PORT = (0, 0, 0, 0, 1, 1)
#: Of the tip's coordinates and of the modes' amplitudes (bending in two planes, torsion, stretch), and of efforts on them.
_TIP, _MODES = (1, 2, 2, 1, 2, 2), (2, 2, 1, 1)
_TIP_EFFORTS, _MODES_EFFORTS = (0, 1, 1, 0, 1, 1), (1, 1, 0, 0)


def scaling_beside(beam: Any, other: Any) -> CoordinateScaling:
    """Return the scales of a beam's coordinates beside those of the same beam with other parameters."""
    length = beam.length / other.length
    line, polar = (now / before for now, before in zip(_masses(beam), _masses(other), strict=True))
    counts = [*beam.mode_counts.values()]
    columns = np.concatenate([_TIP_SCALE, np.repeat([2.0, 2.0, 1.0, 1.0], counts)])
    rows = np.concatenate([_TIP_EFFORT_SCALE, np.repeat([1.0, 1.0, 0.0, 0.0], counts)])
    masses = np.concatenate([np.ones(6), np.repeat(np.sqrt(length * np.array([line, line, polar, line])), counts)])
    masses *= _signs(beam, other)
    return CoordinateScaling(length**columns * masses, length**rows * masses)


def _masses(beam: Any) -> tuple[float, float]:
    return beam.density * beam.area, beam.density * (beam.iy + beam.iz)


def _signs(beam: Any, other: Any) -> Array:
    """Return 1 for modes (n) that point as those of the other beam do, -1 for those that point against them."""
    shapes, others = (each.undeformed[:12, 6:] for each in (beam, other))
    return np.where((shapes * others).sum(axis=0) < 0, -1.0, 1.0)


def length_powers(beam: Any) -> tuple[Array, Array]:
    """Return the powers of the length in R and in C (6 + n each)."""
    counts = [*beam.mode_counts.values()]
    rows = np.concatenate([_AT_PORT, _TIP_EFFORTS, np.repeat(_MODES_EFFORTS, counts)])
    return rows, np.concatenate([_AT_PORT, _TIP, np.repeat(_MODES, counts)])
