"""Sections of rods: strains and stresses against closed forms and points of the outline."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt

#: Sums of a few products in another order.
ROUNDING = 1e-12


def rod(section: tt.Section, **fields: object) -> tt.Rod:
    return tt.Rod("rod", 0.5, section, 2e6, 1000.0, strains="timoshenko", basis=1, poisson=0.25, **fields)


def test_stacked_coordinates_give_stacked_strains() -> None:
    soft, q = rod(tt.Section.circle(0.02)), np.random.default_rng(0).normal(size=(3, 12))
    for one, row in zip(soft.strain(q, [0.1, 0.4]), q, strict=True):
        np.testing.assert_array_equal(one, soft.strain(row, [0.1, 0.4]))
    assert soft.fibre_stretch(q, [0.1, 0.4]).shape == (3, 2)


def test_strain_beyond_the_reference() -> None:
    helix = rod(tt.Section.circle(0.02), reference_strain=[0.3, 0.0, 2.0, 1.0, 0.0, 0.0])
    q = np.random.default_rng(1).normal(size=12)
    np.testing.assert_array_equal(helix.stressing_strain(np.zeros(12), [0.2]), 0.0)
    np.testing.assert_allclose(
        helix.strain(q, [0.2]), np.array([[0.3, 0, 2, 1, 0, 0]]) + helix.stressing_strain(q, [0.2]), atol=ROUNDING
    )
    np.testing.assert_allclose(helix.strain_shapes([0.2])[0] @ q, helix.stressing_strain(q, [0.2])[0], atol=ROUNDING)


OUTLINES = {
    "circle": (tt.Section.circle(0.02), lambda t: 0.02 * np.array([np.cos(t), np.sin(t)])),
    "ellipse": (tt.Section.ellipse(0.03, 0.01), lambda t: np.array([0.03 * np.cos(t), 0.01 * np.sin(t)])),
    "rectangle": (tt.Section.rectangle(0.04, 0.02), lambda t: np.array([0.02 * np.sign(np.cos(t)), 0.01 * np.sign(np.sin(t))])),
}


@pytest.mark.parametrize("shape", OUTLINES)
def test_axial_stress_is_the_largest_around_the_outline(shape: str) -> None:
    """Of 20,000 points a quarter of a thousandth of a radian apart: the largest is missed by its square, 1e-8."""
    section, outline = OUTLINES[shape]
    soft, q = rod(section), 0.1 * np.random.default_rng(2).normal(size=12)
    y, z = outline(np.linspace(0.0, 2 * np.pi, 20_000))
    k, (eps, *_) = np.split(soft.stressing_strain(q, [0.3])[0], 2)
    around = soft.young * (eps + z * k[1] - y * k[2])
    assert soft.stress(q, [0.3])[0, 0] == pytest.approx(np.abs(around).max(), rel=1e-7)


def test_shear_stress_of_torsion() -> None:
    """Against tables: ``T / (k1 a^2 b)`` of rectangles (Timoshenko and Goodier, table of section 109, four digits)."""
    q = np.zeros(12)
    q[0] = 0.1
    for slenderness, k1, k2 in ((1.0, 0.1406, 0.208), (2.0, 0.229, 0.246), (10.0, 0.312, 0.312)):
        soft = rod(tt.Section.rectangle(0.01 * slenderness, 0.01))
        torque = k1 * soft.shear_modulus * 0.1 / 0.5 * slenderness * 0.01**4
        expected = torque / (k2 * slenderness * 0.01**3)
        assert soft.stress(q, [0.2])[0, 1] == pytest.approx(expected, rel=3e-3)
    tube = rod(tt.Section.tube(0.03, 0.02))
    assert tube.stress(q, [0.2])[0, 1] == pytest.approx(tube.shear_modulus * 0.03 * 0.1 / 0.5)
    thin = rod(tt.Section.ellipse(0.03, 0.01))  # T = G J twist, at the ends of the short axis 2 T / (pi a b^2)
    J = np.pi * 0.03**3 * 0.01**3 / (0.03**2 + 0.01**2)
    assert thin.stress(q, [0.2])[0, 1] == pytest.approx(thin.shear_modulus * J * 0.2 * 2 / (np.pi * 0.03 * 0.01**2))


def test_elastic_wrench_is_the_slope_of_energy() -> None:
    """With constant strains, ``K q`` is rigidity times strain; damping its likeness."""
    soft = tt.Rod("rod", 0.5, tt.Section.rectangle(0.03, 0.02), 2e6, 1000.0, strains="timoshenko", basis=0, damping=70.0)
    q, v = np.random.default_rng(3).normal(size=(2, 6))
    held = soft.elastic_wrench(q, [0.1], v)[0][[3, 4, 5, 0, 1, 2]]
    np.testing.assert_allclose(held, soft.passive_efforts(q, v), rtol=1e-12)
