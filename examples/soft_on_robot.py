"""A UR10 carries a soft cylinder at its flange: feedback linearisation with and without it (key P, simulation 9).

The robot's joints are to follow ``cos(t)``, all at once; nothing drives the cylinder, 0.8 m of rubber of constant curvature
that bends both ways and stretches. The complete law cancels the dynamics of both, so that the error goes as a linear
equation says; the incomplete one knows the robot alone. The robot's data, ``models/ur10.toml``, are those of ROS-Industrial's
``ur_description``. (The paper prints C = 8 GPa, a metal's; here C is 8 MPa, and E = 6 C.)

Run it: ``python examples/soft_on_robot.py`` draws ``soft_on_robot.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

ROBOT = Path(__file__).parent / "models" / "ur10.toml"
#: Of the cylinder: length and radius (m), density (kg/m^3), Young's modulus (Pa), and how fast it creeps (s).
LENGTH, RADIUS, DENSITY, YOUNG, CREEP = 0.8, 0.02, 1070.0, 48e6, 0.054
#: Where it stands on the last link (m), and that its axis points away from the flange, along y.
FLANGE = tt.Pose([0, 0.0922, 0], [[1, 0, 0], [0, 0, 1], [0, -1, 0]])
STIFFNESS, DAMPING = 100.0, 50.0  # of the error's equation (1/s^2, 1/s)
BENT = np.pi / 4 * np.array([1, -1])  # at the start (rad)
JOINTS = 6


def build(carries: bool = True) -> tt.System:
    """Return the robot, with the cylinder or without."""
    s = tt.load(ROBOT)
    if carries:
        bend = tt.Kinematics.constant_curvature(LENGTH, elongation=True, spatial=True)
        # sections are rigid: Poisson's ratio of zero keeps them from stiffening E
        material = tt.Material.neo_hookean(YOUNG, 0.0, 0.5 * CREEP * YOUNG)
        cylinder = tt.SoftBody("cylinder", bend, tt.Domain.cylinder(RADIUS, LENGTH), DENSITY, material)
        s.connect(s["wrist_3_link"], cylinder, tt.Weld("flange"), placement=FLANGE)
    return s


def reference(t: float) -> tuple[Array, Array, Array]:
    """Return position, velocity and acceleration of the joints (6 each)."""
    return np.full(JOINTS, np.cos(t)), np.full(JOINTS, -np.sin(t)), np.full(JOINTS, -np.cos(t))


def wanted(t: float, q: Array, v: Array) -> Array:
    """Return the acceleration (6) with which the error goes as ``e'' + 50 e' + 100 e = 0``."""
    position, velocity, acceleration = reference(t)
    return acceleration + DAMPING * (velocity - v[:JOINTS]) + STIFFNESS * (position - q[:JOINTS])


def complete(model: tt.Model):
    """Return the law ``f(t, q, v) -> tau`` that knows the cylinder, which moves freely while the joints do as wanted."""

    def law(t: float, q: Array, v: Array) -> Array:
        acceleration = np.zeros(model.nv)
        acceleration[:JOINTS] = wanted(t, q, v)
        return model.hybrid_dynamics(q, v, np.zeros(model.nv), acceleration, prescribed=model.coordinate_names[:JOINTS])[1]

    return law


def incomplete(robot: tt.Model, model: tt.Model):
    """Return the law that knows the robot alone."""

    def law(t: float, q: Array, v: Array) -> Array:
        tau = np.zeros(model.nv)
        tau[:JOINTS] = robot.inverse_dynamics(q[:JOINTS], v[:JOINTS], wanted(t, q, v))
        return tau

    return law


def run(duration: float) -> dict[str, tt.Trajectory]:
    """Return the motions under both laws."""
    model, robot = build().resolve(), build(carries=False).resolve()
    q = np.concatenate([np.zeros(JOINTS), BENT, [0.0]])
    t = np.linspace(0.0, duration, round(50 * duration) + 1)
    laws = {"complete": complete(model), "incomplete": incomplete(robot, model)}
    rest = np.zeros(model.nv)
    options = {"method": "Radau", "rtol": 1e-6, "atol": 1e-8}
    return {name: tt.simulate(model, t, q, rest, tau=law, **options) for name, law in laws.items()}


def errors(trajectory: tt.Trajectory) -> Array:
    """Return the errors of the joints (n, 6; rad)."""
    return np.array([q[:JOINTS] - reference(t)[0] for t, q in zip(trajectory.t, trajectory.q, strict=True)])


def draw(runs: dict[str, tt.Trajectory], output: str) -> None:
    """Draw the errors, the cylinder's bending and the torques under both laws."""
    figure, rows = plt.subplots(3, 2, figsize=(8.4, 7), sharex=True, sharey="row", layout="constrained")
    for column, (name, motion) in zip(rows.T, runs.items(), strict=True):
        column[0].plot(motion.t, errors(motion), linewidth=1, label=[f"joint {k + 1}" for k in range(JOINTS)])
        column[1].plot(motion.t, motion.q[:, JOINTS : JOINTS + 2], linewidth=1, label=["about x", "about y"])
        column[2].plot(motion.t, motion.tau[:, :JOINTS], linewidth=1)
        column[0].set(title=f"{name} linearisation")
        column[2].set(xlabel="t [s]")
    for axes, label in zip(rows[:, 0], ("error [rad]", "bending [rad]", "torque [N m]"), strict=True):
        axes.set(ylabel=label)
    rows[2, 0].set(yscale="symlog")
    for axes in (rows[0, 0], rows[1, 0]):
        axes.legend(fontsize=8, ncols=2)
    for axes in rows.flat:
        axes.grid(alpha=0.3)
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, tt.Trajectory]:
    """Simulate both laws, and draw."""
    parser = argparse.ArgumentParser(description="A UR10 with a soft cylinder.")
    parser.add_argument("--output", default="soft_on_robot.png")
    parser.add_argument("--duration", type=float, default=10.0)
    arguments = parser.parse_args(argv)
    runs = run(arguments.duration)
    for name, motion in runs.items():
        late = np.abs(errors(motion))[motion.t >= 0.5 * arguments.duration].max(axis=0)
        bent = np.abs(motion.q[:, JOINTS : JOINTS + 2]).max()
        worst = int(late.argmax()) + 1
        print(f"{name}: error in the second half {late.max():.2g} rad at joint {worst}; bent up to {bent:.2f} rad")
    draw(runs, arguments.output)
    return runs


if __name__ == "__main__":
    main()
