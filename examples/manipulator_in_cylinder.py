"""A soft manipulator that tendons press against the wall of a hollow cylinder: the contact scenario of key M (section 6.2).

The cable-driven manipulator, 24 coordinates, hangs on the axis of a cylinder of 15 cm radius whose wall pushes back on twelve
spheres along it, with ``1e5 N/m^1.5`` (Hertz's exponent; the paper prints N/m), without friction. Tensions that change smoothly
sweep it along the wall; they are our own, the paper only draws its.

Run it: ``python examples/manipulator_in_cylinder.py`` draws ``manipulator_in_cylinder.png``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

sys.path.insert(0, str(Path(__file__).parent))
import cable_driven_manipulator as manipulator

#: Radius of the wall (m), its stiffness (N/m^1.5), and how many spheres touch it.
RADIUS, STIFFNESS, SPHERES = 0.15, 1e5, 12
#: Tension of the tendons on the surface (N), how long they take to go around (s), and for how long they pull (s).
PULL, AROUND, DURATION = 60.0, 5.0, 10.0


def build(spheres: int = SPHERES) -> tt.System:
    """Return the manipulator inside of the cylinder.

    Parameters
    ----------
    spheres : int
        How many there are along the rod.
    """
    s = manipulator.build()
    wall = tt.Shape.cylinder(RADIUS, inside=True)
    s.add_interaction(tt.Contact("wall", stiffness=STIFFNESS, on=s["rod"], shape=wall, points=spheres), "world")
    return s


def tensions(t: float) -> dict[str, float]:
    """Return the tensions (N) at a time (s): those on the surface pull one after the other, around and around."""
    start = np.sin(0.5 * np.pi * min(t, 1.0)) ** 2
    angles = 2.0 * np.pi * (t / AROUND - np.arange(3) / 3.0)
    return {f"tendon{k + 1}.tension": PULL * start * np.cos(0.5 * angle) ** 2 for k, angle in enumerate(angles)}


def move(model: tt.Model, times: Array) -> tt.Trajectory:
    """Return the motion from rest."""
    hanging = tt.trim(model)
    solver = {"method": "BDF", "rtol": 1e-3, "atol": 1e-6}
    return tt.simulate(model, times, hanging.q, hanging.v, u=lambda t, q, v: tensions(t), **solver)


def draw(trajectory: tt.Trajectory, output: str) -> None:
    """Draw the manipulator in the wall, from the side and from above, and what the wall pushes back with."""
    model, touching = trajectory.model, trajectory.contacts("wall")
    figure = plt.figure(figsize=(8.4, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.6, 1.0])
    space, above, forces = (
        figure.add_subplot(grid[0, 0], projection="3d"),
        figure.add_subplot(grid[0, 1]),
        figure.add_subplot(grid[1, :]),
    )
    angles = np.linspace(0.0, 2.0 * np.pi, 61)
    ring = RADIUS * np.array([np.cos(angles), np.sin(angles)])
    for height in (0.0, -0.25, -0.5):
        space.plot(*ring, height, color="0.7", linewidth=0.8)
    above.plot(*ring, color="0.5")
    tips = np.array([model.pose("rod.tip", q)[1] for q in trajectory.q])
    for k in range(0, len(trajectory.t), len(trajectory.t) // 16):
        colour = plt.get_cmap("viridis")(k / len(trajectory.t))
        line = manipulator.backbone(model, trajectory.q[k])
        space.plot(*line.T, color=colour, linewidth=2.5)
        above.plot(*line[:, :2].T, color=colour, linewidth=1.2)
    above.plot(*tips[:, :2].T, color="C3", linewidth=1.0)
    space.set_title("in the cylinder")
    fit_axes(space)
    above.set(title="from above, and the tip's way", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    sizes = np.linalg.norm(touching.force, axis=-1)
    for k in np.flatnonzero(sizes.max(axis=0) > 0.0):
        forces.plot(trajectory.t, sizes[:, k], label=touching.names[k])
    forces.legend(fontsize="small")
    forces.set(xlabel="t [s]", ylabel="force on the sphere [N]")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Sweep the manipulator along the wall, and draw it."""
    parser = argparse.ArgumentParser(description="A soft manipulator inside of a hollow cylinder.")
    parser.add_argument("--output", default="manipulator_in_cylinder.png")
    arguments = parser.parse_args(argv)
    trajectory = move(build().resolve(), np.linspace(0.0, DURATION, 401))
    touching = trajectory.contacts("wall")
    print(f"motion: {trajectory.statistics['steps']} steps in {trajectory.statistics['seconds']:.2f} s")
    print(f"deepest {1e3 * touching.depth.max():.2f} mm, largest force {np.linalg.norm(touching.force, axis=-1).max():.1f} N")
    draw(trajectory, arguments.output)
    return trajectory


if __name__ == "__main__":
    main()
