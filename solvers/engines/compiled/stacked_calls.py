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
    """Forward and inverse dynamics of stacks; None where single calls have to look closer.

    Parameters
    ----------
    acted_on : ActedOn
    """

    def __init__(self, acted_on: ActedOn) -> None:
        self._acted_on = acted_on

    def forward(self, bound: Any, stack: Stack, singly: bool) -> Array | None:
        """Return accelerations (n, nv) of states q, v and tau by a kernel of stacked states, or of single ones (`singly`)."""
        q, v, tau = stack.states
        applied, a = np.ascontiguousarray(tau + self._acted_on.driven(stack)), np.empty(v.shape)
        return a if self._is_done(bound, (q, v, applied, a), stack, singly) else None

    def inverse(self, bound: Any, stack: Stack) -> Array | None:
        """Return the efforts (n, nv) beside the inputs that cause states q, v and a, by a kernel of stacked states."""
        q, v, a = stack.states
        tau = np.empty(v.shape)
        return tau - self._acted_on.driven(stack) if self._is_done(bound, (q, v, a, tau), stack, False) else None

    def _is_done(self, bound: Any, arrays: tuple[Array, ...], stack: Stack, singly: bool) -> bool:
        """Let a kernel write its results into the last of arrays with a row a state; tell whether it did."""
        try:
            status = self._acted_on.run_stacked(bound, lambda rows: tuple(part[rows] for part in arrays), stack, singly=singly)
        except UNREADY:
            status = layout.WRONG_SIZE
        raise_pending()
        return status == DONE
