"""A UR10e carries a soft arm with a soft gripper: it reaches, the arm swings up, the gripper closes (key P, simulation 2).

Rigid links, a Cosserat rod with three tendons and three fingers that keep their volume (LVP), each with a tendon of its own,
are one model. The torques are those of hybrid dynamics: joints accelerate as wanted, all that is soft moves as it does (partial
feedback linearisation). The rod is then under PD control with compensation of weight and elasticity, one call of inverse
dynamics; its tendons cannot push, and non-negative least squares allocate their tensions. Fingers are closed by tensions alone.

Configurations, times, the joints' gains and the rod are the paper's, and the robot's data, ``models/ur10e.toml``, those of
Universal Robots. Our own are where the rod's tendons run around its axis, its gains and the cubic along which it is led, and
the fingers: the paper has one hollow body under pressure.

Run it: ``python examples/soft_gripper_on_arm.py`` draws ``soft_gripper_on_arm.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

ROBOT = Path(__file__).parent / "models" / "ur10e.toml"
#: Of rod and fingers: length and radius (m), density (kg/m^3), C (Pa), eta (s).
LENGTH, RADIUS, DENSITY, STIFFNESS, TIME = 0.3, 0.02, 1070.0, 0.17857e6, 0.1
FINGER, WIDTH, FINGER_DENSITY, FINGER_STIFFNESS, FINGER_TIME = 0.08, 0.008, 960.0, 0.178e6, 0.05
#: How far tendons run from the axes of rod and fingers, and fingers stand from the middle of the palm (m).
LEVER, FINGER_LEVER, PALM = 0.015, 0.006, 0.03
FINGERS = ("finger1", "finger2", "finger3")
#: When each phase begins, and the last one ends (s).
PHASES = (0.0, 3.0, 5.0, 6.0)
#: Where the joints go (rad) and the rod (rad, rad, m); the tension that closes fingers (N), and within which time (s).
REACHED = np.array([np.pi / 2, -np.pi / 4, -np.pi / 4, -np.pi / 5, np.pi / 8, -np.pi / 2])
SWUNG = np.array([-np.pi / 2, np.pi / 4, -0.02])
GRIP, CLOSING = 4.0, 0.5
#: Gains: of the joints' error (1/s^2, 1/s), and of the rod (N m and N/m; N m s and N s/m).
STIFF, DAMPED = 100.0, 10.0
ROD_STIFF, ROD_DAMPED = np.array([1.0, 1.0, 3e3]), np.array([0.1, 0.1, 100.0])
JOINTS, ROD = slice(0, 6), slice(6, 9)


def build() -> tt.System:
    """Return the robot with its rod, palm, fingers and their tendons."""
    s = tt.load(ROBOT)
    free = dict.fromkeys(("bending_y", "bending_z", "elongation"), 0)
    section, viscosity = tt.Section.circle(RADIUS), TIME * STIFFNESS
    rod = tt.Rod("rod", LENGTH, section, 6 * STIFFNESS, DENSITY, poisson=0.5, damping=viscosity, strains=free)
    s.connect(s["wrist_3_link"], rod, tt.Weld("flange"), placement=tt.Pose([0, 0.117, 0], np.roll(np.eye(3), 1, axis=0)))
    for k, angle in enumerate(np.radians([60, 180, 300]), start=1):
        s.add_interaction(tt.Tendon(f"pull{k}", rod, y=LEVER * np.cos(angle), z=LEVER * np.sin(angle)))
    palm = tt.RigidBody("palm", mass=0.05, com=[0, 0, 0.005], inertia=[2e-5, 2e-5, 3e-5])
    s.connect(rod.port("tip"), palm, tt.Weld("wrist"), placement=tt.Pose(rotation=np.roll(np.eye(3), 1, axis=0)))

    bend = tt.Kinematics.planar_bending([lambda z: 1.0 / FINGER])
    moved = tt.Kinematics.elongation([lambda z: (z / FINGER) ** 2]).then(bend)
    material = tt.Material.incompressible_neo_hookean(FINGER_STIFFNESS, viscosity=FINGER_TIME * FINGER_STIFFNESS)
    domain = tt.Domain.cylinder(WIDTH, FINGER, along=5, outwards=1)
    for name, angle in zip(FINGERS, 2 * np.pi * np.arange(3) / 3, strict=True):
        finger = tt.SoftBody(name, moved, domain, FINGER_DENSITY, material)
        inwards, ahead = np.array([-np.cos(angle), -np.sin(angle), 0.0]), np.array([0.0, 0.0, 1.0])
        place = tt.Pose(0.01 * ahead - PALM * inwards, np.column_stack([inwards, np.cross(ahead, inwards), ahead]))
        s.connect(palm, finger, tt.Weld(f"{name}_root"), placement=place)
        s.add_interaction(tt.SoftTendon(f"{name}_pull", finger, [[FINGER_LEVER, 0, 0], [FINGER_LEVER, 0, FINGER]]))
    return s


def cubic(t: float, start: float, end: float) -> tuple[float, float, float]:
    """Return what goes from zero to one and from rest to rest between two times, and its derivatives (1, 1/s, 1/s^2)."""
    x = min(max((t - start) / (end - start), 0.0), 1.0)
    rate = 1.0 / (end - start)
    return x * x * (3 - 2 * x), 6 * x * (1 - x) * rate, 6 * (1 - 2 * x) * rate**2 * (0 < x < 1)


class Control:
    """What motors and tendons do in the three phases.

    Parameters
    ----------
    model : Model
    hanging : (3,) array
        Shape of the rod when the robot has reached its place.
    """

    def __init__(self, model: tt.Model, hanging: Array) -> None:
        self.model, self.hanging, self.joints = model, hanging, model.coordinate_names[JOINTS]

    def tensions(self, t: float, q: Array, v: Array) -> Array:
        """Return the tensions (6, N): those of the rod, then those of the fingers."""
        u, still = np.zeros(self.model.nu), np.zeros(self.model.nv)
        if t > PHASES[1]:
            part, rate, _ = cubic(t, *PHASES[1:3])
            way = SWUNG - self.hanging
            held = self.model.inverse_dynamics(q, still, still)[ROD]
            efforts = held + ROD_STIFF * (self.hanging + part * way - q[ROD]) + ROD_DAMPED * (rate * way - v[ROD])
            u[:3] = nnls(self.model.actuation_matrix(q)[ROD, :3], efforts)[0]
        u[3:] = GRIP * cubic(t, PHASES[2], PHASES[2] + CLOSING)[0]
        return u

    def torques(self, t: float, q: Array, v: Array) -> Array:
        """Return the efforts (15): torques of the motors (N m)."""
        part, rate, bend = cubic(t, *PHASES[:2])
        acceleration = np.zeros(self.model.nv)
        acceleration[JOINTS] = bend * REACHED + DAMPED * (rate * REACHED - v[JOINTS]) + STIFF * (part * REACHED - q[JOINTS])
        known = {"prescribed": self.joints, "u": self.tensions(t, q, v)}
        return np.asarray(self.model.hybrid_dynamics(q, v, np.zeros(self.model.nv), acceleration, **known)[1])


def sagging(model: tt.Model, joints: Array) -> Array:
    """Return the configuration (15) in which all that is soft hangs, without tensions, at joint angles (6)."""
    q, names = model.neutral(), model.coordinate_names
    q[JOINTS] = joints
    return np.asarray(tt.trim(model, [*names[6:], *(f"{name}.tau" for name in names[JOINTS])], q=q).q)


def simulate() -> tuple[Control, tt.Trajectory, Array]:
    """Return the control, the motion, and the weights of an integral over its times."""
    model = build().resolve()
    control = Control(model, sagging(model, REACHED)[ROD])
    nodes, weights = np.polynomial.legendre.leggauss(4)
    edges = np.linspace(PHASES[0], PHASES[-1], 121)
    t = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    t, shares = np.concatenate([[0.0], t.ravel(), edges[-1:]]), np.outer(np.diff(edges), weights / 2).ravel()
    start, rest = sagging(model, np.zeros(6)), np.zeros(model.nv)
    options = {"method": "Radau", "rtol": 1e-6, "atol": 1e-8}
    run = tt.simulate(model, t, start, rest, tau=control.torques, u=control.tensions, **options)
    return control, run, np.concatenate([[0.0], shares, [0.0]])


def balance(run: tt.Trajectory, weights: Array) -> tuple[float, float]:
    """Return the work of motors and tendons, and how much more of it there is than dissipated and stored energy (J)."""
    given = run.tau + np.einsum("kij,kj->ki", run.model.actuation_matrix(run.q), run.u)
    work, energy = float(weights @ (given * run.v).sum(axis=1)), run.energy().sum(axis=1)
    return work, float(work - weights @ run.model.dissipated_power(run.q, run.v) - energy[-1] + energy[0])


def draw_robot(axes: Any, model: tt.Model, q: Array, colours: tuple[str, str, str]) -> None:
    """Draw links and rod as lines, fingers with their surface."""
    links = ("base_link", "shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link")
    line = [model.pose(link, q)[1] for link in links]
    sections = model.section_poses("rod", np.linspace(0.0, LENGTH, 21), q)[1]
    axes.plot(*np.array([*line, sections[0]]).T, color=colours[0], linewidth=4, solid_joinstyle="round")
    axes.plot(*sections.T, color=colours[1], linewidth=3)
    draw_fingers(axes, model, q, colours[2])


def draw_fingers(axes: Any, model: tt.Model, q: Array, colour: str, alpha: float = 1.0, seen_from: str | None = None) -> None:
    """Draw the surface of the fingers, in the inertial frame or a body's."""
    z, angle = np.meshgrid(np.linspace(0.0, FINGER, 13), np.linspace(0.0, 2 * np.pi, 13), indexing="ij")
    resting = np.stack([WIDTH * np.cos(angle), WIDTH * np.sin(angle), z], axis=-1).reshape(-1, 3)
    axes_of, origin = (np.eye(3), np.zeros(3)) if seen_from is None else model.pose(seen_from, q)
    for name, own in zip(FINGERS, q[ROD.stop :].reshape(3, 2), strict=True):
        rotation, position = model.pose(name, q)
        points = position + model.mechanism.assembly.blocks[name].positions(own, resting) @ rotation.T
        axes.plot_surface(*((points - origin) @ axes_of).T.reshape(3, *z.shape), color=colour, alpha=alpha, linewidth=0)


