"""Rods: the manipulator against a second implementation, the contract's own checks, energy, bases, ports, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.blocks.bodies.rods.manipulator import DenseManipulator, manipulator
from tests.blocks.bodies.rods.rod_systems import clamped

Array = NDArray[np.float64]

#: The rod's poses are products of the same exponentials: what is left is rounding, in sums of a hundred terms.
SAME = 1e-10


class TestSecondImplementation:
    """The manipulator of 24 coordinates at random states, against products of exponentials of 4x4 matrices."""

    @pytest.mark.parametrize("seed", [1, 2])
    def test_mass_matrix_and_inverse_dynamics(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        gravity, rod, dense = np.array([0.3, -0.4, -9.81]), manipulator(), DenseManipulator()
        q = rod.random_configuration(rng)
        v, a = rng.normal(size=(2, rod.nv)) * rod.coordinate_scales
        model = clamped(rod, gravity)
        expected = dense.mass_matrix(q)
        np.testing.assert_allclose(model.mass_matrix(q), expected, atol=SAME * np.abs(expected).max())
        efforts = dense.inverse_dynamics(q, v, a, gravity)
        np.testing.assert_allclose(model.inverse_dynamics(q, v, a), efforts, atol=SAME * np.abs(efforts).max())

    def test_one_sign_matters(self) -> None:
        """The negative control: with the bracket of the Magnus expansion turned round, the mass matrix is another."""
        rod, dense = manipulator(), DenseManipulator()
        q = rod.random_configuration(np.random.default_rng(1))
        right = dense.mass_matrix(q)
        dense.X = dense.X[::-1].copy()  # the steps h are negative, and so is the bracket beside them
        assert np.abs(dense.mass_matrix(q) - right).max() > 1e3 * SAME * np.abs(right).max()


#: A camera off the axis, turned, between two points of the rod.
CAMERA = {"camera": (0.4, tt.Pose([0.0, 0.01, 0.02], np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])))}


@pytest.mark.parametrize(
    "fields",
    [
        {"strains": {"torsion": 0, "elongation": 0, "shear_z": 0}, "reference_strain": [1.0, 2.0, 3.0, 1.1, 0.1, 0.2]},
        {"strains": {"bending_z": tt.StrainBasis.piecewise_constant(2)}, "points": 1, "ports": {"root": 0.0}},
        {"strains": {"bending_y": tt.StrainBasis.gaussian(2)}, "reference_strain": lambda X: [0.5, X, 2.0, 1.1, 0.1, -0.2]},
        {"strains": {"bending_y": 1}, "ports": CAMERA},
    ],
    ids=["helix", "pieces", "function", "camera"],
)
def test_the_law_follows_from_poses_inertia_and_energy(fields: dict[str, Any]) -> None:
    rod = manipulator(**({"section": tt.Section.rectangle([0.03, 0.015], 0.02), "points": 2} | fields))
    assert rod.check() == ([], [])
    tt.check_block(rod)
