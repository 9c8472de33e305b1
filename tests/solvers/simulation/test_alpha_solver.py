"""Steps of the generalised-alpha scheme: their length, their outputs, and Newton's method."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.solvers.simulation.alpha_systems import dropped, flying, oscillator, padded, slammed, stopped, swinging
from tests.solvers.simulation.closed_motions import opening
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.alpha_solver import AlphaSolver
from titop.solvers.simulation.alpha_step import Step
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.implicit_equations import ImplicitDerivatives, ImplicitDynamics
from titop.solvers.simulation.steppers import Tolerances

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def test_adaptive_steps_follow_the_tolerance() -> None:
    model, q, v = flying()
    precise = tt.simulate(model, [0, 1], q, v, rtol=1e-12, atol=1e-13)
    errors, steps = [], []
    for tolerance in (1e-4, 1e-5, 1e-6):
        run = tt.simulate(model, [0, 1], q, v, method="generalized-alpha", rtol=tolerance, atol=tolerance)
        errors.append(np.abs(model.difference(precise.q[-1], run.q[-1])).max())
        steps.append(run.statistics["steps"])
    # errors of a step fall like h^3, of the result like h^2: a tenth of the tolerance takes 10^(1/3) as many steps
    assert np.array(steps[1:]) / steps[:-1] == pytest.approx(10 ** (1 / 3), rel=0.15)
    assert np.array(errors[:-1]) / errors[1:] == pytest.approx(10 ** (2 / 3), rel=0.3)
    assert errors[0] < 100 * 1e-4  # some tens of steps


@pytest.mark.parametrize("size", [2.0**-40, 2.0**-20, 2.0**20])
def test_steps_do_not_depend_on_the_amplitude(size: float) -> None:
    """Of a linear oscillator, with tolerances in proportion: all numbers are multiplied by a power of two."""
    s = tt.System("swing", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x", stiffness=1e10))
    times = np.linspace(0, 2e-5, 5)

    def run(amplitude: float) -> tt.Trajectory:
        tolerances = {"rtol": 1e-6, "atol": 1e-10 * amplitude}
        return tt.simulate(s.resolve(), times, [amplitude], [0.0], method="generalized-alpha", **tolerances)

    large, small = run(1.0), run(size)
    assert large.q[:, 0] == pytest.approx(np.cos(1e5 * times), abs=1e-3)
    assert small.statistics["steps"] == large.statistics["steps"]
    np.testing.assert_array_equal(small.q, size * large.q)


@pytest.mark.parametrize(
    ("start", "end", "rtol", "way"),
    [
        (stopped, 10.0, 1e-3, -1),
        (stopped, 10.0, 1e-6, -1),
        (stopped, 50.0, 1e-6, -1),
        (slammed, 10.0, 1e-5, -1),
        (dropped, 0.7, 1e-5, 1),
    ],
)
def test_stiff_stops_excuse_no_errors_of_the_steps_into_them(start, end, rtol, way) -> None:
    """They give all of the energy back, on the way back in free flight."""
    model, q, v = start()
    run = tt.simulate(model, [0, end], q, v, method="generalized-alpha", rtol=rtol, atol=1e-2 * rtol)
    energy = run.energy().sum(axis=1)
    # some tens of steps at the stop, each with an error of the tolerance, measured by what has been reached
    assert energy[1] / energy[0] == pytest.approx(1, abs=0.02)
    assert np.sign(run.v[1]) == way


def solver_at_start(model, q, v, step):
    """Return the scheme at the start of a simulation."""
    plant = DrivenModel(model, np.array([0.0, 1.0]), None, {}, PrescribedMotion(model, {}), None, None)
    plant.prepared.rank = model.closure_rank(q)
    state = np.concatenate([q, v])
    return AlphaSolver(
        plant, tt.GeneralizedAlpha(0.8, step), 0.0, 1.0, state, Tolerances(1e-8, np.full(len(state), 1e-10), np.inf)
    )


def corrections(model, q, v, step):
    """Return the sizes of Newton's corrections of a step's increment, with derivatives found anew every time."""
    solver = solver_at_start(model, q, v, step)
    whole = Step(solver.system, solver.before, solver.node, step, step)
    sizes = []
    for _ in range(6):
        residual = whole.linearise(whole.residual(True), renew=True)
        change = whole.correction(residual)
        whole.place(whole.w + change)
        sizes.append(step**2 * np.abs(change).max())
    return np.array(sizes)


@pytest.mark.parametrize("start", [lambda: closed_four_bar(0.5, 5.0), flying, swinging], ids=["four-bar", "flying", "swing"])
def test_newton_converges_quadratically(start, monkeypatch: pytest.MonkeyPatch) -> None:
    model, q, v = start()
    sizes = corrections(model, q, v, 0.05)
    # each is at most a constant times the square of the one before; 1e-13 is rounding
    assert (sizes[1:] < 2 * sizes[:-1] ** 2 + 1e-13).all()
    assert sizes[-1] < 1e-13
    wrong = ImplicitDerivatives(np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv)))
    monkeypatch.setattr(ImplicitDynamics, "derivatives", lambda *_: wrong)
    assert corrections(model, q, v, 0.05)[-1] > 1e-13, "the negative control: without derivatives it is linear at best"


def test_wrong_slopes_take_more_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the analytic derivatives: half of them."""
    model, q, v = padded(1e6, 10.0), *closed_four_bar()[1:]
    arguments = {"method": tt.GeneralizedAlpha(step=2e-3), "rtol": 1e-6, "atol": 1e-6}
    right = tt.simulate(model, [0, 0.5], q, v, **arguments).statistics
    exact = ImplicitDynamics.derivatives
    monkeypatch.setattr(
        ImplicitDynamics, "derivatives", lambda *args, **how: ImplicitDerivatives(*(0.5 * x for x in exact(*args, **how)))
    )
    wrong = tt.simulate(model, [0, 0.5], q, v, **arguments).statistics
    assert wrong["iterations"] > 2 * right["iterations"]


