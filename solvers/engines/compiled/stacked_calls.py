"""Dynamics of stacked states on which wrenches and inputs of their own act, in compiled code.

What inputs do along coordinates joins the efforts of all states; what acts on ports is put into the tables state by state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.stacked_loads import Stack
from titop.solvers.engines.compiled.acted_on import ActedOn
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.fast_path import DONE, UNREADY
from titop.solvers.native.callbacks import raise_pending


class StackedCalls:
    """Dynamics of stacks; None where single calls have to look closer.

    By kernels of single states, or where there is one (`bound`) and the same acts on all states, of stacked ones.

    Parameters
    ----------
    acted_on : ActedOn
    """

    def __init__(self, acted_on: ActedOn) -> None:
        self._acted_on = acted_on

    def forward(self, bound: Any, single: Any, stack: Stack) -> Array | None:
        """Return accelerations (n, nv) of states q, v and tau."""
        q, v, tau = stack.states
        applied, a = np.ascontiguousarray(tau + self._acted_on.driven(stack)), np.empty(v.shape)
        return a if self._is_done(bound, single, (q, v, applied, a), stack) else None

    def inverse(self, bound: Any, single: Any, stack: Stack) -> Array | None:
        """Return the efforts (n, nv) beside the inputs that cause states q, v and a."""
        q, v, a = stack.states
        tau = np.empty(v.shape)
        return tau - self._acted_on.driven(stack) if self._is_done(bound, single, (q, v, a, tau), stack) else None

    def mass_inverse(self, single: Any, stack: Stack) -> tuple[Array, Array] | None:
        """Return the same with the mass matrices (n, nv, nv)."""
        q, v, a = stack.states
        tau, mass = np.empty(v.shape), np.empty((*v.shape, v.shape[1]))
        if not self._is_done(None, single, (q, v, a, tau, mass), stack):
            return None
        return tau - self._acted_on.driven(stack), mass

    def hybrid(self, single: Any, imposed: Array, stack: Stack) -> tuple[Array, Array] | None:
        """Return accelerations and efforts (n, nv) of states q, v, tau and a, the motion `imposed` (nv) on some coordinates."""
        q, v, tau, a = stack.states
        driven = self._acted_on.driven(stack)
        applied, accelerations, efforts = np.ascontiguousarray(tau + driven), np.empty(v.shape), np.empty(v.shape)
        if not self._is_done(None, single, (q, v, applied, a, accelerations, efforts), stack):
            return None
        return accelerations, np.where(imposed, efforts - driven, tau)

    def _is_done(self, bound: Any, single: Any, arrays: tuple[Array, ...], stack: Stack) -> bool:
        """Let a kernel write its results into the last of arrays with a row a state; tell whether it did."""
        try:
            status = self._acted_on.run_stacked(
                bound, lambda rows: tuple([part[rows] for part in arrays]), stack, single=single
            )
        except UNREADY:
            status = layout.WRONG_SIZE
        raise_pending()
        return status == DONE
