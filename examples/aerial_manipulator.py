"""An aerial manipulator's motion to forces and torques up to their fifth derivatives, and back (key L, section 7).

A hexarotor with tilted propellers carries two arms of three joints. Along the reference motion of Table 3 inverse dynamics say
which wrench the base needs, and which torques the joints, with five derivatives (rows of the picture, as in figure 3 of the
paper); forward dynamics turn these into the motion again (dashed). The propellers' speeds follow by allocation, and with the
derivative of the wrench how fast these have to change.

The paper does not print the phases of the motion, g, or anything of the propellers. Chosen here: a circle that begins at
(1, 0, 0) with yaw zero, 9.81 m/s^2; tilts of 30 and 10 deg, which change sign from propeller to propeller as the directions of
spin do (with the same tilt six propellers could not push sideways without turning the base), 1e-5 N s^2 of thrust, a drag of
0.019 m.

Run it: ``python examples/aerial_manipulator.py`` draws ``aerial_manipulator.png``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

DURATION, ORDER = 30.0, 5
#: Where the arms hang below the base, half a link, how far the arms are from each other (m): b, d, c of Table 3.
BELOW, HALF_LINK, SPACING = 0.10, 0.06, 0.18
#: First angles and travels of the joints (rad), Table 3.
START, TRAVEL = np.deg2rad([10, -5, 15, -10, 7, -12]), np.deg2rad([60, 50, 40, 55, 45, 35])
#: Propellers: distance (m), tilts about the radius and across (rad), thrust by speed squared (N s^2), drag by thrust (m).
RADIUS, TILTS, THRUST, DRAG = 0.4, np.deg2rad([30, 10]), 1e-5, 0.019

#: Of lines: x to rz, q2 to q7, p1 to p6.
COLOURS = ("blue", "orange", "green", "red", "magenta", "deepskyblue")


class Propeller(tt.Thruster):
    """A propeller along z of its port: its thrust (N) comes with a moment about its axis.

    Parameters
    ----------
    name, target
        See `titop.Thruster`.
    drag : float, m
        Moment by thrust, negative for the other direction of spin.
    """

    def __init__(self, name: str, target: tt.PortRef, drag: float) -> None:
        super().__init__(name, target)
        self.drag = drag

    @property
    def wrenches(self) -> Array:
        """Force and moment of a unit thrust."""
        return np.array([[0.0, 0.0, 1.0, 0.0, 0.0, self.drag]])


def build() -> tt.System:
    """Return the base with its propellers p1 to p6 and two arms with joints q2 to q7, as in figure 2 of the paper."""
    ports = {}
    for i in range(1, 7):
        about_z = Rotation.from_rotvec([0, 0, (2 - i) * np.pi / 3])
        tilted = about_z * Rotation.from_euler("XY", (-1) ** i * TILTS)
        ports[f"p{i}"] = tt.Pose(about_z.apply([RADIUS, 0, 0]), tilted)
    base = tt.RigidBody("base", 2.5, inertia=[0.03, 0.03, 0.05], ports=ports)
    s = tt.System("aerial manipulator", gravity=[0, 0, -9.81])
    s.connect("world", base, tt.Free("flight"))
    for first, side in ((2, 0.5), (5, -0.5)):
        parent, place = base, [side * SPACING, 0, -BELOW]
        for k, axis in enumerate(np.eye(3)[[1, 0, 2]], start=first):
            link = tt.RigidBody(f"B{k}", 0.25, com=[0, 0, -HALF_LINK], inertia=[0.002, 0.002, 0.001])
            s.connect(parent, link, tt.Revolute(f"q{k}", axis=axis), placement=place)
            parent, place = link, [0, 0, -2 * HALF_LINK]
    for i in range(1, 7):
        s.add_actuator(Propeller(f"propeller{i}", base.port(f"p{i}"), drag=(-1) ** i * DRAG))
    return s


def position(t):
    """Return the base's place (3, m) on the circle."""
    return [np.cos(2 * np.pi / 20 * t), np.sin(2 * np.pi / 20 * t), 0]


def attitude(t):
    """Return the base's Euler angles (3, rad): it yaws."""
    return [0, 0, np.deg2rad(25) * np.sin(2 * np.pi / 30 * t)]


def reference() -> dict:
    """Return the motion of Table 3 as functions of time."""

    def half_cosine(start: float, travel: float):
        return lambda t: start + travel / 2 * (1 - np.cos(np.pi * t / DURATION))

    joints = {f"q{k}": half_cosine(*each) for k, each in enumerate(zip(START, TRAVEL, strict=True), start=2)}
    return {"flight": (position, attitude)} | joints


