"""Budgets: simulated loops, sums of sources by interpretation, units, refusals, texts and pictures."""

from __future__ import annotations

from collections.abc import Callable

import control
import numpy as np
import pytest
from scipy.signal import lfilter, ss2tf

import titop as tt
from titop.solvers.linear.state_space import named_system
from titop.solvers.pointing.error_sums import in_sigmas
from titop.solvers.signals.exported import Signal

Source = tt.ErrorSource
LOOP = control.ss(
    [[0.0, 1.0], [-1.0, -1.4]],
    [[0.0, 0.0], [1.0, 0.2]],
    [[1.0, 0.0], [0.0, 1.0]],
    [[0.0, 0.0], [0.0, 0.0]],
    inputs=["torque", "gyro"],
    outputs=["angle", "rate"],
)
SOURCES = {"torque": [Source.noise(1.0), Source.harmonic(0.2, 2.0)], "gyro": Source.bias(3.0, "gaussian")}


def code_of(call: Callable[[], object]) -> str:
    """Return the code of the error with which a call is refused."""
    with pytest.raises(tt.ModelError) as caught:
        call()
    return caught.value.code


def test_windows_of_a_simulated_loop() -> None:
    """66,000 windows of a sampled loop with noise and a line, in the time domain alone: 2 % is five standard errors."""
    period, n, apart, count = 0.2, 15, 45, 1_000_000
    A = np.array([[0.95, 0.18], [-0.25, 0.8]])
    B, C, D = np.array([[0.02], [0.2]]), np.array([[1.0, 0.3]]), np.array([[0.15]])
    loop = control.ss(A, B, C, D, period, inputs=["u"], outputs=["y"])
    rng, density, line = np.random.default_rng(3), 0.8, 0.11
    k = np.arange(count)
    u = density / np.sqrt(period) * rng.standard_normal(count) + 1.5 * np.sin(2 * np.pi * line * period * k + 0.7)
    (num,), den = ss2tf(A, B, C, D)
    y = lfilter(num, den, u)[1000:]
    sums = np.concatenate([[0.0], np.cumsum(y)])
    means = (sums[n:] - sums[:-n]) / n
    windows = y[: len(y) // n * n].reshape(-1, n)
    simulated = [y.var(), means.var(), windows.var(axis=1).mean(), (means[apart:] - means[:-apart]).var()]
    budget = tt.pointing_budget(
        loop, {"u": [Source.noise(density), Source.harmonic(line, 1.5)]}, "y", window=n * period, drift=apart * period
    )
    np.testing.assert_allclose((budget.sigma[:, 0] ** 2).sum(axis=1), simulated, rtol=0.02)
    for m, errors in enumerate([y, means]):  # their distribution, too: neither Gaussian nor that of a line
        assert np.mean(np.abs(errors) < budget.value[m, 0]) == pytest.approx(0.9973, abs=6e-4)
    lower = tt.pointing_budget(loop, {"u": [Source.noise(density), Source.harmonic(line, 1.5)]}, "y", confidence=0.5)
    assert np.mean(np.abs(y) < lower.value[0, 0]) == pytest.approx(0.5, abs=0.01)


def test_interpretations() -> None:
    """What is worst over time, or over systems, is added; what is left is Gaussian, or convolved."""
    sigma = np.sqrt(1 / 2.8)  # of 1 / (s² + 1.4 s + 1)
    line = 2.0 / abs(1 - (0.4 * np.pi) ** 2 + 1.4j * 0.4 * np.pi)
    level, k = 0.99, in_sigmas(0.99)

    def value(which: str, method: str = "simplified") -> float:
        budget = tt.pointing_budget(
            LOOP,
            SOURCES,
            "angle",
            confidence=level,
            interpretation=which,
            method=method,  # type: ignore[arg-type]
        )
        return float(budget.value[0, 0])

    assert value("temporal") == pytest.approx(k * np.hypot(sigma, line / np.sqrt(2)) + k * 0.6, rel=1e-9)
    assert value("ensemble") == pytest.approx(k * sigma + line + k * 0.6, rel=1e-9)
    assert value("mixed") == pytest.approx(k * np.sqrt(sigma**2 + line**2 / 2 + 0.6**2), rel=1e-9)
    assert value("temporal", "advanced") < value("temporal")
    uniform = SOURCES | {"gyro": Source.bias(3.0, "uniform")}
    found = [
        tt.pointing_budget(LOOP, uniform, "angle", interpretation=which, method="simplified").value[0, 0]  # type: ignore[arg-type]
        for which in ("temporal", "mixed")
    ]
    k = in_sigmas(0.9973)
    expected = [k * np.hypot(sigma, line / np.sqrt(2)) + 0.6, k * np.sqrt(sigma**2 + line**2 / 2 + 0.6**2 / 3)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_bands_and_sources_add_up() -> None:
    budget = tt.pointing_budget(LOOP, SOURCES, ["angle", "rate"], window=2.0, drift=9.0, bands=[0.01, 0.1, 0.25, 1.0])
    np.testing.assert_allclose((budget.by_band**2).sum(axis=2), (budget.sigma**2).sum(axis=2), rtol=1e-10)
    alone = tt.pointing_budget(LOOP, SOURCES | {"torque": Source.noise(1.0)}, "angle", bands=[0.01, 0.1, 0.25, 1.0])
    found = budget.by_band[0, 0] ** 2 - alone.by_band[0, 0] ** 2
    np.testing.assert_allclose(np.delete(found, 2), 0.0, atol=1e-12)  # the line stands in its band
    constant = tt.pointing_budget(LOOP, {"torque": None, "gyro": Source.bias(3.0)}, "angle", window=1.0, drift=5.0)
    np.testing.assert_allclose(constant.value[:, 0], [0.6, 0.6, 0.0, 0.0], rtol=1e-12)


def test_correlated_sources_are_added() -> None:
    both = {"torque": Source.noise(1.0), "gyro": Source.noise(5.0)}
    apart, together = (tt.pointing_budget(LOOP, both, "angle", correlated=c).value[0, 0] for c in ((), [("torque", "gyro")]))
    assert together == pytest.approx(np.sqrt(2) * apart, rel=1e-9)


def test_units_and_requirements() -> None:
    plain = tt.pointing_budget(LOOP, SOURCES, "angle", window=1.0, requirement={"APE": 8.0}, knowledge=False)
    scaled = tt.pointing_budget(LOOP, SOURCES, "angle", window=1.0, unit="deg", requirement={"MKE": 400.0}, knowledge=True)
    np.testing.assert_allclose(np.degrees(plain.value), scaled.value, rtol=1e-12)
    np.testing.assert_allclose(np.degrees(plain.sigma), scaled.sigma, rtol=1e-12)
    np.testing.assert_allclose(np.degrees(plain.by_band), scaled.by_band, rtol=1e-12)
    assert scaled.metrics == ("AKE", "MKE", "RKE")
    assert plain.margin[0, 0] == 8.0 - plain.value[0, 0]
    assert np.isnan(plain.margin[1:]).all()
    assert "deg, required 400" in str(scaled)


def test_vectors_have_a_source_for_each_entry() -> None:
    loop = control.ss([[-1.0]], [[1.0, 2.0]], [[1.0]], 0, inputs=["w[0]", "w[1]"], outputs=["y"])
    budget = tt.pointing_budget(loop, {"w": Source.noise(1.0)}, "y")
    assert budget.sources == ("w[0]", "w[1]")
    np.testing.assert_allclose(budget.sigma[0, 0] ** 2, [0.5, 2.0], rtol=1e-12)


def test_tables_group_what_belongs_together() -> None:
    """Sources of a device below what they have together, what gives nothing in one line."""
    gains = {"gyro.x.noise": 3.0, "gyro.y.noise": 0.0, "gyro.z.noise": 4.0, "hub.w[0]": 1e-13, "hub.w[1]": 0.0, "torque": 2.0}
    inputs = [Signal(name, "") for name in gains]
    B = np.array([[*gains.values()]])
    loop = named_system((-np.eye(1), B, np.eye(1), 0 * B), [Signal("x", "")], inputs, [Signal("y", "")], "loop")
    budget = tt.pointing_budget(loop, dict.fromkeys(gains, Source.noise(1.0)) | {"hub.w[1]": None}, "y", confidence=0.9)
    assert budget.devices == ("gyro", "gyro", "gyro", "hub", "torque")
    # variances of white noise behind a lag of one second are halves of the gains' squares
    together = budget.value * np.array([5.0, 1e-13, 2.0]) / np.sqrt(29.0)
    np.testing.assert_allclose(budget.by_device[0], together, rtol=1e-9)
    *lines, last = budget.table().split("\n")
    assert [line.split()[0] for line in lines[1:]] == ["gyro", "gyro.x.noise", "gyro.z.noise", "torque"]
    assert last == "    nothing from gyro.y.noise, hub.w[0]"
    alone = tt.pointing_budget(loop, dict.fromkeys(gains, None), "y")
    assert (alone.by_device.shape, alone.table().count("\n")) == ((1, 1, 0), 0)


def test_texts_and_pictures() -> None:
    budget = tt.pointing_budget(
        LOOP, SOURCES, ["angle", "rate"], window=2.0, bands=[0.1], requirement={"APE": [9.0, 5.0]}, unit=None
    )
    text = budget.table()
    for part in ("APE angle", "RPE rate", "torque (2)", "at 0.2 Hz", "0.1 to inf Hz", "99.73 %, temporal, advanced"):
        assert part in text
    figure = budget.plot()
    assert len(figure.axes) == 4
    assert budget.density[1].shape == (2, len(budget.density[0]))
    np.testing.assert_allclose(np.sqrt(budget.density[1][:, -1]), budget.sigma[0, :, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("no-source", {"sources": {"torque": Source.noise(1.0)}}),
        ("unknown-signal", {"sources": SOURCES | {"wheel": Source.noise(1.0)}}),
        ("wrong-type", {"sources": SOURCES | {"gyro": 1.0}}),
        ("given-twice", {"loop": control.ss(-1, [[1, 1]], 1, 0, inputs=["w[0]", "w[1]"], outputs=["angle"]),
                         "sources": {"w": Source.noise(1.0), "w[0]": Source.noise(1.0)}}),
        ("other-sample-time", {"sources": SOURCES | {"gyro": Source.noise(1.0, control.tf([1], [1, 0.5], 0.1))}}),
        ("unstable", {"loop": control.ss(0, 1, 1, 0, inputs=["torque"], outputs=["angle"]), "sources": {"torque": None}}),
        ("wrong-type", {"loop": 3}),
        ("unknown-signal", {"outputs": "angel"}),
        ("bad-time", {"window": 0.0}),
        ("bad-time", {"drift": 3.0}),
        ("bad-time", {"window": 1.0, "reproducibility": -1.0}),
        ("bad-value", {"confidence": 1.0}),
        ("bad-value", {"interpretation": "sometimes"}),
        ("bad-value", {"method": "fast"}),
        ("bad-value", {"bands": [1.0, 0.5]}),
        ("unknown-metric", {"requirement": {"RPE": 1.0}}),
        ("bad-value", {"requirement": {"APE": -1.0}}),
        ("bad-unit", {"unit": "arcsecs"}),
        ("unknown-signal", {"correlated": [("torque", "wheel")]}),
        ("bad-group", {"correlated": ("torque", "gyro"), "sources": {"torque": Source.noise(1.0), "gyro": Source.noise(1.0)}}),
        ("bad-group", {"correlated": "gyro"}),
        ("given-twice", {"correlated": [("torque", "gyro"), ("gyro", "torque")]}),
        ("wrong-type", {"correlated": 3}),
        ("bad-unit", {"unit": ["deg"]}),
        ("bad-value", {"cells": np.inf}),
    ],
)  # fmt: skip
def test_refusals(code: str, options: dict[str, object]) -> None:
    given: dict[str, object] = {"loop": LOOP, "sources": SOURCES, "outputs": "angle"} | options
    assert code_of(lambda: tt.pointing_budget(**given)) == code  # type: ignore[arg-type]


def test_sampled_loops_have_whole_periods_and_lines_below_half_their_frequency() -> None:
    loop = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1, inputs=["u"], outputs=["y"])
    assert code_of(lambda: tt.pointing_budget(loop, {"u": None}, "y", window=0.25)) == "bad-time"
    assert code_of(lambda: tt.pointing_budget(loop, {"u": Source.harmonic(6.0, 1.0)}, "y")) == "bad-value"


def test_angles_have_units_of_angles() -> None:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=0.5))
    m = s.resolve()
    loop = tt.linearize(m, m.neutral(), inputs=["hinge"], outputs=["hinge.q", "hinge.v"])
    assert tt.pointing_budget(loop, {"hinge": Source.noise(1.0)}, "hinge.q", unit="mrad").unit == ("mrad",)
    assert tt.pointing_budget(loop, {"hinge": Source.noise(1.0)}, "hinge.v").unit == ("rad/s",)
    assert code_of(lambda: tt.pointing_budget(loop, {"hinge": Source.noise(1.0)}, "hinge.v", unit="mrad")) == "bad-unit"


