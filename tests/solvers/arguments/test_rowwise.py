"""Stacked states are taken row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.refusals import ENGINES
from tests.solvers.model.identities import FEW, SEEDS, Array, Case, assert_equal, control_case
from tests.systems import random_state


def assert_batch_equals_rows(c: Case, stack: tuple[Array, Array, Array], rows: tuple[Array, Array, Array]) -> None:
    for function in (c.model.forward_dynamics, c.model.inverse_dynamics):
        for wrenches in (None, c.wrenches):
            single = np.array([function(*row, wrenches) for row in zip(*rows, strict=True)])
            out = np.empty_like(rows[1])
            # not to the last digit: with wrenches, a single call and a batch take different ways through the kernels
            assert_equal(function(*stack, wrenches), single, c.tolerance)
            function(*stack, wrenches, out=out)
            assert_equal(out, single, c.tolerance)


def states(c: Case, number: int) -> tuple[Array, Array, Array]:
    """Return stacked configurations, velocities and efforts."""
    q, v, _, tau = zip(*(random_state(c.model, c.rng) for _ in range(number)), strict=True)
    return np.array(q), np.array(v), np.array(tau)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@FEW
def test_batches_equal_single_calls(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    stack = states(c, 4)
    assert_batch_equals_rows(c, stack, stack)
    assert_batch_equals_rows(c, tuple(x[::2] for x in stack), tuple(x[::2] for x in stack))  # not contiguous


def test_a_batch_keeps_the_order_of_its_rows() -> None:
    c = control_case()
    stack = states(c, 4)
    with pytest.raises(AssertionError):
        assert_batch_equals_rows(c, stack, tuple(x[::-1] for x in stack))
