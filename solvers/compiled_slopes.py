"""Derivatives of a compiled model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.spatial import Array, twist_transport
from titop.solvers.compiled_closed_slopes import CompiledClosedSlopes, driven_by
from titop.solvers.inputs import Push, own_effort_slopes, own_efforts, own_pushes
from titop.solvers.kernels import derivative_entries, layout
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import real


class CompiledSlopes(CompiledClosedSlopes):
    """The derivatives of a compiled model; see `titop.solvers.differentiable` for its functions."""

    @cached_property
    def _inverse_slopes(self) -> Any:
        return self._bound(derivative_entries.inverse_derivatives)

    @cached_property
    def _forward_slopes(self) -> Any:
        return self._bound(derivative_entries.forward_derivatives)

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
    ) -> tuple[Array, Array, Array]:
        if actuated is None and self._all_compiled_slopes:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                slopes, paths = self._inverse_slopes, self._tables.paths
                if wrenches is not None or u is not None:
                    slopes, _ = self._loaded_kernel(slopes, wrenches, u, q)
                if slopes(paths, q, v, a, result) == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
            raise_pending()
        return super().inverse_dynamics_derivatives(q, v, a, wrenches, out, u, actuated)

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> tuple[Array, Array, Array]:
        if self._all_compiled_slopes:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                slopes, tree, paths, applied = self._forward_slopes, self._tables.tree, self._tables.paths, tau
                if wrenches is not None or u is not None:
                    slopes, driven = self._loaded_kernel(slopes, wrenches, u, q)
                    applied = tau if driven is None else driven_by(tau, driven)
                if slopes(tree, paths, q, v, applied, result) == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
            raise_pending()
        return super().forward_dynamics_derivatives(q, v, tau, wrenches, out, u)

    @cached_property
    def _linearised(self) -> Any:
        return self._bound(derivative_entries.linear_matrices)

    def _linear_matrices(self, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        if not wrenches and u is None and self._all_compiled_slopes:
            n, tables = self.nv, self._tables
            numbers = np.empty(6 * n * n + n)
            A, B, a = numbers[: 4 * n * n].reshape(2 * n, 2 * n), numbers[4 * n * n : -n].reshape(2 * n, n), numbers[-n:]
            try:
                if self._linearised(tables.tree, tables.paths, q, v, tau, a, A, B) == layout.OK:
                    return a, A, B
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, ...
                pass
            raise_pending()
        return super()._linear_matrices(q, v, tau, wrenches, u)

    def tree_inverse_derivatives(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        q, v, a = real(q, "q"), real(v, "v"), real(a, "a")
        model, result = self._pushed(pushes), np.empty((3, self.nv, self.nv))
        self.raise_for(model._inverse_slopes(self._tables.paths, q, v, a, result))
        self._add_uncompiled_slopes(q, pushes, result)
        return result

    def motion_slopes(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[Array]:
        q, v, a = real(q, "q"), real(v, "v"), real(a, "a")
        paths, elements = self._tables.paths, len(self._tables.constants)
        rows = elements + int(self._ints[0, layout.ALL_PORTS])
        work, sums = np.empty((elements, layout.INVERSE_COLUMNS)), np.empty((rows, layout.FULL_COLUMNS))
        columns = np.empty((paths.shape[1], layout.COLUMN_COLUMNS))
        self.raise_for(derivative_entries.motion_columns(*self._bare._all_tables, paths, q, v, a, work, sums, columns))
        results = []
        for port in ports:
            result = np.zeros((4, 6, self.nv))
            element, last = self._nearest_column(port)
            if last >= 0:
                base = sums[element, :12]
                rotation, position, subspace, where = self._port_in_element(port, q)
                frame = np.concatenate(
                    [(base[:9].reshape(3, 3) @ rotation).ravel(), base[9:] + base[:9].reshape(3, 3) @ position]
                )
                to_port = twist_transport(rotation, position)
                twist = to_port @ work[element, layout.TWIST : layout.TWIST + 6] + subspace @ v[where]
                back = np.linalg.solve(twist_transport(frame[:9].reshape(3, 3), frame[9:]), twist)
                derivative_entries.port_derivatives(paths, columns, last, frame[None], back, result)
            results.append(result)
        return results

    def _nearest_column(self, port: str) -> tuple[int, int]:
        """Return the element that carries a port, and the row of the coordinate nearest to the port (-1 without)."""
        block, name = self.ports[port]
        element = self._tables.elements[block]
        entries_of = self._ints[element]
        if element and entries_of[layout.LAW] >= 0:
            general = self._general_block(block)
            if general.block.nv and name in general.ports:
                index = list(general.ports).index(name)
                return element, int(entries_of[layout.COLUMN]) + (index + 1) * general.block.nv - 1
        return element, int(entries_of[layout.LAST]) if element else -1

    def _forward_derivatives(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        if self._all_compiled_slopes:
            q, v, tau = real(q, "q"), real(v, "v"), real(tau, "tau")
            model, tables, result = self._pushed(pushes), self._tables, np.empty((3, self.nv, self.nv))
            driven = tau + own_efforts(pushes, q, self.nv)
            self.raise_for(model._forward_slopes(tables.tree, tables.paths, q, v, driven, result))
            result[0] += result[2] @ own_effort_slopes(pushes, q, self.nv) if own_pushes(pushes) else 0.0
            return result
        return super()._forward_derivatives(q, v, tau, pushes)

    @cached_property
    def _all_compiled_slopes(self) -> bool:
        return not self._group_springs and not self.is_constrained
