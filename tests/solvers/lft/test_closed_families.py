"""Controllers closed around linear fractional models, against loops of members that are simulated or computed by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.refusals import refusal
from tests.solvers.control.sliders import slider
from tests.solvers.lft.closed_crafts import TORQUES, VALUES, craft, rate_control

#: Responses computed in two ways, beside their size.
ROUNDING = 1e-9

PERIOD = 0.1


@cache
def closed(stages: int, delay: float) -> tt.LFTModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of errors, which are what is tested
        return craft().close(rate_control(PERIOD), stages=stages, delay=delay)


def simulated(values: dict[str, float], delay: float, count: int) -> np.ndarray:
    """Return the rates (count, 3) after a torque of 1 N m about y in the first period, from fine exact steps of the member."""
    plant, K, fine = craft().members.member(craft().values(values)), rate_control(PERIOD), 20
    n, m = plant.nstates, plant.ninputs
    step = expm(np.block([[plant.A, plant.B], [np.zeros((m, n + m))]]) * PERIOD / fine)[:n]
    x, x_k, commands, rates = np.zeros(n), np.zeros(3), [], []
    late = round(delay / PERIOD * fine)
    for k in range(count):
        y = plant.C @ x
        commands.append(K.C @ x_k + K.D @ y)
        x_k = K.A @ x_k + K.B @ y
        rates.append(y)
        for i in range(fine):
            sample = (k * fine + i - late) // fine
            u = (commands[sample] if sample >= 0 else np.zeros(3)) + np.array([0.0, float(k == 0), 0.0])
            x = step @ np.concatenate([x, u])
    return np.array(rates)


@pytest.mark.parametrize("delay", [0.0, 0.035, 0.1, 0.26])
@pytest.mark.parametrize(("values", "tolerance"), [({}, ROUNDING), (VALUES, 2e-3)])
def test_sampled_members_are_loops_simulated_finely(delay: float, values: dict[str, float], tolerance: float) -> None:
    """Nominal to rounding, others within the error of two stages; another delay by 5 ms is told apart from both."""
    member = closed(2, delay).at(values)
    assert member.dt == PERIOD
    torque = np.zeros((3, 200))
    torque[1, 0] = 1.0
    _, found = control.forced_response(member, U=torque)
    right = simulated(values, delay, 200)
    assert np.abs(found.T - right).max() < tolerance * np.abs(right).max()
    assert np.abs(found.T - simulated(values, delay + 0.005, 200)).max() > 2e-3 * np.abs(right).max()


@pytest.mark.parametrize("delay", [0.0, 0.13])
def test_more_stages_are_more_exact(delay: float) -> None:
    errors = [closed(stages, delay).check(3) for stages in (1, 2, 3)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-5
    assert [closed(stages, 0.0).blocks[2].repetitions for stages in (1, 2)] == [8, 16]


def test_check_finds_a_wrong_loop() -> None:
    """A loop with the controller of another one's member, or delayed by a hundredth of a period."""
    right, other = closed(3, 0.13), closed(3, 0.131)
    assert replace(right, M=other.M).check(2) > 10 * right.check(2)


def test_accelerations_need_channels_once_more() -> None:
    model = craft("gyro", "hub.imu.dv")
    loop = model.close(rate_control(0.02))
    assert [block.repetitions for block in loop.blocks] == [2 * block.repetitions for block in model.blocks]
    assert loop.check(2) < 1e-2


def test_coarse_stages_are_warned_of() -> None:
    with pytest.warns(tt.ModelWarning, match="coarse-stages"):
        craft().close(rate_control(0.4))


def test_what_is_faster_than_the_samples_is_said_to_be_held() -> None:
    """A boom of 2 Hz sampled at 1 Hz: more stages make it no better, a cure that the warning must not name."""
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 5.0, inertia=[1.0, 1.0, 1.0], ports={"tip": [1, 0, 0]})
    tip = tt.RigidBody("tip", 1.0, com=[1, 0, 0])
    s.connect("world", hub, joint=tt.Revolute("turn", axis=[0, 0, 1], damping=1.0))
    s.connect(hub.port("tip"), tip, joint=tt.Revolute("boom", axis=[0, 0, 1], stiffness=200.0, damping=0.1))
    m = s.resolve()
    model = tt.lft(m, m.neutral(), {"tip.mass": tt.percent(40)}, ["turn"], ["turn.v"])
    K = control.ss([], [], [], [[-0.1]], 1.0, inputs=["turn_v"], outputs=["turn"])
    for stages in (1, 3):
        with pytest.warns(tt.ModelWarning, match=r"hold= of tt\.lft.*more stages are no cure.*coarse-stages"):
            model.close(K, stages=stages)
    held = tt.lft(m, m.neutral(), {"tip.mass": tt.percent(40)}, ["turn"], ["turn.v"], hold=["boom"])
    assert held.close(K).check(2) < 1e-2, "the cure"


