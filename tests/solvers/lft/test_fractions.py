"""Structured reduction: what is not reached or not seen is left out, whatever basis hides it; nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from titop.solvers.lft.fractions import Fractional, equal_sizes, reduce_fraction, response_at, separate_parts, trim_zeros

pytestmark = pytest.mark.portable


def minimal(rng: np.random.Generator, sizes: tuple[int, ...]) -> Fractional:
    """Return a random model, which is minimal, with states that decay."""
    n = sum(sizes)
    A = rng.normal(size=(n, n)) / n
    A[-sizes[-1] :, -sizes[-1] :] -= 2.0 * np.eye(sizes[-1])
    return Fractional(A, rng.normal(size=(n, 2)), rng.normal(size=(2, n)), rng.normal(size=(2, 2)), sizes)


def hidden(rng: np.random.Generator, model: Fractional, more: int) -> Fractional:
    """Return the model with states and channels that nothing reaches or nothing shows, in a random basis of each delta."""
    sizes = tuple(size + 2 * more for size in model.sizes)
    n, parts = sum(sizes), Fractional(model.A, model.B, model.C, model.D, sizes).parts
    core = np.concatenate([np.arange(part.start, part.start + size) for part, size in zip(parts, model.sizes, strict=True)])
    shown = np.concatenate([np.arange(part.stop - 2 * more, part.stop - more) for part in parts])
    reached = np.concatenate([np.arange(part.stop - more, part.stop) for part in parts])
    A, B, C = np.zeros((n, n)), np.zeros((n, 2)), np.zeros((2, n))
    A[np.ix_(core, core)], B[core], C[:, core] = model.A, model.B, model.C
    A[np.ix_(core, shown)], C[:, shown] = rng.normal(size=(len(core), len(shown))), rng.normal(size=(2, len(shown)))
    A[np.ix_(reached, core)], B[reached] = rng.normal(size=(len(reached), len(core))), rng.normal(size=(len(reached), 2))
    for own in (shown, reached):
        A[np.ix_(own, own)] = 0.1 * rng.normal(size=(len(own), len(own)))
    T = block_diag(*(np.linalg.qr(rng.normal(size=(size, size)))[0] for size in sizes))
    return Fractional(T.T @ A @ T, T.T @ B, C @ T, model.D, sizes)


@pytest.mark.parametrize("seed", range(5))
def test_hidden_parts_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    core = minimal(rng, (2, 3, 4))
    found = reduce_fraction(hidden(rng, core, 2))
    assert found.sizes == core.sizes
    point = (0.3, -0.7, 1 / 1.3j)
    assert response_at(found, point) == pytest.approx(
        response_at(core, point), rel=1e-10
    )  # sums of a few dozen rounded products


def test_what_is_minimal_stays_as_it_is() -> None:
    """Nor is it turned: names of states keep their meaning."""
    model = minimal(np.random.default_rng(7), (2, 1, 3))
    assert np.array_equal(reduce_fraction(model).A, model.A)


def test_states_of_unlike_sizes() -> None:
    """A state that is reached through a coupling of 1e-6 is one."""
    A = np.array([[-1.0, 0.0, 0.0], [1e-6, -2.0, 0.0], [0.0, 0.0, -3.0]])
    model = Fractional(A, np.array([[1.0], [0.0], [0.0]]), np.array([[0.0, 1e6, 1.0]]), np.zeros((1, 1)), (3,))
    assert reduce_fraction(model).sizes == (2,)


def test_what_zeros_keep_apart_is_left_out_first() -> None:
    """Two models side by side, the second without inputs: whatever its sizes, it goes whole; joined by anything it stays."""
    rng = np.random.default_rng(3)
    first, second = minimal(rng, (2, 3)), minimal(rng, (1, 4))
    order = [0, 1, 5, 2, 3, 4, 6, 7, 8, 9]
    A = block_diag(first.A, 1e12 * second.A)[np.ix_(order, order)]
    B, C = np.vstack([first.B, 0 * second.B])[order], np.hstack([first.C, second.C])[:, order]
    both = Fractional(A, B, C, first.D, (3, 7))
    assert trim_zeros(both).sizes == first.sizes
    assert np.array_equal(trim_zeros(both).A, first.A)
    A[2, 0] = 1e-30
    assert trim_zeros(both).sizes == both.sizes


@pytest.mark.parametrize("density", [0.02, 0.1, 0.5])
def test_parts_are_those_of_a_graph(density: float) -> None:
    """Rows and columns are joined where an entry is not zero; another library finds the same parts."""
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(12, 17)) * (rng.uniform(size=(12, 17)) < density)
    whole = np.block([[np.zeros((12, 12)), matrix], [matrix.T, np.zeros((17, 17))]])
    count, label = connected_components(coo_array(whole), directed=False)
    right = {(*np.flatnonzero(label[:12] == k), *(12 + np.flatnonzero(label[12:] == k))) for k in range(count)}
    parts = [(*rows, *(12 + columns)) for rows, columns in separate_parts(matrix)]
    assert parts == sorted(parts)
    assert set(parts) == {part for part in right if len(part) > 1}


# -- units in which rows and columns are as large as each other ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("symmetric", [False, True])
def test_units_are_found_again(seed: int, symmetric: bool) -> None:
    """Of matrices of numbers of size one in units 1e40 apart: what is left is within a power of two or two."""
    rng = np.random.default_rng(seed)
    plain = rng.uniform(0.5, 2.0, (2, 5, 5)) * rng.choice([-1, 1], (2, 5, 5))
    plain = plain + plain.swapaxes(1, 2) if symmetric else plain
    left = 10.0 ** rng.uniform(-20, 20, (2, 5, 1))
    right = left.swapaxes(1, 2) if symmetric else 10.0 ** rng.uniform(-20, 20, (2, 1, 5))
    given = left * plain * right
    rows, columns = equal_sizes(given)
    found = np.abs(given / rows / columns)
    assert found.max() <= 4.0
    assert found.max(axis=1).min() >= 0.25
    assert found.max(axis=2).min() >= 0.25
    assert np.ptp(np.log10(np.abs(given).max(axis=1))) > 3  # the control: before they were not
    assert (np.frexp(rows)[0] == 0.5).all()
    assert (np.frexp(columns)[0] == 0.5).all()
    if symmetric:
        np.testing.assert_array_equal(rows, columns.swapaxes(1, 2))


def test_zeros_have_no_unit() -> None:
    rows, columns = equal_sizes(np.array([[0.0, 0.0], [0.0, 16.0]]))
    assert rows[0] == columns[0, 0] == 1.0
    assert rows[1] * columns[0, 1] == 16.0
    assert [part.shape for part in equal_sizes(np.zeros((0, 3)))] == [(0, 1), (1, 3)]
