"""The law of a block whose coordinates scale with its parameters, and whose length is uncertain.

A coordinate of the block is that of the loop times its column's scale; the effort on it counts times its row's
(`titop.blocks.bodies.beam_scaling` has those of beams). Then the law is ``R(l) N(l) C(l)``, the diagonals C and R of powers of
the length, N of first degree; and beside it stiffness and damping on the own coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import CoordinateScaling
from titop.solvers.lft.changed_blocks import ChangedBlock, LawPoint, law_matrices, vectors_of_law
from titop.solvers.lft.loops import LinearLoop, Signals, stack
from titop.solvers.lft.polynomials import Irrational, Polynomial, interpolate
from titop.solvers.lft.steps import Change, Rest


def scale_matrices(matrices: Array, scales: CoordinateScaling | None) -> Array:
    """Return slopes (6 + n, 18 + 3n) and efforts of a law, side by side, in scaled coordinates."""
    if scales is None:
        return matrices
    unit = np.ones(6)
    columns = np.concatenate([unit, *(scales.columns,) * 3, unit, unit, [1.0]])
    scaled: Array = np.concatenate([unit, scales.rows])[:, None] * matrices * columns
    return scaled


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


def length_law(changing: ChangedBlock, block: Block, at: LawPoint, rows: Array, columns: Array) -> LengthLaw | Irrational:
    """Return the law of a block whose length is uncertain, or the parameter that keeps it from being one.

    Parameters
    ----------
    changing : ChangedBlock
    block : Block
    at : LawPoint
    rows, columns : (6 + n,) arrays
        See `Block.length_powers`.
    """
    name, n = f"{block.name}.length", block.nv
    member = changing.uncertainty[name]
    length = Polynomial.affine(np.eye(1), [(member.delta, np.full((1, 1), member.half / member.middle))])
    columns = np.concatenate([columns, columns[6:], columns[6:], columns[:6]])
    calm = at._replace(twist=np.zeros(6), acceleration=np.zeros(6))

    def matrices(values: Mapping[str, float], at: LawPoint) -> Array:
        changed = changing.at(values)
        return scale_matrices(np.hstack(law_matrices(changed, at)), changed.scaling_beside(block))

    def still(values: Mapping[str, float]) -> Array:
        return matrices(values, calm)[:, 6 + n : 6 + 3 * n]

    def moving(values: Mapping[str, float]) -> Array:
        whole = matrices(values, at)
        whole[:, 6 + n : 6 + 3 * n] -= still(values)
        factor = changing.at(values).parameters()["length"][0] / block.parameters()["length"][0]
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
