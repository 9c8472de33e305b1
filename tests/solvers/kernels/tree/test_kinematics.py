"""Poses and twists from the world outwards, against the reference engine; rates of configurations, against differences."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.packed_trees import AXIAL, Packed
from tests.solvers.kernels.spatial.matrices_by_hand import adjoint, random_frame
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.tree import kinematics


def test_twists_are_those_of_the_reference_engine() -> None:
    """Joints of one axis, so that all of the pass runs as it is written."""
    packed = Packed(0, AXIAL, bodies=8, base="fixed")
    work = np.full((len(packed.ints), layout.INVERSE_COLUMNS), np.nan)
    tables = Tables(packed.ints, packed.floats, None, None, None)
    assert kinematics.outward_twists(tables, State(packed.q, packed.v), work, layout.UNKNOWN) == layout.OK
    for body in packed.model.body_names:
        found = work[packed.system.tables.elements[body], layout.TWIST :][:6]
        own = np.linalg.solve(adjoint(*packed.body_pose(body)), found)
        np.testing.assert_allclose(own, packed.reference.twist(body, packed.q, packed.v), **ROUNDING)


def test_configurations_move_at_their_rates() -> None:
    """Central differences over a microsecond: 1e-12 of second order, and 1e-10 of rounding."""
    packed = Packed(1, bodies=8)
    rates, step = np.empty(packed.model.nq), 1e-6
    kinematics.write_rates(packed.ints, packed.q, packed.v, rates)
    ahead, behind = (packed.reference.integrate(packed.q, sign * step * packed.v) for sign in (1, -1))
    np.testing.assert_allclose(rates, (ahead - behind) / (2 * step), rtol=0, atol=1e-8)


def test_quaternions_are_divided_by_their_norm_and_nothing_else_is() -> None:
    packed = Packed(1, bodies=8)
    q = 1.1 * packed.q
    kinematics.normalise(packed.ints, q)
    of_quaternions = [name.rsplit(".", 1)[-1].startswith("q") for name in packed.model.configuration_names]
    np.testing.assert_allclose(q, np.where(of_quaternions, packed.q, 1.1 * packed.q), **ROUNDING)
    assert 0 < sum(of_quaternions) < len(q)


def test_brackets_of_groups_are_subtracted_where_they_stand() -> None:
    packed = Packed(1, bodies=8)
    nv = packed.model.nv
    found, expected = np.zeros((nv, nv)), np.zeros((nv, nv))
    kinematics.subtract_brackets(packed.ints, packed.v, found)
    assembly = packed.model.mechanism.assembly
    for block in assembly.blocks_with_coordinates:
        where = assembly.v_slices[block.name]
        expected[where, where] = -block.bracket(packed.v[where])
    np.testing.assert_allclose(found, expected, **ROUNDING)
    assert np.abs(found).max() > 0.1


# Poses in the inertial frame, against the reference engine and products of 4x4 matrices.


def test_poses_of_a_tree_are_the_reference_engines() -> None:
    packed = Packed(0, bodies=8)
    found, expected = np.full((len(packed.ints), 12), np.nan), packed.world()
    law = np.zeros((1, 1))
    kinematics._write_poses(packed.ints, law, packed.work(), found)
    bodies = [packed.system.tables.elements[body] for body in packed.model.body_names]
    np.testing.assert_allclose(found[[0, *bodies]], expected[[0, *bodies]], **ROUNDING)


def test_a_pose_before_another_is_their_product() -> None:
    rng = np.random.default_rng(0)
    (first, first_place), (second, second_place) = random_frame(rng), random_frame(rng)
    table, pose = np.zeros((2, 14)), np.array([[*second.ravel(), *second_place]])
    table[1, 2:] = [*first.ravel(), *first_place]
    kinematics.prepend(table, 1, 2, pose)
    expected = homogeneous(first, first_place) @ homogeneous(second, second_place)
    np.testing.assert_allclose(homogeneous(pose[0, :9].reshape(3, 3), pose[0, 9:]), expected, **ROUNDING)


def homogeneous(rotation: Array, position: Array) -> Array:
    """Return a pose as a 4x4 matrix."""
    return np.vstack([np.column_stack([rotation, position]), [0.0, 0.0, 0.0, 1.0]])