def test_a_sampled_loop_is_closed_again() -> None:
    """By a gain, and by a controller that waits for whole periods."""
    gain = control.ss([], [], [], [[-5.0]], inputs=["gyro_x"], outputs=["wheels_x"])
    loop = closed(2, 0.0).close(gain).close(rate_control(PERIOD, 3.0), delay=0.2)
    assert loop.M.nstates == closed(2, 0.0).M.nstates + 3 + 2 * 3
    assert len(set(loop.M.state_labels)) == loop.M.nstates
    z = np.exp(0.07j)
    plant = closed(2, 0.0).at(VALUES)(z)
    K = rate_control(PERIOD, 3.0)(z) / z**2 + np.diag([-5.0, 0.0, 0.0])
    right = plant @ np.linalg.inv(np.eye(3) - K @ plant)
    assert loop.at(VALUES)(z) == pytest.approx(right, rel=ROUNDING)
    assert loop.check(2) < 2e-3


def test_delays_in_continuous_time() -> None:
    """Pade's fraction within its bound, `check` against the delay itself; by name, of one output alone."""
    K = rate_control()
    loop = craft().close(K, delay={"wheels_x": 0.3, "wheels.y": 0.1})
    s = 2.0j
    waits = np.diag(np.exp(-s * np.array([0.3, 0.1, 0.0])))
    plant = craft().at(VALUES)(s)
    right = plant @ np.linalg.inv(np.eye(3) - waits @ K(s) @ plant)
    assert loop.at(VALUES)(s) == pytest.approx(right, rel=1e-6)  # 4e-8 * 0.6^9 for the delay alone
    errors = [craft().close(K, delay=0.1, order=order).check(2) for order in (1, 4, 10)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]  # at all frequencies, up to ten times the fraction's own poles


def test_a_delay_before_sampling() -> None:
    """An inner loop in continuous time, an outer one that is sampled: both are in the members."""
    inner = control.ss([], [], [], [[-5.0]], inputs=["gyro_x"], outputs=["wheels_x"])
    loop = craft().close(inner, delay=0.02).close(rate_control(0.02), delay=0.01)
    assert loop.check(2) < 1e-2


def test_bad_input() -> None:
    K, L = rate_control(PERIOD), craft()
    gain = control.ss([], [], [], [[1.0]], 0.1, inputs=["gyro_x"], outputs=["wheels_x"])
    with pytest.raises(tt.ModelError, match="no-sample-time"):
        L.close(control.ss([], [], [], [[1.0]], True, inputs=["gyro_x"], outputs=["wheels_x"]))
    with pytest.raises(tt.ModelError, match=r"stages.*bad-value"):
        L.close(K, stages=0)
    with pytest.raises(tt.ModelError, match=r"order.*bad-value"):
        L.close(rate_control(), order=2.5)  # type: ignore[arg-type]
    with pytest.raises(tt.ModelError, match=r"delay.*bad-time"):
        L.close(K, delay=-0.1)
    with pytest.raises(tt.ModelError, match=r"periods at most.*bad-time"):
        L.close(K, delay=1e6)
    with pytest.raises(tt.ModelError, match=r"wheels_w.*unknown-signal"):
        L.close(K, delay={"wheels_w": 0.1})
    with pytest.raises(tt.ModelError, match="unknown-signal"):
        L.close(control.ss([], [], [], [[1.0]], inputs=["gyro_q"], outputs=["wheels_x"]))
    with pytest.raises(tt.ModelError, match="wrong-type"):
        L.close(np.eye(3))
    with pytest.raises(tt.ModelError, match="improper"):
        L.close(control.tf([1, 0], [1], inputs=["gyro_x"], outputs=["wheels_x"]))
    loop = closed(1, 0.0)
    with pytest.raises(tt.ModelError, match="other-sample-time"):
        loop.close(rate_control(0.2))
    with pytest.raises(tt.ModelError, match="other-sample-time"):
        loop.close(rate_control())
    with pytest.raises(tt.ModelError, match=r"whole periods.*bad-time"):
        loop.close(gain, delay=0.05)
    direct = craft("hub.imu.dw")
    inverse, names = np.linalg.inv(direct.nominal.D), direct.nominal.output_labels
    with pytest.raises(tt.ModelError, match="algebraic-loop"):
        direct.close(control.ss([], [], [], inverse, inputs=names, outputs=TORQUES))


