"""Several controllers in continuous time, and controllers that set the references of others, against exact solutions."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.solvers.control.sliders import MASS, Array, gain, held, largest, lead, slider, state
from tests.tolerances import ACCURACY, TIGHT

STEP, WANTED = 0.04, 0.5
#: Of second order: errors of 1e-8 a step add up over some hundred steps.
COARSE: dict[str, float] = {"rtol": 1e-8, "atol": 1e-10}
METHODS = [("DOP853", TIGHT, ACCURACY), ("Radau", TIGHT, 10 * ACCURACY), ("generalized-alpha", COARSE, 1e-5)]


def speed_loop(dt: float | None = None) -> Any:
    """Return the inner loop of the rate: a gain of four and an integrator of two, in continuous time or by Euler's rule."""
    A, B = ([[0.0]], [[1.0]]) if dt is None else ([[1.0]], [[dt]])
    return control.ss(A, B, [[2.0]], [[4.0]], dt, inputs=["rail_v"], outputs=["motor"])


def place_loop(dt: float | None = None) -> Any:
    """Return the outer loop: it asks for a rate of 1.5 times the error of the position."""
    return tt.Loop(gain(1.5, inputs=["rail_q"], outputs=["r_rail_v"], dt=dt), reference={"rail.q": WANTED})


def responses(A: Array, x0: Array, steady: Array, t: Array) -> Array:
    return np.array([steady + expm(A * instant) @ (x0 - steady) for instant in t])


@pytest.mark.parametrize(("method", "tolerances", "within"), METHODS)
def test_continuous_controllers_add_up(method: str, tolerances: dict[str, float], within: float) -> None:
    """Of ``lead()`` on the position and a gain on the rate, by the closed loop's matrix; and as one appended controller."""
    t, K = np.linspace(0, 1, 11), lead()
    brake = tt.Loop(gain(2.0, inputs=["rail_v"]), reference={"rail.v": 0.1})
    run = tt.simulate(slider(), t, [0.3], [0.0], controller=[K, brake], method=method, **tolerances)
    A = np.zeros((4, 4))
    A[0, 1], A[1, :2], A[1, 2:] = 1.0, np.array([-K.D.item(), -2.0]) / MASS, K.C[0] / MASS
    A[2:, 0], A[2:, 2:] = -K.B[:, 0], K.A
    steady = np.linalg.solve(-A, [0.0, 0.2 / MASS, 0.0, 0.0])
    expected = responses(A, np.array([0.3, 0.0, 0.0, 0.0]), steady, t)
    assert largest(state(run) - expected[:, :2]) < within
    assert largest(run.controls[0].x - expected[:, 2:]) < 10 * within  # the gains of the controller
    assert largest(run.controls[1].u[:, 0] - 2.0 * (0.1 - expected[:, 1])) < 10 * within
    assert largest(run.u[:, 0] - run.controls[0].u[:, 0] - run.controls[1].u[:, 0]) < 1e-12  # sums in another order


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(("method", "tolerances", "within"), METHODS)
def test_a_continuous_cascade(engine: str, method: str, tolerances: dict[str, float], within: float) -> None:
    t = np.linspace(0, 2, 11)
    loops = [place_loop(), speed_loop()]
    run = tt.simulate(slider(engine), t, [0.0], [0.2], controller=loops, method=method, **tolerances)
    # m dv/dt = 4 e + 2 x, dx/dt = e, e = 1.5 (r - q) - v
    A = np.array([[0, 1, 0], [-6 / MASS, -4 / MASS, 2 / MASS], [-1.5, -1, 0]])
    expected = responses(A, np.array([0.0, 0.2, 0.0]), np.array([WANTED, 0.0, 0.0]), t)
    assert largest(state(run) - expected[:, :2]) < within
    outer, inner = run.controls
    asked = 1.5 * (WANTED - expected[:, 0])
    assert largest(outer.signal("r_rail.v") - asked) < 10 * within
    assert largest(inner.signal("r_rail.v") - asked) < 10 * within
    assert (outer.unit("r_rail.v"), inner.unit("r_rail.v")) == ("m/s", "m/s")


