"""Motion of a port along its path, as it is written, against the reference engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.solvers.kernels.packed_trees import AXIAL, Packed
from tests.solvers.kernels.spatial.matrices_by_hand import adjoint, random_frame
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.ports import port_motion


@pytest.fixture(scope="module")
def packed() -> Packed:
    return Packed(2, AXIAL, bodies=8, base="fixed")


def test_walking_to_the_world_gives_pose_and_jacobian(packed: Packed) -> None:
    nv, tables = packed.model.nv, Tables(packed.ints, packed.floats, None, None, None)
    still = State(packed.q, np.zeros(nv))
    for port in packed.model.port_names[-6:]:
        element, at, frame = packed.system.port_place(port)
        work = np.full((len(packed.ints), layout.INVERSE_COLUMNS), np.nan)
        pose, jacobian = frame[None].copy(), np.zeros((6, nv))
        assert port_motion.walk(tables, still, work, element, at, pose, jacobian) == layout.OK
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
    tables = Tables(packed.ints, packed.floats, None, None, None)
    assert port_motion.move_along(tables, State(q, v), a, work, element) == layout.OK
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


# Poses and twists of ports, against products of 4x4 matrices.

GENERAL = 5  # where the second port's pose stands in the law


def homogeneous(rotation: Array, position: Array) -> Array:
    """Return a pose as a 4x4 matrix."""
    return np.vstack([np.column_stack([rotation, position]), [0.0, 0.0, 0.0, 1.0]])


def tables() -> tuple[Any, Array, Array, Array, list[Array], list[Array]]:
    """Return the tables of two ports, in rows 3 and 4, the second of a general block; poses of elements and of ports."""
    rng = np.random.default_rng(0)
    ints, floats = np.full((5, layout.INT_COLUMNS), -1, dtype=np.int64), np.zeros((5, layout.FLOAT_COLUMNS))
    law, world = np.zeros((1, 60)), np.zeros((3, 12))
    ints[3, layout.ELEMENT], ints[4, layout.ELEMENT], ints[4, layout.PORT] = 1, 2, GENERAL
    elements, ports = [random_frame(rng) for _ in range(2)], [random_frame(rng) for _ in range(2)]
    for row, (rotation, position) in enumerate(elements, start=1):
        world[row] = [*rotation.ravel(), *position]
    numbers = [np.concatenate([rotation.ravel(), position]) for rotation, position in ports]
    floats[3, :12], law[0, GENERAL : GENERAL + 12] = numbers
    return ints, floats, law, world, [homogeneous(*pose) for pose in elements], [homogeneous(*pose) for pose in ports]


def test_ports_stand_on_their_elements_and_relative_to_each_other() -> None:
    ints, floats, law, world, elements, ports = tables()
    poses = [element @ port for element, port in zip(elements, ports, strict=True)]
    for row, pose in zip((3, 4), poses, strict=True):
        rotation, position = port_motion.port_pose(ints, floats, law, world, row)
        np.testing.assert_allclose(homogeneous(np.reshape(rotation, (3, 3)), np.array(position)), pose, **ROUNDING)
    rotation, position = port_motion.relative_pose(ints, floats, law, world, 3)
    expected = np.linalg.inv(poses[0]) @ poses[1]
    np.testing.assert_allclose(homogeneous(np.reshape(rotation, (3, 3)), np.array(position)), expected, **ROUNDING)


def test_twists_of_ports_are_carried_or_read_from_the_law() -> None:
    ints, floats, law, _, _, ports = tables()
    work, twist = np.zeros((3, layout.INVERSE_COLUMNS)), np.random.default_rng(1).normal(size=6)
    work[1, layout.TWIST : layout.TWIST + 6] = twist
    law[0, GENERAL + layout.PORT_TWIST : GENERAL + layout.PORT_TWIST + 6] = -twist
    carried = np.linalg.inv(adjoint(ports[0][:3, :3], ports[0][:3, 3])) @ twist
    np.testing.assert_allclose(port_motion.twist_of_port(ints, floats, law, work, 3, None), carried, **ROUNDING)
    assert np.array_equal(port_motion.twist_of_port(ints, floats, law, work, 4, None), -twist)
