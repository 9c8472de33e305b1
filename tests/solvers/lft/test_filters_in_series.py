"""Filters of devices in linear fractional models: in series with what is uncertain."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal


def filtered_arm() -> tt.Model:
    """Return two links with filters in the paths of all devices."""
    lag = tt.SignalPath.lag
    s = tt.System("arm", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", mass=1.0, inertia=[0.2, 0.3, 0.4], com=[0, 0, -0.5])
    tip = tt.RigidBody("tip", mass=0.5, inertia=0.1, com=[0, 0, -0.2])
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=5.0, damping=0.2))
    at = tt.Pose([0, 0, -1.0])
    s.connect(arm, tip, tt.Revolute("wrist", axis=[0, 1, 0], stiffness=5.0, damping=0.2), placement=at)
    s.add_actuator(tt.Motor("motor", "hinge", path=tt.SignalPath.second_order(10.0, 0.5, delay=0.05)))
    s.add_actuator(tt.Force("push", tip, [1, 0, 0], frame="world", path=lag(0.1)))
    s.add_sensor(tt.Gyro("gyro", tip, path=lag(0.2, noise_density=0.1, delay=0.1)))
    s.add_sensor(tt.Accelerometer("acc", tip, path=lag(0.2)))
    s.add_sensor(tt.Encoder("angle", "wrist", path=lag(0.3)))
    s.add_sensor(tt.WheelMomentum("momentum", "wrist", path=lag(0.2)))
    return s.resolve(engine="reference")


@pytest.mark.parametrize(
    "uncertain",
    [
        {"hinge.q": (-0.3, 0.3), "wrist.q": (-0.2, 0.4)},
        {"arm.mass": (0.8, 1.2), "arm.inertia.yy": (0.25, 0.35)},
        {"motor.gear": (0.5, 1.5)},
        {"push.path.time_constant": (0.05, 0.2), "gyro.path.time_constant": (0.1, 0.3), "acc.path.time_constant": (0.1, 0.4)},
        {"motor.path.frequency": (8.0, 12.0), "motor.path.damping": (0.3, 0.7), "motor.gear": (0.5, 1.5)},
    ],
    ids=["angles", "masses", "gear", "lags", "second order"],
)
def test_filters_are_in_series(uncertain: dict[str, tuple[float, float]]) -> None:
    """Members are linearised anew, where filters are interactions: another road, with the same responses."""
    m = filtered_arm()
    point = m.neutral()
    family = tt.lft(m, point, uncertain, ["motor", "push", "gyro.noise"], ["gyro", "acc", "angle", "momentum"])
    assert family.check(3) < 1e-10  # rounding; without filters, responses differ by parts of one


def test_time_constants_stand_once_and_frequencies_twice() -> None:
    """``T dx/dt = s - x``, and ``w (w (s - x) - 2 damping dx/dt)``; biases have no effect on linear models."""
    m = filtered_arm()
    uncertain = {"push.path.time_constant": (0.05, 0.2), "motor.path.frequency": (8.0, 12.0), "motor.path.damping": (0.3, 0.7)}
    family = tt.lft(m, m.neutral(), uncertain, ["motor", "push"], ["gyro"])
    assert [block.repetitions for block in family.blocks] == [1, 2, 1]
    lag = 1 + 2.0j * np.array([0.1, 0.2])  # at 2 rad/s
    assert family.at(push_path_time_constant=0.2)(2.0j)[:, 1] == pytest.approx(family.nominal(2.0j)[:, 1] * lag[0] / lag[1])
    with refusal("idle-parameter", "gyro.path.bias"):
        tt.lft(m, m.neutral(), {"gyro.path.bias": (-1.0, 1.0)}, ["motor"], ["gyro"])


def measured_arm() -> tt.Model:
    s = tt.System("arm", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", mass=1.0, inertia=[0.2, 0.3, 0.4], com=[0, 0, -0.5])
    s.connect("world", arm, tt.Spherical("ball", stiffness=5.0, damping=0.2))
    s.add_actuator(tt.Torque("wheels", arm))
    erring = {"scale_factor": [0.1, 0.0, 0.0], "misalignment": [0.0, 0.01, 0.0]}
    s.add_sensor(tt.Gyro("gyro", arm, path=tt.SignalPath(**erring)))
    s.add_sensor(tt.Accelerometer("acc", arm, path=tt.SignalPath.lag(0.2, **erring)))
    s.add_sensor(tt.StarTracker("tracker", arm, path=tt.SignalPath.lag(0.1, scale_factor=0.0)))
    s.add_sensor(tt.GNSS("gnss", arm))
    return s.resolve(engine="reference")


@pytest.mark.parametrize(
    "uncertain",
    [
        {"gyro.path.scale_factor.0": (-0.1, 0.2), "gyro.path.misalignment.1": (-0.1, 0.1), "arm.mass": (0.8, 1.2)},
        {"acc.path.scale_factor.0": (-0.1, 0.2), "acc.path.misalignment.1": (-0.1, 0.1), "acc.path.time_constant": (0.1, 0.4)},
        {"tracker.path.scale_factor": (-0.1, 0.2), "arm.inertia.xx": (0.15, 0.25)},
        {"gyro.path.misalignment.0": (-0.1, 0.1), "gyro.path.misalignment.2": (-0.1, 0.1)},
    ],
    ids=["gyro", "accelerometer", "tracker", "axes"],
)
def test_scales_and_axes_of_sensors_are_exact(uncertain: dict[str, tuple[float, float]]) -> None:
    m = measured_arm()
    family = tt.lft(m, m.neutral(), uncertain, ["wheels"], ["gyro", "acc", "tracker", "gnss"])
    assert family.check(3) < 1e-10  # rounding; members differ by parts of one
    assert {block.name for block in family.blocks} == set(uncertain)