@pytest.mark.parametrize("late", [0, 2])
def test_a_sampled_cascade_of_two_rates(late: int) -> None:
    """The inner loop reads at once what the outer one says at the same instant, or after its delay."""
    outer = place_loop(3 * STEP)
    loops = [tt.Loop(outer.controller, delay=late * STEP, reference=outer.reference), speed_loop(STEP)]
    t = STEP * np.arange(31)
    run = tt.simulate(slider(), t, [0.0], [0.2], controller=loops, **TIGHT)
    (A, B), x, z, asked, expected = held(STEP), np.array([0.0, 0.2]), 0.0, [0.0] * (late + 1), []
    for k in range(len(t)):
        expected.append(x)
        asked = [*asked[1:], 1.5 * (WANTED - x[0]) if k % 3 == 0 else asked[-1]]
        error = asked[0] - x[1]
        x, z = A @ x + B * (4.0 * error + 2.0 * z), z + STEP * error
    assert largest(state(run) - np.array(expected)) < ACCURACY


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_a_sampled_loop_guides_a_continuous_one(method: str) -> None:
    t, A = STEP * np.arange(31), np.zeros((4, 4))
    A[0, 1], A[1], A[2] = 1.0, np.array([0, -4, 2, 4]) / MASS, [0, -1, 0, 1]
    step, x, expected = expm(A * STEP), np.array([0.0, 0.2, 0.0, 0.0]), []
    for _ in t:
        x[3] = 1.5 * (WANTED - x[0])
        expected.append(x.copy())
        x = step @ x
    run = tt.simulate(slider(), t, [0.0], [0.2], controller=[place_loop(STEP), speed_loop()], method=method, **TIGHT)
    assert largest(state(run) - np.array(expected)[:, :2]) < 10 * ACCURACY  # of a controller's state that is integrated too
    assert largest(run.controls[1].signal("r_rail.v") - np.array(expected)[:, 3]) < 10 * ACCURACY


def test_a_continuous_loop_guides_a_sampled_one() -> None:
    """The outer loop is a lag of the error, ``1.5 / (0.2 s + 1)``, under a force that is held."""
    lag = control.ss([[-5.0]], [[5.0]], [[1.5]], [[0.0]], inputs=["rail_q"], outputs=["wanted"])
    follow = gain(4.0, 4.0, inputs=["wanted", "speed"], dt=STEP)  # of the speed the error, reference zero
    t, A = STEP * np.arange(31), np.zeros((4, 4))
    A[0, 1], A[1, 3], A[2, :3] = 1.0, 1.0 / MASS, [-5.0, 0.0, -5.0]
    forced = np.zeros((5, 5))
    forced[:4, :4], forced[2, 4] = A, 5.0 * WANTED
    step, x, expected = expm(forced * STEP), np.array([0.0, 0.2, 0.0, 0.0, 1.0]), []
    for _ in t:
        x[3] = 4.0 * (1.5 * x[2] - x[1])
        expected.append(x.copy())
        x = step @ x
    loops = [tt.Loop(lag, reference={"rail.q": WANTED}), follow]
    run = tt.simulate(slider(), t, [0.0], [0.2], controller=loops, **TIGHT)
    assert largest(state(run) - np.array(expected)[:, :2]) < 10 * ACCURACY
    assert largest(run.controls[1].signal("wanted") - 1.5 * np.array(expected)[:, 2]) < 10 * ACCURACY


def test_a_function_guides_and_is_guided() -> None:
    """Controllers that are functions, as the same gains; deviations from an operating point too."""
    t, at = STEP * np.arange(16), {"rail.q": 0.1, "motor": 3.0}
    gains = [gain(1.5, inputs=["rail_q"], outputs=["r_rail_v"], dt=STEP), gain(4.0, inputs=["rail_v"], dt=STEP)]
    functions = [
        tt.Controller(lambda t, x, y, r: (x, 1.5 * (r - y)), [], ["rail.q"], ["r_rail.v"], STEP),
        tt.Controller(lambda t, x, y, r: (x, 4.0 * (r - y)), [], ["rail.v"], ["motor"], STEP),
    ]
    runs = [tt.simulate(slider(), t, [0.1], [0.2], controller=each, operating_point=at) for each in (gains, functions)]
    assert largest(state(runs[0]) - state(runs[1])) < 1e-12  # products in another order
    assert runs[0].u[0, 0] == pytest.approx(3.0 - 4.0 * 0.2)


@pytest.mark.parametrize("sampled", [(None, None), (3 * STEP, STEP), (STEP, None), (None, STEP)])
def test_cascades_go_on(sampled: tuple[float | None, float | None]) -> None:
    loops, t = [place_loop(sampled[0]), speed_loop(sampled[1])], STEP * np.arange(25)
    whole = tt.simulate(slider(), t, [0.0], [0.2], controller=loops, **TIGHT)
    first = tt.simulate(slider(), t[:13], [0.0], [0.2], controller=loops, **TIGHT)
    second = tt.simulate(slider(), t[12:], controller=loops, start=first, **TIGHT)
    assert largest(state(second) - state(whole)[12:]) < (0.0 if None not in sampled else ACCURACY) + 1e-15


def test_an_output_must_not_act_on_itself_through_a_cascade() -> None:
    feeling = gain(0.5, inputs=["accelerometer_x"], outputs=["push"])
    with pytest.raises(tt.ModelError, match="algebraic-loop"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], controller=[feeling, gain(1.0, inputs=["push"])])
