"""What a controller asks besides forward and inverse dynamics, one call each, beside Pinocchio's: UR5 and Talos from URDF.

Times are the fastest of many interleaved repeats in one process. titop's calls return arrays of their own, Pinocchio's views of
its data. The goal is 1.5 times Pinocchio's time, or 2 us more. That both say the same is what the tests are for.

Needs Pinocchio and the robots of example-robot-data (extra "test"). Run it: ``python examples/benchmarks/functions.py``
"""

from __future__ import annotations

import argparse
import importlib.metadata
import warnings
from collections.abc import Callable
from pathlib import Path
from timeit import Timer
from typing import Any

import numpy as np
import pinocchio as pin

import titop as tt

#: The robots: their files, and how their bases move.
ROBOTS = {"UR5": ("ur5_robot.urdf", "fixed"), "Talos": ("talos_reduced.urdf", "free")}
#: Time (s) given to one call before it is another's turn.
TURN = 0.005

Calls = dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]]


def robot_file(name: str) -> Path:
    """Return where a robot's file stands."""
    files = importlib.metadata.distribution("example-robot-data").files or []
    return next(Path(str(file.locate())) for file in files if file.name == name)


def calls(path: Path, base: str) -> Calls:
    """Return titop's and Pinocchio's call of each function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = tt.from_urdf(path, base=base, repair=True).resolve()
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if base == "free" else pin.buildModelFromUrdf(str(path))
    data, rng = peer.createData(), np.random.default_rng(0)
    v, a, tau = rng.normal(size=(3, m.nv))
    q, at = m.integrate(m.neutral(), 0.3 * v), pin.integrate(peer, pin.neutral(peer), 0.3 * v)
    port, frame = m.body_names[-1], peer.nframes - 1
    wrench = {port: rng.normal(size=6)}
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def pose() -> None:
        pin.forwardKinematics(peer, data, at)
        pin.updateFramePlacement(peer, data, frame)

    def motion() -> None:
        pin.forwardKinematics(peer, data, at, v, a)
        pin.getFrameVelocity(peer, data, frame)
        pin.getFrameAcceleration(peer, data, frame)

    def energy() -> None:
        pin.computeKineticEnergy(peer, data, at, v)
        pin.computePotentialEnergy(peer, data, at)

    return {
        "forward_dynamics": (lambda: m.forward_dynamics(q, v, tau), lambda: pin.aba(peer, data, at, v, tau)),
        "forward_dynamics with a wrench": (lambda: m.forward_dynamics(q, v, tau, wrench), None),
        "inverse_dynamics": (lambda: m.inverse_dynamics(q, v, a), lambda: pin.rnea(peer, data, at, v, a)),
        "inverse_dynamics with a wrench": (lambda: m.inverse_dynamics(q, v, a, wrench), None),
        "nonlinear_effects": (lambda: m.nonlinear_effects(q, v), lambda: pin.nonLinearEffects(peer, data, at, v)),
        "gravity_effects": (lambda: m.gravity_effects(q), lambda: pin.computeGeneralizedGravity(peer, data, at)),
        "mass_matrix": (lambda: m.mass_matrix(q), lambda: pin.crba(peer, data, at)),
        "inverse_mass_matrix": (lambda: m.inverse_mass_matrix(q), lambda: pin.computeMinverse(peer, data, at)),
        "coriolis_matrix": (lambda: m.coriolis_matrix(q, v), lambda: pin.computeCoriolisMatrix(peer, data, at, v)),
        "pose": (lambda: m.pose(port, q), pose),
        "jacobian": (lambda: m.jacobian(port, q), lambda: pin.computeFrameJacobian(peer, data, at, frame)),
        "jacobian in inertial axes": (
            lambda: m.jacobian(port, q, "world"),
            lambda: pin.computeFrameJacobian(peer, data, at, frame, world),
        ),
        "twist": (lambda: m.twist(port, q, v), motion),
        "acceleration": (lambda: m.acceleration(port, q, v, a), motion),
        "jacobian_bias": (lambda: m.jacobian_bias(port, q, v), motion),
        "energy": (lambda: m.energy(q, v), energy),
        "momentum": (lambda: m.momentum(q, v), lambda: pin.computeCentroidalMomentum(peer, data, at, v)),
        "momentum_matrix": (lambda: m.momentum_matrix(q), lambda: pin.computeCentroidalMap(peer, data, at)),
        "center_of_mass": (lambda: m.center_of_mass(q), lambda: pin.centerOfMass(peer, data, at)),
        "regressor": (lambda: m.regressor(q, v, a), lambda: pin.computeJointTorqueRegressor(peer, data, at, v, a)),
    }


def fastest(found: Calls, repeats: int) -> dict[tuple[str, int], float]:
    """Return the fastest time (s) of every call by function and engine (0 titop, 1 Pinocchio), all taking turns."""
    timers = {(name, k): Timer(call) for name, pair in found.items() for k, call in enumerate(pair) if call}
    for timer in timers.values():
        timer.timeit(1)  # compiles, where need be
    numbers = {key: max(1, int(TURN / max(timer.timeit(3) / 3, 1e-7))) for key, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(repeats):
        for key, timer in timers.items():
            best[key] = min(best[key], timer.timeit(numbers[key]) / numbers[key])
    return best


def main() -> None:
    """Time all functions and print a table for each robot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="turns of every call, of which the fastest counts")
    arguments = parser.parse_args()
    for robot, (file, base) in ROBOTS.items():
        times = fastest(calls(robot_file(file), base), arguments.repeats)
        print("", f"| {robot} (us) | titop | Pinocchio | ratio | met |", "|---|---|---|---|---|", sep="\n")
        for name in dict.fromkeys(name for name, _ in times):
            ours, theirs = 1e6 * times[name, 0], 1e6 * times.get((name, 1), float("nan"))
            known = theirs == theirs
            met = ("yes" if ours <= max(1.5 * theirs, theirs + 2.0) else "NO") if known else "-"
            print(f"| {name} | {ours:.1f} | {f'{theirs:.1f} | {ours / theirs:.2f}' if known else '- | -'} | {met} |")


if __name__ == "__main__":
    main()
