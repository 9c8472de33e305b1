"""What is kept of a control loop."""

from __future__ import annotations

from pathlib import Path

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import controller, gain, lead, slider


def test_the_trajectory_keeps_the_signals_of_the_loop(tmp_path: Path) -> None:
    model, t = slider(), np.linspace(0, 1, 6)
    K = control.sample_system(lead(), 0.1, "zoh")
    run = tt.simulate(model, t, [0.0], [0.0], controller=K, reference=[0.3], noise=0.01)
    assert run.control.signal_names == ("ruler", "r_ruler", "motor", "controller.x[0]", "controller.x[1]")
    run.save(tmp_path / "run.npz")
    loaded = tt.load_trajectory(tmp_path / "run.npz", model)
    for name in run.control.signal_names:
        assert np.array_equal(loaded.signal(name), run.signal(name))
        assert loaded.control.unit(name) == run.control.unit(name)
    titles = [axis.get_title() for axis in run.plot(["rail", "ruler", "motor"]).axes if axis.get_visible()]
    assert titles == ["rail [m]", "ruler [m]", "motor [N]"]
    with pytest.raises(tt.ModelError, match="did you mean 'ruler'"):
        run.signal("rulr")
    with pytest.raises(tt.ModelError, match="no-controller"):
        tt.simulate(model, t, [0.0], [0.0]).signal("ruler")


def test_the_history_is_kept_of_a_controller_that_changes_what_it_is_given() -> None:
    """A counter in place: its states are the number of the sample, at the sample."""

    def update(t: float, x: np.ndarray, y: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        command = -3.0 * y
        x += 1.0
        y *= 7.0
        r -= 2.0
        return x, command

    counting = controller(update=update, inputs=["ruler"])
    run = tt.simulate(slider(), np.linspace(0, 1, 6), [0.3], [0.0], controller=counting, reference=[0.2])
    assert run.control.x[:, 0].tolist() == list(range(11))
    assert np.array_equal(run.control.u, -3.0 * run.control.y)
    assert (run.control.r == 0.2).all()
    assert np.array_equal(run.control.held("ruler", run.t), run.q[:, 0])


def test_the_dataset_has_sensors_units_and_the_loop() -> None:
    pytest.importorskip("xarray")
    run = tt.simulate(slider(), [0, 0.5, 1], [0.2], [0.0], controller=gain(1.0, 1.0, dt=0.25), reference={"rail.q": 0.1})
    data = run.to_xarray()
    assert np.array_equal(data["outputs"], run.outputs())
    assert data["output_unit"].sel(output="speed") == "m/s"
    assert data["configuration_unit"].values.tolist() == ["m"]
    assert np.array_equal(data["t_control"], [0, 0.25, 0.5, 0.75, 1])
    assert np.array_equal(data["measured"].sel(measured_signal="rail.q"), run.control.signal("rail.q"))
    assert np.array_equal(data["commanded"], run.control.u)
    assert data["reference"].sel(reference_signal="r_rail.q").values.tolist() == [0.1] * 5
