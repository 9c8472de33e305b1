"""Will the telescope hold still? A pointing budget by ESA's metrics, for every member of an uncertain family.

A satellite with two flexible panels points a telescope about one axis. Star tracker, gyro and the wheel's torque have noise;
the drives of the panels step at any rate within a range, the sun presses, and the panels bend when they leave the shadow. The
hub's inertia and the panels' frequency are uncertain. The budget tells, for exposures of ten seconds, the absolute error, its
mean over an exposure, the jitter during one, and the drift to one that begins a minute later; which source matters, at which
frequencies, and the worst member of the family. That member is put back into the nonlinear system and simulated with sampled
noise: the deviations of a hundred exposures are near those of the budget.

Run it: ``python examples/pointing_budget.py`` draws ``pointing_budget.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import control
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

EXPOSURE, LATER = 10.0, 60.0  # s
NOISES = {"tracker": 2.0e-5, "gyro": 1.0e-6, "wheel": 4e-4}  # rad, rad/s and N m, per root Hz
SUN, SNAP, SNAP_TIMES = 2e-4, [0.0, 1e-3, 0.0], [0.0, 15.0, 60.0]  # N m, N m, s
STEPS = (0.4, 2.0), 3e-3  # Hz, N m: of the drives
BANDWIDTH, DAMPING, ROLL_OFF = 0.3, 0.7, 10.0  # rad/s, no units
INERTIA = 280.0  # kg m^2, of all
RANGES = {"hub.inertia.xx": tt.percent(20), ("left.mode1.frequency", "right.mode1.frequency"): (3.0, 5.0)}
REQUIRED = {"APE": 18.0, "RPE": 6.0}  # arcsec
SAMPLE_TIME, SETTLED, END = 0.1, 300.0, 1300.0  # s, of the simulation
COUNT = round(EXPOSURE / SAMPLE_TIME)


def build() -> tt.Model:
    """Return the satellite, with a motor about the axis, star tracker and gyro."""
    hub = tt.RigidBody("hub", mass=400.0, inertia=[150.0, 150.0, 120.0], ports={"left": [0, 0.8, 0], "right": [0, -0.8, 0]})
    s = tt.System("telescope", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Revolute("roll", axis=[1, 0, 0]))
    for side, angle in (("left", 0.0), ("right", 180.0)):
        bending = [[0, 0, 3.9, 8.5, 0, 0]]  # participation of motions of the root: across, and about the axis
        panel = tt.FlexibleBody(side, 20.0, [0, 2.0, 0], [107.0, 7.0, 114.0], [4.0], bending, damping_ratios=0.004)
        outwards = tt.Pose(rotation=Rotation.from_euler("z", angle, degrees=True))
        s.connect(hub.port(side), panel, joint=tt.Weld(f"{side}_root"), placement=outwards)
    paths = {name: tt.SignalPath(noise_density=size, sample_time=SAMPLE_TIME) for name, size in NOISES.items()}
    s.add_actuator(tt.Motor("wheel", "roll", path=paths["wheel"]))
    s.add_sensor(tt.Encoder("tracker", "roll", path=paths["tracker"]))
    s.add_sensor(tt.Tachometer("gyro", "roll", path=paths["gyro"]))
    return s.resolve()


def law(sign: float) -> control.StateSpace:
    """Return the torque for angle and rate, or with a sign of 1 for their errors, rolled off a decade further up."""
    gains, fast = sign * INERTIA * np.array([[BANDWIDTH**2, 2 * DAMPING * BANDWIDTH]]), ROLL_OFF * BANDWIDTH
    return control.ss([[-fast]], fast * gains, [[1.0]], [[0.0, 0.0]], inputs=["tracker", "gyro"], outputs=["wheel"])


def sampled(K: control.StateSpace) -> tt.Loop:
    """Return a loop that runs with the devices."""
    return tt.Loop(control.sample_system(K, SAMPLE_TIME, "bilinear"))


def sources() -> dict[str, Any]:
    """Return what acts on each input of the loop; noise has the densities of its devices' paths."""
    torques = [tt.ErrorSource.bias(SUN), tt.ErrorSource.harmonic(*STEPS), tt.ErrorSource.transient(SNAP, SNAP_TIMES)]
    return {"wheel": torques} | {f"{name}.noise": tt.ErrorSource.noise() for name in NOISES}


def simulate(family: tt.LFTModel, member: dict[str, float], line: float) -> tt.Trajectory:
    """Simulate a member, nonlinear, with sampled noise, the sun and a line (Hz) at its worst."""
    point = family.operating_point(member)

    def torque(t: float, q: Array, v: Array) -> Array:
        return np.array([SUN + STEPS[1] * np.sin(2 * np.pi * line * t), *np.zeros(point.model.nv - 1)])

    t = np.arange(round(END / SAMPLE_TIME)) * SAMPLE_TIME
    return tt.simulate(
        point.model, t, point.q, point.v, torque, controller=sampled(law(1.0)), rtol=1e-6, atol=1e-9, progress=False
    )


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Make the budget, simulate the worst member, and draw."""
    parser = argparse.ArgumentParser(description="A pointing budget for all members of an uncertain family.")
    parser.add_argument("--output", default="pointing_budget.png")
    arguments = parser.parse_args(argv)
    model = build()
    inputs, outputs = ["wheel", *(f"{name}.noise" for name in NOISES)], ["tracker", "gyro", "roll.q"]
    family = tt.lft(model, model.neutral(), RANGES, inputs, outputs)
    loop = family.close(sampled(law(-1.0)), stages=2)
    windows = {"window": EXPOSURE, "drift": LATER, "bands": [0.1, 0.3, 1.0], "requirement": REQUIRED, "unit": "arcsec"}
    budget = tt.pointing_budget(loop, sources(), "roll.q", progress=False, **windows)
    print(budget.table())
    worst = budget.members[0][0]
    alone = tt.pointing_budget(loop.at(worst), sources(), "roll.q", **windows)
    run = simulate(family, worst, float(alone.lines[0, 0, 1]))
    settled = np.degrees(run.q[int(SETTLED / SAMPLE_TIME) :, 0]) * 3600
    exposures = settled[: len(settled) // COUNT * COUNT].reshape(-1, COUNT)
    simulated = [settled.std(), exposures.mean(axis=1).std(), np.sqrt(exposures.var(axis=1).mean())]
    expected = np.linalg.norm(alone.sigma[:3, 0], axis=1)
    print(f"worst member, standard deviations of {', '.join(budget.metrics[:3])} in arcsec: {expected.round(3)}")
    print(f"simulated, without what is fixed: {np.round(simulated, 3)}")
    budget.plot().savefig(arguments.output)
    return {"budget": budget, "loop": loop, "run": run, "expected": expected, "simulated": simulated}


if __name__ == "__main__":
    main()