def test_bad_sources() -> None:
    def make(*given: object, of: str) -> str:
        return code_of(lambda: getattr(Source, of)(*given))

    assert make(-1.0, of="noise") == "bad-value"
    assert make(1.0, control.tf([1.0], [1.0, -1.0]), of="noise") == "unstable"
    assert make(1.0, control.ss(-1, [[1, 1]], 1, 0), of="noise") == "wrong-shape"
    assert make(([1.0, 0.5], [1.0, 1.0]), of="spectrum") == "bad-spectrum"
    assert make(([0.0, 0.5], [1.0, 1.0]), of="spectrum") == "bad-spectrum"
    assert make((2.0, 1.0), 1.0, of="harmonic") == "bad-value"
    assert make(1.0, "two-sided", of="bias") == "bad-value"
    assert make([1.0, 2.0], [0.0, 0.0], of="transient") == "bad-signal"
    assert make("large", of="bounded") == "bad-value"
    loop = {"u": Source.harmonic((1.0, 2.0), lambda f: f * np.nan)}
    lag = control.tf([1.0], [1.0, 1.0], inputs=["u"], outputs=["y"])
    assert code_of(lambda: tt.pointing_budget(lag, loop, "y")) == "bad-spectrum"
    assert make([], [], of="transient") == "bad-signal"
    assert make([[1.0, 2.0]], 1.0, of="harmonic") == "bad-value"


