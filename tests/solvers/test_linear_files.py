"""Linear models in files: the same bits again, and as other programs read them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
from scipy.io import loadmat, netcdf_file, savemat

import titop as tt
from tests.refusals import refusal
from titop.solvers.support.archive import FORMATS

MATRICES = ("A", "B", "C", "D")


@pytest.fixture(scope="module")
def crane() -> tt.Model:
    trolley, load = (
        tt.RigidBody("trolley", mass=2.0),
        tt.RigidBody("load", mass=0.5, com=[0, 0, -0.8], ports={"hook": [0, 0, -1]}),
    )
    s = tt.System("crane", gravity=[0, 0, -9.81])
    s.connect("world", trolley, joint=tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(trolley, load, joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve()


@pytest.fixture(scope="module")
def system(crane: tt.Model) -> control.StateSpace:
    """A crane that moves steadily, under a wrench at the hook."""
    wrenches = {"load.hook": [0.3, 0, 0, 0, 0, 0]}
    point = tt.trim(crane, ["hinge", "rail.tau"], v={"rail": 0.5}, wrenches=wrenches, parameters={"load.mass": 0.6})
    return tt.linearize(crane, point, inputs=["rail", "hinge"], outputs=["hinge.q", "load.hook.v"], omit=["rail.q"])


def same_systems(found: Any, right: Any) -> bool:
    """Tell whether two state spaces have the same bits, names and time base."""
    labels = ("state_labels", "input_labels", "output_labels", "name", "dt")
    return all(getattr(found, name).tobytes() == getattr(right, name).tobytes() for name in MATRICES) and all(
        getattr(found, name) == getattr(right, name) for name in labels
    )


@pytest.mark.parametrize("suffix", FORMATS)
def test_state_spaces_return_bit_for_bit(system: control.StateSpace, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"crane.{suffix}"
    for saved in (system, control.c2d(system, 0.1), system[1:, 0]):
        tt.save_linear(saved, path)
        loaded: Any = tt.load_linear(path)
        assert same_systems(loaded, saved)
        assert tt.signal_table(loaded) == tt.signal_table(saved)
        assert loaded.operating_point == system.operating_point
    assert os.listdir(tmp_path) == [path.name]
    point = system.operating_point
    assert point["wrenches"]["load.hook.F[0]"] == 0.3
    assert point["parameters"] == {"load.mass": 0.6}
    assert point["v"] == {"rail": 0.5}
    push = 0.3 * np.cos(point["q"]["hinge"])  # the hook turns with the load
    assert point["tau"]["rail"] == pytest.approx(0.05 - push, abs=1e-12)  # friction of 0.1 N s/m, less the push


@pytest.mark.parametrize("suffix", FORMATS)
def test_controllers_and_gains(tmp_path: Path, suffix: str) -> None:
    """Of other makers, without units; without states; sampled at an unknown step, or in either time; one of everything."""
    gain = control.ss([], [], [], [[1.0, -2.0]], inputs=["hinge_q", "hinge_v"], outputs=["hinge"], name="gain")
    unknown = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], True, name="unknown")
    either = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], None, name="either")
    for saved in (gain, unknown, either, control.ss([[0.1]], [[3.0]], [[1 / 3]], [[0.0]], name="lag")):
        tt.save_linear(saved, tmp_path / f"x.{suffix}")
        loaded = tt.load_linear(tmp_path / f"x.{suffix}")
        assert same_systems(loaded, saved)
        assert same_systems(pickle.loads(pickle.dumps(loaded)), saved)


def test_a_file_of_matlab_as_matlab_reads_it(system: control.StateSpace, tmp_path: Path) -> None:
    tt.save_linear(control.c2d(system, 0.1), tmp_path / "crane.mat")
    found = loadmat(tmp_path / "crane.mat", mat_dtype=True, chars_as_strings=True)
    discrete = control.c2d(system, 0.1)
    for name in MATRICES:
        assert found[name].dtype == float
        assert np.array_equal(found[name], getattr(discrete, name))
    assert found["Ts"].item() == 0.1
    cells = {key: [cell.item() for cell in found[key].ravel()] for key in ("state_names", "input_names", "output_units")}
    assert all(found[key].dtype == object and found[key].shape[1] == 1 for key in cells)  # cells in a column
    assert cells["state_names"] == system.state_labels
    assert cells["input_names"] == ["rail", "hinge"]
    assert cells["output_units"] == ["rad", "m/s", "m/s", "m/s"]


def test_what_matlab_saved(tmp_path: Path) -> None:
    """A controller: matrices, a sample time, names in cells, in a row or a column; or matrices alone."""
    K = {"A": np.zeros((0, 0)), "B": np.zeros((0, 2)), "C": np.zeros((1, 0)), "D": np.array([[2.0, 3.0]]), "Ts": 0.02}
    savemat(tmp_path / "K.mat", K | {"input_names": np.array([["hinge_q", "hinge_v"]], dtype=object), "note": {"a": 1.0}})
    loaded: Any = tt.load_linear(tmp_path / "K.mat")
    assert loaded.input_labels == ["hinge_q", "hinge_v"]
    assert loaded.output_labels == ["y[0]"]
    assert (loaded.name, loaded.dt, loaded.D.tolist()) == ("K", 0.02, [[2.0, 3.0]])
    savemat(tmp_path / "bad.mat", K | {"output_names": np.array(["a", "b"], dtype=object)})
    with pytest.raises(tt.ModelError, match=r"2 names.*of 1 outputs.*wrong-format"):
        tt.load_linear(tmp_path / "bad.mat")


def test_what_numpy_saved(tmp_path: Path) -> None:
    """Matrices of whole numbers; names twice, and times that are none, are refused."""
    K: dict[str, Any] = {"A": np.eye(2, dtype=int), "B": np.eye(2, dtype=int), "C": np.eye(2), "D": np.eye(2, dtype=int)}
    np.savez(tmp_path / "K.npz", **K, Ts=1)
    loaded: Any = tt.load_linear(tmp_path / "K.npz")
    assert (loaded.dt, loaded.A.tolist(), loaded.A.dtype) == (1.0, [[1.0, 0.0], [0.0, 1.0]], float)
    for more, said in (({"Ts": np.nan}, "nan s"), ({"input_names": np.array(["a", "a"])}, "the same name: a, a")):
        np.savez(tmp_path / "bad.npz", **K, **more)
        with refusal("wrong-format", said):
            tt.load_linear(tmp_path / "bad.npz")


def test_a_netcdf_file_as_xarray_reads_it(system: control.StateSpace, tmp_path: Path) -> None:
    tt.save_linear(system, tmp_path / "crane.nc")
    with netcdf_file(tmp_path / "crane.nc", mmap=False) as file:
        assert file.variables["A"].dimensions == ("state_rate", "state")
        assert np.array_equal(file.variables["A"][:], system.A)
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(tmp_path / "crane.nc", engine="scipy") as data:
        assert data.output_names.values.tolist() == system.output_labels
        assert np.array_equal(data.C.values, system.C)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("masses", [[0.3, 0.5, 0.7], [0.5]])
def test_families_return_bit_for_bit(crane: tt.Model, tmp_path: Path, suffix: str, masses: list[float]) -> None:
    grid = {"load.mass": masses, "trolley.mass": [1.0, 2.0]}
    family = tt.lpv(crane, grid, unknowns=["hinge"], inputs=["rail"], outputs=["hinge.q", "hinge.a"])
    tt.save_linear(family, tmp_path / f"family.{suffix}")
    loaded: Any = tt.load_linear(tmp_path / f"family.{suffix}")
    assert isinstance(loaded, tt.LPVModel)
    for name in (*MATRICES, "q", "v", "tau", "u", "x", "y", "valid"):
        found, right = getattr(loaded, name), getattr(family, name)
        assert (found.shape, found.dtype) == (right.shape, right.dtype)
        assert found.tobytes() == right.tobytes()
    for name in ("states", "inputs", "outputs", "units", "failed", "name", "is_grid", "coordinate_names"):
        assert getattr(loaded, name) == getattr(family, name)
    rho = {"load.mass": masses[0], "trolley.mass": 1.5}
    assert np.array_equal(loaded.at(rho).A, family.at(rho).A)


def test_a_family_as_ssinterpolant_takes_it(tmp_path: Path) -> None:
    """An arm on a spring: at every point ``dx = A (x - x0) + B (u - u0)`` with offsets of the point, ``y = y0`` there."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", 2.0, com=[1, 0, 0], inertia=0.1)
    s.connect("world", arm, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=40.0))
    m = s.resolve()
    grid = {"arm.mass": [1.5, 2.5], "hinge.stiffness": [30.0, 40.0, 50.0]}
    family = tt.lpv(m, grid, unknowns=["hinge"], inputs=["hinge"], outputs=["hinge.q", "hinge.v"])
    family.save(tmp_path / "arm.mat")
    found = loadmat(tmp_path / "arm.mat", struct_as_record=False)
    grids = found["SamplingGrid"][0, 0]
    assert found["A"].shape == (2, 2, 2, 3)
    assert found["offsets"].shape == grids.arm_mass.shape == grids.hinge_stiffness.shape == (2, 3)
    assert found["StateName"].ravel()[0].item() == "hinge_q"
    for index in np.ndindex(2, 3):
        offsets, angle = found["offsets"][index], family.q[(*index, 0)]
        mass, stiffness = grids.arm_mass[index], grids.hinge_stiffness[index]
        assert stiffness * angle == pytest.approx(mass * 9.81 * np.cos(angle), rel=1e-9)  # the trim that x0 is
        assert offsets.x.ravel().tolist() == [angle, 0.0]
        assert offsets.dx.ravel().tolist() == [*offsets.u.ravel().tolist(), 0.0] == [0.0, 0.0]
        assert offsets.y.ravel().tolist() == [angle, 0.0]
        inertia = 0.1 + mass
        right = [[0, 1], [-(stiffness + mass * 9.81 * np.sin(angle)) / inertia, 0]]
        assert found["A"][:, :, *index] == pytest.approx(np.array(right), rel=1e-9)


