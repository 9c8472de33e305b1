"""Gradients of every goal with every kind of block, against central differences of the same peak or pole."""

from __future__ import annotations

import control
import numpy as np
import pytest

from tests.solvers.tuning.loops import GOALS, TUNABLES, objective_of, two_masses
from titop.solvers.tuning.minimax import Found, Piece, descend
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.tuning_search import stabilise

#: Central differences leave the square of the step and rounding over the step, both times bends up to a hundred.
STEP, AGREES = 1e-5, 2e-5


def stable_point(objective: Objective, seed: int = 0) -> np.ndarray:
    """Return a random point at which all loops are stable."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x = stabilise(objective, 0.3 * rng.standard_normal(objective.size))
        if (pieces := objective(x)) is not None:
            x = descend(objective, Found(x, pieces), steps=15, gain=0.0, patience=15).x  # far from where it bends without end
            x = x + STEP**0.5 * rng.standard_normal(objective.size)
            if all(objective(x + 2 * STEP * rng.standard_normal(objective.size)) is not None for _ in range(5)):
                return x
    raise AssertionError("no stable loop")


def same(pieces: list[Piece], piece: Piece) -> float:
    """Return the value of the piece of a term that is nearest in frequency."""
    near = [p for p in pieces if p.term == piece.term]
    return min(near, key=lambda p: abs(np.arctan(p.omega) - np.arctan(piece.omega))).value


def check_gradients(objective: Objective, x: np.ndarray) -> None:
    """Compare the gradients of all pieces at a point with differences."""
    pieces = objective(x)
    assert pieces is not None
    for piece in pieces[:3]:
        slopes = []
        for k in range(len(x)):
            step = np.zeros(len(x))
            step[k] = STEP
            above, below = objective(x + step), objective(x - step)
            assert above is not None
            assert below is not None
            slopes.append((same(above, piece) - same(below, piece)) / (2 * STEP))
        size = max(np.abs(slopes).max(), piece.value)
        np.testing.assert_allclose(piece.gradient, slopes, rtol=0, atol=AGREES * size)


@pytest.mark.parametrize("goal", GOALS)
def test_of_goals(goal: str) -> None:
    objective = objective_of(two_masses(), TUNABLES["state_space"], GOALS[goal])
    check_gradients(objective, stable_point(objective))


@pytest.mark.parametrize("kind", TUNABLES)
def test_of_blocks(kind: str) -> None:
    objective = objective_of(two_masses(), TUNABLES[kind], [GOALS["gain"], GOALS["h2"], GOALS["all margins"]])
    check_gradients(objective, stable_point(objective))


@pytest.mark.parametrize("goals", [("gain", "band"), ("h2",), ("decay",), ("all margins", "shape"), ("tracking",)])
def test_of_sampled_loops_with_delay(goals: tuple[str, ...]) -> None:
    plant, dt = two_masses(damping=1.0), 0.1
    held = control.sample_system(plant, dt, "zoh")
    named = control.ss(held.A, held.B, held.C, held.D, dt, inputs=plant.input_labels, outputs=plant.output_labels)
    objective = objective_of(named, TUNABLES["cascade"], [GOALS[goal] for goal in goals], delay={"push": 0.2, "pull": 0.1})
    check_gradients(objective, stable_point(objective))
