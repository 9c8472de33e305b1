"""Hybrid dynamics of a compiled model, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.acting import Variants
from titop.solvers.compiled_closed_slopes import driven_by, names_key
from titop.solvers.compiled_readings import CompiledReadings
from titop.solvers.constraint_tables import constraint_tables
from titop.solvers.derivatives import HybridDerivatives
from titop.solvers.inputs import Push, own_effort_slopes, own_efforts, own_pushes
from titop.solvers.kernels import hybrid_entries, layout
from titop.solvers.loops.branch import is_open
from titop.solvers.loops.closed_dynamics import free_rank
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import real


class HybridKernels:
    """The kernels of a model's hybrid dynamics for one choice of imposed coordinates, bound when they are first asked for.

    Parameters
    ----------
    model : CompiledHybrid
    imposed : (nv,) bool array
    whole, rank : int
        How many constraints act where no motion is imposed, and on the coordinates whose motion is not.
    """

    def __init__(self, model: CompiledHybrid, imposed: Array, whole: int, rank: int) -> None:
        self._model, self.imposed = model, imposed
        self._loops, self._tree = constraint_tables(model, model._tables, imposed)
        self._loops[0, [layout.WHOLE_RANK, layout.RANK]] = whole, rank

    def dynamics_on(self, tables: tuple[Array, ...]) -> Any:
        """Return compiled hybrid dynamics with such tables."""
        if self._model.is_constrained:
            kernel = self._model._kernel(hybrid_entries.constrained_hybrid).compiled
            return partial(kernel, self._tree, self._loops, self.imposed, *tables)
        return partial(self._model._kernel(hybrid_entries.hybrid_dynamics).compiled, self.imposed, *tables)

    def slopes_on(self, tables: tuple[Array, ...]) -> Any:
        """Return their compiled derivatives with such tables, in which there is room for closures."""
        kernel = self._model._kernel(hybrid_entries.hybrid_derivatives).compiled
        return partial(kernel, self._tree, self._model._tables.paths, self._loops, self.imposed, *tables)

    @cached_property
    def dynamics(self) -> Any:
        return self.dynamics_on(self._model._arrays)

    @cached_property
    def slopes(self) -> Any:
        return self.slopes_on(self._model._closing())


class CompiledHybrid(CompiledReadings):
    """Hybrid dynamics of a compiled model; see `Model` for its functions."""

    @cached_property
    def _hybrids(self) -> Variants:
        """The kernels by masks of the imposed coordinates, for as many constraints as act generically."""
        return Variants(lambda mask: self._generic_hybrid(np.frombuffer(mask, dtype=bool).copy()))

    def _generic_hybrid(self, imposed: Array) -> HybridKernels:
        whole, q = self.generic_rank, self.regular_configuration
        rank = min(whole, int((~imposed).sum())) if q is None else free_rank(self, q, imposed, whole)
        return HybridKernels(self, imposed, whole, rank)

    def _hybrid(self, prescribed: Sequence[str]) -> HybridKernels:
        """Return the kernels for prescribed coordinates.

        Raises
        ------
        TypeError
            Where these names have to be read with more care.
        """
        kernels: HybridKernels = self._hybrids[self._masks[names_key(prescribed) or ()].tobytes()]
        return kernels

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> tuple[Array, Array]:
        try:
            kernels, driven = self._hybrid(prescribed), None
            dynamics, applied = kernels.dynamics, tau
            if wrenches is not None or u is not None:
                acting, given, driven = self._acted_on(wrenches, u, q)
                dynamics = partial(acting.run, dynamics, wrenches, given)
                applied = tau if driven is None else driven_by(tau, driven)
            accelerations, efforts = np.empty(self.nv), np.empty(self.nv)
            if dynamics(q, v, applied, a, accelerations, efforts) == layout.OK:
                return accelerations, efforts if driven is None else _beside(kernels.imposed, efforts, driven, tau)
        except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
            pass
        raise_pending()
        return super().hybrid_dynamics(q, v, tau, a, prescribed, wrenches, u)

    def _masked_dynamics(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, motors: Any, pushes: list[Push]
    ) -> tuple[Array, Array]:
        q, v, tau, a = real(q, "q"), real(v, "v"), real(tau, "tau"), real(a, "a")
        tables, driven = self._pushed(pushes)._arrays, motors + own_efforts(pushes, q, self.nv)
        accelerations, efforts, applied = np.empty(self.nv), np.empty(self.nv), tau + driven

        def run(kernels: HybridKernels) -> int:
            return int(kernels.dynamics_on(tables)(q, v, applied, a, accelerations, efforts))

        if self._settled_hybrid(q, mask, run):
            return accelerations, _beside(mask, efforts, driven, tau)
        return super()._masked_dynamics(q, v, tau, a, mask, motors, pushes)

    def _settled_hybrid(self, q: Array, mask: Array, run: Callable[[HybridKernels], int]) -> bool:
        """Tell whether kernels succeed, if need be with as many constraints as act at q, or NumPy forms have to look closer."""
        status = run(self._hybrids[mask.tobytes()])
        if not self.is_constrained:
            self.raise_for(status)
        if status == layout.SINGULAR and not is_open(self, self.constraints(q, np.zeros(self.nv)).error):
            try:
                rank = self.closure_rank(q)
            except ModelError:  # a singular configuration, which does not matter where all is imposed
                return False
            status = run(HybridKernels(self, mask, rank, free_rank(self, q, mask, rank)))
        raise_pending()
        return status == layout.OK

    def hybrid_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> HybridDerivatives:
        if not self._group_springs:
            try:
                slopes, applied = self._hybrid(prescribed).slopes, tau
                if wrenches is not None or u is not None:
                    slopes, driven = self._loaded_kernel(slopes, wrenches, u, q)
                    applied = tau if driven is None else driven_by(tau, driven)
                result = np.empty((8, self.nv, self.nv))
                if slopes(q, v, applied, a, result) == layout.OK:
                    return HybridDerivatives(*result)
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
            raise_pending()
        return super().hybrid_dynamics_derivatives(q, v, tau, a, prescribed, wrenches, u)

    def _hybrid_derivatives(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]
    ) -> HybridDerivatives:
        if self._group_springs:
            return super()._hybrid_derivatives(q, v, tau, a, mask, pushes)
        q, v, tau, a = real(q, "q"), real(v, "v"), real(tau, "tau"), real(a, "a")
        tables, driven, result = self._closing(pushes), tau + own_efforts(pushes, q, self.nv), np.empty((8, self.nv, self.nv))
        if not self._settled_hybrid(q, mask, lambda kernels: int(kernels.slopes_on(tables)(q, v, driven, a, result))):
            return super()._hybrid_derivatives(q, v, tau, a, mask, pushes)
        slopes = HybridDerivatives(*result)
        if not own_pushes(pushes):
            return slopes
        own = own_effort_slopes(pushes, q, self.nv)
        efforts = np.where(mask[:, None], slopes.dtau_dtau @ own - own, 0.0)
        return slopes._replace(da_dq=slopes.da_dq + slopes.da_dtau @ own, dtau_dq=slopes.dtau_dq + efforts)


def _beside(imposed: Array, efforts: Array, driven: Any, tau: Array) -> Array:
    """Return the efforts that act beside those of inputs: `tau` where the motion is free."""
    return np.where(imposed, efforts - driven, tau)
