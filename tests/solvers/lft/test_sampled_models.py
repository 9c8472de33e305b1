"""Fractions over a sampling interval, against matrix exponentials over parts of it."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest
from scipy.linalg import expm

from titop.solvers.lft.fractions import close_deltas
from titop.solvers.lft.sampled_models import Channels, Window, sample_fraction
from titop.solvers.linear.matrices import Matrices

#: Sums of products of exponentials, beside matrices of size one.
ROUNDING = 1e-12

#: Two deltas of two and one repetitions, around three oscillations with two inputs and one output.
CHANNELS = Channels((slice(0, 2), slice(2, 3)), (slice(0, 2), slice(2, 3)))
DELTAS = (0.6, -0.8)


def system(direct: bool) -> Matrices:
    """Return matrices; with `direct` the deltas' outputs depend on the inputs at once."""
    rng = np.random.default_rng(4)
    A = np.zeros((6, 6))
    for k, (omega, zeta) in enumerate(((1.0, 0.1), (3.0, 0.02), (4.5, 0.05))):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[0, 1], [-(omega**2), -2 * zeta * omega]]
    D = 0.3 * rng.normal(size=(4, 5)) if direct else np.zeros((4, 5))
    return Matrices(A, rng.normal(size=(6, 5)), 0.5 * rng.normal(size=(4, 6)), D)


def member(direct: bool) -> Matrices:
    """Return the matrices of the member at `DELTAS`, by the feedback's definition."""
    A, B, C, D = system(direct)
    delta = np.diag([DELTAS[0], DELTAS[0], DELTAS[1]])
    fed = delta @ np.linalg.inv(np.eye(3) - D[:3, :3] @ delta)
    z, y = slice(0, 3), slice(3, 4)
    into, out = np.vstack([B[:, z], D[y, z]]), np.hstack([C[z], D[z, 3:]])
    whole = np.block([[A, B[:, 3:]], [C[y], D[y, 3:]]]) + into @ fed @ out
    return Matrices(whole[:6, :6], whole[:6, 6:], whole[6:, :6], whole[6:, 6:])


def by_parts(A: np.ndarray, B: np.ndarray, period: float, windows: list[Window]) -> np.ndarray:
    """Return the end of an interval for states and windows at its beginning, from one edge of a window to the next."""
    n, columns = len(A), np.zeros((B.shape[1], len(windows)))
    edges = sorted({0.0, 1.0, *(edge for own in windows for edge in own[1:])})
    steps = []
    for start, stop in itertools.pairwise(edges):
        columns[:] = 0.0
        for k, own in enumerate(windows):
            columns[own.column, k] = float(own.start <= start and stop <= own.stop)
        generator = np.zeros((n + len(windows), n + len(windows)))
        generator[:n] = np.hstack([A, B @ columns])
        steps.append(expm(generator * period * (stop - start)))
    return reduce(lambda before, step: step @ before, steps)[:n]


def error(period: float, stages: int, direct: bool, windows: list[Window]) -> float:
    """Return the error of a member's response, at a frequency, to an input whose values in all windows follow each other."""
    found = close_deltas(sample_fraction(system(direct), CHANNELS, period, stages, windows), DELTAS)
    moved = [own._replace(column=own.column - 3) for own in windows]
    A, B, *_ = member(direct)
    z, count = np.exp(0.7j * period), len(windows)
    old = np.array([[1.0 / z if own.stop < 1.0 else 1.0] for own in windows])
    ends = [matrix[:, :6] for matrix in (found.D[:6], by_parts(A, B, period, moved))]
    driven = [matrix[:, 6 : 6 + count] @ old for matrix in (found.D[:6], by_parts(A, B, period, moved))]
    x, exact = (np.linalg.solve(z * np.eye(6) - end, drive) for end, drive in zip(ends, driven, strict=True))
    return float(np.linalg.norm(x - exact) / np.linalg.norm(exact))


WHOLE = [Window(3)]
PARTS = [Window(3, 0.0, 0.4), Window(3, 0.4, 1.0)]


@pytest.mark.parametrize("direct", [False, True])
def test_without_deltas_it_is_exact(direct: bool) -> None:
    """Also where inputs change within the interval."""
    A, B, C, D = member(direct)
    windows = [Window(0), Window(1, 0.0, 0.37), Window(1, 0.37, 1.0)]
    found = sample_fraction(member(direct), Channels(), 0.6, 1, windows)
    assert found.D[:6] == pytest.approx(by_parts(A, B, 0.6, windows), abs=ROUNDING)
    at_once = np.hstack([C, D[:, [0]], D[:, [1]], np.zeros((1, 1))])
    assert found.D[6:] == pytest.approx(at_once, abs=ROUNDING)
    nominal = sample_fraction(system(direct), CHANNELS, 0.6, 1, PARTS)
    A, B, *_ = system(direct)
    assert nominal.D[:6] == pytest.approx(by_parts(A, B, 0.6, PARTS), abs=ROUNDING)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize(
    ("stages", "windows", "order"), [(1, WHOLE, 2), (2, WHOLE, 4), (1, PARTS, 2), (2, PARTS, 3), (3, PARTS, 4)]
)
def test_the_order_of_members(direct: bool, stages: int, windows: list[Window], order: int) -> None:
    """Half the period, errors 2^order as small: at least, and up to a fifth of an order for terms that vanish later."""
    errors = [error(period, stages, direct, windows) for period in (0.1, 0.05)]
    assert 1e-12 < errors[1] < 1e-2  # above rounding
    assert np.log2(errors[0] / errors[1]) > order - 0.2


def test_repetitions() -> None:
    """Those of the continuous model for each stage; once more where outputs depend on channels at once."""
    assert sample_fraction(system(False), CHANNELS, 0.1, 1, WHOLE).sizes == (2, 1)
    assert sample_fraction(system(False), CHANNELS, 0.1, 2, WHOLE).sizes == (4, 2)
    assert sample_fraction(system(True), CHANNELS, 0.1, 1, WHOLE).sizes == (4, 2)