def draw(run: tt.Trajectory, output: str) -> None:
    """Draw the robot at the ends of the phases, the fingers before and after, coordinates and tensions."""
    figure = plt.figure(figsize=(9, 7.4), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=(1.2, 1.0))
    space, near = figure.add_subplot(grid[:2, 0], projection="3d"), figure.add_subplot(grid[2, 0], projection="3d")
    ends = [run.q[np.searchsorted(run.t, t)] for t in PHASES]
    for q in ends[:3]:
        draw_robot(space, run.model, q, ("0.8", "0.6", "0.6"))
    draw_robot(space, run.model, ends[3], ("0.4", "C0", "C3"))
    space.plot(*np.array([run.model.pose("palm", q)[1] for q in run.q]).T, color="C1", linewidth=1)
    fit_axes(space)
    space.set_title("arm at the ends of the phases, path of the palm")
    draw_fingers(near, run.model, ends[2], "0.8", alpha=0.3, seen_from="palm")
    draw_fingers(near, run.model, ends[3], "C3", seen_from="palm")
    near.set(aspect="equal")
    near.view_init(15, 30)
    near.set_axis_off()
    near.set_title("fingers before and after they close", y=0.9)
    joints, soft, pulls = (figure.add_subplot(grid[k, 1]) for k in range(3))
    joints.plot(run.t, run.q[:, JOINTS], linewidth=1, label=[f"joint {k + 1}" for k in range(run.q[:, JOINTS].shape[1])])
    soft.plot(run.t, run.q[:, ROD][:, :2], "C0", linewidth=1, label="rod")
    soft.plot(run.t, run.q[:, ROD.stop + 1 :: 2], "C3", linewidth=1, label="fingers")
    pulls.plot(run.t, run.u[:, :3], "C0", run.t, run.u[:, 3:], "C3", linewidth=1)
    for axes, label in ((joints, "joints [rad]"), (soft, "bending [rad]"), (pulls, "tensions [N]")):
        axes.set(ylabel=label)
        for t in PHASES[1:-1]:
            axes.axvline(t, color="0.8", linewidth=1)
    pulls.set(xlabel="t [s]")
    joints.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    pulls.legend(pulls.lines[::3][:2], ["rod", "fingers"], fontsize="small")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tuple[Control, tt.Trajectory, Array]:
    """Let the robot reach, swing and grip, and draw it."""
    parser = argparse.ArgumentParser(description="A UR10e with a soft arm and a soft gripper.")
    parser.add_argument("--output", default="soft_gripper_on_arm.png")
    arguments = parser.parse_args(argv)
    control, run, weights = simulate()
    path = np.array([cubic(t, *PHASES[:2])[0] for t in run.t])[:, None] * REACHED
    (work, left), end = balance(run, weights), run.q[-1]
    print(f"joints: at most {np.abs(run.q[:, JOINTS] - path).max():.1e} rad from their path")
    print(f"rod: in the end {np.abs(end[ROD] - SWUNG).max():.1e} rad or m from its shape; tensions from {run.u.min():.2f} "
          f"to {run.u.max():.2f} N")  # fmt: skip
    print("fingers: bent by " + ", ".join(f"{bent:.3f}" for bent in end[ROD.stop + 1 :: 2]) + " rad")
    print(f"work of {work:.2f} J balanced within {abs(left):.1e} J")
    draw(run, arguments.output)
    return control, run, weights


if __name__ == "__main__":
    main()
