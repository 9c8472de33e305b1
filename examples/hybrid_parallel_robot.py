"""A platform on three soft pillars, pushed and twisted: closed loops of rods.

The fourth robot of key M (section 5.2): three rods of 18 coordinates, spherical joints between them and a rigid platform, and
two revolute closures at pillars' feet (the third is clamped), 63 coordinates and ten constraints. Rods and platform are the
paper's. Where joints and hinges stand, the platform's density and the wrench are ours. It hangs: upright, pillars
so soft buckle under the platform's weight, as `main` prints. A block with own coordinates hangs on its parent port, a rod's
base: the two pillars that are closed at their feet have it at the platform.

Run it: ``python examples/hybrid_parallel_robot.py`` draws ``hybrid_parallel_robot.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

#: Of the pillars: length, width and height of the section (m), Young's modulus (Pa), density (kg/m^3), viscosity (Pa s).
LENGTH, SECTION, YOUNG, DENSITY, VISCOSITY = 0.15, (0.015, 0.03), 1e6, 1000.0, 1e4
#: Orders of their strains: 18 coordinates.
STRAINS = {"torsion": 3, "bending_y": 3, "bending_z": 3, "elongation": 1, "shear_y": 1, "shear_z": 1}
#: Of the platform: side of the triangle and thickness (m); how far from its middle the pillars stand (m), in what directions.
SIDE, THICKNESS, REACH = 0.2, 0.01, 0.08
ANGLES = np.deg2rad([0, 120, 240])
#: Of the wrench on the platform's middle, along fixed axes: amplitudes (N, N m), each with a period (s) of its own.
WRENCH, PERIODS = np.array([0.5, 0.5, 0.3, 0.05, 0.05, 0.05]), np.array([5, 2.5, 10, 10, 5, 2.5])


def pillar(name: str, viscosity: float = VISCOSITY) -> tt.Rod:
    """Return a pillar."""
    material = {"young": YOUNG, "poisson": 0.5, "density": DENSITY, "damping": viscosity}
    return tt.Rod(name, LENGTH, tt.Section.rectangle(*SECTION), **material, strains=STRAINS)


def along(vertical: float, angle: float) -> Array:
    """Return the rotation (3, 3) that maps x up or down, and y outwards at an angle."""
    x, y = np.array([0, 0, vertical]), np.array([np.cos(angle), np.sin(angle), 0])
    return np.column_stack([x, y, np.cross(x, y)])


def build(viscosity: float = VISCOSITY, gravity: float = -9.81) -> tt.System:
    """Return the robot; the pillars' feet are on the ceiling, at z = 0."""
    mass = DENSITY * np.sqrt(3) / 4 * SIDE**2 * THICKNESS
    across = mass * (SIDE**2 / 24 + THICKNESS**2 / 12)
    outwards = REACH * np.array([np.cos(ANGLES), np.sin(ANGLES), 0 * ANGLES]).T
    corners = {f"corner{k}": [*place[:2], THICKNESS / 2] for k, place in enumerate(outwards, 1)}
    platform = tt.RigidBody("platform", mass, inertia=[across, across, mass * SIDE**2 / 12], ports=corners)
    s = tt.System("hybrid parallel robot", gravity=[0, 0, gravity])
    down, first = along(-1.0, ANGLES[0]), pillar("pillar1", viscosity)
    s.connect("world", first, joint=tt.Weld("foot1"), placement=tt.Pose(outwards[0], down))
    s.connect(first.port("tip"), platform.port("corner1"), joint=tt.Spherical("ball1"), placement=tt.Pose(rotation=down.T))
    for k in (2, 3):
        up, rod = along(1.0, ANGLES[k - 1]), pillar(f"pillar{k}", viscosity)
        s.connect(platform.port(f"corner{k}"), rod, joint=tt.Spherical(f"ball{k}"), placement=tt.Pose(rotation=up))
        s.world.add_port(f"ceiling{k}", outwards[k - 1], up)
        s.close_loop(s.world.port(f"ceiling{k}"), rod.port("tip"), tt.RigidClosure(f"foot{k}", "revolute", axis=[0, 1, 0]))
    s.add_actuator(tt.Force("push", platform, frame="world"))
    s.add_actuator(tt.Torque("twist", platform, frame="world"))
    return s


