"""Exact margins of loops, against closed forms, python-control, and factors that make them singular."""

from __future__ import annotations

from functools import cache
from typing import Any

import control
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import titop as tt

#: What pencils leave of closed forms: roots to rounding, times the condition of a few states.
ROUNDED = 1e-9


def lag(gain: float) -> control.TransferFunction:
    """Return three lags in a row."""
    return control.tf([gain], [1, 3, 3, 1])


def spinning_satellite(a: float = 10.0) -> control.StateSpace:
    """Return the loop of the spinning satellite (Seiler, Packard, Gahinet 2020): its rates are fed back."""
    return control.ss([[0, a], [-a, 0]], np.eye(2), [[1, a], [-a, 1]], np.zeros((2, 2)))


@cache
def satellite() -> tt.Margins:
    """Return the margins of the spinning satellite."""
    return tt.margins(spinning_satellite())


def test_three_lags() -> None:
    """``k / (s + 1)³`` has -180 degrees at sqrt(3), where its gain is k / 8, and a gain of one at ``sqrt(k^(2/3) - 1)``."""
    found, k = tt.margins(lag(4.0)), 4.0
    crossing = np.sqrt(k ** (2 / 3) - 1)
    phase = np.pi - 3 * np.arctan(crossing)
    assert found.gain[0] == pytest.approx([0.0, 8 / k], rel=ROUNDED)
    assert found.phase[0] == pytest.approx(np.degrees(phase), rel=ROUNDED)
    assert found.delay[0] == pytest.approx(phase / crossing, rel=ROUNDED)
    assert found.omega[0, [1, 2, 3]] == pytest.approx([np.sqrt(3), crossing, crossing], rel=ROUNDED)


def test_a_plant_that_needs_its_gain() -> None:
    """``k (s + 2) / (s (s - 1))`` is stable for k > 1: half the gain of two is left."""
    found = tt.margins(control.tf([2, 4], [1, -1, 0]))
    assert found.gain[0] == pytest.approx([0.5, np.inf], rel=ROUNDED)


def test_disks_of_a_second_order_loop() -> None:
    """With σ = -1 the disk is one over the peak of T, ``2 ζ sqrt(1 - ζ²)`` for a loop ``1 / (s (s + 2 ζ))``."""
    zeta = 0.2
    found = tt.margins(control.tf([1], [1, 2 * zeta, 0]), skew=-1.0)
    assert found.disk[0] == pytest.approx(2 * zeta * np.sqrt(1 - zeta**2), rel=ROUNDED)
    assert found.omega[0, 4] == pytest.approx(np.sqrt(1 - 2 * zeta**2), rel=1e-4)  # a flat maximum: the root of ROUNDED


@pytest.mark.parametrize("skew", [-1.0, 0.0, 0.5, 1.0])
def test_a_factor_of_the_disk_makes_the_loop_singular(skew: float) -> None:
    """At its frequency the δ of the factor ``-1 / L`` is as large as the disk; at no other is there a smaller one."""
    L = control.tf([6.25 * 1, 6.25 * 8, 6.25 * 15], np.polymul([1, 0], np.polymul([1, 2, 1], [1, 0.18, 100])))
    found = tt.margins(L, skew=skew)

    def sizes(omega: Any) -> Any:
        f = -1 / L(1j * omega)
        return np.abs((f - 1) / ((1 - skew) / 2 + (1 + skew) / 2 * f))

    assert sizes(found.omega[0, 4]) == pytest.approx(found.disk[0], rel=ROUNDED)
    assert sizes(np.geomspace(1e-2, 1e3, 4001)).min() >= found.disk[0] * (1 - ROUNDED)


def test_published_margins() -> None:
    """Seiler, Packard and Gahinet 2020, to the digits printed."""
    found = tt.margins(control.tf([25], [1, 10, 10, 10]))
    assert found.gain[0].round(1).tolist() == [0.0, 3.6]
    assert (found.phase.round(1).tolist(), found.disk.round(2).tolist()) == ([29.1], [0.46])
    found = satellite()
    assert found.loops == ("u[0]", "u[1]", "all at once")
    assert found.gain[2].round(3).tolist() == [0.905, 1.105]
    assert found.disk.round(4).tolist() == [2.0, 2.0, 0.0998]
    assert found.phase.round(2).tolist() == [90.0, 90.0, 5.71]


def test_all_loops_of_the_satellite_at_once() -> None:
    """Its T is ``(1 + a J) / (s + 1)``, J a quarter turn: scalings are equal, mu is ``|1/2 - (1 ± j a) / (s + 1)|``."""
    a = 10.0

    def low(logarithm: float) -> float:
        s = 1j * np.exp(logarithm)
        return -float(max(abs(0.5 - (1 + sign * 1j * a) / (s + 1)) for sign in (1, -1)))

    peak = -minimize_scalar(low, bounds=(-6, 6), method="bounded", options={"xatol": 1e-10}).fun
    found = satellite()
    assert found.disk[2] == pytest.approx(1 / peak, rel=2e-6)  # proved at 1e-6 above the peak
    assert found.disk[2] <= (1 + ROUNDED) / peak, "never on the wrong side"
    assert found.disk[2] < 0.1 * found.disk[:2].min(), "loops one at a time tell nothing"


