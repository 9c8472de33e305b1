"""Linear matrices from a model and a point, beside assembling them by hand from Pinocchio's derivatives; cost of a family.

Every number comes from several fresh processes. In each, both sides are checked to agree, then timed in turns, and the fastest
of many repeats counts; ratios are taken within a process, and their median over the processes is reported.

Run it: ``python examples/benchmarks/linearisation.py``
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from timeit import Timer
from typing import Any

import numpy as np
from dynamics import fastest
from models import aerial_manipulator, fixed_arm, random_state, system
from peers import Pinocchio

import titop as tt

#: Largest ratios: of one call to Pinocchio by hand, and of a family to as many raw calls.
GOALS = {"12 dof, by hand": 1.3, "family of 10,000 points": 3.0}

POINTS = 10_000


def by_hand(peer: Pinocchio, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B of a floating tree (or an arm) as a user of Pinocchio assembles them."""
    pin, model, data = peer.pin, peer.model, peer.data
    pin.computeABADerivatives(model, data, q, v, tau)
    n = model.nv
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    A[:n, n:] = np.eye(n)
    if model.nq > n:
        A[:6, :6] = -pin.Motion(v[:6]).action
    A[n:, :n], A[n:, n:] = data.ddq_dq, data.ddq_dv
    B[n:] = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    return A, B


def time_calls(repeats: int) -> dict[str, float]:
    """Return the times (s) of one call by name."""
    timers: dict[Any, Timer] = {}
    for name, tree in (("12 dof", aerial_manipulator()), ("7-dof arm", fixed_arm())):
        model, peer = system(tree).resolve(), Pinocchio(tree)
        rest, (q, _, _) = np.zeros(model.nv), random_state(model)
        state = q, rest, model.inverse_dynamics(q, rest, rest)
        names: dict[str, Any] = {"by_hand": by_hand, "peer": peer, "tt": tt, "model": model, "pin": peer.pin}
        names |= {"q": q, "v": rest, "tau": state[2], "point": tt.OperatingPoint(model, *state)}
        ours, theirs = tt.linear_matrices(model, names["point"]), by_hand(peer, *state)
        for a, b in zip(ours, theirs, strict=True):
            assert np.abs(a - b).max() < 1e-8 * np.abs(b).max(), "the engines do not agree"
        timers[f"{name}, titop"] = Timer("tt.linear_matrices(model, point)", globals=names)
        timers[f"{name}, by hand"] = Timer("by_hand(peer, q, v, tau)", globals=names)
        derivatives = "pin.computeABADerivatives(peer.model, peer.data, q, v, tau)"
        timers[f"{name}, Pinocchio's derivatives alone"] = Timer(derivatives, globals=names)
    return fastest(timers, repeats)


def time_family(repeats: int) -> dict[str, float]:
    """Return the times (s) of a family of given points, and of as many raw calls."""
    model = system(aerial_manipulator()).resolve()
    rng, joint = np.random.default_rng(0), model.coordinate_names[6]
    points, values = [], np.linspace(-1, 1, POINTS)
    for value in values:
        q = model.neutral()
        q[7:] = rng.uniform(-1, 1, model.nv - 6)
        q[7] = value
        tau = model.inverse_dynamics(q, np.zeros(model.nv), np.zeros(model.nv))
        points.append(tt.OperatingPoint(model, q, None, tau))
    names = list(model.coordinate_names)
    best = {"family": float("inf"), "raw calls": float("inf")}
    for _ in range(max(2, repeats // 8)):
        begin = time.perf_counter()
        for point in points:
            tt.linear_matrices(model, point)
        middle = time.perf_counter()
        tt.lpv(model, {f"{joint}.q": values}, points, inputs=names, outputs=[f"{joint}.q"], progress=False)
        end = time.perf_counter()
        best = {"family": min(best["family"], end - middle), "raw calls": min(best["raw calls"], middle - begin)}
    return best


def report(runs: list[dict[str, float]]) -> str:
    """Return the table as markdown."""
    lines = [f"Medians over {len(runs)} processes of the fastest call.", "", "| | us |", "|---|---|"]
    lines += [f"| {name} | {1e6 * statistics.median(run[name] for run in runs):.3g} |" for name in runs[0]]
    pairs = (("12 dof, by hand", "12 dof, titop", "12 dof, by hand"), ("family of 10,000 points", "family", "raw calls"))
    lines += ["", "| ratio | at most | measured | met |", "|---|---|---|---|"]
    for what, ours, reference in pairs:
        ratio = statistics.median(run[ours] / run[reference] for run in runs)
        lines.append(f"| {what} | {GOALS[what]:g} | {ratio:.2f} | {'yes' if ratio <= GOALS[what] else 'NO'} |")
    return "\n".join(lines)


def main() -> None:
    """Time everything in fresh processes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5, help="fresh processes whose median is reported")
    parser.add_argument("--repeats", type=int, default=25, help="turns of each side, of which the fastest counts")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(time_calls(arguments.repeats) | time_family(arguments.repeats)))
        return
    command = [sys.executable, __file__, "--child", "--repeats", str(arguments.repeats)]
    done = [subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True) for _ in range(arguments.processes)]
    print(report([json.loads(run.stdout.splitlines()[-1]) for run in done]))


if __name__ == "__main__":
    main()
