"""What wrenches on ports do along the coordinates, as it is written, against the reference engine's Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.packed_trees import Packed
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import loads
from titop.solvers.mechanism.inputs import WrenchPlace


@pytest.fixture(scope="module")
def packed() -> Packed:
    return Packed(1, bodies=8)


@pytest.mark.parametrize("inertial", [False, True])
def test_loads_push_through_jacobians(packed: Packed, inertial: bool) -> None:
    wrench, work, world = np.arange(1.0, 7.0), packed.work(), packed.world()
    for port in packed.model.port_names[-6:]:
        loaded = packed.system.with_loads_at((WrenchPlace(port, inertial),))
        row, floats, efforts = len(loaded.ints) - 1, loaded.floats.copy(), np.zeros(packed.model.nv)
        floats[row, layout.FORCE : layout.FORCE + 6] = wrench
        own = loads.load_at_port(loaded.ints, floats, None, world, row)
        turn = packed.reference.pose(port, packed.q)[0].T if inertial else np.eye(3)
        np.testing.assert_allclose(own, np.kron(np.eye(2), turn) @ wrench, **ROUNDING)
        loads.push_port(loaded.ints, floats, None, work, row, own, efforts)
        expected: Array = packed.reference.jacobian(port, packed.q).T @ np.array(own)
        np.testing.assert_allclose(efforts, expected, **ROUNDING)
