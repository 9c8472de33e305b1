"""A four-bar linkage from a model file: assembled, simulated, with the force that closes its loop.

Crank and rocker hang on the ground, the coupler on the crank; a pin between coupler and rocker closes the loop. The linkage
moves in a plane, so that three of the five constraints of a hinge in space are redundant. titop warns of this: the motion is
the same, and of the reactions those of least norm are found.

Run it: ``python examples/four_bar.py`` draws ``four_bar.png``.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import titop as tt
from titop.solvers.pictures.figures import plot_over_time

MODEL = Path(__file__).parent / "models" / "four_bar.toml"


def resolve(system: tt.System) -> tt.Model:
    """Resolve without the warning of the redundant constraints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return system.resolve()


def initial_state(model: tt.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return a closed configuration with the crank upright, and a velocity that keeps it closed."""
    q = model.assemble(model.configuration({"drive": np.pi / 2}), fixed=["drive"])
    return q, model.assemble_velocity(q, model.velocity({"drive": 1.0}), fixed=["drive"])


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate the linkage falling, and draw its motion and the force on the pin."""
    parser = argparse.ArgumentParser(description="A four-bar linkage.")
    parser.add_argument("--output", default="four_bar.png")
    arguments = parser.parse_args(argv)
    system = tt.load(MODEL)
    print(system)
    model = resolve(system)
    q, v = initial_state(model)
    rank = model.closure_rank(q)
    freedom = model.nv - rank
    print(f"{model.nv} coordinates, {len(model.constraint_names)} constraints of which {rank} are independent:")
    print(f"{freedom} degree of freedom, best followed by {', '.join(model.independent_coordinates(q))}")
    t = np.linspace(0, 10, 501)
    trajectory = tt.simulate(model, t, q, v, rtol=1e-10, atol=1e-12)

    turns = np.array([model.pose("rocker", q)[0] for q in trajectory.q])
    force = np.einsum("tij,tj->ti", turns, trajectory.reaction("pin")[:, :3])  # from the rocker's axes to the ground's
    energy = trajectory.energy()
    total = energy.sum(axis=1)
    closed = np.array([np.abs(model.closure_error(q)).max() for q in trajectory.q])
    rocker = np.unwrap(np.arctan2(turns[:, 1, 0], turns[:, 0, 0]))
    signals: dict[str, Any] = {
        "crank angle [rad]": trajectory.coordinate("drive"),
        "rocker angle [rad]": rocker,
        "crank rate [rad/s]": trajectory.v[:, 0],
        "pin on rocker [N]": {"x": force[:, 0], "y": force[:, 1]},
        "kinetic energy [J]": energy[:, 0],
        "energy drift [nJ]": 1e9 * (total - total[0]),
        "largest closure error [pm, prad]": 1e12 * closed,
    }
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    print(f"largest force on the pin {np.linalg.norm(force, axis=1).max():.1f} N")
    print(f"loop closed within {closed.max():.1e}, energy constant within {np.abs(total - total[0]).max():.1e} J")
    return trajectory


if __name__ == "__main__":
    main()
