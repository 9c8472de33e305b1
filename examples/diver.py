"""A diver sinks: a body of one's own in water, with buoyancy, added mass and drag.

The hull is a `tt.RigidBody` that says three things more: its inertia holds the water that it moves along; it weighs less by the
water that it displaces (`weight`); and the water drags on it, by the square of the speed (`applied_efforts`). Dynamics,
derivatives, trim and linear model know of it: it sinks at the speed at which drag bears its weight in water, and what disturbs
that speed fades at a rate of twice ``weight / (inertia speed)``. A `tt.RigidBody` with a ``fluid`` has the same ready; here is
how a body of one's own says it.

Run it: ``python examples/diver.py`` draws ``diver.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

WATER, GRAVITY = 1000.0, 9.81
#: Mass (kg), volume (m^3), and how far the mass hangs below the middle of the hull (m).
MASS, VOLUME, BALLAST = 41.0, 0.04, 0.12
#: Water that moves along (kg) and drag (kg/m) across the hull and along it; damping of turns (N m s).
ACROSS, ALONG = (38.0, 150.0), (4.0, 12.0)
TURNING = 6.0


class Hull(tt.RigidBody):
    """A slender hull along z in water, its frame in its middle."""

    along, against = (np.array([across, across, along]) for across, along in zip(ACROSS, ALONG, strict=True))

    def mass_matrix(self, q: Array | None = None) -> Array:
        """Return the inertia of hull and water."""
        return super().mass_matrix(q) + np.diag([*self.along, 2.0, 2.0, 0.0])

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return what gravity pulls at: the mass less the displaced one, and its first moment."""
        return self.mass - WATER * VOLUME, self.mass * self.com

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the drag, in the hull's frame."""
        speed = np.sqrt(twist[:3] @ twist[:3] + 1e-12)  # not a norm: derivatives are complex steps
        return -np.concatenate([self.against * speed * twist[:3], TURNING * twist[3:]])


def build() -> tt.System:
    """Return the hull, free in water."""
    s = tt.System("diver", gravity=[0, 0, -GRAVITY])
    s.connect("world", Hull("hull", MASS, com=[0, 0, -BALLAST], inertia=[3.0, 3.0, 0.5]), joint=tt.Free("base"))
    return s


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, tt.OperatingPoint]:
    """Let it go, tilted, draw it, and compare where it ends with the equilibrium and its linear model."""
    parser = argparse.ArgumentParser(description="A diver sinks in water.")
    parser.add_argument("--output", default="diver.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    tilted = model.configuration({"base": [0, 0, 0, np.sin(0.2), 0, 0, np.cos(0.2)]})
    trajectory = tt.simulate(model, np.linspace(0, 40, 401), tilted, np.zeros(6), rtol=1e-8, atol=1e-10)
    sinking = tt.trim(model, ["base.z.v"], v={"base.z": -1.0})
    poles = tt.linearize(model, sinking).poles()
    axes = trajectory.model.pose("hull", trajectory.q)[0][..., 2]
    signals = {
        "height [m]": trajectory.q[:, 2],
        "drift across [m]": np.linalg.norm(trajectory.q[:, :2], axis=1),
        "sinks along its axis with [m/s]": -trajectory.v[:, 2],
        "tilt [deg]": np.rad2deg(np.arccos(np.clip(axes[:, 2], -1, 1))),
    }
    plot_over_time(trajectory.t, signals, columns=2).savefig(arguments.output)
    print(build())
    print(f"after 40 s it sinks at {-trajectory.v[-1, 2]:.4f} m/s, steadily at {-sinking.v[2]:.4f} m/s")
    print(f"closed form {np.sqrt((MASS - WATER * VOLUME) * GRAVITY / ALONG[1]):.4f} m/s")
    print("what disturbs it fades and swings as exp(s t), s =", ", ".join(f"{s:.3f}" for s in np.unique(poles.round(6))))
    return trajectory, sinking


if __name__ == "__main__":
    main()
