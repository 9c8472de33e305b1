"""A soft arm takes one shape after the other under PD control with compensation of potential forces: simulation 10 of key P.

Three PCC bodies that bend in two planes and stretch hang from the world, with an effort on every coordinate:
``tau = k_p (q_d - q) - k_d v + ID(q_d, 0, 0)``. One call of inverse dynamics has what gravity and elasticity ask of the shape.
The energy of the closed loop, kinetic energy and the potential about q_d, only falls, by what material and k_d take.

Sizes, material, gains and the last shape are the paper's, the other shapes our own. It prints C in GPa, here in MPa; for the
modulus see `soft_free_evolution.py`.

Run it: ``python examples/soft_shape_regulation.py`` draws ``soft_shape_regulation.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

#: Of the bodies: length and radius (m), density (kg/m^3), C (Pa), eta (s).
LENGTH, RADIUS, DENSITY, STIFFNESS, TIME = 0.2, 0.02, 1070.0, 5.55e6, 0.066
BODIES = ("upper", "middle", "lower")
#: Gains (N m or N/m; N m s or N s/m).
PROPORTIONAL, DAMPING = 0.2, 0.1
#: Bending about x and y (rad) and elongation (m) of every body, each for so long (s).
SHAPES = np.array(
    [[0.3, 0.3, 0.01, 0.3, 0.3, 0, 0.3, 0.3, 0], [-0.8, 0, 0, 0.8, 0, 0, -0.8, 0, 0], [0.5, 0.5, 0, -0.3, 0.3, 0, -1, 1, 0]]
)
HOLD = 5.0
STROBES = 8
KINEMATICS = tt.Kinematics.constant_curvature(LENGTH, elongation=True, spatial=True)


def build() -> tt.System:
    """Return the arm, which hangs from the world."""
    s = tt.System("soft arm", gravity=[0, 0, -9.81])
    material = tt.Material.neo_hookean(6 * STIFFNESS, 0.0, viscosity=TIME * STIFFNESS)
    domain = tt.Domain.cylinder(RADIUS, LENGTH, along=5, around=4, outwards=1)
    end: tt.PortRef | str = "world"
    placement: tt.Pose | None = tt.Pose(rotation=np.diag([1.0, -1.0, -1.0]))
    for name in BODIES:
        body = tt.SoftBody(name, KINEMATICS, domain, DENSITY, material)
        s.connect(end, body, tt.Weld(f"{name}_clamp"), placement=placement)
        end, placement = body.port("tip"), None
    return s


class Regulator:
    """PD control about a shape, with the efforts that hold it.

    Parameters
    ----------
    model : Model
    shape : (n,) array
    """

    def __init__(self, model: tt.Model, shape: Array) -> None:
        still = np.zeros(model.nv)
        self.shape, self.held = shape, model.inverse_dynamics(shape, still, still)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the efforts (n)."""
        return PROPORTIONAL * (self.shape - q) - DAMPING * v + self.held

    def energy(self, model: tt.Model, q: Array, v: Array) -> float:
        """Return the energy of the closed loop (J), zero at rest in the shape."""
        away, (_, *there) = q - self.shape, model.energy(self.shape, np.zeros(model.nv))
        potential = PROPORTIONAL / 2 * (away @ away) - self.held @ away
        return float(sum(model.energy(q, v)) - sum(there) + potential)


def simulate(model: tt.Model, t: Array) -> list[tuple[Regulator, tt.Trajectory]]:
    """Return what every shape's regulator does, each from the state before."""
    q, v, runs = model.neutral(), np.zeros(model.nv), []
    for shape in SHAPES:
        regulator = Regulator(model, shape)
        run = tt.simulate(model, t, q, v, tau=regulator, method="Radau", rtol=1e-6, atol=1e-9)
        q, v = run.q[-1], run.v[-1]
        runs.append((regulator, run))
    return runs


def centre_line(model: tt.Model, q: Array) -> Array:
    """Return points (33, 3; m) along the arm."""
    parts, heights = [], np.linspace(0.0, LENGTH, 11)
    for name, own in zip(BODIES, np.split(q, len(BODIES)), strict=True):
        rotation, position = model.pose(name, q)
        line = np.array([KINEMATICS(np.array([0.0, 0.0, z]), own) for z in heights], dtype=float)
        parts.append(position + line @ rotation.T)
    return np.concatenate(parts)


def main(argv: list[str] | None = None) -> list[tuple[Regulator, tt.Trajectory]]:
    """Regulate the shapes, and draw them."""
    parser = argparse.ArgumentParser(description="Shape regulation of a soft arm.")
    parser.add_argument("--output", default="soft_shape_regulation.png")
    parser.add_argument("--hold", type=float, default=HOLD, help="s for every shape")
    arguments = parser.parse_args(argv)
    model, t = build().resolve(), np.linspace(0.0, arguments.hold, 501)
    runs = simulate(model, t)
    for regulator, run in runs:
        away = np.abs(run.q - regulator.shape)
        late = np.nonzero((away > 0.02 * away[0].max()).any(axis=1))[0][-1]
        print(f"within 2 % of the step after {t[late]:.2f} s, in the end {away[-1].max():.1e} rad or m away")

    figure = plt.figure(figsize=(8.4, 7.2), layout="constrained")
    grid = figure.add_gridspec(3, 3, height_ratios=(1.6, 1.0, 1.0))
    shapes, efforts = figure.add_subplot(grid[1, :]), figure.add_subplot(grid[2, :])
    lengths = np.array(model.mechanism.assembly.configuration_units) == "m"
    for k, (regulator, run) in enumerate(runs):
        shapes.hlines(regulator.shape[~lengths], k * arguments.hold, (k + 1) * arguments.hold, "0.6", "dotted")
        space = figure.add_subplot(grid[0, k], projection="3d")
        for strobe in (np.linspace(0, 1, STROBES) ** 3 * (len(t) - 1)).round().astype(int):
            last = strobe == len(t) - 1
            line = centre_line(model, run.q[strobe])
            space.plot(*line.T, color="C0" if last else "0.75", linewidth=2.5 if last else 1.0, zorder=3 if last else 2)
        fit_axes(space, np.array([[-0.3, -0.3, -0.62], [0.3, 0.3, 0.0]]))
        space.set_title(f"step {k + 1}")
        for axes, curves in ((shapes, run.q), (efforts, run.tau)):
            axes.set_prop_cycle(None)
            axes.plot(t + k * arguments.hold, curves[:, ~lengths], linewidth=1)
    shapes.set(ylabel="bending [rad]\ndotted: wanted")
    efforts.set(xlabel="t [s]", ylabel="efforts [N m]")
    figure.savefig(arguments.output)
    plt.close(figure)
    return runs


if __name__ == "__main__":
    main()
