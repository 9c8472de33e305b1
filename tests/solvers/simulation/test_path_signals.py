"""Paths of commands and measurements in simulations, against closed forms; a mass is pushed along a rail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_lyapunov

import titop as tt
from titop.blocks.basics.errors import ModelError
from titop.solvers.simulation.path_signals import PathChain

control = pytest.importorskip("control")

#: Integrations with these tolerances have errors below it.
EXACT_RUN: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
RUN = 1e-9
#: Rounding of sums of few values.
ROUNDING = 1e-12


def cart(motor: Any = None, encoder: Any = None, acc: Any = None, engine: str = "reference") -> tt.Model:
    s = tt.System("cart", gravity=[0, 0, 0])
    body = tt.RigidBody("body", mass=2.0)
    s.connect("world", body, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "rail", path=motor))
    s.add_sensor(tt.Encoder("encoder", "rail", path=encoder))
    s.add_sensor(tt.Accelerometer("acc", body, path=acc))
    return s.resolve(engine=engine)


def reading(name: str, step: float = 0.1) -> Any:
    """Return a controller that reads a sensor and does nothing."""
    return control.ss([], [], [], [[0.0]], step, inputs=[name], outputs=["motor"])


def stepping(step: float = 0.1) -> Any:
    """Return a controller that commands its reference."""
    return control.ss([], [], [], [[1.0]], step, inputs=["r"], outputs=["motor"])


def run(model: tt.Model, t: Any, **options: Any) -> tt.Trajectory:
    return tt.simulate(model, t, [0.0], [0.0], **(EXACT_RUN | options))


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_a_lag_answers_a_step(engine: str, method: str) -> None:
    t = np.linspace(0.0, 1.0, 11)
    trajectory = run(cart(tt.SignalPath.lag(0.2), engine=engine), t, u={"motor": 3.0}, method=method)
    force = 3.0 * (1.0 - np.exp(-t / 0.2))
    assert np.allclose(trajectory.x[:, 0], force, atol=RUN)
    assert np.allclose(trajectory.a[:, 0], force / 2.0, atol=RUN)


def test_second_order_answers_a_step() -> None:
    t, omega, damping = np.linspace(0.0, 1.0, 11), 9.0, 0.4
    trajectory = run(cart(tt.SignalPath.second_order(omega, damping)), t, u={"motor": 3.0})
    fast, decay = omega * np.sqrt(1 - damping**2), np.exp(-damping * omega * t)
    force = 3.0 * (1.0 - decay * (np.cos(fast * t) + damping * omega / fast * np.sin(fast * t)))
    assert np.allclose(2.0 * trajectory.a[:, 0], force, atol=RUN)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_delays_are_exact(engine: str) -> None:
    """A step at zero acts from 0.25 s on, between two samples of the controller, and then through a lag."""
    t = np.linspace(0.0, 1.0, 41)
    for path, force in (
        (tt.SignalPath(delay=0.25), lambda since: 1.0 * (since >= 0)),
        (tt.SignalPath.lag(0.2, delay=0.25), lambda since: np.where(since > 0, 1.0 - np.exp(-since / 0.2), 0.0)),
    ):
        loop = {"controller": stepping(), "reference": {"r": 1.0}}
        trajectory = run(cart(path, engine=engine), t, **loop)
        assert np.allclose(2.0 * trajectory.a[:, 0], force(t - 0.25 + 1e-12), atol=RUN)
    assert not np.allclose(2.0 * trajectory.a[:, 0], force(t - 0.24), atol=1e-3)


def test_continuous_commands_are_sampled_then_delayed() -> None:
    path = tt.SignalPath(sample_time=0.1, delay=0.15)
    t = np.linspace(0.0, 1.0, 101)
    trajectory = run(cart(path), t, u={"motor": lambda t, q, v: 1.0 + t})
    expected = 1.0 + np.maximum(0.1 * np.floor((t - 0.15) / 0.1 + 1e-9), 0.0)
    assert np.allclose(trajectory.u[:, 0], expected, atol=ROUNDING)


def test_rates_are_limited() -> None:
    """The command jumps to 1; with 5 per s and 0.02 s a sample it gets there in 10 steps of 0.1."""
    path = tt.SignalPath(sample_time=0.02, rate_limit=5.0)
    t = np.linspace(0.0, 0.4, 21)
    trajectory = run(cart(path), t, u={"motor": lambda t, q, v: float(t > 0)})
    assert np.allclose(trajectory.u[:, 0], np.minimum(0.1 * np.arange(21), 1.0), atol=ROUNDING)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (tt.SignalPath(dead_zone=0.3), [-0.9, 0.0, 0.0, 0.5]),
        (tt.SignalPath(limits=(-0.5, 0.6)), [-0.5, -0.2, 0.3, 0.6]),
        (tt.SignalPath(quantum=0.25), [-1.25, -0.25, 0.25, 0.75]),
        (tt.SignalPath(quantum=0.25, bias=0.01), [-1.24, -0.24, 0.26, 0.76]),
        (tt.SignalPath(dead_zone=0.1, limits=(-1.0, 1.0), quantum=0.3, bias=1.0), [0.1, 1.0, 1.3, 1.6]),
    ],
)
def test_memoryless_elements_act_in_order(path: tt.SignalPath, expected: list[float]) -> None:
    values = [-1.2, -0.2, 0.3, 0.8]
    rows = run(cart(path), np.arange(4.0), controller=stepping(1.0), reference={"r": np.array(values)}).u[:, 0]
    assert np.allclose(rows, expected, atol=ROUNDING)
    chain = PathChain(tt.Encoder("e", "rail", path=path), [0.0, 1.0], np.random.default_rng(0), False)
    measured = [chain.change(np.array([value])).item() for value in values]
    lattice = path.quantum or 1.0
    if path.quantum:  # of a sensor errors come first: all readings lie on the lattice
        assert np.allclose(np.round(np.array(measured) / lattice) * lattice, measured, atol=ROUNDING)
    else:
        assert np.allclose(measured, expected, atol=ROUNDING)


def test_sensors_are_sampled_held_and_late() -> None:
    t = np.linspace(0.0, 2.0, 41)
    path = tt.SignalPath(sample_time=0.25, delay=0.1, quantum=0.003)
    trajectory = run(cart(encoder=path), t, u={"motor": 4.0}, controller=reading("encoder", 0.05))
    at = np.maximum(0.25 * np.floor((trajectory.control.t - 0.1) / 0.25 + 1e-9), 0.0)
    assert np.allclose(trajectory.control.y[:, 0], 0.003 * np.round(at**2 / 0.003), atol=1e-9)  # positions t^2


@pytest.mark.parametrize("begin", [1e6, 7e8])
def test_simulations_may_begin_at_late_times(begin: float) -> None:
    """Times are rounded by more than a part of a sample: instants stay common, and none at the end is lost."""
    motor = tt.SignalPath(sample_time=0.02, delay=0.015, quantum=0.01)
    encoder = tt.SignalPath(sample_time=0.03, delay=0.005, noise_density=0.01)
    K = control.ss(0.5, [[1.0, 0.2]], 0.3, [[-4.0, 0.05]], 0.01, inputs=["encoder", "acc_x"], outputs=["motor"])
    loops, t = [tt.Loop(K, delay=0.035), stepping(0.05)], 0.005 * np.arange(41)
    loops[1] = tt.Loop(loops[1], reference={"r": 1.0})
    early, late = (run(cart(motor, encoder), t + since, controller=loops) for since in (0.0, begin))
    rounding = 10 * np.spacing(begin)  # of times, where rates are below ten
    assert np.allclose(late.q, early.q, atol=rounding)
    assert np.allclose(late.u, early.u, atol=rounding)
    for before, now in zip(early.controls, late.controls, strict=True):
        assert np.allclose(now.y, before.y, atol=rounding)
        assert np.allclose(now.t - begin, before.t, atol=rounding)
        assert np.allclose(now.held("motor", late.t), before.held("motor", early.t), atol=10 * rounding)


def test_filtered_measurements_reach_controllers() -> None:
    """Of a lag whose position is ``t^2``; the filter of an accelerometer receives 2 m/s^2 from the start."""
    t, T = np.linspace(0.0, 1.0, 11), 0.2
    expected = {"encoder": t**2 - 2 * T * t + 2 * T**2 * (1 - np.exp(-t / T)), "acc_x": 2.0 * (1.0 - np.exp(-t / T))}
    for name, right in expected.items():
        for sampled in (True, False):
            K = control.ss(-1, 0, 1, 0, inputs=[name], outputs=["motor"])
            loop = {"controller": reading(name) if sampled else K}
            model = cart(encoder=tt.SignalPath.lag(T), acc=tt.SignalPath.lag(T))
            trajectory = run(model, t, u={"motor": 4.0}, **loop)
            assert np.allclose(trajectory.control.y[:, 0], right, atol=RUN)


def test_continuous_loops_read_and_drive_filters_with_implicit_methods() -> None:
    """The closed loop is linear: its matrix exponential, of position, rate, both lags and the controller's state."""
    K = control.ss(-3.0, 1.0, 2.0, -4.0, inputs=["encoder"], outputs=["motor"])
    model, t = cart(tt.SignalPath.lag(0.05), tt.SignalPath.lag(0.02)), np.linspace(0.0, 1.0, 6)
    A = np.zeros((5, 5))
    A[0, 1], A[1, 2] = 1.0, 0.5
    A[2] = [0.0, 0.0, -20.0, 20.0 * 4.0, 20.0 * 2.0]  # u = 2 z + D e with e = -y and D = -4
    A[3, [0, 3]] = 50.0, -50.0
    A[4, 3:] = -1.0, -3.0
    right = np.array([expm(A * time)[0, 0] for time in t])
    for method in ("DOP853", "Radau"):
        trajectory = tt.simulate(model, t, [1.0], [0.0], controller=K, method=method, rtol=1e-9, atol=1e-10)
        assert np.allclose(trajectory.q[:, 0], right, atol=1e-6)  # errors of 1e-9 a step grow: the loop is unstable


