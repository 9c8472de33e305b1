"""Entry points along directions: stacks that do not fit the system or each other are refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_tree
from titop.solvers.kernels.entries import directional_entries


@pytest.mark.parametrize(
    ("name", "directions"), [("forward_tangent", ("dq", "dv", "da")), ("forward_adjoint", ("dual", "by_q", "by_v"))]
)
def test_stacks_of_other_sizes_are_refused(name: str, directions: tuple[str, ...]) -> None:
    given = of_a_tree()
    for state in ("q", "v", "tau"):
        given[state] = np.tile(given[state], (2, 1))
    for direction in directions:
        given[direction] = np.random.default_rng(0).normal(size=(2, given["nv"]))
    assert_sizes_matter(getattr(directional_entries, name).rigid, given, ("q", "v", "tau", *directions))
