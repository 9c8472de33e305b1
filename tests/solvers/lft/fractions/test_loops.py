"""Loops: unknowns that no equation joins stay apart."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.solvers.lft.fractions.loops import Loop


def two(soft: float, stiff: float, joined: float) -> np.ndarray:
    """Return the matrix of two pairs of unknowns, driven each by its own input."""
    rng, loop = np.random.default_rng(0), Loop()
    inputs, unknowns = loop.columns("u", 2), loop.columns("?", 4)
    for k, size in ((0, soft), (1, stiff)):
        own = unknowns[2 * k : 2 * k + 2]
        loop.require(size * rng.normal(size=(2, 2)) @ own - np.ones((2, 1)) @ inputs[k])
    if joined:
        loop._equations[0] += unknowns[3] * joined
    return loop.solved(unknowns, inputs).M[:4]


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
