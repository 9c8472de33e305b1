"""Several controllers of different rates around one model, against exact solutions in discrete time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.solvers.control.sliders import MASS, Array, controller, gain, held, largest, slider, state
from tests.tolerances import ACCURACY, TIGHT

STEP = 0.04


def two_rates(late: int = 0) -> list[Any]:
    """Return a loop of the rate at every step, and one of the position at every third, its commands late by some steps."""
    fast = gain(3.0, inputs=["rail_v"], dt=STEP)
    slow = control.ss([[0.8]], [[0.5]], [[1.0]], [[4.0]], 3 * STEP, inputs=["rail_q"], outputs=["rail_tau"])
    return [fast, tt.Loop(slow, delay=late * STEP, reference={"rail.q": 0.2})]


def stepped(count: int, late: int) -> tuple[Array, Array]:
    """Return the states of the mass under `two_rates` at each step, and the slow commands, one step after the other."""
    A, B = held(STEP)
    x, inner, pending, slow = np.array([1.0, -0.5]), 0.0, [0.0] * (late + 1), 0.0
    states, commands = [], []
    for k in range(count):
        states.append(x)
        if k % 3 == 0:
            error = 0.2 - x[0]
            slow, inner = inner + 4.0 * error, 0.8 * inner + 0.5 * error
            commands.append(slow)
        pending = [*pending[1:], slow]
        x = A @ x + B * (-3.0 * x[1] + pending[0])
    return np.array(states), np.array(commands)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("late", [0, 1, 4])
def test_loops_of_two_rates_are_exact_at_their_samples(engine: str, late: int) -> None:
    t = STEP * np.arange(31)
    run = tt.simulate(slider(engine), t, [1.0], [-0.5], controller=two_rates(late), **TIGHT)
    states, commands = stepped(31, late)
    assert largest(state(run) - states) < ACCURACY
    fast, slow = run.controls
    assert (len(fast.t), len(slow.t)) == (31, 11)
    assert largest(slow.u[:, 0] - commands) < 10 * ACCURACY  # the gain is four, and the states are sums of ten
    assert largest(fast.y[:, 0] - states[:, 1]) < ACCURACY


def test_the_order_of_the_list_changes_no_motion() -> None:
    t, (fast, slow) = STEP * np.arange(31), two_rates(1)
    one, other = (tt.simulate(slider(), t, [1.0], [-0.5], controller=loops) for loops in ([fast, slow], (slow, fast)))
    assert largest(state(one) - state(other)) < 1e-14  # sums of two commands are the same in both orders
    assert np.array_equal(one.controls[1].u, other.controls[0].u)


def test_at_a_common_instant_all_read_before_any_command_and_are_called_in_order() -> None:
    """Two counters that push harder at each sample read the acceleration under the commands before."""
    calls: list[tuple[str, float]] = []

    def counter(name: str) -> Any:
        def update(t: float, x: Array, y: Array, r: Array) -> tuple[Array, Array]:
            calls.append((name, round(t, 9)))
            return x + 1, x + 1

        return update

    fast = controller(update=counter("fast"), inputs=["accelerometer.x"], sample_time=0.1)
    slow = controller(update=counter("slow"), inputs=["accelerometer.x"], sample_time=0.2)
    run = tt.simulate(slider(), [0.0, 0.4], [0.0], [0.0], controller=[slow, fast])
    assert calls == [
        ("slow", 0.0), ("fast", 0.0), ("fast", 0.1), ("slow", 0.2), ("fast", 0.2), ("fast", 0.3), ("slow", 0.4), ("fast", 0.4),
    ]  # fmt: skip
    assert run.controls[1].y[:, 0] * MASS == pytest.approx([0, 2, 3, 5, 6], abs=1e-12)
    assert run.controls[0].y[:, 0] * MASS == pytest.approx([0, 3, 6], abs=1e-12)
    assert run.u[:, 0] == pytest.approx([2, 8])


@pytest.mark.parametrize("method", ["DOP853", "Radau", "generalized-alpha"])
@pytest.mark.parametrize("listed", [(0, 1), (1, 0)])
def test_continuous_and_sampled_loops_may_be_mixed(method: str, listed: tuple[int, int]) -> None:
    """Exact: an oscillator with a lag beside the mass, under a force that is held."""
    lagged = control.ss([[-3.0]], [[1.0, 0.0]], [[2.0]], [[5.0, 1.0]], inputs=["rail_q", "rail_v"], outputs=["motor"])
    loops = [[lagged, gain(2.0, inputs=["rail_v"], dt=STEP)][k] for k in listed]
    t = STEP * np.arange(26)
    tolerances = TIGHT if method != "generalized-alpha" else {"rtol": 1e-7, "atol": 1e-9}
    run = tt.simulate(slider(), t, [0.3], [0.0], controller=loops, method=method, **tolerances)
    A = np.array([[0, 1, 0, 0], [-5 / MASS, -1 / MASS, 2 / MASS, 1 / MASS], [-1, 0, -3, 0], [0, 0, 0, 0]])
    step, x, expected = expm(A * STEP), np.array([0.3, 0.0, 0.0, 0.0]), []
    for _ in t:
        x[3] = -2.0 * x[1]
        expected.append(x.copy())
        x = step @ x
    within = 1e-6 if method == "generalized-alpha" else 10 * ACCURACY  # of second order at these tolerances
    assert largest(state(run) - np.array(expected)[:, :2]) < within
    sampled, continuous = run.controls[listed.index(1)], run.controls[listed.index(0)]
    assert largest(sampled.u[:, 0] - np.array(expected)[:, 3]) < within
    right = np.array(expected) @ [-5, -1, 2, 0]
    assert largest(continuous.u[:, 0] - right) < 10 * within  # its gains
    assert np.array_equal(continuous.t, t)
    assert (sampled.sampled, continuous.sampled) == (True, False)


def test_inputs_of_operating_points_act_once() -> None:
    point = {"rail.q": 0.4, "motor": 3.0}
    push, rest, idle = gain(1.0, inputs=["rail_q"], dt=0.1), gain(1.0, inputs=["rail_v"], dt=0.2), gain(0.0, 0.0, dt=0.2)
    start: Any = [0, 1], [0.4], [0.0]
    one = tt.simulate(slider(), *start, controller=push, operating_point=point)
    runs = [
        tt.simulate(slider(), *start, controller=[push, idle], operating_point=point),
        tt.simulate(slider(), *start, controller=[push, tt.Loop(rest, operating_point=point)]),
    ]
    assert largest(runs[0].q - one.q) < 1e-12
    assert runs[0].u[0, 0] == pytest.approx(3.0)
    assert runs[1].u[0, 0] == pytest.approx(3.0 - 0.4)  # the first knows no point: it holds zero
    other = [tt.Loop(push, operating_point=point), tt.Loop(rest, operating_point={"motor": 2.0})]
    with pytest.raises(tt.ModelError, match=r"operating_point: motor: got 2\.0.* 3") as caught:
        tt.simulate(slider(), [0, 1], [0.4], [0.0], controller=other)
    assert caught.value.code == "other-point"


@pytest.mark.parametrize(("steps", "reads"), [((0.3, 0.1), (3, 1)), ((0.1, 0.3), (1, 3)), ((0.03, 0.01), (3, 1))])
def test_common_instants_are_common_but_for_rounding(steps: tuple[float, float], reads: tuple[int, int]) -> None:
    """``3 * 0.1`` is more than 0.3, and no output time; the force is the number of commands so far, read before it changes."""
    count = control.ss([[1.0]], [[1.0]], [[1.0]], [[1.0]], steps[0], inputs=["one"], outputs=["motor"])
    loops = [tt.Loop(count, reference={"one": 1.0}), gain(0.0, inputs=["accelerometer_x"], dt=steps[1])]
    for order in (1, -1):
        run = tt.simulate(slider("reference"), [0.0, 1.5], [0.0], [0.0], controller=loops[::order])
        felt = run.controls[::order][1].y[:, 0]
        commands = -(-np.arange(len(felt)) * reads[1] // reads[0])  # as many as there were before each reading
        assert felt == pytest.approx(commands / MASS, abs=ACCURACY)


def test_noise_of_one_loop_does_not_depend_on_the_rates_of_others() -> None:
    noisy = tt.Loop(gain(0.0, inputs=["rail_q"], dt=0.1), noise=1.0)
    others = [tt.Loop(gain(0.0, inputs=["rail_v"], dt=step), noise=1.0) for step in (0.1, 0.05)]
    first, second = (tt.simulate(slider(), [0, 1], [0.0], [0.0], controller=[noisy, other]).controls for other in others)
    assert np.array_equal(first[0].y, second[0].y)
    assert not np.array_equal(first[0].y, first[1].y)
    other_seed = tt.simulate(slider(), [0, 1], [0.0], [0.0], controller=[noisy, noisy], seed=1).controls
    assert not np.array_equal(first[0].y, other_seed[0].y)


def test_a_seed_sequence_gives_the_same_noise_each_time() -> None:
    """Generators of several loops are spawned from it, which once changed it."""
    seed, t = np.random.SeedSequence(5), [0.0, 0.5]
    loops = [tt.Loop(gain(3.0, inputs=["rail_v"], dt=step), noise=0.01) for step in (STEP, 3 * STEP)]
    first, second = (tt.simulate(slider("reference"), t, [0.3], [0.0], controller=loops, seed=seed) for _ in range(2))
    assert np.array_equal(first.controls[0].y, second.controls[0].y)
    assert not np.array_equal(first.q[-1], tt.simulate(slider("reference"), t, [0.3], [0.0], controller=loops).q[-1])


def test_signals_of_several_loops_by_name(tmp_path: Path) -> None:
    t = np.linspace(0, 1, 6)
    run = tt.simulate(slider(), t, [1.0], [-0.5], controller=two_rates())
    run.save(tmp_path / "run.npz")
    loaded = tt.load_trajectory(tmp_path / "run.npz", run.model)
    for trajectory in (run, loaded):
        assert np.array_equal(trajectory.signal("motor"), trajectory.controls[0].held("motor", t))  # no other has it
        assert np.array_equal(trajectory.signal("controller[1].rail.tau"), trajectory.controls[1].held("rail.tau", t))
        assert np.array_equal(trajectory.signal("controller[1].x[0]"), trajectory.controls[1].held("controller.x[0]", t))
    titles = [axis.get_title() for axis in run.plot(["rail", "controller[1].rail.q", "motor"]).axes if axis.get_visible()]
    assert titles == ["rail [m]", "controller[1].rail.q [m]", "motor [N]"]
    with pytest.raises(tt.ModelError, match=r"controls\[0\]") as caught:
        _ = run.control
    assert caught.value.code == "several-controllers"
    both = tt.simulate(slider(), t, [1.0], [0.0], controller=[gain(1.0, inputs=["rail_q"], dt=0.1)] * 2)
    with pytest.raises(tt.ModelError, match=r"controller\[0\]\.motor or controller\[1\]\.motor"):
        both.signal("motor")


def test_the_dataset_has_each_loop() -> None:
    pytest.importorskip("xarray")
    run = tt.simulate(slider(), [0, 0.48], [1.0], [-0.5], controller=two_rates())
    data = run.to_xarray()
    assert (data.sizes["t_control_0"], data.sizes["t_control_1"]) == (13, 5)
    assert np.array_equal(data["commanded_1"], run.controls[1].u)


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_measurements_at_rates_of_their_own_are_held(method: str) -> None:
    """A ruler that is read at every fourth sample, late by one, and a tachometer at each: one controller and two."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=MASS), tt.Prismatic("rail", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "rail"))
    s.add_sensor(tt.Encoder("ruler", "rail", path=tt.SignalPath(sample_time=4 * STEP, delay=STEP)))
    s.add_sensor(tt.Tachometer("speed", "rail"))
    model, t = s.resolve(), STEP * np.arange(25)
    K = gain(4.0, 3.0, inputs=["ruler", "speed"], dt=STEP)
    apart = [gain(4.0, inputs=["ruler"], dt=STEP), gain(3.0, inputs=["speed"], dt=STEP)]
    A, B = held(STEP)
    x, read, expected, rulers = np.array([0.5, 0.2]), 0.5, [], [0.5]
    for k in range(len(t)):
        expected.append(x)
        rulers += [x[0]] if k and k % 4 == 0 else []
        read = rulers[-1] if k % 4 else rulers[max(0, len(rulers) - 2)]  # that of the instant itself comes a sample late
        x = A @ x - B * (4.0 * read + 3.0 * x[1])
    for loops in (K, apart):
        run = tt.simulate(model, t, [0.5], [0.2], controller=loops, method=method, **TIGHT)
        assert largest(state(run) - np.array(expected)) < ACCURACY
