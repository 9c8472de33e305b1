"""A vehicle that swims with six flagella: the underwater mobile robot of key M (section 6.3), 80 coordinates.

A body, free in water, turns two shafts, each of which drags three tapered flagella through the water by hooks: torques of 0.25
and -0.25 N m, 10 s. Everything is as dense as water, which it moves along (added mass) and which drags on it. The paper prints
lengths, torques and the flagella's material; dimensions of body and hooks and all coefficients are ours.

Run it: ``python examples/underwater_vehicle.py`` draws ``underwater_vehicle.png``.
"""

from __future__ import annotations

import argparse

import control
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

WATER = tt.Fluid(1000.0)
#: Lengths of the front and the rear flagella, and their radius at the base (m); they end in a point.
LENGTHS, BASE = (0.35, 0.5), 0.0125
#: Half length and radius of the body, radius of the shafts' heads (m), and how far flagella stand off from the axis (rad).
HALF, RADIUS, HEAD, TILT = 0.2, 0.06, 0.04, np.radians(50)
TORQUES, DURATION = {"front": 0.25, "rear": -0.25}, 10.0


def cylinder(name: str, length: float, radius: float, ports: dict[str, tt.Pose]) -> tt.RigidBody:
    """Return a cylinder along x, as dense as water, that moves as much of it along across its axis as it displaces."""
    volume = np.pi * radius**2 * length
    mass, across = WATER.density * volume, 2 * radius * length
    inertia = [mass * radius**2 / 2, *[mass * (radius**2 / 4 + length**2 / 12)] * 2]
    added, drag = {"x": 0.2, "y": 1.0, "z": 1.0}, {"x": 0.8 * np.pi * radius**2, "y": across, "z": across}
    drag["turn"] = 0.1 * WATER.density * radius * length**4
    return tt.RigidBody(name, mass, inertia=inertia, ports=ports, fluid=WATER, volume=volume, added_mass=added, drag=drag)


def flagellum(name: str, length: float) -> tt.Rod:
    """Return an inextensible rod with cubic strains in water, tapered to a point."""
    return tt.Rod(
        name,
        length,
        tt.Section.circle([BASE, 0.0]),
        young=1e6,
        poisson=0.5,
        density=WATER.density,
        damping=1e4,
        basis=3,
        fluid=WATER,
        added_mass="potential",
        drag={"normal": 1.1, "tangential": 0.03},
    )


def build() -> tt.System:
    """Return the vehicle, free in water at rest."""
    s = tt.System("underwater vehicle", gravity=[0, 0, -9.81])
    ends = {"front": tt.Pose([HALF, 0, 0]), "rear": tt.Pose([-HALF, 0, 0])}
    body = cylinder("body", 2 * HALF, RADIUS, ends)
    s.connect("world", body, tt.Free("float"))
    for end, length, side in zip(ends, LENGTHS, (1.0, -1.0), strict=True):
        angles = np.radians([0.0, 120.0, 240.0])
        rims = [[0.02 * side, HEAD * np.cos(angle), HEAD * np.sin(angle)] for angle in angles]
        around = [Rotation.from_euler("x", angle) for angle in angles]
        shaft = cylinder(f"{end}_shaft", 0.04, HEAD, {f"rim{k + 1}": tt.Pose(rims[k], around[k]) for k in range(3)})
        s.connect(body.port(end), shaft, tt.Revolute(end, axis=[1, 0, 0]))
        s.add_actuator(tt.Motor(f"{end}_motor", end))
        for k in range(3):
            out = tt.Pose([0, 0.02, 0], Rotation.from_euler("z", np.pi - TILT))
            hook = cylinder(f"{end}_hook{k + 1}", 0.03, BASE, {"out": out})
            s.connect(shaft.port(f"rim{k + 1}"), hook, tt.Weld(f"{end}_rim{k + 1}"))
            s.connect(hook.port("out"), flagellum(f"{end}{k + 1}", length), tt.Weld(f"{end}_root{k + 1}"))
    return s


def swim(model: tt.Model, t: Array, rtol: float = 1e-3, atol: float = 1e-6) -> tt.Trajectory:
    """Let the motors turn from rest."""
    torques = {f"{end}_motor": torque for end, torque in TORQUES.items()}
    return tt.simulate(model, t, model.neutral(), np.zeros(model.nv), u=torques, method="BDF", rtol=rtol, atol=atol)


