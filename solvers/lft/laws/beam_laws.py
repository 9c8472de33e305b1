"""The law of a straight beam whose length is uncertain, as factors: what moves times powers of the length, and back.

In the coordinates of `beam_coordinates`, with ``l`` the length beside that in the middle of its range, displacements along the
beam are those of a beam of fixed length for ``l`` times slopes and ``l^2`` times own coordinates. Hence ``R(l) N(l) C(l)``, the
diagonals C and R of powers of the length, N of first degree; and beside it stiffness and damping on the own coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam import Beam
from titop.solvers.lft.fractions.interpolation import Irrational, Polynomial, interpolated
from titop.solvers.lft.fractions.loops import Affine, Loop, Signal, stacked
from titop.solvers.lft.laws.beam_coordinates import beam_scales, in_scaled_coordinates
from titop.solvers.lft.laws.changed_blocks import ChangedBlock
from titop.solvers.lft.laws.laws import At, Change, Rest, law_matrices, vectors_of_law

#: Powers of the length: of the motion of P, and of the wrench there.
_AT_PORT = (0, 0, 0, 0, 1, 1)
#: Of the tip's coordinates and of the modes' amplitudes (bending in two planes, torsion, stretch), and of efforts on them.
_TIP, _MODES = (1, 2, 2, 1, 2, 2), (2, 2, 1, 1)
_TIP_EFFORTS, _MODES_EFFORTS = (0, 1, 1, 0, 1, 1), (1, 1, 0, 0)


class LengthLaw(NamedTuple):
    """``R(l) N C(l)`` and stiffness and damping.

    Attributes
    ----------
    length : Affine (1, 1)
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

    length: Affine
    rows: Array
    columns: Array
    slopes: Polynomial
    efforts: Polynomial
    still: Polynomial
    middle: Array

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        beyond = rest.acceleration.padded(1).copy()
        beyond[:, 0] -= self.middle
        scaled = self._times(constants, Signal(beyond), self.columns[:6])
        efforts = self.efforts.applied(constants, Signal(np.ones((1, 1))))
        return self._times(constants, efforts + self.slopes.columns(slice(6)).applied(constants, scaled), self.rows)

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        moved = stacked(change.acceleration, change.a, change.q, change.v, change.twist)
        total = self.slopes.applied(loop, self._times(loop, moved, self.columns))
        return self._times(loop, total, self.rows) + self.still.applied(loop, stacked(change.q, change.v))

    def _times(self, loop: Loop, signal: Signal, powers: Array) -> Signal:
        """Return signals times powers of the length."""
        for power in range(1, int(powers.max()) + 1):
            chosen = np.diag((powers >= power).astype(float))
            slopes = tuple((delta, slope[0, 0] * chosen) for delta, slope in self.length.slopes)
            signal = loop.applied(Affine(np.eye(len(signal)), slopes), signal)
        return signal


def length_law(changing: ChangedBlock, beam: Beam, at: At) -> LengthLaw | Irrational:
    """Return the law of a beam whose length is uncertain, or the parameter that keeps it from being one."""
    name, n = f"{beam.name}.length", beam.nv
    uncertain, member = changing.uncertainty.at(name)  # type: ignore[misc]
    length = Affine(np.eye(1), ((uncertain.name, np.full((1, 1), member.half / member.middle)),))
    counts = [*beam.mode_counts.values()]
    rows = np.concatenate([_AT_PORT, _TIP_EFFORTS, np.repeat(_MODES_EFFORTS, counts)])
    own = np.concatenate([_TIP, np.repeat(_MODES, counts)])
    columns = np.concatenate([_AT_PORT, own, own, own, _AT_PORT])
    calm = at._replace(twist=np.zeros(6), acceleration=np.zeros(6))

    def matrices(values: Mapping[str, float], at: At) -> Array:
        changed = changing.at(values)
        return in_scaled_coordinates(np.hstack(law_matrices(changed, at)), beam_scales(changed, beam))

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
        interpolated(function, changing.deltas, changing.reach, changing.uncertainty.fits, vectors)
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
