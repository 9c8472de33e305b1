"""A satellite unfolds its antenna, docks to one with a flexible panel, and leaves it again: what changes during a simulation.

One model has everything: the antenna's hinge, and the weld between both docking ports as a closure, which is open until the
ports meet. `tt.Latch` catches the hinge at a right angle, and the ports where they pass each other, as misaligned as they are;
`tt.Release` opens the weld. Velocities jump there by impulses that leave all momentum as it was; the chaser's controller goes
on.

Run it: ``python examples/docking.py`` draws ``docking.png``.
"""

from __future__ import annotations

import argparse

import control
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

#: Closing speed (m/s), and how far the ports are apart at first: along, and across (m).
SPEED, AWAY, ASIDE = 0.1, 1.0, 0.02
#: When they part (s), and the chaser backs away with a thrust (N) for a second; the end (s).
PART, THRUST, END = 30.0, 10.0, 40.0
#: The target's panel: 5 m long, 20 kg; clamped, it bends at 0.28 Hz along the approach.
PANEL = {"length": 5.0, "density": 100.0, "area": 0.04, "young": 7e6, "iy": 2e-3, "iz": 9e-5, "torsion_constant": 1e-4}
#: The chaser's attitude controller: bandwidth of 0.2 rad/s, ten samples a second.
SAMPLE, BANDWIDTH = 0.1, 0.2


def build() -> tt.System:
    """Return both satellites, with the closure that welds their ports to each other."""
    s = tt.System("docking", gravity=[0, 0, 0])
    chaser = tt.RigidBody("chaser", mass=150.0, inertia=[30, 35, 40], ports={"port": [0.6, 0, 0], "side": [0, 0.5, 0.3]})
    antenna = tt.RigidBody("antenna", mass=6.0, com=[0.7, 0, 0], inertia=[0.1, 0.8, 0.8])
    target = tt.RigidBody("target", mass=400.0, inertia=[120, 150, 140], ports={"port": [-0.8, 0, 0], "panel": [0, 0.7, 0]})
    panel = tt.Beam("panel", **PANEL, modes=1, torsion_modes=0, damping_ratio=0.005)
    s.connect("world", chaser, joint=tt.Free("flight"))
    s.connect(chaser.port("side"), antenna, joint=tt.Revolute("hinge", axis=[0, 0, -1], stiffness=0.2, rest=2.5, damping=0.6))
    s.connect("world", target, joint=tt.Free("orbit"))
    outwards = tt.Pose(rotation=np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]))  # the panel's x is the target's y
    s.connect(target.port("panel"), panel, joint=tt.Weld("yoke"), placement=outwards)
    s.close_loop(chaser.port("port"), target.port("port"), tt.RigidClosure("dock"))
    s.add_actuator(tt.Torque("wheels", chaser))
    s.add_sensor(tt.Gyro("gyro", chaser))
    s.add_sensor(tt.PoseSensor("tracker", chaser))
    return s


def controller() -> control.StateSpace:
    """Return the chaser's sampled attitude control: from angles and rates to torques."""
    inertia = np.diag([30.0, 35.0, 40.0])
    gains = -np.hstack([BANDWIDTH**2 * inertia, 1.6 * BANDWIDTH * inertia])
    measured = [*(f"tracker_theta[{k}]" for k in range(3)), *(f"gyro_{axis}" for axis in "xyz")]
    return control.ss([], [], [], -gains, SAMPLE, inputs=measured, outputs=[f"wheels_{axis}" for axis in "xyz"])


def approach(model: tt.Model) -> tuple[Array, Array]:
    """Return the state at first: the target rests at the origin, the chaser comes along x, a little aside."""
    q = model.configuration({"flight": [-1.4 - AWAY, ASIDE, 0, 0, 0, 0, 1]})
    return q, model.velocity({"flight": [SPEED, 0, 0, 0, 0, 0]})


def simulate(model: tt.Model) -> tt.Trajectory:
    """Unfold, dock, and part."""
    changes = [tt.Latch("hinge", ("hinge.q", np.pi / 2)), tt.Latch("dock", within=(0.05, 0.05)), tt.Release("dock", PART)]

    def thrust(t: float) -> Array:
        return np.array([-THRUST if PART <= t < PART + 1 else 0.0, 0, 0, 0, 0, 0])

    return tt.simulate(
        model,
        np.linspace(0, END, 401),
        *approach(model),
        wrenches={"chaser": thrust},
        controller=controller(),
        changes=changes,
        rtol=1e-6,
    )


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate, tell what happened, and draw it."""
    parser = argparse.ArgumentParser(description="Two satellites dock and part.")
    parser.add_argument("--output", default="docking.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    trajectory = simulate(model)
    for change in trajectory.changes:
        jump = model.momentum(change.q, change.v) - model.momentum(change.q, change.before)
        print(
            f"{change.kind} {change.name} at {change.t:.3f} s: {1e3 * change.lost:.3f} mJ lost, {1e3 * change.distance:.1f} mm"
        )
        print(f"  momentum changes by {np.abs(jump).max():.1e}")
    states = list(zip(trajectory.q, trajectory.v, strict=True))
    ports = np.array([[model.pose(f"{name}.port", q)[1] for name in ("chaser", "target")] for q, _ in states])
    rates = np.array([[model.twist(name, q, v)[5] for name in ("chaser", "target")] for q, v in states])
    signals = {
        "between the ports [m]": np.linalg.norm(ports[:, 1] - ports[:, 0], axis=1),
        "antenna's angle [rad]": trajectory.coordinate("hinge"),
        "chaser's rate [mrad/s]": 1e3 * rates[:, 0],
        "target's rate [mrad/s]": 1e3 * rates[:, 1],
        "panel's first mode [m sqrt(kg)]": trajectory.coordinate("panel.mode_y1"),
        "force in the dock [N]": trajectory.reaction("dock")[:, 0],
    }
    instants = [change.t for change in trajectory.changes]
    plot_over_time(trajectory.t, signals, columns=2, instants=instants).savefig(arguments.output)
    return trajectory


if __name__ == "__main__":
    main()
