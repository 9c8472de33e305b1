"""Energy, momentum and mass, against sums over bodies of their masses' motion."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.packed_trees import Packed
from tests.systems import Array
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.kernels.tree import balances


@pytest.fixture(params=[0, 1])
def packed(request: pytest.FixtureRequest) -> Packed:
    return Packed(request.param, passive=bool(request.param))


def motions(packed: Packed) -> list[tuple[float, Array, Array, Array, Array]]:
    """Return mass, inertia about the centre of mass, its position and velocity, and angular velocity, in inertial axes."""
    found = []
    for body in packed.bodies():
        rotation, position = packed.reference.pose(body.name, packed.q)
        twist = packed.reference.twist(body.name, packed.q, packed.v)
        arm, turn = rotation @ body.com, rotation @ twist[3:]
        inertia = rotation @ body.inertia @ rotation.T
        found.append((body.mass, inertia, position + arm, rotation @ twist[:3] + np.cross(turn, arm), turn))
    return found


def world_of(packed: Packed) -> Array:
    """Return poses of all elements; zeros, which count for nothing, where no body is."""
    return np.nan_to_num(packed.world())


def test_energies(packed: Packed) -> None:
    found = np.zeros(2)
    balances.add_energy(packed.ints, packed.floats, None, packed.v, packed.work(), world_of(packed), found)
    kinetic = sum(0.5 * m * v @ v + 0.5 * w @ inertia @ w for m, inertia, _, v, w in motions(packed))
    for block in packed.model.mechanism.assembly.blocks_with_coordinates:
        rates = packed.v[packed.model.mechanism.assembly.v_slices[block.name]]
        kinetic += 0.5 * np.sum(block.armature * rates**2)
    weight = -sum(m * packed.model.gravity @ place for m, _, place, _, _ in motions(packed))
    np.testing.assert_allclose(found, [kinetic, weight], **ROUNDING_OF_MANY)


def test_momentum(packed: Packed) -> None:
    found = np.zeros(6)
    balances.add_momentum(packed.ints, packed.floats, None, packed.v, packed.work(), world_of(packed), found)
    linear = sum(m * v for m, _, _, v, _ in motions(packed))
    angular = sum(inertia @ w + np.cross(place, m * v) for m, inertia, place, v, w in motions(packed))
    np.testing.assert_allclose(found, [*linear, *angular], **ROUNDING_OF_MANY)


def test_mass_and_first_moment(packed: Packed) -> None:
    found = np.zeros(4)
    balances.add_mass(packed.ints, packed.floats, None, packed.work(), found)
    moment = sum(m * place for m, _, place, _, _ in motions(packed))
    np.testing.assert_allclose(found, [*moment, sum(m for m, *_ in motions(packed))], **ROUNDING_OF_MANY)
