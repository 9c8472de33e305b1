"""Pictures of families, and how they leave titop."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import titop as tt
from tests.refusals import refusal
from tests.solvers.linear.families import MATRICES
from titop.solvers.linear.lpv_plots import without_jumps


def test_pictures_and_exchange(family: tt.LPVModel, tmp_path: Path) -> None:
    path = tmp_path / "family.npz"
    family.save(path)
    assert list(tmp_path.iterdir()) == [path]
    again = tt.LPVModel.load(path)
    for name in (*MATRICES, "q", "v", "tau", "u", "y", "valid"):
        assert np.array_equal(getattr(again, name), getattr(family, name)), name
    assert (again.states, again.outputs, again.coordinate_names) == (family.states, family.outputs, family.coordinate_names)
    assert list(again.parameters) == list(family.parameters)
    assert repr(again) == repr(family)
    data = family.grid
    assert data.A.dims == ("left.mass", "shaft.v", "to_state", "state")
    assert float(data.v.sel({"left.mass": 1.0, "shaft.v": 6.0, "coordinate": "shaft"})) == 6.0
    assert data.attrs["unit of left_dv[0]"] == "m/s^2"
    for figure in (family.poles(), family.bode(), family.bode("left_hinge", "left.dv[0]", np.geomspace(0.1, 10, 20))):
        figure.savefig(tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    with refusal("unknown-output", "did you mean"):
        family.bode(output="left_hinge_p")
    with refusal("wrong-type", "positive frequencies"):
        family.bode(omega=[0.0, 1.0])
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with refusal("wrong-format", "LPVModel.save"):
        tt.LPVModel.load(tmp_path / "other.npz")
    np.savez(tmp_path / "more.npz", A=np.zeros(3))
    with refusal("wrong-format", "LPVModel.save"):
        tt.LPVModel.load(tmp_path / "more.npz")
    with refusal("no-file", "check the path"):
        tt.LPVModel.load(tmp_path / "none.npz")


def test_curves_have_no_jumps_and_begin_alike() -> None:
    """Phases of second-order systems of any damping, told between -180 and 180 degrees; one member failed."""
    omega = np.geomspace(0.1, 10, 200)
    angles = [np.angle(-1 / (1 - omega**2 + 2j * damping * omega), deg=True) for damping in (0.05, -0.05, 0.7)]
    curves = without_jumps(np.array([*angles, np.full(200, np.nan)]), 360.0)
    assert np.ptp([curve[0] for curve in curves[:3]]) < 10
    assert np.abs(np.diff(curves[:3], axis=1)).max() < 60  # of the least damped one; 360 with a jump
    turns = (curves[:3] - angles) / 360
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)  # rounding
    assert np.ptp([angle[0] for angle in angles]) > 300, "the negative control"
