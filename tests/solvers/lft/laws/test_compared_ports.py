"""Ports compared with themselves elsewhere: the same in any unit of length, and of coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.lft.laws.compared_ports import PortMotion

#: What a coordinate moves of a port in metres, and one that moves little of it.
SUBSPACE = np.array([[0, 0, 1, 0, -2, 0], [1e-3, 0, 0, 0, 0, 2e-3]], dtype=float).T


def port(size: float, unit: float = 1.0, moved: float = 0.0, bent: float = 0.0) -> PortMotion:
    """Return a port in a unit of length of which there are `size` a metre, its first coordinate in a unit of its own."""
    lengths = np.repeat([size, 1.0], 3)[:, None]
    subspace = SUBSPACE + bent * np.eye(6)[:, [2, 0]] * [1.0, 1e-3]
    return PortMotion(np.eye(3), size * np.array([1.0, 0, moved]), lengths * subspace * [unit, 1.0])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_ports_differ_by_parts_of_the_system(size: float, unit: float) -> None:
    here = port(size, unit)
    for change, is_another in ((1e-6, True), (1e-14, False)):
        assert here.differs(port(size, unit, moved=change), size, 1e-12) == is_another
        assert here.differs(port(size, unit, bent=change), size, 1e-12) == is_another
    assert not here.differs(here, size, 0.0)
