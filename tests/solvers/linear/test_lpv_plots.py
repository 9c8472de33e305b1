"""Pictures of families, and how they leave titop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

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


def curves(figure: Any, axis: int) -> list[Any]:
    """Return frequencies and values of all curves of an axis of a figure."""
    return [(line.get_xdata(), line.get_ydata()) for line in figure.axes[axis].lines]


def chain(damping: float, gain: float = 1.0) -> control.StateSpace:
    """Return ``gain / s^2`` times two modes without a zero between them, so near that a coarse grid sees none of them."""
    blocks = [control.ss([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], 0)]
    blocks += [control.ss([[0, 1], [-w * w, -2 * damping * w]], [[0], [w * w]], [[1, 0]], 0) for w in (3.0, 3.001)]
    return gain * blocks[2] * blocks[1] * blocks[0]


@pytest.mark.parametrize("damping", [0.02, 1e-6])
def test_phases_are_sums_of_angles_without_jumps(damping: float) -> None:
    """``-180`` of the integrators and the angle of each mode, on a grid of 30 frequencies, where plain unwrapping fails."""
    grid, system = np.geomspace(0.1, 100, 30), chain(damping)
    (omega, phase), *_ = curves(tt.plot_response(system, omega=grid), 1)
    exact = -180 - sum(np.rad2deg(np.arctan2(2 * damping * omega / w, 1 - (omega / w) ** 2)) for w in (3.0, 3.001))
    # the shift of 1e-9 to the right adds as much damping: a thousandth of the smaller one, at most 0.03 degrees a mode
    assert phase == pytest.approx(exact, abs=0.1)
    assert np.abs(np.diff(phase)).max() < 60
    (_, gain), *_ = curves(tt.plot_response(system, omega=grid), 0)
    assert gain == pytest.approx(np.abs(system(1j * omega)), rel=5e-3)  # in the middle of a peak, by the same shift
    plain = np.rad2deg(np.unwrap(np.angle(system(1j * grid))))
    assert damping > 0.01 or abs(plain[-1] - plain[0]) < 300


def test_undamped_and_sampled_models() -> None:
    """Undamped poles turn by -180 degrees; sampled models are python-control's up to half their rate, modulo full turns."""
    (omega, phase), *_ = curves(tt.plot_response(control.ss([[0, 1], [-9, 0]], [[0], [1]], [[1, 0]], 0)), 1)
    assert phase == pytest.approx(np.where(omega < 3, 0.0, -180.0), abs=90.1)
    assert phase[[0, -1]] == pytest.approx([0, -180], abs=1e-3)
    sampled = control.c2d(chain(0.02), 0.1)
    (omega, phase), *_ = curves(tt.plot_response(sampled), 1)
    assert omega.max() == pytest.approx(10 * np.pi)
    expected = sampled.frequency_response(omega, squeeze=True).frdata.ravel()
    assert np.exp(1j * np.deg2rad(phase)) == pytest.approx(expected / np.abs(expected), abs=1e-6)
    assert np.abs(np.diff(phase)).max() < 60
    with refusal("bad-value", "half of the sampling rate"):
        tt.plot_response(sampled, omega=[1.0, 40.0])


def test_singular_values_are_those_of_python_control() -> None:
    rng = np.random.default_rng(2)
    systems = [control.ss(-np.diag([1.0, 2.0, 3.0]), *rng.normal(size=(1, 3, 2)), rng.normal(size=(3, 3)), 0) for _ in range(3)]
    figure = tt.plot_response(systems, singular=True)
    lines = curves(figure, 0)
    assert len(lines) == 6
    omega = lines[0][0]
    for system, pair in zip(systems, (lines[:2], lines[2:4], lines[4:]), strict=True):
        expected = control.singular_values_response(system, omega).frdata[:, 0]
        assert np.array([values for _, values in pair]) == pytest.approx(expected.real, rel=1e-6)
    some = tt.plot_response(systems[0], inputs="u[1]", outputs=["y[0]", "y[2]"], singular=True)
    assert curves(some, 0)[0][1] == pytest.approx(np.linalg.norm(systems[0](1j * omega)[[0, 2], 1], axis=0), rel=1e-6)


def test_figures_of_many_channels_fit_on_a_page() -> None:
    """Nine inches for two inputs; phases in parts of a right angle; no singular values that are rounding."""
    twice = control.ss(*(chain(0.02).A, np.tile(chain(0.02).B, 2), np.tile(chain(0.02).C, (2, 1)), 0))
    figure = tt.plot_response(twice, twice.input_labels, twice.output_labels)
    assert figure.get_size_inches()[0] <= 9
    assert all(tick % 22.5 == 0 for tick in figure.axes[2].get_yticks())
    largest, other = curves(tt.plot_response(twice, singular=True), 0)
    assert np.isfinite(largest[1]).all()
    assert np.isnan(other[1]).all()


def test_fans_of_families(family: tt.LPVModel) -> None:
    """All points of a family; random members and chosen ones of a fraction, each with the phase of its closed form."""
    assert len(curves(tt.plot_response(family, ["left.hinge"], ["left.dv[0]", "left.hinge.q"]), 2)) == family.valid.sum()
    s = tt.System("arm", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("arm", 2.0, com=[0, 0, -0.5]), tt.Revolute("hinge", [0, 1, 0], damping=0.01))
    m = s.resolve()
    fraction = tt.lft(m, m.neutral(), {"arm.mass": (1.0, 3.0)}, inputs=["hinge"], outputs=["hinge.q"])
    assert len(curves(tt.plot_response(fraction), 0)) == 31
    masses = np.array([1.0, 2.0, 3.0])
    figure = tt.plot_response(fraction, "hinge", "hinge.q", values={"arm.mass": masses})
    assert figure.axes[0].get_title() == "hinge [N m] to hinge.q [rad]"
    for mass, (omega, phase) in zip(masses, curves(figure, 1), strict=True):
        polynomial = mass * 0.25 * (1j * omega) ** 2 + 0.01j * omega + mass * 9.81 * 0.5
        assert phase == pytest.approx(-np.rad2deg(np.angle(polynomial)), abs=1e-4)
    with refusal("unknown-input", "did you mean"):
        tt.plot_response(fraction, inputs="hinges")
    for wrong in (3, []):
        with refusal("wrong-type", "outputs"):
            tt.plot_response(fraction, outputs=wrong)
    with refusal("wrong-type", "values"):
        tt.plot_response(fraction, values={"arm.mass": 2.0})
    with refusal("wrong-type", "models"):
        tt.plot_response("x")
    with refusal("wrong-type", "linearise with outputs"):
        tt.plot_response(tt.linearize(m, m.neutral(), inputs=["hinge"], outputs=[]))


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
