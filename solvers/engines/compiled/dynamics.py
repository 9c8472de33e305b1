"""Dynamics of the compiled engine: by kernels, and where these report a problem, after a check of the acting constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints import closed_dynamics, consistency
from titop.solvers.constraints.assembling import project_acceleration, project_velocity
from titop.solvers.constraints.branch import free_rank, is_open, is_open_at, least_beside_dead_centre, rank_near, rank_on_branch
from titop.solvers.constraints.mechanism import Constraints, finite_constraints
from titop.solvers.constraints.multipliers import DEPENDENT
from titop.solvers.engines.compiled.calls import CompiledCalls
from titop.solvers.engines.compiled.constrained import HybridKernels, constrained_forward
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.prepared import CompiledPreparedDynamics
from titop.solvers.engines.compiled.rounding import pivots_at
from titop.solvers.kernels.entries import closure_entries, derivative_entries, dynamics_entries, hybrid_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import Pivots
from titop.solvers.mechanism.inputs import OwnPush, Push, WrenchPlace, own_efforts
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.prepared import PreparedDynamics
from titop.solvers.native.callbacks import raise_pending

#: From this number of coordinates per effort on, one elimination for each effort is faster than factors of the mass matrix.
_LEAST_SAVED = 8


class CompiledDynamics:
    """The dynamics of the compiled engine; see `DynamicsCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem, calls: CompiledCalls) -> None:
        self._mechanism, self._system, self._calls, self._nv = mechanism, system, calls, mechanism.nv

    # -- of the tree -----------------------------------------------------------------------------------------------------

    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        q, v, tau, a = real_only(q, "q"), real_only(v, "v"), real_only(tau, "tau"), real_only(a, "a")
        system, driven = self._system.with_pushes(pushes), own_efforts(pushes, q, self._nv)
        law, work = system.outward(q, v, layout.FORWARD_COLUMNS)
        a, tau = a.astype(float), tau.astype(float) + driven
        system.raise_for(dynamics_entries.hybrid_stage(system.ints, system.floats, law, q, v, a, tau, mask, work))
        return a, tau - driven

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        state = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        efforts = self._system.with_pushes(pushes).inverse_work(*state)[0]
        return efforts - own_efforts(pushes, q, self._nv)

    def tree_inverse_and_constraints(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> tuple[Array, Array, Array]:
        state = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        efforts, law, work = self._system.with_pushes(pushes).inverse_work(*state)
        rows = self._constraint_rows(q, v, law, work)
        return efforts - own_efforts(pushes, q, self._nv), rows.error, rows.jacobian

    def tree_forward(self, q: Array, v: Array, tau: Array) -> Array:
        if self._mechanism.gear_count:
            return closed_dynamics.open_accelerations(self._mechanism, q, v, tau, [])
        a, system = np.empty(self._nv), self._system
        system.raise_for(system.kernel(dynamics_entries.forward_dynamics)(*system.arrays, q, v, tau, a))
        return a

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        if not mask.any():
            return self.responses(q[None], efforts.T[None])[0].T
        system, nothing, unread = self._system.inertial, np.zeros(self._nv), np.empty(self._nv)
        kernel, response = system.kernel(hybrid_entries.hybrid_dynamics), np.empty(efforts.shape[::-1])
        for column, a in zip(np.ascontiguousarray(efforts.T), response, strict=True):
            system.raise_for(kernel(mask, *system.arrays, real_only(q, "q"), nothing, column, nothing, a, unread))
        return response.T

    def responses(self, q: Array, efforts: Array) -> Array:
        q, efforts, system = real_only(q, "q"), real_only(efforts, "efforts"), self._system.inertial
        count = efforts.shape[1]
        if count > (1 if system.has_laws else max(1, self._nv // _LEAST_SAVED)):
            matrices = np.array([self.mass_matrix(each) for each in q]).reshape(len(q), self._nv, self._nv)
            return np.swapaxes(np.linalg.solve(matrices, np.swapaxes(efforts, 1, 2)), 1, 2)
        forces = np.ascontiguousarray(efforts.reshape(len(q) * count, self._nv))
        a, nothing = np.empty(forces.shape), np.zeros(forces.shape)
        system.raise_for(system.bound(dynamics_entries.forward_batch)(np.repeat(q, count, 0), nothing, forces, a))
        return a.reshape(efforts.shape)

    def bare_inverse(self, q: Array, v: Array) -> Array:
        tau, nothing = np.empty(self._nv), np.zeros(self._nv)
        self._system.raise_for(self._calls.nonlinear_effects(real_only(q, "q"), real_only(v, "v"), nothing, tau))
        return tau

    def inertial_inverse(self, q: Array, v: Array, a: Array) -> Array:
        tau = np.empty(self._nv)
        state = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        self._system.raise_for(self._calls.inertial_inverse_dynamics(*state, tau))
        return tau

    def mass_matrix(self, q: Array) -> Array:
        matrix = np.empty((self._nv, self._nv))
        self._system.raise_for(self._calls.mass_matrix(real_only(q, "q"), matrix))
        return matrix

    def mass_inertial_inverse(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        tau, matrix = np.empty(self._nv), np.empty((self._nv, self._nv))
        state = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        self._system.raise_for(self._calls.mass_inertial_inverse_dynamics(*state, tau, matrix))
        return tau, matrix

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """Return the Coriolis matrix from the derivatives of the inertial terms by v."""
        changes, bare, q, v = np.empty((3, self._nv, self._nv)), self._system.bare, real_only(q, "q"), real_only(v, "v")
        derivatives = bare.bound(derivative_entries.inverse_derivatives)
        bare.raise_for(derivatives(bare.tables.paths, q, v, np.zeros(self._nv), changes))
        return 0.5 * (changes[1] + changes[2] @ self._mechanism.bracket(v))

    def pivots(self, q: Array) -> Pivots:
        return pivots_at(self._system, q)

    # -- with constraints ------------------------------------------------------------------------------------------------

    def forward(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        q, v, tau = real_only(q, "q"), real_only(v, "v"), real_only(tau, "tau")
        system, driven = self._system.with_pushes(pushes), tau + own_efforts(pushes, q, self._nv)
        a = np.empty(driven.shape)
        if self._mechanism.is_constrained:
            kernel = constrained_forward(system, self._mechanism.generic_rank).call
            for state in _rows(q, v, driven, a):
                status = kernel(*state)
                if status != layout.OK:
                    self._look_closer(status, system, pushes, state)
        else:
            pair = dynamics_entries.forward_dynamics if q.ndim == 1 else dynamics_entries.forward_batch
            system.raise_for(system.kernel(pair)(*system.arrays, q, v, driven, a))
        return a

    def _look_closer(self, status: int, system: PackedSystem, pushes: list[Push], state: tuple[Array, ...]) -> None:
        """Write forward dynamics with the rank of the constraints at q, or raise the error that prevents it."""
        mechanism, (q, v, driven, a) = self._mechanism, state
        if status == layout.SINGULAR:
            opened = is_open(mechanism, self.constraints(q, v).error)
            status = constrained_forward(system, rank_on_branch(mechanism, q), opened).call(q, v, driven, a)
        if status == layout.INCONSISTENT:
            rows, rank = closed_dynamics.acting(mechanism, q, v)
            others: list[Push] = [push for push in pushes if not isinstance(push, OwnPush)]
            consistency.refuse_opening(mechanism, rows, q, v, a, driven, others, rank)
        system.raise_for(status)

    def inverse(self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None) -> Array:
        q, v, a = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        system, tau = self._system.with_pushes(pushes), np.empty(v.shape)
        if actuated is not None:
            self._write_shared(system, (q, v, a, tau), pushes, motors, actuated)
            return tau
        pair = dynamics_entries.inverse_dynamics if q.ndim == 1 else dynamics_entries.inverse_batch
        system.raise_for(system.kernel(pair)(*system.arrays, q, v, a, tau))
        return tau - (motors + own_efforts(pushes, q, self._nv))

    def _write_shared(
        self, system: PackedSystem, states: tuple[Array, ...], pushes: list[Push], motors: Any, actuated: Array
    ) -> None:
        """Write the efforts of least norm on actuated coordinates; `states` are q, v, a and the array for the result."""
        kernel, loops = system.kernel(closure_entries.constrained_inverse).compiled, system.loops(self._mechanism.generic_rank)
        driven = np.zeros(states[-1].shape) + motors + own_efforts(pushes, states[0], self._nv)
        for drive, q, v, a, tau in _rows(driven, *states):
            if kernel(loops, actuated, drive, *system.arrays, q, v, a, tau) != layout.OK:
                raise_pending()
                tau[:] = closed_dynamics.inverse(self._mechanism, q, v, a, pushes, motors, actuated)

    def mass_inverse(
        self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
    ) -> tuple[Array, Array]:
        if actuated is not None:
            return self.inverse(q, v, a, pushes, motors, actuated), self.mass_matrix(q)
        system, tau, matrix = self._system.with_pushes(pushes), np.empty(self._nv), np.empty((self._nv, self._nv))
        state = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        system.raise_for(system.kernel(dynamics_entries.mass_inverse_dynamics)(*system.arrays, *state, tau, matrix))
        return tau - (motors + own_efforts(pushes, q, self._nv)), matrix

    def hybrid(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, motors: Any, pushes: list[Push]
    ) -> tuple[Array, Array]:
        q, v, tau, a = real_only(q, "q"), real_only(v, "v"), real_only(tau, "tau"), real_only(a, "a")
        tables, driven = self._system.with_pushes(pushes).arrays, motors + own_efforts(pushes, q, self._nv)
        accelerations, efforts, applied = np.empty(self._nv), np.empty(self._nv), tau + driven

        def run(kernels: HybridKernels) -> int:
            return int(kernels.dynamics(tables).call(q, v, applied, a, accelerations, efforts))

        if settled_hybrid(self._mechanism, self._system, self._calls, q, mask, run):
            return accelerations, np.where(mask, efforts - driven, tau)
        a, tau = closed_dynamics.hybrid(self._mechanism, q, v, tau + motors, a, mask, pushes)
        return a, tau - motors

    def constrained_accelerations(self, q: Array, v: Array, tau: Array, rank: int, pushes: list[Push]) -> Array:
        q, v, tau = (np.ascontiguousarray(real_only(x, name), float) for x, name in ((q, "q"), (v, "v"), (tau, "tau")))
        a, system = np.empty(self._nv), self._system.with_pushes(pushes)
        driven = tau + own_efforts(pushes, q, self._nv)
        system.raise_for(constrained_forward(system, rank, held=True).call(q, v, driven, a))
        return a

    def constraints(self, q: Array, v: Array) -> Constraints:
        q, v = real_only(q, "q"), real_only(v, "v")
        _, law, work = self._system.bare.inverse_work(q, v, np.zeros(self._nv))
        return self._constraint_rows(q, v, law, work)

    def _constraint_rows(self, q: Array, v: Array, law: Array, work: Array) -> Constraints:
        """Return the constraints from known twists, laws and accelerations; the bias includes the accelerations."""
        system, weights = self._system, self._mechanism.scale.weights
        error, jacobian, bias = np.empty(len(weights)), np.empty((len(weights), self._nv)), np.empty(len(weights))
        loops = system.constraint_tables[0]
        closure_entries.closure_rows(loops, system.ints, system.floats, law, q, v, work, error, jacobian, bias)
        return finite_constraints(error / weights, jacobian / weights[:, None], bias / weights)

    def closed_velocity(self, q: Array, v: Array, fixed: Array) -> Array:
        nearest = self._nearest(False, q, v, fixed, v)
        return project_velocity(self._mechanism, q, v, fixed, rank_near(self._mechanism, q)) if nearest is None else nearest

    def closed_acceleration(self, q: Array, v: Array, a: Array, fixed: Array) -> Array:
        nearest = self._nearest(True, q, v, fixed, a)
        return (
            project_acceleration(self._mechanism, q, v, a, fixed, rank_near(self._mechanism, q)) if nearest is None else nearest
        )

    def _nearest(self, second: bool, q: Array, v: Array, fixed: Array, rates: Array) -> Array | None:
        """Return the nearest rates that keep loops closed; None if the kernel reports a problem."""
        kernels = self._calls.nearest_rates
        if kernels is None:
            return None
        nearest = real_only(rates, "rates").copy()
        status = kernels[second](real_only(q, "q"), real_only(v, "v"), fixed, nearest)
        raise_pending()
        return nearest if status == layout.OK else None

    def prepare(self, places: Sequence[WrenchPlace], imposed: Array) -> PreparedDynamics:
        return CompiledPreparedDynamics(self._mechanism, self._system, places, imposed)


def _rows(*arrays: Array) -> list[tuple[Array, ...]]:
    """Return the rows of equally stacked arrays; single arrays as the only row."""
    return [arrays] if arrays[0].ndim == 1 else list(zip(*arrays, strict=True))


def settled_hybrid(
    mechanism: Mechanism,
    system: PackedSystem,
    calls: CompiledCalls,
    q: Array,
    mask: Array,
    run: Callable[[HybridKernels], int],
) -> bool:
    """Tell whether kernels succeed, if need be with as many constraints as act at q, or NumPy forms have to look closer."""
    status = run(calls.hybrids[mask.tobytes()])
    if not mechanism.is_constrained:
        system.raise_for(status)
    if status == layout.SINGULAR and not is_open_at(mechanism, q):
        try:
            rank = rank_on_branch(mechanism, q)
        except ModelError:  # a singular configuration, which does not matter where all is imposed
            return False
        jacobian = mechanism.engine.dynamics.constraints(q, np.zeros(mechanism.nv)).jacobian
        if least_beside_dead_centre(mechanism, q, jacobian, mask, rank) < DEPENDENT:  # kernels do not count on so little
            return False
        status = run(HybridKernels(system, mask, rank, free_rank(mechanism, q, mask, rank)))
    raise_pending()
    return status == layout.OK
