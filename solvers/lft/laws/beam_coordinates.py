"""Coordinates in which the law of a uniform beam is a polynomial of its section, density and length.

A coordinate of the beam is that of the loop times its column's scale; the effort on it counts times its row's. Against the beam
in the middle of all ranges, with ``l`` the length, ``m`` the mass a length and ``J`` its polar moment (for torsion, in place of
m): deflections go as ``l^2``, slopes, twist and stretch as ``l``, their efforts as ``l`` and 1; amplitudes of modes, of unit
mass with the tip held, as ``(m l)^1/2`` times the same. Stiffness then goes with the section alone, inertia up to ``l^4``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam import Beam
from titop.blocks.contract.block import Block
from titop.blocks.contract.overrides import overrides

#: Powers of the length of the tip's coordinates: stretch, deflections, twist, slopes; and of their efforts.
_TIP, _TIP_EFFORTS = (1.0, 2.0, 2.0, 1.0, 1.0, 1.0), (0.0, 1.0, 1.0, 0.0, 0.0, 0.0)


class Scales(NamedTuple):
    """Scales (n each) of coordinates, and of the efforts on them."""

    columns: Array
    rows: Array


def beam_scales(block: Block, middle: Block) -> Scales | None:
    """Return the scales of a beam's coordinates beside those of the beam in the middle of all ranges; None of other blocks."""
    if not isinstance(block, Beam) or not isinstance(middle, Beam) or overrides(block):
        return None
    n = block.nv
    length = block.length / middle.length
    line, polar = (own / before for own, before in zip(_masses(block), _masses(middle), strict=True))
    counts = [*block.mode_counts.values()]
    columns = np.concatenate([_TIP, np.repeat([2.0, 2.0, 1.0, 1.0], counts)])
    rows = np.concatenate([_TIP_EFFORTS, np.repeat([1.0, 1.0, 0.0, 0.0], counts)])
    masses = np.concatenate([np.ones(6), np.repeat(np.sqrt(length * np.array([line, line, polar, line])), counts)])
    masses *= _signs(block, middle)[:n]
    return Scales(length**columns * masses, length**rows * masses)


def in_scaled_coordinates(matrices: Array, scales: Scales | None) -> Array:
    """Return slopes (6 + n, 18 + 3n) and efforts of a law, side by side, in scaled coordinates."""
    if scales is None:
        return matrices
    unit = np.ones(6)
    columns = np.concatenate([unit, *(scales.columns,) * 3, unit, unit, [1.0]])
    scaled: Array = np.concatenate([unit, scales.rows])[:, None] * matrices * columns
    return scaled


def _masses(beam: Beam) -> tuple[float, float]:
    return beam.density * beam.area, beam.density * (beam.iy + beam.iz)


def _signs(block: Beam, middle: Beam) -> Array:
    """Return 1 for modes (n) that point as those of the other beam do, -1 for those that point against them."""
    own, other = (beam.undeformed[:12, 6:] for beam in (block, middle))
    return np.where((own * other).sum(axis=0) < 0, -1.0, 1.0)
