"""Wrenches act through the Jacobians of ports."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from tests.refusals import ENGINES
from tests.solvers.model.identities import SEEDS, SOME, Array, Case, assert_equal, control_case


def assert_wrenches_act_through_jacobians(c: Case, jacobian: Callable[[str], Array]) -> None:
    without = c.model.inverse_dynamics(c.q, c.v, c.a)
    with_wrenches = c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches)
    efforts = sum((jacobian(port).T @ wrench for port, wrench in c.wrenches.items()), np.zeros(c.model.nv))
    # the efforts of motion, up to a thousand times those of the wrenches, cancel in the difference
    assert_equal(without - with_wrenches, efforts, 1e-15 * max(1e3, float(np.linalg.norm(without))))


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_wrenches_act_through_jacobians(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_wrenches_act_through_jacobians(c, lambda port: c.model.jacobian(port, c.q))


@pytest.mark.parametrize("engine", ENGINES)
def test_wrenches_do_not_act_through_other_ports(engine: str) -> None:
    c = control_case(engine)
    c.wrenches = {"b3.A": c.wrenches.popitem()[1]}
    with pytest.raises(AssertionError):
        assert_wrenches_act_through_jacobians(c, lambda port: c.model.jacobian("b3.B", c.q))