def test_outputs_within_steps_and_events() -> None:
    model, q, v = closed_four_bar(0.5, 12.0)
    times = np.linspace(0, 0.3, 62)
    passing = tt.Event(lambda t, q, v: q[0] - 1.0, name="passing", terminal=False)
    reached = tt.Event(lambda t, q, v: q[0] - 1.5, name="reached")
    expected = tt.simulate(model, times, q, v, events=[passing, reached])
    run = tt.simulate(model, times, q, v, events=[passing, reached], method=tt.GeneralizedAlpha(step=1e-3))
    # second order, at steps of a hundredth of a radian of the crank
    assert len(run.events["passing"]) == 1
    assert run.events["passing"] == pytest.approx(expected.events["passing"], abs=1e-4)
    assert run.t == pytest.approx(expected.t, abs=1e-4)
    assert run.q[:-1] == pytest.approx(expected.q[:-1], abs=1e-3)
    assert run.v[:-1] == pytest.approx(expected.v[:-1], abs=1e-2)
    assert opening(run)[0] < 1e-12
    assert run.q[-1][0] == pytest.approx(1.5, abs=1e-12)


def test_steps_respect_max_step() -> None:
    run = tt.simulate(oscillator(0.1), [0, 1], [1.0], [0.0], method="generalized-alpha", rtol=1e-2, max_step=0.05)
    assert run.statistics["steps"] >= 20


def test_fixed_steps_longer_than_max_step_are_refused() -> None:
    arguments = oscillator(0.1), [0, 1], [1.0], [0.0]
    with pytest.raises(tt.ModelError, match=r"step: got 0\.05; expected no more than max_step, 0\.01 s") as caught:
        tt.simulate(*arguments, method=tt.GeneralizedAlpha(step=0.05), max_step=0.01)
    assert caught.value.code == "bad-step"
    run = tt.simulate(*arguments, method=tt.GeneralizedAlpha(step=0.05), max_step=0.05)
    assert run.statistics["steps"] == 20


@pytest.mark.parametrize("name", ["tau", "u"])
def test_fixed_steps_end_where_samples_bend(name) -> None:
    """A pulse after a rest, shorter than the steps: its impulse over the mass, as with steps that adapt."""
    s = tt.System("rest", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 2.0), tt.Prismatic("z", axis=[0, 0, 1]))
    s.add_actuator(tt.Force("push", s["mass"], direction=[0, 0, 1]))
    model, times = s.resolve(), np.linspace(0, 1, 1001)
    pulse = np.where((times > 0.512) & (times < 0.528), 100.0, 0.0)

    def run(step: float | None) -> tt.Trajectory:
        acting = {name: pulse[:, None]}
        return tt.simulate(model, times, [0.0], [0.0], method=tt.GeneralizedAlpha(step=step), rtol=1e-5, **acting)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [run(step) for step in (0.05, None)]
    # the trapezoidal rule is exact of straight lines; the scheme averages accelerations with those of a step before
    assert [each.v[-1, 0] for each in found] == pytest.approx(np.full(2, np.trapezoid(pulse, times) / 2.0), rel=0.02)
    assert found[0].statistics["steps"] < 30


@pytest.mark.parametrize("step", [0.0, -1.0, np.inf, np.nan, "short"])
def test_bad_step_is_refused(step) -> None:
    with pytest.raises(tt.ModelError, match=r"step: .*a positive number"):
        tt.GeneralizedAlpha(step=step)


@pytest.mark.parametrize(("step", "advice"), [(None, "looser tolerances"), (0.01, "a shorter step")])
def test_giving_up_says_when_and_what_to_try(step, advice) -> None:
    """A mass that runs away in finite time, after about 0.44 s."""
    s = tt.System("runaway", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x"))
    arguments = {"tau": lambda t, q, v: 18.0 * q**3, "method": tt.GeneralizedAlpha(step=step), "rtol": 1e-5}
    with pytest.raises(tt.ConvergenceError, match=rf"after t = 0\.\d+ s of 1 s .*try {advice}"):
        tt.simulate(s.resolve(), [0, 1], [1.0], [0.0], **arguments)
