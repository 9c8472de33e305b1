"""Delays and noise of devices in linear models, against exponentials and python-control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.signal import welch

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


def test_all_noises_are_inputs() -> None:
    """Of actuators, and of what is read of sensors; those that are named already stay where they are."""
    model = swing(
        motor=tt.SignalPath.lag(0.1, noise_density=0.3, sample_time=0.1, quantum=0.2),
        gyro=tt.SignalPath(noise_density=[0.1, 0.0, 0.3], bias_instability=0.2, correlation_time=(1.0, 10.0), random_walk=0.1),
        angle=tt.SignalPath(noise_density=0.5),
    )
    at, outputs = model.neutral(), ["hinge.q", "gyro.x"]
    system = tt.linearize(model, at, ["push", "gyro.x.walk"], outputs, noise=True)
    expected = ["push_x", "push_y", "push_z", "gyro_x_walk", "motor_noise", "motor_rounding"]
    assert system.input_labels == [*expected, "gyro_x_noise", "gyro_x_instability"]
    named = [*expected[4:], "gyro_x_noise", "gyro_x_instability"]
    paths = ["push", "gyro.x.walk", *("_".join(each.rsplit("_", 1)).replace("_", ".") for each in named)]
    by_name = tt.linearize(model, at, paths, outputs)
    assert np.array_equal(by_name(2j), system(2j))
    two = tt.linearize(model, at, [], ["gyro", "angle", ("twice", lambda q, v, a, u: 2 * q)], noise=True)
    assert two.input_labels[2] == "angle_noise"
    assert "gyro_y_noise" not in two.input_labels  # of density zero
    assert tt.linearize(model, at, ["motor"], outputs).input_labels == ["motor"]
    family = tt.lpv(model, {"bob.mass": [1.0, 2.0]}, inputs=["motor"], outputs=outputs, noise=True)
    member = tt.linearize(model, tt.trim(model), ["motor"], outputs, noise=True)
    assert np.allclose(family.at(bob_mass=2.0)(2j), member(2j), atol=1e-12)  # the same point
    fractional = tt.lft(model, at, {"bob.mass": (1.0, 3.0)}, ["motor"], outputs, noise=True)
    assert np.allclose(fractional.nominal(2j), tt.linearize(model, at, ["motor"], outputs, noise=True)(2j), atol=SERIES)
    with pytest.raises(ModelError, match=r"noise.*wrong-type"):
        tt.linearize(model, at, [], outputs, noise="all")


def test_noise_has_the_spectrum_and_variance_of_its_path() -> None:
    """``|G(2 pi i f)|^2`` is the path's two-sided density, and Lyapunov's equation gives the deviations of its processes."""
    path = tt.SignalPath(
        noise_density=0.1, random_walk=0.02, bias_instability=0.3, correlation_time=(1.0, 100.0), quantum=0.4, sample_time=0.1
    )
    system = tt.linearize(swing(gyro=path), [0.0], [], ["gyro.y"], noise=True)
    assert system.ninputs == 4
    for f in (1e-3, 0.1, 3.0):
        densities = np.abs(system(2j * np.pi * f)) ** 2
        assert np.sum(densities) == pytest.approx(path.spectrum(f), rel=1e-9)
    one = tt.linearize(swing(gyro=path), [0.0], ["gyro.y.instability"], ["gyro.y"])
    k = [k for k, name in enumerate(one.state_labels) if "instability" in name]
    A, B, C = one.A[np.ix_(k, k)], one.B[k], one.C[:, k]
    times, share = path.drifts
    assert (C @ control.lyap(A, B @ B.T) @ C.T).item() == pytest.approx(len(times) * (0.3 * share) ** 2, rel=1e-9)


def pointing(**motor: Any) -> tt.Model:
    """Return an axis of a satellite with a star tracker and a gyro."""
    s = tt.System("axis", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=10.0, inertia=2.0)
    s.connect("world", hub, tt.Revolute("axis", axis=[0, 0, 1]))
    s.add_actuator(tt.Motor("wheel", "axis", path=tt.SignalPath(noise_density=1e-3, **motor)))
    sampled, drift = {"sample_time": SAMPLE}, {"bias_instability": 2e-3, "correlation_time": (0.3, 3.0)}
    s.add_sensor(tt.StarTracker("tracker", hub, path=tt.SignalPath(noise_density=1e-3, **sampled)))
    s.add_sensor(tt.Gyro("gyro", hub, path=tt.SignalPath(noise_density=5e-4, **drift, **sampled)))
    return s.resolve()


#: Of a loop of 1 rad/s (s): with half of it as a delay, linear models of the loop are right to its square.
SAMPLE = 0.05


#: Inertia times 1, inertia times twice 0.7; and the controller that has them.
GAINS, READ = np.array([[2.0, 2.8]]), ["tracker.z", "gyro.z"]
HOLDING = control.ss([], [], [], GAINS, SAMPLE, inputs=["tracker_z", "gyro_z"], outputs=["wheel"])


def closed_by_hand() -> tuple[Any, Any, Any]:
    """Return A, B and C of the loop in continuous time, from all noises to the angle."""
    plant = tt.linearize(pointing(delay=SAMPLE / 2), [0.0], ["wheel"], [*READ, "axis.q"], noise=True)
    left, angle = plant.B[:, :1] @ GAINS, plant.C[2:]
    return plant.A - left @ plant.C[:2], plant.B[:, 1:] - left @ plant.D[:2, 1:], angle


def test_noise_of_sampled_loops_is_a_sequence() -> None:
    """Of variance one over the sample time: the angle's deviation is that in continuous time."""
    model, outputs = pointing(sample_time=SAMPLE), [*READ, "axis.q"]
    family = tt.lft(model, [0.0], {"hub.inertia.zz": (1.8, 2.2)}, ["wheel"], outputs, noise=True)
    loop = family.close(HOLDING, sign=-1).nominal
    chosen = [k for k, name in enumerate(loop.input_labels) if name.endswith(("noise", "instability"))]
    angle, B = loop.C[loop.output_labels.index("axis_q")], loop.B[:, chosen]
    found = angle @ control.dlyap(loop.A, B @ B.T / SAMPLE) @ angle
    A, B, right = closed_by_hand()
    assert len(chosen) == B.shape[1] == 4
    assert found == pytest.approx((right @ control.lyap(A, B @ B.T) @ right.T).item(), rel=SAMPLE**2)


