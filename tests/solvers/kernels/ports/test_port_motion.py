"""Motion of a port along its path, as it is written, against the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.packed_trees import AXIAL, Packed
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import port_motion


@pytest.fixture(scope="module")
def packed() -> Packed:
    return Packed(2, AXIAL, bodies=8, base="fixed")


def test_walking_to_the_world_gives_pose_and_jacobian(packed: Packed) -> None:
    tables, nv = (packed.ints, packed.floats, None, None, None), packed.model.nv
    for port in packed.model.port_names[-6:]:
        element, at, frame = packed.system.port_place(port)
        work = np.full((len(packed.ints), layout.INVERSE_COLUMNS), np.nan)
        pose, jacobian = frame[None].copy(), np.zeros((6, nv))
        assert port_motion.walk(*tables, packed.q, np.zeros(nv), work, element, at, pose, jacobian) == layout.OK
        rotation, position = packed.reference.pose(port, packed.q)
        np.testing.assert_allclose(pose[0], [*rotation.ravel(), *position], **ROUNDING)
        np.testing.assert_allclose(jacobian, packed.reference.jacobian(port, packed.q), **ROUNDING)
        port_motion.turn_columns(pose, jacobian)
        turned = np.kron(np.eye(2), rotation) @ packed.reference.jacobian(port, packed.q)
        np.testing.assert_allclose(jacobian, turned, **ROUNDING)


@pytest.mark.parametrize("in_world", [False, True])
@pytest.mark.parametrize("classical", [False, True])
def test_moving_along_gives_twist_and_acceleration(packed: Packed, in_world: bool, classical: bool) -> None:
    """Gravity, which the passes take for an acceleration of the world, is taken out again."""
    q, v, a = packed.q, packed.v, packed.a
    port = packed.model.port_names[-1]
    element, at, frame = packed.system.port_place(port)
    work, motion = np.full((len(packed.ints), layout.INVERSE_COLUMNS), np.nan), np.empty((1, 24))
    assert port_motion.move_along(packed.ints, packed.floats, None, None, None, q, v, a, work, element) == layout.OK
    port_motion.write_port_motion(packed.ints, None, work, element, at, frame[None].copy(), motion)
    rotation, twist = packed.reference.pose(port, q)[0], packed.reference.twist(port, q, v)
    turn = np.kron(np.eye(2), rotation if in_world else np.eye(3))
    np.testing.assert_allclose(port_motion.in_axes(motion, 12, in_world), turn @ twist, **ROUNDING)
    expected = packed.reference.jacobian(port, q) @ a
    step = 1e-4
    rates = [packed.reference.twist(port, packed.reference.integrate(q, s * step * v), v) for s in (1, -1)]
    expected += (rates[0] - rates[1]) / (2 * step)
    expected[:3] += np.cross(twist[3:], twist[:3]) if classical else 0.0
    found = port_motion.acceleration_of(packed.floats, motion, in_world, classical)
    np.testing.assert_allclose(found, turn @ expected, rtol=0, atol=1e-5)  # differences of second order, of fast joints
