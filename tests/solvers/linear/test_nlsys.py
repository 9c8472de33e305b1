"""Nonlinear systems for python-control: exact Jacobians, and python-control's functions work with them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.closed_systems import closed_four_bar
from tests.refusals import refusal
from tests.solvers.linear.nonlinear_systems import BY_DIFFERENCES, FORWARD, HYBRID, OUTPUTS, STENCIL, cart
from tests.systems import random_state
from titop.solvers.signals.snapshot import Snapshot


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


@pytest.mark.parametrize("outputs", [OUTPUTS, ["elbow.q", "arm.tip.theta", "gyro.x"]], ids=["all", "kinematic"])
def test_outputs_are_what_the_reference_engine_reads_one_by_one(outputs: list[Any]) -> None:
    """In the order asked for, functions among them; with other parameters and back."""
    rng, systems = np.random.default_rng(4), []
    for engine in ("compiled", "reference"):
        model = satellite().resolve(engine)
        q, v, _, tau = random_state(model, np.random.default_rng(3))
        point = tt.OperatingPoint(model, q, v, tau, np.linspace(0.1, 1, model.nu), {"arm.tip": 0.3 * np.arange(6.0)})
        systems.append(model.to_nlsys(HYBRID, outputs, point))
    system, reference = systems
    x, w = rng.uniform(-0.5, 0.5, system.nstates), rng.normal(size=system.ninputs)
    shown = []
    for params in ({}, {"arm.mass": 4.0}, {}):
        found, plant = system.output(0, x, w, params), reference.plant
        at = plant.acting(x, w, params)
        snapshot = Snapshot(at.model, at.q, at.v, *plant.dynamics(at), at.driving, at.wrenches, plant.origin)
        expected = np.concatenate([group.value(snapshot) for group in plant.system_outputs])
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)  # rounding in some hundreds of terms
        shown.append(found)
    assert np.array_equal(shown[0], shown[2])
    assert np.array_equal(shown[0], shown[1]) == (outputs is not OUTPUTS)


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


def turning_four_bar() -> tuple[tt.Model, np.ndarray, np.ndarray, tt.OperatingPoint]:
    """Return a linkage whose crank turns over, its state, and that as a point."""
    model, q, v = closed_four_bar(0.5, 12.0)
    return model, q, v, tt.OperatingPoint(model, q, v, np.array([0.5, 0.0, 0.0]))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_closed_loops_respond_as_they_are_simulated() -> None:
    """Over more than a turn of the crank: coupler and rocker stay on their branch."""
    model, q, v, point = turning_four_bar()
    system, t = model.to_nlsys(["q1"], ["q1.q", "q2.q", "q3.q", "q3.v"], point, ["q1"]), np.linspace(0, 1, 11)
    assert system.state_labels == ["q1_q", "q1_v"]
    response = control.input_output_response(
        system, t, np.full((1, 11), 0.5), [q[0], v[0]], solve_ivp_kwargs={"rtol": 1e-10, "atol": 1e-12}
    )
    run = tt.simulate(model, t, q, v, tau=[0.5, 0, 0], rtol=1e-10, atol=1e-12)
    assert np.ptp(run.q[:, 0]) > 2 * np.pi
    # both integrate to 1e-10 a step, some hundreds of them
    assert response.outputs[:3] == pytest.approx(run.q.T, abs=1e-7)
    assert response.outputs[3] == pytest.approx(run.v[:, 2], abs=1e-6)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("independent", [None, ["q2"]])
def test_closed_loops_are_linearised_as_linear_models_are(independent: list[str] | None) -> None:
    model, q, v, point = turning_four_bar()
    outputs = ["q1.a", "q2.q", "rocker.end.v", "pin.reaction"]
    system = model.to_nlsys(["q1", "q3"], outputs, point, independent)
    expected = tt.linearize(model, point, ["q1", "q3"], outputs, independent=independent)
    assert system.state_labels == expected.state_labels
    k = model.coordinate_names.index(system.state_labels[0].removesuffix("_q"))
    linear = system.linearize([q[k], v[k]], [0.5, 0.0])
    for name in "ABCD":  # the dependent coordinates are found anew: rounding times the condition of the closures
        assert getattr(linear, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9), name
    crude = control.NonlinearIOSystem.linearize(system, [q[k], v[k]], [0.5, 0.0])
    size = np.abs(linear.A).max()
    assert np.abs(crude.A - linear.A).max() < 1e-4 * size  # one-sided differences of 1e-6
    assert np.abs(crude.A - linear.A).max() > 1e-12 * size


def test_gears_and_free_bases_in_independent_coordinates() -> None:
    s = tt.System("geared satellite", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 4.0, inertia=[0.5, 0.6, 0.7], ports={"A": [0, 0.4, 0]}), tt.Free("base"))
    s.connect(s["hub"].port("A"), tt.RigidBody("near", 1.0, [0, 0.2, 0], [0.1] * 3), tt.Revolute("first", axis=[1, 0, 0]))
    s.connect(s["near"], tt.RigidBody("far", 0.5, [0, 0.2, 0], [0.1] * 3), tt.Revolute("second", axis=[1, 0, 0]))
    s.add_gear(tt.Gear("pair", driver="first", driven="second", ratio=-2.0))
    model, rng = s.resolve(), np.random.default_rng(0)
    q = model.assemble(model.random_configuration(rng))
    system = model.to_nlsys(["base", "first"], ["far.w", "second.q"], tt.OperatingPoint(model, q, np.zeros(8), np.zeros(8)))
    x, w = rng.uniform(-0.5, 0.5, 14), rng.normal(size=7)
    k = [*range(6), model.coordinate_names.index("second" if "second_q" in system.state_labels else "first")]
    whole, v = model.difference(system.plant.origin, q), np.zeros(8)
    whole[k], v[k] = x[:7], x[7:]
    at = model.integrate(system.plant.origin, whole)
    at, v = (
        model.assemble(at, [model.coordinate_names[i] for i in k]),
        model.assemble_velocity(at, v, ["base", system.state_labels[6][:-2]]),
    )
    a = model.forward_dynamics(at, v, np.concatenate([w, [0.0]]))
    assert system.dynamics(0, x, w)[7:] == pytest.approx(a[k], rel=1e-9, abs=1e-9)
    linear, columns = system.linearize(x, w), []
    for direction in 1e-3 * np.eye(14):
        columns.append(
            sum(
                weight / 1e-3 * (system.dynamics(0, x + n * direction, w) - system.dynamics(0, x - n * direction, w))
                for n, weight in STENCIL
            )
        )
    assert np.abs(linear.A - np.array(columns).T).max() < BY_DIFFERENCES


def test_plain_coordinates_behind_a_body_that_follows() -> None:
    """A plate that an arm carries, its free joint before the arm's: states in any order, near and far, one stride or more."""
    s = tt.System("carrier", gravity=[0, 0, -9.81])
    plate = tt.RigidBody("plate", 2.0, inertia=[0.1, 0.2, 0.3])
    s.connect("world", plate, tt.Free("pose"))
    s.connect("world", tt.RigidBody("upper", 1.0, [0.2, 0, 0], [0.1] * 3, {"end": [0.4, 0, 0]}), tt.Revolute("first"))
    fore = tt.RigidBody("fore", 1.0, [0.1, 0, 0], [0.1] * 3, {"end": [0.3, 0, 0]})
    s.connect(s["upper"].port("end"), fore, tt.Revolute("second", axis=[0, 1, 0]))
    s.close_loop(fore.port("end"), plate, tt.RigidClosure("grip", directions=np.eye(6)))
    model, arm = s.resolve(), ["second", "first"]
    q, nothing = model.assemble(model.configuration({"first": 0.3, "second": -0.2}), fixed=arm), np.zeros(model.nv)
    for order in (arm, arm[::-1]):
        system = model.to_nlsys(arm, ["plate.r"], tt.OperatingPoint(model, q, nothing, nothing), order)
        for far in (0.01, 0.15, 0.9):
            values, rates, efforts = {"first": 0.3 + far, "second": -0.2 - far}, {"first": 1.0, "second": -2.0}, {"first": 0.5}
            at = model.assemble(model.configuration(values), fixed=arm)
            v = model.assemble_velocity(at, model.velocity(rates), fixed=arm)
            a = dict(zip(model.coordinate_names, model.forward_dynamics(at, v, model.velocity(efforts)), strict=True))
            names = [label.removesuffix("_q") for label in system.state_labels[:2]]
            x, w = [each[name] for each in (values, rates) for name in names], [0.0, 0.5]
            expected = [*(rates[name] for name in names), *(a[name] for name in names)]
            assert system.dynamics(0, x, w) == pytest.approx(expected, rel=1e-9, abs=1e-9)  # rounding in some dozens of terms
            rotation, position = model.pose("plate", at)
            assert system.output(0, x, w) == pytest.approx(rotation.T @ position, abs=1e-12)  # closed to 1e-13


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_closed_states_that_cannot_be_are_refused() -> None:
    model, q, v, point = turning_four_bar()
    with refusal("open-point", "loop 'pin' is open by"):
        model.to_nlsys(["q1"], None, tt.OperatingPoint(model, q + 0.1, v, np.zeros(3)))
    with refusal("not-independent", "independent"):
        model.to_nlsys(["q1"], None, point, ["q1", "q2"])
    rocker = model.to_nlsys(["q1"], None, point, ["q3"])
    with pytest.raises(
        tt.ConvergenceError, match=r"q3 at .*2.5.*: loop 'pin' .*; these values lead out of what the loops allow"
    ):
        rocker.dynamics(0, [2.5, 0.0], [0.0])


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


