"""Ready kinematics: what each is, at rest and where it is known."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.bodies.soft.functions import cosc, sinc

K = tt.Kinematics
L, R = 0.3, 0.02
ONE = [lambda z: 1.0]
READY = {
    "PCC": lambda: K.constant_curvature(L),
    "PCC in space, stretched": lambda: K.constant_curvature(L, spatial=True, elongation=True),
    "PAC": lambda: K.affine_curvature(L),
    "PGC": lambda: K.gaussian_curvature(L),
    "PCS": lambda: K.constant_strain(L),
    "elongation": lambda: K.elongation(ONE),
    "twist": lambda: K.twist(ONE),
    "shear": lambda: K.shear(lambda z: z),
    "planar bending": lambda: K.planar_bending(ONE),
    "source": lambda: K.source(ONE, R),
    "bulges": lambda: K.bulges(L, R),
}
POINTS = np.array([[0.021, 0.0, 0.1], [0.01, -0.025, 0.0], [0.0, 0.021, L]])


@pytest.mark.parametrize("name", READY)
def test_bodies_rest_where_coordinates_are_zero(name: str) -> None:
    kinematics = READY[name]()
    assert isinstance(kinematics, K)
    n = len(kinematics.coordinates)
    assert len(kinematics.units) == len(kinematics.scales) == n
    for point in POINTS:
        placed = np.array(kinematics(point, np.zeros(n)), dtype=float)
        np.testing.assert_allclose(placed, point, rtol=0, atol=1e-15)  # some last digits of 0.3 m
    middle = np.array([0.015, 0.015, 0.4 * L])
    assert np.abs(np.array(kinematics(middle, 0.1 * np.array(kinematics.scales)), dtype=float) - middle).max() > 1e-6


def test_a_curvature_bends_the_axis_to_a_circle() -> None:
    """By an angle q over the length, in the plane of x and z."""
    angle = 1.3
    tip = np.array(K.constant_curvature(L)(np.array([0.0, 0.0, L]), np.array([angle])), dtype=float)
    np.testing.assert_allclose(np.abs(tip), [L * (1 - np.cos(angle)) / angle, 0.0, L * np.sin(angle) / angle], rtol=1e-14)


def test_helpers_stand_beside_them() -> None:
    assert float(K.sinc(0.0)) == 1.0
    assert K.sinc(0.7) == sinc(0.7) == pytest.approx(np.sin(0.7) / 0.7)
    assert K.cosc(0.7) == cosc(0.7)
    assert K.where(True, 1.0, 2.0) == 1.0
    np.testing.assert_array_equal(K.array([0.0, 1.0]).astype(float), [0.0, 1.0])
