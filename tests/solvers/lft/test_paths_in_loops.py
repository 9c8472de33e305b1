"""Devices that are sampled and delayed in closed families, against simulations and loops that have the delays instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.control.sliders import MASS, gain
from tests.tolerances import ACCURACY, TIGHT

STEP = 0.05
RANGES = {"mass.mass": tt.percent(20), "rail.stiffness": tt.percent(30)}


def slider(**paths: Any) -> tt.Model:
    """Return a mass on a rail with a spring, a motor and sensors of position, velocity and acceleration with paths."""
    s = tt.System("slider", gravity=[0, 0, 0])
    mass = tt.RigidBody("mass", mass=MASS)
    s.connect("world", mass, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=8.0, damping=0.3))
    s.add_actuator(tt.Motor("motor", "rail", path=paths.get("motor")))
    s.add_sensor(tt.Encoder("ruler", "rail", path=paths.get("ruler")))
    s.add_sensor(tt.Tachometer("speed", "rail", path=paths.get("speed")))
    s.add_sensor(tt.Accelerometer("felt", mass, path=paths.get("felt")))
    return s.resolve("reference")


def family(model: tt.Model, *outputs: str) -> tt.LFTModel:
    return tt.lft(model, model.neutral(), RANGES, ["motor"], outputs or ["ruler", "speed", "felt.x", "rail.q"])


def tracking(step: float = STEP) -> Any:
    return control.ss([[0.8]], [[0.5, -0.5]], [[1.0]], [[2.0, -2.0]], step, inputs=["r_ruler", "ruler"], outputs=["motor"])


def damping(step: float = STEP, name: str = "speed", size: float = 3.0) -> Any:
    return gain(size, inputs=[name], dt=step)


def path(sample: float | None = None, delay: float = 0.0, lag: float = 0.0) -> tt.SignalPath:
    """Return a path with times in parts of the step, behind a lag (s)."""
    times = {"sample_time": None if sample is None else sample * STEP, "delay": delay * STEP}
    return tt.SignalPath.lag(lag, **times) if lag else tt.SignalPath(**times)


#: Paths, loops, and the steps after which all sample again.
CASES: dict[str, tuple[dict[str, Any], list[Any], float]] = {
    "a late motor": ({"motor": path(delay=1.3)}, [tracking()], 1),
    "a motor of the loop's rate": ({"motor": path(1, 0.4)}, [tt.Loop(tracking(), delay=0.3 * STEP)], 1),
    "a faster motor": ({"motor": path(0.5, 0.4)}, [tt.Loop(tracking(), delay=0.3 * STEP)], 1),
    "a slower motor": ({"motor": path(2, 0.4)}, [tt.Loop(tracking(), delay=1.3 * STEP)], 2),
    "a late sensor": ({"ruler": path(1, 0.4)}, [tracking()], 1),
    "a slower sensor": ({"ruler": path(3, 1.2)}, [tracking(), damping()], 3),
    "a faster late sensor": ({"ruler": path(0.5, 0.7)}, [tracking()], 1),
    "a faster sensor of whole periods": ({"ruler": path(0.5, 0.9)}, [tracking()], 1),
    "one sensor for two rates": ({"speed": path(1, 0.4)}, [tracking(), damping(), damping(2 * STEP)], 2),
    "two to three": ({"ruler": path(3, 0.0), "motor": path(2, 0.6)}, [tracking(), damping(2 * STEP)], 6),
    "accelerations": ({"felt": path(2, 0.5), "motor": path(delay=0.5)}, [tracking(), damping(STEP, "felt_x", 0.4)], 2),
    "lags": ({"motor": path(delay=0.7, lag=0.1), "ruler": path(2, 1.0, lag=0.2)}, [tracking()], 2),
}


@pytest.mark.parametrize(("paths", "loops", "steps"), CASES.values(), ids=CASES.keys())
def test_nominal_loops_are_simulated_ones(paths: dict[str, Any], loops: list[Any], steps: float) -> None:
    """Mass on the rail, following a step of its reference; the reading of its position too."""
    model, count = slider(**paths), 24
    closed = family(model).close(loops, sign=-1).nominal  # as simulations close what takes outputs alone
    assert closed.dt == pytest.approx(steps * STEP)
    u = np.zeros((len(closed.input_labels), count))
    u[closed.input_labels.index("r_ruler")] = 0.7
    found = control.forced_response(closed, U=u, squeeze=False).outputs
    sought = [loop if isinstance(loop, tt.Loop) else tt.Loop(loop) for loop in loops]
    sought[0] = tt.Loop(sought[0].controller, delay=sought[0].delay, reference={"ruler": 0.7})
    t = closed.dt * np.arange(count)
    run = tt.simulate(model, t, model.neutral(), [0.0], controller=sought, **TIGHT)
    assert np.abs(found[closed.output_labels.index("rail_q")] - run.q[:, 0]).max() < ACCURACY
    assert np.abs(run.q).max() > 0.1
    read = run.controls[0].signal("ruler")[:: round(steps)][:count]
    assert np.abs(found[closed.output_labels.index("ruler"), : len(read)] - read).max() < ACCURACY


def test_members_and_their_check_have_the_same_delays() -> None:
    """Within the error of two stages; a loop whose sensor is one period later is told apart."""
    paths, loops, _ = CASES["lags"]
    closed = family(slider(**paths)).close(loops, stages=2, sign=-1)
    assert closed.check(3) < 1e-4
    later = family(slider(**paths | {"ruler": path(2, 2.2, lag=0.2)})).close(loops, stages=2, sign=-1)
    apart = closed.nominal(np.exp(0.3j)) - later.nominal(np.exp(0.3j))
    assert np.abs(apart).max() > 1e-3 * np.abs(closed.nominal(np.exp(0.3j))).max()


def test_delays_of_paths_are_those_of_loops() -> None:
    """From references to the mass; a command from outside passes the motor's delay too."""
    late = family(slider(motor=path(delay=1.3), ruler=path(1, 0.4))).close(tracking())
    loop = family(slider()).close(tracking(), delay=2.3 * STEP)
    z = np.exp(0.2j)
    one, other = late.nominal(z), loop.nominal(z)
    at = [loop.nominal.output_labels.index(name) for name in ("speed", "rail_q")]
    r, motor = (loop.nominal.input_labels.index(name) for name in ("r_ruler", "motor"))
    assert one[at, r] * z**-1 == pytest.approx(other[at, r], rel=1e-10)  # of the reference the sensor is not late
    assert not np.allclose(one[at, motor], other[at, motor], rtol=1e-2)
    assert not late.paths
    assert "motor.delay" not in str(late.M.state_labels)


