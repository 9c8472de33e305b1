"""Superelements in files of NASTRAN: a truss of 32 coordinates in mm, kg and s, one of whose grids has axes of its own.

The files are pyYeti's (BSD, licence beside them).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

import titop as tt
from titop.blocks.basics.spatial import skew

FILES = Path(__file__).parent / "nastran"
UNITS = ("mm", "kg", "s")
#: Axes of the displacements of grid 11 (frame 10 of the file): Y, Z and X of the basic frame.
FRAME = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
#: The eigenvalue table of the run behind the file, which prints seven digits; the last two are of residual vectors, by KXX.
HELD = np.array([6.129346, 6.130134, 23.631877, 70.510647, 70.791530, 104.808515, 281.949046, 424.813806])
#: Effective masses with the boundary held, in % of the rigid mass about the basic origin, of a checking program's listing.
EFFECTIVE = [
    [0.00, 31.93, 6.06, 22.62, 12.10, 63.68],
    [0.00, 6.06, 31.93, 3.49, 63.68, 12.09],
    [0.00, 0.00, 0.00, 25.13, 0.00, 0.00],
    [0.00, 30.78, 0.90, 7.26, 0.39, 13.09],
    [0.00, 0.91, 30.91, 14.57, 13.14, 0.38],
    [44.47, 0.00, 0.00, 0.00, 0.76, 0.76],
]
TOTAL = [44.47, 69.99, 70.23, 73.27, 90.18, 90.10]


@pytest.fixture(scope="module")
def nastran() -> Any:
    return pytest.importorskip("pyyeti.nastran")


@pytest.fixture(scope="module")
def truss(nastran: Any) -> tt.FlexibleBody:
    return read()


def read(file: Path = FILES / "inboard.op4", **changed: Any) -> tt.FlexibleBody:
    """Return the truss held at grid 3."""
    given: dict[str, Any] = {"parent": 3, "ports": {"tip": 11}, "name": "truss", "units": UNITS}
    return tt.FlexibleBody.from_nastran(file, **given | changed)


def about_origin() -> np.ndarray:
    """Return the motion (6x6) of grid 3 under unit twists at the basic origin, in metres."""
    result = np.eye(6)
    result[:3, 3:] = -skew(np.array([0.6, 0.0, 0.3]))
    return result


class TestReducedMatrices:
    def test_rigid_mass(self, truss: tt.FlexibleBody) -> None:
        """1.75505 kg, first moments and inertia about the origin as the run's weight generator prints them."""
        inertia = about_origin().T @ truss.rigid_inertia @ about_origin()
        assert truss.mass == pytest.approx(1.75505, abs=5e-6)  # digits printed
        first = np.array([inertia[5, 1], inertia[3, 2], inertia[4, 0]]) * 1e3
        np.testing.assert_allclose(first, [1825.251, 263.2578, 263.2578], atol=6e-4)
        expected = [[114882.534, -273787.651, -273787.651], [0, 2305947.939, -39379.108], [0, 0, 2305947.939]]
        np.testing.assert_allclose(np.triu(inertia[3:, 3:]) * 1e6, expected, atol=6e-4)
        assert truss.check() == ([], [])

    def test_frequencies_with_the_boundary_held(self, truss: tt.FlexibleBody) -> None:
        M, K, _ = truss.matrices
        np.testing.assert_allclose(M[18:, 18:], np.eye(8), atol=1e-12)
        np.testing.assert_allclose(np.sqrt(np.diag(K)[18:]) / (2 * np.pi), HELD, rtol=1e-7)

    def test_effective_masses_with_the_boundary_held(self, truss: tt.FlexibleBody) -> None:
        masses = (truss.participation[18:] @ about_origin()) ** 2
        percent = 100 * masses / np.diag(about_origin().T @ truss.rigid_inertia @ about_origin())
        np.testing.assert_allclose(percent[:6], EFFECTIVE, atol=0.006)  # two decimals
        np.testing.assert_allclose(percent.sum(axis=0), TOTAL, atol=0.006)

    def test_the_system_is_that_of_the_file_s_matrices(self, truss: tt.FlexibleBody, nastran: Any) -> None:
        """Discs on all four grids, one of them turned: the poles, by the file's matrices in its units and axes."""
        matrices = nastran.op4.read(str(FILES / "inboard.op4"))
        M, K = matrices["mxx"].copy(), matrices["kxx"]
        for grid in range(4):
            axes = FRAME if grid == 1 else np.eye(3)
            M[6 * grid : 6 * grid + 3, 6 * grid : 6 * grid + 3] += 0.5 * np.eye(3)
            M[6 * grid + 3 : 6 * grid + 6, 6 * grid + 3 : 6 * grid + 6] += axes.T @ np.diag([1e3, 2e3, 3e3]) @ axes
        expected = np.sqrt(eigh(K, M, eigvals_only=True)[6:])
        s = tt.System("truss with discs", gravity=[0, 0, 0])
        discs = [tt.RigidBody(f"disc{k}", 0.5, inertia=[1e-3, 2e-3, 3e-3]) for k in range(4)]
        s.connect("world", discs[0], tt.Free("base"))
        s.connect(discs[0], truss, tt.Weld("clamp"))
        for k, port in enumerate(truss.ports):
            s.connect(truss.port(port), discs[k + 1], tt.Weld(f"weld{k}"))
        model = s.resolve()
        poles = tt.linearize(model, model.neutral()).poles()
        found = np.sort(np.abs(poles.imag))[12::2]
        np.testing.assert_allclose(found, expected, rtol=1e-6)  # squares that span a factor 1e9

    def test_recovery_by_own_arithmetic(self, truss: tt.FlexibleBody, nastran: Any) -> None:
        """Forces in elements and displacements of grids, from the file's matrices and its vector of displacements."""
        assert list(truss.recovery) == [*(f"MUG1.{grid}" for grid in (3, 4, 11, 16, 19, 27)), "MEF1.10", "MEF1.97"]
        matrices = nastran.op4.read(str(FILES / "inboard.op4"))
        q = np.random.default_rng(0).normal(size=truss.nv) * 1e-3
        in_file = np.zeros(32)
        for k, rows in enumerate((slice(6, 12), slice(12, 18), slice(18, 24))):
            axes = FRAME if k == 0 else np.eye(3)
            moved = q[6 * k : 6 * k + 6].reshape(2, 3) @ axes
            in_file[rows] = np.concatenate([moved[0] * 1e3, moved[1]])
        in_file[24:] = q[18:] * 1e3  # of unit mass in kg m^2, and in kg mm^2
        scale = np.abs(matrices["mef1"] @ in_file).max()
        np.testing.assert_allclose(truss.recover("MEF1.97", q), (matrices["mef1"] @ in_file)[8:], atol=1e-12 * scale)
        np.testing.assert_allclose(truss.recover("MUG1.16", q), (matrices["mug1"] @ in_file)[18:24], atol=1e-12)
        np.testing.assert_allclose(truss.recover("MUG1.11", q), in_file[6:12], atol=1e-12)
        np.testing.assert_allclose(truss.recover("MUG1.3", q), 0, atol=1e-12)

    def test_grids_may_stand_elsewhere(self, truss: tt.FlexibleBody, tmp_path: Path) -> None:
        """Matrices under another name than the grids, whose freedoms are then those of SECONCT; and the file of the grids."""
        shutil.copy(FILES / "inboard.op4", tmp_path / "matrices.op4")
        shutil.copy(FILES / "inboard.asm", tmp_path / "grids.asm")
        found = read(tmp_path / "matrices.op4", grids=tmp_path / "grids.asm")
        np.testing.assert_array_equal(found.matrices.stiffness, truss.matrices.stiffness)
        assert list(found.recovery) == ["MUG1", "MEF1"]  # no punch file names their rows
        np.testing.assert_array_equal(read(FILES / "inboard.asm").matrices.mass, truss.matrices.mass)

    def test_punched_matrices_are_the_same_body(self, truss: tt.FlexibleBody, nastran: Any, tmp_path: Path) -> None:
        """DMIG cards have ten digits; a rigid motion then strains the body by about as much."""
        matrices = nastran.op4.read(str(FILES / "inboard.op4"))
        index = nastran.asm2uset(str(FILES / "inboard.asm"))[0].index
        import pandas

        cards = {
            name: pandas.DataFrame((matrix + matrix.T) / 2, index=index, columns=index)
            for name, matrix in (("kaax", matrices["kxx"]), ("maax", matrices["mxx"]))
        }
        with (tmp_path / "punched.pch").open("w") as file:
            nastran.wtdmig(file, cards)
            file.write((FILES / "inboard.pch").read_text())
        shutil.copy(FILES / "inboard.asm", tmp_path / "punched.asm")
        found = read(tmp_path / "punched.pch")
        for one, other in ((found.matrices.mass, truss.matrices.mass), (found.matrices.stiffness, truss.matrices.stiffness)):
            scale = np.sqrt(np.outer(np.diag(other), np.diag(other)))
            np.testing.assert_allclose(one / scale, other / scale, atol=1e-9)
        np.testing.assert_allclose(found.natural_frequencies[:20], truss.natural_frequencies[:20], rtol=1e-6)
        np.testing.assert_allclose(found.participation, truss.participation, atol=1e-8)
        assert found.ports == truss.ports


