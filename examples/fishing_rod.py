"""A fishing rod under heavier and heavier weights: a rod that bends far, joined to rigid bodies.

The rod is tapered, sags under its own weight, and carries a weight at its tip. Each equilibrium starts from the one before.

Run it: ``python examples/fishing_rod.py`` draws ``fishing_rod.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

#: Of the rod: length (m), radius at the base and at the tip (m), Young's modulus (Pa), density (kg/m^3).
LENGTH, RADII, YOUNG, DENSITY = 1.0, (0.012, 0.008), 3e7, 1000.0
#: Masses of the weight (kg).
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
#: Abscissas (m) of the sections that are looked at.
PLACES = np.linspace(0.0, LENGTH, 21)


def build() -> tt.System:
    """Return the rod, which leans upwards by 45 degrees, clamped to a post."""
    post = tt.RigidBody("post", mass=1.0, ports={"top": [0, 0, 1]})
    section = tt.Section.circle(radius=RADII)
    rod = tt.Rod("rod", LENGTH, section, young=YOUNG, density=DENSITY, strains={"bending_y": 5}, points=8)
    upwards = tt.Pose(rotation=np.array([[1, 0, -1], [0, np.sqrt(2), 0], [1, 0, 1]]) / np.sqrt(2))
    s = tt.System("fishing rod")
    s.connect("world", post, joint=tt.Weld("foot"))
    s.connect(post.port("top"), rod, joint=tt.Weld("clamp"), placement=upwards)
    s.connect(rod.port("tip"), tt.RigidBody("weight", mass=WEIGHTS[0]), joint=tt.Weld("knot"))
    return s


def moments(model: tt.Model, q: Array) -> Array:
    """Return the moments (21, N m) that sections of the resting rod transmit about y."""
    rest = np.zeros(model.nv)
    return model.section_wrenches("rod", PLACES, q, rest, rest)[:, 4]


def main(argv: list[str] | None = None) -> dict[float, Array]:
    """Find the rod's shape under every weight, and draw it."""
    parser = argparse.ArgumentParser(description="A fishing rod under heavier and heavier weights.")
    parser.add_argument("--output", default="fishing_rod.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    q, shapes, bending = model.neutral(), {}, {}
    for mass in WEIGHTS:
        point = tt.trim(model, q=q, parameters={"weight.mass": mass})
        q, loaded = point.q, point.model
        shapes[mass], bending[mass] = loaded.section_poses("rod", PLACES, q)[1], moments(loaded, q)
        print(f"{1e3 * mass:4.0f} g: the tip is at x = {shapes[mass][-1, 0]:.3f} m, z = {shapes[mass][-1, 2]:.3f} m")

    figure, (axes, beside) = plt.subplots(1, 2, figsize=(8.4, 4.4), layout="constrained", width_ratios=[5, 4])
    axes.plot([0, 0], [0, 1], color="0.6", linewidth=6)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(WEIGHTS)))
    for (mass, line), colour in zip(shapes.items(), colours, strict=True):
        axes.plot(line[:, 0], line[:, 2], color=colour, label=f"{1e3 * mass:.0f} g")
        axes.plot(*line[-1, [0, 2]], "o", color=colour, markersize=3 + 12 * np.cbrt(mass))
        beside.plot(PLACES, bending[mass], color=colour)
    axes.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", xlim=(-0.05, 1.25))
    axes.legend(title="weight", fontsize=8, loc="lower right")
    beside.set(xlabel="along the rod [m]", ylabel="bending moment about y [N m]")
    figure.savefig(arguments.output)
    plt.close(figure)
    return shapes


if __name__ == "__main__":
    main()
