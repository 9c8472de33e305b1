"""What is read of a state: poses, Jacobians, twists, accelerations, momentum and energy, by both engines and by differences."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.flexible import random_system
from tests.systems import random_state, random_tree
from tests.tolerances import ROUNDING_OF_MANY

#: Central differences over 1e-5 s of motions of order ten: truncation and rounding leave some 1e-8.
DIFFERENCES = {"rtol": 1e-6, "atol": 1e-6}
STEP = 1e-5


def systems(seed):
    rng = np.random.default_rng(seed)
    return random_tree(rng, 6, passive=True, loads=True) if seed % 2 else random_system(rng)


@pytest.fixture(scope="module", params=range(4))
def models(request):
    s = systems(request.param)
    return s.resolve(), s.resolve("reference")


@pytest.fixture
def state(models):
    return random_state(models[0], np.random.default_rng(1))


def assert_same(models, function):
    found, expected = (function(model) for model in models)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **ROUNDING_OF_MANY)


def test_engines_agree_at_all_ports(models, state) -> None:
    q, v, a, _ = state
    for port in models[0].port_names:
        assert_same(models, lambda model, port=port: model.pose(port, q))
        for frame in ("port", "world"):
            assert_same(models, lambda model, port=port, frame=frame: model.jacobian(port, q, frame))
            assert_same(models, lambda model, port=port, frame=frame: model.twist(port, q, v, frame))
            for classical in (True, False):
                assert_same(
                    models,
                    lambda model, port=port, frame=frame, classical=classical: model.acceleration(
                        port, q, v, a, frame, classical
                    ),
                )
            assert_same(models, lambda model, port=port, frame=frame: model.jacobian_bias(port, q, v, frame))


def test_engines_agree_on_the_whole(models, state) -> None:
    q, v, a, _ = state
    for function in (
        lambda model: model.energy(q, v),
        lambda model: model.momentum(q, v),
        lambda model: model.center_of_mass(q),
        lambda model: model.momentum_matrix(q),
        lambda model: model.coriolis_matrix(q, v),
        lambda model: model.nonlinear_effects(q, v),
        lambda model: model.gravity_effects(q),
        *(lambda model, port=port: model.motion(port, q, v, a) for port in models[0].port_names),
    ):
        assert_same(models, function)


def test_twists_are_jacobians_times_rates(models, state) -> None:
    q, v, a, _ = state
    model = models[0]
    for port in model.port_names:
        rotation, _ = model.pose(port, q)
        for frame, turn in (("port", np.eye(3)), ("world", rotation)):
            J = model.jacobian(port, q, frame)
            np.testing.assert_allclose(J, np.kron(np.eye(2), turn) @ model.jacobian(port, q), **ROUNDING_OF_MANY)
            np.testing.assert_allclose(J @ v, model.twist(port, q, v, frame), **ROUNDING_OF_MANY)
            acceleration = model.acceleration(port, q, v, a, frame, classical=frame == "world")
            np.testing.assert_allclose(J @ a + model.jacobian_bias(port, q, v, frame), acceleration, **ROUNDING_OF_MANY)


def test_motion_is_that_of_poses(models, state) -> None:
    """Velocity and classical acceleration of a port's origin, its angular velocity and the Jacobians' bias, by differences."""
    q, v, a, _ = state
    model = models[0]

    def at(s):
        return model.integrate(q, s * v + 0.5 * s * s * a), v + s * a

    for port in model.port_names:
        before, here, after = (model.pose(port, at(s)[0]) for s in (-STEP, 0.0, STEP))
        twist, acceleration = model.twist(port, q, v, "world"), model.acceleration(port, q, v, a, "world", classical=True)
        np.testing.assert_allclose((after[1] - before[1]) / (2 * STEP), twist[:3], **DIFFERENCES)
        turning = (after[0] - before[0]) / (2 * STEP) @ here[0].T
        np.testing.assert_allclose([turning[2, 1], turning[0, 2], turning[1, 0]], twist[3:], **DIFFERENCES)
        rates = [model.twist(port, *at(s), "world") for s in (-STEP, STEP)]
        np.testing.assert_allclose((rates[1] - rates[0]) / (2 * STEP), acceleration, **DIFFERENCES)
        for frame in ("port", "world"):
            sides = [model.jacobian(port, model.integrate(q, s * v), frame) @ v for s in (-STEP, STEP)]
            bias = model.jacobian_bias(port, q, v, frame)
            np.testing.assert_allclose((sides[1] - sides[0]) / (2 * STEP), bias, **DIFFERENCES)
    other = model.acceleration(port, q, v, a, "world")  # the spatial one is another
    assert not np.allclose(other, acceleration, **DIFFERENCES)


def test_momentum_and_inertia(models, state) -> None:
    q, v, *_ = state
    model = models[0]
    np.testing.assert_allclose(model.momentum_matrix(q) @ v, model.momentum(q, v), **ROUNDING_OF_MANY)
    M = model.mass_matrix(q)
    for each in models:
        inverse = each.inverse_mass_matrix(q)
        np.testing.assert_allclose(inverse @ M, np.eye(model.nv), atol=1e-13 * np.linalg.cond(M))
    mass = sum(value for name, (value, _) in model.parameters().items() if name.endswith(".mass"))
    if not models[0].mechanism.engine.system.tables.general:
        linear = model.momentum_matrix(q)[:3] @ v
        rate = (model.center_of_mass(model.integrate(q, STEP * v)) - model.center_of_mass(model.integrate(q, -STEP * v))) / (
            2 * STEP
        )
        np.testing.assert_allclose(linear, mass * rate, **DIFFERENCES)


def test_lists_are_read_too(models, state) -> None:
    q, v, *_ = (x.tolist() for x in state)
    model, port = models[0], models[0].port_names[-1]
    for function in (
        lambda q, v: model.pose(port, q)[1],
        lambda q, v: model.jacobian(port, q),
        model.momentum,
        model.energy,
        lambda q, v: model.twist(port, q, v),
    ):
        np.testing.assert_allclose(function(q, v), function(*state[:2]), **ROUNDING_OF_MANY)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_what_cannot_be_read_is_refused(engine: str) -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
    model = s.resolve(engine)
    bad = [0.1, 0.2], [np.nan], "angle"
    for function in (
        lambda q: model.pose("bob", q),
        lambda q: model.jacobian("bob", q),
        lambda q: model.twist("bob", q, [0.0]),
        lambda q: model.acceleration("bob", q, [0.0], [0.0]),
        lambda q: model.energy(q, [0.0]),
        lambda q: model.momentum_matrix(q),
        lambda q: model.inverse_mass_matrix(q),
        lambda q: model.nonlinear_effects(q, [0.0]),
        lambda q: model.coriolis_matrix(q, [0.0]),
    ):
        for q in bad:
            with pytest.raises(tt.ModelError) as caught:
                function(q)
            assert caught.value.where.startswith("q")
    for function in (model.pose, model.jacobian):
        with pytest.raises(tt.ModelError, match="port of the model"):
            function("bop", [0.1])
    for function in (lambda: model.jacobian("bob", [0.1], "body"), lambda: model.twist("bob", [0.1], [0.0], "body")):
        with pytest.raises(tt.ModelError) as caught:
            function()
        assert caught.value.code == "bad-frame"


def test_parameters_that_move_ports_are_heard() -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", 2.0, ports={"tip": [0, 0, -1]}), tt.Revolute("hinge", axis=[1, 0, 0], armature=1.0))
    model = s.resolve()
    assert model.pose("bob.tip", [0.0])[1][2] == -1.0
    longer = model.with_parameters({"bob.tip.position.z": -3.0})
    assert longer.pose("bob.tip", [0.0])[1][2] == -3.0
    assert model.pose("bob.tip", [0.0])[1][2] == -1.0
    assert longer.jacobian("bob.tip", [0.0])[1, 0] == pytest.approx(3.0)


def test_closed_systems_are_read_as_trees() -> None:
    (model, q, v), (reference, *_) = closed_four_bar(), closed_four_bar(engine="reference")
    for port in model.port_names:
        assert_same((model, reference), lambda model, port=port: model.jacobian(port, q, "world"))
        assert_same((model, reference), lambda model, port=port: model.jacobian_bias(port, q, v))