def noisy(**loop: Any) -> tt.Trajectory:
    model = cart(
        tt.SignalPath.lag(0.1, sample_time=0.05, noise_density=0.2, random_walk=0.1),
        tt.SignalPath(sample_time=0.1, noise_density=0.01, random_walk=0.01, bias_instability=0.01),
    )
    K = control.ss([], [], [], [[-1.0]], 0.1, inputs=["encoder"], outputs=["motor"])
    return run(model, np.linspace(0.0, 2.0, 21), controller=K, **loop)


def test_the_same_seed_gives_the_same_bits() -> None:
    first, again, other = noisy(seed=1), noisy(seed=1), noisy(seed=2)
    assert (first.q == again.q).all()
    assert (first.control.y == again.control.y).all()
    assert (first.q[1:] != other.q[1:]).all()
    sequence = [noisy(seed=np.random.SeedSequence(1)), noisy(seed=1)]
    assert (sequence[0].q == sequence[1].q).all()
    path = tt.SignalPath(sample_time=0.1, noise_density=0.01, random_walk=0.01, bias_instability=0.01)
    rows = [
        run(cart(encoder=path, engine=engine), [0.0, 1.0], controller=reading("encoder"), seed=1).control.y
        for engine in ("reference", "compiled")
    ]
    assert (rows[0] == rows[1]).all()
    assert rows[0].any()


