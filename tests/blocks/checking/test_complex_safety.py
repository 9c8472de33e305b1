"""Whether imaginary parts are kept is found in any unit."""

from __future__ import annotations

import pytest

import titop as tt
from tests.blocks.scaled_blocks import DECADES, Array, Lever, RealLever
from titop.blocks.checking.complex_safety import is_complex_safe


@pytest.mark.parametrize("size", DECADES)
def test_checks_over_twelve_decades(size: float) -> None:
    tt.check_block(Lever("lever", size, size**3, 1.0))
    assert is_complex_safe(Lever("lever", size, size**2, size))
    assert not is_complex_safe(RealLever("lever", size, size**2, size))

    class Wrong(Lever):
        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            return 1.001 * super().gyroscopic(q, v, twist)

        def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
            return 1.001 * super().subspace_rate(port, q, v)

    with pytest.raises(tt.ModelError) as caught:
        tt.check_block(Wrong("lever", size, size**3, 1.0))
    assert {finding.where for finding in caught.value.findings} >= {"lever.gyroscopic", "lever.subspace_rate('C')"}
