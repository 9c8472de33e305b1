"""Equilibria of the cable-driven manipulator under random tensions, as key M has them: 24 coordinates, 0 to 100 N.

Rod and tendons are evaluated at the seven points of the paper, whose mean is 3.3 ms. With more points along
the tendons some sets press the tip so hard that a stretch of tendon has no length any more: no smooth equilibrium is left, and
`tt.trim` looks for it in load steps for a while, then names the sections that run through each other.

Run it: ``python examples/benchmarks/statics.py``
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import titop as tt

sys.path.insert(0, str(Path(__file__).parents[1]))
from cable_driven_manipulator import build

#: Largest tension (N), and what the mean shall be at most (ms).
LARGEST, GOAL = 100.0, 3.0


def main(argv: list[str] | None = None) -> tuple[float, list[str]]:
    """Print what an equilibrium takes; return the mean (s) and the stability of those that are found."""
    parser = argparse.ArgumentParser(description="Statics of a soft manipulator.")
    parser.add_argument("--sets", type=int, default=1000, help="of tensions")
    parser.add_argument("--along", type=int, nargs=2, default=(5, 5), help="Gauss points of straight and of helical tendons")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore", tt.ModelWarning)  # few points along a helix; sections that overlap under large tensions
    model = build(along=tuple(arguments.along)).resolve()
    rng, times, found = np.random.default_rng(0), [], []
    tt.trim(model, u=np.ones(model.nu))
    for _ in range(arguments.sets):
        tensions = rng.uniform(0.0, LARGEST, model.nu)
        begin = time.perf_counter()
        try:
            point = tt.trim(model, u=tensions)
        except tt.ConvergenceError:
            point = None
        times.append(time.perf_counter() - begin)
        found.append("none" if point is None else point.stability)
    counts = ", ".join(f"{found.count(kind)} {kind}" for kind in dict.fromkeys(found))
    mean, median = 1e3 * np.mean(times), 1e3 * np.median(times)
    print(f"{len(times)} sets of 0 to {LARGEST:.0f} N: {counts}; mean {mean:.2f} ms (goal {GOAL:.0f}), median {median:.2f} ms")
    return float(np.mean(times)), found


if __name__ == "__main__":
    main()
