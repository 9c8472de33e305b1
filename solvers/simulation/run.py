"""Runs of Monte Carlo studies that are simulations: many samples are one ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse
from titop.blocks.basics.user_functions import check_function
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.model.model import Model
from titop.solvers.simulation.ensemble_members import EnsembleMembers, rows_of
from titop.solvers.simulation.simulate import ARGUMENTS, simulate, simulate_many
from titop.solvers.simulation.trajectory import Trajectory

#: Arguments of `simulate` that a run sets itself.
_OWN = ("model", "t", "q0", "v0", "x0", "seed", "seeds", "parameters", "start", "progress")


@dataclass(init=False)
class Run:
    """A simulation as the function that `monte_carlo` runs: it simulates many samples at once, as an ensemble.

    The result is that of ``run(point, seed)``, which simulates one, bit for bit, whatever runs beside it.

    Parameters
    ----------
    t : array_like (n,), s
        Output times.
    q0, v0 : array_like (nq,), (nv,), optional
        State at ``t[0]`` of all samples. By default that of the operating point, if initial states are drawn or a `point` is
        given, whose efforts, inputs and wrenches act too unless they are given here (with an ``operating_point`` only its
        wrenches); else the neutral configuration, at rest.
    outcome : callable ``f(trajectory) -> mapping``
        Returns numbers or arrays by name.
    **simulate
        Further arguments of `simulate`, the same for all samples; each sample has its own seed of noise.

    Raises
    ------
    ModelError
        For unknown arguments, and those that a study sets.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("drop", gravity=[0, 0, -10])
    >>> s.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("fall", damping=0.1))
    >>> run = tt.Run([0, 1], [0.0], [0.0], lambda trajectory: {"end": trajectory.q[-1, 0]}, rtol=1e-6)
    >>> samples = tt.monte_carlo(s.resolve(), {"stone.mass": (1.0, 2.0)}, run, n=20)
    >>> bool((samples.outcomes["end"] > -5).all())
    True
    """

    t: Any
    q0: Any
    v0: Any
    outcome: Callable[[Trajectory], Mapping[str, Any]]
    arguments: dict[str, Any]

    def __init__(self, t: Any, q0: Any = None, v0: Any = None, outcome: Any = None, **simulate: Any) -> None:
        check_function("outcome", outcome, "trajectory")
        self.t, self.q0, self.v0, self.outcome, self.arguments = t, q0, v0, outcome, simulate
        known = [name for name in ARGUMENTS if name not in _OWN]
        findings = [
            Finding(
                "unknown-argument",
                f"Run({name}=)",
                name,
                "an argument of simulate that all samples share",
                did_you_mean(name, known),
            )
            for name in simulate
            if name not in known
        ]
        advice = "give it to all, or stack it in tt.simulate"
        findings += [
            Finding("wrong-type", f"Run({name}=)", "a value for each member", "one for all samples", advice)
            for name, value in {"q0": q0, "v0": v0, **simulate}.items()
            if rows_of(name, value) is not None
        ]
        refuse(findings)

    def __call__(self, at: Model | OperatingPoint, seed: int) -> Mapping[str, Any]:
        """Return the outcome of a model, or operating point, simulated with a seed (without unit)."""
        return self.outcome(simulate(**{"t": self.t, **self.arguments, **self._own(at, seed)}, progress=False))

    def of_many(self, sources: Sequence[Model | OperatingPoint], seeds: Sequence[int]) -> list[Any]:
        """Return the outcome of each of many `sources`, models or operating points, or the exception that it has raised.

        `seeds` has an int for each.
        """
        members = EnsembleMembers(len(sources), {"t": self.t, **self.arguments}, lambda k: self._own(sources[k], seeds[k]))
        return [self._told(result) for result in members.run(simulate, simulate_many, False)]

    def _told(self, result: Trajectory | Exception) -> Any:
        if isinstance(result, Exception):
            return result
        try:
            return self.outcome(result)
        except Exception as error:
            return error

    def _own(self, at: Model | OperatingPoint, seed: int) -> dict[str, Any]:
        """Return the arguments of `simulate` that a sample has of its own."""
        if isinstance(at, Model):
            q0, v0 = at.neutral() if self.q0 is None else self.q0, np.zeros(at.nv) if self.v0 is None else self.v0
            return {"model": at, "q0": q0, "v0": v0, "seed": seed}
        if self.q0 is not None or self.v0 is not None:
            expected = "none: the study has its own initial states"
            raise ModelError(Finding("given-twice", "Run", "q0 and v0", expected, "leave them out, or draw none"))
        loads: dict[str, Any] = {"wrenches": at.wrenches}
        if self.arguments.get("operating_point") is None:
            loads |= {"tau": at.tau, "u": at.u}
        loads = {
            name: value for name, value in loads.items() if name not in self.arguments and value is not None and len(value)
        }
        return {"model": at.model, "q0": at.q, "v0": at.v, "x0": at.x if at.model.nx else None, "seed": seed, **loads}
