"""The deformable bodies of ``examples/``: what they find is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.example_scripts import script


def test_soft_free_evolution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PCC and PCS: the other two have kinematics whose derivatives take minutes to compile.

    The balance of all four is in ``tests/solvers/simulation/test_soft_energy.py``.
    """
    example = script("soft_free_evolution")
    arguments = ["--output", str(tmp_path / "figure.png"), "--duration", "1", "--cases", "PCC", "PCS"]
    runs = example["main"](arguments)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("balanced within") == 2
    _, weights = example["times"](1.0)
    for run in runs.values():
        dissipated, rest = example["balance"](run, weights)
        assert abs(rest) < 1e-6  # a thousand steps with a relative error of 1e-8 or less, of some 16 J
        assert dissipated > 10.0
        assert np.abs(run.q[-1] - run.q[0]).max() > 1.0


def test_steady_states_of_the_soft_arm() -> None:
    """PCC is PCS without torsion and shear: they hang with the same tip but for these, and the arm's weight is held."""
    example = script("soft_free_evolution")
    tt, tips = example["tt"], []
    for name in ("PCC", "PCS"):
        model = example["build"](example["CASES"][name]).resolve()
        point = tt.trim(model, q={"lower.bending_x": -1.5})
        assert point.stability == "stable"
        tips.append(model.pose("upper.tip", point.q)[1])
        bending = model.reaction("lower_clamp", point.q, point.v, np.zeros(model.nv))
        mass = 2 * example["DENSITY"] * np.pi * 0.01**2 * example["LONG"]
        assert np.linalg.norm(bending[:3]) == pytest.approx(9.81 * mass, rel=1e-9)
    assert tips[0][0] == pytest.approx(0.0, abs=1e-9)
    # shear gives way by some weight over shear stiffness, 1e-4 of the length
    assert np.abs(tips[0] - tips[1]).max() < 1e-3


def test_soft_pneumatic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("soft_pneumatic")
    run = example["main"](["--output", str(tmp_path / "figure.png"), "--duration", "1"])
    assert capsys.readouterr().out.count("bent by") == 3
    model, radius, length = run.model, example["RADIUS"], example["LENGTH"]
    bodies = run.q[-1].reshape(3, 4)
    assert bodies[0, 2] < -0.5 < 0.5 < bodies[1, 2]  # away from the chamber under pressure
    assert bodies[0, 0] > 0.005 > 0 > bodies[0, 1]  # which bulges, and the other one is squeezed

    # at rest the potential less pressures times volumes is stationary, with volumes by differences of the kinematics
    moved, cavities = example["kinematics"](), [example["chamber"](side) for side in (1.0, -1.0)]
    assert cavities[0].volumes.sum() == pytest.approx(length * np.pi * (radius - example["WALL"]) ** 2 / 2)
    q = example["tt"].trim(model, q=run.q[-1], u=example["PRESSURES"]).q
    direction = np.random.default_rng(0).normal(size=12) * np.tile([1e-3, 1e-3, 0.1, 1e-3], 3)

    def volume(cavity: Any, own: Any) -> Any:
        ahead, behind = (
            np.array([moved(cavity.points.T + 1e-5 * s * row[:, None], own) for row in np.eye(3)]) for s in (1, -1)
        )
        return np.linalg.det(((ahead - behind) / 2e-5).T) @ cavity.volumes

    def work(s: float) -> Any:
        volumes = [volume(cavity, own) for own in (q + s * direction).reshape(3, 4) for cavity in cavities]
        return example["PRESSURES"] @ np.array(volumes)

    def potential(s: float) -> Any:
        return sum(model.energy(q + s * direction, np.zeros(12))[1:])

    given, held = ((f(1e-3) - f(-1e-3)) / 2e-3 for f in (work, potential))
    assert abs(given) > 0.1
    assert given == pytest.approx(held, rel=1e-5)  # differences of second order, at a thousandth of how far they bend


def test_soft_shape_regulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("soft_shape_regulation")
    runs = example["main"](["--output", str(tmp_path / "figure.png"), "--hold", "3"])
    assert capsys.readouterr().out.count("within 2 %") == 3
    for regulator, run in runs:
        assert np.abs(run.q[-1] - regulator.shape).max() < 1e-4  # the slowest oscillation has gone through ten time constants
        energy = [regulator.energy(run.model, q, v) for q, v in zip(run.q, run.v, strict=True)]
        assert energy[0] > 1.0
        assert np.diff(energy).max() < 1e-6 * energy[0]  # steps with a relative error of 1e-6
        assert min(energy) > -1e-6 * energy[0]
    # PD control alone does not hold the shape: its efforts are far from those that the shape takes
    assert np.abs(runs[0][0].held).max() > 10 * example["PROPORTIONAL"] * np.abs(example["SHAPES"][0]).max()
