"""Normal modes in files of NASTRAN: a cantilever of five elements with 5 kg at its end, in mm, kg and s.

The OP2 file is pyNastran's (BSD, licence beside it); the listing is written here in the layout of the solver, with its numbers.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import titop as tt
from tests.blocks.bodies.test_nastran_files import FILES, FRAME, UNITS
from titop.blocks.bodies import nastran_files

OP2 = FILES / "pn_mwe_s-solution_1.op2"
#: Single precision, and sums over the pair of modes of equal frequency.
SINGLE = 2e-6
GRIDS = {1: 0.0, 2: 100.0, 3: 100.0, 4: 20.0, 5: 40.0, 6: 60.0, 7: 80.0}


@pytest.fixture(scope="module")
def nastran() -> Any:
    return pytest.importorskip("pyyeti.nastran")


@pytest.fixture(scope="module")
def rod(nastran: Any) -> tt.FlexibleBody:
    return read()


def read(file: Path = OP2, **changed: Any) -> tt.FlexibleBody:
    """Return the cantilever clamped at grid 1."""
    given: dict[str, Any] = {
        "parent": 1,
        "ports": {"end": 3, "middle": 5},
        "name": "rod",
        "units": UNITS,
        "damping_ratios": 0.01,
    }
    return tt.FlexibleBody.from_nastran(file, **given | changed)


class TestOutput2:
    def test_frequencies_and_effective_masses(self, rod: tt.FlexibleBody) -> None:
        assert rod.frequencies is not None
        np.testing.assert_allclose(rod.frequencies / (2 * np.pi), [89.560745, 89.560745, 1044.7596], rtol=SINGLE)
        masses = rod.effective_mass.mass
        np.testing.assert_allclose(masses[:2].sum(axis=0)[1:3], 4.97312 + 0.07077, rtol=SINGLE)
        np.testing.assert_allclose(masses[:2].sum(axis=0)[4:], (49570.41 + 705.38) * 1e-6, rtol=SINGLE)
        np.testing.assert_allclose(masses[2], [5.0563, 0, 0, 0, 0, 0], atol=1e-5)  # digits of the table
        assert rod.check() == ([], [])

    def test_rigid_mass(self, rod: tt.FlexibleBody) -> None:
        assert rod.mass == pytest.approx(5.07665, abs=1e-5)
        np.testing.assert_allclose(rod.mass * rod.com, [0.504258, 0, 0], atol=1e-6)
        np.testing.assert_allclose(rod.rigid_inertia[[4, 5], [4, 5]], 50291.49e-6, rtol=SINGLE)

    def test_it_bends_as_a_beam_of_the_same_material_does(self, rod: tt.FlexibleBody) -> None:
        """68.98 GPa, 2711 kg/m^3, shear factor 0.9 (tables MPT and EPT): frequencies, and the shape at grid 5."""
        radius = 0.01
        area, second = np.pi * radius**2, np.pi * radius**4 / 4
        beam = tt.Beam("beam", 0.1, 2711.0, area, 68.98e9, second, second, shear_modulus=25.9323e9, shear_factors=0.9)
        s = tt.System("cantilever", gravity=[0, 0, 0])
        s.connect("world", beam, tt.Weld("clamp"))
        s.connect(beam.port("C"), tt.RigidBody("end", 5.0), tt.Weld("bolt"))
        model = s.resolve()
        q = model.neutral()
        squares, modes = np.linalg.eig(model.forward_dynamics_derivatives(q, 0 * q, 0 * q)[0])
        order = np.argsort(-squares.real)
        assert rod.frequencies is not None
        # five elements with lumped masses, of which the rod has 1.7 %
        np.testing.assert_allclose(rod.frequencies[:2], np.sqrt(-squares.real[order[:2]]), rtol=1e-3)
        down = np.linalg.norm(rod.shapes["middle"][1:3, :2], axis=0) / np.linalg.norm(rod.shapes["end"][1:3, :2], axis=0)
        vector = modes.real[:, order[0]]
        line = beam.line_at(vector * 1e-6)
        ratio = CubicSpline(line[:, 0], np.linalg.norm(line[:, 1:], axis=1))(0.04) / np.linalg.norm(line[-1, 1:])
        np.testing.assert_allclose(down, ratio, rtol=1e-3)  # likewise

    def test_the_grid_of_the_parent_may_stand_anywhere(self, rod: tt.FlexibleBody, tmp_path: Path) -> None:
        """Grids of bulk data instead: all moved by 1 m; participation and rigid mass are then about grid 1."""
        cards = [f"GRID,{grid},,{1000.0 + x},0.,0." for grid, x in GRIDS.items()]
        (tmp_path / "moved.bdf").write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA"]))
        moved = read(grids=tmp_path / "moved.bdf", reference=1)
        np.testing.assert_allclose(moved.participation, rod.participation, atol=1e-12)
        np.testing.assert_allclose(moved.port_poses["end"].position, [0.1, 0, 0], atol=1e-12)
        wrong = read(grids=tmp_path / "moved.bdf")  # about the origin, 1 m away
        assert np.abs(wrong.com - rod.com).max() == pytest.approx(1.0)

    def test_frames_of_grids_turn_shapes(self, rod: tt.FlexibleBody, tmp_path: Path) -> None:
        """The displacements of grid 3 in a frame with x = Y, y = Z, z = X."""
        frame = "CORD2R,10,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."
        cards = [f"GRID,{grid},,{x},0.,0.,{10 if grid == 3 else 0}" for grid, x in GRIDS.items()]
        (tmp_path / "turned.bdf").write_text("\n".join(["BEGIN BULK", frame, *cards, "ENDDATA"]))
        turned = read(grids=tmp_path / "turned.bdf")
        np.testing.assert_allclose(turned.shapes["end"], rod.shapes["end"][[2, 0, 1, 5, 3, 4]], atol=1e-12)
        np.testing.assert_allclose(turned.shapes["middle"], rod.shapes["middle"], atol=1e-12)

    def test_files_of_other_layout_have_frames(self, nastran: Any) -> None:
        """An older file, of pyYeti's own tests: grid 11 has the frame of the truss in its superelement."""
        file = Path(nastran.__file__).parents[1] / "tests" / "nas2cam_extseout" / "assemble.op2"
        if not file.is_file():
            pytest.skip("pyYeti came without its tests")
        modes = nastran_files.modes_of_op2(file)
        assert modes.factors is None
        np.testing.assert_allclose(modes.places[11].position, [600, 300, 300])
        np.testing.assert_allclose(modes.places[11].rotation, FRAME, atol=1e-12)
        np.testing.assert_allclose(modes.places[3].rotation, np.eye(3), atol=1e-12)

    @pytest.mark.parametrize(
        ("changed", "code", "where"),
        [
            ({"parent": 3}, "not-clamped", "rod.parent"),
            ({"parent": 12}, "unknown-node", "rod.parent"),
            ({"ports": {"end": 8}}, "unknown-node", "rod.ports.end"),
            ({"ports": {"end": [3]}}, "unknown-node", "rod.ports.end"),
            ({"ports": [3]}, "wrong-type", "rod.ports"),
            ({"reference": 9}, "unknown-node", "rod.reference"),
        ],
    )
    def test_what_is_refused(self, nastran: Any, changed: dict[str, Any], code: str, where: str) -> None:
        with pytest.raises(tt.ModelError) as refused:
            read(**changed)
        assert (refused.value.code, refused.value.where) == (code, where)


