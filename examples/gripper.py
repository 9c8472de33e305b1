"""A gripper whose pinion drives two racks: gears hold three joint coordinates together.

The jaws slide along the vertical, so that gravity pulls both down; through the pinion the weight of one carries that of the
other. A motor closes them on foam, which springs in the jaws' joints stand for. The pinion's angle alone is independent:
``inverse_dynamics(..., actuated=["pinion"])`` finds the torque that a given motion takes.

Run it: ``python examples/gripper.py`` draws ``gripper.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

#: Pinion radius (m), jaw mass (kg), the foam's stiffness and damping at each jaw (N/m, N s/m).
RADIUS, JAW, STIFFNESS, DAMPING = 0.01, 0.2, 400.0, 12.0
#: Torque on the pinion (N m), by a motor behind a gear of its own.
TORQUE, GEAR = 0.08, 20.0


def build() -> tt.System:
    """Return the gripper; both jaws are open by zero where the foam is not pressed."""
    s = tt.System("gripper", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("wheel", 0.05, inertia=[2e-6, 4e-6, 2e-6]), tt.Revolute("pinion", axis=[0, 1, 0]))
    for side in ("upper", "lower"):
        jaw = tt.RigidBody(f"{side}_jaw", JAW, com=[0.05, 0, 0], inertia=[1e-4, 1e-4, 1e-4])
        s.connect("world", jaw, tt.Prismatic(side, axis=[0, 0, 1], stiffness=STIFFNESS, damping=DAMPING))
    s.add_gear(tt.Gear("upper_rack", driver="pinion", driven="upper", ratio=-RADIUS))
    s.add_gear(tt.Gear("lower_rack", driver="pinion", driven="lower", ratio=RADIUS))
    s.add_actuator(tt.Motor("motor", "pinion", gear=GEAR, rotor_inertia=1e-7, effort_limit=0.01))
    return s


def closing(t: float, q: Array, v: Array) -> dict[str, float]:
    """Return the motor's torque (N m), which rises within 50 ms."""
    return {"motor": TORQUE / GEAR * min(t / 0.05, 1.0)}


def torque_of_motion(model: tt.Model, q: Array, v: Array, a: Array) -> float:
    """Return the torque on the pinion, beside the motor, that a motion takes."""
    return float(model.inverse_dynamics(q, v, a, actuated=["pinion"])[0])


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Close the jaws, and draw it."""
    parser = argparse.ArgumentParser(description="A gripper whose pinion drives two racks.")
    parser.add_argument("--output", default="gripper.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    t = np.linspace(0, 0.6, 301)
    trajectory = tt.simulate(model, t, model.neutral(), model.velocity({}), u=closing, rtol=1e-9, atol=1e-11)

    torque = [torque_of_motion(model, *state) for state in zip(trajectory.q, trajectory.v, trajectory.a, strict=True)]
    signals: dict[str, Any] = {
        "pinion [rad]": trajectory.q[:, 0],
        "jaws [mm]": {"upper": 1e3 * trajectory.q[:, 1], "lower": 1e3 * trajectory.q[:, 2]},
        "grip on each jaw [N]": STIFFNESS * trajectory.q[:, 2],
        "torque of the motor [N m]": GEAR * trajectory.u[:, 0],
    }
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    print(f"the jaws close by {1e3 * trajectory.q[-1, 2]:.2f} mm and press with {STIFFNESS * trajectory.q[-1, 2]:.2f} N")
    print(
        f"torques of the motor and from the motion differ by {np.abs(GEAR * trajectory.u[:, 0] - torque).max():.1e} N m at most"
    )
    print(f"out of mesh by {max(np.abs(model.closure_error(q)).max() for q in trajectory.q):.1e} m at most")
    return trajectory


if __name__ == "__main__":
    main()
