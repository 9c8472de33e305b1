"""Linear matrix inequalities in a few unknown matrices, by Newton's method on logarithmic barriers.

Unknowns enter as ``L^T U R + R^T U^T L``: second derivatives of the barriers are products of few matrices, so that a step takes
as long as one factorisation in the entries of all unknowns, and all inequalities share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular

from titop.blocks.basics.spatial import Array

#: By how much the weight of t grows after a centre, Newton's decrement at one, and steps in all.
_FASTER, _CENTRED, _STEPS = 8.0, 0.3, 150

#: The search ends when what t may still gain is this part of t; t is zero to this part of N.
_NEAR, _ZERO = 0.2, 1e-7

#: Directions on which nothing depends are kept out by so much, relative to the others.
_RIDGE = 1e-13


class Unknown(NamedTuple):
    """A symmetric or skew matrix of some size."""

    size: int
    skew: bool = False

    @property
    def pairs(self) -> tuple[Array, Array]:
        """Rows and columns of its independent entries."""
        return np.triu_indices(self.size, 1 if self.skew else 0)

    def matrix(self, entries: Array) -> Array:
        """Return the matrix of independent entries."""
        rows, columns = self.pairs
        result = np.zeros((self.size, self.size))
        result[columns, rows] = -entries if self.skew else entries
        result[rows, columns] = entries
        return result

    def folded(self, full: Array) -> Array:
        """Return derivatives (entries, ...) by the independent entries, from those (size, size, ...) by all."""
        rows, columns = self.pairs
        upper, lower = full[rows, columns], full[columns, rows]
        if self.skew:
            return upper - lower
        lower[rows == columns] = 0.0
        return upper + lower


class Term(NamedTuple):
    """``L^T U R + R^T U^T L`` of the unknown at a place in their list."""

    place: int
    L: Array
    R: Array


class Inequality(NamedTuple):
    """``sum of terms + t N < 0``."""

    terms: tuple[Term, ...]
    N: Array

    def value(self, unknowns: Sequence[Array]) -> Array:
        """Return the sum of its terms."""
        half = np.sum([term.L.T @ unknowns[term.place] @ term.R for term in self.terms], axis=0)
        result: Array = half + half.T
        return result


class Solution(NamedTuple):
    """The unknowns, the largest t found, and what it may gain at most."""

    unknowns: list[Array]
    t: float
    gap: float


def greatest_decrease(unknowns: Sequence[Unknown], inequalities: Sequence[Inequality], size: Sequence[Array]) -> Solution:
    """Find unknowns for which the terms lie below zero as far as they can: t as large as possible.

    The search ends when the sign of t is known, and t to a fifth.

    Parameters
    ----------
    unknowns : sequence of Unknown
    inequalities : sequence of Inequality
        All N are positive, or zero where the start satisfies the inequality.
    size : sequence of array
        What traces of the products of the unknowns with these matrices sum up to stays the same: unknowns are known but for a
        factor. The start are these matrices, scaled.
    """
    return _Search(unknowns, inequalities, size).run()


class _Search:
    def __init__(self, unknowns: Sequence[Unknown], inequalities: Sequence[Inequality], size: Sequence[Array]) -> None:
        self.unknowns, self.inequalities = unknowns, inequalities
        ends = np.cumsum([0, *(len(unknown.pairs[0]) for unknown in unknowns)]).tolist()
        self.parts = [slice(*pair) for pair in pairwise(ends)]
        self.x = np.concatenate([start[unknown.pairs] for unknown, start in zip(unknowns, size, strict=True)] + [[0.0]])
        self.normal = np.concatenate([unknown.folded(own) for unknown, own in zip(unknowns, size, strict=True)] + [[0.0]])
        self.count = sum(len(own.N) for own in inequalities)
        matrices = self._matrices(self.x)
        highest = [eigh(own.value(matrices), own.N, eigvals_only=True)[-1] for own in inequalities if own.N.any()]
        self.x[-1] = -max(highest) - 1.0
        self.weight = self.count / (1 + abs(self.x[-1]))

    def run(self) -> Solution:
        """Return the solution."""
        for _ in range(_STEPS):
            decrement = self._step()
            if decrement < _CENTRED:
                if self._is_known():
                    break
                self.weight *= _FASTER
            elif not np.isfinite(decrement):
                break
        return Solution(self._matrices(self.x), float(self.x[-1]), self.count / self.weight)

    def _is_known(self) -> bool:
        """Tell whether the sign of t is known, at a centre."""
        t, gap = self.x[-1], self.count / self.weight
        return bool(gap < _NEAR * t or t + 1.5 * gap < 0 or gap < _ZERO)

    def _matrices(self, x: Array) -> list[Array]:
        return [unknown.matrix(x[part]) for unknown, part in zip(self.unknowns, self.parts, strict=True)]

    def _barrier(self, x: Array) -> tuple[float, list[Array]]:
        """Return the barrier's value and the inverse of each inequality's matrix; infinite outside."""
        matrices, total, inverses = self._matrices(x), -self.weight * x[-1], []
        for own in self.inequalities:
            try:
                root = np.linalg.cholesky(-own.value(matrices) - x[-1] * own.N)
            except LinAlgError:
                return np.inf, []
            total -= 2 * np.log(root.diagonal()).sum()
            inverse = solve_triangular(root, np.eye(len(root)), lower=True)
            inverses.append(inverse.T @ inverse)
        return float(total), inverses

    def _step(self) -> float:
        """Take a step of Newton's method and return its decrement, infinite where none could be taken."""
        value, inverses = self._barrier(self.x)
        gradient, hessian = self._derivatives(inverses)
        hessian[np.diag_indices_from(hessian)] += _RIDGE * (hessian.diagonal() + hessian.diagonal().max() * _RIDGE)
        try:
            factor = cho_factor(hessian)
        except LinAlgError:
            return np.inf
        free, held = cho_solve(factor, np.column_stack([-gradient, self.normal])).T
        direction = free - held * (self.normal @ free) / (self.normal @ held)
        decrement = np.sqrt(max(-gradient @ direction, 0.0))
        length = 1.0
        while length > 1e-8:
            if self._barrier(self.x + length * direction)[0] <= value - 0.1 * length * decrement**2 + 1e-10 * abs(value):
                self.x = self.x + length * direction
                return float(decrement)
            length /= 2
        return np.inf

    def _derivatives(self, inverses: Sequence[Array]) -> tuple[Array, Array]:
        """Return gradient and second derivatives of the barrier."""
        gradient, hessian = np.zeros(len(self.x)), np.zeros((len(self.x), len(self.x)))
        gradient[-1] = -self.weight
        for own, W in zip(self.inequalities, inverses, strict=True):
            WNW = W @ own.N @ W
            gradient[-1] += np.sum(W * own.N)
            hessian[-1, -1] += np.sum(WNW * own.N)
            for place, L, R in own.terms:
                part, unknown = self.parts[place], self.unknowns[place]
                gradient[part] += unknown.folded(2 * (L @ W @ R.T))
                hessian[part, -1] += unknown.folded(2 * (L @ WNW @ R.T))
        hessian[-1, :-1] = hessian[:-1, -1]
        for i in range(len(self.unknowns)):
            for j in range(i + 1):
                hessian[self.parts[i], self.parts[j]] = block = self._second(i, j, inverses)
                hessian[self.parts[j], self.parts[i]] = block.T
        return gradient, hessian

    def _second(self, i: int, j: int, inverses: Sequence[Array]) -> Array:
        """Return the second derivatives by the entries of two unknowns U and V: of ``2 tr(U X V Y) + 2 tr(U X' V^T Y')``."""
        m, n = self.unknowns[i].size, self.unknowns[j].size
        stacks: list[list[Array]] = [[], [], [], []]
        for own, W in zip(self.inequalities, inverses, strict=True):
            for a in own.terms:
                for b in own.terms:
                    if a.place == i and b.place == j:
                        of_R, of_L = a.R @ W, W @ a.L.T
                        for stack, each in zip(stacks, (of_R @ b.L.T, b.R @ of_L, of_R @ b.R.T, b.L @ of_L), strict=True):
                            stack.append(each.ravel())
        if not stacks[0]:
            return np.zeros((self.parts[i].stop - self.parts[i].start, self.parts[j].stop - self.parts[j].start))
        X, Y, X2, Y2 = (np.array(stack) for stack in stacks)
        # by U_ab and V_cd: X_bc Y_da and X'_bd Y'_ca
        full = (X.T @ Y).reshape(m, n, n, m).transpose(3, 0, 1, 2) + (X2.T @ Y2).reshape(m, n, n, m).transpose(3, 0, 2, 1)
        by_u = self.unknowns[i].folded(2 * full)
        return self.unknowns[j].folded(by_u.transpose(1, 2, 0)).T
