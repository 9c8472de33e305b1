"""Which satellites point to the earth by themselves: poles of a rigid satellite about a circular orbit, for all inertias.

Gravity pulls harder at what is nearer to the earth, and turns a satellite that is long along the radius into that. Which
inertias are stable was found by Lagrange (long and towards the earth, in the upper right triangle) and by DeBra and Delp (the
small region at the lower left, held by gyroscopic torques alone, which damping would lose). Here it is read from the poles of
linear models about the orbit; then three satellites librate.

Run it: ``python examples/gravity_gradient.py`` draws ``gravity_gradient.png``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

ORBIT = tt.Orbit(tt.CentralGravity(3.986004418e14, 6378136.3), altitude=700e3, inclination=np.deg2rad(98))
YAW, ROLL = np.linspace(-0.97, 0.97, 39), np.linspace(-0.94, 0.94, 38)  # none with equal ratios, where pitch has no torque
#: Ratios (yaw, roll) of three satellites, and what they are.
SATELLITES = {"towards the earth": (0.3, 0.8), "gyroscopic": (-0.9, -0.05), "across": (0.8, 0.3)}


class Results(NamedTuple):
    """Growth of the fastest pole over the mean motion, for each `ROLL` and `YAW`, and runs of the three satellites."""

    growth: Array
    runs: dict[str, tt.Trajectory]


def inertia(yaw: float, roll: float) -> Array:
    """Return moments (3, kg m^2) about x (yaw), y (roll) and z (pitch), from ``(Iz - Iy) / Ix`` and ``(Iz - Ix) / Iy``."""
    return 100.0 * np.array([1 - roll, 1 - yaw, 1 - yaw * roll]) / (1 - yaw * roll)


def build() -> tt.System:
    """Return the satellite: one rigid body, free in Hill's frame of its orbit."""
    s = tt.System("satellite", gravity=ORBIT)
    s.connect("world", tt.RigidBody("hub", mass=500.0, inertia=inertia(0.3, 0.8)), joint=tt.Free("base"))
    return s


def with_ratios(model: tt.Model, yaw: float, roll: float) -> tt.Model:
    """Return the satellite with other moments of inertia."""
    return model.with_parameters(
        dict(zip(("hub.inertia.xx", "hub.inertia.yy", "hub.inertia.zz"), inertia(yaw, roll), strict=True))
    )


def growth(model: tt.Model) -> float:
    """Return the real part of the fastest pole of the attitude, over the mean motion."""
    by_q, by_v, _ = model.forward_dynamics_derivatives(model.neutral(), np.zeros(6), np.zeros(6))
    system = np.block([[np.zeros((3, 3)), np.eye(3)], [by_q[3:, 3:], by_v[3:, 3:]]])
    return float(np.linalg.eigvals(system).real.max() / ORBIT.mean_motion)


def angles(run: tt.Trajectory) -> Array:
    """Return yaw, roll and pitch (n, 3, deg) against Hill's frame."""
    return np.asarray(Rotation.from_quat(run.q[:, 3:]).as_rotvec(degrees=True))


def is_stable(yaw: Array, roll: Array) -> Array:
    """Return where the closed form (Hughes, Spacecraft Attitude Dynamics, section 9.3) has no pole that grows."""
    product = yaw * roll
    return (roll > yaw) & (product > 0) & (1 + 3 * roll + product > 4 * np.sqrt(np.maximum(product, 0)))


def draw(results: Results, path: str) -> None:
    """Draw the growth over both ratios with the closed form's boundary, and the librations."""
    figure = plt.figure(figsize=(9, 7), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=(1.5, 1))
    plane, motions = figure.add_subplot(grid[0, :]), [figure.add_subplot(grid[1, k]) for k in range(3)]
    levels, grown = np.linspace(0, 1.8, 10), np.maximum(results.growth, 0)
    filled = plane.contourf(YAW, ROLL, grown, levels=levels, cmap="magma_r", extend="max")
    figure.colorbar(filled, ax=plane, label="growth / mean motion")
    fine = np.linspace(-1, 1, 801)
    plane.contour(fine, fine, is_stable(*np.meshgrid(fine, fine)), levels=[0.5], colors="tab:cyan", linewidths=1.2)
    for (name, ratios), axes in zip(SATELLITES.items(), motions, strict=True):
        plane.plot(*ratios, "o", markersize=6, markeredgecolor="white", label=name)
        run = results.runs[name]
        axes.plot(run.t / ORBIT.period, angles(run), label=("yaw", "roll", "pitch"))
        axes.set(title=name, xlabel="orbits", ylim=(-40, 40))
    plane.set(xlabel="yaw: (Iz - Iy) / Ix", ylabel="roll: (Iz - Ix) / Iy")
    plane.set(aspect="equal", xticks=[-1, -0.5, 0, 0.5, 1])
    plane.legend(fontsize=9, loc="upper right", bbox_to_anchor=(-0.3, 1.0))
    motions[0].set_ylabel("angle [deg]")
    motions[0].legend(fontsize=8)
    figure.savefig(path)
    plt.close(figure)


def main(argv: list[str] | None = None) -> Results:
    """Find the poles of all inertias, let three satellites librate, and draw."""
    parser = argparse.ArgumentParser(description="Stability by gravity's gradient.")
    parser.add_argument("--output", default="gravity_gradient.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    found = np.array([[growth(with_ratios(model, yaw, roll)) for yaw in YAW] for roll in ROLL])
    yaw, roll = np.meshgrid(YAW, ROLL)
    agree = (found < 1e-6) == is_stable(yaw, roll)
    print(f"{found.size} satellites, {(found < 1e-6).sum()} of them stable; the closed form says so of {agree.mean():.1%}")
    tilted = model.integrate(model.neutral(), [0, 0, 0, *np.deg2rad([2.0, 1.5, 2.5])])
    times, runs = np.linspace(0, 3 * ORBIT.period, 301), {}
    for name, ratios in SATELLITES.items():
        runs[name] = tt.simulate(with_ratios(model, *ratios), times, tilted, np.zeros(6), rtol=1e-9, atol=1e-12)
        print(f"{name}: at most {np.abs(angles(runs[name])).max():.0f} deg from the earth in three orbits")
    results = Results(found, runs)
    draw(results, arguments.output)
    return results


if __name__ == "__main__":
    main()
