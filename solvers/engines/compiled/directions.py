"""Derivatives of forward dynamics along one direction, in trees, without the matrices."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import directional_entries
from titop.solvers.mechanism.fast_path import real_only
from titop.solvers.mechanism.inputs import Push, own_efforts, own_pushes


class Directions:
    """Derivatives of forward dynamics along one direction at states that were read, with all that acts given as pushes."""

    def __init__(self, system: PackedSystem) -> None:
        self._system, self._nv = system, system.mechanism.nv

    def tangent(self, q: Array, v: Array, tau: Array, dq: Array, dv: Array, dtau: Array, pushes: list[Push]) -> Array:
        """Return the derivative (nv) of forward dynamics along one direction."""
        system, da, rows = self._system.pushed(pushes), dtau.astype(float), self._one_row(q, v, tau, dq, dv)
        rows[2] += own_efforts(pushes, q, self._nv)
        for push in own_pushes(pushes):
            da[push.v] += push.derivatives(q) @ dq[push.v]
        system.raise_for(system.kernel(directional_entries.forward_tangent)(*system.arrays, *rows, da[None]))
        return da

    def adjoint(self, q: Array, v: Array, tau: Array, weights: Array, pushes: list[Push]) -> tuple[Array, Array, Array]:
        """Return the derivatives (nv) of a weighted sum of the accelerations by q, v and tau."""
        system, by_tau, by_q, by_v = self._system.pushed(pushes), weights.astype(float), np.empty(self._nv), np.empty(self._nv)
        rows = self._one_row(q, v, tau)
        rows[2] += own_efforts(pushes, q, self._nv)
        results = by_tau[None], by_q[None], by_v[None]
        system.raise_for(system.kernel(directional_entries.forward_adjoint)(*system.arrays, *rows, *results))
        for push in own_pushes(pushes):
            by_q[push.v] += by_tau[push.v] @ push.derivatives(q)
        return by_q, by_v, by_tau

    @staticmethod
    def _one_row(*state: Array) -> list[Array]:
        names = ("q", "v", "tau", "dq", "dv")
        return [real_only(x, name).astype(float)[None] for x, name in zip(state, names, strict=False)]
