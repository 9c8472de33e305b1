"""What blocks say of their surroundings is checked: shapes, energy, imaginary parts, what weighs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.surrounded_blocks import Kite


def complaint(**fields: Any) -> str:
    """Return what is wrong with a kite, some of whose functions are others."""
    with pytest.raises(tt.ModelError) as caught:
        tt.check_block(type("Other", (Kite,), fields)())
    return str(caught.value)


def test_a_sound_block_passes() -> None:
    tt.check_block(Kite())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"applied_efforts": lambda self, *state: np.zeros(6)}, ("wrong-shape", "kite.applied_efforts", "shape (7,)")),
        ({"applied_efforts": lambda self, *state: np.full(7, np.nan)}, ("not-finite", "kite.applied_efforts")),
        ({"applied_efforts": lambda self, q: np.zeros(7)}, ("block-fails", "kite.applied_efforts", "TypeError")),
        ({"weight": lambda self, q: 1.0}, ("block-fails", "kite.weight", "first moment")),
        ({"applied_energy": lambda self, q, R, p: 2.0 * p @ p}, ("inconsistent-block", "applied_efforts", "applied_energy")),
        ({"mass_matrix": lambda self, q: np.diag([1.0, 2, 3, 1, 1, 1, 1])}, ("added-mass-weighs", "weight(q)")),
        ({"with_parameters": lambda self, values: Kite("kite", float(np.real(*values.values())))}, ("stiffness", "complex")),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], words: tuple[str, ...]) -> None:
    said = complaint(**fields)
    for word in words:
        assert word in said
