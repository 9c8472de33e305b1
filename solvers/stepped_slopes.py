"""Derivatives of the reference resolver: complex steps through the resolution, which no formula of the compiled one enters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array
from titop.solvers.derivatives import HybridDerivatives
from titop.solvers.inputs import Push
from titop.solvers.loops import closed_dynamics
from titop.solvers.loops.branch import rank_near
from titop.solvers.loops.closed_dynamics import rank_of_free
from titop.solvers.model import Model
from titop.solvers.port_kinematics import PortMotion


class SteppedSlopes(Model):
    """The derivatives of a complex-safe model; see `titop.solvers.differentiable` for its functions."""

    def tree_inverse_derivatives(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        return self._stepped(lambda q, v, a: self.tree_inverse(q, v, a, pushes), q, v, a)

    def _inverse_derivatives(
        self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
    ) -> Array:
        if actuated is None:
            return self.tree_inverse_derivatives(q, v, a, pushes)
        rank = rank_near(self, q)

        def efforts(q: Array, v: Array, a: Array) -> Array:
            return closed_dynamics.balanced(self, q, v, a, pushes, motors, actuated, self.constraints(q, v), rank)[0]

        return self._stepped(efforts, q, v, a)

    def _forward_derivatives(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        if self.is_constrained:
            return self._stepped(lambda q, v, tau: closed_dynamics.forward(self, q, v, tau, pushes), q, v, tau)
        nothing, imposed = np.zeros(self.nv), np.zeros(self.nv, dtype=bool)
        return self._stepped(lambda q, v, tau: self.tree_hybrid(q, v, tau, nothing, imposed, pushes)[0], q, v, tau)

    def _stepped(self, function: Any, q: Array, v: Array, x: Array) -> Array:
        """Return the derivatives (3, nv, nv) of a function of q, v and x."""

        def at(step: Array) -> Array:
            dq, dv, dx = step.reshape(3, self.nv)
            return function(self.integrate(q, dq), v + dv, x + dx)

        return _split_columns(complex_step(at, np.zeros(3 * self.nv)), 3)

    @abstractmethod
    def port_motions(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[PortMotion]:
        """Return the motions of several ports."""

    def motion_slopes(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[Array]:
        def motions(x: Array) -> Array:
            dq, dv = x.reshape(2, self.nv)
            return np.array([motion[2:] for motion in self.port_motions(ports, self.integrate(q, dq), v + dv, a)])

        if not ports:
            return []
        slopes = [np.split(by_both, 2, axis=2) for by_both in complex_step(motions, np.zeros(2 * self.nv))]
        return [np.array([by_v[0], by_q[0], by_q[1], by_v[1]]) for by_q, by_v in slopes]

    def _hybrid_derivatives(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]
    ) -> HybridDerivatives:
        rank = rank_of_free(self, q, mask) if self.is_constrained else 0

        def both(x: Array) -> Array:
            dq, dv, dtau, da = x.reshape(4, self.nv)
            q_, v_ = self.integrate(q, dq), v + dv
            a_, tau_ = a + np.where(mask, da, 0.0), tau + np.where(mask, 0.0, dtau)
            if self.is_constrained:
                return np.array(closed_dynamics.hybrid(self, q_, v_, tau_, a_, mask, pushes, rank))
            return np.array(self.tree_hybrid(q_, v_, tau_, a_, mask, pushes))

        by_each = complex_step(both, np.zeros(4 * self.nv))
        return HybridDerivatives(*_split_columns(by_each[0], 4), *_split_columns(by_each[1], 4))


def _split_columns(matrix: Array, parts: int) -> Array:
    """Return the `parts` groups of columns of a matrix, stacked."""
    return np.stack(np.split(matrix, parts, axis=1))
