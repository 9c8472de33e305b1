"""Which classes are compiled, and which answer in Python."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope
from titop.blocks.basics.spatial import Array


def test_a_class_that_changes_more_than_its_law_answers_in_python() -> None:
    class Heavy(Telescope):
        def passive_efforts(self, q: Array, v: Array) -> Array:
            """Return efforts of which the law does not know."""
            return -7.0 * np.ones(2) + 0 * q

    s, t = tt.System("one"), tt.System("two")
    s.connect("world", Heavy("boom"), tt.Weld("w"))
    t.connect("world", Telescope("boom"), tt.Weld("w"))
    with pytest.warns(tt.ModelWarning, match="inconsistent-law"):
        heavy = s.resolve()
    assert not heavy.engine.is_compiled
    plain, zero = t.resolve(), np.zeros(2)
    assert plain.engine.is_compiled
    change = heavy.mass_matrix(zero) @ (heavy.forward_dynamics(zero, zero, zero) - plain.forward_dynamics(zero, zero, zero))
    np.testing.assert_allclose(change, -7.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_a_subclass_that_changes_a_twin_of_the_law_is_followed() -> None:
    class Heavy(Telescope):
        def mass_matrix(self, q: Array) -> Array:
            """Three times the inertia, of which the law does not know."""
            return 3.0 * super().mass_matrix(q)

    heavy, plain = tt.System("one"), tt.System("two")
    heavy.connect("world", Heavy("boom"), tt.Weld("w"))
    plain.connect("world", Telescope("boom"), tt.Weld("w"))
    q = np.array([0.1, 0.2])
    np.testing.assert_allclose(heavy.resolve().mass_matrix(q), 3.0 * plain.resolve().mass_matrix(q), rtol=1e-12)
