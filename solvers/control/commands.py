"""What a controller commands: inputs of actuators and efforts of joints, by name and within limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import COMMANDED, read_name
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.units import units_of


class Command(NamedTuple):
    """Inputs (nu) and efforts (nv) added to what acts on the model otherwise."""

    u: Array
    tau: Array


class Commands:
    """Where the outputs of a controller go.

    Parameters
    ----------
    model : Model
    names : sequence of str
        In titop's spelling; see `titop.solvers.signals.signal_tables.commanded_signals`.
    saturate : bool
        Whether inputs keep to the actuators' ranges.

    Attributes
    ----------
    units : tuple of str
    to_u, to_tau : (nu, names) and (nv, names) arrays
        Inputs and efforts a unit of each commanded value.
    limits : (2, nu) array
        The inputs' ranges.
    """

    def __init__(self, model: Model, names: Sequence[str], saturate: bool) -> None:
        self.names = tuple(names)
        inputs = model.inputs
        self.to_u, self.to_tau = np.zeros((model.nu, len(names))), np.zeros((model.nv, len(names)))
        quantities = [read_name(model, COMMANDED, name) for name in self.names]
        for k, of in enumerate(quantities):
            (self.to_u if of.kind == Kind.INPUT else self.to_tau)[of.entries[0], k] = 1.0
        self.units = tuple(unit for of in quantities for unit in units_of(model, of))
        self._to_both = np.vstack([self.to_u, self.to_tau])
        free = np.full(model.nu, np.inf)
        self.limits = np.array([inputs.lower, inputs.upper] if saturate else [-free, free])
        self._is_limited = bool(np.isfinite(self.limits).any())

    def send(self, values: Array, resting: Array) -> Command:
        """Return what is commanded by values (one a name) beside what is `resting` (inputs and efforts, nu + nv)."""
        both = resting + self._to_both.dot(values)
        return Command(both[: len(self.to_u)], both[len(self.to_u) :])

    def values(self, commands: Sequence[Command]) -> Array:
        """Return the values (one a name) in commands, a row each."""
        return np.array([np.concatenate(command) for command in commands]).reshape(len(commands), -1) @ self._to_both

    def acting(self, u: Array | None) -> Array:
        """Return for each name one, or zero where the inputs (nu) are at the actuators' limits: commands change nothing."""
        held = np.zeros(len(self.limits[0])) if u is None else (u <= self.limits[0]) | (u >= self.limits[1])
        return 1.0 - self.to_u.T @ held

    def within_limits(self, u: Array) -> Array:
        """Return inputs (nu) cut to the actuators' ranges."""
        if not self._is_limited:
            return u
        return np.minimum(np.maximum(u, self.limits[0]), self.limits[1])
