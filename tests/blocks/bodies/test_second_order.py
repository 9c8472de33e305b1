"""Geometric stiffness and moments, as users give them, against material points; bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.flexible import Cloud, unit_beam
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import skew
from titop.blocks.bodies.modal_analysis import natural_modes
from titop.blocks.bodies.second_order import shortening_of, stiffness_of

Array = NDArray[np.float64]

#: Rounding of sums of tens of terms of order one.
ROUNDING = 1e-13


def cloud() -> tuple[Cloud, tt.FlexibleBody]:
    """Return material points, and the body that they are."""
    rng = np.random.default_rng(3)
    points = Cloud.random(rng)
    return points, points.body(rng, "cloud")


def inertia_of(points: Cloud, q: Array) -> Array:
    """Return the inertia (6 + n square) of the points where they stand, whatever the deformation."""
    moving = complex_step(lambda q: points.stands(q).ravel(), q).reshape(*points.positions.shape, -1)
    velocities = [np.concatenate([np.eye(3), -skew(r), by_q], axis=1) for r, by_q in zip(points.stands(q), moving, strict=True)]
    return np.asarray(sum(m * field.T @ field for m, field in zip(points.masses, velocities, strict=True)))


class TestAgainstPoints:
    def test_undeformed(self) -> None:
        points, body = cloud()
        q = np.zeros(body.nv)
        np.testing.assert_allclose(body.mass_matrix(q), inertia_of(points, q), atol=ROUNDING)
        assert body.check() == ([], [])

    def test_first_moment_is_exact(self) -> None:
        points, body = cloud()
        q = np.random.default_rng(0).normal(size=body.nv)
        np.testing.assert_allclose(body.mass_matrix(q)[:3], inertia_of(points, q)[:3], atol=ROUNDING)

    @pytest.mark.parametrize(("part", "kept"), [("ww", 2), ("wq", 1), ("qq", 0)])
    def test_what_is_left_is_of_higher_order(self, part: str, kept: int) -> None:
        points, body = cloud()
        rows, columns = (slice(3, 6) if letter == "w" else slice(6, None) for letter in part)
        left = []
        for size in (1e-2, 1e-3):
            q = size * np.array([1.0, -0.7, 0.4])
            left.append(np.abs(body.mass_matrix(q) - inertia_of(points, q))[rows, columns].max())
        # a tenth of the deformation: a tenth more of what is left for each order kept, some percent for the order above that
        assert left[1] == pytest.approx(left[0] / 10 ** (kept + 1), rel=0.2)
        assert left[1] > ROUNDING

    def test_in_natural_modes(self) -> None:
        _, body = cloud()
        modes, basis = body.in_natural_modes(), natural_modes(body.matrices.mass, body.matrices.stiffness)[1]
        rng = np.random.default_rng(1)
        at, rates, twist = 0.1 * rng.normal(size=body.nv), rng.normal(size=body.nv), rng.normal(size=6)
        q, v = basis @ at, basis @ rates
        np.testing.assert_allclose(modes.pose("C1", at)[1], body.pose("C1", q)[1], atol=ROUNDING)
        found, expected = modes.gyroscopic(at, rates, twist), body.gyroscopic(q, v, twist)
        np.testing.assert_allclose(found[:6], expected[:6], atol=100 * ROUNDING)
        np.testing.assert_allclose(found[6:], basis.T @ expected[6:], atol=100 * ROUNDING)


def test_stiffness_and_shortening_say_the_same() -> None:
    points, body = cloud()
    assert body.second_order is not None
    assert body.geometric_stiffness is not None
    expected = np.einsum("p,pk,plij->klij", points.masses, np.column_stack([np.ones(12), points.positions]), points.curvatures)
    np.testing.assert_allclose(body.second_order.shortening, expected, atol=ROUNDING)
    again = stiffness_of(shortening_of(body.geometric_stiffness, body.nv))
    for load, matrices in again.items():
        np.testing.assert_allclose(matrices, body.geometric_stiffness[load], atol=ROUNDING)


class TestFields:
    def made(self, **changes: Any) -> tt.FlexibleBody:
        """Return the cloud with fields replaced, None for one left out."""
        _, body = cloud()
        names = ("mass", "com", "inertia", "participation", "modal_mass", "modal_stiffness", "shapes")
        second = ("geometric_stiffness", "position_moments", "displacement_moments")
        given = {name: getattr(body, name) for name in (*names, *second)} | {"ports": body.port_poses} | changes
        return tt.FlexibleBody("cloud", **given)

    def stiffness(self, **changes: Any) -> dict[str, Any]:
        """Return its geometric stiffness with loads replaced, None for one left out."""
        given = self.made().geometric_stiffness
        assert given is not None
        return {load: value for load, value in (given | changes).items() if value is not None}

    def test_as_given(self) -> None:
        assert self.made().check() == ([], [])
        without = self.made(geometric_stiffness=None, position_moments=None, displacement_moments=None)
        assert without.second_order is None

    @pytest.mark.parametrize(
        ("code", "where", "changes"),
        [
            ("missing-second-order", "position_moments", {"position_moments": None}),
            ("missing-second-order", "geometric_stiffness", {"geometric_stiffness": None}),
            ("wrong-type", "geometric_stiffness", {"geometric_stiffness": np.eye(3)}),
            ("wrong-shape", "position_moments", {"position_moments": np.zeros((3, 3))}),
            ("not-symmetric", "displacement_moments", {"displacement_moments": np.arange(81.0).reshape(3, 3, 3, 3)}),
            ("not-finite", "displacement_moments", {"displacement_moments": np.full((3, 3, 3, 3), np.nan)}),
        ],
    )
    def test_errors(self, code: str, where: str, changes: dict[str, Any]) -> None:
        errors, _ = self.made(**changes).check()
        assert (code, f"cloud.{where}") in [(finding.code, finding.where) for finding in errors]

    @pytest.mark.parametrize(
        ("code", "load", "value"),
        [
            ("missing-load", "spin", None),
            ("missing-load", "acceleration", None),
            ("unknown-load", "spins", np.zeros((6, 3, 3))),
            ("wrong-shape", "spin", np.zeros((3, 3, 3))),
            ("not-symmetric", "C1", np.tile(np.arange(9.0).reshape(3, 3), (6, 1, 1))),
        ],
    )
    def test_wrong_loads(self, code: str, load: str, value: Any) -> None:
        errors, _ = self.made(geometric_stiffness=self.stiffness(**{load: value})).check()
        assert [(finding.code, finding.where) for finding in errors] == [(code, f"cloud.geometric_stiffness.{load}")]

    def test_a_port_left_out_is_suspicious(self) -> None:
        body = self.made(geometric_stiffness=self.stiffness(C1=None, angular_acceleration=None))
        errors, warnings = body.check()
        assert not errors
        assert [finding.code for finding in warnings] == ["port-without-stiffness"]

    def test_moments_of_no_body(self) -> None:
        moments = self.made().displacement_moments
        assert moments is not None
        errors, _ = self.made(displacement_moments=-moments).check()
        assert [finding.code for finding in errors] == ["bad-moments"]

    def test_beams_have_them(self) -> None:
        beam = unit_beam()
        assert beam.geometric_stiffness is not None
        assert set(beam.geometric_stiffness) == {"acceleration", "angular_acceleration", "spin", "C"}
