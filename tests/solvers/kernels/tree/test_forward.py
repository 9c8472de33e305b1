"""Forward dynamics undoes inverse dynamics of random trees, with a control that breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given

import titop as tt
from tests.refusals import ENGINES
from tests.solvers.model.identities import SEEDS, SOME, Case, assert_equal, control_case, heavier


def assert_forward_undoes_inverse(c: Case, forward: tt.Model) -> None:
    tau = c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches)
    assert_equal(forward.forward_dynamics(c.q, c.v, tau, c.wrenches), c.a, c.tolerance)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_forward_dynamics_undoes_inverse_dynamics(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_forward_undoes_inverse(c, c.model)


@pytest.mark.parametrize("engine", ENGINES)
def test_forward_dynamics_of_heavier_bodies_does_not(engine: str) -> None:
    c = control_case(engine)
    with pytest.raises(AssertionError):
        assert_forward_undoes_inverse(c, heavier(c.model))
