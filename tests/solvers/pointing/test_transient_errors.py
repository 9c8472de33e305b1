"""Worst values in time against closed forms of lags and oscillators."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt

LAG = control.tf([1.0], [1.0, 1.0], inputs=["u"], outputs=["y"])

#: What lies between eight steps a radian, and what is left when a loop counts as settled.
SEEN = 3e-3


def oscillator(damping: float) -> control.TransferFunction:
    """Return an oscillator of 3 rad/s with gain one."""
    return control.tf([9.0], [1.0, 6 * damping, 9.0], inputs=["u"], outputs=["y"])


def values(system: control.StateSpace, source: tt.ErrorSource, **options: float) -> list[float]:
    """Return the values by metric of one output."""
    return list(tt.pointing_budget(system, {"u": source}, "y", **options).value[:, 0])


def test_a_step_through_a_lag() -> None:
    """Relative errors are worst at the step, at the beginning of a window; differences of means right after it."""
    found = values(LAG, tt.ErrorSource.transient(2.0), window=2.0, drift=3.0)
    mean = lambda t: 1 - (np.exp(-max(t, 0.0)) * (1 - np.exp(-2.0 - min(t, 0.0))) - min(t, 0.0)) / 2.0  # noqa: E731
    starts = np.linspace(-2.0, 6.0, 4001)
    apart = max(mean(t + 3.0) - (mean(t) if t > -2 else 0.0) for t in starts)
    np.testing.assert_allclose(found, [2.0, 2.0, 2 * (1 + np.exp(-2)) / 2, 2 * apart], rtol=SEEN)


@pytest.mark.parametrize("damping", [0.5, 0.01])
def test_overshoot_and_peak_gain_of_an_oscillator(damping: float) -> None:
    """A step's first peak, and the L1 norm of the impulse response, ``coth(π ζ / (2 sqrt(1 - ζ²)))``."""
    x = np.pi * damping / np.sqrt(1 - damping**2)
    np.testing.assert_allclose(values(oscillator(damping), tt.ErrorSource.transient(0.5)), [0.5 * (1 + np.exp(-x))], rtol=SEEN)
    np.testing.assert_allclose(values(oscillator(damping), tt.ErrorSource.bounded(0.5)), [0.5 / np.tanh(x / 2)], rtol=SEEN)


def test_a_ramp_that_ends() -> None:
    """After a ramp through a lag the error is ``t - 1 + exp(-t)``, and goes on to the end's value."""
    source = tt.ErrorSource.transient([0.0, 3.0, 0.0], [1.0, 4.0, 4.001])
    np.testing.assert_allclose(values(LAG, source), [3.0 - 1 + np.exp(-3.0)], rtol=SEEN)


def test_bounded_signals_with_windows() -> None:
    """A lag's impulse response is positive: means have its area, differences of far means twice that."""
    found = values(LAG, tt.ErrorSource.bounded(2.0), window=0.5, drift=100.0)
    np.testing.assert_allclose([found[0], found[1], found[3]], [2.0, 2.0, 4.0], rtol=SEEN)
    assert 0.0 < found[2] < 4.0


def test_samples_are_those_of_the_loop_in_continuous_time() -> None:
    """A step that is held is sampled without error; means of samples differ by a part of the period."""
    sampled = control.sample_system(control.ss(oscillator(0.2)), 0.01)
    sampled = control.ss(sampled.A, sampled.B, sampled.C, sampled.D, 0.01, inputs=["u"], outputs=["y"])
    source = tt.ErrorSource.transient([1.0, -1.0], [0.0, 2.0])
    one, other = (values(system, source, window=1.0, drift=2.0) for system in (sampled, oscillator(0.2)))
    np.testing.assert_allclose(one, other, rtol=0.02)
    one, other = (values(system, tt.ErrorSource.bounded(1.0), window=1.0, drift=2.0) for system in (sampled, oscillator(0.2)))
    np.testing.assert_allclose(one, other, rtol=0.02)
    delay = control.ss([[0.0, 0.0], [1.0, 0.0]], [[1.0], [0.0]], [[0.0, 1.0]], [[0.5]], 0.1, inputs=["u"], outputs=["y"])
    np.testing.assert_allclose(values(delay, tt.ErrorSource.bounded(1.0)), [1.5], rtol=1e-12)
    np.testing.assert_allclose(values(delay, tt.ErrorSource.transient(2.0)), [3.0], rtol=1e-12)


def test_loops_that_hardly_settle_are_refused() -> None:
    with pytest.raises(tt.ModelError, match="too-long"):
        values(oscillator(1e-8), tt.ErrorSource.transient(1.0))


def test_windows_of_sampled_signals_that_begin_before_zero() -> None:
    """Own convolutions with an impulse response; each of the seven samples of a window is compared with its mean."""
    period, n, apart = 0.2, 7, 11
    A, B, C, D = np.array([[0.5, 0.6], [-0.6, 0.3]]), np.array([[1.0], [-0.4]]), np.array([[0.3, 1.0]]), np.array([[0.7]])
    loop = control.ss(A, B, C, D, period, inputs=["u"], outputs=["y"])
    h = np.concatenate([np.zeros(60), D[0], [(C @ np.linalg.matrix_power(A, k) @ B).item() for k in range(120)]])
    times, signal, k = [-2.0, 0.4, 1.0, 3.0], [1.0, -2.0, 0.5, 0.3], np.arange(-60, 120)
    y = np.convolve(h[60:], np.interp(k * period, times, signal, left=0.0))[: len(k)]

    def errors(y: np.ndarray) -> list[np.ndarray]:
        means = np.convolve(y, np.ones(n) / n)[n - 1 : len(y)]
        relative = [y[j : j + len(means)] - means for j in range(n)]
        return [y, means, means[apart:] - means[:-apart], *relative]

    options = {"window": n * period, "drift": apart * period}
    for source, sizes in (
        (tt.ErrorSource.transient(signal, times), [np.abs(e).max() for e in errors(y)]),
        (tt.ErrorSource.bounded(1.0), [np.abs(e).sum() for e in errors(h)]),
    ):
        expected = [sizes[0], sizes[1], max(sizes[3:]), sizes[2]]
        np.testing.assert_allclose(values(loop, source, **options), expected, rtol=1e-6)
