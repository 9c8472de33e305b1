"""Moving between the configurations of a compiled model."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.acting import ActedOnModel
from titop.solvers.kernels import layout, moving_entries
from titop.solvers.native.kernel import Kernel


class CompiledConfigurations(ActedOnModel):
    """Moving between the configurations of a compiled model; see `titop.solvers.configurations` for its functions."""

    def integrate(self, q: Any, dq: Any) -> Array:
        moved = self._moving(self._integrate, q, dq, self.nq)
        return super().integrate(q, dq) if moved is None else moved

    def integrate_derivatives(self, q: Any, dq: Any) -> tuple[Array, Array]:
        slopes = self._moving_slopes(self._integrate_derivatives, q, dq)
        return super().integrate_derivatives(q, dq) if slopes is None else slopes

    def difference(self, q0: Any, q1: Any) -> Array:
        moved = self._moving(self._difference, q0, q1, self.nv)
        return super().difference(q0, q1) if moved is None else moved

    def difference_derivatives(self, q0: Any, q1: Any) -> tuple[Array, Array]:
        slopes = self._moving_slopes(self._difference_derivatives, q0, q1)
        return super().difference_derivatives(q0, q1) if slopes is None else slopes

    def _moving(self, kernel: Any, first: Any, second: Any, size: int) -> Array | None:
        """Return what a kernel writes, of this size a row; None where arguments have to be read with more care."""
        try:
            single = first.ndim == 1
            if single:
                first, second = first[None], second[None]
            result = np.empty((len(first), size))
            if kernel is not None and kernel(first, second, result) == layout.OK:
                return result[0] if single else result
        except (AttributeError, TypeError, ValueError):  # not the kernel's types: lists, integers, complex numbers, ...
            pass
        return None

    def _moving_slopes(self, kernel: Any, first: Any, second: Any) -> tuple[Array, Array] | None:
        """Return the two matrices (nv, nv) that a kernel writes a row; None where arguments have to be read with more care."""
        try:
            single = first.ndim == 1
            if single:
                first, second = first[None], second[None]
            shape = len(first), self.nv, self.nv
            one, other = np.empty(shape), np.empty(shape)
            if kernel is not None and kernel(first, second, one, other) == layout.OK:
                return (one[0], other[0]) if single else (one, other)
        except (AttributeError, TypeError, ValueError):
            pass
        return None

    @cached_property
    def _integrate(self) -> Any:
        return self._bound_moving(moving_entries.integrate)

    @cached_property
    def _integrate_derivatives(self) -> Any:
        return self._bound_moving(moving_entries.integrate_derivatives)

    @cached_property
    def _difference(self) -> Any:
        return self._bound_moving(moving_entries.difference)

    @cached_property
    def _difference_derivatives(self) -> Any:
        return self._bound_moving(moving_entries.difference_derivatives)

    def _bound_moving(self, kernel: Kernel) -> Any:
        """Return a kernel bound to the system's tables; None if some blocks say themselves how their coordinates move."""
        if self._moving_otherwise:
            return None
        plain = self._plain
        places = np.array([plain.in_q, plain.in_v], dtype=np.int64)
        return partial(kernel.compiled, self._ints, places)

    @cached_property
    def _moving_otherwise(self) -> list[Any]:
        """General blocks whose own coordinates are not plain."""
        return [part for part in self._plain.others if part[0].name in self._tables.general_names]
