"""Tuning of controllers of fixed structure on uncertain families until they are proved, beside the best known worst case.

A satellite with two flexible panels on sprung drives, 40 states, five uncertain numbers in nine copies: a gain of the angle,
one of the rate and a filter of second order for each axis, twelve numbers, and five goals. The same is sampled at 10 Hz, what
the controller gives a sample late, the family in 18 copies. And two masses on an uncertain spring (0.5 to 2 N/m, 1 kg each, as
in the benchmark of the American Control Conference 1992): force on the first, place of the second, three states; the norm is
that from a force on the second mass and noise of the measurement to the place of the second mass and the controller's force.

The best known are the lowest that any run has reached so far, with two to five starts and several seeds, their worst members
searched. For the satellite four of nine runs agree on 1.0824 to 1.0826, others ended at 1.141, 1.258 and 1.689. The sampled one
gave 1.456 to 2.815 in five runs before optima were tried on all members, and 1.0973 in the one run since then. Tuning for the
middle of all ranges alone is worse in the worst case: no other Python package that is known tunes a fixed structure on a
family. Times are of the processor, with one thread.

Run it: ``OMP_NUM_THREADS=1 python examples/benchmarks/tuning.py``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import control
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt

HZ = 2 * np.pi
MASS, LENGTH, WIDTH = 25.0, 5.0, 2.0  # kg, m, m: of a panel
ANGLES, RATES = [f"tracker.theta[{k}]" for k in range(3)], [f"gyro.{axis}" for axis in "xyz"]
WHEELS = [f"wheels.{axis}" for axis in "xyz"]
INERTIA = np.array([420.0, 1500.0, 1650.0])  # kg m^2: of all, about the axes
BANDWIDTH = 0.15  # rad/s
SAMPLE_TIME = 0.1  # s
#: Worst cases of the highest goal, the lowest that were reached so far.
BEST = {"satellite": 1.0824, "sampled satellite": 1.0973, "two masses": 7.332}


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x: three modes of bending out of plane, two in plane, two of torsion."""
    roots, shapes = np.array([1.8751041, 4.6940911, 7.8547574]), np.array([0.7340955, 1.0184673, 0.9992245])
    force, moment = np.sqrt(MASS) * 2 * shapes / roots, np.sqrt(MASS) * LENGTH * 2 / roots**2
    spin, bend = MASS * WIDTH**2 / 12, MASS * LENGTH**2 / 12
    rows = [[0, 0, f, 0, -m, 0] for f, m in zip(force, moment, strict=True)]
    rows += [[0, f, 0, 0, 0, m] for f, m in zip(force[:2], moment[:2], strict=True)]
    rows += [[0, 0, 0, np.sqrt(8 * spin) / (k * np.pi), 0, 0] for k in (1, 3)]
    frequencies = np.array([0.35, 1.4, 2.6, 0.9, 2.4, 0.8, 2.0]) * HZ
    order = np.argsort(frequencies)
    inertia = [spin, bend, spin + bend]
    return tt.FlexibleBody(
        name, MASS, [LENGTH / 2, 0, 0], inertia, frequencies[order], np.array(rows)[order], damping_ratios=0.01
    )


