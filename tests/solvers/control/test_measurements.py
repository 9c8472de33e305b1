"""Noise of what controllers measure."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

import titop as tt
from tests.solvers.control.sliders import Array, gain, held, largest, slider, state


def test_noise_has_the_variance_that_the_lyapunov_equation_says() -> None:
    step, k, deviation = 0.1, np.array([2.0, 2.5]), np.array([0.02, 0.05])
    A, B = held(step)
    closed = A - np.outer(B, k)
    through = np.outer(B, k * deviation)
    P = solve_discrete_lyapunov(closed, through @ through.T)
    n = 5000
    noise = {"rail.q": deviation[0], "rail_v": deviation[1]}
    arguments = {"controller": gain(*k), "sample_time": step, "noise": noise}
    run = tt.simulate(slider(), np.arange(n) * step, [0.0], [0.0], **arguments, rtol=1e-6, seed=3)
    true, measured = state(run), run.control.y
    # N values of variance P and autocovariance r_k: their mean square has the variance (2 / N) sum of r_k^2 (k both ways)
    lags = np.array([(np.linalg.matrix_power(closed, m) @ P).diagonal() for m in range(300)])
    spread = np.sqrt(2 / n * ((lags**2).sum(axis=0) * 2 - lags[0] ** 2))
    assert (np.abs((true**2).mean(axis=0) - P.diagonal()) < 4 * spread).all()
    noise_variance = ((measured - true) ** 2).mean(axis=0)
    assert (np.abs(noise_variance - deviation**2) < 4 * deviation**2 * np.sqrt(2 / n)).all()
    assert abs(np.corrcoef((measured - true).T)[0, 1]) < 4 / np.sqrt(n)


def test_noise_is_reproducible() -> None:
    def measured(seed: Any) -> Array:
        arguments = {"controller": gain(1.0, 1.0, dt=0.1), "noise": 0.1, "seed": seed}
        return tt.simulate(slider(), [0, 1], [0.0], [0.0], **arguments).control.y

    assert np.array_equal(measured(7), measured(7))
    assert np.array_equal(measured(7), measured(np.random.SeedSequence(7)))
    assert largest(measured(7) - measured(8)) > 1e-3
