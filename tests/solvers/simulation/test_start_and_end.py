"""Simulations in parts, beside the whole: the same bits where steps end between them, within the tolerances elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
import titop.solvers.simulation.explicit_steps as explicit_steps
import titop.solvers.simulation.simulate as single_simulations
from tests.closed_systems import closed_four_bar
from tests.solvers.control.sliders import gain, lead, slider
from tests.solvers.simulation.simulated_models import GRAVITY, Array, largest, pendulum
from tests.stated_systems import Lag
from titop.solvers.control.loop_signals import Commands
from titop.solvers.control.sampled_loop import SampledLoop
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics
from titop.solvers.simulation.explicit_steps import HeldSteps

#: Arrays of a trajectory that the parts of a simulation share with the whole.
ARRAYS = ("q", "v", "a", "tau", "u", "x")


def lift() -> tuple[tt.Model, Any]:
    """Return a cabin that hangs on its motor, and a sampled controller with an integrator."""
    s = tt.System("lift", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("cabin", mass=1.0), joint=tt.Prismatic("z", axis=[0, 0, 1]))
    labels: dict[str, Any] = {"inputs": ["z_q", "z_v"], "outputs": ["z"]}
    return s.resolve(), control.ss([[1.0]], [[0.05, 0]], [[3.0]], [[8.0, 4.0]], 0.05, **labels)


def satellite() -> tuple[tt.Model, list[Any]]:
    """Return a free hub with a hinged panel, and three controllers of other rates, one of accelerations."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=10.0, inertia=[2.0, 3.0, 4.0], ports={"side": [1, 0, 0]})
    panel = tt.RigidBody("panel", mass=2.0, com=[1, 0, 0], inertia=[0.1, 0.5, 0.5])
    s.connect("world", hub, joint=tt.Free("base"))
    s.connect(hub.port("side"), panel, joint=tt.Revolute("hinge", axis=[0, 0, 1], stiffness=50.0, damping=0.1))
    s.add_actuator(tt.Torque("wheel", hub))
    s.add_actuator(tt.Motor("motor", "hinge"))
    s.add_sensor(tt.Gyro("gyro", hub))
    s.add_sensor(tt.Accelerometer("felt", hub))
    axes: dict[str, Any] = {"inputs": [f"gyro_{x}" for x in "xyz"], "outputs": [f"wheel_{x}" for x in "xyz"]}
    rates = control.ss([], [], [], 3 * np.eye(3), 0.02, **axes)
    angle = control.ss([[0.9]], [[0.1]], [[1.0]], [[2.0]], 0.1, inputs=["base_rz_q"], outputs=["wheel_z"])
    felt = gain(0.1, inputs=["felt_x"], outputs=["motor"], dt=0.05)
    loops = [tt.Loop(rates, delay=0.013, noise=1e-3), tt.Loop(angle, reference={"base.rz.q": 0.2}), tt.Loop(felt, noise=1e-3)]
    return s.resolve(), loops


def reload(trajectory: tt.Trajectory, folder: Path) -> tt.Trajectory:
    """Return a trajectory that has been in a file."""
    trajectory.save(folder / "first.npz")
    return tt.load_trajectory(folder / "first.npz", trajectory.model)


def in_parts(run: Any, t: Array, cuts: tuple[int, ...], folder: Path | None = None) -> list[tt.Trajectory]:
    """Return the parts of a simulation that ends at some of its output times; each comes from a file if a `folder` is given."""
    parts: list[tt.Trajectory] = []
    for begin, end in zip((0, *cuts), (*cuts, len(t) - 1), strict=True):
        before = None if not parts else parts[-1] if folder is None else reload(parts[-1], folder)
        parts.append(run(t[begin : end + 1], start=before))
    return parts


def differences(whole: tt.Trajectory, part: tt.Trajectory) -> list[str]:
    """Return the arrays of a part that are not, bit for bit, those of the whole."""
    at = np.searchsorted(whole.t, part.t)
    unlike = [name for name in ARRAYS if not np.array_equal(getattr(whole, name)[at], getattr(part, name))]
    for k, (all_of, some) in enumerate(zip(whole.controls, part.controls, strict=True)):
        where = np.searchsorted(all_of.t, some.t)
        pairs = {name: (getattr(all_of, name)[where], getattr(some, name)) for name in "tyrux"}
        unlike += [f"{name} of {k}" for name, pair in pairs.items() if not np.array_equal(*pair)]
    return unlike


