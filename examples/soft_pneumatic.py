"""Pressure in chambers bends a soft arm and lets it bulge: simulation 4 of key P.

Three planar PCC bodies hang from the world, with two chambers each, on the sides of x and of -x: constant curvature and
elongation, after sections have bulged on either side. Every pressure works on the volume of its chamber, ``p dV/dq``.

Sizes, material and pressures are the paper's, and its bump, scaled to 1 in the middle. What the paper does not say: sections
that bulge change the volume, so the material has a Poisson's ratio, 0.4, beside the shear modulus 2 C; chambers are half
cylinders.

Run it: ``python examples/soft_pneumatic.py`` draws ``soft_pneumatic.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

#: Of the bodies: length and radius (m), density (kg/m^3), C (Pa), eta (s); how far chambers stay from the walls (m).
LENGTH, RADIUS, DENSITY, STIFFNESS, TIME, WALL = 0.2, 0.02, 1062.0, 0.501e6, 0.1, 0.004
POISSON = 0.4
#: Points of bodies and chambers: bumps are so steep that six along a body would miss their middle.
ALONG, AROUND = 12, 12
#: Of the chambers of all bodies, one after the other (Pa).
PRESSURES = 1e6 * np.array([2.0, 0.0, 0.0, 2.0, 1.0, 0.4])
BODIES, DURATION, STROBES = ("upper", "middle", "lower"), 3.0, 12


def kinematics() -> tt.Kinematics:
    """Return PCC with a variable radius."""
    bulges = tt.Kinematics.bulges(LENGTH, RADIUS, along=4.0 / LENGTH)
    return bulges.then(tt.Kinematics.constant_curvature(LENGTH, elongation=True))


def chamber(side: float) -> tt.Domain:
    """Return half of a cylinder along the body, on the side of x or of -x, as far from the wall as it says."""
    half = tt.Domain.sector(RADIUS - WALL, np.pi, LENGTH, along=ALONG, around=AROUND)
    return half.placed(tt.Pose(rotation=np.diag([side, side, 1.0])))


def build() -> tt.System:
    """Return the arm, which hangs from the world, and its chambers."""
    s = tt.System("pneumatic arm", gravity=[0, 0, -9.81])
    shear = 2 * STIFFNESS
    material = tt.Material.neo_hookean(2 * (1 + POISSON) * shear, POISSON, viscosity=TIME * STIFFNESS)
    domain, moved = tt.Domain.cylinder(RADIUS, LENGTH, along=ALONG, around=AROUND), kinematics()
    end: tt.PortRef | str = "world"
    placement: tt.Pose | None = tt.Pose(rotation=np.diag([1.0, -1.0, -1.0]))
    for name in BODIES:
        body = tt.SoftBody(name, moved, domain, DENSITY, material)
        s.connect(end, body, tt.Weld(f"{name}_clamp"), placement=placement)
        end, placement = body.port("tip"), None
        for side, sign in (("right", 1.0), ("left", -1.0)):
            s.add_interaction(tt.SoftChamber(f"{name}_{side}", body, chamber(sign)))
    return s


def outline(model: tt.Model, q: Array) -> Array:
    """Return the arm's contour (k, 2; m) in the plane of x and z."""
    moved, heights = kinematics(), np.linspace(0.0, LENGTH, 41)
    sides: dict[float, list[Array]] = {1.0: [], -1.0: []}
    for name, own in zip(BODIES, np.split(q, len(BODIES)), strict=True):
        rotation, position = model.pose(name, q)
        for side, lines in sides.items():
            line = np.array([moved(np.array([side * RADIUS, 0.0, z]), own) for z in heights], dtype=float)
            lines.append((position + line @ rotation.T)[:, [0, 2]])
    return np.concatenate([*sides[1.0], *(line[::-1] for line in sides[-1.0][::-1])])


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Let the pressures act on the arm at rest, and draw it."""
    parser = argparse.ArgumentParser(description="A soft arm with pressure chambers.")
    parser.add_argument("--output", default="soft_pneumatic.png")
    parser.add_argument("--duration", type=float, default=DURATION, help="s")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    t, rest = np.linspace(0.0, arguments.duration, 301), np.zeros(model.nv)
    trajectory = tt.simulate(model, t, model.neutral(), rest, u=PRESSURES, method="Radau", rtol=1e-6, atol=1e-9)
    end = trajectory.q[-1]
    for name, (right, left, bend, stretch) in zip(BODIES, np.split(end, len(BODIES)), strict=True):
        print(f"{name:6s}: bent by {bend:6.3f} rad, longer by {1e3 * stretch:5.2f} mm, "
              f"bulges of {1e3 * right:.2f} and {1e3 * left:.2f} mm")  # fmt: skip

    figure = plt.figure(figsize=(8.4, 5), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.1))
    plane, strains, bulges = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    chosen = np.linspace(0, 1, STROBES) ** 2 * (len(t) - 1)
    for k in chosen.round().astype(int):
        last = k in (0, len(t) - 1)
        plane.fill(*outline(model, trajectory.q[k]).T, fill=False, color="C0" if last else "0.8", zorder=3 if last else 2)
    plane.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
    for k, name in enumerate(BODIES):
        strains.plot(t, trajectory.q[:, 4 * k + 2], color=f"C{k}", label=name)
        strains.plot(t, 100 * trajectory.q[:, 4 * k + 3], "--", color=f"C{k}")
        bulges.plot(t, 1e3 * trajectory.q[:, 4 * k], color=f"C{k}")
        bulges.plot(t, 1e3 * trajectory.q[:, 4 * k + 1], "--", color=f"C{k}")
    strains.set(ylabel="bending [rad]\ndashed: elongation [cm]")
    strains.set_ylim(top=3.6)
    strains.legend(fontsize="small", ncols=3, loc="upper right")
    bulges.set(xlabel="t [s]", ylabel="bulge, right [mm]\ndashed: left")
    figure.savefig(arguments.output)
    plt.close(figure)
    return trajectory


if __name__ == "__main__":
    main()
