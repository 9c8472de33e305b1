"""Derivatives of a compiled model with rigid closures and gears."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.quaternion_joints import Free, Spherical
from titop.solvers.acting import Variants
from titop.solvers.compiled_configurations import CompiledConfigurations
from titop.solvers.inputs import PortPush, Push, own_effort_slopes, own_efforts, own_pushes
from titop.solvers.kernels import closed_derivative_entries, layout
from titop.solvers.loops.branch import is_open
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import real


class CompiledClosedSlopes(CompiledConfigurations):
    """The derivatives of a compiled model with constraints; see `titop.solvers.differentiable` for its functions."""

    def _closing(self, pushes: Sequence[Push] = ()) -> tuple[Array, ...]:
        """Return the tables on which the pushes act, with room for what the rigid closures do to their ports."""
        names = [str(ref) for loop in self.rigid_loops for ref in (loop.first, loop.second)]
        return self._pushed([*pushes, *(PortPush(name, False, np.zeros(6)) for name in names)])._arrays

    def _loaded_kernel(self, bound: Any, wrenches: Mapping[str, Any] | None, u: Any, q: Any) -> tuple[Any, Array | None]:
        """Return a kernel bound to tables with room for closures, which loads join when it is called, and the inputs' efforts.

        Raises
        ------
        TypeError
            Where arguments have to be read with more care.
        """
        if u is not None and self.inputs.own:  # whose efforts change with q
            raise TypeError
        acting, given, driven = self._acted_on(wrenches, u, q, closing=True)
        return partial(acting.run, bound, wrenches, given), driven

    @cached_property
    def _closed_forward_slopes(self) -> Any:
        return self._constrained_slopes(self._closing(), self.generic_rank)

    def _constrained_slopes(self, tables: tuple[Array, ...], rank: int) -> Any:
        """Return compiled derivatives of forward dynamics in which `rank` constraints act."""
        kernel = self._kernel(closed_derivative_entries.constrained_derivatives).compiled
        return partial(kernel, self._constraint_tables[1], self._tables.paths, self._loops(rank), *tables)

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> tuple[Array, Array, Array]:
        if self.is_constrained and not self._group_springs:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                slopes, applied = self._closed_forward_slopes, tau
                if wrenches is not None or u is not None:
                    slopes, driven = self._loaded_kernel(slopes, wrenches, u, q)
                    applied = tau if driven is None else driven_by(tau, driven)
                if slopes(q, v, applied, result) == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
            raise_pending()
        return super().forward_dynamics_derivatives(q, v, tau, wrenches, out, u)

    def _forward_derivatives(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        if self.is_constrained and not self._group_springs:
            q, v, tau = real(q, "q"), real(v, "v"), real(tau, "tau")
            driven, result = tau + own_efforts(pushes, q, self.nv), np.empty((3, self.nv, self.nv))
            tables = self._closing(pushes)
            if self._settled(q, lambda rank: self._constrained_slopes(tables, rank)(q, v, driven, result)) == layout.OK:
                result[0] += result[2] @ own_effort_slopes(pushes, q, self.nv) if own_pushes(pushes) else 0.0
                return result
        return super()._forward_derivatives(q, v, tau, pushes)

    @cached_property
    def _shared_slopes(self) -> Variants:
        """Compiled derivatives of inverse dynamics by names of the actuated coordinates, where constraints share efforts."""
        rank = self.generic_rank
        return Variants(lambda names: self._slopes_sharing(self._masks[names], self._still, self._closing(), rank))

    @cached_property
    def _masks(self) -> Variants:
        """Masks (nv) of coordinates by their names; of all without names."""
        every = np.ones(self.nv, dtype=bool)
        return Variants(lambda names: every if names is None else self._prescribed(names))

    def _slopes_sharing(self, actuated: Array, driven: Array, tables: tuple[Array, ...], rank: int) -> Any:
        """Return compiled derivatives of the least efforts on `actuated` coordinates beside `driven` ones.

        `rank` constraints act.
        """
        kernel = self._kernel(closed_derivative_entries.shared_derivatives).compiled
        return partial(kernel, self._tables.paths, self._loops(rank), actuated, driven, *tables)

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
        if (self.is_constrained or actuated is not None) and not self._group_springs:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                slopes = bound = self._shared_slopes[names_key(actuated)]
                if wrenches is not None or u is not None:
                    slopes, driven = self._loaded_kernel(bound, wrenches, u, q)
                    if driven is not None:
                        own = partial(bound.func, *bound.args[:3], driven, *bound.args[4:])
                        slopes = partial(slopes.func, own, *slopes.args[1:], often=False)
                if slopes(q, v, a, result) == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
            raise_pending()
        return super().inverse_dynamics_derivatives(q, v, a, wrenches, out, u, actuated)

    def _inverse_derivatives(
        self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
    ) -> Array:
        if actuated is not None and not self._group_springs and not own_pushes(pushes):
            q, v, a = real(q, "q"), real(v, "v"), real(a, "a")
            result, driven, tables = np.empty((3, self.nv, self.nv)), np.zeros(self.nv) + motors, self._closing(pushes)
            status = self._settled(q, lambda rank: self._slopes_sharing(actuated, driven, tables, rank)(q, v, a, result))
            if status == layout.OK:
                return result
        return super()._inverse_derivatives(q, v, a, pushes, motors, actuated)

    def _settled(self, q: Array, run: Callable[[int], int]) -> int:
        """Return the status of a kernel that is told how many constraints act: the generic rank, or else that at q."""
        status = run(self.generic_rank)
        if status == layout.SINGULAR and not is_open(self, self.constraints(q, np.zeros(self.nv)).error):
            status = run(self.closure_rank(q))
        raise_pending()
        return status

    def slopes_with_closures(self, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array) -> tuple[Array, Array]:
        q, v, a, weights = real(q, "q"), real(v, "v"), real(a, "a"), self.closure_weights
        changes, rows = np.empty((3, self.nv, self.nv)), np.empty((4, len(weights), self.nv))
        kernel = self._kernel(closed_derivative_entries.inverse_slopes_with_closures)
        held = real(multipliers, "multipliers") / weights
        self.raise_for(kernel(self._tables.paths, self._loops(0), *self._closing(pushes), q, v, a, held, changes, rows))
        self._add_uncompiled_slopes(q, pushes, changes)
        return changes, rows / weights[:, None]

    def closure_rate_slopes(self, q: Array, v: Array) -> Array:
        nothing, held = np.zeros(self.nv), np.zeros(len(self.constraint_names))
        rows: Array = self._bare.slopes_with_closures(q, v, nothing, [], held)[1]
        return rows[3]

    def _add_uncompiled_slopes(self, q: Array, pushes: list[Push], changes: Array) -> None:
        """Add what the kernels leave out to derivatives of inverse dynamics: springs of groups, inputs of blocks."""
        for block in self._group_springs:
            where = self._v(block)
            changes[0][where, where] -= block.elastic_slopes(q[self._q(block)])
        changes[0] -= own_effort_slopes(pushes, q, self.nv)

    @cached_property
    def _group_springs(self) -> list[Joint]:
        """Spherical and free joints with a stiffness, whose efforts the kernels do not differentiate."""
        names = [c.joint.name for c in self._assembly.connections if isinstance(c.joint, Spherical | Free)]
        joints = [self.assembly.blocks[name] for name in names if name not in self._tables.general_names]
        return [joint for joint in joints if isinstance(joint, Joint) and joint.stiffness.any()]


def names_key(names: Any) -> tuple[str, ...] | None:
    """Return names of coordinates as a key.

    Raises
    ------
    TypeError
        Where they have to be read with more care.
    """
    if not isinstance(names, list | tuple | None):
        raise TypeError
    return None if names is None else tuple(names)


def driven_by(tau: Any, driven: Array) -> Array:
    """Return the sum of efforts and those of inputs.

    Raises
    ------
    TypeError
        Where `tau` has to be read with more care: a sum may hide what it is.
    """
    if type(tau) is not np.ndarray or tau.shape != driven.shape:
        raise TypeError
    return tau + driven