def steady(run: tt.Trajectory) -> tt.OperatingPoint:
    """Return the motion at which the vehicle arrives: all flagella keep their shapes while the shafts turn."""
    model, names = run.model, run.model.coordinate_names
    shapes = [name for name in names if "." in name and not name.startswith("float")]
    moving = ["float.x", "float.rx", *TORQUES]
    rates = {name: run.v[-1, names.index(name)] for name in moving}
    torques = {f"{end}_motor": torque for end, torque in TORQUES.items()}
    return tt.trim(model, [*shapes, *(f"{name}.v" for name in moving)], q=run.q[-1], v=rates, u=torques)


def linear(point: tt.OperatingPoint) -> control.StateSpace:
    """Return the linear model about steady swimming, from the motors' torques to the speed and the rates of the shafts.

    While the shafts turn nothing changes for what all three flagella of each do alike, so that it holds for all times; held are
    the sideways motions, which meet flagella at angles that change.
    """
    sideways = ["float.y", "float.z", "float.ry", "float.rz"]
    outputs = [f"{name}.v" for name in ("float.x", *TORQUES)]
    return tt.linearize(point.model, point, [f"{end}_motor" for end in TORQUES], outputs, hold=sideways)


def backbones(model: tt.Model, q: Array) -> list[Array]:
    """Return points (31, 3; m) along each flagellum."""
    names = [(f"{end}{k}", length) for end, length in zip(TORQUES, LENGTHS, strict=True) for k in (1, 2, 3)]
    return [model.section_poses(name, np.linspace(0, length, 31), q)[1] for name, length in names]


def draw(run: tt.Trajectory, output: str) -> None:
    """Draw the vehicle at some times, how far it has come, and how fast the shafts turn."""
    model, figure = run.model, plt.figure(figsize=(8.4, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.6, 1.0])
    scene = figure.add_subplot(grid[0, :], projection="3d")
    for k in np.linspace(0, len(run.t) - 1, 3).astype(int):
        colour = plt.get_cmap("viridis")(0.88 * run.t[k] / DURATION)
        for line in backbones(model, run.q[k]):
            scene.plot(*line.T, color=colour, linewidth=2)
        axis = np.array([model.pose(f"body.{end}", run.q[k])[1] for end in TORQUES])
        scene.plot(*axis.T, color=colour, linewidth=8, label=f"{run.t[k]:.0f} s")
    fit_axes(scene)
    scene.set_title("with six flagella through water")
    scene.legend(fontsize="small")
    way, speeds = (figure.add_subplot(grid[1, k]) for k in range(2))
    for k, style in enumerate(("-", "-", "--")):  # y and z are zero
        way.plot(run.t, run.q[:, k], style, label="xyz"[k])
    way.set(xlabel="t [s]", ylabel="position of the body [m]")
    way.legend(fontsize="small")
    places = [model.coordinate_names.index(end) for end in TORQUES]
    speeds.plot(run.t, run.v[:, places] / (2 * np.pi), label=[*TORQUES])
    speeds.set(xlabel="t [s]", ylabel="turns of the shafts a second")
    speeds.legend(fontsize="small")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Let the vehicle swim for 10 s, and draw it."""
    parser = argparse.ArgumentParser(description="A vehicle swims with six flagella.")
    parser.add_argument("--output", default="underwater_vehicle.png")
    parser.add_argument("--animation", help="where to write an animation, as .html")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    run = swim(model, np.linspace(0.0, DURATION, 201))
    print(f"{model.nv} coordinates, {run.statistics['steps']} steps, {run.statistics['jacobians']} Jacobians")
    print(f"after {DURATION:.0f} s it has come {run.q[-1, 0]:.3f} m, and rolled by {rolled(run):.1f} degrees")
    point = steady(run)
    print(f"in the end it swims at {run.v[-1, 0]:.4f} m/s, steadily at {point.v[0]:.4f} m/s")
    rates = np.linalg.eigvals(linear(point).A)
    slowest = rates[np.abs(rates) > 1e-3].real.max()  # the others are positions and angles, on which nothing depends
    print(f"a linear model of {len(rates)} states: the speed follows torques within {-1.0 / slowest:.2f} s")
    draw(run, arguments.output)
    if arguments.animation:
        run.animate(arguments.animation)
    return run


def rolled(run: tt.Trajectory) -> float:
    """Return by how many degrees the body has turned about its axis."""
    return float(np.degrees(np.trapezoid(run.v[:, 3], run.t)))


if __name__ == "__main__":
    main()
