"""The examples of time derivatives: what they find is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.example_scripts import EXAMPLES, script
from tests.series_oracle import Oracle, rounded, table3


def test_aerial_manipulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("aerial_manipulator")
    found = example["main"](["--output", str(tmp_path / "figure.png"), "--points", "7"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "propellers turn at" in capsys.readouterr().out

    # against Newton and Euler in 50 digits; five orders lose four digits to the factorials and to what cancels
    oracle = Oracle(example["build"]())
    for t, q, v_series, efforts in zip(found.t, found.q, found.v_series, found.efforts, strict=True):
        joints, place = table3(t, example["ORDER"])
        assert np.abs(q - place).max() < 1e-15
        for order, (row, known) in enumerate(zip(v_series, rounded(oracle.velocities(joints)), strict=True)):
            assert np.abs(row - known).max() < 1e-13 * np.abs(known).max(), order
        for order, (row, known) in enumerate(zip(efforts, rounded(oracle.inverse(joints)), strict=True)):
            assert np.abs(row - known).max() < 1e-12 * np.abs(known).max(), order

    # back to the motion. Arms that hang are springs of 1e3 / s^2 on their accelerations, so that two orders amplify the
    # rounding of the efforts, which alone leaves 1e-13 of the accelerations, as often
    motion = found.v_series[:, 1:]
    errors = np.abs(found.found - motion).max(axis=(0, 2)) / np.abs(motion).max(axis=(0, 2))
    assert (errors < [1e-11, 1e-11, 1e-8, 1e-8, 1e-5, 1e-5]).all()

    # the propellers alone hold the base, and their speeds change as differences say
    m, thrusts = example["build"]().resolve(), example["THRUST"] * found.speeds**2
    for q, v_series, efforts, thrust in zip(found.q, found.v_series, found.efforts, thrusts, strict=True):
        torques = np.concatenate([np.zeros(6), efforts[0, 6:]])
        assert np.abs(m.forward_dynamics(q, v_series[0], torques, u=thrust) - v_series[1]).max() < 1e-10
        assert np.abs(m.forward_dynamics(q, v_series[0], torques, u=thrust[::-1]) - v_series[1]).max() > 0.1
    near = example["solve"](m, np.array([9.99, 10.0, 10.01]))
    assert np.abs((near.speeds[2] - near.speeds[0]) / 0.02 - near.changes[1]).max() < 1e-4  # differences of 10 ms


def test_elastic_joints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("elastic_joints")
    runs = example["main"](["--output", str(tmp_path / "figure.png"), "--duration", "0.9"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "as if rigid: links off by up to" in capsys.readouterr().out
    # some thousand steps of relative tolerance 1e-9, which controllers on the motors keep together
    assert np.abs(example["errors"](runs["flatness"])).max() < 1e-9
    assert np.abs(example["errors"](runs["as if rigid"])).max() > 1e-3
    # and it is a motion that bends springs, whose torques are those of the links
    springs = runs["flatness"].q[:, 1::2]
    assert np.abs(springs).max() > 1e-3
    rigid, motion = example["build"](False).resolve(), runs["flatness"]
    for t, deflections in zip(motion.t[::20], springs[::20], strict=True):
        q, v_series = example["reference"](rigid, t, 0)
        torques = rigid.inverse_dynamics(q, *v_series)
        assert np.abs(-example["STIFFNESS"] * deflections - torques).max() < 1e-5


def test_jerk_limited(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = script("jerk_limited")
    runs = example["main"](["--output", str(tmp_path / "figure.png"), "--points", "201"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "the rates of the torques stay below 40 N m/s" in capsys.readouterr().out
    # at 121 times of 25 ms the limit is met; between these rates go on by a few per cent
    assert np.abs(runs["jerk limited"].rates).max() == pytest.approx(example["LIMIT"], rel=0.05)
    model = runs["jerk limited"].motion.model
    joints = [model.coordinate_names.index(name) for name in example["JOINTS"]]
    for motion, rates in runs.values():
        angles = np.array([motion.coordinate(joint) for joint in example["JOINTS"]]).T
        np.testing.assert_allclose(angles[[0, -1]], [[0, 0], example["TRAVEL"]], atol=1e-12)
        # differences of the simulated torques agree, but where these jump, or their rates do
        tau, step = motion.tau[:, joints], motion.t[1] - motion.t[0]
        differences = (tau[2:] - tau[:-2]) / (2 * step)
        assert np.median(np.abs(differences - rates[1:-1])) < 0.05  # of rates up to 40, by differences of 25 ms
    jumps = {name: example["jump"](model, motion, rates) for name, (motion, rates) in runs.items()}
    assert jumps["jerk limited"] < 0.1 < 1.0 < jumps["acceleration limited"]
