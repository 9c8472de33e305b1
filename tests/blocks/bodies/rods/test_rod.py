"""Rods: the manipulator against a second implementation, the contract's own checks, energy, bases, ports, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.blocks.bodies.rods.manipulator import ContinuousManipulator, DenseManipulator, manipulator
from tests.blocks.bodies.rods.rod_systems import clamped
from titop.blocks.checking.block_check import disagreements, parameter_findings
from titop.blocks.checking.complex_safety import is_complex_safe

Array = NDArray[np.float64]

#: Its mass matrix is positive by a hundred-thousandth of its entries: less than a system is asked for.
pytestmark = pytest.mark.filterwarnings("ignore:rod.bending_y0. got an inertia:titop.ModelWarning")

#: The rod's poses are products of the same exponentials: what is left is rounding, in sums of a hundred terms.
SAME = 1e-10


def random_state(rod: tt.Rod, seed: int) -> tuple[Array, Array, Array]:
    """Return random coordinates, rates and accelerations."""
    rng = np.random.default_rng(seed)
    v, a = rng.normal(size=(2, rod.nv)) * rod.coordinate_scales
    return rod.random_configuration(rng), v, a


class TestSecondImplementation:
    """The manipulator of 24 coordinates at random states, against products of exponentials of 4x4 matrices."""

    @pytest.mark.parametrize("seed", [1, 2])
    def test_mass_matrix_and_inverse_dynamics(self, seed: int) -> None:
        gravity, rod, dense = np.array([0.3, -0.4, -9.81]), manipulator(), DenseManipulator()
        q, v, a = random_state(rod, seed)
        model = clamped(rod, gravity)
        expected = dense.mass_matrix(q)
        np.testing.assert_allclose(model.mass_matrix(q), expected, atol=SAME * np.abs(expected).max())
        efforts = dense.inverse_dynamics(q, v, a, gravity)
        np.testing.assert_allclose(model.inverse_dynamics(q, v, a), efforts, atol=SAME * np.abs(efforts).max())

    def test_more_points_approach_the_continuum(self) -> None:
        """Of fourth order in their distance: some 1e-4 with five, as the paper's; 1e-8 with a hundred."""
        rod, dense = manipulator(), ContinuousManipulator(24)  # smooth: 24 points integrate it to rounding
        (q, v, a), gravity = random_state(rod, 1), np.array([0.3, -0.4, -9.81])
        expected = dense.mass_matrix(q), dense.inverse_dynamics(q, v, a, gravity)
        few, many = (
            [np.abs(x - y).max() / np.abs(y).max() for x, y in zip(found, expected, strict=True)]
            for model in (clamped(manipulator(points=points), gravity) for points in (5, 100))
            for found in [(model.mass_matrix(q), model.inverse_dynamics(q, v, a))]
        )
        assert 1e-5 < min(few) < max(few) < 1e-2
        assert max(many) < 1e-8

    def test_one_sign_matters(self) -> None:
        """The negative control: with the bracket of the Magnus expansion turned round, the mass matrix is another."""
        rod, dense = manipulator(), DenseManipulator()
        q = rod.random_configuration(np.random.default_rng(1))
        right = dense.mass_matrix(q)
        dense.magnus = -dense.magnus
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
    assert list(disagreements(rod)) == []
    assert list(parameter_findings(rod)) == []
    assert is_complex_safe(rod)


def random_motion(rod: tt.Rod) -> tuple[Array, Array, Array, Array]:
    """Return q, v, the twist of P and accelerations."""
    rng = np.random.default_rng(7)
    return rod.random_configuration(rng), *(rng.normal(size=size) for size in (rod.nv, 6, 6 + rod.nv))


def test_the_law_at_once_is_that_of_its_parts() -> None:
    rod = manipulator(ports=CAMERA)
    q, v, twist, _ = random_motion(rod)
    given, expected = rod.law(q, v, twist), tt.Block.law(rod, q, v, twist)
    for name, one, two in zip(given._fields, given, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12 * np.abs(two).max(), err_msg=name)


def test_the_slopes_of_the_law_are_complex_steps_of_it() -> None:
    rod = manipulator(strains={"bending_y": 2, "shear_z": 1})
    motion = random_motion(rod)
    for one, two in zip(rod.law_slopes(*motion), tt.Block.law_slopes(rod, *motion), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12 * np.abs(two).max())


