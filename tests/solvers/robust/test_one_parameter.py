"""Where a Lyapunov function of one parameter may fail, against dense grids."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from titop.solvers.robust.one_parameter import suspects
from titop.solvers.robust.state_space import Matrices


def largest(system: Matrices, P: np.ndarray, slope: Polynomial, rate: float, decay: float, s: float) -> float:
    """Return the largest eigenvalue of the inequality at a value and both rates."""
    A = system.closed(s * np.eye(system.B.shape[1])).A + decay * np.eye(len(system.A))
    own = np.tensordot(s ** np.arange(len(P)), P, 1)
    change = np.tensordot([k * s ** max(k - 1, 0) for k in range(len(P))], P, 1) * slope(s) * rate
    return float(max(np.linalg.eigvalsh(A.T @ own + own @ A + sign * change)[-1] for sign in (1, -1)))


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_suspects_are_where_the_inequality_changes(seed: int, degree: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4)) - 2.5 * np.eye(4)
    system = Matrices(A, rng.normal(size=(4, 2)), rng.normal(size=(2, 4)), 0.2 * rng.normal(size=(2, 2)))
    P = 0.04 * rng.normal(size=(degree + 1, 4, 4))
    P = P + P.transpose(0, 2, 1)
    P[0] += np.eye(4)
    slope, rate, decay = Polynomial([0.5, 0.1, 0.3]), 0.4, 0.1
    found = suspects(system, P, slope, rate, decay)
    grid = np.linspace(-1, 1, 2001)
    values = np.array([largest(system, P, slope, rate, decay, s) for s in grid])
    for k in np.flatnonzero(np.diff(np.sign(values))):
        assert ((found >= grid[k] - 1e-9) & (found <= grid[k + 1] + 1e-9)).any()
    if len(found):
        holds = [largest(system, P, slope, rate, decay, s) < 0 for s in found]
        assert all(holds) == (values < 0).all()
    assert len(suspects(system, P, slope, rate, -50.0)) == 0, "so far from failing, there are none"