def slider_family(*outputs: str) -> tuple[tt.Model, tt.LFTModel]:
    model = slider(stiffness=3.0, damping=0.4)
    return model, tt.lft(model, model.neutral(), {"mass.mass": tt.percent(10)}, ["motor"], outputs)


def lag(*numerators: float, inputs: list[str]) -> control.TransferFunction:
    """Return a lead for each of some inputs: these numbers times 20 s + 25, over 0.05 s + 1."""
    rows = [[[20.0 * k, 25.0 * k] for k in numerators]]
    return control.tf(rows, [[[0.05, 1.0]] * len(numerators)], inputs=inputs, outputs=["motor"])


def test_one_controller_makes_the_same_loop_here_and_in_simulations() -> None:
    """Simulations give it reference - y; with sign=-1 it is closed so here too. The other sign is unstable."""
    model, family = slider_family("rail.q")
    K, t = lag(1.0, inputs=["rail_q"]), np.linspace(0, 2, 21)
    loop = family.close(K, sign=-1)
    run = tt.simulate(model, t, [0.3], [0.0], controller=K, rtol=1e-11, atol=1e-13)
    start = [0.3, 0.0, *np.zeros(loop.nominal.nstates - 2)]
    _, free = control.initial_response(loop.nominal, t, start)
    assert np.abs(run.q[:, 0] - np.ravel(free)).max() < 1e-9  # a hundred steps of such tolerances
    assert loop.check(3) < ROUNDING
    assert loop.nominal.poles().real.max() < 0 < family.close(K).nominal.poles().real.max()


def test_sampled_controllers_keep_their_sign_too() -> None:
    model, family = slider_family("rail.q", "rail.v")
    K = control.ss([], [], [], [[20.0, 4.0]], 0.05, inputs=["rail_q", "rail_v"], outputs=["motor"])
    loop = family.close(K, stages=2, delay=0.02, sign=-1)
    run = tt.simulate(model, np.arange(41) * 0.05, [0.3], [0.0], controller=K, delay=0.02, rtol=1e-11, atol=1e-13)
    start = np.zeros(loop.nominal.nstates)
    start[0] = 0.3
    _, free = control.initial_response(loop.nominal, np.arange(41) * 0.05, start)
    assert np.abs(run.q[:, 0] - free[0]).max() < 1e-9


@pytest.mark.parametrize("sampled", [False, True])
def test_references_that_a_controller_takes_are_inputs_of_the_loop(sampled: bool) -> None:
    model, family = slider_family("rail.q", "rail.v")
    names = ["r_rail_q", "rail_q", "rail_v"]
    K = lag(1.0, -1.0, inputs=names[:2])
    if sampled:
        K = control.ss([], [], [], [[20.0, -20.0, -4.0]], 0.05, inputs=names, outputs=["motor"])
    loop = family.close(K, stages=3)
    assert loop.M.input_labels[-2:] == ["motor", "r_rail_q"]
    assert tt.signal_table(loop.M)["r_rail_q"] == ("r_rail.q", "m")
    assert loop.check(3) < (1e-6 if sampled else ROUNDING)  # three stages: the period's sixth power
    t = np.arange(41) * 0.05
    run = tt.simulate(model, t, [0.3], [0.0], controller=K, reference={"rail.q": 0.1}, rtol=1e-11, atol=1e-13)
    start = np.zeros(loop.nominal.nstates)
    start[0] = 0.3
    _, y = control.forced_response(loop.nominal, t, np.vstack([0 * t, 0 * t + 0.1]), start)
    assert np.abs(run.q[:, 0] - y[0]).max() < 1e-9
    again = loop.close(control.ss([], [], [], [[-1.0]], K.dt or None, inputs=["rail_q"], outputs=["motor"]))
    assert again.M.input_labels[-2:] == ["motor", "r_rail_q"]
    assert again.check(3) < (1e-6 if sampled else ROUNDING)


@pytest.mark.parametrize(
    ("inputs", "sign"), [(["r_rail_q", "rail_q"], -1), (["rail_q"], 0), (["rail_q"], True), (["rail_q"], 2.0)]
)
def test_wrong_signs_are_refused(inputs: list[str], sign: Any) -> None:
    _, family = slider_family("rail.q")
    with refusal("bad-value", "sign"):
        family.close(lag(*[1.0] * len(inputs), inputs=inputs), sign=sign)
