"""Systems of every kind with driven coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np

import titop as tt
from tests.closed_systems import four_bar, geared_hand, random_closed_tree
from tests.systems import Array, random_state, random_tree
from titop.solvers.constraints import closed_dynamics
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.driven_model import DrivenModel


def swing(t: float) -> tuple[float, float, float]:
    """Return a motion."""
    return 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)


def rigid_tree() -> tuple[tt.System, list[str]]:
    s = random_tree(
        np.random.default_rng(3), 5, base="free", kinds=("Revolute", "Spherical", "Prismatic"), passive=True, loads=True
    )
    return s, [next(name for name in s.resolve().coordinate_names if "." not in name)]


def with_interactions() -> tuple[tt.System, list[str]]:
    s = tt.System("pair", gravity=[0, 0, -9.81])
    for k in range(2):
        s.world.add_port(f"P{k}", [0.5 * k, 0, 0])
        bob = tt.RigidBody(f"bob{k}", 1.0, com=[0, 0, -0.5], inertia=[0.1] * 3, ports={"tip": [0, 0, -1]})
        s.connect(s.world.port(f"P{k}"), bob, tt.Revolute(f"hinge{k}", axis=[0, 1, 0]))
    s.close_loop(s["bob0"].port("tip"), s["bob1"].port("tip"), tt.SpringDamper("spring", 20.0, 0.3, length=0.4))
    return s, ["hinge0"]


def closed_loop() -> tuple[tt.System, list[str]]:
    return four_bar(damping=0.1), ["q1"]


def spatial_loops() -> tuple[tt.System, list[str]]:
    return random_closed_tree(np.random.default_rng(5), 6, rigid=1, compliant=1)[0], []


def gears() -> tuple[tt.System, list[str]]:
    s = geared_hand()
    return s, [s.resolve().mechanism.gear_constraints[0].gear.driver]


def plant_at_a_state(system: tt.System, driven: list[str], engine: str, **given: Any) -> tuple[DrivenModel, Array]:
    """Return a system with all that acts on it, and a state that its constraints and motions allow."""
    model, rng = system.resolve(engine), np.random.default_rng(0)
    motion = PrescribedMotion(model, dict.fromkeys(driven, swing))
    q, v, _, tau = random_state(model, rng)
    q, v = motion.impose(0.2, model.integrate(model.neutral(), 0.2 * v), v)
    if model.is_constrained:
        q = model.assemble(q, driven)
        v = model.assemble_velocity(q, v, driven)
    port = model.port_names[-1]
    plant = DrivenModel(model, np.array([0.0, 1.0]), tau, {port: np.linspace(-1, 1, 6)}, motion, given.get("u"), None)
    if model.is_constrained:
        plant.prepared.rank = closed_dynamics.rank_of_free(model.mechanism, q, motion.mask)
    return plant, np.concatenate([q, v])


def motorised(saturated: bool) -> tt.Model:
    """Return a tree with motors, one of them limited, and a thruster."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    upper = tt.RigidBody("upper", 1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"end": [0.4, 0, 0]})
    lower = tt.RigidBody("lower", 1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"tip": [0.4, 0, 0]})
    s.connect("world", upper, tt.Revolute("shoulder", axis=[0, 1, 0]))
    s.connect(upper.port("end"), lower, tt.Revolute("elbow", axis=[0, 1, 0]))
    s.add_actuator(tt.Motor("motor", "shoulder", effort_limit=3.0 if saturated else np.inf))
    s.add_actuator(tt.Thruster("jet", lower.port("tip")))
    s.add_sensor(tt.Encoder("angle", "elbow"))
    return s.resolve()


def controller() -> Any:
    """Return a controller with states and feedthrough, commanding an input, a thrust and an effort."""
    names = {"inputs": ["shoulder_q", "shoulder_v", "angle"], "outputs": ["motor", "jet", "elbow_tau"]}
    B, D = np.array([[1.0, 0.2, 0], [0, 0, 1.0]]), np.array([[9.0, 2.0, 0], [0, 0, 0.5], [0, 0.1, 1.0]])
    return control.ss([[-1.0, 0.2], [0, -2.0]], B, [[1.0, 0], [0, 0.3], [0.2, 0.1]], D, **names)


def swinging(system: Callable[[], tuple[tt.System, list[str]]]) -> tuple[tt.Model, Array, Array]:
    """Return a model and a state that closes its loops."""
    plant, y = plant_at_a_state(system()[0], [], "compiled")
    return plant.model, *plant.split(0.0, y)
