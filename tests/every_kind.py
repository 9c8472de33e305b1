"""A small system of every kind of blocks, interactions and constraints, and stacked states of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import titop as tt
from examples.compiled_block import Telescope
from tests.actuated_systems import all_inputs, driven_loop
from tests.blocks.constraints.test_rolling import on_moving_ground
from tests.blocks.interactions.touching_systems import LOSSES, rod_and_wall, soft_and_wall, two_bodies
from tests.blocks.joints.test_curvilinear import BANK, bead, loop
from tests.blocks.surroundings.orbiting import satellite
from tests.closed_systems import bar, geared_hand, random_closed_tree
from tests.flexible import random_system
from tests.mixed_trees import mixed_tree
from tests.solvers.kernels.laws.mixed_systems import Slider
from tests.solvers.kernels.laws.test_beam_water import swimmer
from tests.solvers.kernels.laws.test_modal import satellite as stiffening
from tests.solvers.kernels.laws.test_rod_lines import finger
from tests.solvers.kernels.ports.wet_systems import hung
from tests.solvers.test_about_orbits import CIRCULAR, EARTH
from tests.stated_systems import interacting, jointed, looped
from tests.systems import Array, random_tree


def _tree() -> tt.System:
    s = random_tree(np.random.default_rng(3), 8, base="fixed", passive=True, loads=True)
    _measure(s, "b7", "j7")
    s.add_actuator(tt.Force("push", s["b5"].port("A"), frame="world"))
    return s


def _free_tree() -> tt.System:
    s = random_tree(np.random.default_rng(4), 5, base="free", kinds=("Revolute", "Prismatic", "Spherical", "Free"))
    _measure(s, "b4", "j4")
    return s


def _passive() -> tt.System:
    """Return hinges with springs, friction, dampers and stops, and a strut."""
    s, at = tt.System("passive", gravity=[0, 0, -9.81]), "world"
    friction, stops = tt.Friction(0.3, 0.4, 0.1), tt.Limits(-0.1, 0.1, stiffness=50.0, dissipation=0.5)
    fields: dict[str, Any] = {"stiffness": 2.0, "damping": 0.1, "armature": 0.05, "friction": friction, "limits": stops}
    for k in range(4):
        link = tt.RigidBody(f"link{k}", 1.0, [0.2, 0, 0], [0.1, 0.2, 0.2], ports={"tip": [0.4, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, 1, k], **fields))
        at = link.port("tip")
    s.add_interaction(tt.SpringDamper("strut", stiffness=20.0, damping=0.5, length=0.2), "world", at)
    _measure(s, "link3", "hinge3")
    return s


def _geared() -> tt.System:
    s = geared_hand()
    s.add_actuator(tt.Motor("motor", "l", gear=2.0))
    s.add_actuator(tt.Thruster("jet", s["tip_r"]))
    s.add_sensor(tt.ReactionSensor("load_cell", "r"))
    return s


def _held_loop() -> tt.System:
    """Return ten bars, the first two geared, closed to a loop."""
    s, at = tt.System("bars", gravity=[0, -9.81, 0]), "world"
    for k in range(6):
        block = bar(f"bar{k}", 1.0, 1.0)
        s.connect(at, block, tt.Revolute(f"hinge{k}", damping=0.1))
        at = block.port("end")
    s.add_gear(tt.Gear("mesh", driver="hinge0", driven="hinge1", ratio=-2.0))
    s.close_loop(s.world.add_port("end", [2.0, 1.0, 0.0]), at, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s


def _spatial_loop() -> tt.System:
    return random_closed_tree(np.random.default_rng(11), 6, base="free", passive=True)[0]


def _touching(**bristles: Any) -> tt.System:
    bristles["points"] = [[0.1, 0.2, 0.3], [-0.3, 0.4, 0.1]]
    return two_bodies(tt.Contact("touch", 1.2, 300.0, shape=tt.Shape.plane([0, 1, 1]), **bristles, **LOSSES))


def _users() -> tt.System:
    """Return bodies of a user's own compiled law."""
    s = tt.System("users", gravity=[0, 1, -9.81])
    one, two = Telescope("one"), Telescope("two")
    s.connect("world", one, tt.Universal("base"))
    s.connect(one.port("C"), two, tt.Revolute("hinge", axis=[1, 0, 1], damping=0.1))
    return s


def _python() -> tt.System:
    """Return a body whose law is in Python."""
    s = tt.System("python", gravity=[0, 1, -9.81])
    block = Slider("rail")
    s.connect("world", block, tt.Revolute("hinge", axis=[0, 1, 1], damping=0.1))
    s.connect(block.port("C"), tt.RigidBody("bob", 0.5, [0, 0, -0.2], 0.01), tt.Spherical("ball"))
    return s


