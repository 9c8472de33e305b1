"""Ports of flexible bodies: those that nobody uses change nothing, and can be asked."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.flexible import random_body
from tests.solvers.kernels.interface.flexible_states import ACCURACY, error, state
from titop.solvers.kernels.interface import layout


def with_ports(names: list[str]) -> tt.System:
    """Return a system with a flexible body that has these of seventy ports, four of which are in use."""
    rng = np.random.default_rng(4)
    whole = random_body(rng, "near", 3, 70)
    body = tt.FlexibleBody(
        "near",
        whole.mass,
        whole.com,
        whole.inertia,
        participation=whole.participation,
        ports={name: whole.port_poses[name] for name in names},
        shapes={name: whole.shapes[name] for name in names},
        modal_mass=whole.modal_mass,
        modal_stiffness=whole.modal_stiffness,
        modal_damping=whole.modal_damping,
    )
    s = tt.System("many ports", gravity=[0.4, 0, -9.81])
    s.connect("world", body, tt.Free("base"))
    s.connect(body.port("C3"), tt.RigidBody("tip", 0.5, [0.1, 0.2, 0], 0.02), tt.Revolute("hinge", axis=[1, 1, 0]))
    s.connect(body.port("C65"), tt.RigidBody("end", 0.4, [0.1, 0, 0.2], 0.03), tt.Revolute("pin", axis=[0, 1, 0]))
    s.add_load(tt.Load("push", body.port("C5"), force=[1.0, 2.0, 3.0], frame="world"))
    s.close_loop("world", body.port("C7"), tt.SpringDamper("strut", stiffness=30.0, damping=0.1, length=0.2))
    return s


USED_PORTS = ["C3", "C5", "C7", "C65"]


def test_ports_that_nobody_uses_change_nothing() -> None:
    few, many = with_ports(USED_PORTS).resolve(), with_ports([f"C{k}" for k in range(70)]).resolve()
    at = state(few, 2)
    for wrenches in (None, {"near.C5": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}):
        for function in (
            "forward_dynamics",
            "inverse_dynamics",
            "forward_dynamics_derivatives",
            "inverse_dynamics_derivatives",
        ):
            found, expected = (np.array(getattr(model, function)(*at, wrenches)) for model in (many, few))
            assert np.array_equal(found, expected), function
    assert np.array_equal(many.mass_matrix(at[0]), few.mass_matrix(at[0]))
    assert many.energy(*at[:2]) == few.energy(*at[:2])


@pytest.mark.parametrize("port", ["near.C3", "near.C4", "near.C65", "near.C69"])
def test_ports_that_nobody_uses_can_be_asked_and_pushed(port: str) -> None:
    system = with_ports([f"C{k}" for k in range(70)])
    model, reference = system.resolve(), system.resolve("reference")
    q, v, a = state(model, 2)
    for ours, exact in zip(model.pose(port, q), reference.pose(port, q), strict=True):
        assert error(ours, exact) < ACCURACY
    for function, arguments in (("jacobian", (q,)), ("twist", (q, v)), ("acceleration", (q, v, a))):
        assert error(getattr(model, function)(port, *arguments), getattr(reference, function)(port, *arguments)) < ACCURACY
    wrenches = {port: [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}
    for function in ("forward_dynamics", "inverse_dynamics", "inverse_dynamics_derivatives"):
        found, expected = (getattr(engine, function)(q, v, a, wrenches) for engine in (model, reference))
        assert error(np.array(found), np.array(expected)) < ACCURACY
    assert error(model.accelerometer(port, q, v, a), reference.accelerometer(port, q, v, a)) < ACCURACY
    ours, exact = (engine.mechanism.engine.derivatives.motion([port], q, v, a)[0] for engine in (model, reference))
    assert error(ours, exact) < ACCURACY


def test_a_sensor_at_a_port_that_carries_nothing() -> None:
    system = with_ports([f"C{k}" for k in range(70)])
    system.add_sensor(tt.Accelerometer("imu", system["near"].port("C4")))
    model, reference = system.resolve(), system.resolve("reference")
    at = state(model, 2)
    for wrenches in (None, {"near.C9": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}):
        assert error(model.outputs(*at, wrenches), reference.outputs(*at, wrenches)) < ACCURACY


def test_a_port_whose_use_is_not_told_is_seen() -> None:
    """The negative control: the bits say nothing of a port that carries a body."""
    model = with_ports(USED_PORTS).resolve()
    at = state(model, 2)
    expected = model.inverse_dynamics(*at)
    other = with_ports(USED_PORTS).resolve()
    other.mechanism.engine.system.ints[other.mechanism.engine.system.tables.elements["near"], layout.USED] &= ~1
    try:
        found = other.inverse_dynamics(*at)
    except tt.ModelError:  # what nobody wrote need not be a number
        return
    assert not np.allclose(found, expected)
