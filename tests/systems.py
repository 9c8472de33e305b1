"""Random systems for the tests: every draw comes from the generator passed in, so that a seed names a system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt

Array = NDArray[np.float64]

#: Every kind of joint, by the name of its class.
KINDS = ("Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "Spherical", "Planar", "Free", "Weld")

#: Joints with exactly one coordinate.
SINGLE = ("Revolute", "Prismatic", "Screw")

#: Direction fields of the kinds that have any.
AXES = {
    "Revolute": ("axis",),
    "Prismatic": ("axis",),
    "Screw": ("axis",),
    "Cylindrical": ("axis",),
    "Universal": ("axis1", "axis2"),
}


def random_rotation(rng: np.random.Generator) -> Rotation:
    """Return a uniformly distributed rotation."""
    return Rotation.from_quat(rng.normal(size=4))


def random_pose(rng: np.random.Generator) -> tt.Pose:
    """Return a pose within half a metre along each axis, with any orientation."""
    return tt.Pose(rng.uniform(-0.5, 0.5, 3), random_rotation(rng))


def random_body(rng: np.random.Generator, name: str) -> tt.RigidBody:
    """Return a body of 0.5 to 3 kg with ports ``A`` and ``B``.

    The inertia comes from a random positive definite matrix of second moments of mass, so that it satisfies the
    triangle inequality.
    """
    mass = rng.uniform(0.5, 3.0)
    shape = rng.uniform(-0.3, 0.3, (3, 3))
    second_moments = mass * (shape @ shape.T + 0.01 * np.eye(3))
    return tt.RigidBody(
        name,
        mass=mass,
        com=rng.uniform(-0.3, 0.3, 3),
        inertia=np.trace(second_moments) * np.eye(3) - second_moments,
        ports={"A": random_pose(rng), "B": random_pose(rng)},
    )


def random_joint(rng: np.random.Generator, name: str, kind: str, passive: bool = False) -> tt.Joint:
    """Return a joint of a kind (see `KINDS`) with random axes, not of unit length.

    Parameters
    ----------
    rng : numpy.random.Generator
    name, kind : str
    passive : bool
        Also give it a spring with a random rest configuration, a damper and an armature.
    """
    fields: dict[str, Any] = {field: rng.normal(size=3) for field in AXES.get(kind, ())}
    if kind == "Screw":
        fields["pitch"] = rng.uniform(-0.3, 0.3)
    joint: tt.Joint = getattr(tt, kind)(name, **fields)
    if not passive or joint.nv == 0:
        return joint
    spring, damper = rng.uniform(-1.0, 1.0, (2, joint.nv, joint.nv))
    fields["stiffness"] = 5.0 * spring @ spring.T
    fields["damping"] = damper @ damper.T
    fields["rest"] = joint.random_configuration(rng)
    fields["armature"] = rng.uniform(0.05, 0.5, joint.nv)
    return getattr(tt, kind)(name, **fields)


def random_tree(
    rng: np.random.Generator,
    bodies: int,
    kinds: Sequence[str] = KINDS,
    base: str = "any",
    passive: bool = False,
    loads: bool = False,
) -> tt.System:
    """Return a branching tree of bodies ``b0``, ``b1``, ... hung on joints ``j0``, ``j1``, ...

    Half of the bodies continue the latest chain, the others branch off anywhere. Joints stand at ports as well as at
    reference frames, with and without a placement, and hold bodies by ports as well as by reference frames.

    Parameters
    ----------
    rng : numpy.random.Generator
    bodies : int
    kinds : sequence of str
        Kinds of joint to draw from.
    base : {"free", "fixed", "any"}
        A free base hangs on a `Free` joint alone; from a fixed one several branches may start, on joints other than `Free`.
    passive : bool
        Give springs, dampers and armatures to the joints.
    loads : bool
        Let loads fixed in the inertial frame and in a port act on a third of the bodies.
    """
    base = rng.choice(["free", "fixed"]) if base == "any" else base
    s = tt.System("tree", gravity=rng.uniform(-10.0, 10.0, 3))
    s.world.add_port("A", rng.uniform(-0.5, 0.5, 3), random_rotation(rng))
    s.world.add_port("B", rng.uniform(-0.5, 0.5, 3), random_rotation(rng))
    tree = [random_body(rng, f"b{k}") for k in range(bodies)]
    for k, body in enumerate(tree):
        parents = [*([s.world] if k == 0 or base == "fixed" else []), *tree[:k]]
        parent = parents[-1] if rng.random() < 0.5 else parents[rng.integers(len(parents))]
        grounded = [kind for kind in kinds if kind != "Free"] if base == "fixed" else ["Free"]
        kind = str(rng.choice(grounded if parent is s.world else kinds))
        s.connect(
            random_port(rng, parent),
            random_port(rng, body),
            random_joint(rng, f"j{k}", kind, passive),
            random_pose(rng) if rng.random() < 0.7 else None,
        )
    if loads:
        add_random_loads(rng, s, tree)
    return s


def random_port(rng: np.random.Generator, block: tt.Block) -> tt.Block | tt.PortRef:
    """Return one of a block's ports, or the block itself for its reference frame."""
    name = str(rng.choice(["", "A", "B"]))
    return block.port(name) if name else block


def add_random_loads(rng: np.random.Generator, s: tt.System, tree: Sequence[tt.RigidBody]) -> None:
    """Let loads, by turns fixed in the inertial frame and in the port, act on a third of the bodies."""
    for k in range(0, len(tree), 3):
        force, torque = rng.uniform(-10.0, 10.0, (2, 3))
        frame = ("world", "port")[k // 3 % 2]
        s.add_load(tt.Load(f"load{k}", random_port(rng, tree[k]), force, torque, frame))


def random_state(model: tt.Model, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return a configuration, and velocities, accelerations and efforts of order one."""
    v, a, tau = rng.normal(size=(3, model.nv))
    return model.random_configuration(rng), v, a, tau
