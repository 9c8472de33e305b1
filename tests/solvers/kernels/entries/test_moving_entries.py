"""Entry points for moving between configurations: stacks that do not fit are refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter
from tests.solvers.kernels.packed_trees import Packed
from titop.solvers.kernels.entries import moving_entries

#: By entry point: names of its arguments behind q, and of its results.
ENTRIES = {
    "integrate": (("q", "dq"), ("result",)),
    "difference": (("q0", "q1"), ("result",)),
    "integrate_derivatives": (("q", "dq"), ("by_q", "by_step")),
    "difference_derivatives": (("q0", "q1"), ("by_q0", "by_q1")),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_stacks_of_other_sizes_are_refused(name: str) -> None:
    packed = Packed(1, bodies=4)
    plain, n = packed.model.mechanism.plain_coordinates, packed.model.nv
    arguments, results = ENTRIES[name]
    given = {"ints": packed.ints, "plain": np.array([plain.in_q, plain.in_v])}
    for argument in arguments:
        given[argument] = np.tile(packed.v if argument == "dq" else packed.q, (2, 1))
    for result in results:
        given[result] = np.zeros((2, n, n) if len(results) == 2 else (2, packed.model.nq if name == "integrate" else n))
    assert_sizes_matter(getattr(moving_entries, name), given, (*arguments, *results))
