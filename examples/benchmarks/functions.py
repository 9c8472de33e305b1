"""What a controller asks besides forward and inverse dynamics, one call each, beside Pinocchio's: UR5 and Talos from URDF.

Times are the fastest of many interleaved repeats in one process. titop's calls return arrays of their own, Pinocchio's views of
its data. The goal is 1.5 times Pinocchio's time, or 2 us more; with a wrench, 2 us more than without. That both say the same is
what the tests are for.

Two more tables show what a state costs in a stack of 1000, and that derivatives of forward dynamics along one direction cost a
few forward dynamics, however long the chain.

Needs Pinocchio and the robots of example-robot-data (extra "test"). Run it: ``python examples/benchmarks/functions.py``
"""

from __future__ import annotations

import argparse
import importlib.metadata
import warnings
from collections.abc import Callable
from functools import partial
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
        s = tt.from_urdf(path, base=base, repair=True)
    last = s[str(s.connections[-1].child.block.name)]
    for sensor in (tt.Gyro("gyro", last), tt.Accelerometer("accelerometer", last), tt.PoseSensor("pose", last)):
        s.add_sensor(sensor)
    s.add_actuator(tt.Force("push", last, frame="world"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = s.resolve()
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if base == "free" else pin.buildModelFromUrdf(str(path))
    data, rng = peer.createData(), np.random.default_rng(0)
    v, a, tau, dq, dv, dtau = rng.normal(size=(6, m.nv))
    q, at = m.integrate(m.neutral(), 0.3 * v), pin.integrate(peer, pin.neutral(peer), 0.3 * v)
    port, frame = m.body_names[-1], peer.nframes - 1
    wrench = {port: rng.normal(size=6)}
    world, joint = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, next(c.joint.name for c in reversed(s.connections) if c.joint.nv)
    masses = [name for name in m.parameters() if name.split(".")[1] in ("mass", "com", "inertia")]
    others = [name for name in m.parameters() if name.split(".")[1] in ("stiffness", "damping", "axis", "placement")]
    ahead, there = m.integrate(q, 0.5 * v), pin.integrate(peer, at, 0.5 * v)

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
        "motion, with Euler angles": (lambda: m.motion(port, q, v, a), None),
        "reaction": (lambda: m.reaction(joint, q, v, a), lambda: pin.rnea(peer, data, at, v, a)),
        "reaction with a wrench": (lambda: m.reaction(joint, q, v, a, wrench), None),
        "outputs of three sensors": (lambda: m.outputs(q, v, a), motion),
        "passive_efforts": (lambda: m.passive_efforts(q, v), None),
        "actuation_matrix": (lambda: m.actuation_matrix(q), None),
        "integrate_derivatives": (lambda: m.integrate_derivatives(q, dq), lambda: pin.dIntegrate(peer, at, dq)),
        "difference_derivatives": (lambda: m.difference_derivatives(q, ahead), lambda: pin.dDifference(peer, at, there)),
        "forward_dynamics_derivatives": (
            lambda: m.forward_dynamics_derivatives(q, v, tau),
            lambda: pin.computeABADerivatives(peer, data, at, v, tau),
        ),
        "forward_dynamics_tangent": (lambda: m.forward_dynamics_tangent(q, v, tau, dq, dv, dtau), None),
        "forward_dynamics_adjoint": (lambda: m.forward_dynamics_adjoint(q, v, tau, dq), None),
        "inverse_dynamics_tangent": (lambda: m.inverse_dynamics_tangent(q, v, a, dq, dv, dtau), None),
        "inverse_dynamics_adjoint": (lambda: m.inverse_dynamics_adjoint(q, v, a, dq), None),
        f"sensitivities to {len(masses)} parameters": (lambda: m.inverse_dynamics_sensitivities(q, v, a, masses), None),
        f"sensitivities to {len(others)} others": (lambda: m.inverse_dynamics_sensitivities(q, v, a, others), None),
        "regressor": (lambda: m.regressor(q, v, a), lambda: pin.computeJointTorqueRegressor(peer, data, at, v, a)),
    }


def stacked_calls(path: Path, base: str) -> tuple[Calls, int]:
    """Return titop's calls at one state, and at a stack of them, by function; and how many these are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = tt.from_urdf(path, base=base, repair=True).resolve()
    rows, rng = 1000, np.random.default_rng(0)
    v, a, tau = rng.normal(size=(3, rows, m.nv))
    q = m.integrate(np.tile(m.neutral(), (rows, 1)), 0.3 * v)
    port, joint = m.body_names[-1], m.joint_names[-1]
    functions: dict[str, Callable[..., Any]] = {
        "forward_dynamics": lambda q, v, a, tau: m.forward_dynamics(q, v, tau),
        "pose": lambda q, v, a, tau: m.pose(port, q),
        "jacobian": lambda q, v, a, tau: m.jacobian(port, q),
        "motion, with Euler angles": lambda q, v, a, tau: m.motion(port, q, v, a),
        "reaction": lambda q, v, a, tau: m.reaction(joint, q, v, a),
        "center_of_mass": lambda q, v, a, tau: m.center_of_mass(q),
        "coriolis_matrix": lambda q, v, a, tau: m.coriolis_matrix(q, v),
        "passive_efforts": lambda q, v, a, tau: m.passive_efforts(q, v),
    }
    one = q[0].copy(), v[0].copy(), a[0].copy(), tau[0].copy()
    calls = {name: (partial(call, *one), partial(call, q, v, a, tau)) for name, call in functions.items()}
    return calls, rows


def chain(links: int) -> tt.Model:
    """Return a hanging chain of hinged links, their axes by turns along x and y."""
    s, above = tt.System("chain"), "world"
    for k in range(links):
        link = tt.RigidBody(f"link{k}", 1.0, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01], ports={"end": [0, 0, -1]})
        s.connect(above, link, tt.Revolute(f"hinge{k}", axis=np.eye(3)[k % 2]))
        above = link.port("end")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of digits lost in a thousand links
        return s.resolve()


def print_directions(repeats: int) -> None:
    """Print what derivatives of forward dynamics along one direction cost in chains of 10, 100 and 1000 links."""
    print("", "| chain (us) | forward dynamics | tangent | adjoint | matrices |", "|---|---|---|---|---|", sep="\n")
    for links in (10, 100, 1000):
        m = chain(links)
        q, v, tau, dq, dv, dtau = 0.1 * np.random.default_rng(0).normal(size=(6, links))
        calls: Calls = {
            "fd": (partial(m.forward_dynamics, q, v, tau), partial(m.forward_dynamics_derivatives, q, v, tau)),
            "along": (
                partial(m.forward_dynamics_tangent, q, v, tau, dq, dv, dtau),
                partial(m.forward_dynamics_adjoint, q, v, tau, dq),
            ),
        }
        times = fastest(calls, repeats if links < 1000 else 2)
        figures = (1e6 * times[key] for key in (("fd", 0), ("along", 0), ("along", 1), ("fd", 1)))
        print(f"| {links} links | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |")


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
            if name.endswith(" with a wrench"):
                without = 1e6 * times[name.removesuffix(" with a wrench"), 0]
                met = "yes" if ours <= without + 2.0 else "NO"
            print(f"| {name} | {ours:.1f} | {f'{theirs:.1f} | {ours / theirs:.2f}' if known else '- | -'} | {met} |")
        stacked, rows = stacked_calls(robot_file(file), base)
        times = fastest(stacked, max(2, arguments.repeats // 4))
        print("", f"| {robot} (us) | one state | a state of a stack |", "|---|---|---|", sep="\n")
        for name in stacked:
            print(f"| {name} | {1e6 * times[name, 0]:.1f} | {1e6 * times[name, 1] / rows:.1f} |")
    print_directions(max(2, arguments.repeats // 4))


if __name__ == "__main__":
    main()
