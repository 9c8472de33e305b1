"""Newton's equations of implicit integrators are solved as by a dense solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import KINDS, Array, random_tree
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.newton_factors import NewtonFactors
from titop.solvers.simulation.prescribed import PrescribedMotion
from titop.solvers.simulation.rate_jacobian import RateJacobian


def equations(seed: int, own: int) -> tuple[tt.Model, Array]:
    """Return a tree of joints of every kind, one of them prescribed, and the Jacobian there, with `own` further states."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 6, KINDS, base="free").resolve()
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    plain = next(block for block in model.assembly.blocks_with_coordinates if block.configuration_names == block.coordinates)
    motion = PrescribedMotion(model, {plain.name: lambda t: 3 * (np.full(plain.nv, 0.1),)})
    jacobian = RateJacobian(DrivenModel(model, np.array([0.0, 1.0]), None, {}, motion, None, None))(0.0, np.concatenate([q, v]))
    whole = rng.normal(size=2 * (len(jacobian) + own,))
    whole[: len(jacobian), : len(jacobian)] = jacobian
    whole[: model.nq, len(jacobian) :] = 0.0  # a controller's states do not move q at once
    return model, whole


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize("shift", [30.0, 30.0 - 20.0j])
@pytest.mark.parametrize("seed", range(4))
def test_solutions_are_those_of_a_dense_solver(seed: int, shift: Any, own: int) -> None:
    model, jacobian = equations(seed, own)
    matrix = shift * np.eye(len(jacobian)) - jacobian
    b = np.random.default_rng(seed).normal(size=len(matrix)) * (1.0 if np.isrealobj(matrix) else 1.0 + 0.5j)
    expected = np.linalg.solve(matrix, b)
    factors = NewtonFactors(model)
    found = factors.solve(factors.factor(matrix.copy()), b)
    # rounding, times the condition of the matrix
    assert np.abs(found - expected).max() < 1e-14 * np.linalg.cond(matrix) * np.abs(expected).max()


def test_rates_that_depend_on_other_coordinates_are_not_solved() -> None:
    model, jacobian = equations(0, 0)
    jacobian[0, model.nq - 1] += 1.0
    matrix, b = 30.0 * np.eye(len(jacobian)) - jacobian, np.ones(len(jacobian))
    factors = NewtonFactors(model)
    assert np.abs(factors.solve(factors.factor(matrix), b) - np.linalg.solve(matrix, b)).max() > 1e-6
