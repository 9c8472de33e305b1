"""The compiled resolver's dynamics for integrators: straight into the kernels, with tables that are made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.inputs import Place, PortPush
from titop.solvers.kernels import closure_entries, entries, layout
from titop.solvers.prepared import PreparedDynamics

if TYPE_CHECKING:
    from titop.solvers.compiled import CompiledModel


class CompiledDynamics(PreparedDynamics):
    """The dynamics of a compiled model for integrators; see `PreparedDynamics`."""

    model: CompiledModel

    def __init__(self, model: CompiledModel, places: Sequence[Place], imposed: Array) -> None:
        super().__init__(model, places, imposed)
        loaded = model._pushed([PortPush(*place, wrench) for place, wrench in zip(places, self.wrenches, strict=True)])
        self._ints, self._floats = loaded._ints, loaded._floats
        self._numbers = loaded._numbers.copy()
        self._all_tables = self._ints, self._floats, self._numbers, loaded._stages
        self._tables = self._all_tables[: len(loaded._arrays)]
        if places:
            self.wrenches = self._floats[-len(places) :, layout.FORCE : layout.FORCE + 6]
        self._imposes = bool(imposed.any())
        self._forward = model._kernel(entries.forward_dynamics).compiled
        self._constrained = model._kernel(closure_entries.constrained_forward).compiled if model.is_constrained else None
        self._loops = -1, np.zeros(0)
        self._law = np.empty((1, loaded._ints[0, layout.LAW_SIZE]))
        self._work = np.empty((len(model._tables.constants), layout.FORWARD_COLUMNS))

    def drive_interactions(self, u: Array) -> None:
        super().drive_interactions(u)
        for name, own in self.model.inputs.acting:
            self._numbers[0, self.model._acting_inputs[name]] = u[own]

    def rate(self, q: Array, v: Array, tau: Array, a: Array) -> Array:
        rate = np.empty(len(q) + len(v))
        self.model._write_rates(q, v, rate[: len(q)])
        rate[len(q) :] = self.accelerations(q, v, tau, a)
        return rate

    def accelerations(self, q: Array, v: Array, tau: Array, a: Array) -> Array:
        if self._imposes:
            return super().accelerations(q, v, tau, a)
        result = np.empty(len(v))
        if self._constrained is None:
            self.model.raise_for(self._forward(*self._tables, q, v, tau, result))
        else:
            self.model.raise_for(self._constrained(*self._acting(), *self._tables, q, v, tau, result))
        return result

    def dynamics(self, q: Array, v: Array, tau: Array, a: Array) -> tuple[Array, Array]:
        if not self._imposes:
            return self.accelerations(q, v, tau, a), tau
        if self.model.is_constrained:
            return super().dynamics(q, v, tau, a)
        a, tau = a.copy(), tau.copy()
        self.model.raise_for(entries.outward(*self._all_tables, q, v, self._law, self._work))
        status = entries.hybrid_stage(self._ints, self._floats, self._law, q, v, a, tau, self.imposed, self._work)
        self.model.raise_for(status)
        return a, tau

    def _acting(self) -> tuple[Array, Array]:
        """Return the tables that tell which coordinates the constraints move, and how many act."""
        if self._loops[0] != self.rank:
            self._loops = self.rank, self.model._loops(self.rank, held=True)
        return self.model._constraint_tables[1], self._loops[1]
