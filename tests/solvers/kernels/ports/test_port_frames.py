"""Poses and twists of ports, against products of 4x4 matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.solvers.kernels.spatial.matrices_by_hand import adjoint, random_frame
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import port_motion

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
