"""Derivatives of forward dynamics along directions and their transposed, and those of integrating and taking differences."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.closed_systems import closed_four_bar
from tests.flexible import random_system
from tests.systems import random_state, random_tree

#: Both take sums of some hundred terms through the inverse mass matrix, in another order.
ACCURACY = 1e-11


def error(found, expected):
    return np.abs(np.asarray(found) - expected).max() / np.abs(expected).max()


def directions(model, seed, rows=()):
    rng = np.random.default_rng(seed)
    states = [random_state(model, rng) for _ in range(int(np.prod(rows)))]
    q, v, _, tau = (np.array(x).reshape(*rows, -1) for x in zip(*states, strict=True))
    return (q, v, tau), rng.normal(size=(3, *rows, model.nv)), rng.normal(size=(*rows, model.nv))


def systems():
    """Trees of all joints with springs, dampers, armatures, stops and loads; with actuators; flexible; closed."""
    for seed in range(4):
        yield f"tree {seed}", random_tree(np.random.default_rng(seed), 7, passive=True, loads=True)
    yield "satellite", satellite()
    yield "flexible", random_system(np.random.default_rng(0))


@pytest.mark.parametrize(("name", "s"), [*systems()], ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_they_are_the_derivatives_times_the_directions(name, s, engine: str) -> None:
    model = s.resolve(engine)
    state, (dq, dv, dtau), weights = directions(model, 1)
    port = model.port_names[-1]
    u = np.linspace(-1.0, 1.0, model.nu)
    for loads in ({}, {"wrenches": {port: np.arange(6.0)}}, {"u": u}) if engine == "compiled" else ({},):
        by_q, by_v, by_tau = model.forward_dynamics_derivatives(*state, **loads)
        found = model.forward_dynamics_tangent(*state, dq, dv, dtau, **loads)
        assert error(found, by_q @ dq + by_v @ dv + by_tau @ dtau) < ACCURACY
        for pulled, slopes in zip(model.forward_dynamics_adjoint(*state, weights, **loads), (by_q, by_v, by_tau), strict=True):
            assert error(pulled, weights @ slopes) < ACCURACY


@pytest.mark.parametrize(("name", "s"), [*systems()], ids=lambda x: x if isinstance(x, str) else "")
def test_one_is_the_others_transposed(name, s) -> None:
    """``weights . tangent`` is what the adjoint says of the directions; not so at another state."""
    model = s.resolve()
    state, changes, weights = directions(model, 2)
    along = weights @ model.forward_dynamics_tangent(*state, *changes)
    pulled = sum(by @ change for by, change in zip(model.forward_dynamics_adjoint(*state, weights), changes, strict=True))
    assert pulled == pytest.approx(along, rel=1e-9)  # both sums may cancel some digits
    other = model.forward_dynamics_adjoint(state[0], 2.0 * state[1], state[2], weights)
    assert sum(by @ change for by, change in zip(other, changes, strict=True)) != pytest.approx(along, rel=1e-3)


def test_the_tangent_is_that_of_forward_dynamics() -> None:
    """By central differences over 1e-6, which leave some 1e-9 of accelerations of 1e2."""
    model = random_tree(np.random.default_rng(1), 6, passive=True, loads=True).resolve()
    (q, v, tau), (dq, dv, dtau), _ = directions(model, 3)
    sides = [model.forward_dynamics(model.integrate(q, h * dq), v + h * dv, tau + h * dtau) for h in (1e-6, -1e-6)]
    assert error(model.forward_dynamics_tangent(q, v, tau, dq, dv, dtau), (sides[0] - sides[1]) / 2e-6) < 1e-6


@pytest.mark.parametrize("name", ["tree", "satellite", "flexible"])
def test_stacked_states_and_loads(name) -> None:
    s = {"tree": random_tree(np.random.default_rng(5), 5, passive=True), "satellite": satellite()}.get(name)
    model = (s or random_system(np.random.default_rng(0))).resolve()
    state, changes, weights = directions(model, 4, (3,))
    port, rng = model.port_names[-1], np.random.default_rng(0)
    for loads in (
        {},
        {"wrenches": {port: rng.normal(size=6)}},
        {"wrenches": {port: rng.normal(size=(3, 6))}, "u": rng.normal(size=(3, model.nu))},
    ):
        found = model.forward_dynamics_tangent(*state, *changes, **loads)
        pulled = model.forward_dynamics_adjoint(*state, weights, **loads)
        for row in range(3):
            own = {"wrenches": {port: np.broadcast_to(loads["wrenches"][port], (3, 6))[row]}} if "wrenches" in loads else {}
            own |= {"u": loads["u"][row]} if "u" in loads else {}
            here = [x[row] for x in state]
            expected = model.forward_dynamics_tangent(*here, *(x[row] for x in changes), **own)
            np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)
            for by, one in zip(pulled, model.forward_dynamics_adjoint(*here, weights[row], **own), strict=True):
                np.testing.assert_allclose(by[row], one, rtol=1e-12, atol=1e-12)


def test_closed_systems_too() -> None:
    (model, q, v), (reference, *_) = closed_four_bar(), closed_four_bar(engine="reference")
    tau, (dq, dv, dtau) = np.array([0.5, 0.0, 0.0]), np.random.default_rng(0).normal(size=(3, 3))
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(q, v, tau)
    for each in (model, reference):
        found = each.forward_dynamics_tangent(q, v, tau, dq, dv, dtau)
        assert error(found, by_q @ dq + by_v @ dv + by_tau @ dtau) < 1e-8  # rounding times the constraints' condition


def test_arguments_are_read_and_refused() -> None:
    model = satellite().resolve()
    (q, v, tau), (dq, dv, dtau), weights = directions(model, 6)
    expected = model.forward_dynamics_tangent(q, v, tau, dq, dv, dtau)
    lists = (x.tolist() for x in (q, v, tau, dq, dv, dtau))
    np.testing.assert_array_equal(model.forward_dynamics_tangent(*lists), expected)
    assert np.array_equal(
        model.forward_dynamics_tangent(q, v, None, dq, dv, dtau), model.forward_dynamics_tangent(q, v, 0 * tau, dq, dv, dtau)
    )
    for call, where in (
        (lambda: model.forward_dynamics_tangent(q, v, tau, dq[:-1], dv, dtau), "dq"),
        (lambda: model.forward_dynamics_tangent(q, v, tau, dq, np.full(model.nv, np.inf), dtau), "dv"),
        (lambda: model.forward_dynamics_tangent(q, v, tau, dq, dv, "much"), "dtau"),
        (lambda: model.forward_dynamics_adjoint(q, v, tau, weights[:2]), "weights"),
        (lambda: model.forward_dynamics_adjoint(2 * q, v, tau, weights), "q"),
        (lambda: model.forward_dynamics_adjoint(q, v, tau, weights, wrenches={"hub": [1.0]}), "wrenches"),
        (lambda: model.integrate_derivatives(q, dq[:-1]), "dq"),
        (lambda: model.difference_derivatives(q, 2 * q), "q1"),
    ):
        with pytest.raises(tt.ModelError) as caught:
            call()
        assert caught.value.where.startswith(where)
