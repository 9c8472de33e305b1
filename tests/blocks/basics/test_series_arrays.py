"""Arrays of series do what arrays of single numbers with their derivatives do."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.basics.series_arrays import SeriesArray, crossing, derivatives, join_arrays, moving, numbers, stacked
from titop.blocks.basics.spatial import skew
from titop.blocks.basics.taylor import derivatives_of

ORDER = 4


def drawn(seed: int, *shape: int) -> SeriesArray:
    return SeriesArray(np.random.default_rng(seed).normal(size=(ORDER + 1, *shape)))


A, B, a, b, M = drawn(0, 3, 3), drawn(1, 3, 3), drawn(2, 3), drawn(3, 3), np.random.default_rng(4).normal(size=(3, 3))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (A @ B, numbers(A) @ numbers(B)),
        (A @ b, numbers(A) @ numbers(b)),
        (M @ A, M @ numbers(A)),
        (M @ a, M @ numbers(a)),
        (A @ M, numbers(A) @ M),
        (A @ M[0], numbers(A) @ M[0]),
        (a + b, numbers(a) + numbers(b)),
        (a - b, numbers(a) - numbers(b)),
        (a + M[0], numbers(a) + M[0]),
        (M[0] - a, M[0] - numbers(a)),
        (A.T[:, :2], numbers(A).T[:, :2]),
        (a.rate, np.array([entry.rate for entry in numbers(a)])),
        (join_arrays([A, M], ORDER, axis=1), np.hstack([numbers(A), M])),
        (join_arrays([a, M[0]], ORDER), np.concatenate([numbers(a), M[0]])),
        (crossing(a) @ b, np.cross(numbers(a), numbers(b))),
    ],
)
def test_as_of_single_numbers(found: SeriesArray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(derivatives(found, ORDER), derivatives_of(expected, ORDER), rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(derivatives(stacked(numbers(found), ORDER), ORDER), derivatives(found, ORDER))


def test_what_stands_still_stays_plain() -> None:
    assert stacked(M, ORDER) is M
    assert numbers(M) is M
    np.testing.assert_array_equal(join_arrays([M, M], ORDER), np.vstack([M, M]))
    np.testing.assert_array_equal(crossing(M[0]), skew(M[0]))
    still = derivatives(moving(M, ORDER), 2)
    np.testing.assert_array_equal(still[0], M)
    assert not still[1:].any()


def test_entries_are_set_to_series_and_to_plain_numbers() -> None:
    c = moving(np.zeros(5), ORDER)
    c[:3], c[3:] = a, M[0, :2]
    np.testing.assert_array_equal(derivatives(c[:3], ORDER), derivatives(a, ORDER))
    np.testing.assert_array_equal(derivatives(c, 0)[0, 3:], M[0, :2])


def test_derivatives_there_and_back() -> None:
    given = np.random.default_rng(5).normal(size=(ORDER + 1, 6))
    np.testing.assert_allclose(derivatives(SeriesArray.of_derivatives(given), ORDER), given, rtol=1e-15)
    assert derivatives(SeriesArray.of_derivatives(given), 2).shape == (3, 6)
