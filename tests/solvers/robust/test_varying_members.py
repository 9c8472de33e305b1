"""Members at points of their parameters."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.families import oscillator
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure
from titop.solvers.robust.varying_members import FractionalFamily, slope_of

BLOCKS = {
    "middle": tt.DeltaBlock.real("k", 1, 2.0, 5.0),
    "aside": tt.DeltaBlock.real("k", 1, 2.0, 5.0, 2.5),
    "half": tt.DeltaBlock("q", "real", 1, 1, -1.0, 1.5, 0.1, "rad", None, 2),
    "quarter": tt.DeltaBlock("q", "real", 1, 1, -3.0, 3.5, 0.2, "rad", None, 4),
}


@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("name", BLOCKS)
def test_slopes_are_those_of_the_normalised_value(name: str, factor: float) -> None:
    block = BLOCKS[name]
    for s in np.linspace(-1, 1, 5):
        value = block.value(s * factor)
        difference = (block.normalised(value + 1e-6) - block.normalised(value - 1e-6)) / 2e-6 / factor
        assert slope_of(block, factor)(s) == pytest.approx(difference, rel=1e-7), "central differences"


def test_members_are_those_of_physical_values() -> None:
    (A, B, C, D), blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    family = FractionalFamily(Matrices(A, B[:, :3], C[:3], D[:3, :3]), Structure.of(blocks), 2, 0.5)
    members = family.grid()
    assert len(members.s) == 8
    for s, own in zip(members.s, members.A, strict=True):
        v = family.values(s)
        np.testing.assert_allclose(own, [[0, 1], [-v["k"] / v["m"], -v["c"] / v["m"]]], atol=1e-12)
    assert {family.values(s)["k"] for s in members.s} == {1.5, 2.5}, "half the range"
