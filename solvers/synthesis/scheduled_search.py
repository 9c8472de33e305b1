"""The least level for which functions X and Y of the parameters satisfy the inequalities of gain-scheduled control.

At every point, for all ends of the rates, on the directions that measurements do not see and controls do not move:

    [ dX/dt + X A + A' X   X B1    C1' ]           [ -dY/dt + Y A' + A Y   Y C1'   B1  ]           [ X  1 ]
    [      B1' X          -level   D11'] < 0,      [        C1 Y          -level   D11 ] < 0,      [ 1  Y ] > 0
    [      C1              D11   -level]           [        B1'            D11'  -level]

Source: Apkarian and Gahinet, A convex characterization of gain-scheduled H-infinity controllers, IEEE Transactions on Automatic
Control 40 (1995); Wu, Yang, Packard and Becker, Induced L2-norm control for LPV systems with bounded parameter variation rates,
International Journal of Robust and Nonlinear Control 6 (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE
from titop.solvers.robust.lyapunov_functions import monomial_values, points_apart
from titop.solvers.robust.matrix_inequalities import Inequality, Solution, Term, UnknownMatrix, greatest_decrease
from titop.solvers.robust.varying_members import Members
from titop.solvers.synthesis.riccati import Parts
from titop.solvers.synthesis.scheduled_controllers import Functions, controller_at, proved_level

#: Points at which a search begins, those added where it fails, and how often.
_FIRST, _ADDED, _ROUNDS = 3, 3, 12

#: The controller is that of a level so much above the least, the first at which rounding leaves X and Y what they are; its
#: formula is that of one a little higher still.
_BACK, _FORMULA = (1 + COARSE, 1 + 5 * COARSE, 1 + 20 * COARSE), 1 + NEGLIGIBLE


#: To so much levels are found, and residuals, in parts of the least gain in the middle.
_TOLERANCES = ((CLOSE, COARSE * CLOSE),)


@dataclass(frozen=True)
class LevelPoints:
    """Members of a plant in common units, with what X and Y are made of there.

    `values` (k, terms), `along` (k, motions, terms): of the monomials, and their rates of change.
    """

    parts: list[Parts]
    s: Array
    values: Array
    along: Array

    @classmethod
    def of(cls, parts: list[Parts], members: Members, exponents: Array, motions: Array) -> LevelPoints:
        """Return members with their monomials."""
        return cls(parts, members.s, *monomial_values(members, exponents, motions))


class ScheduledLevel(NamedTuple):
    """The least level, that of the controller's formula, the one that is proved at all points; coefficients of X and Y."""

    least: float
    level: float
    proved: float
    X: Array
    Y: Array


