"""What functions of the user's cost in simulations: time per step of a 7-dof arm, alone and driven; and ``to_nlsys`` a call.

Run it: ``python examples/benchmarks/driven_simulations.py``
"""

from __future__ import annotations

import argparse
import time
from timeit import Timer
from typing import Any

import numpy as np
from models import fixed_arm, system

import titop as tt

DAMPING = 2.0


def swing(t: float) -> tuple[float, float, float]:
    """Return a prescribed angle, its rate and its acceleration."""
    return 0.1 + 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)


def damped(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the efforts of dampers."""
    return -DAMPING * v


def build() -> tt.Model:
    """Return the arm with a motor in each joint."""
    s = system(fixed_arm())
    for k in range(1, 8):
        s.add_actuator(tt.Motor(f"motor{k}", f"link{k}_joint"))
    return s.resolve()


CASES: dict[str, dict[str, Any]] = {
    "alone": {},
    "tau=f(t, q, v)": {"tau": damped},
    "u=f(t, q, v)": {"u": damped},
    "wrenches={port: f(t, q, v)}": {"wrenches": {"link7": lambda t, q, v: np.array([np.sin(t), 0, 0, 0, 0, 0])}},
    "prescribed={joint: f(t)}": {"prescribed": {"link1_joint": swing}},
}


def per_step(model: tt.Model, given: dict[str, Any], repeats: int) -> float:
    """Return the CPU time (s) per step of DOP853 over two seconds of motion, the least of some runs."""
    t, q, v, best = np.linspace(0, 2, 21), np.linspace(0.1, 0.7, 7), np.zeros(7), np.inf
    for _ in range(repeats + 1):
        begin = time.process_time()
        run = tt.simulate(model, t, q, v, progress=False, **given)
        best = min(best, (time.process_time() - begin) / run.statistics["steps"])
    return best


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats, model = parser.parse_args().repeats, build()
    alone = per_step(model, {}, repeats)
    for name, given in CASES.items():
        taken = per_step(model, given, repeats)
        print(f"{name:30s} {1e6 * taken:7.0f} us a step, {taken / alone:5.1f} x alone")
    plant, x = model.to_nlsys(["motor1", "motor2"]), np.full(14, 0.1)
    call = min(Timer(lambda: plant.updfcn(0.0, x, np.ones(2), {})).repeat(repeats, 1000)) / 1000
    print(f"{'to_nlsys, rates':30s} {1e6 * call:7.1f} us a call")


if __name__ == "__main__":
    main()
