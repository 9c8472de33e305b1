from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.errors import ModelError
from titop.blocks.devices.path_filters import LinearFilter

control = pytest.importorskip("control")

#: Rounding of a response of a few poles.
ROUNDING = 1e-12


def response(path: tt.SignalPath, count: int, s: complex) -> Any:
    A, B, C, D = path.law(count)
    return C @ np.linalg.solve(s * np.eye(len(A)) - A, B) + D


@pytest.mark.parametrize("s", [0.3j, 4.0j, 1.0 + 2.0j])
def test_filters_are_those_of_python_control(s: complex) -> None:
    given = control.tf([0.2, 1.0, 3.0], [0.1, 1.0, 2.0])
    expected = {
        "lag": (tt.SignalPath.lag(0.25), 1.0 / (0.25 * s + 1.0)),
        "second": (tt.SignalPath.second_order(5.0, 0.3), 25.0 / (s * s + 3.0 * s + 25.0)),
        "transfer": (tt.SignalPath(given), given(s)),
        "states": (tt.SignalPath(control.ss(given)), given(s)),
        "gain": (tt.SignalPath(control.tf([2.0], [4.0])), 0.5),
    }
    for path, value in expected.values():
        assert np.allclose(response(path, 2, s), value * np.eye(2), rtol=ROUNDING, atol=ROUNDING)


def test_each_channel_may_have_a_filter_of_its_own() -> None:
    lag, direct = tt.SignalPath.lag(0.5), control.tf([1.0], [1.0])
    path = tt.SignalPath([lag, direct, control.tf([1.0], [1.0, 1.0])])
    assert np.allclose(response(path, 3, 2.0j), np.diag([1 / (1 + 1j), 1.0, 1 / (1 + 2j)]), atol=ROUNDING)
    assert path.state_names(3) == ("lag[0]", "filter[1]")
    assert path.state_units(("N", "N", "N")) == ("N", "1")
    crossed = tt.SignalPath(control.ss(-np.eye(2), [[0.0, 1.0], [1.0, 0.0]], np.eye(2), np.zeros((2, 2))))
    assert np.allclose(response(crossed, 2, 0.0), [[0.0, 1.0], [1.0, 0.0]], atol=ROUNDING)


def test_units_of_states_follow_the_signal() -> None:
    assert tt.SignalPath.second_order(5.0, 0.3).state_units(("rad", "m")) == ("rad", "rad/s", "m", "m/s")


def test_numbers_are_parameters() -> None:
    path = tt.SignalPath([tt.SignalPath.lag(0.5), tt.SignalPath.second_order(5.0, 0.3)], bias=[0.1, 0.2])
    assert set(path.parameters()) == {"time_constant.0", "frequency.1", "damping.1", "bias.0", "bias.1"}
    changed = path.with_parameters({"frequency.1": 7.0, "bias.0": -1.0})
    assert (changed.parameter("frequency.1"), changed.parameter("bias.0"), changed.parameter("bias.1")) == (7.0, -1.0, 0.2)
    assert (path.parameter("frequency.1"), path.parameter("bias.0")) == (5.0, 0.1)
    single = tt.SignalPath.lag(0.5, bias=0.1).with_parameters({"time_constant": 0.25, "bias": 0.3})
    assert single == tt.SignalPath.lag(0.25, bias=0.3)
    assert single != tt.SignalPath.lag(0.25)


