"""The pointing dossier of an observatory: from the drawn system to files that other tools read.

A hub carries two flexible panels on drives, fuel that sloshes, four reaction wheels that lag, a star tracker (4 Hz, late, noisy)
and a gyro (20 Hz, with a random walk). Each function below is a chapter: model, trim under thrust, LPV over the angle of the
drives, design, margins, fractional model with a proof, simulation of the nonlinear model with two loops of two rates, Monte
Carlo of that simulation, files.

Run it: ``python examples/satellite_dossier.py`` prints the dossier and draws ``satellite_dossier.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import control
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

HZ = 2 * np.pi
MASS, LENGTH, WIDTH = 30.0, 6.0, 2.0  # kg, m, m: of a panel
FUEL, ARM, SLOSH = 50.0, 0.4, 0.12 * HZ  # kg, m, rad/s: fuel as a pendulum in a field of its own
THRUST = 25.0  # N, along z
GYRO_TIME, TRACKER_TIME = 0.05, 0.25  # s
BANDWIDTH, DAMPING = 0.15, 0.8  # rad/s, no unit: of the attitude loop
STEP = np.deg2rad([1.0, -0.5, 0.8])  # Euler angles, of the slew
WHEELS = [f"wheel{k}" for k in range(4)]
MOTORS = [f"{name}/motor" for name in WHEELS]
TRACKER, GYRO = [f"tracker.theta[{k}]" for k in range(3)], [f"gyro.{axis}" for axis in "xyz"]
DRIVES = ("left_drive", "right_drive")
PLACE = ["base.x", "base.y", "base.z", *WHEELS]  # nothing depends on these


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x, as a table of modes from finite elements: out of plane, in plane, torsion."""
    root, shape = 1.8751041, 0.7340955  # of a uniform cantilever
    force, moment = np.sqrt(MASS) * 2 * shape / root, np.sqrt(MASS) * LENGTH * 2 / root**2
    participation = [[0, 0, force, 0, -moment, 0], [0, force, 0, 0, 0, moment], [0, 0, 0, 2.8, 0, 0]]
    spin, bend = MASS * WIDTH**2 / 12, MASS * LENGTH**2 / 3
    about_root = [spin, bend, spin + bend]
    com = np.array([LENGTH / 2, 0, 0])
    inertia = np.diag(about_root) - MASS * (com @ com * np.eye(3) - np.outer(com, com))
    return tt.FlexibleBody(name, MASS, com, inertia, np.array([0.25, 0.9, 1.1]) * HZ, participation, damping_ratios=0.005)


def build() -> tt.System:
    """Chapter 1: the system, its actuators and sensors with their lags, delays, rates and noise."""
    places = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "tank": [0, 0, -0.3], "engine": [0, 0, -1.0]}
    hub = tt.RigidBody("hub", mass=800.0, inertia=[500, 450, 400], ports=places)
    s = tt.System("observatory", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        drive = tt.Revolute(f"{side}_drive", axis=[sign, 0, 0], stiffness=2000.0, damping=8.0)
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        s.connect(hub.port(side), panel(f"{side}_panel"), joint=drive, placement=outwards)
    spring = {"stiffness": FUEL * ARM**2 * SLOSH**2, "damping": 0.02 * FUEL * ARM**2 * SLOSH}
    fuel = tt.RigidBody("fuel", FUEL, com=[0, 0, -ARM], inertia=0.5)
    s.connect(hub.port("tank"), fuel, joint=tt.Universal("slosh", **spring))
    tilt = np.deg2rad(35)
    for name, azimuth in zip(WHEELS, np.deg2rad([45, 135, 225, 315]), strict=True):
        axis = [np.cos(tilt) * np.cos(azimuth), np.cos(tilt) * np.sin(azimuth), np.sin(tilt)]
        lag = tt.SignalPath.lag(0.08, delay=0.02)
        s.add_actuator(tt.ReactionWheel(name, hub, axis, inertia=0.1, mass=5.0, torque_limit=0.4, path=lag))
    s.add_actuator(tt.Thruster("apogee", hub.port("engine"), direction=[0, 0, 1], max_thrust=THRUST))
    seen = tt.SignalPath(sample_time=TRACKER_TIME, delay=0.1, noise_density=1e-5)  # rad/sqrt(Hz)
    s.add_sensor(tt.PoseSensor("tracker", hub, path=seen))
    felt = tt.SignalPath(sample_time=GYRO_TIME, noise_density=1e-6, random_walk=1e-8)
    s.add_sensor(tt.Gyro("gyro", hub, path=felt))
    return s


def burn(model: tt.Model) -> tt.OperatingPoint:
    """Chapter 2: the shape under thrust, which is that of rest in the field that the thrust takes away."""
    shape = [name for name in model.coordinate_names if not name.startswith(("base", *WHEELS))]
    return tt.trim(model, [*shape, "gravity.z"], u={"apogee": THRUST})


def family(model: tt.Model) -> tt.LPVModel:
    """Chapter 3: linear models at rest over the angle of the drives, which turn together and are held there by their motors."""
    angles = np.deg2rad([0, 30, 60, 90])
    held = [f"{name}.tau" for name in DRIVES]
    grid = dict.fromkeys((f"{name}.q" for name in DRIVES), angles)
    return tt.lpv(model, grid, grid=False, unknowns=held, inputs=MOTORS, outputs=[*TRACKER, *GYRO], omit=PLACE)


def design(model: tt.Model) -> list[control.StateSpace]:
    """Chapter 4: gains by the rigid satellite, of the angles at 4 Hz and of the rates at 20 Hz."""
    flexible = [name for name in model.coordinate_names if not name.startswith(("base", *WHEELS))]
    rigid = tt.linearize(model, model.neutral(), WHEELS, ["hub.w"], omit=PLACE, hold=flexible)
    allocation = np.linalg.pinv(rigid.C @ rigid.B)  # from angular accelerations to the wheels' torques
    angles, rates = ([name.replace(".", "_") for name in names] for names in (TRACKER, GYRO))
    stiff, damped = BANDWIDTH**2 * allocation, 2 * DAMPING * BANDWIDTH * allocation
    return [
        control.ss([], [], [], damped, GYRO_TIME, inputs=rates, outputs=MOTORS, name="rate loop"),
        control.ss([], [], [], stiff, TRACKER_TIME, inputs=angles, outputs=MOTORS, name="attitude loop"),
    ]


if __name__ == "__main__":
    import time
    t0=time.time()
    m = build().resolve(); print("resolve", time.time()-t0, m.nq, m.nx, m.state_names)
    b = burn(m); print("burn", time.time()-t0, b, b.parameters)
    f = family(m); print("lpv", time.time()-t0, f)
    K = design(m); print(K, time.time()-t0)
    t = np.linspace(0, 120, 1201)
    ref = dict(zip(TRACKER, STEP))
    loops=[K[0], tt.Loop(K[1], reference=ref)]
    run = tt.simulate(m, t, m.neutral(), np.zeros(m.nv), controller=loops, rtol=1e-7, atol=1e-9); print(time.time()-t0, run.statistics)
    print(run.outputs()[-1], STEP)
    lft = tt.lft(m, m.neutral(), {"fuel.mass": tt.percent(30), ("left_panel.mode1.frequency","right_panel.mode1.frequency"): tt.percent(20)}, inputs=MOTORS, outputs=[*TRACKER,*GYRO], omit=PLACE)
    print(lft, time.time()-t0)
    c = lft.close(loops, sign=-1); print(c, time.time()-t0)
    print(tt.robust_stability(c), time.time()-t0)
