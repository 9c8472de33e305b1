"""Derivatives of a compiled model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.joint import Joint
from titop.blocks.quaternion_joints import Free, Spherical
from titop.blocks.spatial import Array, twist_transport
from titop.solvers.inputs import Push
from titop.solvers.kernels import derivative_entries, layout, modal_entries
from titop.solvers.laws import write_slopes
from titop.solvers.packed import PackedModel, real


class CompiledSlopes(PackedModel):
    """The derivatives of a compiled model; see `titop.solvers.differentiable` for its functions."""

    @cached_property
    def _inverse_slopes(self) -> Any:
        return derivative_entries.inverse_derivatives.compiled

    @cached_property
    def _forward_slopes(self) -> Any:
        return derivative_entries.forward_derivatives.compiled

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
        if wrenches is None and u is None and actuated is None and self._all_compiled_slopes:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                status = self._inverse_slopes(self._ints, self._floats, self._tables.paths, q, v, a, result)
                if status == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
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
        if wrenches is None and u is None and self._all_compiled_slopes:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                tables = self._tables
                status = self._forward_slopes(self._ints, self._floats, tables.tree, tables.paths, q, v, tau, result)
                if status == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
        return super().forward_dynamics_derivatives(q, v, tau, wrenches, out, u)

    @cached_property
    def _linearised(self) -> Any:
        return derivative_entries.linear_matrices.compiled

    def _linear_matrices(self, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        if not wrenches and u is None and self._all_compiled_slopes:
            n, tables = self.nv, self._tables
            numbers = np.empty(6 * n * n + n)
            A, B, a = numbers[: 4 * n * n].reshape(2 * n, 2 * n), numbers[4 * n * n : -n].reshape(2 * n, n), numbers[-n:]
            try:
                if self._linearised(self._ints, self._floats, tables.tree, tables.paths, q, v, tau, a, A, B) == layout.OK:
                    return a, A, B
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, ...
                pass
        return super()._linear_matrices(q, v, tau, wrenches, u)

    def tree_inverse_derivatives(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        q, v, a = real(q, "q"), real(v, "v"), real(a, "a")
        model, result = self._open._pushed(pushes), np.empty((3, self.nv, self.nv))
        if self._rigid:
            self.raise_for(self._inverse_slopes(model._ints, model._floats, self._tables.paths, q, v, a, result))
        else:
            law, slopes, work, sums, columns = model._linearised_blocks(q, v, a)
            arguments = law, slopes, self._tables.paths, v, a, work, sums, columns, result
            self.raise_for(derivative_entries.derivatives_stage(model._ints, model._floats, *arguments))
        for block in self._group_springs:
            where = self._v(block)
            result[0][where, where] -= block.elastic_slopes(q[self._q(block)])
        return result

    def _linearised_blocks(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return laws, slopes and motions of all blocks, and empty rows for sums and columns."""
        tables = self._tables
        law, work = self._outward(q, v, layout.INVERSE_COLUMNS)
        derivative_entries.motions_stage(self._ints, self._floats, law, v, a, work)
        slopes = np.zeros((1, tables.slopes_size))
        if self._modal:
            modal_entries.slopes(self._ints, *self._modal, q, v, a, work, slopes)
        for general in self._foreign:
            motion = work[general.element]
            twist, acceleration = (motion[k : k + 6] for k in (layout.TWIST, layout.ACC))
            write_slopes(general, slopes[0], q[general.q], v[general.v], a[general.v], twist, acceleration)
        rows = len(tables.constants) + tables.port_count
        sums, columns = np.empty((rows, layout.FULL_COLUMNS)), np.empty((tables.paths.shape[1], layout.COLUMN_COLUMNS))
        return law, slopes, work, sums, columns

    def motion_slopes(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[Array]:
        q, v, a = real(q, "q"), real(v, "v"), real(a, "a")
        law, slopes, work, sums, columns = self._bare._linearised_blocks(q, v, a)
        paths = self._tables.paths
        derivative_entries.columns_stage(self._ints, self._floats, law, slopes, paths, v, a, work, sums, columns)
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
            self.raise_for(self._forward_slopes(model._ints, model._floats, tables.tree, tables.paths, q, v, tau, result))
            return result
        return super()._forward_derivatives(q, v, tau, pushes)

    @cached_property
    def _group_springs(self) -> list[Joint]:
        """Spherical and free joints with a stiffness, whose efforts the kernels do not differentiate."""
        names = [c.joint.name for c in self._assembly.connections if isinstance(c.joint, Spherical | Free)]
        joints = [self.assembly.blocks[name] for name in names if name not in self._tables.general_names]
        return [joint for joint in joints if isinstance(joint, Joint) and joint.stiffness.any()]

    @cached_property
    def _all_compiled_slopes(self) -> bool:
        return self._rigid and not self._group_springs and self.is_tree
