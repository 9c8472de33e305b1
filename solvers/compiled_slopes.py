"""Derivatives of a compiled model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, twist_transport
from titop.solvers.compiled_closed_slopes import CompiledClosedSlopes, driven_by
from titop.solvers.inputs import Push, own_effort_slopes, own_efforts, own_pushes
from titop.solvers.kernels import derivative_entries, directional_entries, layout
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import real
from titop.solvers.rowwise import at_rows
from titop.solvers.stacked_loads import are_stacked, read_states


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

    def forward_dynamics_tangent(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dq: Any,
        dv: Any,
        dtau: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> Array:
        if self._has_laws or self.is_constrained:
            return super().forward_dynamics_tangent(q, v, tau, dq, dv, dtau, wrenches, u)
        if wrenches is None and u is None and not self._group_springs:
            try:
                da = np.array(dtau, dtype=float, ndmin=2)
                rows = (q[None], v[None], tau[None], dq[None], dv[None]) if q.ndim == 1 else (q, v, tau, dq, dv)
                if self._tangent(*rows, da) == layout.OK:
                    return da[0] if q.ndim == 1 else da
            except (AttributeError, TypeError, ValueError):  # not the kernel's types: lists, integers, ...
                pass
        given = {"q": q, "v": v, "tau": tau, "dq": dq, "dv": dv, "dtau": dtau}
        if are_stacked(q, wrenches, u):
            return np.asarray(at_rows(CompiledSlopes.forward_dynamics_tangent, self, {**given, "wrenches": wrenches, "u": u}))
        tables, (q, v, tau, dq, dv, da) = self._along(given, wrenches, u)
        for block in self._group_springs:
            in_q, in_v = self._q(block), self._v(block)
            for row in range(len(q)):
                da[row, in_v] += block.elastic_slopes(q[row, in_q]) @ dq[row, in_v]
        self.raise_for(directional_entries.forward_tangent(*tables, q, v, tau, dq, dv, da))
        return da[0] if np.ndim(given["q"]) == 1 else da

    def forward_dynamics_adjoint(
        self, q: Any, v: Any, tau: Any, weights: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None
    ) -> tuple[Array, Array, Array]:
        if self._has_laws or self.is_constrained:
            return super().forward_dynamics_adjoint(q, v, tau, weights, wrenches, u)
        if wrenches is None and u is None and not self._group_springs:
            try:
                by_tau = np.array(weights, dtype=float, ndmin=2)
                by_q, by_v = np.empty(by_tau.shape), np.empty(by_tau.shape)
                rows = (q[None], v[None], tau[None]) if q.ndim == 1 else (q, v, tau)
                if self._adjoint(*rows, by_tau, by_q, by_v) == layout.OK:
                    return (by_q[0], by_v[0], by_tau[0]) if q.ndim == 1 else (by_q, by_v, by_tau)
            except (AttributeError, TypeError, ValueError):  # not the kernel's types: lists, integers, ...
                pass
        given = {"q": q, "v": v, "tau": tau, "weights": weights}
        if are_stacked(q, wrenches, u):
            by_q, by_v, by_tau = at_rows(CompiledSlopes.forward_dynamics_adjoint, self, {**given, "wrenches": wrenches, "u": u})
            return by_q, by_v, by_tau
        tables, (q, v, tau, by_tau) = self._along(given, wrenches, u)
        by_q, by_v = np.empty(by_tau.shape), np.empty(by_tau.shape)
        self.raise_for(directional_entries.forward_adjoint(*tables, q, v, tau, by_tau, by_q, by_v))
        for block in self._group_springs:
            in_q, in_v = self._q(block), self._v(block)
            for row in range(len(q)):
                by_q[row, in_v] += by_tau[row, in_v] @ block.elastic_slopes(q[row, in_q])
        return (by_q[0], by_v[0], by_tau[0]) if np.ndim(given["q"]) == 1 else (by_q, by_v, by_tau)

    @cached_property
    def _tangent(self) -> Any:
        return partial(directional_entries.forward_tangent.compiled, self._ints, self._floats)

    @cached_property
    def _adjoint(self) -> Any:
        return partial(directional_entries.forward_adjoint.compiled, self._ints, self._floats)

    def _along(
        self, given: Mapping[str, Any], wrenches: Mapping[str, Any] | None, u: Any
    ) -> tuple[tuple[Array, Array], list[Array]]:
        """Return the tables under loads, and stacks of the arguments, the inputs' efforts in tau; the last one a copy."""
        given = {name: np.zeros(np.shape(given["v"])) if x is None else x for name, x in given.items()}
        states = zip(given, read_states(self, given, stacked=True), strict=True)
        q, v, tau, *others = (np.atleast_2d(real(x, name)).astype(float) for name, x in states)
        model = self._pushed(self.external_pushes(wrenches, u))
        return (model._ints, model._floats), [q, v, tau + self.motor_efforts(u), *others]

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
        tables = self._bare._with_all_ports._all_tables
        self.raise_for(derivative_entries.motion_columns(*tables, paths, q, v, a, work, sums, columns))
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
