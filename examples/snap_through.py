"""An arch that snaps through: a strip of rubber, clamped at one foot and hinged at the other, pushed at its top.

The arch of DaDeppo and Schmidt (1975): 215 degrees of a circle, no longer able to bear more than 8.97 E I/R^2. Both halves are
rods, the hinge closes a loop. `tt.equilibrium_path` follows the equilibria past the limit, where the load has to fall to hold
them, and back to where it rises again: between the limits a push that is held constant makes the arch jump.

Run it: ``python examples/snap_through.py`` draws ``snap_through.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

#: Radius (m), half the opening angle (rad), width and thickness of the strip (m), Young's modulus (Pa), density (kg/m^3).
RADIUS, HALF, SECTION, YOUNG, DENSITY = 0.2, np.deg2rad(215.0 / 2), (0.02, 0.004), 2e6, 1100.0
#: E I/R^2 (N), what pushes are compared with.
UNIT = YOUNG * SECTION[0] * SECTION[1] ** 3 / 12 / RADIUS**2


def build() -> tt.System:
    """Return the arch in the plane of x and y, its middle at the origin, and the push."""
    s, (sine, cosine) = tt.System("arch", gravity=[0, 0, 0]), (np.sin(HALF), np.cos(HALF))
    strip = {"section": tt.Section.rectangle(SECTION[1], SECTION[0]), "young": YOUNG, "density": DENSITY, "damping": 1e3}
    bent = {"strains": {"bending_z": 8}, "points": 12, "reference_strain": [0, 0, -1 / RADIUS, 1, 0, 0]}
    left, right = (tt.Rod(name, RADIUS * HALF, **strip, **bent) for name in ("left", "right"))
    foot = tt.Pose([-RADIUS * sine, RADIUS * cosine, 0], np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]))
    s.connect("world", left, tt.Weld("clamp"), foot)
    s.connect(left.port("tip"), right, tt.Weld("top"))
    s.world.add_port("hinge", [RADIUS * sine, RADIUS * cosine, 0])
    s.close_loop(s.world.port("hinge"), right.port("tip"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    s.add_load(tt.Load("push", left.port("tip"), force=[0, 0, 0], frame="world"))
    return s


def shape(model: tt.Model, q: Array) -> Array:
    """Return points (82, 2; m) on the arch."""
    lines = []
    for name in ("left", "right"):
        rotation, place = model.pose(name, q)
        rod = model.mechanism.assembly.blocks[name]
        own = q[model.mechanism.assembly.q_slices[name]]
        lines.append(place + rod.section_poses(own, np.linspace(0, RADIUS * HALF, 41))[1] @ rotation.T)
    return np.concatenate(lines)[:, :2]


def draw(path: tt.EquilibriumPath, output: str) -> None:
    """Draw the push over how far the top has come down, and shapes on the way."""
    model = path.points[0].model
    down = RADIUS - np.array([model.pose("left.tip", q)[1][1] for q in path.q])
    pushes, stands = -path.values("push.force.y") / UNIT, path.unstable == 0
    figure, (curve, space) = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained", width_ratios=(1.2, 1.0))
    curve.plot(down / RADIUS, pushes, color="C3", linewidth=1, label="unstable")
    curve.plot(down / RADIUS, np.where(stands, pushes, np.nan), color="C0", linewidth=3, label="stable")
    for kind, marker in (("limit", "o"), ("bifurcation", "s")):
        own = np.array([each == kind for each in path.kinds])
        curve.plot(down[own] / RADIUS, pushes[own], marker, color="black", label=kind if own.any() else None)
    curve.axhline(8.97, color="gray", linewidth=0.8, linestyle=":")
    curve.set(xlabel="top's way down / R", ylabel="push / (E I/R$^2$)")
    curve.legend(fontsize="small", loc="upper left", bbox_to_anchor=(0.0, 0.93))
    for k in [0, *(k for k, each in enumerate(path.kinds) if each == "limit"), int(pushes.size // 2), len(down) - 1]:
        space.plot(*shape(model, path.q[k]).T, color="C0" if stands[k] else "C3", linewidth=2.5 if stands[k] else 1)
    space.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tt.EquilibriumPath:
    """Follow the arch down, and draw it."""
    parser = argparse.ArgumentParser(description="An arch that snaps through.")
    parser.add_argument("--output", default="snap_through.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    path = tt.equilibrium_path(model, {"push.force.y": (0.0, -9.5 * UNIT)}, longest=0.5)
    for point in path.at("limit"):
        print(f"limit at a push of {-point.parameters['push.force.y'] / UNIT:.3f} E I/R^2")
    draw(path, arguments.output)
    return path


if __name__ == "__main__":
    main()
