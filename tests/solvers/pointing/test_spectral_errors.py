"""Variances over frequency against closed forms, Lyapunov's equation and covariances in time."""

from __future__ import annotations

import control
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import block_diag, expm, solve_continuous_lyapunov, solve_discrete_lyapunov

import titop as tt
from titop.solvers.pointing.spectral_errors import Metric

Array = NDArray[np.float64]
LAG = control.tf([1.0], [1.0, 1.0], inputs=["u"], outputs=["y"])


def variances(system: control.StateSpace, source: tt.ErrorSource, **options: float) -> Array:
    """Return the variances (metrics, outputs) that one source leaves."""
    found = tt.pointing_budget(system, {"u": source}, list(system.output_labels), **options)
    return np.asarray(found.sigma[:, :, 0] ** 2)


def covariances_in_time(A: Array, B: Array, C: Array, window: float, apart: float) -> Array:
    """Return the variances (4, outputs) for white noise of unit density, by covariances in time: no frequency occurs.

    With P of Lyapunov's equation ``R(τ) = C exp(A τ) P Cᵀ``; means are integrals of exponentials, in closed form.
    """
    P, one, inverse = solve_continuous_lyapunov(A, -B @ B.T), np.eye(len(A)), np.linalg.inv(A)
    grown = expm(A * window)
    mean = 2 / window**2 * inverse @ inverse @ (grown - one - A * window)
    later = expm(A * (apart - window)) @ (inverse @ (grown - one)) @ (inverse @ (grown - one)) / window**2
    whole, means, product = (np.diag(C @ X @ P @ C.T) for X in (one, mean, later))
    return np.array([whole, means, whole - means, 2 * means - 2 * product])


def test_variances_of_a_lag_are_those_of_the_ornstein_uhlenbeck_process() -> None:
    window, apart = 2.0, 7.0
    mean = (window - 1 + np.exp(-window)) / window**2
    covariance = 0.5 * np.exp(-(apart - window)) * ((1 - np.exp(-window)) / window) ** 2
    expected = [0.5, mean, 0.5 - mean, 2 * (mean - covariance)]
    found = variances(LAG, tt.ErrorSource.noise(1.0), window=window, drift=apart)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)  # rounding of a smooth sum


@pytest.mark.parametrize("window", [1e-2, 1.0, 1e3])
def test_flexible_modes_agree_with_covariances_in_time(window: float) -> None:
    """Damping of 1e-4 over four decades of frequency; windows far shorter and far longer than the modes' periods."""
    omega, rng = np.array([0.3, 11.0, 13.0, 900.0]), np.random.default_rng(0)
    A = block_diag(*([[0.0, 1.0], [-(w**2), -2e-4 * w]] for w in omega), -0.5)
    B = np.concatenate([*([[0.0], [x]] for x in rng.normal(size=4)), [[1.0]]])
    C = rng.normal(size=(3, 9)) * np.array([*np.repeat(omega, 2) * np.tile([1.0, 0.0], 4), 0.3])
    system = control.ss(A, B, C, 0, inputs=["u"], outputs=["a", "b", "c"])
    expected = covariances_in_time(A, B, C, window, 57.3 * window)
    found = variances(system, tt.ErrorSource.noise(1.0), window=window, drift=57.3 * window)
    scale = expected[0] * np.finfo(float).eps * 1e6  # differences of covariances cancel where a window is short
    np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-9)
    np.testing.assert_allclose(found[2:], expected[2:], rtol=1e-9, atol=float(scale.max()))


def test_double_poles_have_no_modes_and_the_same_variances() -> None:
    A, B, C = np.array([[-1.0, 1.0], [0.0, -1.0]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]])
    found = variances(control.ss(A, B, C, 0, inputs=["u"], outputs=["y"]), tt.ErrorSource.noise(1.0), window=3.0, drift=9.0)
    np.testing.assert_allclose(found, covariances_in_time(A, B, C, 3.0, 9.0), rtol=1e-11)


def test_samples_agree_with_lyapunovs_equation_and_sums_of_covariances() -> None:
    A, B, C, D = np.array([[0.9, 0.3], [-0.3, 0.9]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.2]]), np.array([[0.7]])
    period, n, apart = 0.1, 12, 40
    P = solve_discrete_lyapunov(A, B @ B.T)
    R = [(C @ P @ C.T + D @ D.T).item()]
    R += [
        (C @ np.linalg.matrix_power(A, k) @ P @ C.T + C @ np.linalg.matrix_power(A, k - 1) @ B @ D.T).item()
        for k in range(1, 60)
    ]
    mean = sum(R[abs(i - j)] for i in range(n) for j in range(n)) / n**2
    later = sum(R[apart + i - j] for i in range(n) for j in range(n)) / n**2
    system = control.ss(A, B, C, D, period, inputs=["u"], outputs=["y"])
    found = variances(system, tt.ErrorSource.noise(2.0), window=n * period, reproducibility=apart * period)
    expected = np.array([R[0], mean, R[0] - mean, 2 * (mean - later)]) * 2.0**2 / period  # a sample's variance
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-11)


