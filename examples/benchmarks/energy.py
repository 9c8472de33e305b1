"""Energy of the cable-driven manipulator over ten seconds: kept without damping, balanced with it.

Without damping it is let go of bent, and energy drifts as much as the tolerance lets it. With damping it is pulled as
in the example, and what its tendons do is compared with what is stored and lost.

Run it: ``python examples/benchmarks/energy.py``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

sys.path.insert(0, str(Path(__file__).parents[1]))
from cable_driven_manipulator import build, tensions


def drift(duration: float, tolerance: float) -> float:
    """Return the largest change of energy without damping, in parts of the largest kinetic energy."""
    model = build(viscosity=0.0).resolve()
    bent = tt.trim(model, u=[10.0, 0.0, 0.0, 20.0, 0.0]).q
    accuracy = {"method": "DOP853", "rtol": tolerance, "atol": 1e-2 * tolerance}
    trajectory = tt.simulate(model, np.linspace(0.0, duration, 101), bent, np.zeros(model.nv), **accuracy)
    energy = trajectory.energy()
    total: Array = energy.sum(axis=1)
    return float(np.abs(total - total[0]).max() / energy[:, 0].max())


def unbalanced(duration: float) -> float:
    """Return what the balance lacks with damping, in parts of what is lost; by six Gauss points on every 10 ms."""
    model, panels = build().resolve(), round(100 * duration)
    points, weights = np.polynomial.legendre.leggauss(6)
    times = np.concatenate([[0.0], *[0.01 * (k + (1 + points) / 2) for k in range(panels)], [0.01 * panels]])
    accuracy = {"method": "Radau", "rtol": 1e-9, "atol": 1e-12}
    at_rest = tt.trim(model).q
    trajectory = tt.simulate(model, times, at_rest, np.zeros(model.nv), u=lambda t, q, v: tensions(t), **accuracy)
    states = [*zip(trajectory.q, trajectory.v, trajectory.u, strict=True)][1:-1]
    every = np.tile(0.005 * weights, panels)
    work = every @ [model.actuation_matrix(q) @ u @ v for q, v, u in states]
    lost = every @ [model.dissipated_power(q, v) for q, v, _ in states]
    energy = trajectory.energy().sum(axis=1)
    return float(abs(energy[-1] - energy[0] - work + lost) / lost)


def main(argv: list[str] | None = None) -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description="Energy of a soft manipulator.")
    parser.add_argument("--duration", type=float, default=10.0, help="s")
    arguments = parser.parse_args(argv)
    for tolerance in (1e-6, 1e-9):
        print(f"without damping, DOP853 at rtol {tolerance:.0e}: energy drifts by {drift(arguments.duration, tolerance):.1e}")
    print(f"with damping, Radau at rtol 1e-09: the balance lacks {unbalanced(arguments.duration):.1e} of what is lost")


if __name__ == "__main__":
    main()
