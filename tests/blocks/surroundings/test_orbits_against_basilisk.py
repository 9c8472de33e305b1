"""Orbits about an oblate planet, and attitudes under the torque of the gradient, against Basilisk.

`make_basilisk_orbits.py` makes the data. Basilisk pulls at the mass centre, by spherical harmonics; its torque is that of
a point.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt

DATA = dict(np.load(Path(__file__).with_name("basilisk_orbits.npz")))


def flown(case: str, j2: float) -> tt.Trajectory:
    s = tt.System("craft", gravity=tt.CentralGravity(float(DATA["mu"]), float(DATA["radius"]), j2=j2))
    s.connect("world", tt.RigidBody("hub", float(DATA["mass"]), inertia=DATA["inertia"]), tt.Free("base"))
    m = s.resolve()
    q, v = m.configuration({"base": [*DATA["start"], 0, 0, 0, 1]}), [*DATA["velocity"], *DATA["spin"]]
    return tt.simulate(m, DATA[f"{case}/t"], q, v, rtol=1e-12, atol=1e-10, progress=False)


def test_an_oblate_planet_for_13_hours() -> None:
    away = flown("oblate", float(DATA["j2"])).q[:, :3] - DATA["oblate/position"]
    assert np.abs(away).max() < 1e-3  # steps of 1e-12 of 7e6 m; and what Basilisk leaves out of the body's size, 1e-5 m


def test_without_oblateness_it_is_elsewhere() -> None:
    assert np.abs(flown("oblate", 0.0).q[:, :3] - DATA["oblate/position"]).max() > 1e5


def test_attitude_for_two_turns() -> None:
    run = flown("point", 0.0)
    attitude = Rotation.from_quat(run.q[:, 3:])
    apart = (attitude.inv() * Rotation.from_mrp(DATA["point/attitude"])).magnitude()
    assert apart.max() < 1e-8
    assert run.v[:, 3:] == pytest.approx(DATA["point/spin"], abs=1e-11)
    steady = Rotation.from_rotvec(np.outer(run.t, DATA["spin"]))
    assert (attitude.inv() * steady).magnitude().max() > 0.1  # a negative control: the torque counts