def test_text_and_table() -> None:
    path = tt.SignalPath.lag(0.5, delay=0.1)
    assert repr(path) == "SignalPath(filter={'kind': 'lag', 'time_constant': 0.5}, delay=0.1)"
    assert repr(tt.SignalPath()) == "SignalPath()"
    (table,) = (each.described() for each in tt.SignalPath(control.tf([1.0], [1.0, 2.0, 3.0])).filters)
    again = LinearFilter.of_table(table)
    assert again.described() == table
    with pytest.raises(ModelError, match="bad-filter"):
        LinearFilter.of_table({"kind": "lag"})
    with pytest.raises(ModelError, match="bad-filter"):
        LinearFilter.of_table(table | {"B": [1.0]})


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"correlation_time": 0.0}, "bad-time"),
        ({"correlation_time": (2.0, 1.0)}, "bad-time"),
        ({"correlation_time": (1.0, 2.0, 3.0)}, "bad-time"),
        ({"correlation_time": "long"}, "bad-time"),
        ({"bias_instability": -1.0}, "negative"),
        ({"scale_factor": "much"}, "wrong-type"),
        ({"misalignment": 0.1}, "wrong-shape"),
        ({"delay": -1.0}, "bad-time"),
        ({"sample_time": 0.0}, "bad-time"),
        ({"bias": "much"}, "wrong-type"),
        ({"bias": [[1.0]]}, "wrong-type"),
        ({"bias": np.inf}, "not-finite"),
        ({"noise_density": -1.0}, "negative"),
        ({"quantum": np.nan}, "not-finite"),
        ({"rate_limit": 0.0}, "bad-rate"),
        ({"limits": (1.0, -1.0)}, "bad-limits"),
        ({"limits": 1.0}, "bad-limits"),
        ({"filter": 3.0}, "wrong-type"),
        ({"filter": []}, "wrong-length"),
        ({"noise_density": [1.0, 2.0], "random_walk": [1.0, 2.0, 3.0]}, "wrong-length"),
        ({"filter": control.tf([1.0, 0.0], [1.0])}, "improper"),
        ({"filter": control.ss(0.5, 1, 1, 0, 0.1)}, "discrete-filter"),
        ({"filter": control.ss(-1, [[1.0, 1.0]], 1, [[0.0, 0.0]])}, "wrong-shape"),
        ({"filter": [control.ss(-np.eye(2), np.eye(2), np.eye(2), np.zeros((2, 2)))]}, "wrong-shape"),
        ({"filter": control.ss(np.nan, 1, 1, 0)}, "not-finite"),
    ],
)
def test_refusals(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(ModelError) as refused:
        tt.SignalPath(**arguments)
    assert [finding.code for finding in refused.value.findings] == [code]


@pytest.mark.parametrize(
    ("path", "code", "where"),
    [
        (tt.SignalPath(bias=[1.0, 2.0]), "wrong-length", "gyro.path.bias"),
        (tt.SignalPath(limits=([0.0, 0.0], [1.0, 1.0])), "wrong-length", "gyro.path.limits"),
        (tt.SignalPath([tt.SignalPath.lag(1.0)] * 2), "wrong-length", "gyro.path.filter"),
        (tt.SignalPath.lag(-1.0), "bad-filter", "gyro.path.time_constant"),
        (tt.SignalPath.lag(0.0), "bad-filter", "gyro.path.time_constant"),
        (tt.SignalPath.lag("a"), "bad-filter", "gyro.path.time_constant"),
        ("lag", "wrong-type", "gyro.path"),
    ],
)
def test_a_path_has_to_fit_its_device(path: Any, code: str, where: str) -> None:
    errors, _ = tt.Gyro("gyro", tt.RigidBody("body", mass=1.0), path=path).check()
    assert [(finding.code, finding.where) for finding in errors] == [(code, where)]
    assert not tt.Gyro("gyro", tt.RigidBody("body", mass=1.0), path=tt.SignalPath(bias=[1.0, 2.0, 3.0])).check()[0]


ERRING: dict[str, Any] = {
    "white": {"noise_density": 0.2},
    "walk": {"random_walk": 0.1},
    "flicker": {"bias_instability": 0.5, "correlation_time": (0.1, 100.0)},
    "drift": {"bias_instability": 0.5, "correlation_time": 3.0},
    "rounding": {"quantum": 0.3, "sample_time": 0.5},
}
ERRING["all"] = {"noise_density": 0.1} | ERRING["walk"] | ERRING["flicker"] | ERRING["rounding"]


@pytest.mark.parametrize("kind", ERRING)
def test_allan_deviations_follow_from_spectra(kind: str) -> None:
    """``sigma^2 = 4 int S sin^4(pi f tau) / (pi f tau)^2 df`` (IEEE Std 952), period by period; ``3/8 S`` on average behind."""
    path, tau, periods = tt.SignalPath(**ERRING[kind]), 2.0, 200
    (few, weight), (many, weights) = (np.polynomial.legendre.leggauss(n) for n in (16, 200))

    def power(x: Any) -> Any:  # x the frequency times tau
        return 4 * path.spectrum(x / tau) * np.sin(np.pi * x) ** 4 / (np.pi * x) ** 2 / tau

    low = np.exp(10.0 * (many - 1.0))  # from 2e-9 to one period, evenly in the logarithm
    variance = (
        10.0 * weights @ (low * power(low)) + (power(np.add.outer(np.arange(1, periods), (1 + few) / 2)) @ weight / 2).sum()
    )
    variance += 4 * 3 / 8 * path.spectrum(1e6) / (np.pi**2 * periods * tau)
    # the average behind is right to the square of 1 over the periods
    assert path.allan_deviation(tau) == pytest.approx(np.sqrt(variance), rel=1e-4)
    assert path.allan_deviation(300 * tau) != pytest.approx(np.sqrt(variance), rel=1e-2)


def test_flicker_is_flat() -> None:
    path = tt.SignalPath(bias_instability=3.0)
    assert np.allclose(path.allan_deviation(np.geomspace(20, 2000, 30)), 0.664 * 3.0, rtol=0.02)  # two decades within four
    f = np.geomspace(1e-3, 1e-2, 30)  # away from the ends by factors of 16
    assert np.allclose(path.spectrum(f), 9.0 / (2 * np.pi * f), rtol=0.06)
    drift = tt.SignalPath(bias_instability=3.0, correlation_time=5.0).allan_deviation(np.geomspace(1, 100, 2000))
    assert drift.max() == pytest.approx(0.617 * 3.0, rel=1e-3)
    short = tt.SignalPath(bias_instability=3.0, correlation_time=1.0).allan_deviation([0.999e-4, 1.001e-4])  # of two forms
    assert short[1] / short[0] == pytest.approx(np.sqrt(1.001 / 0.999), rel=1e-6)


@pytest.mark.parametrize("times", [2.0, (1.0, 3.0), (1.0, 1e4), (1e-3, 1e5)])
def test_one_filter_shapes_all_processes(times: Any) -> None:
    path, f = tt.SignalPath(bias_instability=0.7, correlation_time=times), np.geomspace(1e-8, 1e4, 50)
    A, B, C, D = path.shaping("instability", 0.7)
    found = [C @ np.linalg.solve(2j * np.pi * x * np.eye(len(A)) - A, B) + D for x in f]
    # the zeros are found to 2e-12 each
    assert np.allclose(np.abs(np.ravel(found)) ** 2, path.spectrum(f), rtol=1e-10)
    assert (np.linalg.eigvals(A - B @ np.linalg.pinv(C @ B) @ C @ A).real < 1e-9).all(), "no zeros on the right"


def test_closed_forms_have_a_column_for_each_channel() -> None:
    path = tt.SignalPath(noise_density=[0.1, 0.2], random_walk=0.3)
    assert path.spectrum([[1.0, 2.0, 4.0]]).shape == (1, 3, 2)
    assert path.allan_deviation(2.0) == pytest.approx(np.sqrt([0.01 / 2 + 0.06, 0.04 / 2 + 0.06]), rel=ROUNDING)
    assert tt.SignalPath().spectrum(1.0) == 0.0
    for wrong in (0.0, [1.0, -1.0], "fast", np.inf * 0):
        with pytest.raises(ModelError, match="not-positive"):
            path.allan_deviation(wrong)
        with pytest.raises(ModelError, match="not-positive"):
            path.spectrum(wrong)


def test_scales_and_axes_are_parameters_if_given() -> None:
    assert not tt.SignalPath().is_scaled
    path = tt.SignalPath(scale_factor=[0.1, 0.2, 0.3], misalignment=[0.0, 0.0, 0.01])
    assert set(path.parameters()) == {"bias", *(f"{name}.{k}" for name in ("scale_factor", "misalignment") for k in range(3))}
    vector = np.array([1.0, 2.0, 3.0])
    assert np.allclose(path.scaling(3) @ vector, [1.1 * 1.02, 1.2 * 1.99, 1.3 * 3.0], rtol=ROUNDING)
    changed = path.with_parameters({"misalignment.2": 0.0, "scale_factor.1": 0.0})
    assert np.allclose(changed.scaling(3), np.diag([1.1, 1.0, 1.3]), rtol=ROUNDING)
    assert np.allclose(tt.SignalPath(scale_factor=-0.5).scaling(2), 0.5 * np.eye(2), rtol=ROUNDING)


def test_what_only_sensors_have_is_refused_elsewhere() -> None:
    body = tt.RigidBody("body", mass=1.0)
    turned, scaled = tt.SignalPath(misalignment=[0.1, 0.0, 0.0]), tt.SignalPath(scale_factor=0.0)
    wrong = {
        tt.GNSS("gnss", body, path=turned): ("no-vector", "gnss.path.misalignment"),
        tt.Torque("wheels", body, path=scaled): ("not-a-sensor", "wheels.path"),
        tt.ReactionSensor("load", "hinge", path=scaled): ("no-filter", "load.path.filter"),
        tt.Gyro("gyro", body, path=tt.SignalPath(scale_factor=[0.1, 0.2])): ("wrong-length", "gyro.path.scale_factor"),
    }
    for device, expected in wrong.items():
        assert [(finding.code, finding.where) for finding in device.check()[0]] == [expected]
    assert not tt.Gyro("gyro", body, path=turned).check()[0]
