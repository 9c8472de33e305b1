"""Laws of one's own, evaluated in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from examples.compiled_block import Telescope, telescope_law
from titop.blocks.basics.spatial import Array
from titop.blocks.checking.block_findings import surroundings_findings
from titop.blocks.checking.complex_safety import is_complex_safe
from titop.blocks.checking.description_findings import twin_disagreements


def test_a_law_says_what_acts_in_python_too() -> None:
    def pushed(numbers: Any, q: Any, v: Any, twist: Any, rotation: Any, position: Any, efforts: Any) -> None:
        efforts[0] = numbers[0] * position[2] + rotation[0, 1]
        efforts[7] = q[0] * v[1] * twist[4]

    class Pushed(Telescope):
        compiled_law = tt.Law(telescope_law, pushed)

    rng = np.random.default_rng(0)
    state = rng.normal(size=2), rng.normal(size=2), rng.normal(size=6), rng.normal(size=(3, 3)), rng.normal(size=3)
    q, v, twist, rotation, position = state
    found = Pushed("boom", length=2.0).applied_efforts(*state)
    expected = [2.0 * position[2] + rotation[0, 1], 0, 0, 0, 0, 0, 0, q[0] * v[1] * twist[4]]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert not Telescope("boom").applied_efforts(*state).any()

    class Other(Pushed):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Return more than the law says."""
            return super().applied_efforts(q, v, twist, rotation, position) * 1.001

    assert not list(twin_disagreements(Pushed("boom")))
    assert [finding.where for finding in twin_disagreements(Other("boom"))] == ["boom.compiled_law.applied"]
    assert is_complex_safe(Pushed("boom"))
    assert not list(surroundings_findings(Pushed("boom")))
