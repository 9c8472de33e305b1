"""A six-axis arm from a URDF follows a motion by computed torque.

The robot description (``models/arm.urdf``) has the lengths and masses that the maker of the UR5 publishes. The controller
takes the payload of 2 kg for 1 kg; feedback makes up for the difference.

Run it: ``python examples/robot_arm.py`` draws ``robot_arm.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

URDF = Path(__file__).parent / "models" / "arm.urdf"
START = np.array([0.0, -1.2, 1.0, -1.3, -1.5, 0.0])
TRAVEL = np.array([1.5, 0.5, -0.8, 0.6, 0.5, 1.0])
DURATION = 2.0


def build(payload: float = 2.0) -> tt.System:
    """Return the arm with a payload (kg) at its last link."""
    s = tt.from_urdf(URDF)
    s.connect(s["wrist3"], tt.RigidBody("payload", payload, inertia=0.002 * payload), tt.Weld("grip"), placement=[0, 0.12, 0])
    return s


def reference(t: float) -> tuple[Array, Array, Array]:
    """Return position, velocity and acceleration (6 each) of a minimum-jerk motion."""
    x = min(max(t / DURATION, 0.0), 1.0)
    s, ds, dds = x**3 * (10 - 15 * x + 6 * x * x), 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)
    return START + s * TRAVEL, ds / DURATION * TRAVEL, dds / DURATION**2 * TRAVEL


def computed_torque(known: tt.Model, stiffness: float = 900.0, damping: float = 60.0):
    """Return the control law ``f(t, q, v) -> tau`` of a model that the controller knows."""

    def law(t: float, q: Array, v: Array) -> Array:
        position, velocity, acceleration = reference(t)
        wanted = acceleration + damping * (velocity - v) + stiffness * (position - q)
        return known.inverse_dynamics(q, v, wanted)

    return law


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate, and draw the errors and torques."""
    parser = argparse.ArgumentParser(description="Computed-torque control of a six-axis arm.")
    parser.add_argument("--output", default="robot_arm.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    law = computed_torque(model.with_parameters({"payload.mass": 1.0}))
    t = np.linspace(0, 3, 301)
    trajectory = tt.simulate(model, t, START, np.zeros(6), tau=law)
    errors = trajectory.q - np.array([reference(instant)[0] for instant in t])
    signals = {
        title: dict(zip(model.coordinate_names, values.T, strict=True))
        for title, values in {"errors [mrad]": 1e3 * errors, "torques [N m]": trajectory.tau}.items()
    }
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    print(f"largest joint error {1e3 * np.abs(errors).max():.1f} mrad, at the end {1e3 * np.abs(errors[-1]).max():.1f} mrad")
    print("limits:", "; ".join(map(str, trajectory.violations())) or "kept")
    return trajectory


if __name__ == "__main__":
    main()
