"""What efforts alone cause from rest, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.mixed_trees import mixed_tree, moderate_state
from tests.refusals import ENGINES
from tests.systems import Array, random_state, random_tree


def _rigid(rng: np.random.Generator) -> tuple[tt.System, Any]:
    return random_tree(rng, 12, passive=True, loads=True), random_state


def _mixed(rng: np.random.Generator) -> tuple[tt.System, Any]:
    return mixed_tree(rng, 7), moderate_state


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [_rigid, _mixed])
@pytest.mark.parametrize("count", [1, 20])
def test_responses_are_those_of_the_mass_matrix(engine: str, make: Any, count: int) -> None:
    """Springs, loads, gravity and interactions change nothing."""
    rng = np.random.default_rng(count)
    system, state = make(rng)
    model = system.resolve(engine)
    q = np.array([state(model, rng)[0] for _ in range(2)])
    efforts = rng.normal(size=(2, count, model.nv))
    found = model.mechanism.engine.dynamics.responses(q, efforts)
    for at, own, caused in zip(q, efforts, found, strict=True):
        matrix = model.mass_matrix(at)
        np.testing.assert_allclose(caused @ matrix, own, rtol=0, atol=_rounding(matrix, caused))
    assert model.mechanism.engine.dynamics.responses(q[:0], efforts[:0]).shape == (0, count, model.nv)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [_rigid, _mixed])
def test_imposed_coordinates_rest(engine: str, make: Any) -> None:
    rng = np.random.default_rng(2)
    system, state = make(rng)
    model = system.resolve(engine)
    q, efforts, mask = state(model, rng)[0], rng.normal(size=(model.nv, 2)), rng.random(model.nv) < 0.3
    found = model.mechanism.engine.dynamics.tree_response(q, np.where(mask[:, None], 0.0, efforts), mask)
    assert mask.any()
    assert not found[mask].any()
    matrix = model.mass_matrix(q)
    np.testing.assert_allclose((matrix @ found)[~mask], efforts[~mask], rtol=0, atol=_rounding(matrix, found))


def _rounding(matrix: Array, accelerations: Array) -> float:
    """Return what rounding may leave of efforts: that of the largest product, times some hundred operations."""
    return 1e-13 * float(np.abs(matrix).max() * np.abs(accelerations).max())
