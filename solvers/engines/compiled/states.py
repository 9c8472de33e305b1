"""First-order states of the compiled engine."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import of_one_state
from titop.solvers.constraints.mechanism import StateDerivatives
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import state_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.native.callbacks import raise_pending


class CompiledStates:
    """The first-order states of the compiled engine; see `StatesCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem) -> None:
        self._mechanism, self._system = mechanism, system

    def rates(self, q: Array, v: Array, u: Array) -> Array:
        system, rates = self._system, np.empty(len(self._mechanism.inputs.state_names))
        if len(rates):
            state = real_only(q, "q"), real_only(v, "v")
            system.raise_for(state_entries.state_rates(*self._driven(u), *state, rates))
        return rates

    def slopes(self, q: Array, v: Array, u: Array) -> tuple[StateDerivatives, Array]:
        system, nv, nx = self._system, self._mechanism.nv, len(self._mechanism.inputs.state_names)
        by_state, by_w, efforts = np.zeros((2 * nx, nv)), np.zeros((nx, self._mechanism.inputs.count)), np.empty((nx, nv))
        if nx:
            columns, (ints, *tables) = self._columns, self._driven(u)
            driven, state = np.empty((nx, len(columns))), (real_only(q, "q"), real_only(v, "v"))
            results = by_state, driven, efforts
            system.raise_for(state_entries.state_slopes(ints, system.bare.ints, *tables, system.tables.paths, *state, *results))
            by_w[:, columns] = driven
        parts = by_state[:nx], by_state[nx:], *np.split(by_w, [len(self._mechanism.inputs.names)], axis=1)
        return StateDerivatives(*parts), efforts.T

    def following(self, q: Array, v: Array, u: Array, begun: Array, guess: Array, half: float) -> tuple[Array, Array]:
        x, inverse = guess.copy(), np.zeros((len(guess),) * 2)
        status = state_entries.follow_states(half, *self._driven(u), q, v, begun, x, inverse)
        if status != layout.OK:
            raise_pending()
            x[:] = np.nan
        return x, inverse

    @cached_property
    def _columns(self) -> Array:
        """Indices of the inputs and states of interactions with states among all, one interaction after the other."""
        stated = dict(self._mechanism.inputs.states)
        parts = [np.arange(self._mechanism.inputs.count)[own] for name, own in self._mechanism.inputs.driving if name in stated]
        return np.concatenate(parts)

    def _driven(self, u: Array) -> tuple[Array, Array, Array, Array]:
        """Return the tables, with inputs and states."""
        ints, floats, numbers, addresses = self._system.all_tables
        numbers, u = numbers.copy(), real_only(of_one_state(u), "u")
        for name, own in self._mechanism.inputs.driving:
            numbers[0, self._system.acting_inputs[name]] = u[own]
        return ints, floats, numbers, addresses