def test_noise_of_samples_is_apart_from_noise_of_sensors() -> None:
    """`noise` is a deviation for each sample; it changes nothing in what sensors and actuators draw."""
    with_noise, without = noisy(seed=1, noise={"encoder": 1e-9}), noisy(seed=1)
    assert np.abs(with_noise.control.y - without.control.y).max() < 1e-7
    assert (with_noise.control.y != without.control.y).any()


@pytest.mark.parametrize("seed", [0, 1])
def test_densities_are_two_sided(seed: int) -> None:
    """A resting sensor's samples deviate by density / sqrt(T), and walk by random_walk sqrt(t)."""
    count, T = 4000, 0.01
    path = tt.SignalPath(sample_time=T, noise_density=[0.3], random_walk=[0.2])
    chain = PathChain(tt.Encoder("e", "rail", path=path), [0.0, 1.0], np.random.default_rng(seed), True)
    for k in range(count):
        chain.take(k * T, np.zeros(1))
    steps = np.diff(np.ravel(chain._values))
    # steps are differences of two draws of noise and one of the walk; five deviations of an estimate from 4000 draws
    assert np.std(steps) == pytest.approx(np.sqrt(2 * 0.3**2 / T + 0.2**2 * T), rel=5 / np.sqrt(count))
    path = tt.SignalPath(sample_time=T, random_walk=0.2)
    chain = PathChain(tt.Encoder("e", "rail", path=path), [0.0, 1.0], np.random.default_rng(seed), True)
    for k in range(count):
        chain.take(k * T, np.zeros(1))
    walk = np.ravel(chain._values)
    assert walk[0] == 0.0
    assert np.std(np.diff(walk)) == pytest.approx(0.2 * np.sqrt(T), rel=5 / np.sqrt(2 * count))


