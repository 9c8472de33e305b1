"""Lower bounds of mu, against all solutions of two real blocks on a grid, and upper bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.solvers.robust.families import matrix
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.lower_bound import lower_bound
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.uncertain_loop import balance
from titop.solvers.robust.upper_bound import upper_bound

REAL, COMPLEX, FULL = tt.DeltaBlock.real, tt.DeltaBlock.complex, tt.DeltaBlock.full

#: Between two places of the grid eigenvalues are followed by straight lines.
STRAIGHT = 5e-3


def of_two_real(M: NDArray[np.complex128], first: int, reach: float = 60.0, count: int = 4001) -> float:
    """Return mu of two real blocks: where an eigenvalue of the loop of the first crosses the real axis, along the second."""
    along = np.sinh(np.linspace(-np.arcsinh(reach), np.arcsinh(reach), count))
    a, b = slice(first), slice(first, None)
    inner = np.linalg.inv(np.eye(len(M) - first) - along[:, None, None] * M[b, b])
    values = np.linalg.eigvals(M[a, a] + along[:, None, None] * (M[a, b] @ inner @ M[b, a]))
    best = 0.0
    for now, following, second in zip(values[:-1], values[1:], along[:-1], strict=True):
        for x in now:
            y = following[np.argmin(np.abs(following - x))]
            if x.imag * y.imag < 0 and abs(x - y) < 0.2 * abs(x):
                crossing = (x + x.imag / (x.imag - y.imag) * (y - x)).real
                best = max(best, 1 / max(abs(1 / crossing), abs(second)))
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [2, 3])
def test_two_real_blocks_agree_with_all_solutions(size: int, seed: int) -> None:
    """Some matrices have none; the power iteration alone misses three in ten of those that do."""
    blocks = [REAL("a", size), REAL("b", size)]
    M, structure = matrix(blocks, seed), Structure.of(blocks)
    found = lower_bound(balance(Matrices.constant(M), structure).D, structure)
    np.testing.assert_allclose(found.value, of_two_real(M, size), rtol=STRAIGHT)
    if found.value:
        sizes = np.linalg.svd(np.eye(len(M)) - M @ structure.matrix(found.deltas) / found.value, compute_uv=False)
        assert sizes[-1] <= 1e-12 * sizes[0], "singular to rounding, some thousand last digits"
        assert np.abs(found.deltas).max() == 1.0


def test_the_oracle_tells_real_from_complex() -> None:
    """The negative control: complex numbers reach farther."""
    blocks = [REAL("a", 2), REAL("b", 2)]
    M, free = matrix(blocks, 0), Structure.of([COMPLEX("a", 2), COMPLEX("b", 2)])
    assert lower_bound(M, free).value > 1.2 * of_two_real(M, 2)


@pytest.mark.parametrize("seed", range(4))
def test_with_complex_blocks_bounds_meet(seed: int) -> None:
    """Of three blocks, one full: with a free phase in them scalings lose little here."""
    blocks = [REAL("a", 2), COMPLEX("b", 2), FULL("c", 2, 3)]
    structure, M = Structure.of(blocks), matrix(blocks, seed)
    assert lower_bound(M, structure).value >= 0.97 * upper_bound(Centres(structure), M).level


def of_a_real_block_and_another(M: NDArray[np.complex128], first: int, full: bool) -> float:
    """Return mu of a real block and a complex or full one: along the first, the second's largest eigen- or singular value."""

    def values(t: NDArray[np.float64]) -> NDArray[np.float64]:
        inner = np.linalg.inv(np.eye(first) - t[:, None, None] * M[:first, :first])
        closed = M[first:, first:] + t[:, None, None] * (M[first:, :first] @ inner @ M[:first, first:])
        gain = np.linalg.norm(closed, 2, axis=(1, 2)) if full else np.abs(np.linalg.eigvals(closed)).max(axis=1)
        return np.minimum(gain, 1 / np.abs(t))

    reach = 1 / values(np.array([1e-12]))[0]
    along, best = np.linspace(-reach, reach, 4000), 0.0
    for _ in range(3):
        found = values(along)
        best, k = max(best, float(found.max())), int(found.argmax())
        along = np.linspace(along[max(k - 1, 0)], along[min(k + 1, len(along) - 1)], 400)
    return best


@pytest.mark.parametrize(
    ("sizes", "full", "seed"),
    [((1, 2), False, 3), ((1, 2), False, 8), ((2, 2), False, 3), ((2, 3), False, 8), ((3, 1), False, 5), ((2, 2), True, 10)],
)
def test_a_real_block_and_another_agree_with_a_scan(sizes: tuple[int, int], full: bool, seed: int) -> None:
    """Power iterations with the real number at its ends lose 2 to 10 % of these."""
    blocks = [REAL("a", sizes[0]), FULL("b", sizes[1]) if full else COMPLEX("b", sizes[1])]
    M, structure = matrix(blocks, seed), Structure.of(blocks)
    found = lower_bound(balance(Matrices.constant(M), structure).D, structure)
    np.testing.assert_allclose(found.value, of_a_real_block_and_another(M, sizes[0], full), rtol=1e-3, err_msg="of a last step")


@pytest.mark.parametrize("value", [2.0, 1 + 2j, -1.3 + 0.2j, -0.7j, 1e-6 * (3 - 1j), 1e6j])
@pytest.mark.parametrize("blocks", [[COMPLEX("a")], [FULL("a")], [COMPLEX("a", 3)], [COMPLEX("a", 2), COMPLEX("b")]])
def test_of_multiples_of_one_bounds_are_their_size(blocks: list[tt.DeltaBlock], value: complex) -> None:
    """There ``1 - M Δ`` as a whole is rounding: it is measured against its terms, not against itself."""
    bounds = tt.mu(value * np.eye(Structure.of(blocks).shape[0]), blocks=blocks)
    np.testing.assert_allclose([bounds.lower[0], bounds.upper[0]], abs(value), rtol=1e-9)