def listing(nastran: Any, page: int = 2) -> str:
    """Return a listing with the numbers of the OP2 file; a page ends after so many modes."""
    with nastran.OP2(str(OP2)) as source:
        matrices = source.rdop2mats(lower=True)
        vectors = source.rdop2oug("OUGV1")
        source.set_position("LAMA")
        source.rdop2nt()
        source.skipop2record()
        values = np.array(source.rdop2record("single")).reshape(-1, 7)
    text = [f"{'':46}R E A L   E I G E N V A L U E S"]
    text += [
        "   MODE    EXTRACTION      EIGENVALUE            RADIANS             CYCLES            GENERALIZED         GENERALIZED"
    ]
    text += [
        "    NO.       ORDER                                                                       MASS              STIFFNESS"
    ]
    text += [f"{k + 1:9d}{k + 1:10d}" + "".join(f"{x:20.6E}" for x in row[2:]) for k, row in enumerate(values)]
    text += ["1    CANTILEVER", "0", f"{'':27}O U T P U T   F R O M   G R I D   P O I N T   W E I G H T   G E N E R A T O R"]
    text += [f"0{'':52}REFERENCE POINT =        0", f"{'':64}M O"]
    text += [f"{'':22}*" + "".join(f" {x:13.6E}" for x in row) + " *" for row in matrices["rbmasss"]]
    text += [f"{'':65}S", *[f"{'':43}*  1.0  0.0  0.0 *"] * 3, f"{'':31}DIRECTION"]
    text += [f"{'':26}MASS AXIS SYSTEM (S)     MASS              X-C.G.        Y-C.G.        Z-C.G."]
    text += [f"{'':34}{axis}  5.07665  99.33  0.0  0.0" for axis in "XYZ"]
    text += [f"{'':64}I(S)", *[f"{'':43}*  0.0  0.0  0.0 *"] * 3, f"{'':64}I(Q)", ""]
    for title, name in (("PARTICIPATION FACTORS", "mpfacs"), ("EFFECTIVE MASS", "mefmass"), ("EFFECTIVE WEIGHT", "mefwts")):
        for k, row in enumerate(matrices[name].T):
            if k % page == 0:
                text += ["1    CANTILEVER", "0", f"{'':53}MODAL {title}"]
                text += [
                    "   MODE       FREQUENCY            T1                T2                T3                R1   ...",
                    "    NO.",
                ]
            text += [f"{k + 1:8d}{values[k, 4]:16.6E}" + "".join(f"{x:18.6E}" for x in row)]
    for k, eigenvalue in enumerate(values[:, 2]):
        text += ["1    CANTILEVER", "0", f"      EIGENVALUE = {eigenvalue:13.6E}"]
        text += [f"          CYCLES = {values[k, 4]:13.6E}         R E A L   E I G E N V E C T O R   N O . {k + 1:10d}", " "]
        text += [
            "      POINT ID.   TYPE          T1             T2             T3             R1             R2             R3"
        ]
        for grid in GRIDS:
            numbers = vectors.loc[[grid]].to_numpy()[:, k]
            text += [f"{grid:14d}      G   " + "".join(f"{x:15.6E}" for x in numbers)]
    return "\n".join([*text, "1    CANTILEVER", ""])