def beginning(model: tt.Model, q0: Any, v0: Any, **arguments: Any) -> Any:
    """Return a function that simulates from a state, or from where another simulation has ended."""

    def run(t: Array, start: tt.Trajectory | None) -> tt.Trajectory:
        state = (q0, v0) if start is None else (None, None)
        return tt.simulate(model, t, *state, start=start, **arguments)

    return run


METHODS = ["DOP853", "RK45", "Radau", "exponential", "BDF", "generalized-alpha", tt.GeneralizedAlpha(step=0.007)]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("more", [{}, {"delay": 0.125, "noise": 0.01}, {"delay": 0.1}], ids=["plain", "late and noisy", "late"])
def test_a_sampled_loop_in_three_parts_from_files_is_the_whole_bit_for_bit(method: Any, more: Any, tmp_path: Path) -> None:
    """`continue_loop.py` of the cases: an integrator, delays of 2.5 samples, noise."""
    model, K = lift()
    t = np.linspace(0, 2, 41)
    run = beginning(model, [3.0], [0.0], controller=K, method=method, **({"rtol": 1e-6, "atol": 1e-8} | more))
    whole = run(t, None)
    for part in in_parts(run, t, (13, 28), tmp_path):  # 0.65 is less than 13 steps of 0.05, by rounding
        assert differences(whole, part) == []
    anew = tt.simulate(model, t[20:], whole.q[20], whole.v[20], controller=K)  # the negative control: the integrator at zero
    assert largest(anew.q - whole.q[20:]) > 0.1


@pytest.mark.parametrize("method", ["DOP853", "Radau", "exponential", tt.GeneralizedAlpha(step=1 / 64)], ids=str)
@pytest.mark.parametrize("mixed", [False, True])
def test_loops_of_several_rates_go_on_bit_for_bit(method: Any, mixed: bool, tmp_path: Path) -> None:
    model, loops = satellite()
    if mixed:
        loops.insert(1, control.ss([[-2.0]], [[1.0]], [[1.0]], [[2.0]], inputs=["hinge_q"], outputs=["motor"]))
    rng, t = np.random.default_rng(0), np.linspace(0, 1, 21)
    q0, v0 = model.integrate(model.neutral(), 0.3 * rng.normal(size=7)), 0.3 * rng.normal(size=7)
    run = beginning(model, q0, v0, controller=loops, method=method, rtol=1e-6, atol=1e-8)
    whole = run(t, None)
    for part in in_parts(run, t, (7, 12), tmp_path):  # where some have samples and others have none
        assert differences(whole, part) == []


def test_paths_of_devices_go_on_bit_for_bit(tmp_path: Path) -> None:
    """A gyro with errors, an encoder that is slow and late, a motor that lags and takes commands in steps."""
    s = tt.System("slider", gravity=[0, 0, 0])
    mass = tt.RigidBody("mass", 2.0, inertia=0.1)
    s.connect("world", mass, tt.Prismatic("rail", axis=[1, 0, 0]))
    lag = control.ss([[-20.0]], [[20.0]], [[1.0]], [[0.0]])
    s.add_actuator(tt.Motor("motor", "rail", path=tt.SignalPath(lag, delay=0.03, quantum=0.01)))
    slow = tt.SignalPath(sample_time=0.2, delay=0.15, noise_density=1e-3)
    s.add_sensor(tt.Encoder("ruler", "rail", path=slow))
    s.add_sensor(tt.Tachometer("speed", "rail", path=tt.SignalPath(sample_time=0.05, random_walk=0.01, bias_instability=0.02)))
    model, t = s.resolve(), np.linspace(0, 2, 41)
    run = beginning(model, [0.5], [0.0], controller=gain(4.0, 3.0, inputs=["ruler", "speed"], dt=0.05), seed=3)
    whole = run(t, None)
    for part in in_parts(run, t, (9, 22), tmp_path):
        assert differences(whole, part) == []
    left = {name: array for name, array in whole.memory.items() if not name.startswith("path.ruler")}
    with pytest.raises(tt.ModelError, match=r"ruler\.path.*other-path"):
        run(t + 2, replace(whole, memory=left))
    torn = {"grid": np.full(4, np.nan), "values": np.zeros(1), "generator": np.array("{}")}
    for name, array in torn.items():
        with pytest.raises(tt.ModelError, match=r"ruler\.path"):
            run(t + 2, replace(whole, memory=whole.memory | {f"path.ruler.{name}": array}))


