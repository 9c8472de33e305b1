"""Trees as the kernels' tables, beside the reference engine, which knows nothing of these."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.systems import KINDS, Array, random_state, random_tree
from titop.solvers.kernels.interface import layout


class Packed:
    """A random tree, its tables and a random state.

    Parameters
    ----------
    seed : int
    kinds : sequence of str
    bodies : int
    options
        Of `random_tree`.
    """

    def __init__(self, seed: int, kinds: Any = KINDS, bodies: int = 6, **options: Any) -> None:
        rng = np.random.default_rng(seed)
        self.tree = random_tree(rng, bodies, kinds, **options)
        self.model, self.reference = self.tree.resolve(), self.tree.resolve("reference")
        self.system: Any = self.model.mechanism.engine.system  # type: ignore[attr-defined]
        self.ints, self.floats = self.system.ints, self.system.floats
        self.q, self.v, self.a, self.tau = random_state(self.model, rng)

    def work(self) -> Array:
        """Return poses and twists of all elements, by the compiled passes."""
        _, work = self.system.outward(self.q, self.v, layout.INVERSE_COLUMNS)
        found: Array = work
        return found

    def body_pose(self, body: str) -> tuple[Array, Array]:
        """Return rotation and position of a body's reference frame in its element."""
        frame = self.system.ports[self.system.tables.port_rows[body]]
        return frame[:9].reshape(3, 3), frame[9:]

    def world(self) -> Array:
        """Return rotation (9) and position (3) of all elements that carry bodies, by the reference engine; the world's."""
        world = np.full((len(self.ints), 12), np.nan)
        world[0] = [*np.eye(3).ravel(), 0.0, 0.0, 0.0]
        for body in self.model.body_names:
            (turn, shift), (rotation, position) = self.body_pose(body), self.reference.pose(body, self.q)
            own = rotation @ turn.T
            world[self.system.tables.elements[body]] = [*own.ravel(), *(position - own @ shift)]
        return world

    def bodies(self) -> list[tt.RigidBody]:
        """Return all bodies."""
        blocks = (connection.child.block for connection in self.tree.connections)
        return [block for block in blocks if isinstance(block, tt.RigidBody)]


#: Joints of one coordinate, of which no part of the passes is compiled for itself.
AXIAL = ("Revolute", "Prismatic", "Screw", "Weld")
