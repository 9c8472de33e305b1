"""Lyapunov functions that are polynomial in parameters with bounded rates, tested at points of a family."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.common_lyapunov import Certificate, is_positive, rounding
from titop.solvers.robust.lyapunov_coordinates import decrease, in_coordinates, lyapunov_coordinates
from titop.solvers.robust.matrix_inequalities import Inequality, Term, Unknown, greatest_decrease
from titop.solvers.robust.varying_members import Members

#: Points at which the search begins, those added where it fails and their least distance, and how often.
_FIRST, _ADDED, _APART, _ROUNDS = 6, 4, 0.05, 25

#: The part of a decay at points that is asked for between them.
_BETWEEN = 0.9


@dataclass
class ParameterLyapunov:
    """A search for ``V = x' P(s) x`` that falls at all points while parameters change at bounded rates.

    P is a polynomial in the normalised parameters whose rates are bounded. At a point the inequality

        A'P + P A + sum_i dP/ds_i ds_i/dt + 2 rate P < 0

    is linear in the rates, thus it is tested at their ends. With both signs of the rates it makes P positive where A is stable.
    The search begins with few points and adds those where what it found fails.

    Attributes
    ----------
    members : Members
        All stable; the first is the reference.
    exponents : array (terms, p)
        Of the monomials, that of the constant first.
    rates : array (p,)
        Bounds in units per second, zero of parameters of which P is no function.
    doubts : callable
        Returns members at which P (terms, n, n) may fail to have a decay (1/s); none after a proof.
    """

    members: Members
    exponents: Array
    rates: Array
    doubts: Callable[[Array, float], Members] | None = None

    def __post_init__(self) -> None:
        self._T = lyapunov_coordinates(self.members.A[0])
        ends = itertools.product(*([-x, x] if x else [0.0] for x in self.rates))
        self._motions = np.array([*ends]).reshape(-1, len(self.rates))
        self._active = self._first()

    def search(self, rate: float = 0.0) -> Certificate | str:
        """Return what was found at a rate of decay (1/s), or how far the search came."""
        for _ in range(_ROUNDS):
            P, status = self._solved(rate)
            growth = self._growth(P)
            worst = float(growth.max())
            if not all(growth[pair] < -rate for pair in self._active):
                return f"{status}: none exists at the points"
            failing = self._failing(growth, -rate)
            if not failing:
                certificate = self._certified(P, -worst, rate, status)
                if certificate is not None:
                    return certificate
                failing = self._failing(self._growth(P), _BETWEEN * worst - (1 - _BETWEEN) * rate)
            new = self._apart(failing)
            if not new:
                return f"{status}: too near to failing"
            self._active += new
        return f"{status}: still failing between points after {_ROUNDS} rounds"

    # -- what is tested ----------------------------------------------------------------------------------------------

    def _first(self) -> list[tuple[int, int]]:
        """Return the pairs of point and rates with which a search begins: the reference, and points far from each other."""
        s, chosen = self.members.s, [0]
        distance = np.linalg.norm(s - s[0], axis=1)
        while len(chosen) < min(_FIRST, len(s)) and distance.max() > 0:
            chosen.append(int(distance.argmax()))
            distance = np.minimum(distance, np.linalg.norm(s - s[chosen[-1]], axis=1))
        return [(k, j) for k in chosen for j in range(len(self._motions))]

    def _failing(self, growth: Array, most: float) -> list[tuple[int, int]]:
        """Return the pairs at which V grows by more, the worst first and one for each point before a second."""
        order = np.argsort(-growth, axis=1)
        ranked = [(int(j), k, int(order[k, j])) for k in range(len(growth)) for j in range(growth.shape[1])]
        ranked = [entry for entry in ranked if not growth[entry[1], entry[2]] < most]
        ranked.sort(key=lambda entry: (entry[0], -growth[entry[1], entry[2]]))
        return [(k, j) for _, k, j in ranked]

    def _apart(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the first of some pairs that are not active, those of other points not too near to each other."""
        chosen: list[tuple[int, int]] = []
        for k, j in pairs:
            distances = [np.abs(self.members.s[k] - self.members.s[other]).max() for other, _ in chosen if other != k]
            if (k, j) not in self._active and min(distances, default=np.inf) > _APART:
                chosen.append((k, j))
        return chosen[:_ADDED]

    def _monomials(self) -> tuple[Array, Array]:
        """Return the monomials (k, terms) and their derivatives along each motion (k, motions, terms; 1/s) at all points."""
        s, e = self.members.s[:, None, :], self.exponents[None]
        powers = s**e
        values = powers.prod(axis=2)
        slopes = np.stack(
            [_without(powers, i) * e[..., i] * s[..., i] ** np.maximum(e[..., i] - 1, 0) for i in range(s.shape[2])]
        )
        return values, np.einsum("ji,ki,ikt->kjt", self._motions, self.members.slopes, slopes)

    def _solved(self, rate: float) -> tuple[Array, str]:
        """Return the coefficients (terms, n, n) in Lyapunov coordinates that do best at the active points."""
        values, along = self._monomials()
        reference = in_coordinates(self.members.A[0], self._T)
        N, one = decrease(reference), np.eye(len(reference))
        inequalities = []
        for k, j in self._active:
            A = in_coordinates(self.members.A[k], self._T) + rate * one
            own = [Term(t, one, x * A + 0.5 * dx * one) for t, (x, dx) in enumerate(zip(values[k], along[k, j], strict=True))]
            inequalities.append(Inequality(tuple(own), N))
        mean = values[[k for k, _ in self._active]].mean(axis=0)
        solution = greatest_decrease([Unknown(len(one))] * len(mean), inequalities, [x * one for x in mean])
        status = f"largest decrease {solution.t:.2g} of the nominal member's, to {solution.gap:.1g}"
        return np.array(solution.unknowns), status

    def _growth(self, P: Array) -> Array:
        """Return half the rate of growth of ``log V`` (k, motions; 1/s) at all points, infinite where P is not positive."""
        values, along = self._monomials()
        result = np.full((len(values), len(self._motions)), np.inf)
        for k, A in enumerate(in_coordinates(self.members.A, self._T)):
            own = np.tensordot(values[k], P, 1)
            if not is_positive(own):
                continue
            change = own @ A + (own @ A).T
            for j in range(len(self._motions)):
                F = change + np.tensordot(along[k, j], P, 1)
                result[k, j] = eigh(F, own, eigvals_only=True, subset_by_index=[len(A) - 1] * 2)[0] / 2
            result[k] += rounding(A, own)
        return result

    def _certified(self, P: Array, decay: float, rate: float, status: str) -> Certificate | None:
        """Return what P shows; None where members between the points have become points."""
        whole = self._T.T @ P @ self._T
        if self.doubts is not None:
            held = rate + _BETWEEN * (decay - rate)
            more = self.doubts(whole, held)
            if len(more.s):
                known = len(self.members.s)
                self.members = self.members.joined(more)
                if not (self._growth(P)[known:] < -held).all():
                    return None
            decay = held
        return Certificate(whole, decay, self._residual(P, rate), status, self.doubts is not None)

    def _residual(self, P: Array, rate: float) -> float:
        """Return the largest eigenvalue of the inequalities at all points, in parts of the reference's decrease."""
        values, along = self._monomials()
        A = in_coordinates(self.members.A, self._T) + rate * np.eye(P.shape[-1])
        N, worst = decrease(in_coordinates(self.members.A[0], self._T)), -np.inf
        for k, own in enumerate(np.tensordot(values, P, 1)):
            change = own @ A[k] + (own @ A[k]).T
            for j in range(len(self._motions)):
                worst = max(worst, float(eigh(change + np.tensordot(along[k, j], P, 1), N, eigvals_only=True)[-1]))
        return worst


def monomials(parameters: int, varying: Array, degree: int) -> Array:
    """Return exponents (terms, parameters) of all monomials up to a degree in those that vary, the constant first."""
    own = np.flatnonzero(varying)
    rows = [row for row in itertools.product(range(degree + 1), repeat=len(own)) if sum(row) <= degree]
    rows.sort(key=sum)
    result = np.zeros((len(rows), parameters), dtype=int)
    result[:, own] = np.array(rows, dtype=int).reshape(len(rows), len(own))
    return result


def _without(powers: Array, i: int) -> Array:
    """Return the product of powers (k, terms, p) but for one."""
    result: Array = np.delete(powers, i, axis=2).prod(axis=2)
    return result
