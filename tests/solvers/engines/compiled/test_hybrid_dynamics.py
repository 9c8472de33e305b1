"""Hybrid dynamics lies between forward and inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import titop as tt
from tests.refusals import ENGINES
from tests.solvers.model.identities import SEEDS, SOME, Array, Case, assert_equal, control_case


def assert_hybrid_is_consistent(c: Case, a: Array, prescribed: list[str]) -> None:
    """With the accelerations `a` of forward dynamics imposed on some joints, the others and all efforts come out."""
    free = ~mask(c.model, prescribed)
    noise = c.rng.normal(size=c.model.nv)
    known_a, known_tau = np.where(free, noise, a), np.where(free, c.tau, noise)
    found_a, found_tau = c.model.hybrid_dynamics(c.q, c.v, known_tau, known_a, prescribed, c.wrenches)
    expected = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches)
    # accelerations carry the condition of the mass matrix, and efforts are the mass matrix times accelerations
    scale = max(1.0, *np.linalg.svd(c.model.mass_matrix(c.q), compute_uv=False), float(np.linalg.norm(expected)))
    assert_equal(found_a, expected, c.tolerance)
    assert_equal(found_tau, c.tau, c.tolerance * scale)


def mask(model: tt.Model, prescribed: Sequence[str]) -> NDArray[np.bool_]:
    """Return which coordinates are named, by themselves or by their joint."""
    return np.array([name in prescribed or name.split(".")[0] in prescribed for name in model.coordinate_names], dtype=bool)


def some_coordinates(c: Case) -> list[str]:
    """Return a random choice of joints, and of single coordinates of the others."""
    joints = list(dict.fromkeys(name.split(".")[0] for name in c.model.coordinate_names))
    whole = [joint for joint in joints if c.rng.random() < 0.4]
    single = [name for name in c.model.coordinate_names if name.split(".")[0] not in whole and c.rng.random() < 0.3]
    return whole + single


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_hybrid_dynamics_lies_between_forward_and_inverse(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    a = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches)
    for prescribed in ([], some_coordinates(c), list(c.model.coordinate_names)):
        assert_hybrid_is_consistent(c, a, prescribed)


@pytest.mark.parametrize("engine", ENGINES)
def test_hybrid_dynamics_notices_another_motion(engine: str) -> None:
    c = control_case(engine)
    a = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches) + 1e-6
    with pytest.raises(AssertionError):
        assert_hybrid_is_consistent(c, a, some_coordinates(c))
