"""Numbers in lanes: every operation has the bits of that of single numbers, and an ``if`` by a value is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.choices import everywhere, rounded, select
from titop.solvers.engines.compiled.prepared_kernels import in_lanes
from titop.solvers.kernels.interface.stages import complex_type, fused
from titop.solvers.kernels.spatial.turning import sine_and_cosine
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.kernel import Kernel
from titop.solvers.native.signatures import IN_LANES, OF_MEMBERS, RESULT, STATE, TABLE, Signature

#: More states than lanes, and a part of them at the end.
ROWS = 2 * LANE_COUNT + 3


def operations(x, out):
    a, b, c = x[0], x[1], x[2]
    out[0], out[1], out[2], out[3] = a + b * c, a - 2.0 * b, a / (1.5 + c * c), -a
    out[4], out[5], out[6] = abs(a), math.sqrt(abs(b)), max(a, min(b, c))
    out[7], out[8], out[9] = math.exp(-a * a), math.tanh(b), math.atan2(a, c)
    out[10], out[11], out[12] = rounded(10.0 * a), fused(a, b, c), select(a > b, a, select((b >= c) | (a == c), b, c))
    out[13], out[14] = sine_and_cosine(100.0 * a)
    out[15], out[16], out[17] = np.sin(b), np.cos(c), math.log(abs(a))
    z = (a + 1j * b) / (c + 2j) * np.sqrt(a + 1j * c)
    out[18], out[19] = z.real, z.imag
    out[20] = select((a < b) & (a != c), 1.0, 0.0)
    return 0


def by_value(x, out):
    out[0] = 1.0 if x[0] > 0.0 else 2.0
    return 0


def a_shortcut(x, out):
    small = abs(x[0]) < 1.0
    out[0] = x[0] if everywhere(small) else select(small, x[0], 2.0 * x[0])
    return 0


def a_status(x, out):
    if not everywhere(x[0] > 0.0):
        return 7
    out[0] = math.sqrt(x[0])
    return 0


def complex_room(x, out):
    room = np.empty(1, complex_type(x))
    room[0] = x[0] + 1j * x[1]
    out[0] = (room[0] * room[0]).imag
    return 0


def stacked(function: Callable[..., int]) -> Any:
    return Kernel(function, Signature((STATE, RESULT)), form=IN_LANES).compiled


def single(function: Callable[..., int]) -> Any:
    return Kernel(function, Signature((STATE, RESULT))).compiled


@pytest.mark.parametrize(("function", "size"), [(operations, 21), (a_shortcut, 1), (complex_room, 1)])
def test_lanes_have_the_bits_of_single_numbers(function: Callable[..., int], size: int) -> None:
    x = np.random.default_rng(1).normal(size=(ROWS, 3)) * [[1.0, 3.0, 0.5]]
    x[1, 0], x[4, 1], x[LANE_COUNT, 2] = np.nan, np.inf, 0.0
    x[2] = 0.3, 0.3, 0.3
    together, alone = np.empty((ROWS, size)), np.empty((ROWS, size))
    assert stacked(function)(x, together) == 0
    one = single(function)
    for row, result in zip(x, alone, strict=True):
        assert one(row, result) == 0
    np.testing.assert_array_equal(together, alone)
    assert not np.array_equal(together[2:], together[:-2], equal_nan=True)  # negative control: rows differ


def a_sum(x, y, out):
    for k in range(out.size):
        out[k] = x[k] + 2.0 * y[k]
    return 0


def test_rows_of_every_length_go_into_lanes_and_back() -> None:
    """Of as many states as lanes, fewer and more; what lies before and behind the results stays as it was."""
    kernel = Kernel(a_sum, Signature((STATE, STATE, RESULT)), form=IN_LANES).compiled
    rng = np.random.default_rng(4)
    for rows in (1, LANE_COUNT - 1, LANE_COUNT, ROWS):
        for size in range(2 * LANE_COUNT + 2):
            x, y = rng.normal(size=(2, rows, size))
            room = np.full(rows * size + 2 * LANE_COUNT, np.nan)
            out = room[LANE_COUNT:-LANE_COUNT].reshape(rows, size)
            assert kernel(x, y, out) == 0
            assert np.array_equal(out, x + 2.0 * y)
            assert np.isnan(room[:LANE_COUNT]).all()
            assert np.isnan(room[-LANE_COUNT:]).all()


def test_an_if_by_a_value_is_refused() -> None:
    """What a kernel in lanes must not do: a value decides for one state, not for several."""
    assert single(by_value)(np.ones(3), np.empty(1)) == 0
    with pytest.raises(Exception, match=r"truth|bool"):
        stacked(by_value)


def test_a_status_is_that_of_some_state() -> None:
    x, out = np.ones((ROWS, 1)), np.zeros((ROWS, 1))
    assert stacked(a_status)(x, out) == 0
    assert (out == 1.0).all()
    x[LANE_COUNT + 1] = -1.0
    assert stacked(a_status)(x, out) == 7


def test_stacks_of_unequal_length_and_no_states() -> None:
    kernel = stacked(a_status)
    with pytest.raises(TypeError):
        kernel(np.ones((3, 1)), np.ones((4, 1)))
    assert kernel(np.ones((0, 1)), np.ones((0, 1))) == 0


def of_tables(x, table, out):
    for k in range(table.shape[0]):
        out[k] = table[k, 0] * x[0] + table[k, 1]
    return 0


def test_tables_of_members_lie_in_lanes() -> None:
    """Each state has the bits of a single one with its own table; other layouts are refused."""
    kernel = Kernel(of_tables, Signature((STATE, TABLE, RESULT)), form=OF_MEMBERS).compiled
    rng, out = np.random.default_rng(2), np.empty((ROWS, 4))
    x, tables = rng.normal(size=(ROWS, 1)), rng.normal(size=(ROWS, 4, 2))
    lanes = in_lanes(tables)
    assert lanes.shape == (-(-ROWS // LANE_COUNT), 4, 2, LANE_COUNT)
    assert kernel(x, lanes, out) == 0
    assert np.array_equal(out, tables[..., 0] * x + tables[..., 1])
    for wrong in (lanes[:2], lanes[..., :1].copy(), tables):
        with pytest.raises(TypeError):
            kernel(x, wrong, out)


def test_sine_and_cosine_are_right_to_a_unit_in_the_last_place() -> None:
    """Against the extended precision of the processor's long double, far from and near multiples of pi / 2."""
    rng = np.random.default_rng(3)
    multiples = np.arange(-2000, 2000) * (0.5 * np.pi)
    spread = rng.normal(size=2000) * 10.0 ** rng.uniform(-8, 5.5, 2000)
    angles = np.concatenate([spread, multiples, np.nextafter(multiples, 9e9)])
    if np.finfo(np.longdouble).nmant < 60:
        pytest.skip("no long double of more digits here")

    def turn(x, out):
        out[0], out[1] = sine_and_cosine(x[0])
        return 0

    found = np.empty((len(angles), 2))
    assert stacked(turn)(angles[:, None].copy(), found) == 0
    exact = np.stack([np.sin(angles.astype(np.longdouble)), np.cos(angles.astype(np.longdouble))], axis=1)
    error = np.abs(found - exact) / np.spacing(np.abs(found))
    # the long double's own sine is off by its reduction where the result is below 1e-12: there an absolute bound
    assert (error[np.abs(found) > 1e-12] < 1.0).all()
    assert np.abs(found - exact).max() < 2e-16
