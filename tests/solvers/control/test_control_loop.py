"""Controllers around models, against closed forms, exact discrete-time solutions and python-control."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import control
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm, solve_discrete_lyapunov
from scipy.spatial.transform import Rotation

import titop as tt

Array = NDArray[np.float64]

#: Tight tolerances; a hundred steps of such local errors leave about 1e-9 of the solution.
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
ACCURACY = 1e-9
MASS = 2.0


def slider(engine: str = "compiled", limit: float = np.inf, **passive: Any) -> tt.Model:
    """Return a mass on a rail along x, with a motor, an accelerometer and sensors of position and velocity."""
    s = tt.System("slider", gravity=[0, 0, 0])
    mass = tt.RigidBody("mass", mass=MASS)
    s.connect("world", mass, tt.Prismatic("rail", axis=[1, 0, 0], **passive))
    s.add_actuator(tt.Motor("motor", "rail", effort_limit=limit))
    s.add_sensor(tt.Encoder("ruler", "rail"))
    s.add_sensor(tt.Tachometer("speed", "rail"))
    s.add_sensor(tt.Accelerometer("accelerometer", mass))
    return s.resolve(engine)


def gain(*values: float, inputs: Any = ("rail_q", "rail_v"), outputs: Any = ("motor",), dt: Any = None) -> Any:
    """Return a static state space."""
    return control.ss([], [], [], [values], dt, inputs=list(inputs), outputs=list(outputs))


def held(step: float) -> tuple[Array, Array]:
    """Return the exact discrete-time matrices of the mass under a held force."""
    return np.array([[1.0, step], [0.0, 1.0]]), np.array([step**2 / 2, step]) / MASS


def state(trajectory: tt.Trajectory) -> Array:
    return np.column_stack([trajectory.q, trajectory.v])


def largest(x: Any) -> float:
    return float(np.abs(x).max())


# -- continuous controllers --------------------------------------------------------------------------------------------


def test_proportional_derivative_control_is_a_damped_oscillator() -> None:
    t, w, z = np.linspace(0, 5, 51), 3.0, 0.4
    K = gain(MASS * w**2, 2 * z * w * MASS)
    damped = w * np.sqrt(1 - z**2)
    # from rest at 0 to the reference 0.5
    expected = 0.5 * (1 - np.exp(-z * w * t) * (np.cos(damped * t) + z * w / damped * np.sin(damped * t)))
    for engine in ("compiled", "reference"):
        trajectory = tt.simulate(slider(engine), t, [0.0], [0.0], controller=K, reference={"rail.q": 0.5}, **TIGHT)
        assert largest(trajectory.q[:, 0] - expected) < ACCURACY
    assert trajectory.u[:, 0] == pytest.approx(MASS * trajectory.a[:, 0])
    assert np.array_equal(trajectory.signal("motor"), trajectory.u[:, 0])


def lead() -> Any:
    """Return a stable controller of second order."""
    A, B, C, D = [[-4.0, 1.0], [0.0, -9.0]], [[0.0], [1.0]], [[-30.0, 60.0]], [[25.0]]
    return control.ss(A, B, C, D, inputs=["ruler"], outputs=["motor"])


@pytest.mark.parametrize("reference", [0.3, lambda t: np.sin(2 * t)])
def test_a_linear_plant_responds_as_the_interconnection_of_control(reference: Any) -> None:
    model, t = slider(stiffness=5.0, damping=0.7), np.linspace(0, 4, 101)
    plant = control.ss([[0, 1], [-5.0 / MASS, -0.7 / MASS]], [[0], [1 / MASS]], [[1, 0]], [[0]])
    closed = control.feedback(plant * lead(), 1)
    # forced_response takes its input as linear between the times; so does an array of references
    values = np.full(len(t), reference) if np.isscalar(reference) else reference(t)
    expected = control.forced_response(closed, t, values).outputs
    trajectory = tt.simulate(model, t, [0.0], [0.0], controller=lead(), reference=values, **TIGHT)
    # at each of the hundred kinks of the reference the integrator's estimate of its error is coarser
    assert largest(trajectory.q[:, 0] - expected) < 10 * ACCURACY
    assert trajectory.control is not None
    assert trajectory.control.x.shape == (101, 2)
    by_name = tt.simulate(model, t, [0.0], [0.0], controller=lead(), reference={"ruler": reference}, **TIGHT)
    # linear interpolation of sin(2 t) over 0.04 s errs by 4 (0.04)^2 / 8
    assert largest(by_name.q - trajectory.q) < 8e-4


def test_small_motions_differ_from_linear_ones_by_second_order() -> None:
    s, angle, length = tt.System("pendulum", gravity=[0, 0, -9.81]), 0.6, 0.7
    s.connect("world", tt.RigidBody("bob", mass=MASS, com=[0, 0, -length]), tt.Revolute("hinge", axis=[1, 0, 0]))
    model, t = s.resolve(), np.linspace(0, 2, 21)
    inertia, weight = MASS * length**2, MASS * 9.81 * length
    K = gain(6.0, 2.0, inputs=("hinge_q", "hinge_v"), outputs=("hinge_tau",))
    trim = {"hinge.q": angle, "hinge.tau": weight * np.sin(angle)}
    A = np.array([[0, 1], [-(weight * np.cos(angle) + 6.0) / inertia, -2.0 / inertia]])
    differences = []
    for size in (1e-2, 5e-3):
        linear = np.array([expm(A * instant) @ [size, 0.0] for instant in t])
        run = tt.simulate(model, t, [angle + size], [0.0], controller=K, operating_point=trim, **TIGHT)
        differences.append(largest(run.q[:, 0] - angle - linear[:, 0]))
    # the next term is of third order: half a percent of the second at a hundredth of a radian
    assert differences[0] / differences[1] == pytest.approx(4.0, rel=0.02)
    resting = tt.simulate(model, t, [angle], [0.0], controller=K, operating_point=trim, **TIGHT)
    assert largest(resting.q - angle) < 1e-13


def test_an_accelerometer_may_act_through_a_lag() -> None:
    K = control.ss([[-1.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["accelerometer_x"], outputs=["motor"])
    t = np.linspace(0, 3, 31)
    trajectory = tt.simulate(slider(), t, [0.0], [0.0], controller=K, reference=[2.0], **TIGHT)
    rate = 1 + 1 / MASS  # du/dt = -u + 2 - u / m
    assert largest(trajectory.u[:, 0] - 2 / rate * (1 - np.exp(-rate * t))) < ACCURACY
    assert largest(trajectory.signal("accelerometer.x") - trajectory.u[:, 0] / MASS) < 1e-12


def test_an_algebraic_loop_is_refused_hop_by_hop_and_a_sampled_one_is_fine() -> None:
    K = gain(0.5, inputs=["accelerometer_x"])
    hops = r"accelerometer\.x -> controller .* -> motor -> accelerations .* -> accelerometer\.x; .* sample_time"
    with pytest.raises(tt.ModelError, match=hops) as caught:
        tt.simulate(slider(), [0, 1], [0.0], [0.0], controller=K)
    assert caught.value.code == "algebraic-loop"
    tt.simulate(slider(), [0, 1], [0.0], [0.0], controller=K, sample_time=0.1)


# -- sampled controllers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("outputs", ["motor", "rail_tau", "rail"])
def test_sampled_state_feedback_is_exact_at_the_samples(engine: str, outputs: str) -> None:
    step, k = 0.13, np.array([5.0, 4.0])
    A, B = held(step)
    t = np.arange(31) * step
    trajectory = tt.simulate(
        slider(engine), t, [1.0], [-0.5], controller=gain(*k, outputs=[outputs]), sample_time=step, **TIGHT
    )
    expected = np.array([np.linalg.matrix_power(A - np.outer(B, k), n) @ [1.0, -0.5] for n in range(31)])
    assert largest(state(trajectory) - expected) < ACCURACY
    assert largest(trajectory.control.y - expected) < ACCURACY
    applied = trajectory.u if outputs == "motor" else trajectory.tau
    assert largest(applied[:, 0] + expected @ k) < 10 * ACCURACY  # the new command, at the sample itself
    assert np.array_equal(trajectory.control.t, t)


@pytest.mark.parametrize("delay", [0.05, 0.13, 0.26, 0.3])
def test_delays_of_any_length_are_exact(delay: float) -> None:
    step, k = 0.13, np.array([1.0, 1.2])
    x, commands, expected = np.array([1.0, 0.0]), [0.0, 0.0, 0.0], []
    whole, part = divmod(round(delay / step, 9), 1)
    for _ in range(31):
        expected.append(x)
        commands.append(-k @ x)
        for share, before in ((part, whole + 1), (1 - part, whole)):
            A, B = held(share * step)
            x = A @ x + B * commands[-1 - int(before)]
    t = np.arange(31) * step
    trajectory = tt.simulate(slider(), t, [1.0], [0.0], controller=gain(*k), sample_time=step, delay=delay, **TIGHT)
    assert largest(state(trajectory) - expected) < ACCURACY


@pytest.mark.parametrize("samples", [1, 3])
def test_a_delay_of_samples_is_a_controller_with_more_states(samples: int) -> None:
    step, k = 0.05, np.array([2.0, 2.5])

    def update(t: float, x: Array, y: Array, r: Array) -> tuple[Array, Array]:
        return np.append(x[1:], k @ (r - y)), x[:1]

    shift = tt.Controller(update, np.zeros(samples), ["rail.q", "rail.v"], ["motor"], step)
    t = np.linspace(0, 2, 17)
    common = {"reference": {"rail_q": 0.3}, **TIGHT}
    delayed = tt.simulate(slider(), t, [1.0], [0.0], controller=gain(*k, dt=step), delay=samples * step, **common)
    shifted = tt.simulate(slider(), t, [1.0], [0.0], controller=shift, **common)
    assert np.array_equal(state(delayed), state(shifted))
    assert np.array_equal(delayed.u, shifted.u)


def test_a_sample_sees_the_commands_before_it_and_the_times_after_it_its_own() -> None:
    def update(t: float, x: Array, y: Array, r: Array) -> tuple[Array, Array]:
        return x + 1, x + 1

    counter = tt.Controller(update, [0.0], ["accelerometer.x"], ["motor"], 0.1)
    t = np.array([0.0, 0.05, 0.1, 0.15, 0.3, 0.35])
    trajectory = tt.simulate(slider(), t, [0.0], [0.0], controller=counter)
    assert trajectory.control.u[:, 0].tolist() == [1, 2, 3, 4]
    assert trajectory.control.x[:, 0].tolist() == [0, 1, 2, 3]
    assert trajectory.control.y[:, 0] == pytest.approx([0, 1 / MASS, 2 / MASS, 3 / MASS], abs=1e-14)
    assert trajectory.u[:, 0].tolist() == [1, 1, 2, 2, 4, 4]  # 0.3 is a sample although 3 * 0.1 is a little more
    assert trajectory.signal("motor").tolist() == [1, 1, 2, 2, 4, 4]
    assert trajectory.a[:, 0] == pytest.approx(trajectory.u[:, 0] / MASS)
    speeds = np.cumsum([0, 0.05 * 1, 0.05 * 1, 0.05 * 2, 0.05 * 2 + 0.1 * 3, 0.05 * 4]) / MASS
    assert trajectory.v[:, 0] == pytest.approx(speeds, abs=1e-12)
    late = tt.simulate(slider(), [0.0, 0.15, 0.25], [0.0], [0.0], controller=counter, delay=0.05)
    assert late.u[:, 0].tolist() == [0, 2, 3]  # from 0.05, 0.15 and 0.25 on


def test_a_continuous_controller_is_sampled_by_tustins_rule() -> None:
    t, common = np.linspace(0, 1, 6), {"reference": [0.2]}
    sampled = tt.simulate(slider(), t, [0.0], [0.0], controller=lead(), sample_time=0.02, **common)
    given = tt.simulate(slider(), t, [0.0], [0.0], controller=control.sample_system(lead(), 0.02, "tustin"), **common)
    assert np.array_equal(sampled.q, given.q)
    continuous = tt.simulate(slider(), t, [0.0], [0.0], controller=lead(), **common)
    errors = []
    for step in (0.01, 0.005):
        fine = tt.simulate(slider(), t, [0.0], [0.0], controller=lead(), sample_time=step, **common)
        errors.append(largest(fine.q - continuous.q))
    assert 1.7 < errors[0] / errors[1] < 2.4  # the hold delays by half a sample: first order


def test_thrusters_and_user_inputs_act_beside_the_controller() -> None:
    s = tt.System("drone", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", mass=1.0, inertia=0.1, ports={"jet": [0, 0, -0.1]})
    s.connect("world", body, tt.Free("base"))
    s.add_actuator(tt.Force("jet", body.port("jet"), frame="world"))
    K = gain(4.0, 3.0, inputs=["base_z_q", "body_v[2]"], outputs=["jet_z"])
    runs = []
    for engine in ("compiled", "reference"):
        model = s.resolve(engine)
        v = model.velocity({"base.rx": 0.3, "base.z": 0.2})
        extra = {"u": {"jet.z": 9.81}, "wrenches": {"body": [0, 0, 0, 0, 0.01, 0]}}
        runs.append(
            tt.simulate(model, np.linspace(0, 1, 6), model.neutral(), v, controller=K, sample_time=0.1, **extra, **TIGHT)
        )
    assert largest(runs[0].q - runs[1].q) < ACCURACY
    assert runs[0].u[0, 2] == pytest.approx(9.81 - 3 * 0.2)


def test_inputs_keep_to_the_actuators_ranges_unless_told_otherwise() -> None:
    for step in (None, 0.01):
        run = tt.simulate(slider(limit=1.5), np.linspace(0, 2, 21), [1.0], [0.0], controller=gain(8.0, 5.0), sample_time=step)
        assert run.u.min() == -1.5
        assert run.control.u[0, 0] == -8.0
        assert run.violations() == []
        free = tt.simulate(
            slider(limit=1.5), np.linspace(0, 2, 21), [1.0], [0.0], controller=gain(8.0, 5.0), sample_time=step, saturate=False
        )
        assert free.u[0, 0] == -8.0
        assert [finding.where for finding in free.violations()] == ["motor input"]


def test_prescribed_motions_and_events_work_in_closed_loop() -> None:
    s = tt.System("cart", gravity=[0, 0, 0])
    cart = tt.RigidBody("cart", mass=1.0)
    s.connect("world", cart, tt.Prismatic("track", axis=[1, 0, 0]))
    s.connect(cart, tt.RigidBody("rider", mass=MASS), tt.Prismatic("rail", axis=[1, 0, 0]))
    K = gain(5.0, 4.0, outputs=["rail_tau"])
    moved = {"track": lambda t: (np.array([t**2]), np.array([2 * t]), np.array([2.0]))}
    step, t = 0.1, np.linspace(0, 2, 21)
    run = tt.simulate(s.resolve(), t, [0, 1.0], [0, 0], controller=K, sample_time=step, prescribed=moved, **TIGHT)
    A, B = held(step)
    x, expected = np.array([1.0, 0.0]), []
    for _ in t:
        expected.append(x)
        x = A @ x + B * (-5 * x[0] - 4 * x[1] - 2 * MASS)
    assert largest(np.column_stack([run.q[:, 1], run.v[:, 1]]) - expected) < ACCURACY


@pytest.mark.parametrize("step", [0.1, None])
def test_events_are_found_once_wherever_they_fall(step: float | None) -> None:
    push = gain(0.0, 0.0)
    watch = [tt.Event(lambda t, q, v: q[0] - 0.25, "between", False), tt.Event(lambda t, q, v: q[0] - 0.5, "at", False)]
    watch.append(tt.Event(lambda t, q, v: q[0] - 0.77, "end"))
    run = tt.simulate(slider(), np.linspace(0, 1, 5), [0.0], [1.0], controller=push, sample_time=step, events=watch)
    assert run.events["between"] == pytest.approx([0.25])
    assert run.events["at"] == pytest.approx([0.5])
    assert run.t == pytest.approx([0, 0.25, 0.5, 0.75, 0.77])
    assert run.control.t[-1] == pytest.approx(0.7 if step else 0.77)
    boundary = tt.Event(lambda t, q, v: q[0] - 0.5, "at a sample")
    run = tt.simulate(slider(), [0, 0.2, 0.5, 1], [0.0], [1.0], controller=push, sample_time=step, events=boundary)
    assert run.events["at a sample"] == pytest.approx([0.5])
    assert (run.t[-1], run.q[-1, 0]) == pytest.approx((0.5, 0.5))


# -- references, operating points, names -------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [None, 0.05])
def test_references_can_be_given_in_every_form(step: float | None) -> None:
    t = np.linspace(0, 1, 11)
    ramp = np.column_stack([0.5 * t, np.full(11, 0.5)])
    forms = [
        {"rail.q": lambda t: 0.5 * t, "rail.v": 0.5},
        {"rail_q": 0.5 * t, "rail_v": lambda t: 0.5},
        ramp,
        lambda t: np.array([0.5 * t, 0.5]),
    ]
    runs = [
        tt.simulate(slider(), t, [0.0], [0.0], controller=gain(3.0, 2.0), sample_time=step, reference=form, **TIGHT)
        for form in forms
    ]
    for run in runs[1:]:
        assert largest(run.q - runs[0].q) < 1e-10  # sums in another order, a tolerance of 1e-11
    assert runs[0].signal("r_rail.q")[-1] == pytest.approx(0.5)
    separate = gain(3.0, 2.0, -3.0, -2.0, inputs=["r_rail_q", "r_rail_v", "rail_q", "rail_v"])
    two = tt.simulate(slider(), t, [0.0], [0.0], controller=separate, sample_time=step, reference=ramp, **TIGHT)
    assert largest(two.q - runs[0].q) < 1e-10  # sums in another order, a tolerance of 1e-11
    forward = gain(3.0, 2.0, 1.5, inputs=["rail_q", "rail_v", "push"])
    pushed = tt.simulate(
        slider(), t, [0.0], [0.0], controller=forward, sample_time=step, reference={**forms[0], "push": lambda t: 2.0}, **TIGHT
    )
    beside = tt.simulate(
        slider(), t, [0.0], [0.0], controller=gain(3.0, 2.0), sample_time=step, reference=ramp, u=[3.0], **TIGHT
    )
    assert largest(pushed.q - beside.q) < 1e-10  # sums in another order, a tolerance of 1e-11


def test_operating_points_in_every_form() -> None:
    model, t = slider(stiffness=4.0), np.linspace(0, 1, 5)
    q0 = np.array([0.5])
    forms = [
        {"rail.q": 0.5, "motor": 2.0},
        {"rail_q": 0.5, "motor": 2.0},
        SimpleNamespace(q=q0, v=np.zeros(1), u=np.array([2.0])),
        SimpleNamespace(y={"rail.q": 0.5}, u={"motor": 2.0}),
    ]
    for form in forms:
        for controller in (gain(3.0, 2.0), tt.Controller(lambda t, x, y, r: (x, r - y), [], ["rail.q"], ["motor"], 0.1)):
            run = tt.simulate(model, t, q0, [0.0], controller=controller, operating_point=form)
            assert largest(run.q - 0.5) < 1e-12
    by_sensor = gain(3.0, inputs=["ruler"])
    point = SimpleNamespace(y=[0.5, 0, 0, 0, 0], u=[2.0])
    assert largest(tt.simulate(model, t, q0, [0.0], controller=by_sensor, operating_point=point).q - 0.5) < 1e-12


def held_load(mass: float = 2.0) -> tt.Model:
    """Return a load that hangs from a cart on a spring, with a sensor of the force between them."""
    s = tt.System("cart", gravity=[0, 0, -9.81])
    cart = tt.RigidBody("cart", mass=1.0, ports={"hook": [0, 0, -0.5]})
    load = tt.RigidBody("load", mass=mass, com=[0, 0, -0.3], inertia=0.1, ports={"tip": [0, 0, -0.6]})
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=4.0))
    s.connect(cart.port("hook"), load, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0))
    s.add_actuator(tt.Motor("motor", "rail"))
    s.add_sensor(tt.ReactionSensor("held", "hinge"))
    return s.resolve()


def at_trim(sample_time: float | None, simulated: tt.Model, **changes: Any) -> float:
    """Return how far a controlled system moves that starts at its trim under a wrench."""
    pull = {"load.tip": np.array([8.0, 0, 0, 0, 1.0, 0])}
    point = tt.trim(held_load(), wrenches=pull)
    assert np.abs(point.q).min() > 0.05
    K = control.ss([[-5.0]], [[1.0]], [[2.0]], [[0.0]], inputs=["held_fx"], outputs=["motor"])
    arguments = {"operating_point": point, "wrenches": pull} | changes
    run = tt.simulate(simulated, np.linspace(0, 2, 5), point.q, point.v, controller=K, sample_time=sample_time, **arguments)
    return largest(run.q - point.q)


@pytest.mark.parametrize("sample_time", [None, 0.01])
def test_reactions_at_the_operating_point_are_those_under_its_wrenches(sample_time: float | None) -> None:
    """The trim is exact within 1e-9, which the controller holds."""
    assert at_trim(sample_time, held_load()) < 1e-7
    point = tt.trim(held_load(), wrenches={"load.tip": [8.0, 0, 0, 0, 1.0, 0]})
    without = SimpleNamespace(q=point.q, v=point.v)
    assert at_trim(sample_time, held_load(), operating_point=without) > 0.1  # the negative control


def test_outputs_at_the_operating_point_are_those_of_its_model() -> None:
    """The designed-for load weighs more than the one that is simulated: the sensor differs from the start on."""
    s_point = tt.trim(held_load(), parameters={"load.mass": 3.0})
    K = gain(1.0, inputs=["held_fz"], dt=0.1)
    run = tt.simulate(held_load(), [0, 0.1], s_point.q, s_point.v, controller=K, operating_point=s_point)
    # reference minus output, each the load's weight with the sign of the force on the load; moving little, at first
    difference = run.control.signal("r_held.fz")[0] - run.control.signal("held.fz")[0]
    assert difference == pytest.approx(9.81 * (3.0 - 2.0))
    other = tt.OperatingPoint(slider(), [0.5])
    with pytest.raises(tt.ModelError, match="other-model"):
        tt.simulate(held_load(), [0, 1], s_point.q, s_point.v, controller=K, operating_point=other)


def test_wrenches_of_the_operating_point_that_do_not_act_are_said() -> None:
    with pytest.warns(tt.ModelWarning, match=r"load\.tip.*missing-wrench") as caught:
        assert at_trim(0.01, held_load(), wrenches={}) > 0.1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("reference", "said"), [(0.1, True), (-0.1, True), (0.7, False), (0.3, False), (2.0, False)])
def test_references_that_look_like_deviations_are_said(reference: float, said: bool) -> None:
    arguments = {"controller": gain(3.0, 2.0), "operating_point": {"rail.q": 0.5}, "reference": {"rail.q": reference}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tt.simulate(slider(), [0, 0.1], [0.5], [0.0], **arguments)
    assert [("far-reference" in str(w.message) and "absolute" in str(w.message)) for w in caught] == [True] * said


@pytest.mark.parametrize(("step", "method"), [(None, "DOP853"), (0.1, "DOP853"), (None, "LSODA")])
def test_a_state_that_overflows_is_not_blamed_on_a_coordinate(step: float | None, method: str) -> None:
    pushing, arguments = gain(5e307, inputs=["push"]), {"sample_time": step, "method": method, "reference": {"push": 1.0}}
    with pytest.raises((tt.ModelError, tt.ConvergenceError)) as caught, np.errstate(all="ignore"):
        tt.simulate(slider(), [0, 10], [0.0], [0.0], controller=pushing, **arguments)
    assert "entry of rail" not in str(caught.value)
    unstable, start = gain(5e42, 0.0, dt=0.1), ([1.0], [0.0])
    with pytest.raises(tt.ModelError, match=r"controller at t = .*not-finite"), np.errstate(all="ignore"):
        tt.simulate(slider(), [0, 10], *start, controller=unstable)


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_seeds_that_are_none_are_refused(seed: Any) -> None:
    with pytest.raises(tt.ModelError, match="bad-seed"):
        tt.simulate(slider(), [0, 1], [0.5], [0.0], controller=gain(1.0, 1.0), sample_time=0.1, seed=seed)


def test_sample_times_that_never_end_are_refused() -> None:
    K = tt.Controller(lambda t, x, y, r: (x, y), [], ["rail.q"], ["motor"], 1e-12)
    for given in ({"controller": gain(1.0, 1.0), "sample_time": 1e-12}, {"controller": K}):
        with pytest.raises(tt.ModelError, match="1e-12 s, 1e\\+12 samples"):
            tt.simulate(slider(), [0, 1], [0.5], [0.0], **given)


def test_a_scheduled_controller_follows_its_parameter() -> None:
    step, x, expected = 0.1, np.array([1.0, 0.0]), []
    A, B = held(step)

    def family(rho: dict[str, float]) -> Any:
        return gain(4.0 * (1 + rho["place"] ** 2), 3.0)

    for _ in range(21):
        expected.append(x)
        x = A @ x - B * (4.0 * (1 + x[0] ** 2) * x[0] + 3.0 * x[1])
    t = np.arange(21) * step
    for given in (family, SimpleNamespace(at=family)):
        scheduled = tt.ScheduledController(given, {"place": "ruler"}, step)
        run = tt.simulate(slider(), t, [1.0], [0.0], controller=scheduled, **TIGHT)
        assert largest(state(run) - expected) < ACCURACY
    steady = tt.ScheduledController(lambda rho: lead(), {"rho": "rail.q"}, 0.02)
    runs = [
        tt.simulate(slider(), t, [0.0], [0.0], controller=K, sample_time=0.02, reference={"ruler": 1.0})
        for K in (steady, lead())
    ]
    assert np.array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize("step", [None, 0.01])
def test_coordinates_of_free_joints_are_displacements_from_the_operating_point(step: float | None) -> None:
    """As in linear models: from an attitude far away, feedback of small rotations is that of a double integrator."""
    s, inertia = tt.System("rock", gravity=[0, 0, 0]), 0.5
    s.connect("world", tt.RigidBody("rock", mass=1.0, inertia=inertia), tt.Free("base"))
    model, w, z = s.resolve(), 3.0, 0.5
    rows = np.hstack([inertia * w**2 * np.eye(3), 2 * z * w * inertia * np.eye(3)])
    axes = ("rx", "ry", "rz")
    names = [f"base_{axis}_{part}" for part in "qv" for axis in axes]
    K = control.ss([], [], [], rows, inputs=names, outputs=[f"base_{axis}" for axis in axes])
    pose = model.configuration({"base": tt.Pose([1, 2, 3], Rotation.from_euler("XYZ", [2.0, -1.2, 0.7]))})
    turned = model.integrate(pose, [0, 0, 0, 0, 1e-3, 0])
    t, damped = np.linspace(0, 2, 11), w * np.sqrt(1 - z**2)
    point = SimpleNamespace(q=pose, v=np.zeros(6))
    run = tt.simulate(model, t, turned, np.zeros(6), controller=K, operating_point=point, sample_time=step, **TIGHT)
    motion = np.array([model.difference(pose, q) for q in run.q])
    decay = 1e-3 * np.exp(-z * w * t) * (np.cos(damped * t) + z * w / damped * np.sin(damped * t))
    # about one axis the equation is linear; sampling delays by half a step, half a percent of the period
    assert largest(motion[:, 4] - decay) < (1e-10 if step is None else 3e-5)
    assert largest(np.delete(motion, 4, axis=1)) < 1e-12
    assert np.array_equal(run.control.signal("base.ry.q")[:1], motion[:1, 4])


# -- noise -------------------------------------------------------------------------------------------------------------


def test_noise_has_the_variance_that_the_lyapunov_equation_says() -> None:
    step, k, deviation = 0.1, np.array([2.0, 2.5]), np.array([0.02, 0.05])
    A, B = held(step)
    closed = A - np.outer(B, k)
    through = np.outer(B, k * deviation)
    P = solve_discrete_lyapunov(closed, through @ through.T)
    n = 5000
    noise = {"rail.q": deviation[0], "rail_v": deviation[1]}
    arguments = {"controller": gain(*k), "sample_time": step, "noise": noise}
    run = tt.simulate(slider(), np.arange(n) * step, [0.0], [0.0], **arguments, rtol=1e-6, seed=3)
    true, measured = state(run), run.control.y
    # N values of variance P and autocovariance r_k: their mean square has the variance (2 / N) sum of r_k^2 (k both ways)
    lags = np.array([(np.linalg.matrix_power(closed, m) @ P).diagonal() for m in range(300)])
    spread = np.sqrt(2 / n * ((lags**2).sum(axis=0) * 2 - lags[0] ** 2))
    assert (np.abs((true**2).mean(axis=0) - P.diagonal()) < 4 * spread).all()
    noise_variance = ((measured - true) ** 2).mean(axis=0)
    assert (np.abs(noise_variance - deviation**2) < 4 * deviation**2 * np.sqrt(2 / n)).all()
    assert abs(np.corrcoef((measured - true).T)[0, 1]) < 4 / np.sqrt(n)


def test_noise_is_reproducible() -> None:
    def measured(seed: Any) -> Array:
        arguments = {"controller": gain(1.0, 1.0, dt=0.1), "noise": 0.1, "seed": seed}
        return tt.simulate(slider(), [0, 1], [0.0], [0.0], **arguments).control.y

    assert np.array_equal(measured(7), measured(7))
    assert np.array_equal(measured(7), measured(np.random.SeedSequence(7)))
    assert largest(measured(7) - measured(8)) > 1e-3


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_the_trajectory_keeps_the_signals_of_the_loop(tmp_path: Path) -> None:
    model, t = slider(), np.linspace(0, 1, 6)
    K = control.sample_system(lead(), 0.1, "zoh")
    run = tt.simulate(model, t, [0.0], [0.0], controller=K, reference=[0.3], noise=0.01)
    assert run.control.signal_names == ("ruler", "r_ruler", "motor", "controller.x[0]", "controller.x[1]")
    run.save(tmp_path / "run.npz")
    loaded = tt.load_trajectory(tmp_path / "run.npz", model)
    for name in run.control.signal_names:
        assert np.array_equal(loaded.signal(name), run.signal(name))
        assert loaded.control.unit(name) == run.control.unit(name)
    titles = [axis.get_title() for axis in run.plot(["rail", "ruler", "motor"]).axes if axis.get_visible()]
    assert titles == ["rail [m]", "ruler [m]", "motor [N]"]
    with pytest.raises(tt.ModelError, match="did you mean 'ruler'"):
        run.signal("rulr")
    with pytest.raises(tt.ModelError, match="no-controller"):
        tt.simulate(model, t, [0.0], [0.0]).signal("ruler")


def test_the_dataset_has_sensors_units_and_the_loop() -> None:
    pytest.importorskip("xarray")
    run = tt.simulate(slider(), [0, 0.5, 1], [0.2], [0.0], controller=gain(1.0, 1.0, dt=0.25), reference={"rail.q": 0.1})
    data = run.to_xarray()
    assert np.array_equal(data["outputs"], run.outputs())
    assert data["output_unit"].sel(output="speed") == "m/s"
    assert data["configuration_unit"].values.tolist() == ["m"]
    assert np.array_equal(data["t_control"], [0, 0.25, 0.5, 0.75, 1])
    assert np.array_equal(data["measured"].sel(measured_signal="rail.q"), run.control.signal("rail.q"))
    assert np.array_equal(data["commanded"], run.control.u)
    assert data["reference"].sel(reference_signal="r_rail.q").values.tolist() == [0.1] * 5


# -- refusals ----------------------------------------------------------------------------------------------------------


def controller(**changes: Any) -> tt.Controller:
    fields = {"update": lambda t, x, y, r: (x, y), "initial_state": [0.0], "inputs": ["rail.q"], "outputs": ["motor"]}
    return tt.Controller(**(fields | {"sample_time": 0.1} | changes))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"controller": gain(1.0, inputs=["rail_qq"])}, "unknown-signal"),
        ({"controller": control.ss([], [], [], [[1.0]])}, "unknown-signal"),
        ({"controller": gain(1.0, inputs=["rail_q"], outputs=["moter"])}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0, inputs=["rail_q", "rail_q"])}, "duplicate-name"),
        (
            {"controller": control.ss([], [], [], [[1.0], [2.0]], inputs=["rail_q"], outputs=["motor", "motor"])},
            "duplicate-name",
        ),
        ({"controller": controller(inputs=["rail.w"])}, "unknown-signal"),
        ({"controller": controller(outputs=["rail.q"])}, "unknown-signal"),
        ({"controller": controller(), "sample_time": 0.2}, "other-sample-time"),
        ({"controller": gain(1.0, 1.0, dt=0.1), "sample_time": 0.2}, "other-sample-time"),
        ({"controller": gain(1.0, 1.0, dt=True)}, "no-sample-time"),
        ({"controller": control.tf([1], [1, 1])}, "wrong-type"),
        ({"controller": gain(1.0, 1.0), "delay": 0.1}, "no-sample-time"),
        ({"controller": gain(1.0, 1.0), "noise": 0.1}, "no-sample-time"),
        ({"controller": gain(1.0, 1.0), "sample_time": 0.0}, "bad-time"),
        ({"controller": controller(), "delay": -0.1}, "bad-time"),
        ({"controller": controller(), "delay": "late"}, "bad-time"),
        ({"controller": controller(), "noise": -1.0}, "bad-noise"),
        ({"controller": controller(), "noise": [1.0, 2.0]}, "bad-noise"),
        ({"controller": controller(), "noise": {"rail.v": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.a": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "reference": [1.0]}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.q": [1.0, 2.0, 3.0]}}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.q": lambda t: np.nan}}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "operating_point": {"rial.q": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "operating_point": {"rail.q": np.nan}}, "not-finite"),
        ({"controller": gain(1.0, 1.0), "operating_point": 3.0}, "wrong-type"),
        ({"controller": controller(update=lambda t, x, y, r: y)}, "bad-update"),
        ({"controller": controller(update=lambda t, x, y, r: ([1.0, 2.0], y))}, "bad-update"),
        ({"controller": controller(update=lambda t, x, y, r: (x, [np.nan]))}, "bad-update"),
        ({"reference": [1.0]}, "no-controller"),
        ({"delay": 0.1}, "no-controller"),
        ({"noise": 0.1}, "no-controller"),
        ({"controller": tt.ScheduledController(lambda rho: 1.0, {"rho": "rail.q"}, 0.1)}, "wrong-type"),
        ({"controller": tt.ScheduledController(lambda rho: lead(), {"rho": "accelerometer.x"}, 0.1)}, "dynamic-schedule"),
        ({"controller": tt.ScheduledController(lambda rho: lead(), {"rho": "rail.x"}, 0.1)}, "unknown-signal"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(slider(), [0, 1], [0.5], [0.0], **arguments)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"update": 3.0}, "wrong-type"),
        ({"initial_state": [[1.0]]}, "wrong-type"),
        ({"initial_state": [np.nan]}, "wrong-type"),
        ({"inputs": "rail.q"}, "wrong-type"),
        ({"outputs": ["motor", "motor"]}, "duplicate-name"),
        ({"sample_time": -1.0}, "bad-time"),
        ({"sample_time": np.inf}, "bad-time"),
    ],
)
def test_bad_controllers(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        controller(**changes)
    assert caught.value.code == code


def test_members_of_a_family_must_have_the_same_states() -> None:
    def family(rho: dict[str, float]) -> Any:
        return lead() if rho["x"] > 0.4 else gain(1.0, inputs=["ruler"])

    with pytest.raises(tt.ModelError, match="same states and signals"):
        tt.simulate(slider(), [0, 1], [0.5], [-1.0], controller=tt.ScheduledController(family, {"x": "rail.q"}, 0.1))


def test_members_of_a_family_must_name_their_states_alike() -> None:
    """As many states of other meaning would go on from one sample to the next as if they were the same."""

    def family(rho: dict[str, float]) -> Any:
        names = ["position", "rate"] if rho["x"] > 0.4 else ["rate", "position"]
        A = np.diag([-1.0, -2.0])
        return control.ss(A, [[1.0], [1.0]], [[1.0, 1.0]], 0.0, states=names, inputs=["ruler"], outputs=["motor"])

    with pytest.raises(tt.ModelError, match="state_labels"):
        tt.simulate(slider(), [0, 1], [0.5], [-1.0], controller=tt.ScheduledController(family, {"x": "rail.q"}, 0.1))


def test_names_that_python_control_spells_alike_are_refused() -> None:
    s = tt.System("twins", gravity=[0, 0, 0])
    first, second = tt.RigidBody("first", mass=1.0), tt.RigidBody("second", mass=1.0, inertia=1.0)
    s.connect("world", first, tt.Prismatic("a_x", axis=[1, 0, 0]))
    s.connect("world", second, tt.Free("a"))
    model = s.resolve()
    K = gain(1.0, inputs=["a_x_q"], outputs=["a_x_tau"])
    with pytest.raises(tt.ModelError, match=r"stands for a_x\.q and a\.x\.q"):
        tt.simulate(model, [0, 1], model.neutral(), np.zeros(7), controller=K)
