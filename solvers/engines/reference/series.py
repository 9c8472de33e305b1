"""Time derivatives of the tree's dynamics, by the recursion of Newton and Euler on numbers that carry their derivatives.

Key L, Algorithm 2, but by body twists: with ``A = dV/dt - R^T g`` in the frame of each block, ``W = M A + h``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.series_arrays import derivatives, joined, moving
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.mechanism import EquationSeries, PortSeries
from titop.solvers.engines.reference.moving_tree import MovingTree
from titop.solvers.engines.reference.passes import Passes
from titop.solvers.mechanism.inputs import Push


class ReferenceSeries:
    """The series of the reference engine; see `SeriesCore` for its functions."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        tree = MovingTree(self._passes, q, v_series)
        efforts, pressing = tree.acting(pushes)
        accelerations, tau = tree.v.rate, -efforts
        for k in range(len(tree.blocks) - 1, 0, -1):
            node, block, (M, h, passive) = self._passes.nodes[k], tree.blocks[k], tree.law(k)
            wrench = M @ joined([block.A, accelerations[node.v]], tree.order) + h - pressing[k]
            tau[node.v] = tau[node.v] + wrench[6:] - passive
            if node.parent:
                pressing[node.parent] = pressing[node.parent] - block.onto.T @ wrench[:6]
        return self._finite(derivatives(tau, tree.order - 1))

    def tree_hybrid(self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]) -> None:
        """Leave it to `titop.solvers.series.causality`, which goes order by order."""

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        tree, nv = MovingTree(self._passes, q, v_series), self._passes.nv
        efforts, pressing = tree.acting(pushes)
        mass, nothing = moving(np.zeros((nv, nv)), tree.order), moving(np.zeros(nv), tree.order)
        coriolis, gravity, external = nothing, nothing, -efforts
        jacobians = [moving(np.zeros((6, nv)), tree.order)]
        for k, node in enumerate(self._passes.nodes[1:], start=1):
            own, parent = np.eye(nv)[node.v], np.eye(nv)[self._passes.nodes[node.parent].v]
            block, (M, h, passive) = tree.blocks[k], tree.law(k)
            jacobians.append(moving(block.onto @ joined([jacobians[node.parent], parent], tree.order), tree.order))
            # twist and rates of the block a unit of each coordinate
            moved = moving(joined([jacobians[k], own], tree.order), tree.order)
            mass = mass + moved.T @ (M @ moved)
            coriolis = coriolis + moved.T @ (M @ (moved.rate @ tree.v) + h)
            gravity = gravity - moved.T @ (M[:, :3] @ (block.rotation.T @ self._passes.assembly.gravity))
            external = external - moved.T @ pressing[k]
            external[node.v] = external[node.v] - passive
        return EquationSeries(*(derivatives(part, tree.order - 1) for part in (mass, coriolis, gravity, external)))

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        tree = MovingTree(self._passes, q, v_series)
        places = (tree.at_port(*self._passes.mechanism.ports[port]) for port in ports)
        return [PortSeries(*(derivatives(part, tree.order) for part in place)) for place in places]

    def _finite(self, efforts: Array) -> Array:
        """Return efforts (r + 1, nv).

        Raises
        ------
        ModelError
            Naming order and coordinate, for those that are no numbers.
        """
        if np.isfinite(efforts).all():
            return efforts
        order, entry = (int(k) for k in np.argwhere(~np.isfinite(efforts))[0])
        where, expected = (
            self._passes.assembly.coordinate_names[entry],
            f"a finite number, its derivative of order {order}",
        )
        advice = "numbers are too large for double precision, or a function has no derivatives here, as a root has none at zero"
        raise ModelError(Finding("not-finite", where, efforts[order, entry], expected, advice))