@pytest.mark.parametrize("method", ["DOP853", "generalized-alpha"])
def test_instants_of_paths_are_output_times_but_for_rounding(method: str) -> None:
    """A command of 0.33 s acts 0.05 s later: one rounding before 0.38 s. No step is as short as that, here or later."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=30.0))
    s.add_actuator(tt.Motor("motor", "rail", path=tt.SignalPath(delay=0.05)))
    K, t = gain(9.0, 3.0, inputs=["rail_q", "rail_v"], dt=0.005), 0.3 + 0.01 * np.arange(13)
    assert t[3] + 0.05 < t[8]
    run = beginning(s.resolve("reference"), [0.5], [0.0], controller=K, method=method, rtol=1e-6, atol=1e-8)
    whole, parts = run(t, None), in_parts(run, t, (8,))
    assert [differences(whole, part) for part in parts] == [[], []]
    assert parts[0].statistics["steps"] + parts[1].statistics["steps"] == whole.statistics["steps"]


def on_a_rail(**paths: Any) -> tuple[tt.Model, Any]:
    """Return a mass with two sensors whose paths are given, and a sampled controller that reads them."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 2.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "rail"))
    s.add_sensor(tt.Encoder("ruler", "rail", path=paths.get("ruler")))
    s.add_sensor(tt.Tachometer("speed", "rail", path=paths.get("speed")))
    return s.resolve("reference"), gain(4.0, 3.0, inputs=["ruler", "speed"], dt=0.05)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937])
def test_errors_from_a_generator_go_on_and_are_independent(kind: Any) -> None:
    """The noise of both sensors, of the same density, and that of the controller: its parts once were the same numbers."""
    noisy = tt.SignalPath(sample_time=0.05, noise_density=0.01)
    (model, K), t = on_a_rail(ruler=noisy, speed=noisy), np.linspace(0, 2, 41)

    def run(t: Array, start: tt.Trajectory | None) -> tt.Trajectory:
        seed = np.random.Generator(kind(3)) if start is None else 0
        return beginning(model, [0.5], [0.0], controller=K, noise=1e-3, seed=seed)(t, start)

    whole = run(t, None)
    parts = in_parts(run, t, (20,))
    assert [differences(whole, part) for part in parts] == [[], []]
    errors = whole.control.y - np.column_stack([whole.q, whole.v])
    assert abs(np.corrcoef(errors[20:].T)[0, 1]) < 0.6  # of 21 pairs: 3 deviations; equal numbers have more than 0.9


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"sample_time": 0.05}, "ruler.path.sample_time"),
        ({"sample_time": None, "delay": 0.0, "bias": 0.1}, "ruler.path.sample_time"),
        ({"delay": 0.1}, "ruler.path.delay"),
        (None, "ruler.path"),
    ],
)
def test_paths_with_other_times_do_not_go_on(changes: Any, where: str) -> None:
    path: dict[str, Any] = {"sample_time": 0.2, "delay": 0.15}
    model, K = on_a_rail(ruler=tt.SignalPath(**path))
    other, _ = on_a_rail(ruler=None if changes is None else tt.SignalPath(**(path | changes)))
    first = tt.simulate(model, [0.0, 1.0], [0.5], [0.0], controller=K)
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(other, [1.0, 2.0], controller=K, start=first)
    assert (caught.value.code, caught.value.where) == ("other-path", where)
    backwards = tt.simulate(other, [0.0, 1.0], [0.5], [0.0], controller=K)
    with pytest.raises(tt.ModelError, match=r"ruler\.path.*other-path"):
        tt.simulate(model, [1.0, 2.0], controller=K, start=backwards)


