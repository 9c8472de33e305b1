"""The states that an integrator has reached, also where Ctrl-C stopped it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array

if TYPE_CHECKING:
    from titop.solvers.simulation.trajectory import Trajectory


class ReachedStates(NamedTuple):
    """The states that an integrator has reached.

    Attributes
    ----------
    t : (n,) array, s
        The output times reached, and the time where it was stopped.
    y : (n, ...) array
        The states at these times.
    statistics : dict of name to number
        Counts of steps and the like; see `Trajectory`.
    memory : dict of name to array, optional
        What the integrator needs to go on from the last state as if it had not stopped there; None where it cannot.
    """

    t: Array
    y: Array
    statistics: dict[str, float]
    memory: dict[str, Array] | None = None


class SimulationInterrupt(KeyboardInterrupt):
    """Ctrl-C during a simulation; the states computed until then are kept.

    Parameters
    ----------
    message : str
    solution : ReachedStates, optional
        The states reached.

    Attributes
    ----------
    trajectory : Trajectory
        From the beginning to the last finished step; raises a `ModelError` if the exception comes from another process.

    Examples
    --------
    ::

        try:
            trajectory = tt.simulate(m, np.linspace(0, 1000, 5001), q0, v0)
        except tt.SimulationInterrupt as stopped:
            trajectory = stopped.trajectory
    """

    def __init__(self, message: str, solution: ReachedStates | None = None) -> None:
        super().__init__(message)
        self.solution = solution
        self._collect: Callable[[ReachedStates], Trajectory] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only the message to another process."""
        return type(self), self.args

    def collect_with(self, collect: Callable[[ReachedStates], Trajectory]) -> None:
        """Set the function that makes a trajectory of the solution; as this takes time, it is called on first access.

        Parameters
        ----------
        collect : callable
            From the solution to the `Trajectory`.
        """
        self._collect = collect

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion until the simulation was stopped."""
        if self._collect is None or self.solution is None:
            advice = "ask in the process that simulated"
            raise ModelError(Finding("no-trajectory", "trajectory", str(self), "a simulation of this process", advice))
        return self._collect(self.solution)


def interrupt(last: tuple[float, Array], end: float, solution: ReachedStates) -> SimulationInterrupt:
    """Return the exception for a simulation until `end` that was stopped after its `last` step, a time (s) and a state.

    `solution` has the output times reached.
    """
    if last[0] > solution.t[-1]:
        solution = solution._replace(t=np.append(solution.t, last[0]), y=np.vstack([solution.y, last[1]]))
    text = f"stopped at t = {solution.t[-1]:.6g} s of {end:.6g} s; `trajectory` of this exception has what was computed"
    return SimulationInterrupt(text, solution)
