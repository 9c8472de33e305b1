"""Loops: unknowns that no equation joins stay apart, and what cancels leaves nothing."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.solvers.lft.loops import LinearLoop
from titop.solvers.lft.polynomials import Polynomial

pytestmark = pytest.mark.portable


def two(soft: float, stiff: float, joined: float) -> np.ndarray:
    """Return the matrix of two pairs of unknowns, driven each by its own input."""
    rng, loop = np.random.default_rng(0), LinearLoop()
    inputs, unknowns = loop.columns("u", 2), loop.columns("?", 4)
    for k, size in ((0, soft), (1, stiff)):
        own = unknowns[2 * k : 2 * k + 2]
        loop.require(size * rng.normal(size=(2, 2)) @ own - np.ones((2, 1)) @ inputs[k])
    if joined:
        loop._equations[0] += unknowns[3] * joined
    return loop.fraction((), unknowns, inputs).D[:4]


def test_parts_are_solved_apart() -> None:
    """Exact zeros between them, whatever their sizes; what joins them leaves some."""
    M = two(1e-9, 1e12, 0.0)
    assert not M[:2, 1].any()
    assert not M[2:, 0].any()
    assert M[:2, 0].all()
    assert two(1e-9, 1e12, 1e-3)[:2, 1].all()


def test_a_part_without_solution_is_refused() -> None:
    with pytest.raises(tt.ModelError, match="singular-loop"):
        two(1.0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_factor_of_a_whole_equation_drives_nothing(seed: int) -> None:
    """``(1 + δ) (K a - u) = 0``: what δ multiplies is ``-w``, and inputs cancel exactly, of whatever sizes K is.

    Rounding would be 1e-16 of their terms, and count in units in which it is as large as ``w``: a repetition more, or not.
    """
    rng, loop = np.random.default_rng(seed), LinearLoop()
    K = 10.0 ** rng.uniform(-4, 4, 4)[:, None] * rng.normal(size=(4, 4)) * 10.0 ** rng.uniform(-4, 4, 4)
    inputs, unknowns = loop.columns("u", 4), loop.columns("?", 4)
    loop.require(Polynomial.affine(np.eye(4), [("scale", 0.3 * np.eye(4))]).apply(loop, K @ unknowns - inputs))
    model = loop.fraction(("scale",), unknowns[:0], unknowns)
    np.testing.assert_allclose(model.A, -0.3 * np.eye(4), rtol=0, atol=1e-9)  # the condition of K, up to 1e6 here
    assert not model.B.any()
    assert not model.A[~np.eye(4, dtype=bool)].any()
    assert model.D.all()  # the control: what does not cancel stays