class Many(tt.Gyro):
    """A gyro with 400 axes, each of which errs by itself: as many runs at once."""

    outputs = tuple(f"w{k}" for k in range(400))


def allan_deviation(runs: Any, steps: int) -> float:
    """Return the overlapping Allan deviation of samples (n, runs) for averages over some of them, the mean over all runs."""
    sums = np.concatenate([np.zeros((1, runs.shape[1])), np.cumsum(runs, axis=0)])
    means = (sums[steps:] - sums[:-steps]) / steps
    return float(np.sqrt(np.mean((means[steps:] - means[:-steps]) ** 2) / 2))


@pytest.mark.parametrize(
    "errors",
    [
        {"noise_density": 0.3},
        {"random_walk": 0.2},
        {"bias_instability": 0.5, "correlation_time": (0.3, 300.0)},
        {"bias_instability": 0.5, "correlation_time": 2.0},
        {"noise_density": 0.3, "random_walk": 0.02, "bias_instability": 0.2, "correlation_time": (1.0, 100.0)},
    ],
    ids=["white", "walk", "flicker", "drift", "all"],
)
def test_allan_curves_of_400_runs_are_the_closed_form(errors: dict[str, Any]) -> None:
    """With 32 independent differences or more in each run: an estimate within 0.6 %, and the samples' own 2 %."""
    T, count = 0.1, 2048
    path = tt.SignalPath(sample_time=T, **errors)
    chain = PathChain(Many("gyro", tt.RigidBody("body", 1.0), path=path), [0.0, 1.0], np.random.default_rng(4), True)
    for k in range(count):
        chain.take(k * T, np.zeros(400))
    runs, steps = np.array(chain._values), [5, 8, 16, 32]
    found = np.array([allan_deviation(runs, k) for k in steps])
    assert np.allclose(found, path.allan_deviation(T * np.array(steps)), rtol=0.05)
    assert not np.allclose(
        found, tt.SignalPath(**(errors | {"noise_density": 0.6})).allan_deviation(T * np.array(steps)), rtol=0.05
    )
    if set(errors) == {"noise_density"}:
        assert allan_deviation(runs, 1) == pytest.approx(path.allan_deviation(T), rel=0.01)  # 800,000 samples


def test_a_bias_has_always_been_unstable() -> None:
    """Processes are stationary from the first sample on: 400 of them with five states each, deviations within 4 sigma."""
    path = tt.SignalPath(sample_time=0.1, bias_instability=2.0, correlation_time=(10.0, 1e4))
    chain = PathChain(Many("gyro", tt.RigidBody("body", 1.0), path=path), [0.0, 1.0], np.random.default_rng(1), True)
    chain.take(0.0, np.zeros(400))
    times, share = path.drifts
    assert len(times) == 4
    assert np.std(chain._values[0]) == pytest.approx(2.0 * share * 2.0, rel=4 / np.sqrt(2 * 400))


