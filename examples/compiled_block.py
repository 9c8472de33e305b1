"""A compiled block of your own: a spring-loaded telescope with a slosh mass.

An outer tube is fixed to port ``P``; an inner tube slides out of it along z against a spring and carries port ``C`` at its
end; a mass on a spring sloshes across the inner tube, along x. The law is one function that numba compiles: each of the three
masses m at ``r``, moved by the coordinates along columns ``D``, adds ``m J^T J`` with ``J = [1, -r~, D]`` to the inertia, and
``m J^T (w x v + w x (w x r) + 2 w x D q')`` to the gyroscopic terms.

Run it: ``python examples/compiled_block.py`` draws ``compiled_block.png``.
"""

from __future__ import annotations

import argparse
from typing import ClassVar

import numpy as np

import titop as tt
from titop.solvers.pictures.figures import plot_over_time


def telescope_law(numbers, q, v, twist, terms):
    """Fill in the law of a telescope; see `titop.Law`. Loops over numbers cost less than expressions of small arrays."""
    length, outer, inner, slosh, spring, slosh_spring, damping, slosh_damping = numbers
    masses, turning = (outer, inner, slosh), (outer * length**2 / 12, inner * length**2 / 12, 0.0 * slosh)
    wx, wy, wz = twist[3], twist[4], twist[5]
    J = np.zeros((3, 8), terms.inertia.dtype)
    bias = np.zeros(3, J.dtype)
    for k in range(3):
        x, z = q[1] if k > 1 else 0.0 * q[1], length / 2 + (q[0] if k > 0 else 0.0 * q[0])
        J[0, 0] = J[1, 1] = J[2, 2] = 1.0
        J[0, 4], J[1, 3], J[1, 5], J[2, 4] = z, -z, x, -x
        J[2, 6], J[0, 7] = 1.0 if k > 0 else 0.0, 1.0 if k > 1 else 0.0
        slide_x, slide_z = J[0, 7] * v[1], J[2, 6] * v[0]
        # v + w x r + 2 D q', and w x that
        cx, cy, cz = twist[0] + wy * z + 2 * slide_x, twist[1] + wz * x - wx * z, twist[2] - wy * x + 2 * slide_z
        bias[0], bias[1], bias[2] = wy * cz - wz * cy, wz * cx - wx * cz, wx * cy - wy * cx
        for i in range(8):
            for row in range(3):
                for j in range(8):
                    terms.inertia[i, j] += masses[k] * J[row, i] * J[row, j]
                terms.gyroscopic[i] += masses[k] * J[row, i] * bias[row]
        # a slender tube along z turns about x and y
        terms.inertia[3, 3] += turning[k]
        terms.inertia[4, 4] += turning[k]
        terms.gyroscopic[3] -= turning[k] * wy * wz
        terms.gyroscopic[4] += turning[k] * wx * wz
    terms.passive[0] = -spring * q[0] - damping * v[0]
    terms.passive[1] = -slosh_spring * q[1] - slosh_damping * v[1]
    for i in range(3):
        terms.rotation[0, i, i] = 1.0
    terms.position[0, 2] = length + q[0]
    terms.subspace[0, 2, 0] = 1.0
    terms.bias[0, 0], terms.bias[0, 1] = wy * v[0], -wx * v[0]


def telescope_energy(numbers, q):
    """Return what both springs store."""
    return 0.5 * (numbers[4] * q[0] ** 2 + numbers[5] * q[1] ** 2)


class Telescope(tt.Block):
    """A spring-loaded telescope with a slosh mass.

    Parameters: length (m) of each tube, masses (kg) of outer tube, inner tube and slosh, springs (N/m) and dampers (N s/m) of
    the extension and of the slosh.
    """

    coordinates = ("extension", "slosh")
    ports = ("C",)
    compiled_law = tt.Law(telescope_law, energy=telescope_energy)
    parameter_units: ClassVar = {
        "length": "m",
        "outer": "kg",
        "inner": "kg",
        "slosh": "kg",
        "spring": "N/m",
        "slosh_spring": "N/m",
        "damping": "N s/m",
        "slosh_damping": "N s/m",
    }

    def __init__(
        self, name, length=1.0, outer=2.0, inner=1.0, slosh=0.5, spring=50.0, slosh_spring=20.0, damping=0.0, slosh_damping=0.0
    ):
        super().__init__(name)
        self.length, self.outer, self.inner, self.slosh = length, outer, inner, slosh
        self.spring, self.slosh_spring, self.damping, self.slosh_damping = spring, slosh_spring, damping, slosh_damping

    def law_numbers(self):
        return np.array([getattr(self, name) for name in self.parameter_units])

    def damping_efforts(self, q, v):
        return -np.array([self.damping * v[0], self.slosh_damping * v[1]])


def build() -> tt.System:
    """Return a free-flying hub with a telescope that carries a tip body."""
    hub = tt.RigidBody("hub", mass=10.0, inertia=[1.0, 1.2, 0.8], ports={"top": [0, 0, 0.3]})
    tip = tt.RigidBody("tip", mass=1.0, inertia=[0.02, 0.02, 0.01])
    s = tt.System("telescope on a hub", gravity=[0, 0, 0])
    telescope = Telescope("boom")
    s.connect("world", hub, joint=tt.Free("base"))
    s.connect(hub.port("top"), telescope, joint=tt.Revolute("root", axis=[0, 1, 0]))
    s.connect(telescope.port("C"), tip, joint=tt.Weld("wrist"))
    return s


def main(argv: list[str] | None = None) -> None:
    """Let the boom extend by its spin, draw it, and show that energy and momentum are kept."""
    parser = argparse.ArgumentParser(description="A block of one's own, compiled.")
    parser.add_argument("--output", default="compiled_block.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    v = model.velocity({"base": [0, 0, 0, 0.3, 0.5, 0.1], "root": 0.4})
    trajectory = tt.simulate(model, np.linspace(0, 5, 251), model.neutral(), v, rtol=1e-9, atol=1e-11)
    energy = trajectory.energy().sum(axis=1)
    momentum = np.array([model.momentum(q, v) for q, v in zip(trajectory.q, trajectory.v, strict=True)])
    extension = trajectory.coordinate("boom.extension")
    signals = {
        "extension [mm]": 1e3 * extension,
        "slosh mass in the outer tube [mm]": 1e3 * trajectory.coordinate("boom.slosh"),
        "root [deg]": np.rad2deg(trajectory.coordinate("root")),
        "energy's change [nJ]": 1e9 * (energy - energy[0]),
    }
    plot_over_time(trajectory.t, signals, columns=2).savefig(arguments.output)
    print(build())
    print(f"the spin pulls the boom out by up to {1e3 * extension.max():.1f} mm")
    print(f"energy {energy[0]:.6f} J, largest change {np.ptp(energy):.1e} J over 5 s")
    print(f"momentum, largest change {np.ptp(momentum, axis=0).max():.1e}")


if __name__ == "__main__":
    main()
