"""An arm of seven driven joints with a soft hand: prescribed motion, and the torques that it takes.

The second robot of key M (section 5.1): seven rigid links, whose revolute joints are prescribed, carry a soft rod without
shear, 27 coordinates in all. The rod is the paper's. Of the rest the paper prints no numbers: links, joints and their motion
are ours. First the rod sags on the arm at rest, where the joints' torques are unknown as well; then the arm swings it about.

Run it: ``python examples/hybrid_serial_robot.py`` draws ``hybrid_serial_robot.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

#: Of the rod: length (m), radius at the base and at the tip (m), Young's modulus (Pa), density (kg/m^3), viscosity (Pa s).
LENGTH, RADII, YOUNG, DENSITY, VISCOSITY = 0.5, (0.015, 0.01), 1e6, 1000.0, 1e4
#: Of the links, which are tubes: lengths (m), mass over length (kg/m), radius (m).
LINKS, LINEAR_DENSITY, RADIUS = (0.1, 0.15, 0.1, 0.15, 0.1, 0.1, 0.05), 4.0, 0.02
#: Of the joints, which turn along their links and across them by turns: names, axes, where they begin and how far they
#: swing (rad), and in what time (s) to and fro.
JOINTS = tuple(f"joint{k}" for k in range(1, 8))
AXES = ([1, 0, 0], [0, 1, 0]) * 3 + ([1, 0, 0],)
HOME, SWING = np.deg2rad([0, 45, 0, 45, 0, 45, 0]), np.deg2rad([60, -30, 45, 30, -60, -45, 90])
PERIODS = (5.0, 10 / 3, 2.5, 5.0, 10 / 3, 2.5, 5.0)
#: Maps x, along which links and rod lie, to the vertical.
UPRIGHT = tt.Pose(rotation=np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))


def hand(viscosity: float = VISCOSITY) -> tt.Rod:
    """Return the rod."""
    material = {"young": YOUNG, "poisson": 0.5, "density": DENSITY, "damping": viscosity}
    return tt.Rod("rod", LENGTH, tt.Section.circle(radius=RADII), **material, strains="extensible", basis=4)


def build(viscosity: float = VISCOSITY) -> tt.System:
    """Return the arm, which stands on the ground, with the rod."""
    s = tt.System("hybrid serial robot", gravity=[0, 0, -9.81])
    end: tt.PortRef | str = "world"
    for name, axis, length in zip(JOINTS, AXES, LINKS, strict=True):
        mass = LINEAR_DENSITY * length
        across = mass * (length**2 / 12 + RADIUS**2 / 2)
        inertia, ports = [mass * RADIUS**2, across, across], {"end": [length, 0, 0]}
        link = tt.RigidBody(f"link_of_{name}", mass, com=[length / 2, 0, 0], inertia=inertia, ports=ports)
        s.connect(end, link, joint=tt.Revolute(name, axis=axis), placement=UPRIGHT if end == "world" else None)
        end = link.port("end")
    s.connect(end, hand(viscosity), joint=tt.Weld("flange"))
    return s


def swing(home: float, width: float, period: float) -> Callable[[float], tuple[float, float, float]]:
    """Return a motion to and fro, from rest: position, velocity and acceleration as a function of time."""
    rate = 2 * np.pi / period

    def motion(t: float) -> tuple[float, float, float]:
        sine, cosine = np.sin(rate * t), np.cos(rate * t)
        return home + width * (1 - cosine) / 2, width * rate * sine / 2, width * rate**2 * cosine / 2

    return motion


def rest(model: tt.Model) -> tt.OperatingPoint:
    """Return the equilibrium at the motion's beginning: the rod's shape, and the torques that hold the arm."""
    home = model.configuration(dict(zip(JOINTS, HOME, strict=True)))
    return tt.trim(model, ["rod", *(f"{name}.tau" for name in JOINTS)], q=home)


def simulate(model: tt.Model, t: Array, method: str = "BDF", rtol: float = 1e-3, atol: float = 1e-6) -> tt.Trajectory:
    """Return the motion from rest."""
    motions = dict(zip(JOINTS, map(swing, HOME, SWING, PERIODS), strict=True))
    return tt.simulate(model, t, rest(model).q, np.zeros(model.nv), prescribed=motions, method=method, rtol=rtol, atol=atol)


def shape(model: tt.Model, q: Array) -> tuple[Array, Array]:
    """Return positions (8, 3 and 21, 3; m) of the joints and the flange, and along the rod."""
    rotation, flange = model.pose("rod", q)
    links = np.array([*(model.pose(f"link_of_{name}", q)[1] for name in JOINTS), flange])
    rod = hand().section_poses(q[len(JOINTS) :], np.linspace(0, LENGTH, 21))[1]
    return links, flange + rod @ rotation.T


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate the robot, and draw its shapes, the tip's path and the torques."""
    parser = argparse.ArgumentParser(description="A serial robot with a soft hand.")
    parser.add_argument("--output", default="hybrid_serial_robot.png")
    parser.add_argument("--duration", type=float, default=10.0, help="s")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    point = rest(model)
    print(f"at rest the shoulder, {JOINTS[1]}, holds {point.tau[1]:.2f} N m")
    t = np.linspace(0, arguments.duration, round(40 * arguments.duration) + 1)
    trajectory = simulate(model, t)
    counted = trajectory.statistics
    print(f"{t[-1]:.0f} s of motion: {counted['steps']} steps, {counted['jacobians']} Jacobians, {counted['seconds']:.2f} s")

    figure = plt.figure(figsize=(9, 4.8), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.2, 1.0))
    axes = figure.add_subplot(grid[:, 0], projection="3d")
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, 6))
    for k, colour in zip(range(0, len(t), (len(t) - 1) // 5), colours, strict=True):
        links, rod = shape(model, trajectory.q[k])
        axes.plot(*links.T, color=colour, linewidth=3, label=f"{t[k]:.0f} s")
        axes.plot(*rod.T, color=colour)
    tip = trajectory.motion("rod.tip")[:, 12:15]
    axes.plot(*tip.T, color="tab:red", linewidth=0.7, label="tip")
    fit_axes(axes)
    axes.legend(fontsize="small", ncols=2, loc="upper left")
    efforts = figure.add_subplot(grid[:, 1])
    for k, name in enumerate(JOINTS):
        efforts.plot(t, trajectory.tau[:, k], label=name)
    efforts.set(xlabel="t [s]", ylabel="torque [N m]")
    efforts.legend(fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.savefig(arguments.output)
    plt.close(figure)
    return trajectory


if __name__ == "__main__":
    main()