class TestWhatDoesNotFit:
    def test_without_pyyeti_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyyeti", None)
        with pytest.raises(tt.ModelError, match=r"titop\[nastran\]") as refused:
            read()
        assert refused.value.code == "missing-extra"

    @pytest.mark.parametrize(
        ("file", "changed", "code"),
        [
            (FILES / "nothing.op4", {}, "no-file"),
            (FILES / "inboard.txt", {}, "unknown-format"),
            (5, {}, "wrong-type"),
            (FILES / "inboard.op4", {"grids": 5}, "no-file"),
            (FILES / "inboard.op4", {"parent": 4}, "unknown-node"),
            (FILES / "inboard.op4", {"grids": FILES / "nothing.asm"}, "no-file"),
            (FILES / "inboard.op4", {"units": ("mm", "kg")}, "bad-units"),
        ],
    )
    def test_arguments(self, nastran: Any, file: Any, changed: dict[str, Any], code: str) -> None:
        with pytest.raises(tt.ModelError) as refused:
            read(file, **changed)
        assert refused.value.code == code

    def test_files(self, nastran: Any, tmp_path: Path) -> None:
        """No grids beside; matrices cut short; a boundary grid with two freedoms; other axes of grid 11 than in the file."""
        for file in ("inboard.op4", "inboard.asm", "inboard.pch"):
            shutil.copy(FILES / file, tmp_path / file)
        alone = tmp_path / "alone.op4"
        shutil.copy(FILES / "inboard.op4", alone)
        spoilt = {
            "no-file": (alone, lambda: None),
            "unreadable-file": (tmp_path / "inboard.op4", lambda: (tmp_path / "inboard.op4").write_bytes(b"\0" * 100)),
        }
        for code, (file, spoil) in spoilt.items():
            spoil()
            with pytest.raises(tt.ModelError) as refused:
                read(file)
            assert refused.value.code == code
        shutil.copy(FILES / "inboard.op4", tmp_path / "inboard.op4")
        cards = (FILES / "inboard.asm").read_text()
        (tmp_path / "inboard.asm").write_text(
            cards.replace("0.300000000E+03              10", "0.300000000E+03               0")
        )
        with pytest.raises(tt.ModelError, match="grid 11") as refused:
            read(tmp_path / "inboard.op4")
        assert refused.value.code == "not-free"
        (tmp_path / "inboard.asm").write_text(cards)
        punched = (FILES / "inboard.pch").read_text()
        (tmp_path / "inboard.pch").write_text(punched.replace("EXTRN          3  123456", "EXTRN          3      12"))
        with pytest.raises(tt.ModelError, match="grid 3") as refused:
            read(tmp_path / "inboard.op4")
        assert refused.value.code == "partial-grid"
