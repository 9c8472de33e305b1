"""Quadratic Lyapunov functions of families: one for all members, or polynomial in parameters with bounded rates.

One function for all members of a linear fractional family is proved by constant multipliers; one that is polynomial in
parameters is tested at points. Both are found in states in which matrix inequalities of a stable model are well scaled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, matrix_balance, solve_continuous_lyapunov

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.matrix_inequalities import Inequality, Solution, Term, UnknownMatrix, greatest_decrease
from titop.solvers.robust.varying_members import Doubts, Members

#: Points at which the search begins, those added where it fails and their least distance, and how often.
_FIRST, _ADDED, _APART, _ROUNDS = 6, 4, 0.05, 25

#: The part of a decay at points that is asked for between them.
_BETWEEN = 0.9


class Certificate(NamedTuple):
    """What a Lyapunov function shows.

    `P` (terms, n, n): of ``V = x^T P x`` in the model's states (no unit, up to a factor): one matrix, or the coefficients of a
    polynomial; `decay`: V falls as ``exp(-2 decay t)`` or faster (1/s); recomputed from P; `residual`: largest eigenvalue of
    the inequality, recomputed, in parts of the decrease of the nominal member's own function (no unit): negative where the
    inequality holds; `status`: how far the search came.
    """

    P: Array
    decay: float
    residual: float
    status: str
    proof: bool


def common_lyapunov(system: Matrices, structure: Structure, rate: float = 0.0) -> Certificate | str:
    """Look for P and multipliers S, T of ``(A'P + PA) + [C D; 0 I]' [S T; T' -S] [C D; 0 I] < 0``.

    S is positive and T skew, both commute with Δ: for ``w = Δ z``, ``|δ(t)| <= 1`` at every time, the multiplier's form is not
    negative, thus ``x' P x`` falls along all motions. Of one real block, the condition is also necessary for a common P.

    `system`: the channels of the uncertainty alone, balanced; stable; `rate`: the decay (1/s) that is asked for. Where the test
    shows nothing a text says how far the search came.
    """
    small, T = _scaled_loop(system)
    N = np.eye(len(T) + structure.shape[0])
    N[: len(T), : len(T)] = _decrease(small.A)
    solution, inequality = _solve(small, structure, N, rate)
    P, *multipliers = solution.unknowns
    status = f"largest decrease {solution.t:.2g} of the nominal member's, to {solution.gap:.1g}"
    if not (_is_positive(P) and all(_is_positive(S) for S in multipliers[: len(structure.blocks)])):
        return status
    F = inequality.value(solution.unknowns)
    decay = rate + _further_decay(F, P)
    if not decay > max(rate, _rounding(small.A, P)):
        return status
    residual = float(eigh(F, N, eigvals_only=True)[-1])
    return Certificate((T.T @ P @ T)[None], decay, residual, status, True)


def _solve(system: Matrices, structure: Structure, N: Array, rate: float) -> tuple[Solution, Inequality]:
    """Return P, S of each block and T of each repeated real one, and the inequality that they are to satisfy."""
    n, w = system.B.shape
    one = np.eye(n + w)
    motion, z = np.hstack([system.A + rate * np.eye(n), system.B]), np.hstack([system.C, system.D])
    terms = [Term(0, one[:n], motion)]
    sizes = [n, *(1 if b.kind == "full" else b.repetitions for b in structure.blocks)]
    skews = [k for k in structure.real if structure.blocks[k].repetitions > 1]
    for k, (of_w, of_z) in enumerate(zip(structure.w, structure.z, strict=True)):
        into, out = one[n:][of_w], z[of_z]
        if structure.blocks[k].kind == "full":
            terms += [Term(k + 1, row[None] / 2, row[None]) for row in out]
            terms += [Term(k + 1, -row[None] / 2, row[None]) for row in into]
        else:
            terms += [Term(k + 1, out / 2, out), Term(k + 1, -into / 2, into)]
        if k in skews:
            terms.append(Term(len(sizes) + skews.index(k), out, into))
    unknowns = [*(UnknownMatrix(size) for size in sizes), *(UnknownMatrix(sizes[k + 1], skew=True) for k in skews)]
    positive = [Inequality((Term(k, -np.eye(m) / 2, np.eye(m)),), np.zeros((m, m))) for k, m in enumerate(sizes) if k]
    size = [*(np.eye(m) for m in sizes), *(np.zeros((sizes[k + 1],) * 2) for k in skews)]
    return greatest_decrease(unknowns, [Inequality(tuple(terms), N), *positive], size), Inequality(tuple(terms), N)


def _further_decay(F: Array, P: Array) -> float:
    """Return by how much the decay (1/s) exceeds the rate in a matrix F, w eliminated."""
    n = len(P)
    on_w = -F[n:, n:]
    if not _is_positive(on_w):
        return -np.inf
    left = F[:n, :n] + F[:n, n:] @ np.linalg.solve(on_w, F[n:, :n])
    return -float(eigh((left + left.T) / 2, P, eigvals_only=True)[-1]) / 2


@dataclass
class ParameterLyapunov:
    """A search for ``V = x' P(s) x`` that falls at all points while parameters change at bounded rates.

    P is a polynomial in the normalised parameters whose rates are bounded. At a point the inequality

        A'P + P A + sum_i dP/ds_i ds_i/dt + 2 rate P < 0

    is linear in the rates, thus it is tested at their ends. With both signs of the rates it makes P positive where A is stable.
    The search begins with few points and adds those where what it found fails.

    `members`: all stable; the first is the reference; `exponents` (terms, p): of the monomials, that of the constant first;
    `rates` (p): bounds in units per second, zero of parameters of which P is no function; `doubts`: see
    `varying_members.Doubts`.
    """

    members: Members
    exponents: Array
    rates: Array
    doubts: Doubts | None = None

    def __post_init__(self) -> None:
        self._T = _lyapunov_coordinates(self.members.A[0])
        self._motions = ends_of_rates(self.rates)
        self._take(self.members)
        self._N = _decrease(self._A[0])
        self._active = self._first()

    def search(self, rate: float = 0.0) -> Certificate | str:
        """Return what was found at a rate of decay (1/s), or how far the search came."""
        for _ in range(_ROUNDS):
            P, status = self._solve(rate)
            growth = self._growth(P)
            worst = float(growth.max())
            if not all(growth[pair] < -rate for pair in self._active):
                return f"{status}: none exists at the points"
            failing = self._failing(growth, -rate)
            if not failing:
                certificate = self._certify(P, -worst, rate, status)
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
        chosen = points_apart(self.members.s, _FIRST)
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

    def _take(self, members: Members) -> None:
        """Keep members in Lyapunov coordinates, with the monomials there and their derivatives along each motion (1/s)."""
        self.members, self._A = members, _in_coordinates(members.A, self._T)
        self._values, self._along = monomial_values(members, self.exponents, self._motions)

    def _solve(self, rate: float) -> tuple[Array, str]:
        """Return the coefficients (terms, n, n) in Lyapunov coordinates that do best at the active points."""
        one, inequalities = np.eye(len(self._N)), []
        for k, j in self._active:
            A = self._A[k] + rate * one
            monomials = zip(self._values[k], self._along[k, j], strict=True)
            terms = [Term(t, one, x * A + 0.5 * dx * one) for t, (x, dx) in enumerate(monomials)]
            inequalities.append(Inequality(tuple(terms), self._N))
        mean = self._values[[k for k, _ in self._active]].mean(axis=0)
        solution = greatest_decrease([UnknownMatrix(len(one))] * len(mean), inequalities, [x * one for x in mean])
        status = f"largest decrease {solution.t:.2g} of the nominal member's, to {solution.gap:.1g}"
        return np.array(solution.unknowns), status

    def _inequalities(self, P: Array, rate: float = 0.0) -> Iterator[tuple[Array, Array]]:
        """Yield P(s) and the inequality's left-hand sides (motions, n, n) at each point."""
        for A, values, along in zip(self._A, self._values, self._along, strict=True):
            at = np.tensordot(values, P, 1)
            change = at @ (A + rate * np.eye(len(A)))
            yield at, change + change.T + np.tensordot(along, P, 1)

    def _growth(self, P: Array) -> Array:
        """Return half the rate of growth of ``log V`` (k, motions; 1/s) at all points, infinite where P is not positive."""
        result, last = np.full(self._along.shape[:2], np.inf), [len(self._N) - 1] * 2
        for k, (at, sides) in enumerate(self._inequalities(P)):
            if _is_positive(at):
                result[k] = [eigh(F, at, eigvals_only=True, subset_by_index=last)[0] / 2 for F in sides]
                result[k] += _rounding(self._A[k], at)
        return result

    def _certify(self, P: Array, decay: float, rate: float, status: str) -> Certificate | None:
        """Return what P shows; None where members between the points have become points."""
        whole = self._T.T @ P @ self._T
        if self.doubts is not None:
            held = rate + _BETWEEN * (decay - rate)
            more = self.doubts(whole, held)
            if len(more.s):
                known = len(self.members.s)
                self._take(self.members.join(more))
                if not (self._growth(P)[known:] < -held).all():
                    return None
            decay = held
        return Certificate(whole, decay, self._residual(P, rate), status, self.doubts is not None)

    def _residual(self, P: Array, rate: float) -> float:
        """Return the largest eigenvalue of the inequalities at all points, in parts of the reference's decrease."""
        sides = [F for _, each in self._inequalities(P, rate) for F in each]
        return max(float(eigh(F, self._N, eigvals_only=True)[-1]) for F in sides)


def monomials(parameters: int, varying: Array, degree: int) -> Array:
    """Return exponents (terms, parameters) of all monomials up to a degree in those that vary, the constant first."""
    places = np.flatnonzero(varying)
    rows = [row for row in itertools.product(range(degree + 1), repeat=len(places)) if sum(row) <= degree]
    rows.sort(key=sum)
    result = np.zeros((len(rows), parameters), dtype=int)
    result[:, places] = np.array(rows, dtype=int).reshape(len(rows), len(places))
    return result


def points_apart(s: Array, count: int) -> list[int]:
    """Return the places of the first of some points (k, p), and of others far from each other."""
    chosen, distance = [0], np.linalg.norm(s - s[0], axis=1)
    while len(chosen) < min(count, len(s)) and distance.max() > 0:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(s - s[chosen[-1]], axis=1))
    return chosen


def ends_of_rates(rates: Array) -> Array:
    """Return the motions (j, p) at the ends of all rates (p), their bounds."""
    ends = itertools.product(*([-x, x] if x else [0.0] for x in rates))
    return np.array([*ends]).reshape(-1, len(rates))


def monomial_values(members: Members, exponents: Array, motions: Array) -> tuple[Array, Array]:
    """Return monomials (k, terms) at members, and their derivatives (k, j, terms) along each motion (j, p)."""
    s, e = members.s[:, None, :], exponents[None]
    powers = s**e
    others = [np.delete(powers, i, axis=2).prod(axis=2) for i in range(s.shape[2])]
    slopes = [rest * e[..., i] * s[..., i] ** np.maximum(e[..., i] - 1, 0) for i, rest in enumerate(others)]
    return powers.prod(axis=2), np.einsum("ji,ki,ikt->kjt", motions, members.slopes, np.stack(slopes))


def _is_positive(matrix: Array) -> bool:
    """Tell whether a symmetric matrix is positive definite, by more than rounding."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > len(matrix) * EPS * values[-1])


def _rounding(A: Array, P: Array) -> float:
    """Return by what a decay (1/s) is uncertain that is computed with P."""
    return float(len(A) * EPS * np.linalg.norm(A, 2) * np.linalg.cond(P))


def _lyapunov_coordinates(A: Array) -> Array:
    """Return T (n, n; inverse units of the states) so that ``|T x|^2`` falls while ``dx/dt = A x``, A stable.

    It falls at half the rate of the slowest pole or faster.
    """
    balanced, scales = matrix_balance(A, permute=False)
    slowest = -float(np.linalg.eigvals(A).real.max())
    shifted = balanced + 0.5 * slowest * np.eye(len(A))
    P = solve_continuous_lyapunov(shifted.T, -np.eye(len(A)))
    root: Array = np.linalg.cholesky((P + P.T) / 2).T
    return root / np.diag(scales)


def _decrease(A: Array) -> Array:
    """Return ``-(A + A^T)`` (n, n, 1/s), by which ``x^T x`` falls."""
    return -(A + A.T)


def _in_coordinates(A: Array, T: Array) -> Array:
    """Return ``T A T^-1`` (..., n, n, 1/s) of one matrix or a stack."""
    return np.asarray(T @ A @ np.linalg.inv(T))


def _scaled_loop(system: Matrices) -> tuple[Matrices, Array]:
    """Return a loop with balanced channels in Lyapunov coordinates, its states reached as much as they are seen; and T."""
    T = _lyapunov_coordinates(system.A)
    A, B, C = _in_coordinates(system.A, T), T @ system.B, system.C @ np.linalg.inv(T)
    root = np.linalg.cholesky(_decrease(A))
    into = np.linalg.norm(np.linalg.solve(root, B), 2)
    out = np.linalg.norm(np.linalg.solve(root, C.T), 2)
    size = np.sqrt(out / into) if into and out else 1.0
    return Matrices(A, B * size, C / size, system.D), T