def squared_rates(q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray) -> Any:
    return v @ v


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("copied", [lambda system: pickle.loads(pickle.dumps(system)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("closed", [False, True], ids=["tree", "loop"])
def test_systems_are_copied_and_sent(copied: Callable[[Any], Any], closed: bool) -> None:
    """Names given since come along, and the linearisation is still the exact one."""
    if closed:
        model, q, v, point = turning_four_bar()
        system, x = model.to_nlsys(["q1"], ["q1.q", "q3.v", "pin.reaction"], point, ["q1"]), [q[0], v[0]]
    else:
        system = satellite().resolve().to_nlsys(FORWARD, ["arm.tip.v", ("rates", squared_rates)])
        x = 0.1 * np.arange(1.0, system.nstates + 1.0)
    system.name = "renamed"
    system.input_labels = [f"in{k}" for k in range(system.ninputs)]
    w = np.full(system.ninputs, 0.3)
    again = copied(system)
    assert (type(again), again.name, again.input_labels) == (type(system), system.name, system.input_labels)
    np.testing.assert_array_equal(again.dynamics(0.0, x, w), system.dynamics(0.0, x, w))
    np.testing.assert_array_equal(again.output(0.0, x, w), system.output(0.0, x, w))
    np.testing.assert_array_equal(again.linearize(x, w).A, system.linearize(x, w).A)


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
