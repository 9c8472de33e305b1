"""Delays and noise of devices in linear models, against exponentials and python-control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.errors import ModelError
from titop.solvers.linear.path_series import ORDER, pade

control = pytest.importorskip("control")

#: Of responses of some dozens of states, several of them in the same place.
SERIES = 1e-8


def swing(damping: float = 0.3, engine: str = "reference", **paths: Any) -> tt.Model:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1])
    s.connect("world", bob, joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=damping))
    s.add_actuator(tt.Motor("motor", "hinge", path=paths.get("motor")))
    s.add_actuator(tt.Force("push", bob, path=paths.get("push")))
    s.add_sensor(tt.Encoder("angle", "hinge", path=paths.get("angle")))
    s.add_sensor(tt.Gyro("gyro", bob, path=paths.get("gyro")))
    return s.resolve(engine=engine)


def response(model: tt.Model, inputs: Any, outputs: Any, s: complex) -> Any:
    return np.atleast_2d(tt.linearize(model, model.neutral(), inputs, outputs)(s, squeeze=False))


def test_delays_are_fractions_of_known_error() -> None:
    late, at_once = {"motor": tt.SignalPath(delay=0.2), "gyro": tt.SignalPath(delay=0.1)}, swing()
    inputs, outputs = ["motor", "push"], ["angle", "gyro"]
    for omega in (1.0, 4.0, 10.0):
        s = 1j * omega
        right = response(at_once, inputs, outputs, s)
        right[:, 0] *= np.exp(-0.2 * s)
        right[1:] *= np.exp(-0.1 * s)
        apart = response(swing(**late), inputs, outputs, s) - right
        error = 4e-8 * ((0.2 * omega) ** 9 + (0.1 * omega) ** 9)
        assert (np.abs(apart) <= (error + SERIES) * np.abs(right) + 1e-12).all()
        assert np.abs(response(at_once, inputs, outputs, s) - right).max() > 0.01 * np.abs(right).max()


def test_a_whole_family_has_delays() -> None:
    model = swing(motor=tt.SignalPath.lag(0.1, delay=0.2), gyro=tt.SignalPath(delay=0.1))
    family = tt.lpv(model, {"bob.mass": [1.0, 2.0, 3.0]}, inputs=["motor"], outputs=["angle", "gyro"])
    member = tt.linearize(model, tt.trim(model), ["motor"], ["angle", "gyro"])
    at = family.at(bob_mass=2.0)
    assert at.state_labels == member.state_labels
    assert at.nstates == 2 + 1 + 4 * ORDER
    assert np.allclose(at(2j), member(2j), atol=1e-12)  # the same point


def test_noise_inputs_have_unit_density() -> None:
    model = swing(
        motor=tt.SignalPath.lag(0.1, noise_density=0.3, random_walk=0.2),
        gyro=tt.SignalPath(noise_density=[0.1, 0.2, 0.3], delay=0.1),
        angle=tt.SignalPath.lag(0.2, noise_density=0.5),
    )
    s = 2.0j
    plain = response(model, ["motor"], ["angle", "gyro"], s)[:, 0]
    found = response(model, ["motor.noise", "motor.walk", "gyro.noise", "angle.noise"], ["angle", "gyro"], s)
    assert np.allclose(found[:, 0], 0.3 * plain, rtol=SERIES)
    assert np.allclose(found[:, 1], 0.2 / s * plain, rtol=SERIES)
    assert np.allclose(found[1:, 2:5], np.diag([0.1, 0.2, 0.3]) * np.exp(-0.1 * s), atol=SERIES)
    assert np.allclose(found[0, 2:5], 0.0)
    assert np.allclose(found[:, 5], [0.5, 0.0, 0.0, 0.0], atol=SERIES)  # behind the filter
    system = tt.linearize(model, model.neutral(), ["motor.noise", "gyro.noise"], ["gyro"])
    assert system.input_labels == ["motor_noise", "gyro_x_noise", "gyro_y_noise", "gyro_z_noise"]
    assert tt.signal_table(system)["motor_noise"].unit == "1"
    single = tt.linearize(model, model.neutral(), ["gyro.y.noise"], ["gyro"])
    assert single.input_labels == ["gyro_y_noise"]


@pytest.mark.long
def test_simulated_noise_has_the_density_of_linear_models() -> None:
    """Variance of the angle under noise of the motor: of the Lyapunov equation of the linear model with unit white noise."""
    T, count = 0.05, 20000
    model = swing(4.0, "compiled", motor=tt.SignalPath.lag(0.1, noise_density=0.05, sample_time=T))
    system = tt.linearize(model, model.neutral(), ["motor.noise"], ["angle"])
    P = control.lyap(system.A, system.B @ system.B.T)
    trajectory = tt.simulate(model, T * np.arange(count), [0.0], [0.0], rtol=1e-6, atol=1e-8, seed=4)
    # decays within a second: some 1000 independent samples in 1000 s, an estimate within 4 deviations; small angles
    right = (system.C @ P @ system.C.T).item()
    assert np.var(trajectory.q[200:, 0]) == pytest.approx(right, rel=4 * np.sqrt(2 / 1000))
    assert right < 0.05**2


def test_what_is_not_noisy_has_no_noise() -> None:
    model = swing(motor=tt.SignalPath(random_walk=0.1))
    for name in ("motor.noise", "angle.noise"):
        with pytest.raises(ModelError, match="unknown-input"):
            tt.linearize(model, model.neutral(), [name], ["angle"])


def test_nonlinear_systems_refuse_delays_and_noise_by_name() -> None:
    model = swing(motor=tt.SignalPath(delay=0.1), gyro=tt.SignalPath(noise_density=0.1))
    with pytest.raises(ModelError, match=r"motor\.path\.delay.*no-delay"):
        model.to_nlsys(["motor"], ["angle"])
    with pytest.raises(ModelError, match=r"gyro\.noise.*no-noise|gyro\.x\.noise.*no-noise"):
        model.to_nlsys(["push", "gyro.noise"], ["angle"])
    filtered = swing(motor=tt.SignalPath.lag(0.5)).to_nlsys(["motor"], ["angle"])
    linear = tt.linearize(swing(motor=tt.SignalPath.lag(0.5)), [0.0], ["motor"], ["angle"])
    assert np.allclose(filtered.linearize([0.0] * 3, [0.0])(1j), linear(1j), atol=1e-12)  # rounding


def test_a_fraction_of_pade() -> None:
    assert np.allclose(pade(1, 0.5).response(0.0), 1.0)
