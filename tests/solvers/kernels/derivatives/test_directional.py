"""Derivatives of dynamics along directions and their transposed, and those of integrating and taking differences."""

from __future__ import annotations

import functools
import math
import time
import warnings
from timeit import Timer

import numpy as np
import pytest

import titop as tt
from examples.benchmarks.rods import chain
from tests.actuated_systems import satellite
from tests.closed_systems import closed_four_bar
from tests.flexible import random_system
from tests.mixed_trees import mixed_tree, moderate_state
from tests.refusals import LONG_BY_REFERENCE
from tests.systems import random_state, random_tree

pytestmark = pytest.mark.portable

#: The functions, and the names of their last argument.
FUNCTIONS = {"forward": "tau", "inverse": "a"}

#: Both take sums of some hundred terms through the inverse mass matrix, in another order.
ACCURACY = 1e-11


def error(found, expected):
    return np.abs(np.asarray(found) - expected).max() / np.abs(expected).max()


def along(model, of):
    """Return the derivatives of forward or inverse dynamics: along a direction, transposed, and the matrices."""
    return tuple(getattr(model, f"{of}_dynamics_{kind}") for kind in ("tangent", "adjoint", "derivatives"))


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
@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
@pytest.mark.parametrize("of", FUNCTIONS)
def test_they_are_the_derivatives_times_the_directions(name, s, engine: str, of: str) -> None:
    model = s.resolve(engine)
    tangent, adjoint, derivatives = along(model, of)
    state, (dq, dv, dtau), weights = directions(model, 1)
    port = model.port_names[-1]
    u = np.linspace(-1.0, 1.0, model.nu)
    for loads in ({}, {"wrenches": {port: np.arange(6.0)}}, {"u": u}) if engine == "compiled" else ({},):
        by_q, by_v, by_tau = derivatives(*state, **loads)
        found = tangent(*state, dq, dv, dtau, **loads)
        assert error(found, by_q @ dq + by_v @ dv + by_tau @ dtau) < ACCURACY
        for pulled, slopes in zip(adjoint(*state, weights, **loads), (by_q, by_v, by_tau), strict=True):
            assert error(pulled, weights @ slopes) < ACCURACY
            assert error(pulled, (1.0 + 1e-8) * (weights @ slopes)) > ACCURACY


@pytest.mark.parametrize(("name", "s"), [*systems()], ids=lambda x: x if isinstance(x, str) else "")
def test_those_of_inverse_dynamics_are_complex_steps_of_the_reference(name, s) -> None:
    """A step of 1e-30 has no error of its own; at other accelerations, or without armatures and masses, it differs."""
    model, reference = s.resolve(), s.resolve("reference")
    (q, v, a), (dq, dv, da), weights = directions(model, 7)

    def along_step(dq, dv, da):
        step = 1e-30j
        return reference.inverse_dynamics(reference.integrate(q, step * dq), v + step * dv, a + step * da).imag / 1e-30

    expected = along_step(dq, dv, da)
    assert error(model.inverse_dynamics_tangent(q, v, a, dq, dv, da), expected) < ACCURACY
    assert error(model.inverse_dynamics_tangent(q, v, a, dq, dv, 0.0 * da), expected) > 1e-4
    assert error(model.inverse_dynamics_tangent(q, v, 2.0 * a, dq, dv, da), expected) > 1e-4
    still = np.zeros(model.nv)
    for k, pulled in enumerate(model.inverse_dynamics_adjoint(q, v, a, weights)):
        columns = [along_step(*(unit if k == j else still for j in range(3))) for unit in np.eye(model.nv)]
        assert error(pulled, np.array(columns) @ weights) < ACCURACY


