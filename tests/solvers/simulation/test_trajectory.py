"""What is kept of a trajectory, in memory, files and datasets, and drawn over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

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
    figure = trajectory.plot(names)
    axes = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title().split(" [")[0] for axis in axes] == names
    for name, axis in zip(names, axes, strict=True):
        assert np.array_equal(axis.lines[0].get_ydata(), trajectory.coordinate(name))
    with pytest.raises(tt.ModelError, match="unknown-coordinate"):
        trajectory.plot(["no such entry"])
    for wrong in (3, {"hinge": 1}, 2.5):
        with pytest.raises(tt.ModelError, match=r"names: got .*wrong-type"):
            trajectory.plot(wrong)


def swing_angles(t: Any) -> Any:
    return np.outer(np.sin(6 * t), [1.0, 0.4, -2.0]) + np.outer(t, [9.0, 0, 0])


def spinning_tops() -> tt.Trajectory:
    """Return a made-up motion of a free body and a ball joint, turned three times about a slanted axis, from any attitude."""
    s = tt.System("tops", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("a", 1.0, inertia=1.0), tt.Free("base"))
    s.connect(s["a"], tt.RigidBody("b", 1.0, inertia=1.0), tt.Spherical("ball"))
    m = s.resolve("reference")
    t = np.linspace(0, 1, 101)
    turn = Rotation.from_euler("XYZ", [0.4, -0.7, 1.1]) * Rotation.from_rotvec(6 * np.pi * t[:, None] * AXIS)
    swing = Rotation.from_euler("XYZ", swing_angles(t))
    q = np.column_stack([np.outer(t, [1, 2, 3]), turn.as_quat(), swing.as_quat()])
    return tt.Trajectory(m, t, q, *(np.zeros((101, m.nv)) for _ in range(3)))


AXIS = np.array([0.6, 0.0, 0.8])


def test_attitudes_are_drawn_as_angles() -> None:
    """Euler angles that were put in, beyond half a turn, and the rotation vector from the start over three turns."""
    run = spinning_tops()
    titles = [axis.get_title() for axis in run.plot().axes if axis.get_visible()]
    angles = [f"{name}.theta[{k}] (XYZ) [rad]" for name in ("base", "ball") for k in range(3)]
    assert titles == ["base.x [m]", "base.y [m]", "base.z [m]", *angles]
    drawn = [axis.lines[0].get_ydata() for axis in run.plot([f"ball.theta[{k}]" for k in range(3)]).axes]
    assert np.transpose(drawn) == pytest.approx(swing_angles(run.t), abs=1e-12)
    figure = run.plot([f"base.theta[{k}]" for k in range(3)], attitude="vector")
    assert figure.axes[0].get_title() == "base.theta[0] (vector) [rad]"
    drawn = [axis.lines[0].get_ydata() for axis in figure.axes]
    # the axis is known to rounding over the sine of the angle, which is 0.03 next to whole turns and nothing at them
    assert np.transpose(drawn) == pytest.approx(6 * np.pi * np.outer(run.t, AXIS), abs=1e-12)
    assert run.plot("base.qw").axes[0].lines[0].get_ydata() == pytest.approx(run.q[:, 6])
    with pytest.raises(tt.ModelError, match="sequence"):
        run.plot(attitude="abc")
    with pytest.raises(tt.ModelError, match="unknown-coordinate"):
        run.plot("base.theta[3]")


def test_sensors_read_what_was_recorded() -> None:
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("b", 2.0, inertia=1.0), tt.Prismatic("slide"))
    s.add_sensor(tt.Encoder("ruler", "slide"))
    q = np.array([[0.1], [0.4]])
    trajectory = tt.Trajectory(s.resolve("reference"), np.array([0.0, 1.0]), q, 0 * q, 0 * q, 0 * q)
    np.testing.assert_array_equal(trajectory.outputs()[:, 0], q[:, 0])
