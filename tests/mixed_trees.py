"""Random trees of blocks of every kind, on which loads and interactions of every kind act."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from examples.compiled_block import Telescope
from tests.flexible import random_body as random_panel
from tests.solvers.engines.compiled.soft_systems import Soft
from tests.solvers.kernels.laws.belts import CompiledBelt
from tests.solvers.kernels.ports.wet_systems import Floating
from tests.systems import KINDS, Array, random_body, random_joint, random_pose

#: Joints that may hang on others: a free one would leave the tree.
HELD = [kind for kind in KINDS if kind != "Free"]


def _rod(name: str) -> tt.Rod:
    strains = {"torsion": 0, "bending_y": 1, "elongation": 0}
    return tt.Rod(name, 0.4, tt.Section.circle(0.02), young=2e5, density=900.0, damping=20.0, strains=strains)


def _beam(name: str) -> tt.Beam:
    return tt.Beam(name, length=1.0, density=1500.0, area=1e-3, young=2e8, iy=1e-7, iz=2e-7)


def mixed_tree(rng: np.random.Generator, blocks: int = 8) -> tt.System:
    """Return a tree on a free base: rigid bodies, rods, beams, panels, a compiled block of users', and in Python one with
    two ports and one that something surrounds.

    Loads are fixed in both frames, springs join ports with each other and the world, a belt acts on ports and coordinates, and
    tendons pull the rods; the belt and the tendons have inputs.
    """
    s = tt.System("mixed", gravity=rng.uniform(-5.0, 5.0, 3))
    kinds = ["rod", "beam", "panel", "telescope", "soft", "floating", "rigid", *rng.choice(["rigid", "rod", "panel"], blocks)]
    make: dict[str, Any] = {
        "rod": _rod,
        "beam": _beam,
        "telescope": Telescope,
        "soft": lambda name: Soft(name, int(rng.integers(99))),
    }
    make |= {"rigid": lambda name: random_body(rng, name), "panel": lambda name: random_panel(rng, name)}
    make["floating"] = Floating
    base = random_body(rng, "base")
    s.connect("world", base, tt.Free("float"))
    ends, joints = [base.port("A"), base.port("B")], []
    for k, kind in enumerate(rng.permutation(kinds[:blocks])):
        block, joint = make[kind](f"{kind}{k}"), random_joint(rng, f"j{k}", str(rng.choice(HELD)), passive=True)
        at = ends.pop(int(rng.integers(len(ends))))
        s.connect(at, block, joint, random_pose(rng))
        ends += [block.port(name) for name in block.ports]
        joints += [joint.name] if isinstance(joint, tt.Revolute | tt.Prismatic) else []
        if kind == "rod":
            tendon = tt.Tendon(f"tendon{k}", block, y=0.008, z=(0.002, -0.005), stiffness=30.0, displacement=0.01, push=True)
            s.add_interaction(tendon)
    one = ends[int(rng.integers(len(ends)))]
    others = [end for end in ends if end.block is not one.block]
    two = others[int(rng.integers(len(others)))]
    s.add_interaction(tt.SpringDamper("strut", stiffness=20.0, damping=0.5, length=0.2), one, two)
    s.add_interaction(tt.SpringDamper("anchor", stiffness=10.0, damping=0.2, length=0.1), "world", two)
    if len(joints) > 1:
        s.add_interaction(CompiledBelt("belt", 3.0, 0.2), two, one, *joints[:2])
    for k, at in enumerate((one, two, base.port("A"))):
        force, torque = rng.uniform(-2.0, 2.0, (2, 3))
        s.add_load(tt.Load(f"load{k}", at, force, torque, ("world", "port")[k % 2]))
    return s


def moderate_state(model: tt.Model, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return a configuration with small deformations, velocities and efforts."""
    v, tau = rng.normal(size=(2, model.nv))
    return model.integrate(model.neutral(), 0.2 * rng.normal(size=model.nv)), 0.3 * v, tau
