"""A block of your own: a soft segment of constant curvature between rigid bodies.

The segment (paper P's toy example) bends in its x-z plane; its one coordinate is the angle between its ends. The class
says where its cross-sections are and what they weigh; titop derives the rest and treats it like any built-in block.

Run it: ``python examples/custom_block.py`` draws ``custom_block.png``.
"""

from __future__ import annotations

import argparse
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import twist_transport

#: Gauss-Legendre points and weights on [0, 1]; ten points integrate bends up to a half circle to rounding.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(10)
POINTS, WEIGHTS = (POINTS + 1) / 2, WEIGHTS / 2


class ConstantCurvatureSegment(tt.Block):
    """A planar constant-curvature segment with circular cross-section.

    Port ``P`` is the base, port ``C`` the tip; the backbone leaves the base along local z.
    Parameters: length (m), radius (m), density (kg/m^3), stiffness (N m/rad), damping (N m s/rad).
    """

    coordinates = ("bend",)
    ports = ("C",)
    units = ("rad",)
    parameter_units: ClassVar = {
        "length": "m",
        "radius": "m",
        "density": "kg/m^3",
        "stiffness": "N m/rad",
        "damping": "N m s/rad",
    }

    def __init__(self, name, length=1.0, radius=1.0, density=1.0, stiffness=0.0, damping=0.0):
        super().__init__(name)
        self.length, self.radius, self.density = length, radius, density
        self.stiffness, self.damping = stiffness, damping

    def section(self, x, q):
        """Return the pose of the cross-section at abscissa x (0 to 1), and its motion a unit of dq/dt (6)."""
        angle, s = q[0] * x, x * self.length
        cosines, sines = np.cos(angle * POINTS), np.sin(angle * POINTS)
        c, z = np.cos(angle), 0 * angle
        rotation = np.array([[c, z, np.sin(angle)], [z, 1 + z, z], [-np.sin(angle), z, c]])
        position = s * np.array([WEIGHTS @ sines, z, WEIGHTS @ cosines])
        velocity = s * x * np.array([WEIGHTS @ (POINTS * cosines), z, -WEIGHTS @ (POINTS * sines)])
        return rotation, position, np.concatenate([rotation.T @ velocity, [z, x + z, z]])

    def pose(self, port, q):
        return self.section(1.0, q)[:2]

    def mass_matrix(self, q):
        area, second = np.pi * self.radius**2, np.pi * self.radius**4 / 4
        slice_inertia = self.density * self.length * np.diag([area, area, area, second, second, 2 * second])
        total = 0.0
        for x, weight in zip(POINTS, WEIGHTS, strict=True):
            rotation, position, motion = self.section(x, q)
            jacobian = np.column_stack([twist_transport(rotation, position), motion])
            total = total + weight * jacobian.T @ slice_inertia @ jacobian
        return total

    def elastic_energy(self, q):
        return 0.5 * self.stiffness * q[0] ** 2

    def damping_efforts(self, q, v):
        return -self.damping * v


def build(damping: float = 0.0) -> tt.System:
    """Return a free-flying hub that carries two soft segments in series and a tip body."""
    hub = tt.RigidBody("hub", mass=4.0, inertia=[0.4, 0.5, 0.6], ports={"top": [0, 0, 0.2]})
    tip = tt.RigidBody("tip", mass=0.5, com=[0, 0, 0.05], inertia=[0.01, 0.01, 0.005])
    near, far = (ConstantCurvatureSegment(name, 0.6, 0.05, 120.0, stiffness=3.0, damping=damping) for name in ("near", "far"))
    s = tt.System("soft arm", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    s.connect(hub.port("top"), near, joint=tt.Revolute("shoulder", axis=[0, 1, 0], stiffness=5.0))
    s.connect(near.port("C"), far, joint=tt.Weld("splice"))
    s.connect(far.port("C"), tip, joint=tt.Weld("wrist"))
    return s


def backbone(model: tt.Model, q: np.ndarray) -> np.ndarray:
    """Return points (2, n; m) along the arm in the x-z plane, from the hub's middle to the tip."""
    points = [model.pose("hub", q)[1]]
    for name in ("near", "far"):
        rotation, position = model.pose(name, q)
        bend = q[[model.configuration_names.index(f"{name}.bend")]]
        segment = model.mechanism.assembly.blocks[name]
        points += [position + rotation @ segment.section(x, bend)[1] for x in np.linspace(0, 1, 15)]
    return np.array([*points, model.pose("tip", q)[1]])[:, [0, 2]].T


def draw(trajectory: tt.Trajectory) -> Figure:
    """Draw the arm every 0.4 s, the later the darker."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axis = figure.subplots()
    for k in range(0, len(trajectory.t), 8):
        shade, label = f"{0.8 * (1 - k / len(trajectory.t)):.2f}", f"{trajectory.t[k]:.1f} s"
        axis.plot(*backbone(trajectory.model, trajectory.q[k]), color=shade, linewidth=3, label=label)
    axis.set(title="from the hub to the tip, from the side", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def main(argv: list[str] | None = None) -> None:
    """Let the arm swing freely, draw it, and show that energy and momentum are kept."""
    parser = argparse.ArgumentParser(description="A soft segment of constant curvature between rigid bodies.")
    parser.add_argument("--output", default="custom_block.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    q = model.configuration({"near.bend": 1.0, "far.bend": -0.5, "shoulder": 0.4})
    v = model.velocity({"base": [0.1, 0, 0, 0.2, 0.1, 0.3]})
    trajectory = tt.simulate(model, np.linspace(0, 2, 41), q, v, rtol=1e-9, atol=1e-11)
    energy = trajectory.energy().sum(axis=1)
    momentum = np.array([model.momentum(q, v) for q, v in zip(trajectory.q, trajectory.v, strict=True)])
    draw(trajectory).savefig(arguments.output)
    print(build())
    print(f"energy {energy[0]:.6f} J, largest change {np.ptp(energy):.1e} J over 2 s")
    print(f"momentum, largest change {np.ptp(momentum, axis=0).max():.1e}")


if __name__ == "__main__":
    main()
