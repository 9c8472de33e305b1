"""What counts as one of each coordinate: lengths go with the unit of length, the rest has no unit to choose."""

from __future__ import annotations

import numpy as np

from tests.solvers.mechanism.soft_arms import soft_arm
from tests.systems import random_tree
from titop.solvers.mechanism.coordinate_sizes import coordinate_sizes


def test_angles_count_by_the_radian_and_positions_by_the_length() -> None:
    assembly = random_tree(np.random.default_rng(0), 8).resolve().assembly
    sizes = coordinate_sizes(assembly, np.ones(len(assembly.coordinate_units)), 0.25)
    expected = {"rad": 1.0, "m": 0.25}
    assert sizes.tolist() == [expected[unit] for unit in assembly.coordinate_units]
    assert set(assembly.coordinate_units) == {"rad", "m"}


def test_modes_count_by_what_moves_the_systems_mass_over_the_length() -> None:
    """A mode with four times the inertia moves as much at half the amplitude."""
    model = soft_arm().resolve()
    assembly, inertia = model.assembly, np.diag(model.mass_matrix(model.neutral())).copy()
    modes = [k for k, unit in enumerate(assembly.coordinate_units) if unit not in ("m", "rad")]
    before = coordinate_sizes(assembly, inertia, 0.5)
    mass = sum(block.mass_matrix(block.neutral())[0, 0] for block in assembly.blocks.values())
    np.testing.assert_allclose(before[modes] ** 2 * inertia[modes], mass * 0.5**2, rtol=1e-14)
    inertia[modes[0]] *= 4.0
    after = coordinate_sizes(assembly, inertia, 0.5)
    assert after[modes[0]] == before[modes[0]] / 2.0
    assert np.array_equal(np.delete(after, modes[0]), np.delete(before, modes[0]))
    inertia[modes[0]] = 0.0
    assert coordinate_sizes(assembly, inertia, 0.5)[modes[0]] == 1.0  # what moves nothing has no size of its own
