"""One quadratic Lyapunov function for all members of a linear fractional family: proved by constant multipliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.lyapunov_coordinates import decrease, scaled_loop
from titop.solvers.robust.matrix_inequalities import Inequality, Solution, Term, Unknown, greatest_decrease
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure


class Certificate(NamedTuple):
    """What a Lyapunov function shows.

    Attributes
    ----------
    P : array (terms, n, n)
        Of ``V = x^T P x`` in the model's states (no unit, up to a factor): one matrix, or the coefficients of a polynomial.
    decay : float
        V falls as ``exp(-2 decay t)`` or faster (1/s); recomputed from P.
    residual : float
        Largest eigenvalue of the inequality, recomputed, in parts of the decrease of the nominal member's own function (no
        unit): negative where the inequality holds.
    status : str
        How far the search came.
    proof : bool
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

    Parameters
    ----------
    system : Matrices
        The channels of the uncertainty alone, balanced; stable.
    structure : Structure
    rate : float
        The decay (1/s) that is asked for.

    Returns
    -------
    Certificate or str
        How far the search came where the test shows nothing.
    """
    small, T = scaled_loop(system)
    N = np.eye(len(T) + structure.shape[0])
    N[: len(T), : len(T)] = decrease(small.A)
    solution, inequality = _solved(small, structure, N, rate)
    P, *multipliers = solution.unknowns
    status = f"largest decrease {solution.t:.2g} of the nominal member's, to {solution.gap:.1g}"
    if not (is_positive(P) and all(is_positive(S) for S in multipliers[: len(structure.blocks)])):
        return status
    F = inequality.value(solution.unknowns)
    decay = rate + _further_decay(F, P)
    if not decay > max(rate, rounding(small.A, P)):
        return status
    residual = float(eigh(F, N, eigvals_only=True)[-1])
    return Certificate((T.T @ P @ T)[None], decay, residual, status, True)


def is_positive(matrix: Array) -> bool:
    """Tell whether a symmetric matrix is positive definite, by more than rounding."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > len(matrix) * np.finfo(float).eps * values[-1])


def rounding(A: Array, P: Array) -> float:
    """Return by what a decay (1/s) is uncertain that is computed with P."""
    return float(len(A) * np.finfo(float).eps * np.linalg.norm(A, 2) * np.linalg.cond(P))


def _solved(system: Matrices, structure: Structure, N: Array, rate: float) -> tuple[Solution, Inequality]:
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
    unknowns = [*(Unknown(size) for size in sizes), *(Unknown(sizes[k + 1], skew=True) for k in skews)]
    positive = [Inequality((Term(k, -np.eye(m) / 2, np.eye(m)),), np.zeros((m, m))) for k, m in enumerate(sizes) if k]
    size = [*(np.eye(m) for m in sizes), *(np.zeros((sizes[k + 1],) * 2) for k in skews)]
    return greatest_decrease(unknowns, [Inequality(tuple(terms), N), *positive], size), Inequality(tuple(terms), N)


def _further_decay(F: Array, P: Array) -> float:
    """Return by how much the decay (1/s) exceeds the rate in a matrix F, w eliminated."""
    n = len(P)
    on_w = -F[n:, n:]
    if not is_positive(on_w):
        return -np.inf
    left = F[:n, :n] + F[:n, n:] @ np.linalg.solve(on_w, F[n:, :n])
    return -float(eigh((left + left.T) / 2, P, eigvals_only=True)[-1]) / 2
