"""Nonlinear systems for python-control: exact Jacobians, and python-control's functions work with them."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.test_inputs import satellite
from tests.solvers.test_linearize import BY_DIFFERENCES, FORWARD, HYBRID, OUTPUTS, STENCIL, cart
from tests.systems import random_state


@pytest.mark.parametrize("inputs", [FORWARD, HYBRID], ids=["forward", "hybrid"])
def test_jacobians_against_differences(inputs: list[str]) -> None:
    """Away from the reference configuration, where the chart of the free joint matters."""
    model, rng = satellite().resolve(), np.random.default_rng(3)
    q, v, _, tau = random_state(model, rng)
    point = tt.OperatingPoint(model, q, v, tau, np.linspace(0.1, 1, model.nu), {"arm.tip": 0.3 * np.arange(6.0)})
    system = model.to_nlsys(inputs, OUTPUTS, point)
    x, w = rng.uniform(-0.5, 0.5, system.nstates), rng.normal(size=system.ninputs)
    linear = control.linearize(system, x, w)

    def both(z: np.ndarray) -> np.ndarray:
        x, w = np.split(z, [system.nstates])
        return np.concatenate([system.dynamics(0, x, w), system.output(0, x, w)])

    z, columns = np.concatenate([x, w]), []
    for direction in 1e-3 * np.eye(len(z)):
        columns.append(sum(weight / 1e-3 * (both(z + n * direction) - both(z - n * direction)) for n, weight in STENCIL))
    found = np.block([[linear.A, linear.B], [linear.C, linear.D]])
    assert np.abs(found - np.array(columns).T).max() < BY_DIFFERENCES
    crude = control.NonlinearIOSystem.linearize(system, x, w)
    assert np.abs(crude.A - linear.A).max() > 1e-8  # python-control's own one-sided differences


def test_at_a_resting_point_it_is_the_linear_model() -> None:
    model = cart().resolve()
    system = model.to_nlsys(["rail", "lower"], ["rail.q", "second.r"])
    linear = system.linearize(np.zeros(6), np.zeros(2))
    expected = tt.linearize(model, model.neutral(), ["rail", "lower"], ["rail.q", "second.r"])
    for name in "ABCD":
        assert np.array_equal(getattr(linear, name), getattr(expected, name)), name
    assert linear.state_labels == expected.state_labels == system.state_labels
    assert linear.input_labels == expected.input_labels
    assert linear.output_labels == expected.output_labels
    assert tt.signal_table(linear) == tt.signal_table(system)
    assert control.linearize(system, np.zeros(6), np.zeros(2), name="upright").name == "upright"


def test_responses_are_simulations() -> None:
    model = cart().resolve()
    system, t = model.to_nlsys(["rail"]), np.linspace(0, 2, 21)
    start = np.array([0.0, 0.3, -0.2, 0.1, 0.0, 0.0])
    options = {"rtol": 1e-10, "atol": 1e-12}
    response = control.input_output_response(system, t, np.full((1, 21), 0.7), start, solve_ivp_kwargs=options)
    run = tt.simulate(model, t, start[:3], start[3:], tau=[0.7, 0, 0], rtol=1e-10, atol=1e-12)
    # both integrate to 1e-10 a step, and the falling pendulums amplify it a hundred times
    assert np.abs(response.outputs.T - np.hstack([run.q, run.v])).max() < 1e-6


def test_operating_points_agree() -> None:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    model = s.resolve()
    found = control.find_operating_point(model.to_nlsys(["hinge"]), [0.4, 0.0], [9.0])
    point = tt.trim(model, tau={"hinge": 9.0}, q={"hinge": 0.4})
    assert found.states == pytest.approx([point.q[0], 0.0], abs=1e-10)  # scipy's root stops at 1e-8 and is better
    assert pytest.approx(tt.linear_matrices(model, point)[0], abs=1e-9) == control.linearize(model.to_nlsys(["hinge"]), found).A


def test_interconnection_with_a_controller() -> None:
    model = cart().resolve()
    plant = model.to_nlsys(["rail"])
    gain, _, _ = control.lqr(tt.linearize(model, model.neutral(), ["rail"]), np.eye(6), np.eye(1))
    controller = control.ss([], [], [], -gain, inputs=plant.output_labels, outputs=["rail"], name="controller")
    loop = control.interconnect([plant, controller], inputs=[], outputs=["lower_q", "rail_q"])
    t = np.linspace(0, 12, 121)
    response = control.input_output_response(loop, t, 0, [0.2, 0.1, -0.05, 0, 0, 0])
    assert np.abs(response.outputs[:, -1]).max() < 1e-2
    assert np.abs(response.outputs[:, 0]).max() > 0.1


def carrier() -> tt.System:
    """Return a sprung cart."""
    s = tt.System("carrier", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("cart", 2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=5.0))
    return s


def hanging(mount: tt.Weld | tt.Prismatic) -> tt.System:
    """Return a pendulum that hangs on a mounted carriage."""
    s, carriage = tt.System("load", gravity=[0, 0, -9.81]), tt.RigidBody("carriage", 0.1)
    s.connect("world", carriage, mount)
    s.connect(carriage, tt.RigidBody("bob", 0.5, com=[0, 0, -0.4]), tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


def test_an_algebraic_loop_between_two_systems_is_resolved_before_export() -> None:
    """Force and acceleration, exchanged at once: python-control refuses the loop, `include` makes one system of the two."""
    cart = carrier().resolve().to_nlsys(["rail"], ["rail.q", "rail.a"])
    load = hanging(tt.Prismatic("slide", axis=[1, 0, 0])).resolve().to_nlsys(["slide.a"], ["slide.tau"])
    wires = [["load.slide_a", "carrier.rail_a"], ["carrier.rail", "-load.slide_tau"]]
    loop = control.interconnect([cart, load], wires, outlist=["carrier.rail_q"])
    with pytest.raises(RuntimeError, match="algebraic loop"):
        control.input_output_response(loop, [0, 1], 0, [0.2, 0, 0, 0.7, 0, 0])

    joined = carrier()
    joined.include(hanging(tt.Weld("mount")), "load", at=joined["cart"])
    whole, rng = joined.resolve().to_nlsys([], ["rail.a"]), np.random.default_rng(8)
    for rail, hinge, rail_rate, hinge_rate in rng.uniform(-1, 1, (20, 4)):
        acceleration = whole.output(0, [rail, hinge, rail_rate, hinge_rate], [])
        force = load.output(0, [rail, hinge, rail_rate, hinge_rate], acceleration)
        felt = cart.output(0, [rail, rail_rate], -force)[1]
        assert felt == pytest.approx(acceleration[0], abs=1e-12)  # a few hundred roundings of numbers below 100
        assert abs(cart.output(0, [rail, rail_rate], 0 * force)[1] - felt) > 1e-3


def test_parameters_by_name() -> None:
    model = cart().resolve()
    system = model.to_nlsys(["rail"])
    x, change = np.full(6, 0.1), {"second.mass": 0.7}
    expected = model.with_parameters(change).to_nlsys(["rail"]).dynamics(0, x, [1.0])
    assert system.dynamics(0, x, [1.0], change) == pytest.approx(expected, abs=1e-14)
    assert np.abs(system.dynamics(0, x, [1.0]) - expected).max() > 1e-3
    assert (
        pytest.approx(model.with_parameters(change).to_nlsys(["rail"]).linearize(x, 1.0).A, abs=1e-14)
        == system.linearize(x, 1.0, params=change).A
    )


def test_bad_input_is_refused() -> None:
    model = cart().resolve()
    with refusal("unknown-input", "did you mean 'rail'"):
        model.to_nlsys(["rial"])
    with refusal("unknown-output", "did you mean"):
        model.to_nlsys(["rail"], ["rail.p"])
    with refusal("wrong-length", "6 finite numbers"):
        model.to_nlsys(["rail"]).linearize(np.zeros(5))
    with refusal("wrong-type", "tt.OperatingPoint"):
        model.to_nlsys(["rail"], point="here")  # type: ignore[arg-type]
