"""Members at points of their parameters; where a Lyapunov function of one parameter may fail, against dense grids."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import titop as tt
from tests.solvers.robust.families import oscillator
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.varying_members import FractionalFamily, slope_of, suspects

BLOCKS = {
    "middle": tt.DeltaBlock.real("k", 1, 2.0, 5.0),
    "aside": tt.DeltaBlock.real("k", 1, 2.0, 5.0, 2.5),
    "half": tt.DeltaBlock("q", "real", 1, 1, -1.0, 1.5, 0.1, "rad", None, 2),
    "quarter": tt.DeltaBlock("q", "real", 1, 1, -3.0, 3.5, 0.2, "rad", None, 4),
}


@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("name", BLOCKS)
def test_slopes_are_those_of_the_normalised_value(name: str, factor: float) -> None:
    block = BLOCKS[name]
    for s in np.linspace(-1, 1, 5):
        value = block.value(s * factor)
        difference = (block.normalised(value + 1e-6) - block.normalised(value - 1e-6)) / 2e-6 / factor
        assert slope_of(block, factor)(s) == pytest.approx(difference, rel=1e-7), "central differences"


def test_members_are_those_of_physical_values() -> None:
    (A, B, C, D), blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    family = FractionalFamily(Matrices(A, B[:, :3], C[:3], D[:3, :3]), Structure.of(blocks), 2, 0.5)
    members = family.grid()
    assert len(members.s) == 8
    for s, own in zip(members.s, members.A, strict=True):
        v = family.values(s)
        np.testing.assert_allclose(own, [[0, 1], [-v["k"] / v["m"], -v["c"] / v["m"]]], atol=1e-12)
    assert {family.values(s)["k"] for s in members.s} == {1.5, 2.5}, "half the range"


def largest(system: Matrices, P: np.ndarray, slope: Polynomial, rate: float, decay: float, s: float) -> float:
    """Return the largest eigenvalue of the inequality at a value and both rates."""
    A = system.close_loop(s * np.eye(system.B.shape[1])).A + decay * np.eye(len(system.A))
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