def test_errors_of_paths_are_parameters_and_may_change() -> None:
    """A bias that is new, and one that is gone; paths that no controller has read begin anew."""
    lag = tt.SignalPath.lag(0.1)
    model, K = on_a_rail(ruler=lag)
    biased = model.with_parameters({"ruler.path.bias": 0.5})
    for before, after, bias in ((model, biased, 0.5), (biased, model, 0.0)):
        first = tt.simulate(before, [0.0, 1.0], [0.5], [0.0], controller=K)
        second = tt.simulate(after, [1.0, 1.05], controller=K, start=first)
        assert second.control.y[1, 0] == pytest.approx(second.x[-1, 0] + bias, abs=1e-12)
    sampled, _ = on_a_rail(ruler=tt.SignalPath(sample_time=0.2))
    first = tt.simulate(sampled, [0.0, 1.0], [0.5], [1.0])
    second = tt.simulate(sampled, [1.0, 1.15], controller=K, start=first)
    assert second.control.y[:, 0] == pytest.approx(first.q[-1, 0])


def test_closed_loops_of_bodies_go_on_bit_for_bit(tmp_path: Path) -> None:
    model, q, v = closed_four_bar()
    name, t = model.joint_names[0], np.linspace(0, 1, 21)
    push = tt.Controller(lambda t, x, y, r: (x, np.array([np.sin(5 * t)])), [], [f"{name}.q"], [name], 0.05)
    run = beginning(model, q, v, controller=push)
    whole = run(t, None)
    for part in in_parts(run, t, (9,), tmp_path):
        assert differences(whole, part) == []


def test_fixed_steps_without_a_loop_go_on_bit_for_bit(tmp_path: Path) -> None:
    """Steps of a power of two, whose sums are exact; springs, a motor's lag, efforts as functions of time."""
    s = pendulum(stiffness=20.0)
    s.add_interaction(Lag("lag", 0.1), "hinge")
    model, t = s.resolve(), np.linspace(0, 2, 9)
    arguments = {"tau": lambda t, q, v: np.array([np.cos(3 * t)]), "u": {"lag.command": 2.0}}
    run = beginning(model, [0.4], [0.0], method=tt.GeneralizedAlpha(step=1 / 64), **arguments)
    whole = run(t, None)
    for part in in_parts(run, t, (3, 6), tmp_path):
        assert differences(whole, part) == []


@pytest.mark.parametrize("method", ["DOP853", "Radau", "exponential", "BDF", "LSODA", "generalized-alpha"])
@pytest.mark.parametrize("loop", [None, lead()], ids=["alone", "in continuous time"])
def test_elsewhere_parts_agree_within_the_tolerances(method: str, loop: Any) -> None:
    t = np.linspace(0, 2, 21)
    tolerances = {"rtol": 1e-5, "atol": 1e-7} if method == "generalized-alpha" else {"rtol": 1e-9, "atol": 1e-11}
    run = beginning(slider(stiffness=30.0), [0.3], [0.0], controller=loop, method=method, **tolerances)
    whole = run(t, None)
    within = 3e-3 if method == "generalized-alpha" else 1e-6  # errors of some hundred steps, twice
    for part in in_parts(run, t, (8,)):
        assert largest(part.q - whole.q[np.searchsorted(t, part.t)]) < within
        if loop is not None:
            where = np.searchsorted(t, part.t)
            assert largest(part.control.x - whole.control.x[where]) < within * max(1.0, largest(whole.control.x))


def test_contacts_and_stops_go_on(tmp_path: Path) -> None:
    """A ball that rests on the floor at the cut, and one in flight."""
    s = tt.System("ball", gravity=[0, 0, -GRAVITY])
    ball = tt.RigidBody("ball", 1.0)
    s.connect("world", ball, tt.Prismatic("z", axis=[0, 0, 1]))
    s.close_loop("world", ball, tt.Contact("floor", 0.05, 1e4, normal=[0, 0, 1], dissipation=0.5))
    model, t = s.resolve(), np.linspace(0, 3, 61)
    run = beginning(model, [0.5], [0.0])
    whole = run(t, None)
    for cut in (4, 20, 50):
        _, second = in_parts(run, t, (cut,), tmp_path)
        assert largest(second.q - whole.q[cut:]) < 1e-6  # the tolerance, over bounces that stretch errors tenfold


