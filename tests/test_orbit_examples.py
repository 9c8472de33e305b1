"""The examples in orbit: what they find is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.example_scripts import script
from titop.blocks.basics.spatial import quaternion_matrix


def test_momentum_unloading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("momentum_unloading")
    trajectory, momentum = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "limits: kept" in capsys.readouterr().out
    assert np.linalg.norm(momentum[-1]) < 0.1 * np.linalg.norm(momentum[0])
    t, dipoles = trajectory.t, trajectory.u[:, -3:]
    fields = np.array([quaternion_matrix(q[3:7]).T @ example["FIELD"].at(q[:3]) for q in trajectory.q])
    sizes = np.linalg.norm(dipoles, axis=1) * np.linalg.norm(fields, axis=1)
    assert (np.abs((dipoles * fields).sum(axis=1)) < 1e-12 * sizes).all()  # rounding
    # the wheels take what turns the satellite: the torquers, and 7e-5 N m of air on the panel, gravity's gradient and light
    torques = np.cross(dipoles, fields)
    assert np.abs(torques).max() > 3e-4
    rates = np.gradient(momentum, t, axis=0)
    late = slice(100, -1)  # of the start and of what limits cut, the satellite turns
    np.testing.assert_allclose(rates[late], torques[late], rtol=0, atol=8e-5)
    lost = np.linalg.norm(momentum, axis=1)
    assert lost[-1] < lost[200] < lost[100] < lost[0]  # there is no friction: all of it goes into the field