@pytest.mark.long
def test_a_simulated_loop_has_the_variance_and_the_spectrum_of_the_linear_one() -> None:
    A, B, right = closed_by_hand()
    covariance, length = control.lyap(A, B @ B.T), 1000
    R = [(right @ expm(0.1 * k * A) @ covariance @ right.T).item() for k in range(400)]  # autocorrelation, each 0.1 s
    t = SAMPLE * np.arange(40 * length + 1000)
    trajectory = tt.simulate(pointing(sample_time=SAMPLE), t, [0.0], [0.0], controller=HOLDING, rtol=1e-6, atol=1e-9, seed=7)
    angle = trajectory.q[1000:, 0]
    independent = SAMPLE * len(angle) / (0.1 * (2 * np.sum(np.square(R)) / R[0] ** 2 - 1))
    assert independent > 500
    assert np.mean(angle**2) == pytest.approx(R[0], rel=4 * np.sqrt(2 / independent))
    f, found = welch(angle, 1 / SAMPLE, nperseg=length, return_onesided=False, detrend=False)
    chosen = (f > 0.05) & (f < 0.5)
    at = [right @ np.linalg.solve(2j * np.pi * x * np.eye(len(A)) - A, B) for x in f[chosen]]
    ratios = found[chosen] / [np.sum(np.abs(each) ** 2) for each in at]
    # 79 sections that overlap by half are as good as 65 independent ones; the largest of 22 deviations, and their mean
    assert len(ratios) == 22
    assert np.abs(ratios - 1).max() < 4.5 / np.sqrt(65)
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 / np.sqrt(65 * 22 / 2))


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
