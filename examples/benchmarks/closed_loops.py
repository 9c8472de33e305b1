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
from pathlib import Path
from timeit import Timer

import numpy as np
import titop as tt

sys.path.insert(0, str(Path(__file__).parent.parent))
from four_bar import COUPLER, CRANK, GROUND, ROCKER, build, initial_state, resolve

GOAL = 2.0
#: Time (s) given to one engine before it is the other's turn.
TURN = 0.01


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
    system = build()
    model = resolve(system)
    (q, v), tau, out = initial_state(model), np.array([0.5, 0.0, 0.0]), np.empty(3)
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
