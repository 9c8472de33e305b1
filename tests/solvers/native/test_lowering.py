"""Kernels' short text: the same results as Python's own, whatever is indexed, counted or given back."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba.core import lowering

from titop.solvers.native import parts
from titop.solvers.native.kernel import entry, shared
from titop.solvers.native.signatures import CUBE, FLOATS, INTEGER, INTS, MASK, REAL, VECTOR


@shared
def given_back(vector, table, count):
    """An array that was given, or a new one; three numbers of several kinds."""
    longer = np.zeros(count)
    for k in range(vector.size):
        longer[k] = 2.0 * vector[k]
    return longer if count > 5 else vector, (table[0, 1], count, count > 3)


def constant_indices(vector, table, cube, mask, ints):
    total = (
        vector[0] + 3.0 * vector[-1] + 5.0 * table[1, 2] + 7.0 * table[-2, -1] + 11.0 * cube[1, 2, 3] + 13.0 * cube[-1, 0, -2]
    )
    table[0, 1] = 17.0
    cube[1, 0, 1] = ints[1, 2]
    ints[0, 0] = 9
    mask[1] = True
    vector[-2] = total
    return total + 19.0 * table[1][2] + cube[0].sum() + (1.0 if mask[0] else 2.0)


def varying_indices(vector, table, cube, mask, ints):
    total = 0.0
    for i in range(cube.shape[0]):
        for j in range(1, cube.shape[1]):
            for k in range(0, cube.shape[2], 2):
                total += (i + 2.0 * j + 3.0 * k) * cube[i, j, k] + table[i, 1] * table[1, j]
                cube[i, j, k] = vector[j - 1] + ints[i, ints[i, 1]]
    place = (1, 2)
    table[place] += 5.0
    mask[np.uint8(1)] = mask[np.int32(0)] and total > 0.0
    return total + vector[np.uint32(2)] + table[place] + (7.0 if mask[int(True)] else 11.0)


def parts_of_arrays(vector, table, cube, mask, ints):
    column, turned, row = table[:, 1], table.T, table[1]
    total = 0.0
    for k in range(2):
        column[k] += 3.0
        total += column[k] * turned[k, 1] + row[k] - turned[1, 0] + vector[::2][k]
    cube[:, 1, :] = total
    cube[0, 1, 2:] = ints[1, 0]
    return total + vector[vector > 0.0].sum() + vector[mask[:1].sum() :].sum()


def loops(vector, table, cube, mask, ints):
    total, k, last = 0.0, -7, range(3, 1)
    for k in last:
        total += 1e3 * k
    for k in range(-4, 3):
        if k == -2:
            continue
        for j in range(k):
            total += k + 0.1 * j
        else:
            total += 0.01
        if k == 1:
            break
    else:
        total += 1e6
    for down in range(5, -1, -2):
        total += down * vector[down % 3]
        k += down
    numbers = range(2, 4)
    for i in numbers:
        for j in numbers:
            total += i * j
    for pair in ((0.5, 1), (1.5, 2)):
        total += pair[0] * pair[1]
    count = 0
    while count < ints[0, 1] % 5:
        count += 1
        if mask[0]:
            vector[count % 3] += total
    return total + 0.1 * k + count


def arrays_made_and_dropped(vector, table, cube, mask, ints):
    total, kept = 0.0, np.empty(0)
    for k in range(200):
        found, (a, b, c) = given_back(vector, table, 3 + k % 4)
        other = np.full(6, -1e3)
        total += found[k % 3] + (a + b if c else 0.0) + 0.0 * other[0]
        if k % 7 == 0:
            kept = found
    return total + kept.sum()


KERNELS = [constant_indices, varying_indices, parts_of_arrays, loops, arrays_made_and_dropped]


def _given():
    rng = np.random.default_rng(0)
    vector, table, cube = rng.normal(size=3), rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 4))
    return vector, table, cube, np.array([True, False]), rng.integers(0, 3, size=(2, 3))


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_kernels_do_what_python_does(function) -> None:
    ours, expected = _given(), _given()
    kernel = entry(VECTOR, FLOATS, CUBE, MASK, INTS, result=REAL)(function)
    assert kernel(*ours) == pytest.approx(function(*expected), rel=1e-13)  # sums in another order
    for array, like in zip(ours, expected, strict=True):
        np.testing.assert_allclose(array, like, rtol=1e-13)  # the same


@pytest.mark.parametrize("broken", ["_varying", "_unvarying", "_counts_by_one"])
def test_a_wrong_text_would_be_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: indices that are all zero, or ranges whose steps are all one, give other numbers."""
    right = getattr(parts.KernelLowering, broken)
    wrong = {
        "_varying": lambda self, index: [index.type(0) for index in right(self, index) or ()] or None,
        "_unvarying": lambda self, known: [index.type(0) for index in right(self, known) or ()] or None,
        "_counts_by_one": lambda self, variable: isinstance(self.typeof(variable.name), parts.types.RangeType),
    }
    monkeypatch.setattr(parts.KernelLowering, broken, wrong[broken])
    function = {"_varying": varying_indices, "_unvarying": constant_indices, "_counts_by_one": loops}[broken]
    kernel = entry(VECTOR, FLOATS, CUBE, MASK, INTS, result=REAL)(_copy(function))
    assert kernel(*_given()) != pytest.approx(function(*_given()), rel=1e-6)


def _copy(function):
    return type(function)(function.__code__, function.__globals__, function.__name__)


@shared
def allocating(count):
    return np.zeros(count).sum()


@shared
def through_another(count):
    return 1.0 + allocating(count)


@entry(INTEGER, result=REAL)
def through_two(count):
    """A sum of zeros, by way of two shared helpers."""
    return through_another(count) + 1.0


def test_what_goes_wrong_in_helpers_goes_wrong_in_the_kernel() -> None:
    assert through_two(10) == 2.0
    with pytest.raises(MemoryError, match="no memory"):
        through_two(2**60)
    assert through_two(10) == 2.0


def test_the_text_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines() -> int:
        texts: list[str] = []
        parse = llvm.parse_assembly
        monkeypatch.setattr(llvm, "parse_assembly", lambda text: texts.append(text) or parse(text))
        entry(VECTOR, FLOATS, CUBE, MASK, INTS, result=REAL)(_copy(varying_indices)).codes()
        monkeypatch.setattr(llvm, "parse_assembly", parse)
        return sum(text.count("\n") for text in texts)

    ours = lines()
    monkeypatch.setattr(parts.Writing, "lowering_class", lowering.Lower)
    assert 3 * ours < 2 * lines()  # what calls the kernel from Python is the same in both
