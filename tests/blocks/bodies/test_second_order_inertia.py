"""The inertia of bodies that foreshorten: against derivatives of one energy, and against a rod without approximations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import titop as tt
from tests.flexible import unit_beam
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import skew

Array = NDArray[np.float64]

#: Rounding of sums of some hundred terms of the size of the elastic forces of random deformations, about a hundred.
ROUNDING = 1e-11

BEAMS = {
    "slender": {"iz": 3e-4},
    "all kinds": {"modes": 1, "axial_modes": 1, "shear_factors": 5 / 6, "young": 50.0, "iy": 0.01, "iz": 0.02},
}


@pytest.mark.parametrize("fields", BEAMS.values(), ids=BEAMS)
class TestOneEnergy:
    def state(self, beam: tt.Beam) -> tuple[Array, Array, Array]:
        rng = np.random.default_rng(0)
        return beam.random_configuration(rng), rng.normal(size=beam.nv) * beam.coordinate_scales, rng.normal(size=6)

    def test_closed_forms_are_the_derivatives(self, fields: dict[str, float]) -> None:
        beam = unit_beam(**fields)
        q, v, twist = self.state(beam)
        found, expected = (cls.gyroscopic(beam, q, v, twist) for cls in (tt.FlexibleBody, tt.Block))
        np.testing.assert_allclose(found, expected, atol=ROUNDING)
        for name, arguments in (("motion_subspace", (q,)), ("subspace_rate", (q, v))):
            found, expected = (getattr(cls, name)(beam, "C", *arguments) for cls in (tt.FlexibleBody, tt.Block))
            np.testing.assert_allclose(found, expected, atol=ROUNDING)

    def test_momentum_and_weight_are_those_of_the_moving_centre_of_mass(self, fields: dict[str, float]) -> None:
        """So gravity has a potential, and no deformation depends on the velocity of the observer."""
        beam = unit_beam(**fields)
        q, _, _ = self.state(beam)
        assert beam.second_order is not None

        def moment(q: Array) -> Array:
            return beam.mass * beam.com + beam.participation[:, :3].T @ q - 0.5 * (beam.second_order.shortening[0] @ q) @ q

        expected = np.hstack([beam.mass * np.eye(3), -skew(moment(q)), complex_step(moment, q)])
        np.testing.assert_allclose(beam.mass_matrix(q)[:3], expected, atol=1e-14)

    def test_inertia_is_definite_and_symmetric(self, fields: dict[str, float]) -> None:
        beam = unit_beam(**fields)
        M = beam.mass_matrix(4 * self.state(beam)[0])
        np.testing.assert_allclose(M, M.T, atol=1e-14)
        assert np.linalg.eigvalsh(M)[0] > 0


class TestAgainstARod:
    """A rod whose strains are those of the coordinates, as it really stands: the order of what is left says what is kept."""

    beam = unit_beam(modes=0, torsion_modes=0, iy=2e-4)
    bend = np.array([0.3, 0.5, -0.4, 0.6, 0.3, 0.7])
    places, weights = ((1 + leggauss(12)[0]) / 2, leggauss(12)[1] / 2)

    def stands(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the points of the line (p, 3) at `places`, and the pose of the tip: strains of cubic deflections."""

        def slope(t: float, state: Array) -> Array:
            R = state[3:].reshape(3, 3)
            bending = (6 - 12 * t) * q[1] + (6 * t - 2) * q[5], (6 - 12 * t) * q[2] - (6 * t - 2) * q[4]
            curvature = np.array([q[3], -bending[1], bending[0]])
            return np.concatenate([R[:, 0] * (1 + q[0]), (R @ skew(curvature)).ravel()])

        start = np.concatenate([np.zeros(3), np.eye(3).ravel()])
        found = solve_ivp(slope, (0, 1), start, t_eval=[*self.places, 1.0], rtol=1e-11, atol=1e-13, method="DOP853").y
        return found[:3, :-1].T, found[:3, -1], found[3:, -1].reshape(3, 3)

    def errors(self, size: float) -> dict[str, float]:
        """Return by how much the body differs from the rod at a deformation of a size."""
        q, step = size * self.bend, 1e-4
        points, tip, turned = self.stands(q)
        moving = np.array([self.stands(q + step * e)[0] - self.stands(q - step * e)[0] for e in np.eye(6)]) / (2 * step)
        M, (rotation, position) = self.beam.mass_matrix(q), self.beam.pose("C", q)
        spun = np.array([skew(point) for point in points])
        polar = np.diag([3e-4, 0, 0])  # the sections', of the undeformed beam
        inertia = polar - np.einsum("p,pij,pjk->ik", self.weights, spun, spun)
        angular = np.einsum("p,pij,kpj->ik", self.weights, spun, moving)
        angular[0] += self.beam.participation[:, 3]  # the sections' twist, less that of the line, which has none
        return {
            "first moment": float(np.abs(M[:3, 3:6] + skew(self.weights @ points)).max()),
            "inertia": float(np.abs(M[3:6, 3:6] - inertia).max()),
            "angular momentum": float(np.abs(M[3:6, 6:] - angular).max()),
            "tip": float(np.abs(position - tip).max()),
            "its rotation": float(np.abs(rotation - turned).max()),
        }

    @pytest.mark.parametrize(
        ("what", "kept"), [("first moment", 2), ("inertia", 2), ("angular momentum", 1), ("tip", 2), ("its rotation", 2)]
    )
    def test_what_is_left_is_of_higher_order(self, what: str, kept: int) -> None:
        large, small = (self.errors(size)[what] for size in (0.04, 0.01))
        # a quarter of the deformation: 1/4 more of what is left for each order kept; some digits less for the order above that
        assert small < 1.3 * large / 4 ** (kept + 1)
        assert large > 1e-8  # and there is something left

    def test_one_order_less_would_be_noticed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The negative control: without foreshortening."""
        second = self.beam.second_order
        assert second is not None
        monkeypatch.setitem(second.ports, "C", 0 * second.ports["C"])
        large, small = (self.errors(size)["tip"] for size in (0.04, 0.01))
        assert small > 0.8 * large / 4**2
