"""What counts as one: of coordinates, of constraints, of any unit at a state."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.mechanism.soft_arms import soft_arm
from tests.systems import random_tree
from titop.solvers.mechanism.scale import Scale, StateScale


def test_angles_count_by_the_radian_and_positions_by_the_length() -> None:
    assembly = random_tree(np.random.default_rng(0), 8).resolve().mechanism.assembly
    sizes = Scale(assembly).coordinates_of(np.ones(len(assembly.coordinate_units)), 0.25)
    expected = {"rad": 1.0, "m": 0.25}
    assert sizes.tolist() == [expected[unit] for unit in assembly.coordinate_units]
    assert set(assembly.coordinate_units) == {"rad", "m"}


def test_modes_count_by_what_moves_the_systems_mass_over_the_length() -> None:
    """A mode with four times the inertia moves as much at half the amplitude."""
    model = soft_arm().resolve()
    assembly, inertia = model.mechanism.assembly, np.diag(model.mass_matrix(model.neutral())).copy()
    modes = [k for k, unit in enumerate(assembly.coordinate_units) if unit not in ("m", "rad")]
    before = Scale(assembly).coordinates_of(inertia, 0.5)
    mass = sum(block.mass_matrix(block.neutral())[0, 0] for block in assembly.blocks.values())
    np.testing.assert_allclose(before[modes] ** 2 * inertia[modes], mass * 0.5**2, rtol=1e-14)
    inertia[modes[0]] *= 4.0
    after = Scale(assembly).coordinates_of(inertia, 0.5)
    assert after[modes[0]] == before[modes[0]] / 2.0
    assert np.array_equal(np.delete(after, modes[0]), np.delete(before, modes[0]))
    inertia[modes[0]] = 0.0
    assert Scale(assembly).coordinates_of(inertia, 0.5)[modes[0]] == 1.0  # what moves nothing has no size of its own


def test_modes_count_by_their_own_inertia_where_nothing_is_said() -> None:
    model = soft_arm().resolve()
    place = model.mechanism.assembly.v_slices["panel"]
    own = np.diag(model.mechanism.assembly.blocks["panel"].mass_matrix(np.zeros(place.stop - place.start)))[6:]
    expected = model.mechanism.scale.length * np.sqrt(model.mechanism.scale.mass / own)
    np.testing.assert_allclose(model.mechanism.scale.coordinates[place], expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("unit", "one"),
    [
        ("m", 0.5),
        ("rad", 1.0),
        ("m/s^2", 0.5 * 9.0),
        ("kg m^2", 18.0 / 9.0),
        ("N m s/rad", 18.0 / 3.0),
        ("Pa", 18.0 / 0.125),
        ("W", 54.0),
        ("N/m^2", 18.0 / 0.125),
        ("V", 1.0),
    ],
)
def test_units_are_powers_of_length_rate_and_energy(unit: str, one: float) -> None:
    """At half a metre, 3 1/s and 18 J; of what is unknown one."""
    scale = StateScale(np.ones(1), 3.0, 18.0, np.ones(1), 0.5, 0.0)
    assert scale.of_unit(unit) == pytest.approx(one, rel=1e-14)


def test_at_a_rate_energy_is_that_of_the_whole_mass() -> None:
    """Twice the energy of its motion by a length within the time."""
    scale = soft_arm().resolve().mechanism.scale
    at = scale.at_rate(2.0)
    assert at.of_unit("kg") == pytest.approx(scale.mass, rel=1e-14)
    assert at.of_unit("m/s") == pytest.approx(2.0 * scale.length, rel=1e-14)
