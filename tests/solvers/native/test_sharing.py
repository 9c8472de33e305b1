"""Shared helpers: compiled once for all kernels that call them, whatever they are called with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from titop.solvers.native import cache, object_code
from titop.solvers.native.kernel import Kernel, Stage, entry, shared
from titop.solvers.native.signatures import CUBE, FLAG, FLOATS, INTEGER, INTS, MASK, REAL, VECTOR, Signature


@shared
def weighted(number, count, flag, pair, nothing, vector, table, cube, mask, ints):
    """A sum in which every argument, and every size of an array, has a weight of its own."""
    total = number + 2.0 * count + 3.0 * flag + 5.0 * pair[0] + 7.0 * pair[1][0].imag + 11.0 * pair[1][1].shape[1]
    if nothing is not None:
        total += 1e9
    total += 13.0 * vector[-1] + 17.0 * table[1, -1] + 19.0 * cube[1, -1, 0] + 23.0 * mask[-1] + 29.0 * ints[-1, -1]
    total += 31.0 * vector.size + 37.0 * table.size + 41.0 * cube.shape[2] + 43.0 * mask.shape[0] + 47.0 * ints.nbytes
    return total + table.sum() + cube[:, 1].sum()


def every_kind(number, count, flag, vector, table, cube, mask, ints):
    pair = (number, (complex(0.5, count), table))
    return weighted(number, count, flag, pair, None, vector, table[1:], cube, mask, ints) + pair[0]


def test_every_kind_of_argument_arrives() -> None:
    rng = np.random.default_rng(0)
    vector, table, cube = rng.normal(size=3), rng.normal(size=(4, 5)), rng.normal(size=(2, 3, 4))
    mask, ints = np.array([False, True]), rng.integers(0, 9, size=(2, 3))
    given = (1.5, 7, True, vector, table, cube, mask, ints)
    kernel = entry(REAL, INTEGER, FLAG, VECTOR, FLOATS, CUBE, MASK, INTS, result=REAL)(every_kind)
    assert kernel(*given) == pytest.approx(every_kind(*given), rel=1e-14)  # sums in another order


@shared
def both(vector, count):
    """An array that was given, and one that is new."""
    longer = np.zeros(count)
    for k in range(vector.size):
        longer[k] = 2.0 * vector[k]
    return vector, longer


@entry(INTEGER, result=REAL)
def kept_alive(count):
    """What remains of arrays that only their way through a shared helper keeps."""
    total = 0.0
    for k in range(count):
        short, longer = both(np.full(4, float(k)), 5)
        other = np.full(4, -1e3)
        total += short[3] + longer[3] + longer[4] + 0.0 * other[0]
    return total


def test_arrays_that_come_back_stay_alive() -> None:
    assert kept_alive(1000) == 3.0 * sum(range(1000))


@shared
def doubled(vector):
    for k in range(vector.size):
        vector[k] *= 2.0
    return 0


def first(vector):
    return doubled(vector)


def second(vector, times):
    for _ in range(times):
        doubled(vector)
    return 0


def test_the_second_kernel_finds_it_loaded() -> None:
    x = np.ones(3)
    entry(VECTOR)(first)(x)
    symbol = next(name for name in object_code.LOADED if name.startswith("part_doubled_"))
    kernel = entry(VECTOR, INTEGER)(second)
    codes = kernel._compile()
    assert [(name, code.needs) for name, code in codes.items()] == [(kernel.file, (symbol,))]
    kernel(x, 3)
    assert (x == 16.0).all()


def test_whole_kernels_need_nothing() -> None:
    kernel = Kernel(second, Signature((VECTOR, INTEGER)), whole=True)
    assert [code.needs for code in kernel._compile().values()] == [()]
    x = np.ones(3)
    kernel(x, 2)
    assert (x == 4.0).all()


@shared
def tripled(k):
    return 3 * k


def test_what_is_compiled_ahead_is_kept_with_all_that_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where this process has loaded parts whose files are gone."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    assert Stage("tests_once", lambda k: tripled(k) + 1, (INTEGER,))(2) == 7
    for path in tmp_path.iterdir():
        path.unlink()
    later = Stage("tests_later", lambda k: tripled(k) - 1, (INTEGER,))
    assert not later.is_kept
    later.compile_quietly()
    assert later.is_kept
    assert object_code.read(later.file).keys() > {later.file}
    next(path for path in tmp_path.iterdir() if path.name.startswith("part_tripled")).unlink()
    assert not later.is_kept
    assert later(2) == 5


def test_functions_within_others_are_refused() -> None:
    """Two of them may have the same name."""

    def within(x):
        return x

    with pytest.raises(ValueError, match="stand at the top"):
        shared(within)


def test_arrays_with_gaps_are_refused() -> None:
    @entry(FLOATS)
    def column(table):
        return doubled(table[:, 0])

    with pytest.raises(RuntimeError, match="without gaps"):
        column(np.ones((2, 2)))