class Shifted(tt.Rod):
    """A rod with a wrong pose, subspace and inertia in turn."""

    wrong = ""

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        rotation, position = super().pose(port, q)
        return rotation, position * (1 + 1e-3 * (self.wrong == "pose"))

    def mass_matrix(self, q: Array) -> Array:
        return super().mass_matrix(q) * (1 + 1e-3 * (self.wrong == "mass_matrix"))


@pytest.mark.parametrize(("wrong", "found"), [("pose", "motion_subspace('tip')"), ("mass_matrix", "gyroscopic")])
def test_disagreements_are_found(wrong: str, found: str) -> None:
    """The negative control."""
    rod = Shifted("rod", 0.5, tt.Section.circle(0.03), 1e6, 1000.0, strains={"bending_y": 1})
    rod.wrong = wrong
    assert f"rod.{found}" in [finding.where for finding in disagreements(rod)]


class TestLooking:
    def test_sections_between_the_points_stand_where_ports_do(self) -> None:
        rod = manipulator(ports={"middle": 0.21})
        q, *_ = random_motion(rod)
        rotations, positions = rod.section_poses(q, [0.0, 0.21, 0.5])
        np.testing.assert_array_equal(positions[0], np.zeros(3))
        for k, port in ((1, "middle"), (2, "tip")):
            np.testing.assert_array_equal(rotations[k], rod.pose(port, q)[0])
            np.testing.assert_array_equal(positions[k], rod.pose(port, q)[1])

    def test_strain_is_how_poses_change_along_the_rod(self) -> None:
        """By central differences of 1 mm, which err by 2e-7 of the strains' second slopes, some hundreds; 80 points by less."""
        rod = manipulator(points=80, reference_strain=[0.5, 0.0, -1.0, 1.1, 0.0, 0.1])
        q, *_ = random_motion(rod)
        X, step = 0.23, 1e-3
        R, r = rod.section_poses(q, [X - step, X, X + step])
        spin = R[1].T @ (R[2] - R[0]) / (2 * step)
        expected = [spin[2, 1], spin[0, 2], spin[1, 0], *(R[1].T @ (r[2] - r[0]) / (2 * step))]
        np.testing.assert_allclose(rod.strain(q, X)[0], expected, atol=1e-4)
        assert np.abs(rod.strain(q, X + 0.05)[0] - expected).max() > 0.1  # the negative control

    @pytest.mark.parametrize(
        ("section", "reach"),
        [
            (tt.Section.circle(0.05), 0.05),
            (tt.Section.tube(0.05, 0.04), 0.05),
            (tt.Section.ellipse(0.05, 0.02), 0.05),
            (tt.Section.rectangle(0.1, 0.02), 0.05),
            (tt.Section(area=1.0, iy=1.0, iz=0.05**2 / 4), 0.05),  # as that of an ellipse
        ],
        ids=["circle", "tube", "ellipse", "rectangle", "own"],
    )
    def test_sections_overlap_where_the_rod_bends_more_tightly_than_it_is_thick(
        self, section: tt.Section, reach: float
    ) -> None:
        rod = manipulator(section=section, strains={"bending_z": 0})
        for curvature, expected in ((0.0, 1.0), (1 / reach, 0.0), (-2 / reach, -1.0)):
            q = np.array([curvature * rod.length])
            np.testing.assert_allclose(rod.fibre_stretch(q, [0.1, 0.3]), expected, atol=1e-12)

    def test_the_corner_of_a_rectangle_is_pressed_most(self) -> None:
        rod = manipulator(section=tt.Section.rectangle(0.1, 0.02), strains={"bending_y": 0, "bending_z": 0, "elongation": 0})
        q = np.array([2.0, 3.0, 0.05]) * rod.length
        np.testing.assert_allclose(rod.fibre_stretch(q, 0.1), 1 + 0.05 - 2 * 0.01 - 3 * 0.05, atol=1e-12)

    def test_what_is_off_the_rod_is_refused(self) -> None:
        rod = manipulator()
        with pytest.raises(tt.ModelError, match="off-the-rod"):
            rod.strain(rod.neutral(), 0.6)