def test_a_command_from_outside_is_delayed_by_hand() -> None:
    """Without feedback: python-control's zero-order hold of the plant, and whole periods."""
    model = slider(motor=path(delay=2.0))
    opened = family(model, "speed").close(damping(size=0.0)).nominal
    plant = tt.linearize(slider(), model.neutral(), ["motor"], ["speed"])
    held, z = control.c2d(control.ss(plant.A, plant.B, plant.C, plant.D), STEP), np.exp(0.4j)
    assert opened(z) == pytest.approx(held(z) / z**2, rel=1e-10)


def test_what_sampled_controllers_do_not_use_keeps_its_fraction() -> None:
    paths = {"ruler": path(1, 0.4), "speed": path(delay=0.5), "felt": path(1, 1.0)}
    opened = family(slider(**paths))
    assert [timing.path for timing in opened.paths] == ["ruler", "speed", "felt.x"]
    closed = opened.close(damping(), sign=-1)  # a sensor that is not sampled
    assert [timing.path for timing in closed.paths] == ["ruler", "felt.x"]
    assert closed.M.nstates == opened.M.nstates
    continuous = opened.close(control.ss([], [], [], [[-3.0]], inputs=["ruler"], outputs=["motor"]))
    assert [timing.path for timing in continuous.paths] == ["speed", "felt.x"]
    assert (2.0 * opened).paths == ()


def test_paths_are_kept_in_files(tmp_path: Path) -> None:
    opened = family(slider(**CASES["lags"][0]))
    for suffix in ("npz", "mat", "nc"):
        opened.save(tmp_path / f"slider.{suffix}")
        loaded = tt.LFTModel.load(tmp_path / f"slider.{suffix}")
        assert loaded.paths == opened.paths
    z = np.exp(0.3j)
    assert loaded.close(tracking()).nominal(z) == pytest.approx(opened.close(tracking()).nominal(z), rel=1e-12)


def test_what_cannot_be_lifted_is_named() -> None:
    opened = family(slider(ruler=path(np.sqrt(2), 0.4), motor=path(3.0)))
    with refusal("no-common-period", "ruler.path.sample_time"):
        opened.close(tracking())
    with refusal("no-common-period", "motor.path.sample_time"):
        family(slider(motor=path(np.sqrt(2)))).close(tracking())
    with refusal("sampled-path", "ruler.path"):
        family(slider(ruler=path(2, 0.4))).close(damping()).close(tracking())
    with refusal("complex-block", "neglected"):
        family(slider(ruler=path(2, 0.4))).append("neglected", "motor", 0.1).close(tracking())
