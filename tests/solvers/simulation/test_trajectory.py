"""What is kept of a trajectory, in memory, files and datasets, and drawn over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.simulated_models import cart


def test_saving_and_loading(trajectory: tt.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "motion.npz"
    trajectory.save(path)
    with np.load(path, allow_pickle=False) as file:  # refuses anything that needs pickle
        assert all(array.dtype != object for array in file.values())
    loaded = tt.load_trajectory(path, trajectory.model)
    for name in ("t", "q", "v", "a", "tau"):
        assert np.array_equal(getattr(loaded, name), getattr(trajectory, name))
    for kind in ("wrenches", "events"):
        assert getattr(loaded, kind).keys() == getattr(trajectory, kind).keys()
        assert all(np.array_equal(value, getattr(trajectory, kind)[name]) for name, value in getattr(loaded, kind).items())
    assert np.array_equal(
        loaded.reaction(trajectory.model.joint_names[-1]), trajectory.reaction(trajectory.model.joint_names[-1])
    )
    with pytest.raises(tt.ModelError, match="other-model"):
        tt.load_trajectory(path, cart())


def test_a_failing_write_leaves_the_old_file(
    trajectory: tt.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "motion.npz"
    trajectory.save(path)
    before = path.read_bytes()

    def disk_full(file: Any, **arrays: Any) -> None:
        file.write(b"half a file")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", disk_full)
    with pytest.raises(OSError, match="no space"):
        trajectory.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_foreign_files_are_refused(trajectory: tt.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    with pytest.raises(tt.ModelError, match="wrong-format"):
        tt.load_trajectory(path, trajectory.model)


@pytest.mark.parametrize("given", [{}, {"u": [0.3]}, {"tau": [0.1, 0.2], "wrenches": {"bob.tip": np.arange(6.0)}}])
def test_many_output_times_have_the_accelerations_of_each(given: dict[str, Any]) -> None:
    """Stacked states beside single ones, which go the same way through the same numbers."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", 1.0, [0, 0, -0.5], [0.1] * 3, ports={"end": [0, 0, -1]})
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(arm.port("end"), tt.RigidBody("bob", 1.0, ports={"tip": [0.1, 0, 0]}), tt.Prismatic("slide", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "hinge"))
    model = s.resolve()
    run = tt.simulate(model, np.linspace(0, 1, 300), [0.3, 0.0], [0.0, 0.1], progress=False, **given)
    for k in (0, 1, 150, 299):
        wrenches = {port: values[k] for port, values in run.wrenches.items()}
        assert np.array_equal(run.a[k], model.forward_dynamics(run.q[k], run.v[k], run.tau[k], wrenches or None, u=run.u[k]))
    assert run.u[:, 0] == pytest.approx(given.get("u", [0.0])[0])
    assert run.tau == pytest.approx(np.tile(given.get("tau", [0.0, 0.0]), (300, 1)))


# -- trajectories as datasets


def test_dataset(trajectory: tt.Trajectory) -> None:
    pytest.importorskip("xarray")
    data, model = trajectory.to_xarray(), trajectory.model
    assert data.sizes == {"t": 5, "configuration": model.nq, "coordinate": model.nv}
    for k, name in enumerate(model.coordinate_names):
        for variable in ("v", "a", "tau"):
            assert np.array_equal(data[variable].sel(coordinate=name), getattr(trajectory, variable)[:, k])
    for k, name in enumerate(model.configuration_names):
        assert np.array_equal(data["q"].sel(configuration=name), trajectory.q[:, k])
        assert np.array_equal(trajectory.coordinate(name), trajectory.q[:, k])
    assert np.array_equal(data["t"], trajectory.t)


# -- pictures of trajectories


def test_figure(trajectory: tt.Trajectory) -> None:
    names = list(trajectory.model.configuration_names)
    for shown, figure in ((names, trajectory.plot()), (names[:2], trajectory.plot(names[:2]))):
        axes = [axis for axis in figure.axes if axis.get_visible()]
        assert [axis.get_title().split(" [")[0] for axis in axes] == shown
        for name, axis in zip(shown, axes, strict=True):
            assert np.array_equal(axis.lines[0].get_ydata(), trajectory.coordinate(name))
    with pytest.raises(tt.ModelError, match="unknown-coordinate"):
        trajectory.plot(["no such entry"])
    for wrong in (3, {"hinge": 1}, 2.5):
        with pytest.raises(tt.ModelError, match=r"names: got .*wrong-type"):
            trajectory.plot(wrong)


def test_sensors_read_what_was_recorded() -> None:
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("b", 2.0, inertia=1.0), tt.Prismatic("slide"))
    s.add_sensor(tt.Encoder("ruler", "slide"))
    q = np.array([[0.1], [0.4]])
    trajectory = tt.Trajectory(s.resolve("reference"), np.array([0.0, 1.0]), q, 0 * q, 0 * q, 0 * q)
    np.testing.assert_array_equal(trajectory.outputs()[:, 0], q[:, 0])
