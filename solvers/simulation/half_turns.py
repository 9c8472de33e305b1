"""Springs of rotations that a simulation takes past half a turn, where the displacement that they store energy in jumps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, rotation_log
from titop.blocks.interactions.compliant_closure import CompliantClosure
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.quaternion_joints import Free, Spherical
from titop.graph.network.connections import Loop
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.model.model import Model

#: A rotation vector changes by at most this many times the angle turned (pi/2, next to half a turn), unless it jumps.
_STRETCH = 1.6


class HalfTurns:
    """The relative rotations of compliant closures, and of free and spherical joints with springs, watched step by step.

    Parameters
    ----------
    model : Model

    Attributes
    ----------
    found : dict of name to time (s)
        Closures and joints that passed half a turn, and when they had.
    """

    def __init__(self, model: Model) -> None:
        self.found: dict[str, float] = {}
        self._rotations = dict(_rotations(model))
        self._last: dict[str, Array] = {}

    def look(self, t: float, q: Array) -> None:
        """Look at the state at the end of a step, at time t (s)."""
        for name, rotation in self._rotations.items():
            now, before = rotation(q), self._last.get(name)
            if before is not None and name not in self.found:
                turned = np.linalg.norm(rotation_log(before.T @ now))
                if np.linalg.norm(rotation_log(now) - rotation_log(before)) > _STRETCH * turned + 1e-6:
                    self.found[name] = t
            self._last[name] = now

    @property
    def any(self) -> bool:
        """Whether there is something to watch."""
        return bool(self._rotations)

    def findings(self) -> Iterator[Finding]:
        """Yield what to warn of."""
        for name, t in self.found.items():
            expected = "rotations by less than half a turn: the spring's displacement jumps there, and energy with it"
            advice = "put the rotation into a joint, or leave its stiffness out"
            yield Finding("half-turn", name, f"half a turn by t = {t:.6g} s", expected, advice)


def _rotations(model: Model) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Yield each spring that stores the energy of a rotation, and the rotation as a function of q."""
    for loop in model.assembly.loops:
        if isinstance(loop.closure, CompliantClosure) and loop.closure.stiffness[3:].any():
            yield loop.closure.name, _of_loop(model, loop)
    for block in model.assembly.blocks_with_coordinates:
        if isinstance(block, Free | Spherical) and block.stiffness[-3:].any():
            yield block.name, _of_joint(block, model.assembly.q_slices[block.name])


def _of_loop(model: Model, loop: Loop) -> Callable[[Array], Array]:
    return lambda q: relative_pose(model, loop, q)[0]


def _of_joint(joint: Joint, where: slice) -> Callable[[Array], Array]:
    rest, _ = joint.pose("", joint.rest)
    return lambda q: rest.T @ joint.pose("", q[where])[0]
