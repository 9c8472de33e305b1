"""Entry points of the derivatives: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_tree
from titop.solvers.kernels.entries import derivative_entries


@pytest.mark.parametrize(("name", "third"), [("inverse_derivatives", "a"), ("forward_derivatives", "tau")])
def test_states_and_results_of_other_sizes_are_refused(name: str, third: str) -> None:
    given = of_a_tree()
    given["result"] = np.empty((3, given["nv"], given["nv"]))
    assert_sizes_matter(getattr(derivative_entries, name).rigid, given, ("q", "v", third, "result"))


def test_matrices_of_linearisations_of_other_sizes_are_refused() -> None:
    given = of_a_tree()
    n = given["nv"]
    given["A"], given["B"] = np.empty((2 * n, 2 * n)), np.empty((2 * n, n))
    assert_sizes_matter(derivative_entries.linear_matrices.rigid, given, ("q", "v", "tau", "a", "A", "B"))
