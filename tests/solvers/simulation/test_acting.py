"""Efforts and wrenches as functions of time and state."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.simulation.simulated_models import largest, slider
from tests.systems import random_tree
from tests.tolerances import ACCURACY, TIGHT


def test_constant_and_varying_wrenches_agree() -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, 3, base="free").resolve()
    wrench, q, v = rng.normal(size=6), model.random_configuration(rng), np.zeros(model.nv)
    t = np.linspace(0, 1, 11)
    constant = tt.simulate(model, t, q, v, wrenches={"b2.A": wrench}, **TIGHT)
    varying = tt.simulate(model, t, q, v, wrenches={"b2.A": lambda t, q, v: wrench}, **TIGHT)
    assert largest(constant.v - varying.v) < ACCURACY
    assert np.array_equal(constant.wrenches["b2.A"], varying.wrenches["b2.A"])
    assert largest(constant.v - tt.simulate(model, t, q, v, **TIGHT).v) > 1e-2


def test_wrench_that_depends_on_the_state() -> None:
    t = np.linspace(0, 3, 31)
    drag = {"mass": lambda t, q, v: [-0.8 * v[0], 0, 0, 0, 0, 0]}
    trajectory = tt.simulate(slider(2.0), t, [0.0], [1.5], wrenches=drag, **TIGHT)
    assert largest(trajectory.v[:, 0] - 1.5 * np.exp(-0.4 * t)) < ACCURACY


def test_sampled_efforts_are_linear_in_between() -> None:
    t = np.array([0.0, 0.5, 2.0])
    trajectory = tt.simulate(slider(2.0), t, [0.0], [0.0], tau=3 * t[:, None], **TIGHT)
    assert largest(trajectory.q[:, 0] - 3 * t**3 / 12) < ACCURACY
    assert np.array_equal(trajectory.tau[:, 0], 3 * t)


def test_efforts_as_a_function() -> None:
    trajectory = tt.simulate(slider(2.0), [0, 1, 4], [0.3], [0.0], tau=lambda t, q, v: -2 * q - 2 * v, **TIGHT)
    decay = np.exp(-trajectory.t / 2) * (
        np.cos(np.sqrt(0.75) * trajectory.t) + np.sin(np.sqrt(0.75) * trajectory.t) / np.sqrt(3)
    )
    assert largest(trajectory.q[:, 0] - 0.3 * decay) < ACCURACY