def test_of_noise_mean_and_relative_errors_add_up_to_the_absolute_one() -> None:
    system = control.ss([[0, 1.0], [-4.0, -0.1]], [[0], [1.0]], [[1.0, 0], [0, 1.0]], 0, inputs=["u"], outputs=["p", "v"])
    found = variances(system, tt.ErrorSource.spectrum(lambda f: 1 / (1 + f) ** 2), window=0.7)
    np.testing.assert_allclose(found[1] + found[2], found[0], rtol=1e-12)
    x = np.linspace(0.01, 20, 500)  # negative control: the handbook's rational weights, of ω Δt, do not
    below = np.abs((1j * x) ** 2 + 6j * x + 12) ** 2
    fitted = (np.abs(2 * (1j * x + 6)) ** 2 + np.abs(1j * x * (1j * x + np.sqrt(12))) ** 2) / below
    assert 1.10 < fitted.max() < 1.12


def test_weights_are_mean_squares_of_sinusoids() -> None:
    """A sinusoid, its mean over a window, and the deviation from it, averaged over phases and places in the window."""
    omega, window, apart = 1.7, 2.3, 5.1
    t = np.linspace(0, window, 4001)
    phase = np.linspace(0, 2 * np.pi, 64, endpoint=False)[:, None]
    first, second = np.cos(omega * t + phase), np.cos(omega * (t + apart) + phase)
    one, other = (np.trapezoid(signal, t, axis=1) / window for signal in (first, second))
    expected = [
        np.mean(one**2),
        np.mean(np.trapezoid((first - one[:, None]) ** 2, t, axis=1) / window),
        np.mean((one - other) ** 2),
    ]
    metrics = [Metric("", "mean", window), Metric("", "relative", window), Metric("", "difference", window, apart)]
    found = [float(metric.weights(np.array([omega]), 0.0)[0]) / 2 for metric in metrics]
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # the trapezoidal rule's error


def test_a_random_walk_has_finite_relative_errors_alone() -> None:
    """Brownian motion: over a window Δt the mean square deviation from its mean is Δt/6, of two means ``s - Δt/3``."""
    through = control.ss([], [], [], [[1.0]], inputs=["u"], outputs=["y"])
    walk = tt.ErrorSource.noise(2.0, control.tf([1.0], [1.0, 0.0]))
    found = variances(through, walk, window=3.0, drift=10.0)[:, 0]
    assert np.isinf(found[:2]).all()
    np.testing.assert_allclose(found[2:], [4 * 3.0 / 6, 4 * (10.0 - 1.0)], rtol=1e-10)
    blocked = control.tf([1, 0], [1, 1.4, 1], inputs=["u"], outputs=["y"])
    np.testing.assert_allclose(
        variances(blocked, tt.ErrorSource.noise(1.0, control.tf([1.0], [1.0, 0.0])))[0, 0], 1 / 2.8, rtol=1e-10
    )


def test_white_noise_that_passes_at_once_has_a_mean_alone() -> None:
    through = control.ss([], [], [], [[3.0]], inputs=["u"], outputs=["y"])
    found = variances(through, tt.ErrorSource.noise(1.0), window=0.5, drift=2.0)[:, 0]
    assert np.isinf(found[[0, 2]]).all()
    np.testing.assert_allclose(found[[1, 3]], [9 / 0.5, 2 * 9 / 0.5], rtol=1e-6)  # to infinity, waves count as their mean


def test_spectra_as_functions_and_tables() -> None:
    """Power laws through a lag: ``∫ f^-1/2 / (1 + (2 π f)^2) df`` has a closed form, a table bends where its points are."""
    integral = np.pi / (2 * np.cos(np.pi / 4)) / np.sqrt(2 * np.pi)
    found = variances(LAG, tt.ErrorSource.spectrum(lambda f: f**-0.5))[0, 0]
    np.testing.assert_allclose(found, integral, rtol=1e-8)  # the panel next to the singularity is 2^-60 wide, its root counts
    table = tt.ErrorSource.spectrum(([0.01, 1.0, 10.0], [3.0, 3.0, 0.03]))
    exact = 3 * (np.arctan(2 * np.pi) - np.arctan(0.02 * np.pi)) / (2 * np.pi)
    tail = lambda f: -1 / f - 2 * np.pi * np.arctan(2 * np.pi * f)  # noqa: E731  of f^-2 / (1 + (2 π f)^2)
    np.testing.assert_allclose(variances(LAG, table)[0, 0], exact + 3 * (tail(10.0) - tail(1.0)), rtol=1e-9)
    assert np.isinf(variances(LAG, tt.ErrorSource.spectrum(lambda f: 1 / f))[0, 0])
    assert np.isfinite(variances(LAG, tt.ErrorSource.spectrum(lambda f: 1 / f), window=1.0)[2, 0])


def test_a_line_in_a_range_is_worst_at_the_resonance() -> None:
    damping = 1e-3
    system = control.tf([9.0], [1.0, 6 * damping, 9.0], inputs=["u"], outputs=["y"])
    source = tt.ErrorSource.harmonic((0.1, 2.0), 0.5)
    budget = tt.pointing_budget(system, {"u": source}, "y", window=1.0)
    peak = 0.5 / (2 * damping * np.sqrt(1 - damping**2))
    np.testing.assert_allclose(budget.sigma[0, 0, 0], peak / np.sqrt(2), rtol=1e-7)  # a parabola's vertex
    assert budget.lines[0, 0, 0] == pytest.approx(3.0 * np.sqrt(1 - 2 * damping**2) / (2 * np.pi), rel=1e-6)
    growing = tt.ErrorSource.harmonic((1.0, 2.0), lambda f: f**4)
    assert tt.pointing_budget(system, {"u": growing}, "y").lines[0, 0, 0] == 2.0