@pytest.mark.parametrize(("name", "s"), [*systems()], ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("of", FUNCTIONS)
def test_one_is_the_others_transposed(name, s, of) -> None:
    """``weights . tangent`` is what the adjoint says of the directions; not so at another state."""
    model = s.resolve()
    tangent, adjoint, _ = along(model, of)
    state, changes, weights = directions(model, 2)
    change = weights @ tangent(*state, *changes)
    pulled = sum(by @ change for by, change in zip(adjoint(*state, weights), changes, strict=True))
    assert pulled == pytest.approx(change, rel=1e-9)  # both sums may cancel some digits
    other = adjoint(state[0], 2.0 * state[1], state[2], weights)
    assert sum(by @ change for by, change in zip(other, changes, strict=True)) != pytest.approx(change, rel=1e-3)


def test_the_tangent_is_that_of_forward_dynamics() -> None:
    """By central differences over 1e-6, which leave some 1e-9 of accelerations of 1e2."""
    model = random_tree(np.random.default_rng(1), 6, passive=True, loads=True).resolve()
    (q, v, tau), (dq, dv, dtau), _ = directions(model, 3)
    sides = [model.forward_dynamics(model.integrate(q, h * dq), v + h * dv, tau + h * dtau) for h in (1e-6, -1e-6)]
    assert error(model.forward_dynamics_tangent(q, v, tau, dq, dv, dtau), (sides[0] - sides[1]) / 2e-6) < 1e-6


@pytest.mark.parametrize("name", ["tree", "satellite", "flexible"])
@pytest.mark.parametrize("of", FUNCTIONS)
def test_stacked_states_and_loads(name, of) -> None:
    s = {"tree": random_tree(np.random.default_rng(5), 5, passive=True), "satellite": satellite()}.get(name)
    model = (s or random_system(np.random.default_rng(0))).resolve()
    tangent, adjoint, _ = along(model, of)
    state, changes, weights = directions(model, 4, (3,))
    port, rng = model.port_names[-1], np.random.default_rng(0)
    for loads in (
        {},
        {"wrenches": {port: rng.normal(size=6)}},
        {"wrenches": {port: rng.normal(size=(3, 6))}, "u": rng.normal(size=(3, model.nu))},
    ):
        found = tangent(*state, *changes, **loads)
        pulled = adjoint(*state, weights, **loads)
        for row in range(3):
            own = {"wrenches": {port: np.broadcast_to(loads["wrenches"][port], (3, 6))[row]}} if "wrenches" in loads else {}
            own |= {"u": loads["u"][row]} if "u" in loads else {}
            here = [x[row] for x in state]
            expected = tangent(*here, *(x[row] for x in changes), **own)
            np.testing.assert_array_equal(found[row], expected)
            for by, one in zip(pulled, adjoint(*here, weights[row], **own), strict=True):
                np.testing.assert_array_equal(by[row], one)


@functools.cache
def mixed(seed: int):
    """Return a model of a mixed tree, a state, directions, weights and what acts."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # the block in Python has an inertia of no body's
        model = mixed_tree(rng).resolve()
    state, changes, weights = moderate_state(model, rng), rng.normal(size=(3, model.nv)), rng.normal(size=model.nv)
    ports = rng.choice([name for name in model.port_names if not name.startswith("world")], 2, replace=False)
    return (
        model,
        state,
        changes,
        weights,
        {"wrenches": {str(port): rng.normal(size=6) for port in ports}, "u": rng.normal(size=model.nu)},
    )


def left(matrix, x, *others):
    """Return what is left of ``matrix x`` less products of others, by the sum of what each row adds up."""
    products = [(matrix, x), *((-y, z) for y, z in others)]
    sizes = sum(np.abs(y) @ np.abs(z) for y, z in products)
    return (np.abs(sum(y @ z for y, z in products)) / sizes).max()


@pytest.mark.parametrize("seed", range(3))
def test_mixed_trees(seed: int) -> None:
    """Rigid bodies, rods, beams, panels, users' blocks, springs and tendons: as the matrices say; not so with other loads.

    The matrices of inverse dynamics come of products of all pairs of coordinates; what is left of the sums of their some 50
    products is rounding, 1e-14. Those of forward dynamics satisfy the same equations, but for what elimination rounds from
    joint to joint, 1e-12 of what the innermost carries. What they are themselves the mass matrix' condition of 1e10 leaves open
    by some 1e-6: up to 1.6e-6, by the signs that beams' modes have and by the processor.
    """
    model, (q, v, tau), (dq, dv, dtau), weights, loads = mixed(seed)
    for acting in ({}, loads):
        slopes = model.forward_dynamics_derivatives(q, v, tau, **acting)
        by_q, by_v, mass = model.inverse_dynamics_derivatives(q, v, model.forward_dynamics(q, v, tau, **acting), **acting)
        changes = (np.eye(model.nv), dtau), (-by_q, dq), (-by_v, dv)
        found = model.forward_dynamics_tangent(q, v, tau, dq, dv, dtau, **acting)
        pulled = model.forward_dynamics_adjoint(q, v, tau, weights, **acting)
        assert left(mass, found, *changes) < 1e-11
        assert left(mass, pulled[2], (np.eye(model.nv), weights)) < 1e-11
        assert left(np.eye(model.nv), pulled[0], (-by_q.T, pulled[2])) < 1e-12
        assert left(np.eye(model.nv), pulled[1], (-by_v.T, pulled[2])) < 1e-12
        assert left(mass, slopes[0] @ dq + slopes[1] @ dv + slopes[2] @ dtau, *changes) < 1e-11
        for by, slope in zip(pulled, slopes, strict=True):
            assert error(by, weights @ slope) < 1e-5
    assert left(mass, model.forward_dynamics_tangent(q, v, tau, dq, dv, dtau), *changes) > 1e-9
    pulled = model.forward_dynamics_adjoint(q, v, tau, weights)
    assert left(np.eye(model.nv), pulled[0], (-by_q.T, pulled[2])) > 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_of_mixed_trees(seed: int) -> None:
    """As the matrices say, to rounding; not so with other loads.

    A single number of the matrices is itself a sum over bodies whose terms are up to 1e4 times greater: of eight seeds on
    three kinds of processors, each of which sums in its own order, 1.3e-12 is the most that is left.
    """
    model, (q, v, a), (dq, dv, da), weights, loads = mixed(seed)
    unit = np.eye(model.nv)
    for acting in ({}, loads):
        by_q, by_v, mass = model.inverse_dynamics_derivatives(q, v, a, **acting)
        found = model.inverse_dynamics_tangent(q, v, a, dq, dv, da, **acting)
        pulled = model.inverse_dynamics_adjoint(q, v, a, weights, **acting)
        assert left(unit, found, (by_q, dq), (by_v, dv), (mass, da)) < 1e-11
        for by, slopes in zip(pulled, (by_q, by_v, mass), strict=True):
            assert left(unit, by, (slopes.T, weights)) < 1e-11
    assert left(unit, model.inverse_dynamics_tangent(q, v, a, dq, dv, da), (by_q, dq), (by_v, dv), (mass, da)) > 1e-9
    assert left(unit, model.inverse_dynamics_adjoint(q, v, a, weights)[0], (by_q.T, weights)) > 1e-9


def test_mixed_trees_by_differences() -> None:
    """Of fourth order over 5e-5: 1e-8 of fifth derivatives, 1e-7 of rounding; of second order up to 1e-6 of that."""
    model, (q, v, tau), (dq, dv, dtau), _, loads = mixed(1)

    def ahead(h):
        return model.forward_dynamics(model.integrate(q, h * dq), v + h * dv, tau + h * dtau, **loads)

    found, h = model.forward_dynamics_tangent(q, v, tau, dq, dv, dtau, **loads), 5e-5
    expected = (8.0 * (ahead(h) - ahead(-h)) - (ahead(2.0 * h) - ahead(-2.0 * h))) / (12.0 * h)
    assert error(found, expected) < 1e-6
    assert error(model.forward_dynamics_tangent(q, v, tau, -dq, dv, dtau, **loads), expected) > 1e-2


def test_a_rod_a_link_costs_the_same_in_longer_chains() -> None:
    """Twice as many rods take about twice as long: less than thrice, where what goes through matrices takes six times it.

    The least times of both in turns, of as many as it takes: other processes only make them longer.
    """
    calls, times = {}, {8: math.inf, 16: math.inf}
    for rods in times:
        model = chain(rods)
        q, v, tau = 0.1 * np.ones((3, model.nv))
        calls[rods] = Timer(lambda m=model, x=(q, v, tau): m.forward_dynamics_tangent(*x, *x), timer=time.process_time)
    for _ in range(200):
        times = {rods: min(times[rods], call.timeit(2)) for rods, call in calls.items()}
        if times[16] < 3.0 * times[8]:
            break
    assert times[16] < 3.0 * times[8]


@pytest.mark.parametrize("name", ["tree", "mixed"])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("of", FUNCTIONS)
def test_several_directions_at_one_state(name, loaded, of) -> None:
    """Each says what it says alone, to the last bit, whoever has been asked for before."""
    if name == "mixed":
        model, state, changes, weights, loads = mixed(1)
    else:
        model = random_tree(np.random.default_rng(2), 6, passive=True, loads=True).resolve()
        state, changes, weights = directions(model, 5)
        loads = {"wrenches": {model.port_names[-1]: np.arange(6.0)}}
    acting, sizes, (tangent, adjoint, _) = loads if loaded else {}, np.array([[1.0], [-3.0], [0.5]]), along(model, of)
    found = tangent(*state, *(sizes * change for change in changes), **acting)
    pulled = adjoint(*state, sizes * weights, **acting)
    assert found.shape == (3, model.nv)
    for k, size in enumerate(sizes[:, 0]):
        alone = tangent(*state, *(size * change for change in changes), **acting)
        np.testing.assert_array_equal(found[k], alone)
        for by, expected in zip(pulled, adjoint(*state, size * weights, **acting), strict=True):
            np.testing.assert_array_equal(by[k], expected)
    lists = tangent(*(x.tolist() for x in state), *((sizes * x).tolist() for x in changes), **acting)
    np.testing.assert_allclose(lists, found, rtol=1e-12, atol=1e-12 * np.abs(found).max())  # rows read with care


def test_closed_systems_too() -> None:
    (model, q, v), (reference, *_) = closed_four_bar(), closed_four_bar(engine="reference")
    tau, (dq, dv, dtau) = np.array([0.5, 0.0, 0.0]), np.random.default_rng(0).normal(size=(3, 3))
    a = model.forward_dynamics(q, v, tau)
    for of, third, actuated in (("forward", tau, {}), ("inverse", a, {}), ("inverse", a, {"actuated": [model.joint_names[0]]})):
        slopes = along(model, of)[2](q, v, third, **actuated)
        for each in (model, reference):
            tangent, adjoint, _ = along(each, of)
            found = tangent(q, v, third, dq, dv, dtau, **actuated)
            expected = slopes[0] @ dq + slopes[1] @ dv + slopes[2] @ dtau
            assert error(found, expected) < 1e-8  # rounding times the constraints' condition
            for pulled, by in zip(adjoint(q, v, third, dtau, **actuated), slopes, strict=True):
                assert error(pulled, dtau @ by) < 1e-8


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
        (lambda: model.inverse_dynamics_tangent(q, v, tau, dq, dv, dtau[:-1]), "da"),
        (lambda: model.inverse_dynamics_tangent(q, v, tau, dq, dv, dtau, actuated=["nothing"]), "actuated"),
        (lambda: model.inverse_dynamics_adjoint(q, v, tau, np.full(model.nv, np.nan)), "weights"),
        (lambda: model.integrate_derivatives(q, dq[:-1]), "dq"),
        (lambda: model.difference_derivatives(q, 2 * q), "q1"),
    ):
        with pytest.raises(tt.ModelError) as caught:
            call()
        assert caught.value.where.startswith(where)


@pytest.mark.parametrize("name", ["q", "v", "third", "dq", "weights"])
@pytest.mark.parametrize("of", FUNCTIONS)
def test_mappings_are_refused_by_name(name: str, of: str) -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, inertia=0.1), tt.Revolute("hinge"))
    (tangent, adjoint, _), given = along(s.resolve("compiled"), of), dict.fromkeys(("q", "v", "third", "dq", "dv"), np.zeros(1))
    given |= {"weights": np.zeros(1), name: {"hinge": 1.0}}
    state = [given[each] for each in ("q", "v", "third")]
    function, directions = tangent, [given["dq"], given["dv"], np.zeros(1)]
    if name == "weights":
        function, directions = adjoint, [given[name]]
    with pytest.raises(tt.ModelError, match=f"^{FUNCTIONS[of] if name == 'third' else name}: .*wrong-type"):
        function(*state, *directions)
