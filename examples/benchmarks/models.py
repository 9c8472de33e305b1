"""The systems that the benchmarks time, as data, and as titop systems.

A `Tree` is what every engine can read: bodies whose reference frames stand at their joints, all frames parallel when the
coordinates are zero. `peers.py` builds the same trees for Pinocchio, MuJoCo and Drake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import titop as tt

Vector = tuple[float, float, float]
GRAVITY: Vector = (0.0, 0.0, -9.81)


class Body(NamedTuple):
    """A body and the revolute joint that carries it.

    Attributes
    ----------
    name : str
    parent : int
        Index of the parent body in the tree; -1 for the world.
    offset : (3,), m
        Joint in the parent's joint frame.
    axis : (3,)
        Unit joint axis.
    mass : float, kg
    com : (3,), m
        Centre of mass in the joint frame.
    moments : (3,), kg m^2
        Moments of inertia about the centre of mass, along the joint frame's axes.
    """

    name: str
    parent: int
    offset: Vector
    axis: Vector
    mass: float
    com: Vector
    moments: Vector


@dataclass(frozen=True)
class Tree:
    """A tree of bodies, depth first; with `floating` the first body is free and its axis is ignored."""

    name: str
    bodies: tuple[Body, ...]
    floating: bool


class State(NamedTuple):
    """Configuration, velocity and acceleration in titop's conventions."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def aerial_manipulator(branches: int = 2, links: int = 3) -> Tree:
    """Return the flying robot with arms of paper L (Table 3), or one with more and longer arms.

    Parameters
    ----------
    branches : int
        Arms, side by side along x.
    links : int
        Bodies of each arm; their axes are y, x, z, y, x, z, ...
    """
    below, half_link, spacing = 0.10, 0.06, 0.18  # b, d, c
    axes: tuple[Vector, ...] = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    bodies = [Body("base", -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 2.5, (0.0, 0.0, 0.0), (0.03, 0.03, 0.05))]
    for branch in range(branches):
        parent, offset = 0, (spacing * ((branches - 1) / 2 - branch), 0.0, -below)
        for link in range(links):
            name = f"arm{branch + 1}link{link + 1}"
            bodies.append(Body(name, parent, offset, axes[link % 3], 0.25, (0.0, 0.0, -half_link), (0.002, 0.002, 0.001)))
            parent, offset = len(bodies) - 1, (0.0, 0.0, -2 * half_link)
    return Tree(f"{len(bodies)}-body aerial manipulator", tuple(bodies), floating=True)


def fixed_arm(joints: int = 7) -> Tree:
    """Return an arm on a fixed base, its axes z, y, z, y, ..."""
    axes: tuple[Vector, ...] = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    bodies = tuple(
        Body(f"link{k + 1}", k - 1, (0.0, 0.02, 0.2), axes[k % 2], 4.0 - 0.4 * k, (0.01, -0.02, 0.1), (0.03, 0.03, 0.01))
        for k in range(joints)
    )
    return Tree(f"{joints}-dof fixed arm", bodies, floating=False)


def system(tree: Tree) -> tt.System:
    """Return a tree as a titop system; the joint of body ``x`` is called ``x_joint``."""
    result = tt.System("benchmark", gravity=GRAVITY)
    blocks: list[tt.RigidBody] = []
    for k, body in enumerate(tree.bodies):
        block = tt.RigidBody(body.name, mass=body.mass, com=body.com, inertia=body.moments)
        free = tree.floating and k == 0
        joint = tt.Free(f"{body.name}_joint") if free else tt.Revolute(f"{body.name}_joint", axis=body.axis)
        result.connect("world" if body.parent < 0 else blocks[body.parent], block, joint=joint, placement=body.offset)
        blocks.append(block)
    return result


def random_state(model: tt.Model, seed: int = 0) -> State:
    """Return a random state."""
    rng = np.random.default_rng(seed)
    return State(model.random_configuration(rng), rng.uniform(-1.0, 1.0, model.nv), rng.uniform(-1.0, 1.0, model.nv))
