"""Sensors, reactions, passive efforts and units of inputs of compiled models, of all kinds of blocks, single and stacked."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.closed_systems import accelerating, closed_four_bar, four_bar, geared_hand
from tests.solvers.engines.compiled.instrumented import KINDS, instrumented
from tests.systems import random_state, random_tree
from tests.tolerances import ROUNDING, ROUNDING_OF_MANY
from titop.solvers.engines.compiled.compiled_readings import IDENTITY, ReadingRow, reading_tables
from titop.solvers.kernels.ports import sensor_readings as readings


@pytest.fixture(scope="module", params=KINDS)
def models(request):
    s = instrumented(request.param)
    return s.resolve(), s.resolve("reference")


@pytest.fixture
def given(models):
    """Three states, wrenches on two ports, and inputs."""
    rng = np.random.default_rng(7)
    states = [random_state(models[0], rng)[:3] for _ in range(3)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    return (q, v, a), {port: rng.normal(size=(3, 6)) for port in ("arm.tip", "bob")}, rng.normal(size=(3, models[0].nu))


def at(given, row):
    (q, v, a), wrenches, u = given
    return (q[row], v[row], a[row]), {port: wrench[row] for port, wrench in wrenches.items()}, u[row]


def test_engines_agree(models, given) -> None:
    state, wrenches, u = at(given, 0)
    for loads in ({}, {"wrenches": wrenches}, {"wrenches": wrenches, "u": u}, {"u": u}):
        found, expected = (model.outputs(*state, **loads) for model in models)
        np.testing.assert_allclose(found, expected, **ROUNDING_OF_MANY)
        for joint in (*models[0].joint_names, "strap", "belt"):
            found, expected = (model.reaction(joint, *state, **loads) for model in models)
            np.testing.assert_allclose(found, expected, **ROUNDING_OF_MANY, err_msg=joint)
    for function in (lambda m: m.passive_efforts(*state[:2]), lambda m: m.actuation_matrix(state[0])):
        found, expected = (function(model) for model in models)
        np.testing.assert_allclose(found, expected, **ROUNDING_OF_MANY)
        assert np.abs(found).max() > 0.1


def test_passive_efforts_balance_the_equations_of_motion(models, given) -> None:
    """``M a + nonlinear effects = tau + passive`` and what the load does, by functions that know nothing of passive efforts."""
    model = models[0]
    (q, v, a), *_ = at(given, 1)
    port = next(str(load.target) for load in model.mechanism.assembly.loads)
    turn = model.pose(port, q)[0]
    load = model.jacobian(port, q)[:3].T @ turn.T @ [0.1, 0.2, -0.1]
    tau = model.inverse_dynamics(q, v, a)
    needed = model.mass_matrix(q) @ a + model.nonlinear_effects(q, v)
    np.testing.assert_allclose(model.passive_efforts(q, v), needed - tau - load, **ROUNDING_OF_MANY)


def test_a_unit_of_an_input_is_what_it_spares_the_efforts(models, given) -> None:
    """Efforts are affine in the inputs, so that differences over a unit are exact."""
    model = models[0]
    (q, _, a), *_ = at(given, 2)
    still = np.zeros(model.nv)  # at rest: a belt's torque along axes does not depend on rates
    without = model.inverse_dynamics(q, still, a)
    columns = [without - model.inverse_dynamics(q, still, a, u=unit) for unit in np.eye(model.nu)]
    np.testing.assert_allclose(model.actuation_matrix(q), np.array(columns).T, **ROUNDING_OF_MANY)


def test_stacked_states_are_read_row_by_row(models, given) -> None:
    (q, v, a), wrenches, u = given
    one = {port: wrench[0] for port, wrench in wrenches.items()}
    for model in models:
        calls = (
            (lambda s, w, x, model=model: model.outputs(*s, wrenches=w, u=x), wrenches, u),
            (lambda s, w, x, model=model: model.outputs(*s, wrenches=w), one, None),
            (lambda s, w, x, model=model: model.reaction("ball", *s, wrenches=w, u=x), wrenches, u),
            (lambda s, w, x, model=model: model.reaction("strap", *s), None, None),
            (lambda s, w, x, model=model: model.passive_efforts(*s[:2]), None, None),
            (lambda s, w, x, model=model: model.actuation_matrix(s[0]), None, None),
        )
        for call, loads, inputs in calls:
            found = call((q, v, a), loads, inputs)
            rows = []
            for row in range(3):
                state, own, driven = at(given, row)
                rows.append(call(state, own if loads is wrenches else loads, driven if inputs is u else inputs))
            np.testing.assert_allclose(found, rows, **ROUNDING)
            assert not np.allclose(found[0], found[1])


def test_no_rows_give_no_results(models) -> None:
    model = models[0]
    q, v = np.empty((0, model.nq)), np.empty((0, model.nv))
    for each in models:
        assert each.outputs(q, v, v).shape == (0, len(model.output_names))
        assert each.reaction("root", q, v, v).shape == (0, 6)
        assert each.passive_efforts(q, v).shape == (0, model.nv)
        assert each.actuation_matrix(q).shape == (0, model.nv, model.nu)
        assert each.pose("hub", q)[0].shape == (0, 3, 3)
        assert each.energy(q, v).kinetic.shape == (0,)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_all_that_is_read_takes_stacked_states(seed: int, engine: str) -> None:
    model = random_tree(np.random.default_rng(seed), 5, passive=True, loads=True).resolve(engine)
    rng = np.random.default_rng(seed)
    q, v, a = (np.array(x) for x in zip(*[random_state(model, rng)[:3] for _ in range(3)], strict=True))
    port = model.port_names[-1]
    for function in (
        lambda q, v, a: model.pose(port, q)[0],
        lambda q, v, a: model.pose(port, q)[1],
        lambda q, v, a: model.jacobian(port, q, "world"),
        lambda q, v, a: model.twist(port, q, v, "world"),
        lambda q, v, a: model.acceleration(port, q, v, a, classical=True),
        lambda q, v, a: model.jacobian_bias(port, q, v),
        lambda q, v, a: model.accelerometer(port, q, v, a),
        lambda q, v, a: model.motion(port, q, v, a),
        lambda q, v, a: model.motion_derivatives(port, q, v, a).dA_dq,
        lambda q, v, a: model.energy(q, v).kinetic,
        lambda q, v, a: model.energy(q, v).total,
        lambda q, v, a: model.momentum(q, v),
        lambda q, v, a: model.momentum_matrix(q),
        lambda q, v, a: model.center_of_mass(q),
        lambda q, v, a: model.mass_matrix(q),
        lambda q, v, a: model.inverse_mass_matrix(q),
        lambda q, v, a: model.nonlinear_effects(q, v),
        lambda q, v, a: model.gravity_effects(q),
        lambda q, v, a: model.coriolis_matrix(q, v),
        lambda q, v, a: model.dissipated_power(q, v),
    ):
        rows = [function(*state) for state in zip(q, v, a, strict=True)]
        np.testing.assert_allclose(function(q, v, a), rows, rtol=1e-12, atol=1e-12)
    with pytest.raises(tt.ModelError, match="equally stacked"):
        model.twist(port, q, v[:2])


@pytest.mark.parametrize("system", ["loop", "gears"])
def test_reactions_of_closed_systems_stack(system) -> None:
    if system == "loop":
        (model, q, v), (reference, *_) = closed_four_bar(), closed_four_bar(engine="reference")
        a, joints = model.forward_dynamics(q, v), ("q1", "pin")
    else:
        s = geared_hand()
        model, reference = s.resolve(), s.resolve("reference")
        q, v, a = accelerating(model, model.random_configuration(np.random.default_rng(0)), np.random.default_rng(1))
        joints = model.joint_names[:2]
    states = [np.array([x, x]) for x in (q, v, a)]
    for joint in joints:
        found, expected = (each.reaction(joint, *states) for each in (model, reference))
        np.testing.assert_allclose(
            found, expected, rtol=1e-8, atol=1e-8
        )  # multipliers: the constraints' condition times rounding
        np.testing.assert_allclose(found[1], model.reaction(joint, q, v, a), **ROUNDING_OF_MANY)


def test_reactions_of_closed_systems_with_servos_stack() -> None:
    """Each state with its own command: the closure's wrench and the servo's input both stand behind the loads."""
    q = closed_four_bar()[1]
    s = four_bar()
    s.add_interaction(tt.CoordinateSpring("servo", [1.0], 30.0, 0.4, gain=30.0), "q1")
    model, reference = s.resolve(), s.resolve("reference")
    u, v = np.array([[0.3], [-0.2], [0.0]]), np.zeros(model.nv)
    a = np.array([model.forward_dynamics(q, v, u=each) for each in u])
    found, expected = (each.reaction("pin", *(np.array([x] * 3) for x in (q, v)), a, u=u) for each in (model, reference))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)  # multipliers: the constraints' condition times rounding
    rows = [model.reaction("pin", q, v, *each) for each in zip(a, [None] * 3, u, strict=True)]
    np.testing.assert_allclose(found, rows, **ROUNDING_OF_MANY)
    assert np.ptp(found, axis=0).max() > 1.0  # it depends on the command


def test_sensors_hear_of_parameters_and_locks() -> None:
    s = satellite()
    model = s.resolve()
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    heavier = model.with_parameters({"arm.mass": 9.0})
    cell = slice(model.output_names.index("load_cell.fx"), None)
    assert not np.allclose(heavier.outputs(q, v, a)[cell], model.outputs(q, v, a)[cell])
    q = model.configuration({"base": [0, 0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5)]})  # the middle angle is a right one
    for state in ((q, v, a), tuple(np.array([x, x]) for x in (q, v, a))):
        with pytest.warns(tt.ModelWarning, match="gimbal lock"):
            model.outputs(*state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.outputs(model.neutral(), v, a)


def test_models_travel_without_what_reads_them() -> None:
    model = satellite().resolve()
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    calls = (
        lambda m: m.outputs(q, v, a, wrenches={"hub": np.ones(6)}),
        lambda m: m.reaction("elbow", q, v, a),
        lambda m: m.motion("arm.tip", q, v, a),
        lambda m: m.accelerometer("arm.tip", q, v, a),
        lambda m: m.passive_efforts(q, v),
        lambda m: m.actuation_matrix(q),
    )
    found = [call(model) for call in calls]
    copy = pickle.loads(pickle.dumps(model))
    for call, expected in zip(calls, found, strict=True):
        assert np.array_equal(call(copy), expected)


def test_what_cannot_be_read_is_refused() -> None:
    model = satellite().resolve()
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    for call, where in (
        (lambda: model.outputs(q, v, np.full(model.nv, np.nan)), "a"),
        (lambda: model.outputs(q, v[:-1], a), "v"),
        (lambda: model.outputs(q, v, a, wrenches={"hub": [1.0, 2.0]}), "wrenches['hub']"),
        (lambda: model.outputs(q, v, a, u=[1.0]), "u"),
        (lambda: model.reaction("elbow", 2.0 * q, v, a), "q"),
        (lambda: model.reaction("elbow", q, v, a, tau=[1.0]), "tau"),
        (lambda: model.reaction("elbows", q, v, a), "joint"),
        (lambda: model.passive_efforts(q, "fast"), "v"),
        (lambda: model.actuation_matrix(q[:-1]), "q"),
        (lambda: model.motion("hub", q, v, a, "XXX"), "sequence"),
    ):
        with pytest.raises(tt.ModelError) as caught:
            call()
        assert caught.value.where.startswith(where)


def test_numbers_stand_behind_those_of_the_rows_before() -> None:
    rows = [
        ReadingRow(readings.POSE, 3, axes=21),
        ReadingRow(readings.RATE, 1, factor=-2.0),
        ReadingRow(readings.MOTION, 2, 40),
        ReadingRow(readings.RATE, 0),
    ]
    table, frames, count = reading_tables(rows)
    assert table[:, readings.WHAT].tolist() == [readings.POSE, readings.RATE, readings.MOTION, readings.RATE]
    assert table[:, readings.PLACE].tolist() == [0, 6, 7, 25]
    assert count == 26
    assert table[:, readings.AT].tolist() == [3, 1, 2, 0]
    assert table[:, readings.READ_PORT].tolist() == [-1, -1, 40, -1]
    assert table[:, readings.AXES].tolist() == [21, 0, 0, 0]
    assert frames[:, readings.FACTOR].tolist() == [1.0, -2.0, 1.0, 1.0]
    assert np.array_equal(frames[:, :12], np.tile(IDENTITY, (4, 1)))


def test_nothing_to_read_has_tables_too() -> None:
    table, frames, count = reading_tables([])
    assert table.shape == (0, readings.READING_COLUMNS)
    assert frames.shape == (0, readings.FRAME_COLUMNS)
    assert count == 0
