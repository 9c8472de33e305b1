"""The balloon's double pendulum swings up as fast as the rate of its motors' torques allows.

Motors in the joints of the balloon (``balloon.py``) raise the first pendulum by 60 degrees and keep the second one hanging
straight. Balloon and slider are free to move. Where the jerk of the joints is limited, the rates of the torques are finite:
hybrid dynamics give them exactly at each instant, the motion of the joints prescribed and all other efforts known, and tell how
short the motion may be. Of the same duration, the motion whose acceleration alone is limited needs torques that jump.

Run it: ``python examples/jerk_limited.py`` draws ``jerk_limited.png``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from balloon import build, resolve
from scipy.interpolate import PPoly
from scipy.optimize import brentq

import titop as tt
from titop.blocks.basics.spatial import Array

JOINTS = ["joint1", "joint2"]
TRAVEL = np.deg2rad([60, -60])
#: The highest rate of a motor's torque (N m/s), the time after the motion (s).
LIMIT, REST = 40.0, 1.5


def by_phases(durations: list[float], highest: list[float], travel: float) -> PPoly:
    """Return the motion from rest, whose highest derivative is constant in phases, scaled to its travel (rad), then rest."""
    knots = np.cumsum([0.0, *durations, REST])
    orders = 4 if len(durations) == 3 else 3
    c = np.zeros((orders, len(durations)))
    c[0] = np.array(highest)
    for phase in range(1, len(durations)):  # position and slopes go on where the phase before left them
        before = PPoly(c[:, phase - 1 : phase], [0.0, durations[phase - 1]])
        for order in range(orders - 1):
            c[orders - 1 - order, phase] = before.derivative(order)(durations[phase - 1]) / max(1, order)
    reached = PPoly(c, knots[:-1])(knots[-2])
    end = np.zeros((orders, 1))
    end[-1] = reached
    return PPoly(np.hstack([c, end]) * (travel / reached), knots)


def jerk_limited(duration: float, travel: float) -> PPoly:
    """Return the motion of one constant jerk up, down and up again."""
    return by_phases([duration / 4, duration / 2, duration / 4], [1.0, -1.0, 1.0], travel)


def acceleration_limited(duration: float, travel: float) -> PPoly:
    """Return the motion of one constant acceleration, and its opposite."""
    return by_phases([duration / 2, duration / 2], [1.0, -1.0], travel)


class Run(NamedTuple):
    """A simulated motion.

    Attributes
    ----------
    motion : titop.Trajectory
    rates : (n, 2) array, N m/s
        Of the motors' torques, without what they do in an instant.
    """

    motion: tt.Trajectory
    rates: Array


def run(m: tt.Model, profile, duration: float, points: int) -> Run:
    """Return the motion by a profile, hanging at first."""
    splines = {name: profile(duration, travel) for name, travel in zip(JOINTS, TRAVEL, strict=True)}
    t = np.linspace(0.0, duration + REST, points)
    still = m.configuration({}), np.zeros(m.nv)
    motion = tt.simulate(m, t, *still, prescribed=splines, rtol=1e-9, atol=1e-11)
    where = [m.coordinate_names.index(name) for name in JOINTS]
    a_series = np.zeros((points, 2, m.nv))
    for k, spline in zip(where, splines.values(), strict=True):
        a_series[:, 0, k], a_series[:, 1, k] = spline.derivative(2)(t), spline.derivative(3)(t)
    tau_series = m.hybrid_dynamics_series(motion.q, motion.v, np.zeros(a_series.shape), a_series, JOINTS)[1]
    return Run(motion, tau_series[:, 1, where])


def jump(m: tt.Model, motion: tt.Trajectory, rates: Array) -> float:
    """Return by how much (N m) torques change from a time to the next beyond what their rates say."""
    changes = np.diff(motion.tau[:, [m.coordinate_names.index(name) for name in JOINTS]], axis=0)
    step = motion.t[1] - motion.t[0]
    return float((np.abs(changes) - step * np.maximum(np.abs(rates[1:]), np.abs(rates[:-1]))).max())


def fastest(m: tt.Model) -> float:
    """Return the shortest duration (s) of the jerk-limited motion that keeps the limit."""

    def excess(duration: float) -> float:
        return float(np.abs(run(m, jerk_limited, duration, 121).rates).max()) - LIMIT

    return float(brentq(excess, 0.8, 4.0, xtol=1e-3))


def draw(m: tt.Model, runs: dict[str, Run], output: str) -> None:
    """Draw angles, torques, their rates, and the slider."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 5.6), sharex=True, layout="constrained")
    where, slider = [m.coordinate_names.index(name) for name in JOINTS], m.configuration_names.index("rail")
    for (name, (motion, rates)), style in zip(runs.items(), ("-", "--"), strict=True):
        for k, color in zip(range(2), ("tab:blue", "tab:orange"), strict=True):
            look = {"linestyle": style, "color": color, "linewidth": 1, "label": f"{JOINTS[k]}, {name}"}
            axes[0, 0].plot(motion.t, np.rad2deg(motion.coordinate(JOINTS[k])), **look)
            axes[0, 1].plot(motion.t, motion.tau[:, where[k]], **look)
            axes[1, 0].plot(motion.t, rates[:, k], **look)
        axes[1, 1].plot(motion.t, 1e3 * motion.q[:, slider], style, color="black", linewidth=1, label=name)
    axes[1, 0].axhspan(-LIMIT, LIMIT, color="0.5", alpha=0.15, label="limit")
    titles = ("joints [deg]", "torques [N m]", "their rates [N m/s]", "slider [mm]")
    for panel, title in zip(axes.flat, titles, strict=True):
        panel.set_title(title, fontsize=9)
        panel.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.35))
    axes[1, 0].legend(*([each[-1]] for each in axes[1, 0].get_legend_handles_labels()), fontsize=8)
    axes[1, 1].legend(fontsize=8)
    for panel in axes[-1]:
        panel.set_xlabel("t [s]")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, Run]:
    """Find the shortest motion, simulate, and draw."""
    parser = argparse.ArgumentParser(description="A jerk-limited motion of the balloon's double pendulum.")
    parser.add_argument("--output", default="jerk_limited.png")
    parser.add_argument("--points", type=int, default=401)
    arguments = parser.parse_args(argv)
    m = resolve(build())
    duration = fastest(m)
    print(f"the rates of the torques stay below {LIMIT:g} N m/s in {duration:.2f} s and more")
    profiles = {"jerk limited": jerk_limited, "acceleration limited": acceleration_limited}
    runs = {name: run(m, profile, duration, arguments.points) for name, profile in profiles.items()}
    for name, (motion, rates) in runs.items():
        print(f"{name}: torques up to {np.abs(motion.tau).max():.1f} N m, jumps of {jump(m, motion, rates):.1f} N m")
    draw(m, runs, arguments.output)
    return runs


if __name__ == "__main__":
    main()