def test_rounding_has_its_density() -> None:
    path, rng = tt.SignalPath(sample_time=0.1, quantum=0.5), np.random.default_rng(2)
    chain = PathChain(Many("gyro", tt.RigidBody("body", 1.0), path=path), [0.0, 1.0], rng, True)
    signals = rng.normal(size=(100, 400), scale=5.0)
    for k, signal in enumerate(signals):
        chain.take(0.1 * k, signal)
    errors = np.array(chain._values) - signals
    assert np.var(errors) * 0.1 == pytest.approx(path.spectrum(1.0), rel=5 * np.sqrt(0.8 / 40000))  # of uniform errors
    assert allan_deviation(errors, 10) == pytest.approx(path.allan_deviation(1.0), rel=0.05)


@pytest.mark.parametrize("sample_time", [None, 0.1])
def test_controllers_read_turned_and_scaled_axes(sample_time: float | None) -> None:
    """As `outputs` and linear models have them: 2 m/s^2 along x, read along axes turned about z, with a bias behind them."""
    path = tt.SignalPath(sample_time=sample_time, scale_factor=[0.1, 0.2, 0.0], misalignment=[0.0, 0.0, 0.01], bias=0.5)
    model = cart(acc=path)
    K = control.ss([], [], [], np.zeros((1, 3)), 0.1, inputs=["acc_x", "acc_y", "acc_z"], outputs=["motor"])
    read = run(model, [0.0, 0.5], u={"motor": 4.0}, controller=K).control.y
    scaled = np.array([2.0 * 1.1, -2.0 * 0.01 * 1.2, 0.0])
    assert np.allclose(read[1:], scaled + 0.5, atol=RUN)
    assert np.allclose(model.outputs([0.0], [0.0], [2.0])[1:], scaled, atol=ROUNDING)
    linear = tt.linearize(model, [0.0], ["motor"], ["acc"])
    assert np.allclose(linear.D.ravel(), scaled / 4.0, atol=ROUNDING)
    lagged = tt.SignalPath.lag(0.2, scale_factor=[0.1, 0.2, 0.0], misalignment=[0.0, 0.0, 0.01])
    filtered = tt.linearize(cart(acc=lagged), [0.0], ["motor"], ["acc"])
    assert np.allclose(filtered(1j).ravel(), scaled / 4.0 / (1 + 0.2j), atol=ROUNDING)
    aligned = model.with_parameters({"acc.path.misalignment.2": 0.0, "acc.path.scale_factor.0": 0.0})
    assert np.allclose(aligned.outputs([0.0], [0.0], [2.0])[1:], [2.0, 0.0, 0.0], atol=ROUNDING)


def test_uneven_samples_are_told() -> None:
    model = cart(encoder=tt.SignalPath(sample_time=0.03))
    with pytest.warns(tt.ModelWarning, match=r"encoder\.path\.sample_time.*0\.03 s, read each 0\.1 s.*0 to 0\.03 s old"):
        trajectory = run(model, [0.0, 1.0], u={"motor": 4.0}, controller=reading("encoder"))
    at = 0.03 * np.floor(trajectory.control.t / 0.03 + 1e-9)
    assert np.allclose(trajectory.control.y[:, 0], at**2, atol=RUN)  # positions t^2


@pytest.mark.parametrize("step", [0.01, 0.03, 0.12])
def test_even_samples_are_not(step: float, recwarn: pytest.WarningsRecorder) -> None:
    run(cart(encoder=tt.SignalPath(sample_time=0.03)), [0.0, 0.3], controller=reading("encoder", step))
    run(cart(encoder=tt.SignalPath(bias=0.1)), [0.0, 0.3], controller=reading("encoder", step))
    assert not recwarn.list


