"""A lander touches down on the Moon: struts are springs and dampers between two bodies, feet are spheres on a plane.

Four legs are hinged to the hub; a strut from the hub to the middle of each leg carries the landing load. Struts
(`tt.SpringDamper`) and feet (`tt.Contact`) are interactions: they act between two ports and constrain nothing, so that the
system stays a tree, with exact derivatives; `tt.trim` finds where it comes to rest, and `tt.linearize` how it rocks there.

Run it: ``python examples/lander.py`` draws ``lander.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import plot_over_time

#: Acceleration of the Moon's gravity (m/s^2); descent and drift at touchdown (m/s).
GRAVITY, DESCENT, DRIFT = 1.62, 1.5, 0.4
#: Hub: mass (kg), radius and height of its rim (m). Legs: mass, length to the foot (m), foot's radius (m).
HUB, RIM, HEIGHT, LEG, LENGTH, FOOT = 600.0, 1.0, 0.8, 12.0, 1.6, 0.15
#: Legs stand out by this angle from the vertical (rad).
SPREAD = 0.7
LEGS = ("north", "east", "south", "west")


def build() -> tt.System:
    """Return the lander above the ground, which is the plane z = 0 of the world."""
    s = tt.System("lander", gravity=[0, 0, -GRAVITY])
    hub = tt.RigidBody("hub", HUB, inertia=[180, 180, 220])
    s.connect("world", hub, tt.Free("flight"))
    middle = 0.5 * LENGTH * np.array([np.sin(SPREAD), 0.0, -np.cos(SPREAD)])
    strut = float(np.linalg.norm(middle - [0, 0, HEIGHT]))
    for k, name in enumerate(LEGS):
        turn = Rotation.from_rotvec([0, 0, k * np.pi / 2]).as_matrix()
        hub.add_port(f"{name}_hinge", turn @ [RIM, 0, 0], turn)
        hub.add_port(f"{name}_top", turn @ [RIM, 0, HEIGHT], turn)
        leg = tt.RigidBody(
            f"{name}_leg", LEG, com=middle, inertia=[2.5, 2.5, 0.1], ports={"middle": middle, "foot": 2 * middle}
        )
        s.connect(hub.port(f"{name}_hinge"), leg, tt.Revolute(name, axis=[0, 1, 0]))
        spring = tt.SpringDamper(f"{name}_strut", stiffness=1.2e4, damping=1.5e3, length=strut)
        s.close_loop(hub.port(f"{name}_top"), leg.port("middle"), spring)
        ground = tt.Contact(f"{name}_foot", FOOT, stiffness=4e5, dissipation=0.5, friction=0.6, slip_velocity=0.01)
        s.close_loop("world", leg.port("foot"), ground)
    return s


def touchdown(model: tt.Model) -> tuple[Array, Array]:
    """Return the state just above the ground: sinking, drifting, tilted by 3 degrees."""
    height = LENGTH * np.cos(SPREAD) + FOOT + 0.1
    tilt = np.deg2rad(3) / 2
    q = model.configuration({"flight": [0, 0, height, np.sin(tilt), 0, 0, np.cos(tilt)]})
    return q, model.velocity({"flight": [DRIFT, 0, -DESCENT, 0, 0, 0]})


def strut_lengths(model: tt.Model, q: Array) -> list[float]:
    """Return the lengths of the struts (m)."""
    ends = ((model.pose(f"hub.{name}_top", q)[1], model.pose(f"{name}_leg.middle", q)[1]) for name in LEGS)
    return [float(np.linalg.norm(one - two)) for one, two in ends]


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Land, and draw it."""
    parser = argparse.ArgumentParser(description="A lander touches down on the Moon.")
    parser.add_argument("--output", default="lander.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    t = np.linspace(0, 3, 601)
    trajectory = tt.simulate(model, t, *touchdown(model), rtol=1e-7, atol=1e-9)
    lengths = np.array([strut_lengths(model, q) for q in trajectory.q])
    print(f"shortest strut {lengths.min():.3f} m, highest load {np.abs(trajectory.a[:, 2]).max() / 9.81:.2f} g")
    print(f"at rest the hub stands {trajectory.q[-1, 2]:.3f} m high, {trajectory.q[-1, 0]:.3f} m from where it touched")
    struts = dict(zip(LEGS, lengths.T, strict=True))
    signals: dict[str, Any] = {"hub's height [m]": trajectory.q[:, 2], "length of the struts [m]": struts}
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    return trajectory


if __name__ == "__main__":
    main()
