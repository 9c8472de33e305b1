"""Scipy's integrators: steps made again, and states moved, as if they had begun there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import KINDS, Array, random_tree
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.implicit_equations import RateJacobian
from titop.solvers.simulation.scipy_steps import NewtonFactors, ScipySteps
from titop.solvers.simulation.steppers import Tolerances

START = np.array([0.4, -0.2])
#: Of one step by the same method in the same state: Newton's iteration may end one rounding apart.
ROUNDING = {"rtol": 0, "atol": 1e-12}


def pendulum(tau: Any = None) -> DrivenModel:
    """Return a pendulum with ``dw/dt = -sin q``, and efforts."""
    s = tt.System("pendulum", gravity=[0, 0, -1.0])
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    model = s.resolve()
    return DrivenModel(model, np.array([0.0, 2.0]), tau, {}, PrescribedMotion(model, {}), None, None)


def steps(y: Array = START, begin: float = 0.0, tau: Any = None, first: float | None = None, rtol: float = 1e-8) -> ScipySteps:
    made = ScipySteps(pendulum(tau), "Radau", begin, 2.0, y.copy(), Tolerances(rtol, np.full(len(y), 1e-10), np.inf))
    made._solver.h_abs = made._solver.h_abs if first is None else first
    return made


def test_a_step_made_again_is_one_of_that_length() -> None:
    made = steps()
    for _ in range(3):
        made.step(-math.inf)
    begin, before = made.begin, made.dense_output()(np.array([made.begin]))[0]
    length = 0.5 * (made.t - begin)
    evaluations = made.statistics()["evaluations"]
    made.go_back(length)
    assert made.t == begin
    np.testing.assert_allclose(made.y, before, **ROUNDING)
    made.step(-math.inf)
    assert made.t - made.begin == pytest.approx(length, rel=1e-12)
    fresh = steps(before, begin, first=length)
    fresh.step(-math.inf)
    np.testing.assert_allclose(made.y, fresh.y, rtol=0, atol=1e-9)  # its tolerance
    counted = made.statistics()
    assert counted["steps"] == 3  # the one made again counts once, all that was asked counts
    assert counted["evaluations"] > evaluations


def test_a_moved_state_goes_on_by_its_own_rate() -> None:
    made, other = steps(), np.array([1.1, 0.3])
    made.step(-math.inf)
    at = made.t
    made.move(other)
    made.step(-math.inf)
    fresh = steps(other, at, first=made.t - at)
    fresh.step(-math.inf)
    np.testing.assert_allclose(made.y, fresh.y, rtol=0, atol=1e-8)  # tolerance
    assert np.abs(made.y - START).max() > 0.1


def test_it_goes_to_its_end_and_to_no_other() -> None:
    made = steps()
    assert (made.name, made.t, made.end, made.go_to(3.0, True)) == ("Radau", 0.0, 2.0, False)
    while made.is_running:
        made.step(-math.inf)
    assert made.t == 2.0


def test_giving_up_is_an_error_with_its_reason() -> None:
    """Efforts that grow without bound as the time comes to 1 s."""
    made = steps(tau=lambda t, q, v: np.array([1.0 / (1.0 - t) ** 2]), rtol=1e-6)

    def go_on() -> None:
        for _ in range(10000):
            made.step(-math.inf)

    with pytest.raises(tt.ConvergenceError, match="Radau gave up after t = 1 s of 2 s: Required step size"):
        go_on()


# -- newton's equations of implicit integrators are solved as by a dense solver


def equations(seed: int, own: int) -> tuple[tt.Model, Array]:
    """Return a tree of joints of every kind, one of them prescribed, and the Jacobian there, with `own` further states."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 6, KINDS, base="free").resolve()
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    plain = next(
        block for block in model.mechanism.assembly.blocks_with_coordinates if block.configuration_names == block.coordinates
    )
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
