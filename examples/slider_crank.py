"""A slider-crank at constant speed: the torque that the crank takes, by inverse dynamics through the loop.

Crank and connecting rod carry the piston; a closure keeps the piston in its cylinder. All three hinges have coordinates, but
only the crank's is driven: ``inverse_dynamics(..., actuated=["crank_hinge"])`` finds its torque, the closure carries the rest.
The same torque comes out of a simulation in which the crank's motion is prescribed.

Run it: ``python examples/slider_crank.py`` draws ``slider_crank.png``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

#: Crank radius and rod length (m), and the crank's speed (rad/s): 1500 turns a minute.
RADIUS, ROD, SPEED = 0.04, 0.14, 50 * np.pi


def build() -> tt.System:
    """Return the mechanism; the cylinder lies along x."""
    crank = tt.RigidBody("crank", 1.2, com=[0.01, 0, 0], inertia=[1e-3, 1e-3, 2e-3], ports={"pin": [RADIUS, 0, 0]})
    rod = tt.RigidBody("rod", 0.6, com=[0.045, 0, 0], inertia=[1e-4, 1.5e-3, 1.5e-3], ports={"end": [ROD, 0, 0]})
    piston = tt.RigidBody("piston", 0.5, inertia=[4e-4, 4e-4, 4e-4])
    s = tt.System("slider-crank", gravity=[0, 0, -9.81])
    s.connect("world", crank, tt.Revolute("crank_hinge"))
    s.connect(crank.port("pin"), rod, tt.Revolute("rod_hinge"))
    s.connect(rod.port("end"), piston, tt.Revolute("piston_hinge"))
    s.close_loop("world", piston, tt.RigidClosure("cylinder", "prismatic", axis=[1, 0, 0]))
    return s


def resolve(system: tt.System) -> tt.Model:
    """Resolve without the warning of the redundant constraints: three of five act across the plane of motion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return system.resolve()


def turning(t: float) -> tuple[float, float, float]:
    """Return the crank's angle (rad), rate and acceleration at a time (s)."""
    return SPEED * t, SPEED, 0.0


def crank_torque(model: tt.Model, angle: float) -> tuple[Array, Array, Array, Array]:
    """Return q, v, a and the efforts at a crank angle: nothing is integrated, the closures give the rest of the motion."""
    driven = ["crank_hinge"]
    q = model.assemble(model.configuration({"crank_hinge": angle, "rod_hinge": -angle}), fixed=driven)
    v = model.assemble_velocity(q, model.velocity({"crank_hinge": SPEED}), fixed=driven)
    a = model.assemble_acceleration(q, v, np.zeros(model.nv), fixed=driven)
    return q, v, a, model.inverse_dynamics(q, v, a, actuated=driven)


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Find the torque both ways over two turns, and draw it."""
    parser = argparse.ArgumentParser(description="A slider-crank at constant speed.")
    parser.add_argument("--output", default="slider_crank.png")
    arguments = parser.parse_args(argv)
    model = resolve(build())
    t = np.linspace(0, 4 * np.pi / SPEED, 201)
    states = [crank_torque(model, SPEED * instant) for instant in t]
    torque = np.array([tau[0] for *_, tau in states])
    q, v, *_ = states[0]
    trajectory = tt.simulate(model, t, q, v, prescribed={"crank_hinge": turning}, rtol=1e-10, atol=1e-12)

    piston = trajectory.motion("piston")
    wall = -trajectory.reaction("cylinder")
    signals = {
        "piston position [mm]": 1e3 * piston[:, 12],
        "piston velocity [m/s]": piston[:, 6],
        "piston acceleration [m/s^2]": piston[:, 0],
        "crank torque [N m]": torque,
        "piston on cylinder, across [N]": wall[:, 1],
        "difference of torques [N m]": trajectory.tau[:, 0] - torque,
    }
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    work = np.trapezoid(torque, SPEED * t)
    print(f"crank torque between {torque.min():.1f} and {torque.max():.1f} N m, work over two turns {work:.1e} J")
    print(f"simulation and inverse dynamics differ by {np.abs(trajectory.tau[:, 0] - torque).max():.1e} N m at most")
    return trajectory


if __name__ == "__main__":
    main()
