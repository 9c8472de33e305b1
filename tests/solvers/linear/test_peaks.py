"""Peaks of gains: against python-control's norm, dense grids, and a resonance that a coarse grid does not see."""

from __future__ import annotations

import control
import numpy as np
import pytest

from titop.blocks.basics.spatial import Array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import EVERYWHERE, Band, Modal, find_peaks, frequencies, largest_gains, passing_frequencies


def random_system(seed: int, n: int = 6, shape: tuple[int, int] = (2, 3)) -> Matrices:
    """Return a stable system with light and heavy damping."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    A -= (np.linalg.eigvals(A).real.max() + 10 ** rng.uniform(-3, 0)) * np.eye(n)
    p, m = shape
    return Matrices(A, rng.standard_normal((n, m)), rng.standard_normal((p, n)), rng.standard_normal((p, m)))


def peaks(system: Matrices, band: Band = EVERYWHERE, near: float = 0.5) -> tuple[Array, Array]:
    """Return the peaks that a search sees."""
    poles, vectors = np.linalg.eig(system.A)
    modal = Modal(poles, system.C @ vectors, np.linalg.solve(vectors, system.B))
    rows, columns = (np.arange(k) for k in system.D.shape)

    def gain(omega: Array) -> Array:
        return largest_gains(modal.responses(rows, columns, system.D)(omega))

    omega = frequencies(poles, np.zeros(0), band)
    return find_peaks(gain, gain(omega), omega, 0.0, near, 12)


@pytest.mark.parametrize("seed", range(12))
def test_highest_peak_is_the_norm(seed: int) -> None:
    """python-control (of square systems) bisects to 1e-10; a peak has the square of its frequency's error: 1e-8 is for both."""
    system = random_system(seed, shape=(2, 2))
    norm = float(control.system_norm(control.ss(*system), "inf", tol=1e-10, method="scipy"))
    highest = max(peaks(system)[1][0], float(largest_gains(system.D[None])[0]))
    assert highest == pytest.approx(norm, rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_all_peaks_in_a_band(seed: int) -> None:
    """A dense grid of steps of 1e-4 sees each peak to the square of that, narrow ones to 1e-4."""
    system, band = random_system(seed, shape=(1, 1)), (0.3, 4.0)
    omega = np.geomspace(*band, 26_000)
    gains = np.abs(system.responses(1j * omega)[:, 0, 0])
    inner = np.flatnonzero((gains[1:-1] >= gains[:-2]) & (gains[1:-1] >= gains[2:])) + 1
    ends = [k for k, next_one in ((0, 1), (len(omega) - 1, len(omega) - 2)) if gains[k] > gains[next_one]]
    expected = sorted((gains[k] for k in (*inner, *ends) if gains[k] > 0.5 * gains.max()), reverse=True)
    places, heights = peaks(system, band)
    assert len(heights) >= len(expected)
    for height in expected:
        assert np.abs(heights / height - 1).min() < 1e-3
    assert heights[0] >= gains.max() * (1 - 1e-9)
    assert ((places >= band[0]) & (places <= band[1])).all()


def narrow() -> Matrices:
    """Return a resonance as narrow as 1e-6 beside a slow lag."""
    A = np.array([[-0.1, 0.0, 0.0], [0.0, 0.0, 7.0], [0.0, -7.0, -14e-6]])
    return Matrices(A, np.array([[1.0], [0.0], [1.0]]), np.array([[1.0, 0.0, 1e-3]]), np.zeros((1, 1)))


def test_narrow_resonance() -> None:
    """A circle of diameter 1e-3 / 14e-6 about the lag's response at 7 rad/s. A grid of 100 frequencies sees the lag alone."""
    system = narrow()
    places, heights = peaks(system)
    assert places[0] == pytest.approx(7.0, rel=1e-6)
    radius = 1e-3 / 14e-6 / 2
    assert heights[0] == pytest.approx(radius + abs(radius + 1 / (0.1 + 7j)), rel=1e-9)  # the lag turns by 1e-9 over the circle
    coarse = np.abs(system.responses(1j * np.geomspace(0.01, 100, 100))[:, 0, 0]).max()
    assert coarse == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_certificate_finds_what_is_above_a_level(seed: int) -> None:
    system = random_system(seed)
    highest = max(peaks(system)[1][0], float(largest_gains(system.D[None])[0]))
    assert not len(passing_frequencies(system, highest * 1.0001))
    if highest > 1.01 * largest_gains(system.D[None])[0]:
        above = passing_frequencies(system, highest * 0.999)
        assert len(above)
        assert (largest_gains(system.responses(1j * above)) > highest * 0.999).all()


def test_certificate_sees_the_narrow_resonance() -> None:
    above = passing_frequencies(narrow(), 50.0)
    assert len(above)
    np.testing.assert_allclose(above, 7.0, rtol=1e-5)


def test_peak_at_rest_and_at_the_ends_of_bands() -> None:
    lag = Matrices(*(np.array([[x]]) for x in (-2.0, 1.0, 3.0, 0.0)))
    places, heights = peaks(lag)
    assert places[0] == pytest.approx(0.0, abs=1e-6)
    assert heights[0] == pytest.approx(1.5, rel=1e-12)
    places, heights = peaks(lag, (2.0, 5.0))
    assert (places[0], heights[0]) == pytest.approx((2.0, 3 / np.sqrt(8)), rel=1e-12)
