"""How efforts are shared between actuators and closures, for one state and any number of right-hand sides.

Constraints that share no coordinates are solved block by block (`coupling`), blocks of one size together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED
from titop.solvers.constraints.coupling import Coupled, coupled_blocks
from titop.solvers.constraints.multipliers import ROUNDED


class _Alike(NamedTuple):
    """Blocks (g of them) of k independent constraints each, on c coordinates.

    Motions F that the constraints leave, one for each coordinate that leads, say what has to be balanced, ``F^T (x - w) = 0``,
    and the part of F that unknown efforts see, by least squares, what these are.

    Attributes
    ----------
    rows, columns, dependent : (g, k), (g, c), (g, k) arrays of int
        Constraints, coordinates, and those of these that follow.
    pivots : (g, k, k) array
        Columns of the dependent coordinates.
    motions : (g, c, c - k) array
        F.
    on : (g, c) bool array
        Where efforts are unknown.
    inverse : (g, c - k, c) array
        The pseudoinverse of what of F is seen.
    follows : (g, k) array of int
        Places of the dependent coordinates among the block's.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    dependent: NDArray[np.intp]
    pivots: Array
    motions: Array
    on: Array
    inverse: Array
    follows: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        jacobian: Array,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        follows: Array,
        unknown: Array,
        sizes: Array,
    ) -> _Alike:
        """Return blocks of a Jacobian: `follows` (nv) tells which coordinates do, `unknown` (nv) where efforts are."""
        (g, k), c = rows.shape, columns.shape[1]
        own = follows[columns]
        dependent, others = columns[own].reshape(g, k), columns[~own].reshape(g, c - k)
        pivots = jacobian[rows[:, :, None], dependent[:, None, :]]
        motions = np.zeros((g, c, c - k))
        motions[~own] = np.tile(np.eye(c - k), (g, 1))
        motions[own] = -np.linalg.solve(pivots, jacobian[rows[:, :, None], others[:, None, :]]).reshape(g * k, c - k)
        on = unknown[columns]
        places = np.nonzero(own)[1].reshape(g, k)
        inverse = _pseudoinverse(motions, on, sizes[columns])
        return cls(rows, columns, dependent, pivots, motions, on, inverse, places)

    def solve(self, needed: Array, opening: Array) -> tuple[Array, Array]:
        """Return efforts (g, c, m) and multipliers (g, k, m) over the pivots, where all constraints open by `opening`."""
        needed, opened = needed[self.columns], np.linalg.solve(self.pivots, opening[self.rows])
        places, on, back = self.follows[:, :, None], self.on[:, :, None], np.swapaxes(self.inverse, 1, 2)
        w = np.zeros(needed.shape)
        np.put_along_axis(w, np.broadcast_to(places, opened.shape), opened, axis=1)
        seen = back @ (np.swapaxes(self.motions, 1, 2) @ needed) - np.where(on, w, 0.0)
        w += self.motions @ (self.inverse @ seen)
        return w, np.take_along_axis(needed - np.where(on, w, 0.0), places, axis=1)


def _pseudoinverse(motions: Array, on: Array, sizes: Array) -> Array:
    """Return the pseudoinverses (g, n, c) of what is seen `on` some coordinates (g, c) of motions (g, c, n).

    What is seen of a motion by no more than rounding of the whole, both over the coordinates' `sizes`, does not count.
    """
    seen, squares = np.where(on[:, :, None], motions, 0.0), (motions / sizes[:, :, None]) ** 2
    counted = np.where(on[:, :, None], squares, 0.0).sum(axis=1, keepdims=True)
    lengths = np.sqrt((seen**2).sum(axis=1, keepdims=True))
    lengths = np.where(counted > ROUNDED * squares.sum(axis=1, keepdims=True), lengths, np.inf)
    left, values, right = np.linalg.svd(seen / lengths, full_matrices=False)
    counts = values > CANCELLED * values.max(axis=1, initial=0.0, keepdims=True)
    inverted = np.divide(1.0, values, out=np.zeros(values.shape), where=counts)
    result: Array = np.swapaxes(right, 1, 2) * inverted[:, None, :] @ np.swapaxes(left, 1, 2)
    return result / np.swapaxes(lengths, 1, 2)


class Shares(NamedTuple):
    """How efforts that are needed are split: ``D w + J^T lambda``, with ``J w = 0`` and D the selection of unknown efforts.

    Only independent constraints count; they are solved for as many coordinates as there are of them: J is made of their rows
    over the columns of these.

    Attributes
    ----------
    unknown : (nv,) bool array
    blocks : list of blocks of one size each
    """

    unknown: Array
    blocks: list[_Alike]

    @classmethod
    def of(cls, jacobian: Array, rows: Array, dependent: Array, unknown: Array, sizes: Array) -> Shares:
        """Return how the `rows` of a `jacobian`, which `dependent` coordinates follow, share efforts, `unknown` on some.

        The `sizes` (nv) are what counts as one of each coordinate.
        """
        follows, alike = np.zeros(len(unknown), dtype=bool), dict[tuple[int, int], list[Coupled]]()
        follows[dependent] = True
        for block in coupled_blocks(jacobian[rows]):
            alike.setdefault((len(block.rows), len(block.columns)), []).append(block)
        blocks = []
        for same in alike.values():
            chosen, columns = (np.array(numbers) for numbers in zip(*same, strict=True))
            blocks.append(_Alike.of(jacobian, rows[chosen], columns, follows, unknown, sizes))
        return cls(unknown, blocks)

    def split(self, needed: Array, count: int) -> tuple[Array, Array]:
        """Return w (n) and the multipliers of all the constraints, `count` of them."""
        w, multipliers = np.where(self.unknown, needed, 0.0), np.zeros(count)
        for block in self.blocks:
            efforts, carried = block.solve(needed[:, None], np.zeros((count, 1)))
            w[block.columns] = efforts[..., 0]
            multipliers[block.rows] = np.linalg.solve(np.swapaxes(block.pivots, 1, 2), carried)[..., 0]
        return w, multipliers

    def least(self, needed: Array, turning: Array) -> Array:
        """Return changes (n x m) of the unknown efforts with those of all that are needed, constraints `turning` (k x m)."""
        on = self.unknown[:, None]
        changes = np.where(on, needed, 0.0)
        for block in self.blocks:
            changes[block.columns] = block.solve(needed, -turning)[0]
        return np.where(on, changes, 0.0)

    def closing(self, opening: Array) -> Array:
        """Return accelerations (n x m) of dependent coordinates alone that undo how fast all constraints (k x m) open more."""
        closing = np.zeros((len(self.unknown), opening.shape[1]))
        for block in self.blocks:
            closing[block.dependent] = -np.linalg.solve(block.pivots, opening[block.rows])
        return closing
