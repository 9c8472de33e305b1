"""Domains of deformable bodies: volumes, centroids and inertia against closed forms, their order, outlines, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt

R, S, L = 0.02, 0.01, 0.3  # two radii and the length (m)


def second_moments(domain: tt.Domain) -> Any:
    """Return ``int x x^T dV`` (3 x 3)."""
    return domain.points.T @ (domain.volumes[:, None] * domain.points)


def of_disc(radius: float) -> float:
    """Return ``int x^2 dA`` of a full circle."""
    return np.pi * radius**4 / 4.0


#: Volume, height of the centroid, and ``int x^2``, ``int y^2``, ``int z^2`` over the volume.
SHAPES: dict[str, tuple[tt.Domain, tuple[float, float, float, float, float]]] = {
    "cylinder": (tt.Domain.cylinder(R, L), (np.pi * R**2 * L, L / 2, of_disc(R) * L, of_disc(R) * L, np.pi * R**2 * L**3 / 3)),
    "cone": (
        tt.Domain.cone(R, S, L),
        (
            np.pi * L * (R**2 + R * S + S**2) / 3,
            L * (R**2 + 2 * R * S + 3 * S**2) / (4 * (R**2 + R * S + S**2)),
            *[np.pi * L * (R**4 + R**3 * S + R**2 * S**2 + R * S**3 + S**4) / 20] * 2,
            np.pi * L**3 * (R**2 + 3 * R * S + 6 * S**2) / 30,
        ),
    ),
    "pointed cone": (
        tt.Domain.cone(R, 0, L),
        (np.pi * R**2 * L / 3, L / 4, *[np.pi * R**4 * L / 20] * 2, np.pi * R**2 * L**3 / 30),
    ),
    "tube": (
        tt.Domain.tube(R, S, L),
        (np.pi * (R**2 - S**2) * L, L / 2, *[(of_disc(R) - of_disc(S)) * L] * 2, np.pi * (R**2 - S**2) * L**3 / 3),
    ),
    "box": (tt.Domain.box(R, S, L), (R * S * L, L / 2, R**3 * S * L / 12, R * S**3 * L / 12, R * S * L**3 / 3)),
}
#: Sums of less than a hundred terms, all positive.
EXACT = 1e-13


@pytest.mark.parametrize("name", SHAPES)
def test_volume_centroid_and_inertia(name: str) -> None:
    domain, (volume, height, *squares) = SHAPES[name]
    assert domain.volumes.sum() == pytest.approx(volume, rel=EXACT)
    np.testing.assert_allclose(domain.volumes @ domain.points, volume * np.array([0.0, 0.0, height]), atol=EXACT * volume)
    moments = second_moments(domain)
    np.testing.assert_allclose(np.diag(moments), squares, rtol=EXACT)
    np.testing.assert_allclose(moments - np.diag(np.diag(moments)), 0.0, atol=EXACT * max(squares))
    assert domain.tip is not None
    np.testing.assert_array_equal(domain.tip, [0.0, 0.0, L])


def test_sectors_and_domains_beside_the_axis() -> None:
    angle, pose = 2.0, tt.Pose([0.1, 0.2, 0.3], rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    domain = tt.Domain.sector(R, angle, L)
    assert domain.volumes.sum() == pytest.approx(0.5 * angle * R**2 * L, rel=EXACT)
    center = domain.volumes @ domain.points / domain.volumes.sum()
    np.testing.assert_allclose(center, [4 * R * np.sin(angle / 2) / (3 * angle), 0.0, L / 2], rtol=0, atol=EXACT * L)
    moved = domain.placed(pose)
    np.testing.assert_allclose(moved.volumes @ moved.points / moved.volumes.sum(), pose.rotation @ center + pose.position)
    assert moved.outline is not None
    assert domain.outline is not None
    np.testing.assert_allclose(moved.outline.points, domain.outline.points @ pose.rotation.T + pose.position)


def harmonics(cosines: int, sines: int, angle: float) -> float:
    """Return ``int cos^m t sin^n t dt`` over an arc with its middle at 0, multiplied out into exponentials."""
    product = np.array([1.0 + 0j])
    for factor in [np.array([0.5, 0, 0.5])] * cosines + [np.array([-0.5j, 0, 0.5j])] * sines:
        product = np.convolve(product, factor)
    orders = np.arange(len(product)) - (cosines + sines)
    return float(np.real(product @ (angle * np.sinc(orders * angle / (2 * np.pi)))))


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.0, np.pi, 5.0, 2 * np.pi])
def test_sectors_are_exact_up_to_degree_five(angle: float) -> None:
    """``int x^a y^b z^c dV``, as a product of closed forms."""
    x, y, z = (domain := tt.Domain.sector(R, angle, L)).points.T
    powers = [p for p in np.ndindex(6, 6, 6) if sum(p) <= 5]
    assert len(powers) == 56
    for a, b, c in powers:
        size = R ** (a + b + 2) / (a + b + 2) * L ** (c + 1) / (c + 1)
        found = domain.volumes @ (x**a * y**b * z**c)
        assert found == pytest.approx(size * harmonics(a, b, angle), rel=0, abs=EXACT * size * angle)


def test_fewer_points_are_not_exact() -> None:
    """Negative control: a ring of three points at one radius knows second moments, not fourth ones, as elasticity needs."""
    fine, coarse = tt.Domain.cylinder(R, L), tt.Domain.cylinder(R, L, around=3, outwards=1)
    np.testing.assert_allclose(second_moments(coarse), second_moments(fine), atol=EXACT)
    exact = np.pi * R**6 / 8 * L  # int x^4 dV
    assert fine.volumes @ fine.points[:, 0] ** 4 == pytest.approx(exact, rel=EXACT)
    assert coarse.volumes @ coarse.points[:, 0] ** 4 != pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("name", SHAPES)
def test_points_come_section_by_section(name: str) -> None:
    domain, _ = SHAPES[name]
    heights = domain.points[:, 2].reshape(6, -1)
    assert (np.ptp(heights, axis=1) == 0.0).all()
    assert (np.diff(heights[:, 0]) > 0.0).all()


@pytest.mark.parametrize("name", SHAPES)
def test_outlines_are_closed_around_the_volume(name: str) -> None:
    """Every edge belongs to two triangles, run through once each way; circles have 24 sides."""
    domain, (volume, *_) = SHAPES[name]
    outline = domain.outline
    assert outline is not None
    a, b, c = np.moveaxis(outline.points[outline.triangles], 1, 0)
    part = 1.0 if name == "box" else np.sin(np.pi / 12) / (np.pi / 12)
    assert np.einsum("ij,ij->", np.cross(a, b), c) / 6 == pytest.approx(part * volume, rel=1e-10)
    edges = np.concatenate([outline.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}
    assert all(line.max() < len(outline.points) for line in outline.lines)


@pytest.mark.parametrize(
    ("make", "code", "field"),
    [
        (lambda: tt.Domain.cylinder(-R, L), "bad-radius", "radius"),
        (lambda: tt.Domain.cylinder(R, 0.0), "bad-length", "length"),
        (lambda: tt.Domain.cylinder(R, L, around=2), "bad-count", "around"),
        (lambda: tt.Domain.cylinder(R, L, along=0), "bad-count", "along"),
        (lambda: tt.Domain.cylinder(R, L, along=2.5), "bad-count", "along"),  # type: ignore[arg-type]
        (lambda: tt.Domain.cone(0.0, 0.0, L), "bad-tip-radius", "tip_radius"),
        (lambda: tt.Domain.cone(R, -S, L), "bad-tip-radius", "tip_radius"),
        (lambda: tt.Domain.tube(S, R, L), "bad-inner-radius", "inner_radius"),
        (lambda: tt.Domain.box(R, "wide", L), "wrong-type", "height"),  # type: ignore[arg-type]
        (lambda: tt.Domain([[0, 0, 0]], [1.0, 2.0]), "wrong-shape", "points"),
        (lambda: tt.Domain.sector(R, 90.0, L), "bad-angle", "angle"),
        (lambda: tt.Domain([[0, 0, 0]], [-1.0]), "bad-volume", "volumes"),
        (lambda: tt.Domain([[0, 0, np.nan]], [1.0]), "not-finite", "points"),
    ],
)
def test_what_is_no_domain_is_refused(make: Any, code: str, field: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert (caught.value.code, caught.value.where) == (code, f"domain.{field}")
