"""Series at many states: row by row, with loads of their own, and none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.refusals import refusal
from tests.test_bad_inputs import crane

ROWS = 3


@pytest.fixture(scope="module")
def states() -> tuple[tt.Model, Any, Any]:
    rng = np.random.default_rng(0)
    return crane().resolve("reference"), rng.normal(size=(ROWS, 2)), rng.normal(size=(ROWS, 4, 2))


def test_rows_are_states(states: tuple[tt.Model, Any, Any]) -> None:
    m, q, stacks = states
    rng = np.random.default_rng(1)
    wrench, u = rng.normal(size=(ROWS, 3, 6)), rng.normal(size=(ROWS, 3, 1))
    tau = m.inverse_dynamics_series(q, stacks, wrenches={"bob.tip": wrench}, u=u)
    a = m.forward_dynamics_series(q, stacks[:, 0], tau, wrenches={"bob.tip": wrench}, u=u)
    both = m.hybrid_dynamics_series(q, stacks[:, 0], tau, a, ["rail"], wrenches={"bob.tip": wrench}, u=u)
    motion, terms = m.motion_series("bob.tip", q, stacks), m.equation_series(q, stacks, wrenches={"bob.tip": wrench}, u=u)
    for k in range(ROWS):
        loads = {"wrenches": {"bob.tip": wrench[k]}, "u": u[k]}
        np.testing.assert_array_equal(tau[k], m.inverse_dynamics_series(q[k], stacks[k], **loads))
        np.testing.assert_array_equal(a[k], m.forward_dynamics_series(q[k], stacks[k, 0], tau[k], **loads))
        one = m.hybrid_dynamics_series(q[k], stacks[k, 0], tau[k], a[k], ["rail"], **loads)
        for many, single in ((both, one), (motion, m.motion_series("bob.tip", q[k], stacks[k]))):
            for part, expected in zip(many, single, strict=True):
                np.testing.assert_array_equal(part[k], expected)
        for part, expected in zip(terms, m.equation_series(q[k], stacks[k], **loads), strict=True):
            np.testing.assert_array_equal(part[k], expected)
    assert type(motion).__name__ == "MotionSeries"


def test_other_loads_act_on_all(states: tuple[tt.Model, Any, Any]) -> None:
    m, q, stacks = states
    wrench = np.random.default_rng(1).normal(size=(3, 6))
    for load in ({"wrenches": {"bob.tip": wrench}}, {"wrenches": {"bob.tip": wrench[0]}}, {"u": {"motor": 2.0}}, {"u": [2.0]}):
        many = m.inverse_dynamics_series(q, stacks, **load)
        for k in range(ROWS):
            np.testing.assert_array_equal(many[k], m.inverse_dynamics_series(q[k], stacks[k], **load))


def test_no_states_have_no_results(states: tuple[tt.Model, Any, Any]) -> None:
    m, loop = states[0], closed_four_bar(engine="reference")[0]
    for model, nv in ((m, 2), (loop, 3)):
        none, stack = np.zeros((0, nv)), np.zeros((0, 3, nv))
        assert model.inverse_dynamics_series(none, stack).shape == (0, 2, nv)
        assert model.forward_dynamics_series(none, none, stack).shape == (0, 3, nv)
        names = [] if model is loop else ["rail"]
        assert [part.shape for part in model.hybrid_dynamics_series(none, none, stack, stack, names)] == [(0, 3, nv)] * 2
        assert model.equation_series(none, stack).mass_matrix.shape == (0, 2, nv, nv)
        assert model.motion_series("world", none, stack).position.shape == (0, 4, 3)


def test_results_go_where_they_are_told(states: tuple[tt.Model, Any, Any]) -> None:
    m, q, stacks = states
    out = np.empty((ROWS, 3, 2))
    assert m.inverse_dynamics_series(q, stacks, out=out) is out
    np.testing.assert_array_equal(out, m.inverse_dynamics_series(q, stacks))
    with refusal("wrong-length", "out"):
        m.inverse_dynamics_series(q, stacks, out=np.empty((ROWS, 2, 2)))


def test_unequal_numbers_of_states_are_refused(states: tuple[tt.Model, Any, Any]) -> None:
    m, q, stacks = states
    with refusal("wrong-length", "q, v_series: got (3, 2), (2, 4, 2); expected as many states in all"):
        m.inverse_dynamics_series(q, stacks[:2])
    with refusal("wrong-length", "wrenches['bob.tip']"):
        m.inverse_dynamics_series(q, stacks, wrenches={"bob.tip": np.zeros((4, 3, 6))})
    with refusal("wrong-length", "u: got"):
        m.inverse_dynamics_series(q, stacks, u=np.zeros((2, 3, 1)))
    with refusal("wrong-shape", "v: got shape (2,); expected one row or stack for each state"):
        m.forward_dynamics_series(q, np.zeros(2), stacks[:, 1:])
    with refusal("wrong-type", "v_series"):
        m.inverse_dynamics_series(q, [stacks[0], stacks[0][:2], stacks[0]])
    with refusal("wrong-type", "wrenches"):
        m.inverse_dynamics_series(q, stacks, wrenches=[1])  # type: ignore[arg-type]
