"""Functions of the abscissa at places along a rod."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.user_functions import sampled


def test_values_are_taken_at_abscissas() -> None:
    found = sampled("f", lambda X: [X, X**2], np.array([0.0, 0.5, 1.0]), 4.0, (2,))
    assert found.tolist() == [[0.0, 0.0], [2.0, 4.0], [4.0, 16.0]]


@pytest.mark.parametrize("value", [np.nan, [1.0, 2.0], "wide", None])
def test_unusable_values_say_where(value: object) -> None:
    with pytest.raises(tt.ModelError, match=r"rod\.radius.*X = 2"):
        sampled("rod.radius", lambda X: value if X > 1 else 1.0, np.array([0.0, 0.5]), 4.0, ())


def test_an_error_of_the_function_is_the_cause() -> None:
    with pytest.raises(tt.ModelError, match=r"ValueError: too far \(X = 4\)") as caught:
        sampled("f", lambda X: 1.0 if X < 3 else (_ for _ in ()).throw(ValueError("too far")), np.array([0.0, 1.0]), 4.0, ())
    assert isinstance(caught.value.__cause__, ValueError)
