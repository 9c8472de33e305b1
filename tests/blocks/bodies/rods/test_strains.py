"""Components of strains, and reference strains along a rod."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.rods.strains import COMPONENTS, LINEAR_FIRST, read_strains, reference_along


def test_theories_free_more_and_more_components() -> None:
    read = {name: list(read_strains(FieldReader("rod"), name, 2)) for name in ("kirchhoff", "extensible", "timoshenko")}
    assert read["kirchhoff"] == ["torsion", "bending_y", "bending_z"]
    assert read["extensible"] == [*read["kirchhoff"], "elongation"]
    assert read["timoshenko"] == list(COMPONENTS)


def test_components_come_in_their_order_with_their_own_bases() -> None:
    bells = tt.StrainBasis.gaussian(3)
    read = read_strains(FieldReader("rod"), {"elongation": 0, "torsion": bells}, 5)
    assert list(read) == ["torsion", "elongation"]
    assert read["torsion"] is bells
    assert read["elongation"].count == 1


@pytest.mark.parametrize(
    ("strains", "code"),
    [
        ("kirchof", "unknown-theory"),
        (3, "wrong-type"),
        ({"bend": 1}, "unknown-strain"),
        ({}, "no-strains"),
        ({"torsion": -1}, "bad-order"),
    ],
)
def test_what_is_wrong_is_reported(strains: object, code: str) -> None:
    reader = FieldReader("rod")
    read_strains(reader, strains, 2)
    assert [finding.code for finding in reader.findings][:1] == [code]


def test_twists_and_strains_are_ordered_both_ways() -> None:
    strain = np.arange(6)
    assert strain[LINEAR_FIRST].tolist() == [3, 4, 5, 0, 1, 2]
    assert (strain[LINEAR_FIRST][LINEAR_FIRST] == strain).all()


def test_reference_strains() -> None:
    constant = (0.0, 0.0, 2.0, 1.0, 0.0, 0.0)
    assert (reference_along(constant, np.array([0.0, 1.0]), 3.0) == [constant, constant]).all()
    spiral = reference_along(lambda X: [0, 0, X, 1, 0, 0], np.array([0.0, 0.5, 1.0]), 3.0)
    assert spiral[:, 2].tolist() == [0.0, 1.5, 3.0]
    with pytest.raises(tt.ModelError, match=r"shape \(6,\)"):
        reference_along(lambda X: [0, 0, X], np.array([0.5]), 3.0)
