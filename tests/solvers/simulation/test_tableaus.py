"""Explicit methods as tables: conditions of their order, and one step against scipy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import DOP853, RK23, RK45

from titop.solvers.simulation.explicit_steps import Tableau, tableau

Array = NDArray[np.float64]
ORDERS = {"RK23": 3, "RK45": 5, "DOP853": 8}
KINDS = {"RK23": RK23, "RK45": RK45, "DOP853": DOP853}
H = 0.3


def rate(t: float, y: Array) -> Array:
    return np.array([y[1], -np.sin(y[0]) + 0.3 * t])


def stages(method: Tableau, y: Array) -> tuple[Array, Array]:
    """Return states and rates of all stages of a step from the time zero."""
    states, rates = np.zeros((2, len(method.nodes), len(y)))
    for s, node in enumerate(method.nodes):
        states[s] = y + H * method.coefficients[s] @ rates
        rates[s] = rate(node * H, states[s])
    return states, rates


@pytest.mark.parametrize("name", ORDERS)
def test_rows_add_up_to_the_nodes_and_explicit_stages_need_earlier_ones(name: str) -> None:
    method = tableau(name)
    np.testing.assert_allclose(method.coefficients.sum(axis=1), method.nodes, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(np.triu(method.coefficients), 0.0)
    assert method.nodes[method.end] == 1.0
    assert method is tableau(name)


@pytest.mark.parametrize("name", ORDERS)
def test_quadrature_is_exact_up_to_the_order(name: str) -> None:
    """``sum b c^k = 1 / (k + 1)`` for k below the order, not at it."""
    method, order = tableau(name), ORDERS[name]
    b, c = method.coefficients[method.end], np.array(method.nodes)
    errors = [abs(b @ c**k - 1 / (k + 1)) for k in range(order + 1)]
    assert max(errors[:order]) < 1e-14
    assert errors[order] > 1e-6
    assert np.abs(method.estimators.sum(axis=1)).max() < 1e-14  # constants have no error


@pytest.mark.parametrize("name", ORDERS)
def test_a_step_and_its_inside_are_scipys(name: str) -> None:
    method, y = tableau(name), np.array([0.4, -0.2])
    solver: Any = KINDS[name](rate, 0.0, y, H, first_step=H, rtol=1e3, atol=1e3)
    solver.step()
    assert solver.t == H
    states, rates = stages(method, y)
    np.testing.assert_allclose(states[method.end], solver.y, rtol=0, atol=1e-15)
    inside, expected = method.within(states, rates, H), solver.dense_output()
    parts = np.array([0.0, 0.3, 0.77, 1.0])
    np.testing.assert_allclose(inside(parts), expected(parts * H).T, rtol=0, atol=1e-13)  # of terms up to 1e2
    assert np.abs(inside(parts[1:2]) - expected(0.4 * H)).max() > 1e-3
    states[:] = 0.0  # what is within a step stays when the next one overwrites its stages
    np.testing.assert_allclose(inside(parts), expected(parts * H).T, rtol=0, atol=1e-13)
