"""A model with all that acts on it, as integrators see it."""

from __future__ import annotations

from typing import Any, Protocol

from titop.blocks.spatial import Array
from titop.solvers.inputs import Push
from titop.solvers.model import Model


class Plant(Protocol):
    """A model with all that acts on it, as a function of time and state ``y = [q, v]``, in closed loop with a controller's.

    See `titop.solvers.simulation.driven_model`.
    """

    model: Model
    motion: Any
    held_rank: int
    feedback: bool

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q and v, prescribed motions imposed."""

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt."""

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and efforts."""

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return efforts (nv), the motors' included, and what acts on ports; functions of the state if `feedback` is true."""
