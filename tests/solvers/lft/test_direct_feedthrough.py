"""Sampled controllers that take accelerations: read before the commands of their instant act, as `simulate` reads them."""

from __future__ import annotations

from functools import cache

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt

PERIOD = 0.1

#: Matrices from exponentials of other sizes, beside their entries of size one.
ROUNDING = 1e-9

#: A mass on a spring with a damper: states, push and acceleration.
MASS, STIFFNESS, DAMPING = 1.0, 3.0, 0.2
A = np.array([[0.0, 1.0], [-STIFFNESS / MASS, -DAMPING / MASS]])
B = np.array([[0.0], [1.0 / MASS]])


@cache
def model() -> tt.Model:
    s = tt.System("shaker", gravity=[0, 0, 0])
    body = tt.RigidBody("b", MASS, ports={"p": [0, 0, 0]})
    s.connect("world", body, tt.Prismatic("x", axis=[1, 0, 0], stiffness=STIFFNESS, damping=DAMPING))
    s.add_sensor(tt.Accelerometer("acc", body.port("p")))
    return s.resolve()


@cache
def shaker() -> tt.LFTModel:
    m = model()
    return tt.lft(m, m.neutral(), {"b.mass": tt.percent(10)}, ["x"], ["x.q", "acc"])


def gain(number: float, output: str = "acc_x") -> control.StateSpace:
    return control.ss([], [], [], [[number]], PERIOD, inputs=[output], outputs=["x"])


def radius(A: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max())


@pytest.mark.parametrize(("mass", "stages", "tolerance"), [(1.0, 1, 1e-7), (1.08, 4, 1e-5)])  # of the integrator; of stages
@pytest.mark.parametrize("periods", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_the_loop_moves_and_grows_as_it_is_simulated(periods: float, mass: float, stages: int, tolerance: float) -> None:
    """Every delay makes it unstable: sixty periods in a row, and the rate at which the motion grows in the last thirty."""
    member = shaker().close(gain(-1.5), stages=stages, delay=periods * PERIOD).at(b_mass=mass)
    point = shaker().operating_point(b_mass=mass)
    times = PERIOD * np.arange(61)
    found = tt.simulate(
        point.model, times, [0.1], [0.0], controller=gain(1.5), delay=periods * PERIOD, rtol=1e-10, atol=1e-12, progress=False
    ).q[:, 0]
    x, positions = np.array([0.1, *np.zeros(member.nstates - 1)]), []
    for _ in times:
        positions.append(x[0])
        x = member.A @ x
    assert np.abs(found - positions).max() < tolerance * np.abs(found).max()
    assert radius(member.A) > 1.1
    ends = [np.abs(found[30:46]).max(), np.abs(found[45:]).max()]  # a beat of the motion and more each
    assert (ends[1] / ends[0]) ** (1 / 15) == pytest.approx(radius(member.A), rel=0.03)


def test_only_what_is_taken_needs_a_state() -> None:
    """Other outputs have the commands that begin."""
    of_position = shaker().close(gain(-0.5, "x_q"))
    assert of_position.M.nstates == shaker().M.nstates
    assert of_position.nominal.D[1, 0] == pytest.approx(1.0 / MASS)
    of_acceleration = shaker().close(gain(-0.5))
    assert of_acceleration.M.state_labels == [*shaker().M.state_labels, "x_before"]
    assert of_acceleration.nominal.D[1, 0] == 0.0
    assert of_acceleration.blocks[0].repetitions == of_position.blocks[0].repetitions == 2


@pytest.mark.parametrize("where", ["actuator", "sensor", "neglected"])
def test_neglected_dynamics_act_with_what_they_multiply(where: str) -> None:
    """With a constant for the block: another actuator, another sensor, or a direct way from the commands to the sensor."""
    weight, delta, k = 0.4, 0.7, -0.6
    appended = {
        "actuator": shaker().append(where, "x", weight),
        "sensor": shaker().append(where, "acc_x", weight),
        "neglected": shaker().append(where, "x", weight, kind="additive", outputs="acc_x"),
    }[where]
    M = appended.close(gain(k)).M
    w, z = (next(i for i, name in enumerate(labels) if where in name) for labels in (M.input_labels, M.output_labels))
    found = M.A + M.B[:, [w]] * delta / (1.0 - M.D[z, w] * delta) @ M.C[[z]]
    actuator, sensor, direct = (1.0 + weight * delta if where == own else 1.0 for own in ("actuator", "sensor", "neglected"))
    step = expm(np.block([[A, B], [np.zeros((1, 3))]]) * PERIOD)[:2]
    command = k * np.append(sensor * A[1], sensor * actuator / MASS + direct - 1.0)  # of the states and the last command
    right = np.vstack([np.hstack([step[:, :2], np.zeros((2, 1))]) + actuator * step[:, 2:] * command, command])
    values = np.linalg.eigvals(found)
    for own in np.linalg.eigvals(right):
        assert np.abs(values - own).min() < ROUNDING


def test_a_sampled_loop_is_closed_again_before_its_commands_only() -> None:
    """Accelerations first, and then it does not matter; after others they have these others' commands already."""
    both = shaker().close(gain(-0.6)).close(gain(-0.5, "x_q"))
    step = expm(np.block([[A, B], [np.zeros((1, 3))]]) * PERIOD)[:2]
    command = np.append(-0.6 * A[1] - [0.5, 0.0], -0.6 / MASS)
    right = np.vstack([np.hstack([step[:, :2], np.zeros((2, 1))]) + step[:, 2:] * command, command])
    assert np.sort_complex(np.linalg.eigvals(both.nominal.A)) == pytest.approx(
        np.sort_complex(np.linalg.eigvals(right)), abs=ROUNDING
    )
    with pytest.raises(tt.ModelError, match=r"acc\.x.*control\.append.*direct-feedthrough"):
        shaker().close(gain(-0.5, "x_q")).close(gain(-0.6))