def _drives() -> tt.System:
    """Return a hub with a motor of two states of its own, and a rod under a load that an input scales."""
    s = tt.System("drives", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 1.0, [0.1, 0, 0], 0.5)
    rod = tt.Rod("rod", 0.6, tt.Section.circle(0.01), young=1e7, density=1000.0, strains={"bending_z": 2})
    s.connect("world", hub, tt.Revolute("shaft", axis=[0, 1, 1], damping=0.1))
    s.connect(hub, rod, tt.Weld("clamp"))
    s.add_actuator(tt.DCMotor("motor", "shaft", resistance=2.0, torque_constant=0.1, inductance=0.5, gear=10.0))
    s.add_interaction(tt.DistributedLoad("wind", rod, force=[0, 0.01, 0.02], frame="world", driven=True))
    return s


def _modal() -> tt.System:
    s = random_system(np.random.default_rng(5))
    fields: dict[str, Any] = {"participation": 0.1 * np.ones((2, 6)), "frequencies": [20.0, 30.0]}
    panel = tt.FlexibleBody("panel", 2.0, [0.5, 0, 0], 0.3, recovery={"root": [[2.0, 1.0], [1.0, 3.0]]}, **fields)
    s.connect(s["tip"], panel, tt.Weld("last"))
    return s


def _measure(s: tt.System, body: str, joint: str) -> None:
    """Add sensors of every kind that kernels read."""
    block = s[body]
    for sensor in (
        tt.Gyro("gyro", block),
        tt.Accelerometer("accelerometer", block),
        tt.PoseSensor("pose", block),
        tt.ReactionSensor("load_cell", joint),
    ):
        s.add_sensor(sensor)


#: By what is in them.
SYSTEMS: dict[str, Callable[[], tt.System]] = {
    "a tree": _tree,
    "a free base": _free_tree,
    "springs, friction and stops": _passive,
    "gears": _geared,
    "a planar loop": driven_loop,
    "gears in a loop": _held_loop,
    "a loop in space": _spatial_loop,
    "what rolls": lambda: on_moving_ground("disc"),
    "a wire": lambda: bead(loop(up=BANK), com=[0.1, 0.05, -0.2], inertia=[0.1, 0.2, 0.3]),
    "contacts": _touching,
    "contacts with bristles": lambda: _touching(tangential_stiffness=50.0),
    "a rod that touches": lambda: rod_and_wall(tt.Shape.plane([0, 1, 1])),
    "soft bodies": lambda: soft_and_wall(tt.Shape.plane([0, 1, 1])),
    "rods, tendons and chambers": finger,
    "modal bodies and beams": _modal,
    "stiffening": stiffening,
    "beams in water": swimmer,
    "users' compiled laws": _users,
    "laws in Python": _python,
    "surrounded, in Python": hung,
    "inputs of all kinds": all_inputs,
    "states of interactions": interacting,
    "states of joints": jointed,
    "states in a loop": looped,
    "drives and a loaded rod": _drives,
    "a little of everything": lambda: mixed_tree(np.random.default_rng(2)),
    "air, light and magnetism": satellite,
    "a planet": lambda: satellite(gravity=EARTH),
    "an orbit": lambda: satellite(gravity=CIRCULAR),
}


def states(model: tt.Model, rows: int, seed: int = 0) -> dict[str, Array]:
    """Return stacked q, v, a and so on by the names of arguments, with loops closed, and inputs, states and wrenches."""
    rng, mechanism = np.random.default_rng(seed), model.mechanism
    own = mechanism.own_coordinates
    scales = np.where([name in own for name in model.coordinate_names], 0.02, 0.3)
    start = mechanism.regular_configuration if model.is_constrained else model.neutral()
    found: dict[str, list[Array]] = {name: [] for name in ("q", "v", "a")}
    for _ in range(rows):
        dq, v, a = rng.normal(size=(3, model.nv))
        q = model.integrate(start, (0.05 if model.is_constrained else 1.0) * scales * dq)
        if model.is_constrained:
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
            a = model.assemble_acceleration(q, v, a)
        if "hingeL" in model.joint_names and not mechanism.engine.turning.any():  # the satellite, not in Hill's frame
            q[:3] += [6.8e6, 1e4, 2e4]
        for name, part in (("q", q), ("v", v), ("a", a)):
            found[name].append(part)
    stacks = {name: np.array(part).reshape(rows, -1) for name, part in found.items()}
    for name in ("tau", "dq", "dv", "dtau", "weights"):
        stacks[name] = rng.normal(size=(rows, model.nv))
    for name in ("v_series", "tau_series", "a_series"):
        stacks[name] = rng.normal(size=(rows, 3, model.nv))
    stacks |= {
        "da": stacks["dtau"],
        "q0": stacks["q"],
        "q1": stacks["q"][::-1].copy(),
        "u": 0.3 + 0.1 * rng.random((rows, model.nu)),
    }
    return stacks | {"x": 1e-3 * rng.normal(size=(rows, model.nx)), "wrenches": rng.normal(size=(rows, 6))}
