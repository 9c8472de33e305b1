"""A four-legged robot is dropped on the ground: feet are spheres, the corners of its trunk are points that would touch too.

Twelve joints, three a leg, are held by servos: springs and dampers about the pose in which it shall stand. It lands tilted,
bounces on its legs, and comes to rest; with bristles (`tangential_stiffness`) its feet hold where they stand, so that the
linear model about rest knows how it sways.

Run it: ``python examples/quadruped.py`` draws ``quadruped.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

GRAVITY = 9.81
#: Trunk: mass (kg) and sides (m). Thighs and shanks: masses (kg), lengths (m), radius of a foot (m).
TRUNK, SIDES, THIGH, SHANK, LENGTH, FOOT = 7.0, (0.4, 0.2, 0.1), 0.7, 0.2, 0.2, 0.02
#: Where the legs are hinged to the trunk (m).
HIPS = {"front_left": (0.19, 0.1), "front_right": (0.19, -0.1), "rear_left": (-0.19, 0.1), "rear_right": (-0.19, -0.1)}
#: Angles at which the servos hold hips and knees (rad), their stiffness (N m/rad) and damping (N m s/rad).
HIP, KNEE, STIFFNESS, DAMPING = 0.7, -1.4, 120.0, 3.0
#: Ground: stiffness (N/m^1.5), dissipation (s/m), friction.
GROUND: dict[str, Any] = {"stiffness": 2e5, "dissipation": 0.5, "friction": 0.7, "slip_velocity": 0.05}
#: Height of the trunk when it is let go (m), and how it is tilted (rad).
DROP, TILT = 0.6, (0.15, 0.1)


def build() -> tt.System:
    """Return the robot above the ground, the plane z = 0 of the world."""
    s = tt.System("quadruped", gravity=[0, 0, -GRAVITY])
    x, y, z = SIDES
    trunk = tt.RigidBody("trunk", TRUNK, inertia=np.array([y * y + z * z, x * x + z * z, x * x + y * y]) * TRUNK / 12)
    s.connect("world", trunk, tt.Free("float"))
    corners = [[a * x / 2, b * y / 2, c * z / 2] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    s.close_loop("world", trunk, tt.Contact("corners", radius=0.0, points=corners, **GROUND))
    servo = {"stiffness": STIFFNESS, "damping": DAMPING}
    for name, (ahead, aside) in HIPS.items():
        trunk.add_port(name, [ahead, aside, 0.0])
        outwards = 0.08 * np.sign(aside)
        hip = tt.RigidBody(f"{name}_hip", 0.5, inertia=5e-4, ports={"thigh": [0, outwards, 0]})
        thigh = rod(f"{name}_thigh", THIGH)
        shank = rod(f"{name}_shank", SHANK)
        s.connect(trunk.port(name), hip, tt.Revolute(f"{name}_roll", axis=[1, 0, 0], **servo))
        s.connect(hip.port("thigh"), thigh, tt.Revolute(f"{name}_pitch", axis=[0, 1, 0], rest=HIP, **servo))
        s.connect(thigh.port("end"), shank, tt.Revolute(f"{name}_knee", axis=[0, 1, 0], rest=KNEE, **servo))
        s.close_loop("world", shank.port("end"), tt.Contact(f"{name}_foot", FOOT, tangential_stiffness=2e3, **GROUND))
    return s


def rod(name: str, mass: float) -> tt.RigidBody:
    """Return a part of a leg that reaches downwards."""
    about = mass * LENGTH**2 / 12
    return tt.RigidBody(name, mass, com=[0, 0, -LENGTH / 2], inertia=[about, about, 1e-4], ports={"end": [0, 0, -LENGTH]})


def held(model: tt.Model) -> dict[str, float]:
    """Return the angles at which the servos hold the joints."""
    ends = {"pitch": HIP, "knee": KNEE}
    return {name: ends[name.rpartition("_")[2]] for name in model.coordinate_names if name.rpartition("_")[2] in ends}


def let_go(model: tt.Model) -> Array:
    """Return the configuration in which it falls, tilted."""
    quaternion = Rotation.from_euler("XY", TILT).as_quat()
    return model.configuration({"float": [0, 0, DROP, *quaternion], **held(model)})


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, tt.OperatingPoint]:
    """Drop it, and draw how it lands and stands."""
    parser = argparse.ArgumentParser(description="A four-legged robot is dropped on the ground.")
    parser.add_argument("--output", default="quadruped.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    t = np.linspace(0, 2, 401)
    trajectory = tt.simulate(model, t, let_go(model), np.zeros(model.nv), rtol=1e-4, atol=1e-6)
    feet = {name: trajectory.contacts(f"{name}_foot") for name in HIPS}
    pushes = {name: touch.force[:, 0, 2] for name, touch in feet.items()}
    print(f"highest push of a foot {max(push.max() for push in pushes.values()):.0f} N")
    print(f"at rest the trunk stands {trajectory.q[-1, 2]:.3f} m high, on {sum(push[-1] for push in pushes.values()):.2f} N")
    standing = tt.trim(model, q=trajectory.q[-1], x=trajectory.x[-1])
    sway = standing.eigenvalues[0]  # the least damped
    print(
        f"it stands {standing.stability}, and sways at {abs(sway) / (2 * np.pi):.2f} Hz, damping {-sway.real / abs(sway):.2f}"
    )
    figure, (height, push) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
    height.plot(t, trajectory.q[:, 2])
    height.set_ylabel("trunk's height [m]")
    for name, force in pushes.items():
        push.plot(t, force, label=name.replace("_", " "))
    push.set_ylabel("push of the ground [N]")
    push.set_xlabel("time [s]")
    push.legend()
    figure.savefig(arguments.output)
    plt.close(figure)
    return trajectory, standing


if __name__ == "__main__":
    main()
