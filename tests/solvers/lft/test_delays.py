"""Delays as fractions and as samples that are kept, against the delay itself."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from titop.solvers.lft.feedback import add_delays, read_delays, split_delay, tap_outputs
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.path_series import pade

#: Products of a few numbers of size one to a thousand.
ROUNDING = 1e-12


def pade_error(order: int, phase: float) -> float:
    """Return a bound of the error where the delay times the frequency is a phase (rad).

    The remainder of Pade's fraction of the exponential is an integral with the factor ``n!^2 / ((2 n)! (2 n + 1)!)``, divided
    by a denominator that is not less than one on the imaginary axis.
    """
    factor = factorial(order) ** 2 / (factorial(2 * order) * factorial(2 * order + 1))
    return min(2.0, factor * phase ** (2 * order + 1))


def response(matrices: Matrices, point: complex) -> np.ndarray:
    A, B, C, D = matrices
    return np.asarray(C @ np.linalg.solve(point * np.eye(len(A)) - A, B) + D)


@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("phase", [0.1, 1.0, 2.4, 4.0, 10.0])
def test_fractions_are_within_their_bound(order: int, phase: float) -> None:
    """Of gain one; and a tenth of the bound would be exceeded where it is a few times rounding and the series' first term."""
    found = response(pade(order, 0.2), 1j * phase / 0.2)[0, 0]
    error = abs(found - np.exp(-1j * phase))
    assert abs(found) == pytest.approx(1.0, abs=ROUNDING)
    assert error <= pade_error(order, phase) + ROUNDING
    if 1e-10 < pade_error(order, phase) < 0.1:
        assert error > 0.1 * pade_error(order, phase)


def test_the_figures_of_the_fourth_order() -> None:
    assert pade_error(4, 2.38) < 1e-4
    assert pade_error(4, 4.0) < 1.1e-2


def test_outputs_are_delayed_one_by_one() -> None:
    rng = np.random.default_rng(1)
    law = Matrices(-np.eye(2), *(rng.normal(size=shape) for shape in ((2, 3), (2, 2), (2, 3))))
    found = response(add_delays(law, np.array([0.5, 0.0]), 8), 2.0j)
    assert found == pytest.approx(np.diag([np.exp(-1.0j), 1.0]) @ response(law, 2.0j), rel=1e-10)


def test_samples_are_kept() -> None:
    """Any sample of any output, in any order."""
    rng = np.random.default_rng(2)
    law = Matrices(0.5 * np.eye(2), *(rng.normal(size=shape) for shape in ((2, 3), (2, 2), (2, 3))))
    taps, z = [(1, 2), (0, 0), (1, 0), (0, 3), (0, 1)], np.exp(0.3j)
    found = tap_outputs(law, taps)
    assert len(found.A) == 2 + 3 + 2
    right = np.array([response(law, z)[output] / z**ago for output, ago in taps])
    assert response(found, z) == pytest.approx(right, rel=ROUNDING)


def test_splitting() -> None:
    assert split_delay("delay", 0.0, 0.1) == (0, 0.0)
    assert split_delay("delay", 0.3, 0.1) == (3, 0.0)  # 0.3 is less than three times 0.1
    assert split_delay("delay", 0.25, 0.1) == (2, pytest.approx(0.5))


def test_reading() -> None:
    assert read_delays(0.1, ["a", "b"]).tolist() == [0.1, 0.1]
    assert read_delays({"motor.T": 0.1}, ["a", "motor_T"]).tolist() == [0.0, 0.1]
