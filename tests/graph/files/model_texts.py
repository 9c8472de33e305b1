"""Model files as texts."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np

import titop as tt
from tests.systems import KINDS, random_port, random_state, random_tree
from titop.blocks.constraints.rigid_closure import KINDS as RIGID

#: Of the checkout.
ROOT = Path(__file__).parents[3]

HEAD = """\
format = "titop"
version = 1

[system]
name = "rig"
gravity = [0, 0, -9.81]
"""

ARM = """
[parameters]
half = "arm.length / 2"
arm.length = 2.0

[world]
ports.A = { position = [0, 0, "arm.length"], rotation_vector = [0, 0, "deg(90)"] }

[bodies.arm]
type = "rigid"
mass = 3
com = ["half", 0, 0]
inertia = [0.1, "1/2", 0.5]
ports.tip = ["arm.length", 0, 0]

[joints.hinge]
type = "revolute"
parent = "world.A"
child = "arm"
axis = [0, 1, 0]
placement = [0, 0, -0.5]
stiffness = "10*sqrt(arm.length)"
rest = "deg(-30)"

[loads.push]
target = "arm.tip"
force = [0, 0, "-2*half"]
"""

PIN = """
[closures.pin]
type = "rigid"
kind = "revolute"
axis = [0, "half", "arm.length"]
first = "arm.tip"
second = "world"
"""

BEAM = """
[bodies.boom]
type = "beam"
length = 2
density = 2700
area = 1e-4
young = 7e10
iy = 1e-8
iz = 1e-8
"""

SPRING = """\
type = "compliant"
stiffness = "10**4 * half"
damping = ["half", 1, 1, "arm.length", 2, 2]
"""


def accelerations(system: tt.System, engine: str = "reference") -> list[bytes]:
    """Return the bits of accelerations at random states."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        model = system.resolve(engine)
    rng = np.random.default_rng(1)
    states = [random_state(model, rng) for _ in range(3)]
    return [model.forward_dynamics(q, v, tau).tobytes() for q, v, _, tau in states]


def hand_built() -> tt.System:
    """Return the system that `ARM` describes."""
    s = tt.System("rig", gravity=[0, 0, -9.81])
    pose = tt.Pose.from_rotation_vector([0, 0, 2], [0, 0, math.radians(90)])
    s.world.port_poses["A"] = pose
    arm = tt.RigidBody("arm", 3, com=[1, 0, 0], inertia=[0.1, 0.5, 0.5], ports={"tip": [2, 0, 0]})
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=10 * math.sqrt(2), rest=math.radians(-30))
    s.connect(s.world.port("A"), arm, hinge, placement=[0, 0, -0.5])
    s.add_load(tt.Load("push", arm.port("tip"), force=[0, 0, -2]))
    return s


def equipped() -> tt.System:
    """Return a system with limits, friction, and every actuator and sensor."""
    s = hand_built()
    arm = s.connections[0].child.block
    hand = tt.RigidBody("hand", 0.5, inertia=0.1)
    friction = tt.Friction(coulomb=0.1, smoothing=0.01)
    s.connect(arm.port("tip"), hand, tt.Prismatic("slide", limits=tt.Limits(-1, 1, effort=3), friction=friction))
    s.add_actuator(tt.Motor("motor", "hinge", gear=50, rotor_inertia=1e-4, effort_limit=2))
    s.add_actuator(tt.Thruster("jet", arm.port("tip"), direction=[0, 1, 1], max_thrust=3))
    s.add_actuator(tt.Force("wind", arm, frame="world"))
    s.add_actuator(tt.Torque("twist", arm, direction=[0, 0, 2]))
    s.add_actuator(tt.ReactionWheel("wheel", arm, axis=[1, 0, 0], inertia=0.01, mass=0.5))
    s.add_sensor(tt.Gyro("gyro", arm.port("tip")))
    s.add_sensor(tt.Accelerometer("accelerometer", arm))
    s.add_sensor(tt.PoseSensor("tracker", arm, sequence="ZYX"))
    s.add_sensor(tt.Encoder("encoder", "hinge"))
    s.add_sensor(tt.Tachometer("tachometer", "hinge"))
    s.add_sensor(tt.ReactionSensor("cell", "hinge"))
    return s


def looped(rng: np.random.Generator, bodies: int) -> tt.System:
    """Return a random tree with closures of every kind between bodies that joints let move."""
    s = random_tree(rng, bodies, [kind for kind in KINDS if kind != "Weld"])
    for k, kind in enumerate(RIGID):
        ends = rng.choice(len(s.connections), size=2, replace=False)
        first, second = (random_port(rng, s.connections[end].child.block) for end in ends)
        s.close_loop(first, second, tt.RigidClosure(f"r{k}", kind, rng.normal(size=3), rng.normal(size=3), redundant=k > 5))
    tip = s.connections[-1].child.block
    directions, matrix = rng.normal(size=(6, int(rng.integers(1, 4)))), rng.normal(size=(6, 6))
    s.close_loop("world", tip.port("A"), tt.RigidClosure("some", directions=directions))
    s.close_loop(tip, s.world.port("B"), tt.CompliantClosure("spring", matrix @ matrix.T, rng.uniform(0.0, 1.0, 6)))
    return s


def numbers(system: tt.System) -> dict[str, dict[str, tuple[float, str]]]:
    """Return the parameters of every block, by its name."""
    return {name: block.parameters() for name, block in system.graph.nodes(data="block")}


def mistake(old: str, new: str, text: str = HEAD + ARM) -> str:
    """Return the hand-written file with a part replaced."""
    assert text.count(old) == 1
    return text.replace(old, new)
