"""A state of a system with its loads, and the changes of both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.closed_derivatives import inverse_with_constraints, multiplier_changes
from titop.solvers.signals.quantities import NamedModel

T = TypeVar("T")


class Snapshot(NamedTuple):
    """A state, its accelerations and its loads: the arguments of a model's functions.

    `origin` is the configuration from which displacements ``joint.q`` are measured.
    """

    model: NamedModel
    q: Array
    v: Array
    a: Array
    tau: Array
    u: Array | None
    wrenches: Mapping[str, Array] | None
    origin: Any = None

    @property
    def displacement_derivatives(self) -> Array:
        """Derivatives (nv, nv) of displacements from the origin by displacements from q."""
        return self.model.mechanism.difference_jacobian(self.model.difference(self.origin, self.q))

    @property
    def inputs(self) -> Array:
        """The actuators' inputs (nu)."""
        return np.zeros(self.model.nu) if self.u is None else self.model.mechanism.inputs.without_states(np.asarray(self.u))

    @property
    def states(self) -> Array:
        """The first-order states (nx)."""
        return np.asarray(self.model.mechanism.inputs.whole(self.u))[..., self.model.nu :]


class CarriedLoads(NamedTuple):
    """The multipliers (k, N and N m) with which closures and gears act at a snapshot, and their changes (k, z)."""

    multipliers: Array
    changes: Array


class SnapshotChanges:
    """Changes of a snapshot's coordinates, rates, accelerations, efforts and inputs with ``z``, and derived ones.

    `q`, `v`, `a`, `tau`, `inputs` (n, z).
    """

    q: Any
    v: Any
    a: Any
    tau: Any
    inputs: Any

    def __init__(self) -> None:
        self._cache: dict[Hashable, Any] = {}

    def once(self, what: Hashable, find: Callable[[], T]) -> T:
        """Return the result of `find`, cached under the key `what`."""
        if what not in self._cache:
            self._cache[what] = find()
        return self._cache[what]

    def constraint_loads(self, at: Snapshot, loads: Callable[[NamedModel, Array, Array, Any], Array]) -> CarriedLoads:
        """Return the multipliers of closures and gears at the snapshot, and their changes.

        `loads` returns the efforts (nv, inputs) per unit of each input, from a model, a configuration, rates and inputs.
        """
        return self.once("carried", lambda: _carried(at, self, loads))

    def along(self, by_q: Array, by_v: Array | None = None, by_a: Array | None = None) -> Array:
        """Return the change (m, z) of a quantity with these derivatives (m, nv) by q, v and a."""
        result: Array = by_q @ self.q
        if by_v is not None:
            result = result + by_v @ self.v
        return result if by_a is None else result + by_a @ self.a


class SnapshotDerivatives(SnapshotChanges):
    """The derivatives of a snapshot's coordinates, rates, accelerations and efforts by ``z = [states; inputs]``.

    - `columns`: converts matrices that act on ``[dq; dv]`` to matrices that act on the states;
    - `by_state` (..., 2nv, 2nv): derivatives of ``[dq/dt; a]`` by ``[dq; dv]``; may be stacked; `by_input` (..., 2nv, inputs);
      `tau_by_state` (..., nv, 2nv); `tau_by_input` (..., nv, inputs); `q`, `v` (nv, z); `a`, `tau` (..., nv, z); `inputs`
      (inputs, z).
    """

    def __init__(
        self, columns: Callable[[Array], Array], by_state: Array, by_input: Array, tau_by_state: Array, tau_by_input: Array
    ) -> None:
        super().__init__()
        self._columns = columns
        self._by_state, self._by_input = by_state, by_input
        self._tau_by_state, self._tau_by_input = tau_by_state, tau_by_input
        self._nv, self._inputs = by_input.shape[-2] // 2, by_input.shape[-1]

    def at(self, k: int) -> SnapshotDerivatives:
        """Return the derivatives at the k-th of stacked points."""
        parts = (self._by_state, self._by_input, self._tau_by_state, self._tau_by_input)
        return SnapshotDerivatives(self._columns, *(part[k] if part.ndim == 3 else part for part in parts))

    @cached_property
    def q(self) -> Array:
        return self._joined(np.eye(self._nv, 2 * self._nv), np.zeros((self._nv, self._inputs)))

    @cached_property
    def v(self) -> Array:
        return self._joined(np.eye(self._nv, 2 * self._nv, self._nv), np.zeros((self._nv, self._inputs)))

    @cached_property
    def a(self) -> Array:
        return self._joined(self._by_state[..., self._nv :, :], self._by_input[..., self._nv :, :])

    @cached_property
    def tau(self) -> Array:
        return self._joined(self._tau_by_state, self._tau_by_input)

    @cached_property
    def inputs(self) -> Array:
        return np.eye(self._inputs, self.q.shape[-1], self.q.shape[-1] - self._inputs)

    def along(self, by_q: Array, by_v: Array | None = None, by_a: Array | None = None) -> Array:
        """Return the change (m, z) of a quantity with these derivatives (m, nv), without products with ones and zeros."""
        by_state = np.hstack([by_q, np.zeros_like(by_q) if by_v is None else by_v])
        if by_a is None:
            return self._joined(by_state, np.zeros((len(by_q), self._inputs)))
        return self._joined(by_state + by_a @ self._by_state[self._nv :], by_a @ self._by_input[self._nv :])

    def _joined(self, by_state: Array, by_input: Array) -> Array:
        return np.concatenate([self._columns(by_state), by_input], axis=-1)


def _carried(at: Snapshot, change: SnapshotChanges, loads: Callable[[NamedModel, Array, Array, Any], Array]) -> CarriedLoads:
    """Return the multipliers of closures and gears at a snapshot, and their changes for the `change` of the snapshot."""
    model, q, v, a = at.model, at.q, at.v, at.a
    if not model.is_constrained:
        return CarriedLoads(np.zeros(0), np.zeros((0, change.q.shape[-1])))
    pushes = model.mechanism.external_pushes(at.wrenches, at.u)
    multipliers = model.mechanism.multipliers(q, v, a, pushes, at.u, at.tau)
    (by_q, by_v, by_a), jacobian = inverse_with_constraints(model.mechanism, q, v, a, pushes, multipliers)
    needed = change.along(by_q, by_v, by_a) - loads(model, q, v, at.u) @ change.inputs
    return CarriedLoads(
        multipliers, multiplier_changes(model.mechanism, q, jacobian, multipliers, needed - change.tau, change.q)
    )
