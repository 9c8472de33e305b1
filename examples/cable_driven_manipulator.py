"""A soft manipulator that five tendons pull: the cable-driven manipulator of key M (section 4.5), 24 coordinates.

Three tendons run along the tapered surface, two wind around its axis as helices (Table 2). Statics: the shapes that each of
them gives alone. Dynamics: from rest, under tensions that change smoothly; these are our own, the paper only draws its.

Run it: ``python examples/cable_driven_manipulator.py`` draws ``cable_driven_manipulator.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

#: Length, radius at the base and at the tip (m).
LENGTH, BASE, TIP = 0.5, 0.03, 0.015
#: Orders of the strain's components: five functions for each angular one, three for each linear one.
STRAINS = {"torsion": 4, "bending_y": 4, "bending_z": 4, "elongation": 2, "shear_y": 2, "shear_z": 2}
#: Largest tensions of the tendons (N).
PULLS = {"tendon1": 30.0, "tendon2": 30.0, "tendon3": 30.0, "tendon4": 60.0, "tendon5": 60.0}
DURATION = 2.0


def build(points: int = 5, along: tuple[int, int] = (8, 20), viscosity: float = 1e4) -> tt.System:
    """Return the manipulator, hanging from the world, its tendons, and sensors of their lengths.

    Parameters
    ----------
    points : int
        Gauss points of the rod.
    along : pair of int
        Gauss points of the tendons on the surface and of the helical ones; the paper has the rod's for all of them.
    viscosity : float, Pa s
    """
    rod = tt.Rod(
        "rod",
        LENGTH,
        tt.Section.circle(radius=[BASE, TIP]),
        young=1e6,
        poisson=0.5,
        density=1000.0,
        damping=viscosity,
        strains=STRAINS,
        points=points,
    )
    downwards = tt.Pose(rotation=np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
    s = tt.System("cable-driven manipulator", gravity=[0, 0, -9.81])
    s.connect("world", rod, joint=tt.Weld("clamp"), placement=downwards)
    for number, angle in enumerate(np.radians([90, 210, 330]), start=1):  # on the surface, wherever it is
        tendon = tt.Tendon(f"tendon{number}", rod, y=np.cos(angle), z=np.sin(angle), relative=True, points=along[0])
        s.add_interaction(tendon)
    for number, side in ((4, 1.0), (5, -1.0)):  # two turns, at the tip's radius
        helix = tt.Tendon(
            f"tendon{number}",
            rod,
            y=lambda X: TIP * np.sin(4 * np.pi * X / LENGTH),
            z=lambda X, side=side: side * TIP * np.cos(4 * np.pi * X / LENGTH),
            points=along[1],
        )
        s.add_interaction(helix)
    for number in range(1, 6):
        s.add_sensor(tt.TendonSensor(f"gauge{number}", f"tendon{number}"))
    return s


def tensions(t: float) -> dict[str, float]:
    """Return the tensions (N) at a time (s): one tendon after the other, each for a second."""
    starts = {name: 0.25 * number for number, name in enumerate(PULLS)}
    shape = {name: np.sin(np.pi * np.clip(t - start, 0.0, 1.0)) ** 2 for name, start in starts.items()}
    return {f"{name}.tension": PULLS[name] * shape[name] for name in PULLS}


def backbone(model: tt.Model, q: Array) -> Array:
    """Return points (41, 3; m) on the rod's axis."""
    rotation, position = model.pose("rod", q)
    return np.asarray(
        position + model.mechanism.assembly.blocks["rod"].section_poses(q, np.linspace(0, LENGTH, 41))[1] @ rotation.T
    )


def draw(model: tt.Model, poses: dict[str, Array], trajectory: tt.Trajectory, output: str) -> None:
    """Draw the shapes, the way of the tip, and tensions and lengths of the tendons."""
    figure = plt.figure(figsize=(8.4, 7.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.5, 1.0])
    still, moving = (figure.add_subplot(grid[0, k], projection="3d") for k in range(2))
    for name, q in poses.items():
        still.plot(*backbone(model, q).T, linewidth=4, label=name)
    for k in range(0, len(trajectory.t), 10):
        moving.plot(*backbone(model, trajectory.q[k]).T, color=plt.get_cmap("viridis")(k / len(trajectory.t)), linewidth=2)
    moving.plot(*np.array([model.pose("rod.tip", q)[1] for q in trajectory.q]).T, color="C3")
    for axes, title in ((still, "one tendon each"), (moving, "in motion, and the tip's way")):
        axes.set_title(title)
        fit_axes(axes)
    pulls, lengths = (figure.add_subplot(grid[1, k]) for k in range(2))
    pulls.plot(trajectory.t, trajectory.u)
    pulls.legend(PULLS, fontsize="small", loc="upper left")
    pulls.set(xlabel="t [s]", ylabel="tension [N]")
    measured = trajectory.outputs()[:, ::2]
    lengths.plot(trajectory.t, 1e3 * (measured - measured[0]))
    lengths.set(xlabel="t [s]", ylabel="change of length [mm]")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tuple[dict[str, Array], tt.Trajectory]:
    """Find the shapes that the tendons give, move the manipulator, and draw both."""
    parser = argparse.ArgumentParser(description="A soft manipulator that five tendons pull.")
    parser.add_argument("--output", default="cable_driven_manipulator.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    hanging = tt.trim(model)
    poses = {name: tt.trim(model, q=hanging.q, u={f"{name}.tension": pull}).q for name, pull in PULLS.items()}
    for name, q in poses.items():
        place = ", ".join(f"{1e3 * x:.0f}" for x in model.pose("rod.tip", q)[1])
        print(f"{name} with {PULLS[name]:.0f} N: the tip is at ({place}) mm")
    t = np.linspace(0.0, DURATION, 81)
    solver = {"method": "BDF", "rtol": 1e-3, "atol": 1e-5}
    trajectory = tt.simulate(model, t, hanging.q, hanging.v, u=lambda time, q, v: tensions(time), **solver)
    print(f"motion: {trajectory.statistics['steps']} steps, {trajectory.statistics['jacobians']} Jacobians")
    draw(model, poses, trajectory, arguments.output)
    return poses, trajectory


if __name__ == "__main__":
    main()
