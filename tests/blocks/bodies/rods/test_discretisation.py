"""A rod as numbers: mass, stiffness and steps against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rods.discretisation import (
    RodLayout,
    RodMaterial,
    as_twists,
    breaks_of,
    gauss_points,
    pack,
    rigidities,
    rod_numbers,
    rod_points,
)
from titop.blocks.bodies.rods.strains import STRAIGHT, StrainBasis

L, R = 0.7, 0.02
MATERIAL = RodMaterial(young=2e5, shear=8e4, density=1100.0, viscosity=30.0)
AREA, SECOND = np.pi * R**2, np.pi * R**4 / 4
LAYOUT = RodLayout({"bending_y": StrainBasis.legendre(1), "elongation": StrainBasis.legendre(0)}, 6, [0.0, 0.35, 1.0], L)


def numbers(layout: RodLayout = LAYOUT, length: float = L) -> object:
    return rod_numbers(layout, length, tt.Section.circle(R), MATERIAL, np.array(STRAIGHT))


def test_mass_is_that_of_the_solid() -> None:
    inertia = numbers().inertia
    np.testing.assert_allclose(inertia.sum(axis=0), 1100.0 * L * np.array([AREA, 2 * SECOND, SECOND, SECOND]), rtol=1e-13)
    assert not inertia[[0, -1]].any()  # ends of stretches are points without weight


def test_stiffness_is_that_of_legendre_polynomials() -> None:
    """``E I / L int P_j P_k = E I / L diag(1, 1/3)``, apart for each component; damping has ``3 mu`` for E."""
    found = numbers()
    expected = np.diag([MATERIAL.young * SECOND / L, MATERIAL.young * SECOND / (3 * L), MATERIAL.young * AREA / L])
    np.testing.assert_allclose(found.stiffness, expected, rtol=1e-12, atol=1e-12 * expected.max())
    np.testing.assert_allclose(found.damping, expected * 3 * MATERIAL.viscosity / MATERIAL.young, rtol=1e-12, atol=1e-12)
    assert found.components.tolist() == [1, 1, 3]


def test_steps_lead_from_end_to_end_and_to_the_ports() -> None:
    found = numbers()
    count = len(found.fractions) - 1
    assert found.fractions[[0, -1]].tolist() == [0.0, 1.0]
    assert found.steps[:count].sum() == pytest.approx(L, rel=1e-14)
    np.testing.assert_allclose(L * found.fractions[found.before] + found.steps[count:], L * np.array([0, 0.35, 1]), rtol=1e-14)
    assert (found.steps[count:] >= 0).all()
    # at a point, which the ends are, no step is left
    assert found.steps[count:][[0, 2]].tolist() == [0.0, 0.0]


def test_cuts_are_points() -> None:
    whole, cut = numbers(), numbers(LAYOUT._replace(cuts=(0.3,)))
    assert 0.3 in cut.fractions
    assert 0.3 not in whole.fractions
    np.testing.assert_allclose(cut.stiffness, whole.stiffness, rtol=1e-12, atol=1e-9)


def test_strain_is_that_of_the_shapes() -> None:
    """At the two places of a step, ``-1 + 2 X / L`` over L for the first polynomial."""
    found = numbers()
    places = found.fractions[:-1, None] + (0.5 + np.sqrt(3) / 6 * np.array([-1, 1])) * np.diff(found.fractions)[:, None]
    np.testing.assert_allclose(found.shapes[: len(places), :, 1], (2 * places - 1) / L, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(found.shapes[: len(places), :, 0], 1 / L)


def test_rigidities_are_in_the_order_of_strains() -> None:
    moments = tt.Section.rectangle(0.02, 0.01).moments(np.array([0.5]), L, 0.25)
    G_J, E_Iy, E_Iz, E_A, G_Ay, G_Az = rigidities(moments, 1e6, 4e5)[:, 0]
    assert pytest.approx(1e6 * 2e-4) == E_A
    assert sorted((E_Iy, E_Iz)) == pytest.approx(sorted((1e6 * 0.02 * 0.01**3 / 12, 1e6 * 0.01 * 0.02**3 / 12)))
    assert E_Iz == max(E_Iy, E_Iz)  # wide along y is stiff about z
    assert 0 < G_J < 4e5 * (E_Iy + E_Iz) / 1e6
    assert 0 < G_Ay <= 4e5 * 2e-4
    assert 0 < G_Az <= 4e5 * 2e-4


def test_rows_hold_all_numbers() -> None:
    found = numbers()
    row = pack(found, [Pose([1.0, 2.0, 3.0])] * 3)
    count, n = len(found.fractions) - 1, 3
    assert len(row) == 3 + n + count * (13 + 2 * n) + 4 * (count + 1) + 2 * n * n + 3 * (1 + 13 + 2 * n + 12)
    assert row[0] == count
    assert row[-3:].tolist() == [1.0, 2.0, 3.0]


def test_twists_are_linear_first() -> None:
    assert as_twists(np.arange(6)).tolist() == [3, 4, 5, 0, 1, 2]


# The functions of which strains are made.

PLACES = np.linspace(0.0, 1.0, 41)


def test_legendre_polynomials_are_orthogonal_and_one_at_the_tip() -> None:
    places, weights = gauss_points([0.0, 1.0], 8)
    values = tt.StrainBasis.legendre(5).values(places, 3.0)
    np.testing.assert_allclose(values.T @ (weights[:, None] * values), np.diag(1 / (2.0 * np.arange(6) + 1)), atol=1e-14)
    np.testing.assert_allclose(tt.StrainBasis.legendre(5).values(np.array([1.0]), 3.0), np.ones((1, 6)), rtol=1e-14)


def test_pieces_and_hats_add_up_to_one() -> None:
    """Constants are in their span; each hat is one at its own end and zero at the others."""
    for basis in (tt.StrainBasis.piecewise_constant(4), tt.StrainBasis.piecewise_affine(4)):
        np.testing.assert_allclose(basis.values(PLACES, 2.0).sum(1), 1.0, rtol=1e-14)
        assert basis.breaks == (0.25, 0.5, 0.75)
    ends = np.linspace(0, 1, 5)
    np.testing.assert_allclose(tt.StrainBasis.piecewise_affine(4).values(ends, 2.0), np.eye(5), atol=1e-14)
    straight = tt.StrainBasis.piecewise_affine(4).values(PLACES, 2.0) @ (1.0 + 2.0 * ends)
    np.testing.assert_allclose(straight, 1.0 + 2.0 * PLACES, rtol=1e-14)


def test_bells_fall_by_their_width() -> None:
    basis = tt.StrainBasis.gaussian(3, width=0.2)
    values = basis.values(np.array([0.0, 0.2, 0.5, 0.7]), 2.0)
    assert values[0, 0] == pytest.approx(1.0)
    assert values[2, 1] == pytest.approx(1.0)
    assert values[1, 0] == pytest.approx(np.exp(-0.5), rel=1e-14)
    assert values[3, 1] == pytest.approx(np.exp(-0.5), rel=1e-14)


def test_functions_of_users_get_metres() -> None:
    basis = tt.StrainBasis(lambda X: np.array([1.0, X]), count=2)
    np.testing.assert_allclose(basis.values(np.array([0.0, 0.5]), 3.0), [[1.0, 0.0], [1.0, 1.5]])
    with pytest.raises(tt.ModelError, match=r"shape \(3,\)"):
        tt.StrainBasis(lambda X: np.array([1.0, X]), count=3).values(PLACES, 3.0)


# Points along rods: what they integrate exactly, and where they stand.


@pytest.mark.parametrize("count", [1, 3, 5])
def test_polynomials_in_every_stretch_are_integrated_exactly(count: int) -> None:
    """Up to degree 2 count - 1, the sum over stretches of x^k: 1 / (k + 1); one degree more is not."""
    places, weights = gauss_points([0.0, 0.3, 1.0], count)
    for k in range(2 * count):
        assert weights @ places**k == pytest.approx(1 / (k + 1), rel=1e-14)
    assert abs(weights @ places ** (2 * count) - 1 / (2 * count + 1)) > 1e-10


def test_ends_of_stretches_are_points_without_weight() -> None:
    places, weights = rod_points([0.0, 0.25, 1.0], 2)
    assert len(places) == 7
    assert (np.diff(places) > 0).all()
    assert places[weights == 0].tolist() == [0.0, 0.25, 1.0]
    assert weights.sum() == pytest.approx(1.0, rel=1e-15)


def test_breaks_that_nearly_coincide_are_one() -> None:
    thirds, halves = tt.StrainBasis.piecewise_constant(3), tt.StrainBasis.piecewise_constant(2)
    assert breaks_of([thirds, halves], [1 / 3 + 1e-12, 1.0 - 1e-12]) == [0.0, 1 / 3, 0.5, 2 / 3, 1.0]
