"""The underwater vehicle of ``examples/``: what it finds is right."""

from __future__ import annotations

import warnings
from pathlib import Path

import control
import numpy as np
import pytest
from scipy.integrate import simpson

from tests.example_scripts import script


def test_underwater_vehicle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It arrives at the motion that `trim` finds by itself: of the balance of forces, without integrating."""
    example = script("underwater_vehicle")
    run = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "steadily at 0.2287 m/s" in capsys.readouterr().out
    model, names = run.model, run.model.coordinate_names
    assert model.nv == 80
    point = example["steady"](run)
    np.testing.assert_allclose(run.v[-1], point.v, rtol=0, atol=1e-4)  # what is left of the start after 10 s, and rtol
    assert np.abs(run.q[-1, 1:3]).max() < 1e-6  # three flagella on each shaft push along its axis alone

    # torques balance about the axis, so what the shafts feed is what the water takes
    shafts = [names.index(end) for end in example["TORQUES"]]
    fed = point.v[shafts] @ [*example["TORQUES"].values()]
    assert model.dissipated_power(point.q, point.v) == pytest.approx(fed, rel=1e-8)  # the trim's tolerance
    assert point.v[3] == pytest.approx(0.0, abs=1e-6)


def test_the_linear_model_about_steady_swimming_is_what_follows_from_more_torque() -> None:
    """Of two motions with a thousandth more and less torque on both shafts half the difference, so that squares cancel."""
    example = script("underwater_vehicle")
    tt, model = example["tt"], example["build"]().resolve()
    point = example["steady"](example["swim"](model, np.linspace(0.0, 10.0, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it stays the same while the shafts turn
        linear = example["linear"](point)
    with pytest.warns(tt.ModelWarning, match="time-varying"):
        tt.linearize(model, point)
    t, step = np.linspace(0.0, 0.5, 6), 1e-3 * np.array([*example["TORQUES"].values()])
    expected = control.forced_response(linear, t, np.outer(step, np.ones(len(t)))).outputs.view(np.ndarray)
    ends = []
    for sign in (1.0, -1.0):
        torques = {f"{end}_motor": (1.0 + sign * 1e-3) * torque for end, torque in example["TORQUES"].items()}
        run = tt.simulate(model, t, point.q, point.v, u=torques, method="BDF", rtol=1e-6, atol=1e-8)
        ends.append(run.v[:, [model.coordinate_names.index(name) for name in ("float.x", "front", "rear")]])
    found = 0.5 * (ends[0] - ends[1]).T
    # squares of a thousandth, and what rtol leaves of the same steps on both sides
    sizes = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found / sizes, expected / sizes, rtol=0, atol=1e-5)
    assert (np.abs(expected[:, -1]) > 1e-5).all()


def test_the_vehicle_by_other_means() -> None:
    """Another integrator finds the same way; what the motors feed is what is stored and lost."""
    example = script("underwater_vehicle")
    tt, model, t = example["tt"], example["build"]().resolve(), np.linspace(0.0, 0.3, 601)
    torques = {f"{end}_motor": torque for end, torque in example["TORQUES"].items()}
    fine = tt.simulate(model, t, model.neutral(), np.zeros(model.nv), u=torques, method="Radau", rtol=1e-8, atol=1e-9)
    coarse = example["swim"](model, t[::100])
    np.testing.assert_allclose(coarse.q[:, :3], fine.q[::100, :3], rtol=0, atol=1e-4)  # m; what rtol 1e-3 leaves
    shafts = [model.coordinate_names.index(end) for end in example["TORQUES"]]
    fed = simpson(fine.v[:, shafts] @ [*example["TORQUES"].values()], x=t)
    lost = simpson(model.dissipated_power(fine.q, fine.v), x=t)
    first, last = (sum(model.energy(fine.q[k], fine.v[k])) for k in (0, -1))
    assert fed - (last - first) == pytest.approx(lost, rel=1e-6)  # what rtol leaves, and Simpson's rule