def test_offsets_of_a_steady_motion(crane: tt.Model, tmp_path: Path) -> None:
    """A trolley at 0.5 m/s against friction: its place changes at this rate, its effort is that of friction."""
    point = tt.trim(crane, ["hinge", "rail.tau"], v={"rail": 0.5})
    family = tt.lpv(crane, {"load.mass": [0.5]}, points=[point], inputs=["rail"], outputs=["hinge.q"])
    family.save(tmp_path / "crane.mat")
    offsets = loadmat(tmp_path / "crane.mat", struct_as_record=False)["offsets"][0, 0]
    names = [signal.path for signal in family.states]
    assert dict(zip(names, offsets.dx.ravel(), strict=True)) == {"rail.q": 0.5, "hinge.q": 0.0, "rail.v": 0.0, "hinge.v": 0.0}
    assert dict(zip(names, offsets.x.ravel(), strict=True))["rail.v"] == 0.5
    assert offsets.u.item() == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("suffix", FORMATS)
def test_fractional_models(crane: tt.Model, tmp_path: Path, suffix: str) -> None:
    model = tt.lft(crane, crane.neutral(), {"load.mass": tt.percent(10)}, inputs=["rail"], outputs=["hinge.q"])
    tt.save_linear(model, tmp_path / f"crane.{suffix}")
    loaded: Any = tt.load_linear(tmp_path / f"crane.{suffix}")
    assert isinstance(loaded, tt.LFTModel)
    assert loaded.blocks == model.blocks
    assert same_systems(loaded.M, model.M)


@pytest.mark.parametrize("suffix", FORMATS)
def test_refusals(system: control.StateSpace, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    tt.save_linear(system, path)
    before = path.read_bytes()
    with pytest.raises(tt.ModelError, match=r"TransferFunction.*wrong-type"):
        tt.save_linear(control.tf(1, [1, 1]), path)
    assert path.read_bytes() == before
    for data in (b"nothing", before[: len(before) // 2], b""):
        path.write_bytes(data)
        with pytest.raises(tt.ModelError, match="wrong-format"):
            tt.load_linear(path)
    with pytest.raises(tt.ModelError, match="unknown-format"):
        tt.save_linear(system, tmp_path / "x.csv")
    with pytest.raises(tt.ModelError, match="no-file"):
        tt.load_linear(tmp_path / f"none.{suffix}")


def test_a_file_is_written_whole_or_not_at_all(
    system: control.StateSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.mat"
    tt.save_linear(system, path)
    before = path.read_bytes()

    def fail(file: Any, *_: Any, **__: Any) -> None:
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr("scipy.io.savemat", fail)
    with pytest.raises(OSError, match="no space left"):
        tt.save_linear(system[0, 0], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.mat"]
