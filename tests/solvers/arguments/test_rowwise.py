"""Stacked states are taken row by row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import titop as tt
from tests.refusals import ENGINES
from tests.solvers.model.identities import FEW, SEEDS, Case, assert_equal, control_case
from tests.systems import Array, random_state
from titop.solvers.arguments.rowwise import read_stack


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


ROWS = 3


def cart() -> tt.System:
    s = tt.System("cart", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("cart", mass=2.0, ports={"T": [0.1, 0, 0]}), tt.Prismatic("slide", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("drive", "slide"))
    return s


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return cart().resolve()


def model_states() -> dict[str, Array]:
    """Return stacked states."""
    rng = np.random.default_rng(0)
    return {"q": rng.normal(size=(ROWS, 1)), "v": rng.normal(size=(ROWS, 1))}


class Table:
    """Rows of numbers of another library."""

    def __init__(self, rows: Array) -> None:
        self.rows, self.shape, self.ndim = rows, rows.shape, rows.ndim

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.rows, dtype)


@pytest.mark.parametrize("engine", ENGINES)
def test_loads_by_row_may_be_tables_of_other_libraries(engine: str) -> None:
    s = cart()
    s.add_sensor(tt.ReactionSensor("bearing", "slide"))
    m, (q, v) = s.resolve(engine), model_states().values()
    pushes, u = np.arange(6.0 * ROWS).reshape(ROWS, 6), np.arange(1.0 * ROWS)[:, None]
    for function in (
        m.forward_dynamics,
        m.inverse_dynamics,
        partial(m.reaction, "slide"),
        m.outputs,
        partial(m.hybrid_dynamics, a=v, prescribed=["slide"]),
    ):
        found = function(q, v, v, wrenches={"cart.T": Table(pushes)}, u=Table(u))
        np.testing.assert_array_equal(found, function(q, v, v, wrenches={"cart.T": pushes}, u=u))


def test_each_state_gets_its_own_and_what_acts_on_all(model: tt.Model) -> None:
    own, of_all, u = np.arange(6.0 * ROWS).reshape(ROWS, 6), np.ones(6), np.arange(1.0 * ROWS)[:, None]
    rows = read_stack(model.mechanism, model_states(), {"cart.T": own, "cart": of_all}, u).rows()
    assert len(rows) == ROWS
    for k, ((q, v), wrenches, inputs) in enumerate(rows):
        assert wrenches is not None
        assert np.array_equal(q, model_states()["q"][k])
        assert np.array_equal(v, model_states()["v"][k])
        assert np.array_equal(wrenches["cart.T"], own[k])
        assert np.array_equal(wrenches["cart"], of_all)
        assert inputs == u[k]


def test_uneven_stacks_are_refused_by_name(model: tt.Model) -> None:
    for wrenches, u in (({"cart.T": np.zeros((ROWS + 1, 6))}, None), (None, np.zeros((ROWS - 1, 1)))):
        with pytest.raises(tt.ModelError, match=r"wrenches\['cart\.T'\]|u: "):
            read_stack(model.mechanism, model_states(), wrenches, u)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_wrench_that_is_not_finite_is_named_by_its_row(model: tt.Model, number: float) -> None:
    wrenches, (q, v) = np.zeros((ROWS, 6)), model_states().values()
    model.forward_dynamics(q, v, v, {"cart.T": wrenches})  # the negative control
    wrenches[1, 2] = number
    with pytest.raises(tt.ModelError, match=r"wrenches\['cart\.T'\]\[1, 2\]: got (nan|inf)"):
        model.forward_dynamics(q, v, v, {"cart.T": wrenches})


def test_results_are_put_where_they_are_asked_for(model: tt.Model) -> None:
    """Accelerations of the cart: input and force along its axis over the mass."""
    wrenches, u = np.zeros((ROWS, 6)), np.array([[1.0], [0.0], [-4.0]])
    wrenches[:, 0] = 0.0, 3.0, 4.0
    out = np.empty((ROWS, 1))
    found = model.forward_dynamics(*model_states().values(), None, {"cart.T": wrenches}, u=u, out=out)
    assert found is out
    np.testing.assert_allclose(found[:, 0], [0.5, 1.5, 0.0], rtol=1e-14, atol=1e-14)
