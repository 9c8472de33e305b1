"""What pulls along a line, against the law of elastic tendons and complex steps of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.solvers.kernels.laws import soft_lines

Array = NDArray[np.float64]
N, BODIES, STEP = 3, 2, 1e-30
SIGN, STIFFNESS, DISSIPATION, INPUT = 1.0, 200.0, 0.3, 5.0
ARM = 0.02
RNG = np.random.default_rng(0)
CURVATURE = np.zeros((N, N))
CURVATURE[:BODIES, :BODIES] = [[0.3, -0.1], [-0.1, 0.2]]
SLOPES = np.array([0.4, -0.7, ARM])
Q, V = RNG.normal(size=(2, N))


def numbers(stiffness: float = STIFFNESS, drawn: float = 0.1, given: float = INPUT) -> Array:
    return np.array([[SIGN, stiffness, DISSIPATION, drawn, BODIES, 1, ARM, given]])


def moving(v: Array = V, given: float = INPUT) -> Array:
    """Return the motion of the line's targets, with its input behind."""
    return np.concatenate([Q, v, [given]])[None]


def stretch_of(q: Array, drawn: float) -> complex:
    """Return the stretch of a line whose length is quadratic in the coordinates."""
    return drawn + 1.0 + SLOPES @ q + 0.5 * q @ CURVATURE @ q


def efforts_of(q: Array, v: Array, table: Array, drawn: float) -> Array:
    """Return ``-T dl/dq`` with ``T = u + k s (1 + d ds/dt)``, slack for negative s."""
    g, s = SLOPES + CURVATURE @ q, stretch_of(q, drawn)
    share = 1.0 + DISSIPATION * (g @ v)
    elastic = table[0, 1] * s * share if s.real > 0 and share.real > 0 else 0.0
    return -(SIGN * table[0, -1] + elastic) * g


CASES = {"stretched": (STIFFNESS, 0.1, INPUT), "slack": (STIFFNESS, -9.0, INPUT), "inelastic": (0.0, 0.1, INPUT)}


@pytest.mark.parametrize("name", CASES)
def test_efforts_and_their_slopes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_lines, "part_of", lambda t, first, shape: t[0, first : first + shape[0]])  # compiled otherwise
    stiffness, drawn, given = CASES[name]
    table, motion = numbers(stiffness, drawn, given), moving(given=given)
    g, s = SLOPES + CURVATURE @ Q, stretch_of(Q, drawn)
    loads = g[None].copy()
    soft_lines.pull(N, table, motion, s, loads)
    np.testing.assert_allclose(loads[0], efforts_of(Q, V, table, drawn), rtol=1e-14)
    slopes = np.zeros((1, 2 * N * N))
    slopes.reshape(N, 2, N)[:, 0] = CURVATURE
    soft_lines.pull_slopes(N, table, motion, s, g[None].copy(), slopes)
    by_q, by_v = slopes.reshape(N, 2, N).transpose(1, 0, 2)
    for k, e in enumerate(np.eye(N)):
        np.testing.assert_allclose(by_q[:, k], efforts_of(Q + 1j * STEP * e, V, table, drawn).imag / STEP, rtol=0, atol=1e-12)
        np.testing.assert_allclose(by_v[:, k], efforts_of(Q, V + 1j * STEP * e, table, drawn).imag / STEP, rtol=0, atol=1e-12)
    assert by_v.any() == (name == "stretched")


def test_tendons_never_push() -> None:
    """Where dissipation would take all, and where the line is slack."""
    loads = SLOPES[None].copy()
    soft_lines.pull(N, numbers(), moving(-1e3 * SLOPES, 0.0), 0.5, loads)
    assert not loads.any()
    assert soft_lines.stretched_energy(numbers(), -0.5) == 0.0
    assert soft_lines.stretched_energy(numbers(), 0.5) == 0.5 * STIFFNESS * 0.25


def test_lines_that_do_nothing_are_idle() -> None:
    assert soft_lines.is_idle(numbers(stiffness=0.0), moving(given=0.0))
    assert not soft_lines.is_idle(numbers(stiffness=0.0), moving())
    assert not soft_lines.is_idle(numbers(), moving(given=0.0))
    assert not soft_lines.curves(N, numbers(), moving(given=0.0), -0.5, SLOPES[None])
    assert soft_lines.curves(N, numbers(), moving(), -0.5, SLOPES[None])


def test_numbers_stand_where_the_law_says() -> None:
    table, motion = numbers(), np.concatenate([Q, V])[None]
    assert (soft_lines.bodies_of(table), soft_lines.first_body(table), soft_lines.drawn_in(table)) == (2, 7, 0.1)
    assert soft_lines.taken_in(N, BODIES, table, motion) == ARM * Q[2]
    g = np.zeros((1, N))
    soft_lines.write_arms(N, BODIES, table, g)
    assert g[0].tolist() == [0.0, 0.0, ARM]
