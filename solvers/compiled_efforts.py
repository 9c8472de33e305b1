"""What acts on a compiled model along its coordinates: passive efforts, units of inputs."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import is_acted_on
from titop.graph.flatten import GeneralBlock
from titop.solvers.compiled_observations import IDENTITY, CompiledObservations
from titop.solvers.kernels import acting_entries, layout, observation_entries
from titop.solvers.laws import compiled_law, compiled_surroundings


class CompiledEfforts(CompiledObservations):
    """What acts on a compiled model along its coordinates; see `Model` for its functions."""

    # -- passive efforts, and a unit of each input ---------------------------------------------------------------------

    def passive_efforts(self, q: Any, v: Any) -> Array:
        efforts = self._ask(self._passive, (q, v), np.empty(self.nv))
        if self._answering or self._applied_in_python:
            states = np.atleast_2d(self._read_q(q, stacked=True)), np.atleast_2d(self._read_v("v", v, True))
            for row, *state in zip(np.atleast_2d(efforts), *states, strict=True):
                row += self._own_passive_efforts(*state) + self._applied_efforts(*state)
        return efforts

    @cached_property
    def _passive(self) -> Any:
        """Compiled passive efforts: of joints and interactions, and of the blocks whose laws are compiled."""
        acting = self._variant()
        acting._ints = self._ints.copy()
        acting._ints[0, layout.LOADS] = 0
        if self._applied_in_python:
            acting._ints[0, layout.APPLYING] = 0
        asked = [general.element for general in self._tables.general if general not in self._answering]
        table = np.array(asked, dtype=np.int64).reshape(1, -1)
        kernel, tables = acting._kernel(acting_entries.passive_efforts).compiled, acting._arrays
        return partial(kernel, *tables, self._bare._ints, table)

    @cached_property
    def _answering(self) -> list[GeneralBlock]:
        """The blocks whose laws answer through Python."""
        return [general for general in self._tables.general if compiled_law(general.block) is None]

    @cached_property
    def _applied_in_python(self) -> bool:
        """Whether something acts on a block that says so in Python."""
        acted_on = (general.block for general in self._tables.general if is_acted_on(general.block))
        return any(compiled_surroundings(block) is None for block in acted_on)

    def _own_passive_efforts(self, q: Array, v: Array) -> Array:
        efforts = np.zeros(self.nv)
        for general in self._answering:
            efforts[general.v] = general.block.passive_efforts(q[general.q], v[general.v])
        return efforts

    def _applied_efforts(self, q: Array, v: Array) -> Array:
        efforts = np.zeros(self.nv)
        if not self._applied_in_python:
            return efforts
        _, work, world = self._observe(q, v)
        for general in self._tables.general:
            if is_acted_on(general.block):
                at, twist = world[general.element], work[general.element, layout.TWIST : layout.TWIST + 6]
                own = general.block.applied_efforts(q[general.q], v[general.v], twist, at[:9].reshape(3, 3), at[9:])
                jacobian = np.empty((6, self.nv))
                kernel = self._bound(observation_entries.port_jacobian)
                self.raise_for(kernel(general.element, -1, IDENTITY, False, q, jacobian))
                efforts += jacobian.T @ own[:6]
                efforts[general.v] += own[6:]
        return efforts

    def actuation_matrix(self, q: Any) -> Array:
        rows = self._ask(self._actuation, (q,), np.empty((self.nu, self.nv)))
        if self.inputs.own:
            states = np.atleast_2d(self._read_q(q, stacked=True))
            for at, state in zip(rows.reshape(-1, self.nu, self.nv), states, strict=True):
                for block, in_q, in_v, columns in self.inputs.own:
                    at[columns, in_v] = block.input_matrix(state[in_q]).T
        return rows.swapaxes(-1, -2)

    @cached_property
    def _actuation(self) -> Any:
        """Compiled efforts a unit of each input, but for those of blocks' own inputs."""
        inputs = self.inputs
        model = self._loaded_at(inputs.places) if inputs.places else self
        if inputs.places:
            model._floats[-len(inputs.places) :, layout.FORCE : layout.FORCE + 6] = inputs._wrenches
        acting = [
            (self._interaction_rows[name], at, column)
            for name, columns in inputs.acting
            for at, column in zip(_range(self._acting_inputs[name]), _range(columns), strict=True)
        ]
        table = np.array(acting, dtype=np.int64).reshape(-1, 3)
        columns, motors = np.array([inputs._columns], dtype=np.int64).reshape(1, -1), np.ascontiguousarray(inputs.motors.T)
        kernel = self._kernel(acting_entries.actuation_rows).compiled
        return partial(kernel, *model._arrays, columns, table, motors)

    @cached_property
    def _interaction_rows(self) -> dict[str, int]:
        """The rows of interactions among the tables, by name."""
        rows, row = {}, int(self._ints[0, layout.FIRST_INTERACTION])
        for acting in self._tables.interactions:
            rows[acting.block.name] = row
            row += 1 + int(self._ints[row, layout.ACT_PORTS] + self._ints[row, layout.ACT_COORDINATES])
        return rows


def _range(part: slice) -> range:
    return range(part.start, part.stop)