def wrench(t: float) -> Array:
    """Return force and moment (6; N, N m) on the platform along fixed axes."""
    return WRENCH * np.sin(2 * np.pi * t / PERIODS)


def simulate(model: tt.Model, t: Array, method: str = "Radau", rtol: float = 1e-3, atol: float = 1e-6) -> tt.Trajectory:
    """Return the motion from rest under the wrench."""
    at_rest = tt.trim(model).q
    return tt.simulate(model, t, at_rest, np.zeros(model.nv), u=lambda t, q, v: wrench(t), method=method, rtol=rtol, atol=atol)


def shape(model: tt.Model, q: Array) -> tuple[Array, list[Array]]:
    """Return positions (4, 3; m) of the platform's edges, and along each pillar (21, 3; m)."""
    turns = ANGLES[[0, 1, 2, 0]]
    edges = SIDE / np.sqrt(3) * np.array([np.cos(turns), np.sin(turns), 0 * turns]).T
    rotation, middle = model.pose("platform", q)
    pillars = []
    for name in ("pillar1", "pillar2", "pillar3"):
        attitude, base = model.pose(name, q)
        own = q[[model.configuration_names.index(f"{name}.{coordinate}") for coordinate in pillar(name).coordinates]]
        pillars.append(base + pillar(name).section_poses(own, np.linspace(0, LENGTH, 21))[1] @ attitude.T)
    return middle + edges @ rotation.T, pillars


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate the robot, and draw its shapes and the platform's motion."""
    parser = argparse.ArgumentParser(description="A parallel robot with soft pillars.")
    parser.add_argument("--output", default="hybrid_parallel_robot.png")
    parser.add_argument("--duration", type=float, default=10.0, help="s")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    print(f"hanging the robot is {tt.trim(model).stability}, upright {tt.trim(build(gravity=9.81).resolve()).stability}")
    t = np.linspace(0, arguments.duration, round(20 * arguments.duration) + 1)
    trajectory = simulate(model, t)
    counted = trajectory.statistics
    opened = max(np.abs(model.closure_error(q)).max() for q in trajectory.q)
    print(f"{t[-1]:.0f} s of motion: {counted['steps']} steps, {counted['jacobians']} Jacobians, {counted['seconds']:.2f} s")
    print(f"loops closed within {opened:.1e}")

    figure = plt.figure(figsize=(8.4, 4.8), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.2, 1.0))
    space = figure.add_subplot(grid[:, 0], projection="3d")
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, 3))
    for k, colour in zip((0, (len(t) - 1) // 10, (len(t) - 1) * 3 // 10), colours, strict=True):
        edges, pillars = shape(model, trajectory.q[k])
        space.plot(*edges.T, color=colour, linewidth=2, label=f"{t[k]:.0f} s")
        for line in pillars:
            space.plot(*line.T, color=colour)
    fit_axes(space)
    space.legend(fontsize="small")
    motion = trajectory.motion("platform")
    places, angles = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    for k, name in enumerate("xyz"):
        places.plot(t, 1e3 * (motion[:, 12 + k] - motion[0, 12 + k]), label=name)
        angles.plot(t, np.rad2deg(motion[:, 15 + k]), label=name)
    places.set(ylabel="displacement [mm]")
    angles.set(xlabel="t [s]", ylabel="rotation [deg]")
    places.legend(fontsize="small")
    figure.savefig(arguments.output)
    plt.close(figure)
    return trajectory


if __name__ == "__main__":
    main()
