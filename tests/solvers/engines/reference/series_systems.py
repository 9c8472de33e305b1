"""Small systems of every kind of block, and states of them, for time derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import titop as tt
from examples.compiled_block import Telescope
from examples.custom_block import ConstantCurvatureSegment
from tests.actuated_systems import satellite
from tests.blocks.interactions.test_soft_line import pulled
from tests.blocks.joints.test_coordinate_limits import bumped
from tests.blocks.surrounded_blocks import Kite
from tests.flexible import Cloud, random_body
from tests.solvers.engines.compiled.soft_systems import Soft
from tests.solvers.kernels.laws.belts import CompiledBelt
from tests.solvers.kernels.ports import wet_systems
from tests.solvers.kernels.ports.test_interactions import all_kinds, joined
from tests.solvers.mechanism import driven_blocks
from tests.solvers.mechanism.soft_arms import soft_arm
from tests.systems import Array, random_joint, random_pose, random_rotation
from tests.systems import random_body as rigid


class Case(NamedTuple):
    """A system, and how it moves.

    Attributes
    ----------
    make : callable
        Returns the system.
    size, speed : float
        Of configurations and of the velocity's derivatives.
    rows : int
        Of the stack of these.
    step : float, s
        Of differences.
    """

    make: Callable[[], tt.System]
    size: float = 0.3
    speed: float = 1.0
    rows: int = 4
    step: float = 0.01

    def state(self, model: tt.Model) -> tuple[Array, Array]:
        """Return a configuration and a stack of derivatives."""
        rng = np.random.default_rng(1)
        q = model.integrate(model.neutral(), self.size * rng.normal(size=model.nv))
        return q, self.speed * rng.normal(size=(self.rows, model.nv))


def drawn(seed: int, name: str) -> tt.RigidBody:
    """Return a rigid body with ports A and B."""
    return rigid(np.random.default_rng(seed), name)


def flying(body: tt.Block) -> tt.System:
    """Return a body on a free joint."""
    s = tt.System("flying", gravity=[1.0, 2.0, -9.0])
    s.connect("world", body, tt.Free("base"))
    return s


def jointed(kind: str, **fields: Any) -> tt.System:
    """Return a body on a joint with springs, dampers and armature (or with other fields), turned and off its frames."""
    rng = np.random.default_rng(4)
    s = tt.System("jointed", gravity=[1.0, 2.0, -9.0])
    s.world.add_port("A", [0.1, 0.2, 0.3], random_rotation(rng))
    joint = getattr(tt, kind)("joint", **fields) if fields else random_joint(rng, "joint", kind, passive=True)
    s.connect(s.world.port("A"), drawn(2, "body").port("A"), joint, random_pose(rng))
    return s


def flying_on_pad() -> tt.System:
    """Return a free body on a compliant closure that is undeformed at the neutral configuration."""
    body = drawn(2, "body")
    s = flying(body)
    s.close_loop("world", body, tt.CompliantClosure("pad", stiffness=[5, 4, 3, 0.5, 0.4, 0.3], damping=0.2))
    return s


def rod(**fields: Any) -> tt.Rod:
    """Return a soft rod."""
    strains = {"torsion": 0, "bending_y": 1, "elongation": 0}
    given = {"young": 2e5, "density": 900.0, "damping": 20.0, "strains": strains, "points": 3} | fields
    return tt.Rod("rod", 0.4, tt.Section.circle(0.02), **given)


def pulled_rod(*interactions: Callable[[tt.Rod], tt.Interaction]) -> tt.System:
    """Return a clamped rod and what acts on it."""
    s, one = tt.System("rod", gravity=[1.0, 2.0, -9.0]), rod()
    s.connect("world", one, tt.Revolute("hinge", axis=[0, 1, 1]))
    for make in interactions:
        s.add_interaction(make(one))
    return s


def soft(angle: Callable[[Any, Any], Any]) -> tt.System:
    """Return a soft body that twists by an angle of point and coordinates, and stretches."""

    def place(x: Any, q: Any) -> list[Any]:
        turn = angle(x, q)
        c, s = np.cos(turn), np.sin(turn)
        return [x[0] * c - x[1] * s, x[0] * s + x[1] * c, x[2] + 0.1 * q[1] * x[2]]

    domain, material = tt.Domain.box(0.03, 0.02, 0.3), tt.Material.neo_hookean(1e3, 0.3, 10.0)
    s = tt.System("soft", gravity=[1.0, 2.0, -9.0])
    body = tt.SoftBody("body", place, domain, density=1200.0, coordinates=("turn", "stretch"), material=material)
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 1]))
    return s


def branch(x: Any, q: Any) -> Any:
    return tt.Kinematics.where(q[0] > 0, x[2] * q[0], np.arcsinh(q[0]))


def two_on_hinges(*interactions: tuple[tt.Interaction, tuple[str, ...]]) -> tt.System:
    """Return two bodies on the hinges ``one`` and ``two``, and interactions with targets by name."""
    s = tt.System("two", gravity=[0.0, 1.0, -9.0])
    s.world.add_port("A", [1.0, 0.0, 0.0])
    lower, upper = drawn(0, "lower"), drawn(3, "upper")
    s.connect("world", lower, tt.Revolute("one", axis=[1, 0, 1]))
    s.connect(lower.port("A"), upper, tt.Revolute("two", axis=[0, 1, 1]))
    ports = {"world.A": s.world.port("A"), "lower.B": lower.port("B"), "upper.B": upper.port("B"), "world": "world"}
    for interaction, targets in interactions:
        s.add_interaction(interaction, *(ports.get(target, target) for target in targets))
    return s


def loaded() -> tt.System:
    """Return two bodies with loads in both frames."""
    s = two_on_hinges()
    s.add_load(tt.Load("fixed", s["upper"].port("B"), force=[1, 2, 3], torque=[0.3, 0.2, 0.1], frame="world"))
    s.add_load(tt.Load("turning", s["lower"].port("B"), force=[1, -2, 3], torque=[0.3, 0.2, 0.1]))
    return s


def carrying(body: tt.Block) -> tt.System:
    """Return a body with a tip mass, on a hinge."""
    s = tt.System("carrying", gravity=[1.0, 2.0, -9.0])
    s.connect("world", body, tt.Revolute("root", axis=[0, 1, 1]))
    s.connect(body.port(body.ports[0]), drawn(5, "tip"), tt.Weld("grip"))
    return s


def beam() -> tt.Beam:
    return tt.Beam("beam", 1.0, density=1500.0, area=1e-3, young=2e6, iy=1e-7, iz=2e-7, modes=1, damping_ratio=0.01)


def foreshortening() -> tt.FlexibleBody:
    rng = np.random.default_rng(3)
    return Cloud.random(rng).body(rng, "cloud")


def segment(**fields: Any) -> tt.Block:
    return ConstantCurvatureSegment("segment", 0.6, 0.05, 120.0, stiffness=3.0, **fields)


def windy(**fields: Any) -> tt.System:
    return pulled_rod(lambda one: tt.DistributedLoad("wind", one, **fields))


_FRICTION = tt.Friction(coulomb=2.0, breakaway=3.0, stribeck_velocity=0.5, smoothing=0.3)
_STOP = {"stiffness": 300.0, "dissipation": 0.5}
_FLOOR = {"normal": [0.1, 0.2, 1], "dissipation": 0.1, "friction": 0.5, "slip_velocity": 0.3}
_TENDON = {"y": 0.008, "z": (0.002, -0.005), "stiffness": 30.0, "displacement": 0.01, "push": True}

CASES: dict[str, Case] = {
    **{kind: Case(lambda kind=kind: jointed(kind)) for kind in ("Revolute", "Prismatic", "Screw", "Cylindrical", "Universal")},  # type: ignore[misc]
    **{kind: Case(lambda kind=kind: jointed(kind)) for kind in ("Planar", "Spherical", "Free")},  # type: ignore[misc]
    "ball at rest": Case(lambda: jointed("Spherical", stiffness=[2.0, 3.0, 4.0], damping=0.1), size=0.0),
    "base at rest": Case(lambda: jointed("Free", stiffness=[2.0, 3.0, 4.0, 0.5, 0.6, 0.7]), size=0.0),
    "ball turned far": Case(lambda: jointed("Spherical", stiffness=[2.0, 3.0, 4.0]), size=3.0),
    "pad at rest": Case(flying_on_pad, size=0.0),
    "friction": Case(lambda: jointed("Universal", friction=_FRICTION), step=0.002),
    "stops pressed": Case(lambda: jointed("Universal", limits=tt.Limits(-0.01, 0.01, **_STOP)), step=0.002),
    "stops apart": Case(lambda: jointed("Universal", limits=tt.Limits(-3.0, 3.0, **_STOP))),
    "stops one side": Case(lambda: jointed("Universal", limits=tt.Limits(upper=0.0, **_STOP)), step=0.002),
    "stops of bodies": Case(bumped, size=0.05, speed=0.3, step=0.001, rows=3),
    "beam": Case(lambda: carrying(beam()), size=0.05, speed=0.3, step=0.002, rows=3),
    "panel": Case(lambda: carrying(random_body(np.random.default_rng(3))), step=0.002),
    "shortening panel": Case(lambda: flying(foreshortening()), speed=0.3, rows=3),
    "rod": Case(pulled_rod, rows=3),
    "straight rod": Case(pulled_rod, size=0.0, rows=3),
    "rod with tendon": Case(lambda: pulled_rod(lambda one: tt.Tendon("tendon", one, **_TENDON)), rows=3),
    "rod in wind": Case(lambda: windy(force=[1, 2, 3], frame="world"), rows=3),
    "rod with load": Case(lambda: windy(torque=[0.1, 0.2, 0.3]), rows=3),
    "soft body": Case(lambda: soft(lambda x, q: x[2] * q[0]), speed=0.5),
    "soft angle": Case(lambda: soft(lambda x, q: x[2] * np.arctan2(q[0], 1.0 + 0.2 * q[1])), speed=0.5, rows=3),
    "soft angle of a number": Case(lambda: soft(lambda x, q: x[2] * np.arctan2(1.0 + q[0], 2.0)), speed=0.5, rows=3),
    "soft branch": Case(lambda: soft(branch), speed=0.5, rows=3),
    "soft tendon, chamber": Case(pulled, size=0.05, speed=0.2, rows=3),
    "segment": Case(lambda: carrying(segment(damping=0.1)), speed=0.5, rows=3),
    "straight segment": Case(lambda: carrying(segment()), size=0.0, speed=0.5, rows=3),
    "block of one's own": Case(lambda: carrying(Soft("soft", 3))),
    "block to be compiled": Case(lambda: carrying(Telescope("t")), rows=3),
    "weight, surroundings": Case(wet_systems.hung),
    "applied efforts": Case(lambda: flying(Kite())),
    "loads": Case(loaded),
    "cable": Case(
        lambda: two_on_hinges((
            tt.Cable("cable", stiffness=30.0, length=0.1, dissipation=0.1, arms=[0.2]),
            ("world.A", "lower.B", "upper.B", "two"),
        ))
    ),
    "belt": Case(lambda: two_on_hinges((CompiledBelt("belt", 3.0, 0.2), ("lower.B", "upper.B", "one", "two")))),
    "contact": Case(lambda: two_on_hinges((tt.Contact("floor", 3.0, 30.0, **_FLOOR), ("world", "upper.B"))), speed=0.3),
    "interactions": Case(lambda: joined(*(each for each in all_kinds() if each.name != "ground"))),
    "actuators": Case(satellite),
    "inputs of blocks": Case(driven_blocks.arm, rows=3),
    "arm": Case(soft_arm, step=0.002, rows=3),
}  # fmt: skip
