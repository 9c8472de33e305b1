"""A model with all that acts on it, as integrators see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_loop import ControlLoop
from titop.solvers.control.loop_signals import Command, Measurements
from titop.solvers.mechanism.inputs import Push
from titop.solvers.model.model import Model
from titop.solvers.model.prepared import Closed
from titop.solvers.simulation.gaps import Gaps


class Plant(Protocol):
    """A model with all that acts on it, as a function of time and state ``y = [q, v, x]``, in closed loop with a controller's.

    See `titop.solvers.simulation.driven_model`.
    """

    model: Model
    motion: Any
    x: Array
    in_x: slice
    held_rank: int
    farthest: float
    feedback: bool
    loop: ControlLoop | None
    command: Command | None
    answer: Callable[[float, Array, Array], Command] | None

    @property
    def gaps(self) -> Gaps:
        """What blocks, joints and interactions say is zero where they switch."""

    @property
    def guards(self) -> Array:
        """Rows that guard all gaps in compiled code, none where that does not know them."""

    def clears(self, t: float, y: Array, length: float) -> bool:
        """Tell whether none of the `guards` came near zero in a step of a `length` (s) to a state."""

    @property
    def has_plain_states(self) -> bool:
        """Whether states are q and v as they are: nothing is to be normalised or imposed."""

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q and v, prescribed motions imposed."""

    def split_rows(self, t: Array, y: Array) -> tuple[Array, Array]:
        """Return q (n, nq) and v (n, nv) of states (n, ...) at times (n, s), prescribed motions imposed."""

    def closed(self, t: float, y: Array, precision: float) -> Closed:
        """Return the state on the closures next to a given one, prescribed motions imposed."""

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt."""

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and efforts."""

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return efforts (nv), the motors' included, and what acts on ports.

        Functions of the state if `feedback` is true, or if a controller has an `answer`.
        """

    def rate_at(self, t: float, q: Array, v: Array) -> Array:
        """Return dq/dt, the accelerations and dx/dt (nq + nv + nx)."""

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return outputs at a state with accelerations `a`."""

    def inputs(self, t: float, q: Array, v: Array) -> Array | None:
        """Return all inputs, with states of the first order behind them; None for none."""

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return all external wrenches."""