# -- events


def test_an_event_at_the_end_is_not_found_again(tmp_path: Path) -> None:
    """A counter of terminal events: each part begins where the last one met its event."""
    model, angles = pendulum().resolve(), []
    crossing, start = tt.Event(lambda t, q, v: q[0], "crossing"), None
    while len(angles) < 4:
        t = np.array([0.0 if start is None else start.t[-1], 10.0])
        state = ([0.5], [0.0]) if start is None else (None, None)
        start = tt.simulate(model, t, *state, events=crossing, start=start)
        angles.append(float(start.t[-1]))
        start = reload(start, tmp_path)
    watched = replace(crossing, terminal=False)
    expected = tt.simulate(model, [0, 10], [0.5], [0.0], events=watched).events["crossing"][:4]
    assert angles == pytest.approx(expected, abs=1e-7)  # the integrator's tolerance


def test_a_function_that_is_zero_for_a_while_is_remembered() -> None:
    """It leaves zero in the second part: it counts, as it has been zero for longer than rounding keeps it there."""
    run = beginning(slider(), [-0.5], [1.0], events=tt.Event(lambda t, q, v: max(0.0, q[0]), "on", terminal=False))
    whole = run(np.linspace(0, 1, 11), None)
    first, second = in_parts(run, np.linspace(0, 1, 11), (3,))
    assert (len(first.events["on"]), second.events["on"]) == (0, pytest.approx(whole.events["on"]))


def test_after_an_impact_the_controller_goes_on() -> None:
    """The velocity is another, the integrator of the controller is not."""
    model, K = lift()
    first = tt.simulate(model, np.linspace(0, 1, 21), [3.0], [0.0], controller=K)
    second = tt.simulate(model, np.linspace(1, 2, 21), v0=-0.5 * first.v[-1], controller=K, start=first)
    assert np.array_equal(second.q[0], first.q[-1])
    assert np.array_equal(second.v[0], -0.5 * first.v[-1])
    assert np.array_equal(second.control.x[0], first.control.x[-1])