@dataclass
class ScheduledSearch:
    """A search for X and Y. `x_terms`, `y_terms`: of how many monomials each is made, the constant first."""

    points: LevelPoints
    x_terms: int
    y_terms: int

    @property
    def by_x(self) -> bool:
        """Whether the controller's states are those of X, which is constant while Y is not."""
        return self.x_terms < self.y_terms

    def run(self, least: float, each: Callable[[], object] = lambda: None) -> ScheduledLevel:
        """Return what is found, the points added where it fails; `each` is called after every round.

        `least`: the least level at the first points.
        """
        active = self.first()
        for rounds in range(_ROUNDS):
            if rounds:
                least = self.least(active)
            for back in _BACK:
                X, Y = self.central(active, back * least)
                level = back * _FORMULA * least
                levels = np.array([self.proved(k, X, Y, level) for k in range(len(self.points.s))])
                if np.isfinite(levels[active]).all():
                    break
            failing = [int(k) for k in np.argsort(-levels) if not levels[k] <= level and k not in active]
            each()
            if not failing or not np.isfinite(levels[active]).all():  # more points only make it harder
                break
            active += failing[:_ADDED]
        return ScheduledLevel(least, level, float(levels.max()), X, Y)

    def functions(self, k: int, j: int, X: Array, Y: Array) -> Functions:
        """Return X and Y at a point, for a motion."""
        values, along = self.points.values[k], self.points.along[k, j]
        sums = [np.tensordot(factors[: len(terms)], terms, 1) for factors in (values, along) for terms in (X, Y)]
        return Functions(sums[0], sums[1], sums[2], sums[3], self.by_x)

    def proved(self, k: int, X: Array, Y: Array, level: float) -> float:
        """Return the level that the loop's function proves at a point, for all motions."""
        worst = 0.0
        for j in range(self.points.along.shape[1]):
            functions = self.functions(k, j, X, Y)
            try:
                K = controller_at(self.points.parts[k], functions, level)
            except np.linalg.LinAlgError:
                return np.inf
            worst = max(worst, proved_level(self.points.parts[k], K, functions))
        return worst

    def least(self, active: list[int]) -> float:
        """Return the least level at some points."""
        inequalities = [Inequality(tuple(terms), N) for terms, N in self._levels(active)]
        inequalities += [Inequality(tuple(self._positive(k)), np.zeros((2 * self._n,) * 2)) for k in self._coupled(active)]
        return -self._solve(inequalities).t

    def central(self, active: list[int], level: float) -> tuple[Array, Array]:
        """Return X and Y for a level that are farthest from each other's inverse, as those of central controllers are."""
        one = self._constant
        inequalities = []
        for terms, N in self._levels(active):
            fixed = [Term(one, -level / 2 * row[None], row[None]) for row in _root(N)]
            inequalities.append(Inequality((*terms, *fixed), 0 * N))
        n = self._n
        across = np.block([[np.zeros((n, n)), np.eye(n)], [np.eye(n), np.zeros((n, n))]])
        inequalities += [Inequality(tuple(self._diagonal(k)), across) for k in self._coupled(active)]
        matrices = np.array(self._solve(inequalities).unknowns[:-1])
        return matrices[: self.x_terms], matrices[self.x_terms :]

    # -- inequalities ------------------------------------------------------------------------------------------------

    @property
    def _n(self) -> int:
        return len(self.points.parts[0].A)

    @property
    def _constant(self) -> int:
        """The place of the unknown that is one."""
        return self.x_terms + self.y_terms

    def first(self) -> list[int]:
        """Return the points at which a search begins."""
        return points_apart(self.points.s, _FIRST)

    def _coupled(self, active: list[int]) -> list[int]:
        return active if self.x_terms > 1 or self.y_terms > 1 else active[:1]

    def _levels(self, active: list[int]) -> Iterator[tuple[list[Term], Array]]:
        """Yield the inequalities of X and Y at some points, and what the level multiplies in each."""
        for k in active:
            A, B1, B2, C1, C2, D11, D12, D21 = self.points.parts[k]
            values, every = self.points.values[k], self.points.along[k]
            for along in np.unique(every[:, : self.x_terms], axis=0):
                x = zip(range(self.x_terms), values, along, strict=False)
                yield self._side(x, A, B1, np.hstack([C2, D21]), C1, D11)
            for along in np.unique(every[:, : self.y_terms], axis=0):
                y = zip(range(self.x_terms, self._constant), values, -along, strict=False)
                yield self._side(y, A.T, C1.T, np.hstack([B2.T, D12.T]), B1.T, D11.T)

    def _side(
        self, monomials: Iterator[tuple[int, float, float]], A: Array, B: Array, seen: Array, C: Array, D: Array
    ) -> tuple[list[Term], Array]:
        n, z = len(A), len(C)
        basis = null_space(seen)
        free = basis.shape[1]
        state, rest = np.hstack([basis[:n], np.zeros((n, z))]), basis[n:]
        motion, out = (
            np.hstack([A @ basis[:n] + B @ rest, np.zeros((n, z))]),
            np.hstack([C @ basis[:n] + D @ rest, np.zeros((z, z))]),
        )
        terms = [Term(place, state, x * motion + 0.5 * dx * state) for place, x, dx in monomials]
        one = np.eye(free + z)[free:]
        terms += [Term(self._constant, one[i : i + 1], out[i : i + 1]) for i in range(z)]
        N = np.zeros((free + z, free + z))
        N[:free, :free], N[free:, free:] = rest.T @ rest, np.eye(z)
        return terms, N

    def _diagonal(self, k: int) -> Iterator[Term]:
        n, values = self._n, self.points.values[k]
        top, bottom = np.eye(n, 2 * n), np.eye(n, 2 * n, n)
        for place in range(self.x_terms):
            yield Term(place, -0.5 * values[place] * top, top)
        for place in range(self.y_terms):
            yield Term(self.x_terms + place, -0.5 * values[place] * bottom, bottom)

    def _positive(self, k: int) -> Iterator[Term]:
        yield from self._diagonal(k)
        one = np.eye(2 * self._n)
        for i in range(self._n):
            yield Term(self._constant, -one[i : i + 1], one[self._n + i : self._n + i + 1])

    def _solve(self, inequalities: list[Inequality]) -> Solution:
        count = self.x_terms + self.y_terms
        unknowns = [UnknownMatrix(self._n)] * count + [UnknownMatrix(1)]
        size = [np.zeros((self._n, self._n))] * count + [np.ones((1, 1))]
        return greatest_decrease(unknowns, inequalities, size, _TOLERANCES)


def _root(N: Array) -> Array:
    """Return rows whose squares sum up to a matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(N)
    kept = values > NEGLIGIBLE * values[-1]
    return (vectors[:, kept] * np.sqrt(values[kept])).T
