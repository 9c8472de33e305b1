"""Cavities by their surfaces: closed forms where kinematics keep the volume, what surfaces have to be, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.tolerances import ROUNDING, ROUNDING_OF_MANY
from titop.blocks.bodies.soft.quadrature import FAN

Array = NDArray[Any]
K = tt.Kinematics

LENGTH, RADIUS, HOLE = 0.1, 0.02, 0.01
TUBE = tt.Domain.tube(RADIUS, HOLE, LENGTH)
#: Along with the surface of the hole.
CAVITY = tt.Domain.cylinder(HOLE, LENGTH)
#: A bent box and a quarter turn of a sector beside the axis; what is left out of Gauss's rule is below 1e-10.
CAVITIES = {
    "cylinder": tt.Domain.cylinder(HOLE, LENGTH),
    "cone": tt.Domain.cone(HOLE, 0.0, LENGTH),
    "tube": tt.Domain.tube(RADIUS, HOLE, LENGTH),
    "box": tt.Domain.box(HOLE, RADIUS, LENGTH),
    "sector": tt.Domain.sector(HOLE, 2.0, LENGTH).placed(tt.Pose([0.003, 0.002, 0.01], rotation=np.diag([-1.0, -1.0, 1.0]))),
}
QUADRATURE = 1e-10


def chamber(kinematics: Any, cavity: tt.Domain, coordinates: list[str] | None = None) -> tt.SoftChamber:
    return tt.SoftChamber("c", tt.SoftBody("b", kinematics, TUBE, 960.0, coordinates=coordinates), cavity)


def inside(domain: tt.Domain, kinematics: Any, q: Array) -> float:
    """Return ``int det F dV``, with F by complex steps."""
    columns = [np.imag(np.array(kinematics((domain.points + 1e-30j * e).T, q))) / 1e-30 for e in np.eye(3)]
    return float(np.linalg.det(np.transpose(columns, (2, 1, 0))) @ domain.volumes)


def test_a_hole_that_a_source_widens_grows() -> None:
    """``det F = 1``, and a wall at r is moved to ``sqrt(r^2 + m)``: ``V = pi (r^2 L + int m dz)``, bent by shears or not."""
    source = K.source([lambda z: (z / LENGTH) ** 2, lambda z: 1.0], HOLE)
    q, slopes = np.array([1e-4, -2e-5]), np.pi * LENGTH * np.array([1.0 / 3.0, 1.0])
    expected = np.pi * HOLE**2 * LENGTH + slopes @ q
    for kinematics, more in ((source, []), (source.then(K.shear(lambda z: (z / LENGTH) ** 2)), [0.01])):
        c, at = chamber(kinematics, CAVITY), np.append(q, more)
        np.testing.assert_allclose(c.measure(at), expected, **ROUNDING)
        np.testing.assert_allclose(
            c.path.gradient(at) / slopes[0], np.append(slopes, np.zeros(len(more))) / slopes[0], **ROUNDING
        )
    # the material's volume stays, as does that which the kinematics give to what is inside
    np.testing.assert_allclose(chamber(source, TUBE).measure(q), TUBE.volumes.sum(), **ROUNDING)
    within = tt.Domain.tube(HOLE, 0.5 * HOLE, LENGTH)
    assert inside(within, source, q) == pytest.approx(within.volumes.sum(), rel=1e-12)
    assert expected > 1.1 * CAVITY.volumes.sum()


def test_pressure_in_such_a_hole_does_work() -> None:
    """Efforts are ``p dV/dq``, in both engines."""
    s = tt.System("s")
    body = tt.SoftBody("b", K.source([lambda z: (z / LENGTH) ** 2], HOLE), TUBE, 960.0)
    s.connect("world", body, tt.Weld("base"))
    s.add_interaction(tt.SoftChamber("c", body, CAVITY))
    for engine in ("compiled", "reference"):
        found = s.resolve(engine).actuation_matrix(np.array([1e-4]))  # type: ignore[arg-type]
        np.testing.assert_allclose(found, np.pi * LENGTH / 3.0, rtol=1e-12)


@pytest.mark.parametrize("name", CAVITIES)
def test_it_is_the_volume_inside_where_kinematics_fill_it(name: str) -> None:
    """Sections stay plane, bent and longer: ``int det F dV``."""
    bent, q, cavity = K.constant_curvature(LENGTH, elongation=True), np.array([0.8, 0.01]), CAVITIES[name]
    assert chamber(bent, cavity).measure(q) == pytest.approx(inside(cavity, bent, q), rel=QUADRATURE)
    assert chamber(bent, cavity).measure(0.0 * q) == pytest.approx(cavity.volumes.sum(), rel=QUADRATURE)


def carried(x: Any, q: Any) -> list[Any]:
    """Return a point that a body bent along a parabola has, and its shift."""
    return [x[0] + q[0] * x[2] ** 2 + q[1], x[1] + q[2], x[2] + q[3]]


@pytest.mark.parametrize("name", CAVITIES)
def test_surfaces_are_closed(name: str) -> None:
    """Where the whole is shifted its volume stays; without the fan over its base it does not."""
    cavity = CAVITIES[name]
    q, size = np.array([3.0, 0.2, -0.1, 0.3]), np.abs(cavity.volumes).sum() / LENGTH
    coordinates = ["bend", "x", "y", "z"]
    found = chamber(carried, cavity, coordinates)
    assert np.abs(found.path.gradient(q)[1:]).max() < QUADRATURE * size
    assert found.measure(q) == pytest.approx(found.measure(np.zeros(4)), rel=QUADRATURE)
    assert cavity.surface is not None
    rest = cavity.surface[cavity.surface[:, FAN] >= 0.0]
    open_one = chamber(carried, tt.Domain(cavity.points, cavity.volumes, surface=rest), coordinates)
    assert np.abs(open_one.path.gradient(q)[1:]).max() > 0.1 * size


def test_meshes() -> None:
    """A cube of six tetrahedra around its diagonal, sheared by degree two, for which its triangles' rule is exact."""
    meshio = pytest.importorskip("meshio")
    corners = LENGTH * np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)], float)
    ways = [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)]
    cube = tt.Domain.mesh(meshio.Mesh(corners, [("tetra", np.array(ways))]))
    found = chamber(carried, cube, ["bend", "x", "y", "z"])
    np.testing.assert_allclose(found.measure(np.array([0.0, 0.2, -0.1, 0.3])), LENGTH**3, **ROUNDING_OF_MANY)
    np.testing.assert_allclose(found.measure(np.array([2.0, 0.0, 0.0, 0.0])), LENGTH**3, **ROUNDING_OF_MANY)


def test_derivatives() -> None:
    """Against complex steps, where neither sections nor ends stay plane."""
    bulging = K.bulges(LENGTH, RADIUS).then(K.source(lambda z: 1.0 + z, HOLE), K.planar_bending(lambda z: z / LENGTH))
    c, q, step = chamber(bulging, CAVITIES["sector"]), np.array([0.002, -0.001, 2e-5, 3.0]), 1e-30
    gradient = [np.imag(c.measure(q + 1j * step * e)) / step for e in np.eye(4)]
    hessian = np.array([np.imag(c.path.gradient(q + 1j * step * e)) / step for e in np.eye(4)])
    np.testing.assert_allclose(c.path.gradient(q), gradient, rtol=0, atol=1e-12 * np.abs(gradient).max())
    np.testing.assert_allclose(c.path.hessian(q), hessian, rtol=0, atol=1e-12 * np.abs(hessian).max())
    assert np.abs(hessian[0, 2:]).max() > 1e-6 * np.abs(hessian).max()
