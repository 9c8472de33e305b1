"""Length of lines and volume of cavities as programs, against sums over what kinematics make of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.blocks.bodies.soft.line_programs import DIRECTION, PLACE, POINT_SIZE, WEIGHT, LinePrograms, shared_line_programs
from titop.blocks.bodies.soft.quadrature import APEX, FAN, FIRST, SECOND, SURFACE_SIZE

Array = NDArray[Any]
N, STEP, GAIN = 2, 1e-30, 0.7
RNG = np.random.default_rng(0)
Q = RNG.normal(size=N)
SHARED = np.append(Q, GAIN)
LINE, SURFACE = RNG.uniform(0.2, 1.0, (5, POINT_SIZE)), RNG.uniform(0.2, 1.0, (5, SURFACE_SIZE))
#: Sums of some tens of products of size one.
ROUNDING = {"rtol": 1e-13, "atol": 1e-13}


class Numbers:
    gain = GAIN


def bent(x: Any, q: Any, numbers: Any) -> list[Any]:
    return [x[0] + numbers.gain * q[0] * x[2] ** 2, x[1] * (1 + 0.1 * q[1]), x[2] + np.sin(q[1]) * x[0] * x[2]]


def moved(x: Array, q: Array, way: Array) -> Array:
    """Return what directions (k, 3) at places (k, 3) become."""
    return np.array(bent((x + 1j * STEP * way).T, q, Numbers)).T.imag / STEP


def length(q: Array) -> float:
    ways = moved(LINE[:, PLACE], q, LINE[:, DIRECTION])
    return float(LINE[:, WEIGHT] @ np.linalg.norm(ways, axis=1))


def volume(q: Array) -> float:
    p, c = (np.array(bent(SURFACE[:, part].T, q, Numbers)).T for part in (PLACE, APEX))
    a, b = (moved(SURFACE[:, PLACE], q, SURFACE[:, part]) for part in (FIRST, SECOND))
    return float(np.einsum("ki,ki->", p, np.cross(a, b + SURFACE[:, FAN, None] * c)))


CASES = {"length": (False, LINE, length), "volume": (True, SURFACE, volume)}


@pytest.mark.parametrize("name", CASES)
def test_measures_and_their_slopes(name: str) -> None:
    is_volume, points, measure = CASES[name]
    programs, h = LinePrograms(bent, N, ("gain",), is_volume), 1e-6
    assert programs.sizes == {"measure": 1 + N, "curvature": N * N}
    found = programs.measure.at_points(SHARED, points)[0]
    assert found[0] == pytest.approx(measure(Q), rel=1e-13)
    slopes = [(measure(Q + h * e) - measure(Q - h * e)) / (2 * h) for e in np.eye(N)]
    np.testing.assert_allclose(found[1:], slopes, rtol=0, atol=1e-8)  # differences: h^2 and eps / h
    curvature = programs.curvature.at_points(SHARED, points)[0].reshape(N, N)
    for k, e in enumerate(np.eye(N)):
        stepped = programs.measure.at_points(SHARED + 1j * STEP * np.append(e, 0.0), points)[0]
        np.testing.assert_allclose(curvature[:, k], stepped[1:].imag / STEP, **ROUNDING)
        assert stepped[0].imag / STEP == pytest.approx(found[1 + k], rel=1e-12)


def test_programs_are_shared_and_told_apart() -> None:
    one, other = (LinePrograms(bent, N, ("gain",), volume) for volume in (False, True))
    assert one.identity != other.identity
    assert one.identity == LinePrograms(bent, N, ("gain",), False).identity
    assert shared_line_programs(bent, N, ("gain",), False) is shared_line_programs(bent, N, ("gain",), False)