class Solution(NamedTuple):
    """What was found along the motion.

    Attributes
    ----------
    t : (n,) array, s
    q : (n, 13) array
    v_series : (n, 7, 12) array
        Velocities and their derivatives.
    efforts : (n, 6, 12) array
        Wrench on the base in its frame, force first, and the joints' torques, with their derivatives.
    found : (n, 6, 12) array
        Accelerations and their derivatives again, from the efforts.
    speeds, changes : (n, 6) arrays, rad/s and rad/s^2
        Of the propellers.
    """

    t: Array
    q: Array
    v_series: Array
    efforts: Array
    found: Array
    speeds: Array
    changes: Array


def solve(m: tt.Model, t: Array) -> Solution:
    """Return what the motion needs at some times (n, s), and the motion that follows from that."""
    q, v_series = tt.trajectory_series(m, t, reference(), ORDER)
    efforts = m.inverse_dynamics_series(q, v_series)
    found = m.forward_dynamics_series(q, v_series[:, 0], efforts)

    allocation = m.actuation_matrix(q[0])[:6]  # fixed in the base
    thrusts = np.linalg.solve(allocation, efforts[:, :2, :6].swapaxes(1, 2))
    speeds = np.sqrt(thrusts[..., 0] / THRUST)
    return Solution(t, q, v_series, efforts, found, speeds, thrusts[..., 1] / (2 * THRUST * speeds))


def draw(s: Solution, output: str) -> None:
    """Draw motion, wrench and torques by order, three orders of them, and the propellers."""
    figure = plt.figure(figsize=(9, 7), layout="constrained")
    grid, shown = figure.add_gridspec(4, 4), (0, 2, ORDER)
    motion, names = s.v_series[:, 1:], ("base acceleration", "joint accelerations", "base wrench", "joint torques")
    base, joints = slice(6), slice(6, 12)
    panels = ((motion, s.found, base), (motion, s.found, joints), (s.efforts, None, base), (s.efforts, None, joints))
    for row, r in enumerate(shown):
        for column, (values, again, where) in enumerate(panels):
            axes = figure.add_subplot(grid[row, column])
            axes.set_prop_cycle(color=COLOURS)
            lines = axes.plot(s.t, values[:, r, where], linewidth=0.8)
            if again is not None:
                (found,) = axes.plot(s.t, again[:, r, where], "--", color="black", linewidth=0.6)[:1]
            axes.set_xticks([0, 10, 20, 30], [] if r < ORDER else None)
            if r == 0:
                axes.set_title(names[column], fontsize=10)
            if r == ORDER and column < 2:
                labels = (["x", "y", "z", "about x", "about y", "about z"], [f"joint {k}" for k in range(2, 8)])[column]
                place = ("outside lower left", "outside lower right")[column]
                figure.legend([*lines, found], [*labels, "from efforts"], fontsize=8, ncols=4, loc=place)
            if column == 0:
                axes.set_ylabel(f"derivative {r}" if r else "SI units")
    for place, values, label in (
        (slice(2), s.speeds, "propeller speeds [rad/s]"),
        (slice(2, 4), s.changes, "their rates [rad/s^2]"),
    ):
        axes = figure.add_subplot(grid[-1, place])
        axes.set_prop_cycle(color=COLOURS)
        axes.plot(s.t, values, linewidth=0.8)
        axes.set_title(label, fontsize=10)
        axes.set_xlabel("t [s]")
    for axes in figure.axes:
        axes.tick_params(labelsize=8)
        axes.yaxis.offsetText.set_fontsize(8)
        axes.ticklabel_format(axis="y", scilimits=(-2, 3))
        axes.grid(alpha=0.3)
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> Solution:
    """Solve along the motion, and draw."""
    parser = argparse.ArgumentParser(description="The aerial manipulator of paper L.")
    parser.add_argument("--output", default="aerial_manipulator.png")
    parser.add_argument("--points", type=int, default=301, help="times along the motion")
    arguments = parser.parse_args(argv)
    s = solve(build().resolve(), np.linspace(0, DURATION, arguments.points))
    errors = np.abs(s.found - s.v_series[:, 1:]).max(axis=(0, 2)) / np.abs(s.v_series[:, 1:]).max(axis=(0, 2))
    print("forward after inverse dynamics, relative error by order: " + ", ".join(f"{error:.0e}" for error in errors))
    print(f"propellers turn at {s.speeds.min():.0f} to {s.speeds.max():.0f} rad/s, at first {np.round(s.speeds[0]).tolist()}")
    draw(s, arguments.output)
    return s


if __name__ == "__main__":
    main()
