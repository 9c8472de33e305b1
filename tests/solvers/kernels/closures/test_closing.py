"""States next to the closures: what is left of the last constraint, and where steps lead."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.packed_trees import Packed
from tests.tolerances import ROUNDING
from titop.solvers.kernels.closures import closing


@pytest.mark.parametrize("left", [1.0, 1e-3, 0.0])
def test_what_is_left_of_the_last_row_is_its_part_at_right_angles(left: float) -> None:
    """Over the length of the longest row; lengths of columns are counted as one."""
    rows = np.array([[3.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.0, left]])
    lengths = np.array([1.0, 2.0, 10.0])
    found = closing.last_of(rows * lengths, lengths, 0.0, np.empty(3), np.empty(2, dtype=np.int64))
    assert found == pytest.approx(left / 3.0, abs=1e-14)


def test_steps_lead_where_the_reference_engine_goes() -> None:
    packed = Packed(1, bodies=8)
    plain = packed.model.mechanism.plain_coordinates
    q, step = packed.q.copy(), 0.3 * packed.v
    closing.move(packed.ints, np.array([plain.in_q, plain.in_v]), q, step)
    np.testing.assert_allclose(q, packed.reference.integrate(packed.q, step), **ROUNDING)