@pytest.mark.parametrize("in_kernels", [True, False])
def test_what_was_interrupted_goes_on(monkeypatch: pytest.MonkeyPatch, in_kernels: bool) -> None:
    """Ctrl-C before a sample is taken: it is taken by the part that goes on."""
    model, K = lift()
    run = beginning(model, [3.0], [0.0], controller=K, noise=0.01)
    owner: Any = HeldSteps if in_kernels else SampledLoop
    name = "go_along" if in_kernels else "act"
    t, act, calls = np.linspace(0, 2, 9), getattr(owner, name), []

    def stopping(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 21:
            raise KeyboardInterrupt
        return act(*arguments)

    whole = run(t, None)
    monkeypatch.setattr(owner, name, stopping)
    monkeypatch.setattr(explicit_steps, "_LEGS", (1, 1))
    if not in_kernels:
        monkeypatch.setattr(single_simulations, "let_kernels_sample", lambda *_: None)
    with pytest.raises(tt.SimulationInterrupt) as caught:
        run(t, None)
    monkeypatch.undo()
    first = caught.value.trajectory
    assert first.t[-1] == pytest.approx(1.0)
    second = run(np.append(first.t[-1], t[t > first.t[-1] + 1e-9]), first)
    assert largest(second.q[1:] - whole.q[-len(second.t) + 1 :]) < 1e-7  # the integrator begins with another step
    assert largest(second.control.y - whole.control.y[19:]) < 1e-7  # the last sample before is the first of its history


@pytest.mark.parametrize(("owner", "name", "call"), [(CompiledPreparedDynamics, "member_steps", 3), (Commands, "part", 17)])
def test_signals_of_compiled_samples_are_there_whenever_ctrl_c_comes(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int
) -> None:
    """As soon as compiled code has returned, and while the signals that it has written are noted."""
    model, K = lift()
    run = beginning(model, [3.0], [0.0], controller=K, noise=0.01, delay=0.07)
    t, act, calls = np.linspace(0, 2, 9), getattr(owner, name), []

    def stopping(*arguments: Any) -> Any:
        result = act(*arguments)
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return result

    whole = run(t, None)
    monkeypatch.setattr(explicit_steps, "_LEGS", (10, 10))
    monkeypatch.setattr(owner, name, stopping)
    with pytest.raises(tt.SimulationInterrupt) as caught:
        run(t, None)
    monkeypatch.undo()
    first = caught.value.trajectory
    assert 0.1 < first.t[-1] < 2.0
    samples, reached = len(first.control.t), len(first.t) - 1
    assert first.control.t[-1] <= first.t[-1] + 1e-9 < first.control.t[-1] + 0.05 + 2e-9  # every sample that was due
    assert np.array_equal(first.control.u, whole.control.u[:samples])
    assert np.array_equal(first.tau[:reached], whole.tau[:reached])
    second = run(np.append(first.t[-1], t[t > first.t[-1] + 1e-9]), first)
    assert largest(second.q[1:] - whole.q[-len(second.t) + 1 :]) < 1e-7  # the integrator begins with another step
    assert largest(second.control.y - whole.control.y[samples - 1 :]) < 1e-7  # the last sample before is the first


def test_references_are_asked_for_at_samples_alone() -> None:
    """Not where commands take effect late; before, a function is tried at the start."""
    model, K = lift()
    asked: list[float] = []

    def above(t: float) -> float:
        asked.append(t)
        return 3.0 + t

    run = beginning(model, [3.0], [0.0], controller=K, delay=0.02, reference={"z.q": above})
    samples = run(np.linspace(0, 0.5, 6), None).control.t
    assert asked[-len(samples) :] == samples.tolist()
    assert set(asked[: -len(samples)]) <= {0.0}


def test_the_output_times_of_the_caller_are_left_alone() -> None:
    model, K = lift()
    first = tt.simulate(model, [0.0, 0.3], [3.0], [0.0], controller=K)
    t = np.array([0.3 + 5e-11, 0.5])
    second = tt.simulate(model, t, controller=K, start=first)
    assert (t[0], second.t[0]) == (0.3 + 5e-11, 0.3)


# -- refusals


def changed(name: str) -> dict[str, Any]:
    """Return arguments of `simulate` that cannot go on after `lift` until one second, by what is wrong."""
    model, K = lift()
    first = tt.simulate(model, np.linspace(0, 1, 21), [3.0], [0.0], controller=K, delay=0.02)
    more = gain(1.0, 1.0, inputs=["z_q", "z_v"], outputs=["z"], dt=0.05)
    right = {"model": model, "t": [1.0, 2.0], "start": first, "controller": K, "delay": 0.02}
    other: dict[str, dict[str, Any]] = {
        "controller": {"controller": more},
        "delay": {"delay": 0.03},
        "sample_time": {"controller": control.ss(K.A, K.B, K.C, K.D, 0.1, inputs=K.input_labels, outputs=K.output_labels)},
        "no controller": {"controller": None, "delay": 0.0},
        "two controllers": {"controller": [tt.Loop(K, delay=0.02)] * 2, "delay": 0.0},
        "t": {"t": [1.1, 2.0]},
        "model": {"model": pendulum().resolve()},
        "start": {"start": 3.0},
        "memory": {"start": replace(first, memory={})},
        "torn": {"start": replace(first, memory=first.memory | {"controller[0].state": np.zeros(2)})},
        "generator": {"start": replace(first, memory=first.memory | {"controller[0].generator": np.array("{}")})},
        "state": {"start": None},
    }
    return right | other[name]


@pytest.mark.parametrize(
    ("name", "code", "where"),
    [
        ("controller", "other-controller", "controller"),
        ("delay", "other-controller", "delay"),
        ("sample_time", "other-controller", "sample_time"),
        ("no controller", "other-controller", "controller"),
        ("two controllers", "other-controller", "controller"),
        ("t", "bad-times", "t[0]"),
        ("model", "other-model", "start: configuration_names"),
        ("start", "wrong-type", "start"),
        ("memory", "no-memory", "start"),
        ("torn", "other-controller", "controller"),
        ("generator", "other-controller", "noise"),
        ("state", "no-state", "q0"),
    ],
)
def test_what_cannot_go_on_is_named(name: str, code: str, where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(**changed(name))
    assert (caught.value.code, caught.value.where) == (code, where)
