"""Rigid closures and gears along a motion: how fast they open, with time derivatives, and what their multipliers do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.series_arrays import SeriesArray, derivatives, moving, stacked
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import taylor_array
from titop.blocks.constraints.closure import relative_pose
from titop.graph.network.connections import Loop
from titop.solvers.constraints.mechanism import ClosedMechanism, PortSeries
from titop.solvers.mechanism.inputs import PortPush


class _Closing(NamedTuple):
    """A loop with twists V (6) of its ports and matrices E (k x 6) along a motion: it opens by ``E1 V1 + E2 V2``."""

    loop: Loop
    V: list[SeriesArray]
    E: list[SeriesArray]


def _closing(loop: Loop, first: PortSeries, second: PortSeries) -> _Closing:
    ports, order = (first, second), len(first.twist) - 1
    matrices = loop.closure.jacobians(*relative_pose(*((taylor_array(p.rotation), taylor_array(p.position)) for p in ports)))
    return _Closing(
        loop, [SeriesArray.of_derivatives(p.twist) for p in ports], [moving(stacked(E, order), order) for E in matrices]
    )


class ConstraintSeries:
    """The constraints of a model along a motion.

    Parameters
    ----------
    model : ClosedMechanism
    q : (nq,) array
    v_series : (r + 2, nv) array
        The velocity and its derivatives.
    """

    def __init__(self, model: ClosedMechanism, q: Array, v_series: Array) -> None:
        self._model, self._v_series, self._last = model, v_series, len(v_series) - 1
        refs = [str(ref) for loop in model.rigid_loops for ref in (loop.first, loop.second)]
        ports = model.engine.series.port_series(refs, q, v_series) if refs else []
        self._closings = [_closing(*each) for each in zip(model.rigid_loops, ports[::2], ports[1::2], strict=True)]

    def rates(self) -> Array:
        """Return the first to (r + 2)-th time derivatives (r + 2, k) of all constraints; where they stay closed, zeros."""
        closures = [derivatives(E[0] @ V[0] + E[1] @ V[1], self._last) for _, V, E in self._closings]
        gears = [self._v_series @ gear.jacobian(self._model.nv).T for gear in self._model.gear_constraints]
        return np.hstack([np.zeros((self._last + 1, 0)), *closures, *gears])

    def pushes(self, multipliers: Array) -> list[PortPush]:
        """Return what the rigid closures' multipliers, with their derivatives (at most r + 2, k), do to ports."""
        pushes: list[PortPush] = []
        row, last = 0, len(multipliers) - 1
        padded = np.vstack([multipliers, np.zeros((self._last - last, multipliers.shape[1]))])
        for loop, _, E in self._closings:
            own = slice(row, row + len(loop.closure.constraint_names))
            for ref, rates in zip((loop.first, loop.second), E, strict=True):
                pushes.append(
                    PortPush(str(ref), False, derivatives(rates.T @ SeriesArray.of_derivatives(padded[:, own]), last))
                )
            row = own.stop
        return pushes
