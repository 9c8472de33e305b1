"""How efforts are shared between actuators and closures, for one state and any number of right-hand sides.

Constraints that share no coordinates are solved block by block (`coupling`), blocks of one size together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.coupling import Coupled, coupled_blocks
from titop.solvers.support.equal_sizes import equal_sizes

#: Eigenvalues over the largest, in units in which rows are as large as each other, of matrices that have an inverse.
_REGULAR = 1e-9


class _Alike(NamedTuple):
    """Blocks (g of them) of k independent constraints each, on c coordinates.

    Attributes
    ----------
    rows, columns, dependent : (g, k), (g, c), (g, k) arrays of int
        Constraints, coordinates, and those of these that follow.
    pivots : (g, k, k) array
        Columns of the dependent coordinates.
    inverse : (g, c + k, c + k) array
        Takes what is needed, and how the constraints over the pivots open, to efforts and multipliers of least norm.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    dependent: NDArray[np.intp]
    pivots: Array
    inverse: Array

    @classmethod
    def of(cls, jacobian: Array, rows: NDArray[np.intp], columns: NDArray[np.intp], follows: Array, unknown: Array) -> _Alike:
        """Return blocks of a Jacobian: `follows` (nv) tells which coordinates do, `unknown` (nv) where efforts are."""
        (g, k), c = rows.shape, columns.shape[1]
        dependent = columns[follows[columns]].reshape(g, k)
        pivots = jacobian[rows[:, :, None], dependent[:, None, :]]
        J = np.linalg.solve(pivots, jacobian[rows[:, :, None], columns[:, None, :]])
        matrix = np.zeros((g, c + k, c + k))
        matrix[:, range(c), range(c)] = unknown[columns]
        matrix[:, c:, :c], matrix[:, :c, c:] = J, np.swapaxes(J, 1, 2)
        return cls(rows, columns, dependent, pivots, _inverse(matrix))

    def solve(self, needed: Array, opening: Array) -> tuple[Array, Array]:
        """Return efforts (g, c, m) and multipliers (g, k, m) over the pivots, where all constraints open by `opening`."""
        right = np.concatenate([needed[self.columns], np.linalg.solve(self.pivots, opening[self.rows])], axis=1)
        solution, c = self.inverse @ right, self.columns.shape[1]
        return solution[:, :c], solution[:, c:]


def _inverse(matrices: Array) -> Array:
    """Return the inverses of symmetric matrices (g, n, n), in units in which rows are as large as each other.

    Where there are none, pseudoinverses, which depend on units, in those that are given.
    """
    rows, columns = equal_sizes(matrices)
    scales = 1.0 / rows / columns
    sizes = np.abs(np.linalg.eigvalsh(matrices * scales))
    regular = sizes.min(axis=1, initial=np.inf) > _REGULAR * sizes.max(axis=1, initial=0.0)
    result = np.empty(matrices.shape)
    result[regular] = np.linalg.inv((matrices * scales)[regular]) * scales[regular]
    result[~regular] = np.linalg.pinv(matrices[~regular], matrices.shape[1] * np.finfo(float).eps, hermitian=True)
    return result


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
    def of(cls, jacobian: Array, rows: Array, dependent: Array, unknown: Array) -> Shares:
        """Return how the `rows` of a `jacobian`, which `dependent` coordinates follow, share efforts, `unknown` on some."""
        follows, alike = np.zeros(len(unknown), dtype=bool), dict[tuple[int, int], list[Coupled]]()
        follows[dependent] = True
        for block in coupled_blocks(jacobian[rows]):
            alike.setdefault((len(block.rows), len(block.columns)), []).append(block)
        blocks = []
        for same in alike.values():
            chosen, columns = (np.array(numbers) for numbers in zip(*same, strict=True))
            blocks.append(_Alike.of(jacobian, rows[chosen], columns, follows, unknown))
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