class TestListing:
    def write(self, nastran: Any, folder: Path, replaced: tuple[str, str] = ("", ""), bulk: bool = True) -> Path:
        (folder / "rod.f06").write_text(listing(nastran).replace(*replaced) if replaced[0] else listing(nastran))
        if bulk:
            cards = [f"GRID,{grid},,{x},0.,0." for grid, x in GRIDS.items()]
            (folder / "rod.dat").write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA"]))
        return folder / "rod.f06"

    def test_it_is_the_body_of_the_output2_file(self, rod: tt.FlexibleBody, nastran: Any, tmp_path: Path) -> None:
        """Seven digits are printed."""
        found = read(self.write(nastran, tmp_path))
        assert found.frequencies is not None
        assert rod.frequencies is not None
        np.testing.assert_allclose(found.frequencies, rod.frequencies, rtol=1e-6)
        np.testing.assert_allclose(found.participation, rod.participation, atol=1e-6)
        np.testing.assert_allclose(found.rigid_inertia, rod.rigid_inertia, atol=1e-6)
        for port in rod.ports:
            np.testing.assert_allclose(found.shapes[port], rod.shapes[port], atol=1e-5)  # rotations up to 6 rad per unit

    def test_positions_come_from_the_bulk_data(self, nastran: Any, tmp_path: Path) -> None:
        with pytest.raises(tt.ModelError, match="grids=") as refused:
            read(self.write(nastran, tmp_path, bulk=False))
        assert refused.value.code == "unknown-node"

    @pytest.mark.parametrize(
        ("replaced", "code"),
        [
            (("MODAL PARTICIPATION FACTORS", "MODAL SOMETHING"), "missing-results"),
            (("R E A L   E I G E N V A L U E S", "NOTHING"), None),  # the title is not needed
            (("EIGENVALUE            RADIANS", "nothing               radians"), "missing-results"),
            (("W E I G H T", "-"), "missing-results"),
            (("4.973124E+00", "3.973124E+00"), "inconsistent-modes"),
            (("E I G E N V E C T O R", "-"), "unknown-node"),
        ],
    )
    def test_what_is_missing_is_named(self, nastran: Any, tmp_path: Path, replaced: tuple[str, str], code: str | None) -> None:
        file = self.write(nastran, tmp_path, replaced)
        if code is None:
            assert read(file).nv == 3
            return
        with pytest.raises(tt.ModelError) as refused:
            read(file)
        assert refused.value.code == code

    def test_a_truncated_output2_file(self, nastran: Any, tmp_path: Path) -> None:
        shutil.copy(OP2, tmp_path / "rod.op2")
        (tmp_path / "rod.op2").write_bytes(OP2.read_bytes()[:5000])
        with pytest.raises(tt.ModelError) as refused:
            read(tmp_path / "rod.op2")
        assert refused.value.code in ("unreadable-file", "missing-results")
