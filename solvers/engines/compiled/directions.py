"""Derivatives of forward dynamics along one direction, in trees of rigid bodies, without the matrices."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.special_blocks import group_springs
from titop.solvers.kernels.entries import directional_entries
from titop.solvers.mechanism.fast_path import real_only
from titop.solvers.mechanism.inputs import Push


class Directions:
    """Derivatives of forward dynamics along one direction at states that were read, with all that acts given as pushes."""

    def __init__(self, system: PackedSystem) -> None:
        self._system, self._nv = system, system.mechanism.nv
        self._group_springs = group_springs(system)

    def tangent(self, q: Array, v: Array, tau: Array, dq: Array, dv: Array, dtau: Array, pushes: list[Push]) -> Array:
        """Return the derivative (nv) of forward dynamics along one direction."""
        system, da = self._system.pushed(pushes), dtau.astype(float)
        for joint in self._group_springs:
            in_q, in_v = self._places(joint)
            da[in_v] += joint.elastic_slopes(q[in_q]) @ dq[in_v]
        rows = self._one_row(q, v, tau, dq, dv)
        system.raise_for(directional_entries.forward_tangent(system.ints, system.floats, *rows, da[None]))
        return da

    def adjoint(self, q: Array, v: Array, tau: Array, weights: Array, pushes: list[Push]) -> tuple[Array, Array, Array]:
        """Return the derivatives (nv) of a weighted sum of the accelerations by q, v and tau."""
        system, by_tau, by_q, by_v = self._system.pushed(pushes), weights.astype(float), np.empty(self._nv), np.empty(self._nv)
        rows = (*self._one_row(q, v, tau), by_tau[None], by_q[None], by_v[None])
        system.raise_for(directional_entries.forward_adjoint(system.ints, system.floats, *rows))
        for joint in self._group_springs:
            in_q, in_v = self._places(joint)
            by_q[in_v] += by_tau[in_v] @ joint.elastic_slopes(q[in_q])
        return by_q, by_v, by_tau

    @staticmethod
    def _one_row(*state: Array) -> list[Array]:
        names = ("q", "v", "tau", "dq", "dv")
        return [real_only(x, name).astype(float)[None] for x, name in zip(state, names, strict=False)]

    def _places(self, joint: Joint) -> tuple[slice, slice]:
        """Return where a joint's coordinates stand in q and v."""
        return self._system.structure.q_slices[joint.name], self._system.structure.v_slices[joint.name]
