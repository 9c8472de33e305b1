"""Linear fractional models in files: read again, and as another program reads them."""

from __future__ import annotations

from pathlib import Path

import control
import numpy as np
import pytest
from scipy.io import loadmat

import titop as tt
from tests.solvers.lft.closed_crafts import VALUES, craft, rate_control
from tests.solvers.lft.satellites import satellite, still


@pytest.fixture(scope="module")
def loop() -> tt.LFTModel:
    """A sampled loop with real, full and complex blocks, one of them not square."""
    weight = control.ss([[-1.0]], [[1.0, 1.0]], [[1.0], [0.5], [0.2]], np.zeros((3, 2)))
    model = craft().append("modes", ["wheels_x", "wheels_y"], weight, kind="additive", outputs=["gyro_x", "gyro_y"])
    return model.append("sensor", "gyro.z", 0.1).close(rate_control(0.02), stages=2, delay=0.03)


@pytest.mark.parametrize("suffix", ["npz", "mat", "nc", "NPZ"])
def test_files_keep_everything(loop: tt.LFTModel, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"loop.{suffix}"
    loop.save(path)
    loaded = tt.LFTModel.load(path)
    assert loaded.blocks == loop.blocks
    assert loaded.uncertain == loop.uncertain
    assert loaded.M.dt == 0.02
    assert tt.signal_table(loaded.M) == tt.signal_table(loop.M)
    z = np.exp(0.1j)
    assert loaded.at(VALUES)(z) == pytest.approx(loop.at(VALUES)(z), rel=1e-14)
    for ask in (loaded.check, loaded.operating_point):
        with pytest.raises(tt.ModelError, match="no-model"):
            ask()


def test_a_matrix_file_by_the_convention_of_mussv(loop: tt.LFTModel, tmp_path: Path) -> None:
    """Δ is built from the rows of `blk`: [-r 0] real, [r 0] complex, [rows columns] full."""
    loop.save(tmp_path / "loop.mat")
    found = loadmat(tmp_path / "loop.mat")
    assert found["blk"].tolist()[-2:] == [[2, 3], [1, 0]]
    values = [*loop.deltas(VALUES)[:3], np.array([[0.1, 0.2j, 0.0], [0.3, 0.0, -0.1]]), 0.5j]
    blocks = []
    for (rows, columns), value in zip(found["blk"].astype(int), values, strict=True):
        assert columns or (rows < 0) == np.isreal(value)
        blocks.append(value if columns else value * np.eye(abs(rows)))
    w, z = (sum(block.shape[k] for block in blocks) for k in (0, 1))
    delta, at = np.zeros((w, z), dtype=complex), np.zeros(2, dtype=int)
    for block in blocks:
        delta[at[0] : at[0] + block.shape[0], at[1] : at[1] + block.shape[1]] = block
        at += block.shape
    point = np.exp(0.05j)
    M = found["C"] @ np.linalg.solve(point * np.eye(len(found["A"])) - found["A"], found["B"]) + found["D"]
    response = M[z:, w:] + M[z:, :w] @ delta @ np.linalg.solve(np.eye(z) - M[:z, :w] @ delta, M[:z, w:])
    weight = control.ss([[-1.0]], [[1.0, 1.0]], [[1.0], [0.5], [0.2]], np.zeros((3, 2)))
    plant = craft().at(VALUES)
    held = control.c2d(control.ss(plant.A, plant.B, plant.C, plant.D), 0.02)(point)
    modes = control.c2d(weight, 0.02)(point)
    held[:2] += np.hstack([values[3] @ modes, np.zeros((2, 1))])
    held[2] *= 1 + 0.1 * 0.5j
    K = rate_control(0.02)
    late = held_late(plant, weight, values[3], 0.5j, point)
    right = np.linalg.solve(np.eye(3) - late @ K(point) / point, held)
    assert response == pytest.approx(right, rel=1e-5)  # of the stages


def held_late(
    plant: control.StateSpace, weight: control.StateSpace, modes: np.ndarray, sensor: complex, z: complex
) -> np.ndarray:
    """Return the response to torques half a period late, from steps of half a period; what blocks return stays held."""
    half = control.c2d(control.ss(plant.A, plant.B, plant.C, plant.D), 0.01)
    A, B, C = half.A @ half.A, half.A @ half.B / z + half.B, half.C
    late = C @ np.linalg.solve(z * np.eye(len(A)) - A, B)
    own = control.c2d(weight, 0.01)
    A, B = own.A @ own.A, own.A @ own.B / z + own.B
    neglected = own.C @ np.linalg.solve(z * np.eye(1) - A, B)
    late[:2] += np.hstack([modes @ neglected, np.zeros((2, 1))])
    late[2] *= 1 + 0.1 * sensor
    return np.asarray(late)


@pytest.mark.parametrize("suffix", ["npz", "mat", "nc"])
def test_what_follows_from_a_number_is_kept_in_files(tmp_path: Path, suffix: str) -> None:
    m = satellite()
    parameters = {"panel_left.mass_scale": tt.percent(5), "panel_left.tip.rotation.z": (-0.1, 0.2)}
    own = ("wheels", "panel_left.tip.F")
    model = tt.lft(m, still(m), parameters, own, ("gyro",), fits="panel_left.tip.rotation.z")
    model.save(tmp_path / f"satellite.{suffix}")
    loaded = tt.LFTModel.load(tmp_path / f"satellite.{suffix}")
    worst = {"panel_left.mass_scale": 0.97}
    assert loaded.values(worst) == model.values(worst)
    assert loaded.error == model.error > 0


@pytest.mark.parametrize("how", ["fitted", "independent"])
@pytest.mark.parametrize("suffix", ["npz", "mat", "nc"])
def test_what_moves_is_kept(tmp_path: Path, suffix: str, how: str) -> None:
    s = tt.System("arm", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("arm", 2.0, com=[1, 0, 0]), joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=40.0))
    m = s.resolve()
    model = tt.lft(m, tt.trim(m), {"arm.mass": (1.5, 2.5)}, ["hinge"], ["hinge.q"], equilibrium=tt.trim, moving=how)  # type: ignore[arg-type]
    model.save(tmp_path / f"arm.{suffix}")
    assert tt.LFTModel.load(tmp_path / f"arm.{suffix}").moving == model.moving
