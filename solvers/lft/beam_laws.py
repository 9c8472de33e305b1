"""Beams: coordinates in which their law is a polynomial of section, density and length, and the law of an uncertain length.

A coordinate of the beam is that of the loop times its column's scale; the effort on it counts times its row's. Against the beam
in the middle of all ranges, with ``l`` the length, ``m`` the mass a length and ``J`` its polar moment (for torsion, in place of
m): deflections go as ``l^2``, slopes, twist and stretch as ``l``, their efforts as ``l`` and 1; amplitudes of modes, of unit
mass with the tip held, as ``(m l)^1/2`` times the same. Stiffness then goes with the section alone, inertia up to ``l^4``.

In these coordinates displacements along the beam are those of a beam of fixed length for ``l`` times slopes and ``l^2`` times
own coordinates. Hence ``R(l) N(l) C(l)``, the diagonals C and R of powers of the length, N of first degree; and beside it
stiffness and damping on the own coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam import Beam
from titop.blocks.contract.block import Block
from titop.blocks.contract.overrides import overrides
from titop.solvers.lft.changed_blocks import ChangedBlock, LawPoint, law_matrices, vectors_of_law
from titop.solvers.lft.loops import LinearLoop, Signals, stack
from titop.solvers.lft.polynomials import Irrational, Polynomial, interpolate
from titop.solvers.lft.steps import Change, Rest

#: Powers of the length with which the tip's coordinates scale: stretch, deflections, twist, slopes; and their efforts.
_TIP_SCALE, _TIP_EFFORT_SCALE = (1.0, 2.0, 2.0, 1.0, 1.0, 1.0), (0.0, 1.0, 1.0, 0.0, 0.0, 0.0)
#: Powers of the length in a law: of the motion of P, and of the wrench there.
_AT_PORT = (0, 0, 0, 0, 1, 1)
#: Of the tip's coordinates and of the modes' amplitudes (bending in two planes, torsion, stretch), and of efforts on them.
_TIP, _MODES = (1, 2, 2, 1, 2, 2), (2, 2, 1, 1)
_TIP_EFFORTS, _MODES_EFFORTS = (0, 1, 1, 0, 1, 1), (1, 1, 0, 0)


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
    line, polar = (now / before for now, before in zip(_masses(block), _masses(middle), strict=True))
    counts = [*block.mode_counts.values()]
    columns = np.concatenate([_TIP_SCALE, np.repeat([2.0, 2.0, 1.0, 1.0], counts)])
    rows = np.concatenate([_TIP_EFFORT_SCALE, np.repeat([1.0, 1.0, 0.0, 0.0], counts)])
    masses = np.concatenate([np.ones(6), np.repeat(np.sqrt(length * np.array([line, line, polar, line])), counts)])
    masses *= _signs(block, middle)[:n]
    return Scales(length**columns * masses, length**rows * masses)


def scale_matrices(matrices: Array, scales: Scales | None) -> Array:
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
    modes, other = (beam.undeformed[:12, 6:] for beam in (block, middle))
    return np.where((modes * other).sum(axis=0) < 0, -1.0, 1.0)


# -- an uncertain length --------------------------------------------------------------------------------------------------


class LengthLaw(NamedTuple):
    """``R(l) N C(l)`` and stiffness and damping.

    Attributes
    ----------
    length : Polynomial (1, 1)
        One in the middle of its range.
    rows, columns : int arrays (6 + n) and (12 + 3n)
        Powers in R, and in C for ``[A; a; q; v; V]``.
    slopes, efforts : Polynomial
        N, and at the operating point (6 + n, 1).
    still : Polynomial (6 + n, 2n)
        By ``[q; v]`` of the beam at rest without load.
    middle : (6,) array
        Acceleration of the parent port where all deltas are zero.
    """

    length: Polynomial
    rows: Array
    columns: Array
    slopes: Polynomial
    efforts: Polynomial
    still: Polynomial
    middle: Array

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        beyond = rest.acceleration.pad(1).copy()
        beyond[:, 0] -= self.middle
        scaled = self._times(constants, Signals(beyond), self.columns[:6])
        efforts = self.efforts.apply(constants, Signals(np.ones((1, 1))))
        return self._times(constants, efforts + self.slopes.columns(slice(6)).apply(constants, scaled), self.rows)

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        moved = stack(change.acceleration, change.a, change.q, change.v, change.twist)
        total = self.slopes.apply(loop, self._times(loop, moved, self.columns))
        return self._times(loop, total, self.rows) + self.still.apply(loop, stack(change.q, change.v))

    def _times(self, loop: LinearLoop, signal: Signals, powers: Array) -> Signals:
        """Return signals times powers of the length."""
        for power in range(1, int(powers.max()) + 1):
            longer = (powers >= power).astype(float)
            scaled = self.length.transform(lambda length, longer=longer: length * np.diag(longer))  # type: ignore[misc]
            signal = scaled.apply(loop, signal) + np.diag(1.0 - longer) @ signal
        return signal


def length_law(changing: ChangedBlock, beam: Beam, at: LawPoint) -> LengthLaw | Irrational:
    """Return the law of a beam whose length is uncertain, or the parameter that keeps it from being one."""
    name, n = f"{beam.name}.length", beam.nv
    member = changing.uncertainty[name]
    length = Polynomial.affine(np.eye(1), [(member.delta, np.full((1, 1), member.half / member.middle))])
    counts = [*beam.mode_counts.values()]
    rows = np.concatenate([_AT_PORT, _TIP_EFFORTS, np.repeat(_MODES_EFFORTS, counts)])
    powers = np.concatenate([_TIP, np.repeat(_MODES, counts)])
    columns = np.concatenate([_AT_PORT, powers, powers, powers, _AT_PORT])
    calm = at._replace(twist=np.zeros(6), acceleration=np.zeros(6))

    def matrices(values: Mapping[str, float], at: LawPoint) -> Array:
        changed = changing.at(values)
        return scale_matrices(np.hstack(law_matrices(changed, at)), beam_scales(changed, beam))

    def still(values: Mapping[str, float]) -> Array:
        return matrices(values, calm)[:, 6 + n : 6 + 3 * n]

    def moving(values: Mapping[str, float]) -> Array:
        whole = matrices(values, at)
        whole[:, 6 + n : 6 + 3 * n] -= still(values)
        factor = changing.at(values).length / beam.length  # type: ignore[attr-defined]
        kept = np.hstack([whole[:, :-7] / factor**columns, whole[:, -1:]])
        scaled: Array = kept / factor ** rows[:, None]
        return scaled

    found = [
        interpolate(function, changing.deltas, changing.reach, changing.uncertainty.fits, vectors)
        for function, vectors in ((moving, vectors_of_law(n)[:4]), (still, ()))
    ]
    for polynomial in found:
        if isinstance(polynomial, Irrational):
            return polynomial
    whole, resting = found
    assert not isinstance(whole, Irrational)
    assert not isinstance(resting, Irrational)
    parts = whole.columns(slice(-1)), whole.columns(slice(-1, None)), resting
    return LengthLaw(length, rows, columns, *parts, at.acceleration)
