"""The examples of drives and propellers: what they find is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.example_scripts import script


def test_harmonic_drive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("harmonic_drive")
    steps = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "shakes the link most at" in capsys.readouterr().out
    errors = {
        volts: np.abs(run.v[:, 1] - linear[:, 3]).max() / np.abs(linear[:, 3]).max() for volts, (run, linear) in steps.items()
    }
    assert errors[0.02] < 0.005 < errors[2.0] < 0.1  # hysteresis gives way by the torque over its largest

    # motor, rotor, spring and link by hand; the hysteresis at rest is a spring beside that of the drive
    n, k, d = example["RATIO"], 16e3, example["DAMPING"]
    row = np.array([[1 / n, -1.0]])
    inertia = np.diag([example["ROTOR"], example["LINK"]])
    whole = np.zeros((5, 5))
    whole[:2, 2:4] = np.eye(2)
    whole[2:4, :2] = -np.linalg.solve(inertia, row.T @ row * k)
    whole[2:4, 2:4] = -np.linalg.solve(inertia, row.T @ row * d + np.diag([1e-5, 0.1]))
    whole[2, 4], whole[4, 2], whole[4, 4] = 0.05 / example["ROTOR"], -0.05 / 5e-4, -0.8 / 5e-4
    model = example["build"](error=()).resolve()
    assert np.abs(np.linalg.eigvals(whole) - example["resonance"](model)).min() < 1e-9 * abs(example["resonance"](model))


def test_quadrotor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("quadrotor")
    runs = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr().out
    speed = np.sqrt((example["BODY"] + example["LOAD"]) * 9.81 / 4 / example["THRUST"])
    assert f"hover: propellers at {speed:.0f} rad/s" in said
    assert "a fifth off: robustly stable" in said
    swinging, rigid = (runs[example[label]] for label in ("SWINGING", "RIGID"))
    assert swinging.q[-1, :3] == pytest.approx(example["FLIGHT"], abs=0.01)  # what is left of the slowest poles
    late = [np.abs(run.q[-60:, 7:]).max() for run in (swinging, rigid)]
    assert late[0] < 0.5 * late[1]
    # the load hangs on its rod, and what lifts both at the end is their weight
    ends = [swinging.model.pose("load", q) for q in swinging.q]
    assert all(np.linalg.norm(position - q[:3]) < 1e-12 for (_, position), q in zip(ends, swinging.q, strict=True))
    assert example["THRUST"] * swinging.x[-1].sum() == pytest.approx((example["BODY"] + example["LOAD"]) * 9.81, rel=1e-3)
