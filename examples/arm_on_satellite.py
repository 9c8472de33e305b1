"""The arm of `robot_arm` on the satellite of `satellite`: two systems as blocks of one.

The arm moves while the wheels hold the satellite; without them the satellite turns away, as momentum demands.

Run it: ``python examples/arm_on_satellite.py`` draws ``arm_on_satellite.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import robot_arm
import satellite

import titop as tt
from titop.blocks.basics.spatial import Array, quaternion_log
from titop.solvers.pictures.figures import plot_over_time


def build() -> tt.System:
    """Return the satellite that carries the arm."""
    s = satellite.build()
    s["hub"].add_port("mount", position=[0, 0, 0.5])
    s.include(robot_arm.build(), "arm", at=s["hub"].port("mount"))
    return s


def hold(model: tt.Model) -> satellite.Control:
    """Return wheel control towards zero attitude."""
    control = satellite.Control(model)
    control.target = np.array([0.0, 0.0, 0.0, 1.0])
    return control


def turn(trajectory: tt.Trajectory) -> Array:
    """Return by how much the satellite is turned (deg) over time."""
    return np.rad2deg([np.linalg.norm(quaternion_log(q[3:7])) for q in trajectory.q])


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, tt.Trajectory]:
    """Simulate with and without wheel control, and draw the satellite's turn."""
    parser = argparse.ArgumentParser(description="An arm moves on a satellite.")
    parser.add_argument("--output", default="arm_on_satellite.png")
    arguments = parser.parse_args(argv)
    system = build()
    model = system.resolve()
    joints = [name for name in model.coordinate_names if name.startswith("arm/")]

    def motion(k: int):
        def of_time(t: float) -> tuple[float, float, float]:
            position, velocity, acceleration = robot_arm.reference(t / 5.0)
            return position[k], velocity[k] / 5.0, acceleration[k] / 25.0

        return of_time

    prescribed = {name: motion(k) for k, name in enumerate(joints)}
    q, v, t = model.neutral(), np.zeros(model.nv), np.linspace(0, 30, 151)
    free = tt.simulate(model, t, q, v, prescribed=prescribed, rtol=1e-7, atol=1e-9)
    held = tt.simulate(model, t, q, v, prescribed=prescribed, u=hold(model), rtol=1e-7, atol=1e-9)
    turned = {name: turn(run) for name, run in (("free", free), ("held", held))}
    at = {name: model.coordinate_names.index(name) for name in (*joints[:3], "wheel0")}
    signals: dict[str, Any] = {"turn of the satellite [deg]": turned}
    signals["torques of the arm [N m]"] = {name.removeprefix("arm/"): held.tau[:, at[name]] for name in joints[:3]}
    signals["speed of wheel0, held [rad/s]"] = held.v[:, at["wheel0"]]
    plot_over_time(t, signals, columns=3).savefig(arguments.output)
    print(f"the satellite turns by up to {turned['free'].max():.2f} deg, held by its wheels by {turned['held'].max():.2f} deg")
    momentum = np.array([model.momentum(q, v) for q, v in zip(free.q, free.v, strict=True)])
    print(f"momentum of the free system stays zero to {np.abs(momentum).max():.1e}")
    return free, held


if __name__ == "__main__":
    main()
