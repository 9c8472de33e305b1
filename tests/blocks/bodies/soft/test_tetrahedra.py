"""Domains of tetrahedra: a box in tetrahedra against the box, its surface, meshes that are refused."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

import titop as tt

SIZE = np.array([0.02, 0.03, 0.1])
#: Sums of some hundred terms.
EXACT = 1e-13


def box_mesh(cells: tuple[int, int, int] = (2, 2, 3)) -> meshio.Mesh:
    """Return a box on the axis, each of its cells in six tetrahedra (Kuhn)."""
    grid = np.stack(np.meshgrid(*(np.arange(count + 1) for count in cells), indexing="ij"), axis=-1).reshape(-1, 3)
    number = {tuple(place): k for k, place in enumerate(grid.tolist())}
    tetrahedra = []
    for corner in itertools.product(*(range(count) for count in cells)):
        for order in itertools.permutations(range(3)):
            path = [np.array(corner)]
            for axis in order:
                path.append(path[-1] + np.eye(3, dtype=int)[axis])
            if np.linalg.det(np.diff(path, axis=0)) < 0:
                path[:2] = path[1::-1]
            tetrahedra.append([number[tuple(place.tolist())] for place in path])
    return meshio.Mesh((grid / cells - [0.5, 0.5, 0.0]) * SIZE, [("tetra", np.array(tetrahedra))])


def refusal(mesh: Any, **options: Any) -> tt.ModelError:
    with pytest.raises(tt.ModelError) as caught:
        tt.Domain.mesh(mesh, **options)
    return caught.value


@pytest.mark.parametrize("points", [1, 4])
def test_a_box_of_tetrahedra_is_the_box(points: int) -> None:
    """One point in each is exact for volume and centroid alone: its inertia is off."""
    box, mesh = tt.Domain.box(*SIZE), tt.Domain.mesh(box_mesh(), points=points)
    assert len(mesh.points) == points * 6 * 12
    assert (mesh.volumes > 0).all()
    assert mesh.volumes.sum() == pytest.approx(box.volumes.sum(), rel=EXACT)
    np.testing.assert_allclose(mesh.volumes @ mesh.points, box.volumes @ box.points, atol=EXACT * SIZE.prod())
    moments = [domain.points.T @ (domain.volumes[:, None] * domain.points) for domain in (mesh, box)]
    error = np.abs(moments[0] - moments[1]).max() / moments[1].max()
    assert error < EXACT if points == 4 else error > 1e-3


def test_bodies_of_a_box_move_alike_however_it_is_divided() -> None:
    """By a displacement that is linear in z: four points are exact for its square."""

    def shear(x: Any, q: Any) -> Any:
        return [x[0] + q[0] * x[2], x[1], x[2]]

    bodies = [
        tt.SoftBody("b", shear, domain, 1000.0, tt.Material.linear(1e5, 0.3), coordinates=("shear",))
        for domain in (tt.Domain.box(*SIZE), tt.Domain.mesh(box_mesh()))
    ]
    for q in ([0.0], [0.4]):
        inertias = [body.mass_matrix(np.array(q)) for body in bodies]
        np.testing.assert_allclose(inertias[1], inertias[0], atol=EXACT * inertias[0].max())
        efforts = [body.passive_efforts(np.array(q), np.zeros(1)) for body in bodies]
        np.testing.assert_allclose(efforts[1], efforts[0], rtol=1e-12)


def test_files_are_read_in_their_unit(tmp_path: Path) -> None:
    mesh = box_mesh()
    mesh.points = mesh.points * 1000.0
    mesh.write(tmp_path / "box.vtk")
    read = tt.Domain.mesh(tmp_path / "box.vtk", scale=0.001, tip=[0, 0, SIZE[2]])
    given = tt.Domain.mesh(box_mesh())
    np.testing.assert_allclose(read.points, given.points, atol=EXACT)
    np.testing.assert_allclose(read.volumes, given.volumes, rtol=1e-11)
    assert read.tip is not None


def test_the_outline_is_the_surface() -> None:
    outline = tt.Domain.mesh(box_mesh((2, 2, 3))).outline
    assert outline is not None
    assert len(outline.triangles) == 2 * 2 * (2 * 2 + 2 * 3 + 2 * 3)
    a, b, c = np.moveaxis(outline.points[outline.triangles], 1, 0)
    assert np.einsum("ij,ij->", np.cross(a, b), c) / 6 == pytest.approx(SIZE.prod(), rel=EXACT)


class TestBadMeshes:
    """Which tetrahedra are wrong, and how many of them."""

    def test_inverted(self) -> None:
        mesh = box_mesh()
        tetrahedra = mesh.cells[0].data
        tetrahedra[[3, 40]] = tetrahedra[[3, 40]][:, [1, 0, 2, 3]]
        error = refusal(mesh)
        assert error.code == "inverted-tetrahedra"
        assert error.findings[0].value == "2 of 72: 3, 40"

    def test_degenerate_and_inverted_are_told_together(self) -> None:
        mesh = box_mesh()
        tetrahedra = mesh.cells[0].data
        tetrahedra[7, 1] = tetrahedra[7, 0]
        tetrahedra[9] = tetrahedra[9][[1, 0, 2, 3]]
        found = {finding.code: finding.value for finding in refusal(mesh).findings}
        assert found == {"degenerate-tetrahedra": "1 of 72: 7", "inverted-tetrahedra": "1 of 72: 9"}

    def test_overlapping(self) -> None:
        mesh = box_mesh()
        mesh.cells[0].data = np.concatenate([mesh.cells[0].data, mesh.cells[0].data[:1]])
        error = refusal(mesh)
        assert error.code == "overlapping-tetrahedra"
        assert "0, 72" in error.findings[0].value

    @pytest.mark.parametrize(
        ("mesh", "options", "code"),
        [
            (meshio.Mesh(np.eye(4)[:, :3], [("triangle", np.array([[0, 1, 2]]))]), {}, "no-tetrahedra"),
            (meshio.Mesh(np.ones((8, 3)), [("hexahedron", np.arange(8)[None])]), {}, "not-tetrahedra"),
            (np.eye(3), {}, "wrong-type"),
            (box_mesh(), {"points": 5}, "bad-count"),
            (box_mesh(), {"scale": -1.0}, "bad-scale"),
            ("nowhere.msh", {}, "unreadable-mesh"),
        ],
    )
    def test_others(self, mesh: Any, options: dict[str, Any], code: str) -> None:
        assert refusal(mesh, **options).code == code

    def test_files_that_are_no_meshes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "arm.vtk").write_text("not a mesh")
        error = refusal(str(tmp_path / "arm.vtk"))
        assert error.code == "unreadable-mesh"
        assert "arm.vtk" in str(error)

    def test_without_meshio_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "meshio", None)
        error = refusal("arm.msh")
        assert error.code == "missing-extra"
        assert 'pip install "titop[soft]"' in str(error)
