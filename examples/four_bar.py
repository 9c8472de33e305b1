"""A four-bar linkage: a loop closed rigidly, assembled and simulated, with the force that closes it.

Crank, coupler and rocker hang on each other by revolute joints; the end of the rocker turns about a fixed point, which closes
the loop. The linkage moves in a plane, so that three of the five constraints of a hinge in space are redundant. titop warns of
this: the motion is the same, and of the reactions those of least norm are found.

Run it: ``python examples/four_bar.py`` draws ``four_bar.png``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import titop as tt
from titop.solvers.plotting import plot_over_time

#: Lengths (m) of crank, coupler and rocker, and of the ground between the fixed hinges. The crank can turn fully.
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.9, 0.7, 1.0


def bar(name: str, length: float, mass: float) -> tt.RigidBody:
    """Return a slender bar along x with a port at its end."""
    about = mass * length**2 / 12
    return tt.RigidBody(name, mass, com=[length / 2, 0, 0], inertia=[1e-2 * about, about, about], ports={"end": [length, 0, 0]})


def build() -> tt.System:
    """Return the linkage; gravity acts in its plane."""
    crank, coupler, rocker = bar("crank", CRANK, 1.0), bar("coupler", COUPLER, 2.0), bar("rocker", ROCKER, 1.5)
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [GROUND, 0, 0])
    s.connect("world", crank, tt.Revolute("crank_hinge"))
    s.connect(crank.port("end"), coupler, tt.Revolute("coupler_hinge"))
    s.connect(coupler.port("end"), rocker, tt.Revolute("rocker_hinge"))
    s.close_loop(s.world.port("ground"), rocker.port("end"), tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    return s


def resolve(system: tt.System) -> tt.Model:
    """Resolve without the warning of the redundant constraints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return system.resolve()


def initial_state(model: tt.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return a closed configuration with the crank upright, and a velocity that keeps it closed."""
    guess = model.configuration({"crank_hinge": np.pi / 2, "coupler_hinge": -1.2, "rocker_hinge": -1.2})
    q = model.assemble(guess, fixed=["crank_hinge"])
    return q, model.assemble_velocity(q, model.velocity({"crank_hinge": 1.0}), fixed=["crank_hinge"])


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate the linkage falling, and draw its motion and the force on the pin."""
    parser = argparse.ArgumentParser(description="A four-bar linkage.")
    parser.add_argument("--output", default="four_bar.png")
    arguments = parser.parse_args(argv)
    system = build()
    print(system)
    model = resolve(system)
    q, v = initial_state(model)
    freedom = model.nv - model.closure_rank
    print(f"{model.nv} coordinates, {len(model.constraint_names)} constraints of which {model.closure_rank} are independent:")
    print(f"{freedom} degree of freedom, best followed by {', '.join(model.independent_coordinates(q))}")
    t = np.linspace(0, 5, 501)
    trajectory = tt.simulate(model, t, q, v, rtol=1e-10, atol=1e-12)

    turns = np.array([model.pose("rocker", q)[0] for q in trajectory.q])
    force = np.einsum("tij,tj->ti", turns, trajectory.reaction("pin")[:, :3])  # from the rocker's axes to the ground's
    energy = trajectory.energy()
    total = energy.sum(axis=1)
    closed = np.array([np.abs(model.closure_error(q)).max() for q in trajectory.q])
    rocker = np.unwrap(np.arctan2(turns[:, 1, 0], turns[:, 0, 0]))
    signals = {
        "crank angle [rad]": trajectory.coordinate("crank_hinge"),
        "rocker angle [rad]": rocker,
        "crank rate [rad/s]": trajectory.v[:, 0],
        "ground on rocker, x [N]": force[:, 0],
        "ground on rocker, y [N]": force[:, 1],
        "kinetic energy [J]": energy[:, 0],
        "energy drift [nJ]": 1e9 * (total - total[0]),
        "largest closure error [pm, prad]": 1e12 * closed,
    }
    plot_over_time(t, signals).savefig(arguments.output, dpi=110)
    print(f"largest force on the pin {np.linalg.norm(force, axis=1).max():.1f} N")
    print(f"loop closed within {closed.max():.1e}, energy constant within {np.abs(total - total[0]).max():.1e} J")
    return trajectory


if __name__ == "__main__":
    main()