@pytest.mark.long
def test_the_variance_of_filtered_noise_is_that_of_lyapunov() -> None:
    """Held noise drives a filter of second order; at the samples its covariance solves the discrete Lyapunov equation."""
    T, density, count = 0.05, 0.2, 20000
    path = tt.SignalPath.second_order(8.0, 0.5, sample_time=T, noise_density=density)
    trajectory = run(cart(path, engine="compiled"), T * np.arange(count), rtol=1e-8, atol=1e-9, seed=3)
    A, B, C, _ = path.law(1)
    both = expm(np.block([[A, B], [np.zeros((1, 3))]]) * T)
    right = solve_discrete_lyapunov(both[:2, :2], both[:2, 2:] @ both[:2, 2:].T * density**2 / T)
    force = 2.0 * trajectory.a[200:, 0]
    # correlated over about 0.25 s: some 4000 independent samples, an estimate within 5 deviations
    assert np.var(force) == pytest.approx((C @ right @ C.T).item(), rel=5 * np.sqrt(2 / 4000))


def test_elements_without_a_sample_time_are_refused_by_name() -> None:
    read, held = reading("encoder"), {"motor": 1.0}
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"motor": tt.SignalPath(noise_density=1.0)}, {"u": held}, "motor.path.noise_density"),
        ({"motor": tt.SignalPath(random_walk=1.0)}, {"u": held}, "motor.path.random_walk"),
        ({"motor": tt.SignalPath(bias_instability=1.0)}, {"u": held}, "motor.path.bias_instability"),
        ({"motor": tt.SignalPath(rate_limit=1.0)}, {"u": held}, "motor.path.rate_limit"),
        ({"motor": tt.SignalPath(delay=0.1)}, {"u": {"motor": lambda t, q, v: t}}, "motor.path.delay"),
        ({"motor": tt.SignalPath(quantum=0.1)}, {"u": {"motor": lambda t, q, v: t}}, "motor.path.quantum"),
        ({"encoder": tt.SignalPath(delay=0.1)}, {"controller": read}, "encoder.path.delay"),
        ({"encoder": tt.SignalPath(noise_density=0.1)}, {"controller": read}, "encoder.path.noise_density"),
    ]
    for paths, loads, where in cases:
        with pytest.raises(ModelError) as refused:
            run(cart(**paths), [0.0, 1.0], **loads)
        assert [(found.code, found.where) for found in refused.value.findings] == [("no-sample-time", where)]
    run(cart(encoder=tt.SignalPath(delay=0.1)), [0.0, 0.1], u=held)  # nothing reads it
    with pytest.raises(ModelError, match="bad-seed"):
        run(cart(tt.SignalPath(sample_time=0.1)), [0.0, 1.0], u=held, seed="x")


def test_energy_of_a_path_without_elements_is_that_of_none() -> None:
    t, options = np.linspace(0, 1, 11), {"u": {"motor": lambda t, q, v: np.sin(t)}}
    assert (run(cart(tt.SignalPath()), t, **options).q == run(cart(), t, **options).q).all()


def test_chains_go_on_where_they_were() -> None:
    elements = {"delay": 0.25, "noise_density": 0.1, "random_walk": 0.1, "bias_instability": 0.1, "rate_limit": 2.0}
    device = tt.Encoder("e", "rail", path=tt.SignalPath(sample_time=0.1, **elements))
    whole, first, rest = (PathChain(device, [0.0, 1.0], np.random.default_rng(seed), True) for seed in (5, 5, 9))

    def feed(chain: PathChain, steps: range) -> None:
        for k in steps:
            chain.take(0.1 * k, np.array([np.sin(k)]))
            chain.release(0.1 * k)

    feed(whole, range(20))
    feed(first, range(8))
    rest.recall(first.memory(), 0.7)
    feed(rest, range(8, 20))
    assert (np.ravel(rest._values)[-12:] == np.ravel(whole._values)[-12:]).all()
    assert whole.memory()["generator"] == rest.memory()["generator"]
    assert rest.next == whole.next
