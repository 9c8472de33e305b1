"""Controllers around models, against closed forms, exact discrete-time solutions and python-control."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.solvers.control.sliders import MASS, Array, gain, held, largest, slider, state
from tests.tolerances import ACCURACY, TIGHT

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
    close = {"rtol": 0, "atol": 1e-14}  # of numbers about 1: with more states, sums have more terms
    np.testing.assert_allclose(state(delayed), state(shifted), **close)
    np.testing.assert_allclose(delayed.u, shifted.u, **close)


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


@pytest.mark.parametrize(("step", "method"), [(None, "DOP853"), (0.1, "DOP853"), (None, "LSODA")])
def test_a_state_that_overflows_is_not_blamed_on_a_coordinate(step: float | None, method: str) -> None:
    pushing, arguments = gain(5e307, inputs=["push"]), {"sample_time": step, "method": method, "reference": {"push": 1.0}}
    with pytest.raises((tt.ModelError, tt.ConvergenceError)) as caught, np.errstate(all="ignore"):
        tt.simulate(slider(), [0, 10], [0.0], [0.0], controller=pushing, **arguments)
    assert "entry of rail" not in str(caught.value)
    unstable, start = gain(5e42, 0.0, dt=0.1), ([1.0], [0.0])
    with pytest.raises(tt.ModelError, match=r"controller at t = .*not-finite"), np.errstate(all="ignore"):
        tt.simulate(slider(), [0, 10], *start, controller=unstable)