def random_loop(seed: int) -> control.StateSpace:
    """Return a random loop that is stable, with the gain of one or three times that, where that is stable too."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    A -= (np.linalg.eigvals(A).real.max() + 0.2) * np.eye(4)
    L = control.ss(A, rng.normal(size=(4, 1)), rng.normal(size=(1, 4)), 0)
    L = 0.9 / float(np.abs(L(1j * np.geomspace(1e-3, 1e3, 2000))).max()) * L
    return 3 * L if (control.feedback(3 * L).poles().real < 0).all() else L


def test_delays_in_both_loops_of_the_satellite() -> None:
    """Equal ones are critical where an eigenvalue of L, ``(1 ± j a) / (s ∓ j a)``, has a gain of one; others no sooner."""
    a = 10.0
    root = np.sqrt(1 + a**2)
    values = [((1 + sign * 1j * a) / (1j * (omega - sign * a)), omega) for sign, omega in ((1, root + a), (-1, root - a))]
    equal = min((np.angle(-value) % (2 * np.pi)) / omega for value, omega in values)
    found = satellite()
    assert equal * (1 - 1e-3) <= found.delay[2] <= equal  # proved to 5e-4
    assert found.delay[:2] == pytest.approx(np.pi / 2), "a loop ``1 / s`` alone"


@pytest.mark.parametrize("seed", range(6))
def test_as_python_control(seed: int) -> None:
    """Nearest gain and phase crossings of random stable loops; its disks are from a grid, never smaller."""
    L = random_loop(seed)
    found = tt.margins(L)
    gains, phases = control.stability_margins(L, returnall=True)[:2]
    above, below = [g for g in gains if g > 1], [g for g in gains if 0 < g < 1]
    at_rest = -1 / float(L(0).real)  # python-control leaves out crossings at zero
    above, below = ([*above, at_rest], below) if at_rest > 1 else (above, [*below, *([at_rest] if at_rest > 0 else [])])
    assert found.gain[0, 1] == pytest.approx(min(above, default=np.inf), rel=1e-6)  # theirs by roots of polynomials
    assert found.gain[0, 0] == pytest.approx(max(below, default=0.0), rel=1e-6)
    assert found.phase[0] == pytest.approx(min(np.abs(phases), default=180.0), rel=1e-6)
    grid = control.disk_margins(L, np.geomspace(1e-4, 1e2, 4001), skew=0.0)[0]
    assert grid * (1 - 1e-3) <= found.disk[0] <= grid * (1 + 1e-6)


def test_a_grid_misses_what_pencils_find() -> None:
    """A mode with a damping of 1e-5 in a loop: a hundred frequencies see a disk several times too large."""
    mode = control.tf([0.9 * 2e-5 * 7, 0], [1, 2e-5 * 7, 49])
    L = control.tf([0.5], [1, 1]) - mode
    found = tt.margins(L, skew=1.0)

    def sizes(omega: Any) -> Any:
        return np.abs(1 + L(1j * omega))

    assert sizes(np.geomspace(0.01, 100, 100)).min() > 3 * found.disk[0]
    assert sizes(7 * np.linspace(1 - 1e-4, 1 + 1e-4, 20_001)).min() == pytest.approx(found.disk[0], rel=1e-3)  # the grid's


@pytest.mark.parametrize("gain", [0.5, 1.0, 1.5])
def test_a_sampled_integrator(gain: float) -> None:
    """``k / (z - 1)`` is stable up to k = 2; at ``2 sin(θ / 2) = k`` its lag is short of 180 degrees by ``90 - θ / 2``."""
    period = 0.1
    found = tt.margins(control.ss([[1.0]], [[1.0]], [[gain]], [[0.0]], period))
    angle = 2 * np.arcsin(gain / 2)
    phase = np.pi / 2 - angle / 2
    assert found.gain[0] == pytest.approx([0.0, 2 / gain], rel=ROUNDED)
    assert found.phase[0] == pytest.approx(np.degrees(phase), rel=ROUNDED)
    assert found.delay[0] == pytest.approx(phase / angle * period, rel=ROUNDED)
    if gain == 1.0:  # with a sample of delay z² - z + k has its poles on the circle: whole samples are delays
        assert found.delay[0] == pytest.approx(period, rel=ROUNDED)


def test_a_loop_without_crossings_and_one_with_a_gain_of_one_at_infinity() -> None:
    """Nothing limits the first; any delay makes the second unstable."""
    found = tt.margins(control.tf([0.5], [1, 1]))
    assert (found.gain[0].tolist(), found.phase[0], found.delay[0]) == ([0.0, np.inf], 180.0, np.inf)
    assert tt.margins(control.tf([1.5, 1], [1, 1])).delay[0] == 0
