"""Linear matrix inequalities, against another solver and formulation."""

from __future__ import annotations

import sys

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.robust.matrix_inequalities import Inequality, Term, UnknownMatrix, greatest_decrease


def problem(seed: int) -> tuple[list[UnknownMatrix], list[Inequality], list[np.ndarray]]:
    """Return two inequalities in a symmetric and a skew unknown and another symmetric one, which is positive."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 4, 4)) - 3 * np.eye(4)
    B, C = 0.4 * rng.normal(size=(4, 2)), 0.4 * rng.normal(size=(2, 4))
    into, z = np.hstack([np.zeros((2, 4)), np.eye(2)]), np.hstack([C, 0.2 * rng.normal(size=(2, 2))])
    inequalities = [
        Inequality(
            (Term(0, np.eye(6)[:4], np.hstack([a, B])), Term(2, z / 2, z), Term(2, -into / 2, into), Term(1, z, into)),
            np.eye(6),
        )
        for a in A
    ]
    inequalities.append(Inequality((Term(2, -np.eye(2) / 2, np.eye(2)),), np.zeros((2, 2))))
    return (
        [UnknownMatrix(4), UnknownMatrix(2, skew=True), UnknownMatrix(2)],
        inequalities,
        [np.eye(4), np.zeros((2, 2)), np.eye(2)],
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_decrease_is_that_of_another_solver(seed: int) -> None:
    cp = pytest.importorskip("cvxpy")
    unknowns, inequalities, size = problem(seed)
    found = greatest_decrease(unknowns, inequalities, size)
    X = [cp.Variable((own.size, own.size), symmetric=not own.skew) for own in unknowns]
    t = cp.Variable()
    constraints = [X[1] == -X[1].T, sum(cp.trace(x @ own) for x, own in zip(X, size, strict=True)) == 6]
    for own in inequalities:
        half = sum(term.L.T @ X[term.place] @ term.R for term in own.terms)
        constraints.append(half + half.T + t * own.N << 0)
    best = cp.Problem(cp.Maximize(t), constraints).solve(solver="SCS", eps=1e-9, max_iters=100_000)
    assert found.t == pytest.approx(best, abs=2e-3), "to a thousandth"
    assert found.gap < 2e-3
    assert sum(np.sum(x * own) for x, own in zip(found.unknowns, size, strict=True)) == pytest.approx(6)
    for own in inequalities:
        assert np.linalg.eigvalsh(own.value(found.unknowns) + found.t * own.N)[-1] < 1e-3, "the solver's tolerance"


@pytest.mark.parametrize(("pole", "holds"), [(-0.1, True), (0.1, False)])
def test_what_cannot_be_met_has_a_negative_t(pole: float, holds: bool) -> None:
    one = np.eye(2)
    lyapunov = Inequality((Term(0, one, np.diag([-1.0, pole])),), one)
    positive = Inequality((Term(0, -one / 2, one),), np.zeros((2, 2)))
    found = greatest_decrease([UnknownMatrix(2)], [lyapunov, positive], [one])
    assert (found.t > found.gap) == holds
    assert (found.t <= 0) == (not holds)


def test_a_missing_solver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    M = control.ss([[0, 1], [-1, -0.2]], [[0], [-0.15]], [[1, 0]], 0)
    blocks = [tt.DeltaBlock.real("k")]
    with pytest.raises(tt.ModelError, match="robust_stability") as caught:
        tt.lyapunov_stability(M, blocks=blocks)
    assert caught.value.code == "missing-extra"
    assert 'pip install "titop[robust]"' in str(caught.value)
    assert tt.robust_stability(M, blocks=blocks).robust, "what works without"
