"""Derivatives of the compiled engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints import closed_derivatives
from titop.solvers.constraints.engine_interface import DerivativesCore, HybridDerivatives
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.bound_kernels import constrained_derivatives
from titop.solvers.engines.compiled.function_kernels import CompiledCalls
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import derivative_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.inputs import Push, own_effort_derivatives, own_efforts, own_pushes
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.native.callbacks import raise_pending


class CompiledDerivatives(DerivativesCore):
    """The derivatives of the compiled engine; see `DerivativesCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem, calls: CompiledCalls) -> None:
        self._mechanism, self._system, self._calls, self._nv = mechanism, system, calls, mechanism.nv

    # -- dynamics --------------------------------------------------------------------------------------------------------

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        q, v, a = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        system, result = self._system.with_pushes(pushes), np.empty((3, self._nv, self._nv))
        system.raise_for(system.bound(derivative_entries.inverse_derivatives)(system.tables.paths, q, v, a, result))
        result[0] -= own_effort_derivatives(pushes, q, self._nv)
        return result

    def inverse(self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None) -> Array:
        if actuated is None:
            return self.tree_inverse(q, v, a, pushes)
        return closed_derivatives.inverse(self._mechanism, q, v, a, pushes, motors, actuated)

    def forward(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        q, v, tau = real_only(q, "q"), real_only(v, "v"), real_only(tau, "tau")
        result, driven = np.empty((3, self._nv, self._nv)), tau + own_efforts(pushes, q, self._nv)
        if self._mechanism.is_constrained:
            if not self._runs(constrained_derivatives(self._system, self._system.closing(pushes)), q, v, driven, result):
                nothing = np.zeros(self._nv)
                return np.array(closed_derivatives.hybrid(self._mechanism, q, v, tau, nothing, nothing > 0, pushes)[:3])
        else:
            system = self._system.with_pushes(pushes)
            derivatives = system.bound(derivative_entries.forward_derivatives)
            system.raise_for(derivatives(system.tables.tree, system.tables.paths, q, v, driven, result))
        result[0] += result[2] @ own_effort_derivatives(pushes, q, self._nv) if own_pushes(pushes) else 0.0
        return result

    def hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> HybridDerivatives:
        q, v, tau, a = real_only(q, "q"), real_only(v, "v"), real_only(tau, "tau"), real_only(a, "a")
        result, driven = np.empty((8, self._nv, self._nv)), tau + own_efforts(pushes, q, self._nv)
        kernel = self._calls.hybrids[mask.tobytes()].derivatives(self._system.closing(pushes))
        if not self._runs(kernel, q, v, driven, a, result):
            return closed_derivatives.hybrid(self._mechanism, q, v, tau, a, mask, pushes)
        changes = HybridDerivatives(*result)
        if not own_pushes(pushes):
            return changes
        by_q = own_effort_derivatives(pushes, q, self._nv)
        efforts = np.where(mask[:, None], changes.dtau_dtau @ by_q - by_q, 0.0)
        return changes._replace(da_dq=changes.da_dq + changes.da_dtau @ by_q, dtau_dq=changes.dtau_dq + efforts)

    def _runs(self, kernel: Bound, *arguments: Array) -> bool:
        """Tell whether a kernel runs; in a tree raise its error."""
        status = kernel.call(*arguments)
        if not self._mechanism.is_constrained:
            self._system.raise_for(status)
        raise_pending()
        return bool(status == layout.OK)

    # -- closures --------------------------------------------------------------------------------------------------------

    def with_closures(self, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array) -> tuple[Array, Array]:
        changes, rows = self._changes_with_closures(self._system, q, v, a, pushes, multipliers)
        changes[0] -= own_effort_derivatives(pushes, q, self._nv)
        return changes, rows

    def closure_rate(self, q: Array, v: Array) -> Array:
        nothing, held = np.zeros(self._nv), np.zeros(len(self._mechanism.constraint_names))
        rows: Array = self._changes_with_closures(self._system.bare, q, v, nothing, [], held)[1]
        return rows[3]

    def _changes_with_closures(
        self, system: PackedSystem, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array
    ) -> tuple[Array, Array]:
        q, v, a, weights = real_only(q, "q"), real_only(v, "v"), real_only(a, "a"), self._mechanism.scale.weights
        changes, rows = np.empty((3, self._nv, self._nv)), np.empty((4, len(weights), self._nv))
        kernel = system.kernel(derivative_entries.inverse_slopes_with_closures)
        held = real_only(multipliers, "multipliers") / weights
        system.raise_for(kernel(system.tables.paths, system.loops, *system.closing(pushes), q, v, a, held, changes, rows))
        return changes, rows / weights[:, None]

    # -- motion of ports -------------------------------------------------------------------------------------------------

    def motion(self, ports: Sequence[str], q: Array, v: Array, a: Array, weightless: bool = False) -> list[Array]:
        result = np.empty((4 * len(ports), 6, self._nv))
        kernel = self._calls.motion_slopes[tuple(ports), weightless]
        self._system.raise_for(kernel.call(real_only(q, "q"), real_only(v, "v"), real_only(a, "a"), result))
        return [*result.reshape(-1, 4, 6, self._nv)]