@pytest.mark.parametrize("density", [lambda f: np.cos(f), lambda f: f * np.nan, lambda f: np.ones(3), lambda f: 1j * f])
def test_what_is_no_spectrum_is_refused_by_name(density: Callable[[object], object]) -> None:
    """A function is known when it is called: negative, not a number, of another length, complex."""
    with pytest.raises(tt.ModelError, match=r"density of torque \(2\)") as caught:
        tt.pointing_budget(LOOP, {"torque": [Source.noise(1.0), Source.spectrum(density)], "gyro": None}, "angle")
    assert caught.value.code == "bad-spectrum"


def test_a_constant_function_is_white_noise() -> None:
    sources = [[Source.spectrum(lambda f: 2.0), Source.noise(1.0)], [Source.noise(1.0), Source.noise(1.0)]]
    found, expected = (tt.pointing_budget(LOOP, {"torque": each, "gyro": None}, "angle").value for each in sources)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_nothing_acts() -> None:
    for nothing in (None, []):
        budget = tt.pointing_budget(LOOP, {"torque": nothing, "gyro": None}, "angle", window=1.0, bands=[1.0])
        assert not budget.value.any()
        assert budget.by_source.shape == (3, 1, 0)


def test_sample_times_are_those_of_the_loop_to_rounding() -> None:
    period = 3 * 0.1
    loop = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.3, inputs=["u"], outputs=["y"])
    shaped = Source.noise(1.0, control.tf([1.0], [1.0, -0.5], period))
    assert period != 0.3
    assert np.isfinite(tt.pointing_budget(loop, {"u": shaped}, "y").value).all()
