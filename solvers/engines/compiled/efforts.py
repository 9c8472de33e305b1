"""Kernels of efforts on the coordinates of a system: passive efforts, and efforts per unit of inputs."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.contract.applied import is_acted_on
from titop.solvers.engines.compiled.law_tables import compiled_law, compiled_surroundings
from titop.solvers.engines.compiled.packed import PackedSystem, interaction_rows
from titop.solvers.engines.compiled.tables import GeneralBlock
from titop.solvers.kernels.entries import effort_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.model.mechanism import Mechanism


class CompiledEfforts:
    """The efforts on the coordinates of a system, as far as they are compiled."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem) -> None:
        self._mechanism, self._system = mechanism, system

    @cached_property
    def answering(self) -> list[GeneralBlock]:
        """The blocks whose laws are evaluated in Python."""
        return [general for general in self._system.tables.general if compiled_law(general.block) is None]

    @cached_property
    def applied_in_python(self) -> bool:
        """Whether some blocks define their applied efforts in Python."""
        acted_on = (general.block for general in self._system.tables.general if is_acted_on(general.block))
        return any(compiled_surroundings(block) is None for block in acted_on)

    @property
    def in_python(self) -> bool:
        """Whether Python methods of blocks have to be called too."""
        return bool(self.answering) or self.applied_in_python

    @cached_property
    def passive(self) -> Any:
        """Compiled passive efforts, without gravity: of joints and interactions, and of the blocks whose laws are compiled."""
        system = self._system
        ints = system.ints.copy()
        ints[0, layout.LOADS] = 0
        if self.applied_in_python:
            ints[0, layout.APPLYING] = 0
        elements = [general.element for general in system.tables.general if general not in self.answering]
        acting, table = (
            system.variant(ints=ints, floats=system.floats.copy()),
            np.array(elements, dtype=np.int64).reshape(1, -1),
        )
        acting.floats[0, layout.GRAVITY : layout.GRAVITY + 3] = 0.0
        return partial(acting.kernel(effort_entries.passive_efforts).compiled, *acting.arrays, system.bare.ints, table)

    @cached_property
    def actuation(self) -> Any:
        """Compiled efforts per unit of each input (nu, nv), except for blocks' own inputs."""
        inputs, system = self._mechanism.inputs, self._system
        loaded = system.with_loads_at(inputs.places) if inputs.places else system
        if inputs.places:
            loaded = loaded.variant(floats=loaded.floats.copy())
            loaded.floats[-len(inputs.places) :, layout.FORCE : layout.FORCE + 6] = inputs.units_at_places
        rows = interaction_rows(system)
        acting = [
            (rows[name], at, column)
            for name, columns in inputs.acting
            for at, column in zip(_range(system.acting_inputs[name]), _range(columns), strict=False)  # states are behind
        ]
        table = np.array(acting, dtype=np.int64).reshape(-1, 3)
        columns, motors = np.array([inputs.columns], dtype=np.int64).reshape(1, -1), np.ascontiguousarray(inputs.motors.T)
        kernel = system.kernel(effort_entries.actuation_rows).compiled
        return partial(kernel, *loaded.arrays, columns, table, motors)


def _range(part: slice) -> range:
    return range(part.start, part.stop)
