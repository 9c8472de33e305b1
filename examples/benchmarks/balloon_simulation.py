"""The balloon for 20 s at rtol 1e-10: titop's simulation beside scipy's DOP853 around the same compiled right-hand side.

Run it: ``python examples/benchmarks/balloon_simulation.py``
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import titop as tt

sys.path.insert(0, str(Path(__file__).parent.parent))
from balloon import build, initial_state, resolve

GOAL = 0.35
TOLERANCES = {"rtol": 1e-10, "atol": 1e-12}


def run_titop(model: tt.Model, t: np.ndarray) -> np.ndarray:
    """Return the last state of `tt.simulate`."""
    trajectory = tt.simulate(model, t, *initial_state(model), progress=False, **TOLERANCES)
    return np.concatenate([trajectory.q[-1], trajectory.v[-1]])


def run_scipy(model: tt.Model, t: np.ndarray) -> np.ndarray:
    """Return the last state of scipy's DOP853 around the compiled state derivative."""
    kernel, arguments = model.mechanism.engine.state_derivative([], np.zeros(model.nv))
    dy = np.empty(model.nq + model.nv)

    def derivative(t: float, y: np.ndarray) -> np.ndarray:
        kernel(dy, t, y, *arguments)
        return dy.copy()

    return solve_ivp(derivative, (t[0], t[-1]), np.concatenate(initial_state(model)), "DOP853", t, **TOLERANCES).y[:, -1]


def ratio(repeats: int = 5) -> tuple[float, float, float]:
    """Return the times (s) of titop and scipy, minima of interleaved repeats, and how far their results are apart."""
    model, t = resolve(build()), np.linspace(0, 20, 201)
    times: dict[str, list[float]] = {"titop": [], "scipy": []}
    results = {}
    for _ in range(repeats + 1):
        for name, run in (("titop", run_titop), ("scipy", run_scipy)):
            begin = time.perf_counter()
            results[name] = run(model, t)
            times[name].append(time.perf_counter() - begin)
    return min(times["titop"]), min(times["scipy"]), float(np.abs(results["titop"] - results["scipy"]).max())


def main() -> None:
    """Print the median ratio over fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(*ratio())
        return
    rows = []
    for _ in range(arguments.processes):
        done = subprocess.run([sys.executable, __file__, "--child"], capture_output=True, text=True, check=True)
        rows.append([float(x) for x in done.stdout.split()])
    ours, scipy, difference = (statistics.median(column) for column in zip(*rows, strict=True))
    median = statistics.median(row[0] / row[1] for row in rows)
    print(f"titop {1e3 * ours:.1f} ms, scipy DOP853 {1e3 * scipy:.1f} ms, results differ by {difference:.1e}")
    print(f"ratio {median:.2f} (median of {len(rows)} processes; goal at most {GOAL})")


if __name__ == "__main__":
    main()
