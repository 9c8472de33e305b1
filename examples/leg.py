"""A leg from MJCF: a parallelogram of rods, closed by a pin, carries the motion of a crank at the hip to the knee.

MuJoCo reads the file; two servos, whose commands are its controls, stretch the bent leg. For comparison MuJoCo moves the same
leg, by steps of 1 ms; it closes the loop by a stiff spring and damper where titop's constraint is exact.

Run it: ``python examples/leg.py`` draws ``leg.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import mujoco
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

FILE = Path(__file__).parent / "models" / "leg.xml"
#: Commands (rad) of the servos: hip and crank of the leg that is nearly straight.
STRAIGHT = {"hip_servo.command": -0.1, "knee_servo.command": 0.2}


def in_mujoco(s: tt.System, t: Array, q: Array, v: Array) -> Array:
    """Return the configurations (n, nq) of the leg in MuJoCo, from the state (q, v)."""
    model = mujoco.MjModel.from_xml_path(str(FILE))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = tt.to_mujoco(s, q, v)
    data.ctrl[:] = list(STRAIGHT.values())
    found = []
    for time in t:
        while data.time < time - 1e-9:
            mujoco.mj_step(model, data)
        found.append(tt.from_mujoco(s, data.qpos, data.qvel)[0])
    return np.array(found)


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, Array]:
    """Stretch the leg, and draw it."""
    parser = argparse.ArgumentParser(description="A leg from MJCF.")
    parser.add_argument("--output", default="leg.png")
    arguments = parser.parse_args(argv)
    s = tt.from_mjcf(FILE)
    m = s.resolve()
    q, v = m.assemble(m.configuration(s.keyframes["bent"].configuration)), m.velocity({})
    t = np.linspace(0, 1, 201)
    trajectory = tt.simulate(m, t, q, v, u=STRAIGHT, rtol=1e-9, atol=1e-11)

    other = in_mujoco(s, t, q, v)
    foot = np.array([m.pose("shank.foot", q)[1] for q in trajectory.q])
    signals = {
        "hip [rad]": trajectory.q[:, 0],
        "knee [rad]": trajectory.q[:, 1],
        "foot, forwards [m]": foot[:, 0],
        "foot, upwards [m]": foot[:, 2],
        "force in the pin [N]": np.linalg.norm(trajectory.reaction("ankle_pin")[:, :3], axis=1),
        "knee, less MuJoCo's [rad]": trajectory.q[:, 1] - other[:, 1],
    }
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    print(f"the foot ends {1e3 * foot[-1, 0]:.1f} mm before the hip, {1e3 * (1 - foot[-1, 2]):.1f} mm below it")
    print(f"MuJoCo's knee is within {np.abs(trajectory.q[:, 1] - other[:, 1]).max():.1e} rad")
    return trajectory, other


if __name__ == "__main__":
    main()