def satellite() -> tt.LFTModel:
    """Return the family, from torques of the wheels to angles and rates."""
    places = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "tank": [0, 0, -0.5], "imu": [0, 0, 0]}
    hub = tt.RigidBody("hub", mass=500.0, inertia=[300, 250, 220], ports=places)
    s = tt.System("observatory", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        drive = tt.Revolute(f"{side}_drive", axis=[sign, 0, 0], stiffness=60.0, damping=0.6)
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        s.connect(hub.port(side), panel(f"{side}_panel"), joint=drive, placement=outwards)
    fuel, rate = 40.0, 0.2 * HZ
    spring = {"stiffness": fuel * rate**2, "damping": 0.04 * fuel * rate}
    s.connect(hub.port("tank"), tt.RigidBody("fuel", fuel, inertia=0.5), joint=tt.Prismatic("slosh", [1, 0, 0], **spring))
    s.add_actuator(tt.Torque("wheels", hub.port("imu")))
    s.add_sensor(tt.PoseSensor("tracker", hub))
    s.add_sensor(tt.Gyro("gyro", hub.port("imu")))
    parameters = {
        ("left_panel.mode1.frequency", "right_panel.mode1.frequency"): tt.percent(20),
        ("left_drive.stiffness", "right_drive.stiffness"): tt.percent(30),
        **{f"hub.inertia.{axis}{axis}": tt.percent(15) for axis in "xyz"},
    }
    model = s.resolve()
    return tt.lft(model, model.neutral(), parameters, ["wheels"], [*ANGLES, "gyro"], omit=["base.x", "base.y", "base.z"])


def sampled(family: tt.LFTModel) -> tt.LFTModel:
    """Return the family between a hold and samplers, by closing a loop of zero."""
    inputs, outputs = ([name.replace(".", "_") for name in names] for names in ([*ANGLES, *RATES], WHEELS))
    nothing = control.ss([], [], [], np.zeros((3, 6)), SAMPLE_TIME, inputs=inputs, outputs=outputs)
    return family.close(nothing, stages=2)


def attitude_control() -> list[tt.Tunable]:
    """Return gains and a filter for each axis."""
    blocks = []
    for axis, angle, rate, wheel, inertia in zip("xyz", ANGLES, RATES, WHEELS, INERTIA, strict=True):
        start = [[inertia * BANDWIDTH**2, 1.4 * inertia * BANDWIDTH]]
        limits = {"frequency": (0.2, 50.0), "damping": (0.3, 2.0)}
        blocks.append(tt.Tunable.matrix(f"pd_{axis}", [angle, rate], [f"filtered_{axis}"], start=start))
        blocks.append(tt.Tunable.low_pass(f"filter_{axis}", f"filtered_{axis}", wheel, 2.0, 0.7, bounds=limits))
    return blocks


def pointing_goals() -> list[tt.Goal]:
    """Return pointing, effort, margins of all axes at once, bandwidth, and how gains fall with frequency."""
    stiff, damped = INERTIA.max() * BANDWIDTH**2, INERTIA.max() * BANDWIDTH
    return [
        tt.Goal.gain(WHEELS, ANGLES, 0.25 / (INERTIA.min() * BANDWIDTH**2)),
        tt.Goal.gain(ANGLES, WHEELS, 2 * stiff),
        tt.Goal.margins(WHEELS, disk=0.75),
        tt.Goal.tracking(ANGLES, time=18.0, peak=1.6),
        tt.Goal.gain(RATES, WHEELS, 2 * damped, weight=control.tf([1 / 1.5, 0], [1 / 60, 1])),
    ]


def two_masses() -> tt.LFTModel:
    """Return two masses of 1 kg and a spring of 0.5 to 2 N/m, from forces on both to the place of the second."""
    middle, half = 1.25, 0.75
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-middle, middle, 0, 0], [middle, -middle, 0, 0]])
    B, C = np.zeros((4, 3)), [[1, -1, 0, 0], [0, 1, 0, 0]]
    B[2:] = [[-half, 1, 0], [half, 0, 1]]
    M = control.ss(A, B, C, np.zeros((2, 3)), inputs=["w", "u", "d"], outputs=["z", "x"], name="masses")
    return tt.LFTModel(M, (tt.DeltaBlock.real("spring", 1, 0.5, 2.0),), ())


class Case(NamedTuple):
    """A family, what is tuned on it, for which goals, from how many starts, and in which time (s) at most."""

    family: tt.LFTModel
    blocks: Any
    goals: Sequence[tt.Goal]
    options: dict[str, Any]
    limit: float


def cases() -> dict[str, Case]:
    """Return what is measured."""
    family = satellite()
    place = tt.Tunable.state_space("K", ["x"], ["u"], 3)
    return {
        "satellite": Case(family, attitude_control(), pointing_goals(), {"starts": 2}, 60.0),
        "sampled satellite": Case(
            sampled(family), attitude_control(), pointing_goals(), {"starts": 3, "delay": SAMPLE_TIME}, np.inf
        ),
        "two masses": Case(two_masses(), place, [tt.Goal.gain(["d", "x"], ["x", "u"])], {"starts": 3, "sign": 1}, 30.0),
    }


def row(name: str, case: Case) -> str:
    """Return a line of the table."""
    begin = time.process_time()
    tuned = tt.tune(case.family, case.blocks, case.goals, progress=False, **case.options)
    spent = time.process_time() - begin
    begin = time.process_time()
    tt.tune(case.family, case.blocks, case.goals, progress=False, prove=False, **case.options)
    unproved = time.process_time() - begin
    highest, proved = max(value.value for value in tuned.goals), max(proof.upper for proof in tuned.proof)
    copies = sum(block.repetitions for block in case.family.blocks)
    cells = [name, f"{case.family.M.nstates}, {copies}", f"{spent:.0f}, {unproved:.0f}", f"{case.limit:g}"]
    return " | ".join(["", *cells, f"{highest:.4g}", f"{proved:.4g}", f"{highest / BEST[name]:.3f}", ""]).strip()


def main() -> None:
    """Print the table as markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases, all by default")
    names = parser.parse_args().names
    print("| case | states, copies | s with proof, without | s at most | worst case | proved | over the best known |")
    print("|---|---|---|---|---|---|---|")
    for name, case in cases().items():
        if not names or name in names:
            print(row(name, case), flush=True)


if __name__ == "__main__":
    main()
