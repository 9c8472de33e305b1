"""Forward dynamics of a closed four-bar linkage, one call from Python, beside Pinocchio's ``constraintDynamics``.

The loop is closed by a hinge in space in titop (five constraints, two of them independent) and by a point in Pinocchio
(``CONTACT_3D``), which cannot take redundant ones without regularising them. Both must find the same accelerations.

Run it: ``python examples/benchmarks/closed_loops.py``
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import warnings
from timeit import Timer

import numpy as np

import titop as tt

#: Lengths (m) of crank, coupler and rocker, and of the ground between the fixed hinges.
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.9, 0.7, 1.0
GOAL = 2.0
#: Time (s) given to one engine before it is the other's turn.
TURN = 0.01


def bar(name: str, length: float, mass: float) -> tt.RigidBody:
    """Return a slender bar along x with a port at its end."""
    about = mass * length**2 / 12
    return tt.RigidBody(name, mass, com=[length / 2, 0, 0], inertia=[1e-2 * about, about, about], ports={"end": [length, 0, 0]})


def linkage() -> tt.System:
    """Return the linkage as a chain of three bars whose end is held at the ground."""
    crank, coupler, rocker = bar("crank", CRANK, 1.0), bar("coupler", COUPLER, 2.0), bar("rocker", ROCKER, 1.5)
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [GROUND, 0, 0])
    s.connect("world", crank, tt.Revolute("crank_hinge"))
    s.connect(crank.port("end"), coupler, tt.Revolute("coupler_hinge"))
    s.connect(coupler.port("end"), rocker, tt.Revolute("rocker_hinge"))
    s.close_loop(s.world.port("ground"), rocker.port("end"), tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    return s


def pinocchio_call(system: tt.System, q: np.ndarray, v: np.ndarray, tau: np.ndarray):
    """Return a function without arguments that calls ``constraintDynamics`` for the linkage in a state."""
    import pinocchio as pin

    peer = pin.Model()
    peer.gravity.linear = system.gravity
    joint = 0
    for name, before in (("crank", 0.0), ("coupler", CRANK), ("rocker", COUPLER)):
        body = system[name]
        joint = peer.addJoint(joint, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([before, 0, 0])), name)
        peer.appendBodyToJoint(joint, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    at_ground, at_rocker = (pin.SE3(np.eye(3), np.array([x, 0, 0])) for x in (GROUND, ROCKER))
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, peer, 0, at_ground, joint, at_rocker, pin.ReferenceFrame.LOCAL
    )
    closures, states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    closures.append(closure)
    states.append(closure.createData())
    data, settings = peer.createData(), pin.ProximalSettings(1e-12, 1e-10, 10)
    pin.initConstraintDynamics(peer, data, closures, states)
    return lambda: pin.constraintDynamics(peer, data, q, v, tau, closures, states, settings)


def times(repeats: int = 60) -> tuple[float, float]:
    """Return the times (s) of one call of titop and Pinocchio, minima of interleaved repeats."""
    system = linkage()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of redundant constraints
        model = system.resolve()
    q = model.assemble([np.pi / 2, -1.2, -1.2], fixed=["crank_hinge"])
    v = model.assemble_velocity(q, [1.0, 0.0, 0.0], fixed=["crank_hinge"])
    tau, out = np.array([0.5, 0.0, 0.0]), np.empty(3)
    calls = {"titop": lambda: model.forward_dynamics(q, v, tau, out=out), "Pinocchio": pinocchio_call(system, q, v, tau)}
    found, expected = (call().copy() for call in calls.values())
    if np.abs(found - expected).max() > 1e-9 * np.abs(expected).max():
        raise SystemExit(f"the engines disagree: {found} and {expected}")
    timers = {name: Timer(call) for name, call in calls.items()}
    numbers = {name: max(1, round(TURN / min(timer.repeat(3, 100)) * 100)) for name, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(repeats):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(numbers[name]) / numbers[name])
    return best["titop"], best["Pinocchio"]


def main() -> None:
    """Print the median ratio over fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(*times())
        return
    rows = []
    for _ in range(arguments.processes):
        done = subprocess.run([sys.executable, __file__, "--child"], stdout=subprocess.PIPE, text=True, check=True)
        rows.append([float(x) for x in done.stdout.split()])
    ours, theirs = (statistics.median(column) for column in zip(*rows, strict=True))
    median = statistics.median(row[0] / row[1] for row in rows)
    print(f"titop {1e6 * ours:.2f} us, Pinocchio {1e6 * theirs:.2f} us a call")
    print(f"ratio {median:.2f} (median of {len(rows)} processes; goal at most {GOAL})")


if __name__ == "__main__":
    main()
