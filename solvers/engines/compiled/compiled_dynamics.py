"""Dynamics of the compiled engine's tree at checked states, its constraints, and time derivatives of the dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.engine_interface import Constraints, EquationSeries, PortSeries, SeriesCore, finite_constraints
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.bound_kernels import CONSTANT, has_series, port_series
from titop.solvers.engines.compiled.function_kernels import CompiledCalls
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics
from titop.solvers.engines.compiled.rounding import pivots_at
from titop.solvers.kernels.entries import closure_entries, derivative_entries, dynamics_entries, hybrid_entries, series_entries
from titop.solvers.mechanism.conditioning import Pivots
from titop.solvers.mechanism.inputs import PortPush, Push, WrenchPlace, own_efforts, port_pushes
from titop.solvers.mechanism.kernel_calls import DONE, real_only
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.prepared import PreparedDynamics
from titop.solvers.native.signatures import ORDERS
from titop.solvers.support.threads import call_in_parts


class CompiledDynamics:
    """The dynamics of the compiled engine; see `DynamicsCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem, calls: CompiledCalls) -> None:
        self._mechanism, self._system, self._calls, self._nv = mechanism, system, calls, mechanism.nv

    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        q, v, tau, a = real_only(q, "q"), real_only(v, "v"), real_only(tau, "tau"), real_only(a, "a")
        system, driven = self._system.with_pushes(pushes), own_efforts(pushes, q, self._nv)
        result, kernel = np.empty((2, self._nv)), system.kernel(hybrid_entries.hybrid_dynamics)
        system.raise_for(kernel(mask, *system.arrays, q, v, tau + driven, a, *result))
        return result[0], result[1] - driven

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        system, efforts = self._system.with_pushes(pushes), np.empty(self._nv)
        state = real_only(q, "q"), real_only(v, "v"), real_only(a, "a")
        system.raise_for(system.kernel(dynamics_entries.inverse_dynamics)(*system.arrays, *state, efforts))
        return efforts - own_efforts(pushes, q, self._nv)

    def tree_forward(self, q: Array, v: Array, tau: Array) -> Array:
        if self._mechanism.gear_count:
            return closed_dynamics.open_accelerations(self._mechanism, q, v, tau, [])
        a, system = np.empty(self._nv), self._system
        system.raise_for(system.kernel(dynamics_entries.forward_dynamics)(*system.arrays, q, v, tau, a))
        return a

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        if not mask.any():
            return self.responses(q[None], efforts.T[None])[0].T
        system, nothing, unread = self._system.responding, np.zeros(self._nv), np.empty(self._nv)
        kernel, response = system.kernel(hybrid_entries.hybrid_dynamics), np.empty(efforts.shape[::-1])
        for column, a in zip(np.ascontiguousarray(efforts.T), response, strict=True):
            system.raise_for(kernel(mask, *system.arrays, real_only(q, "q"), nothing, column, nothing, a, unread))
        return response.T

    def responses(self, q: Array, efforts: Array) -> Array:
        a = np.empty(efforts.shape)
        needed = np.ascontiguousarray(real_only(efforts, "efforts"))
        self._system.raise_for(self._calls.stacked["responses"](real_only(q, "q"), needed, a))
        return a

    def bare_inverse(self, q: Array, v: Array, a: Array) -> Array:
        tau, state = np.empty(self._nv), (real_only(q, "q"), real_only(v, "v"), real_only(a, "a"))
        self._system.raise_for(self._calls.nonlinear_effects(*state, tau))
        return tau

    def weight(self, q: Array) -> Array:
        tau, nothing = np.empty(self._nv), np.zeros(self._nv)
        self._system.raise_for(self._calls.gravity_effects(real_only(q, "q"), nothing, nothing, tau))
        return tau

    def mass_matrix(self, q: Array) -> Array:
        matrix = np.empty((self._nv, self._nv))
        self._system.raise_for(self._calls.mass_matrix(real_only(q, "q"), matrix))
        return matrix

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """Return the Coriolis matrix from the derivatives of the inertial terms by v."""
        changes, bare, q, v = np.empty((3, self._nv, self._nv)), self._system.bare, real_only(q, "q"), real_only(v, "v")
        derivatives, nothing = bare.bound(derivative_entries.inverse_derivatives), np.zeros(self._nv)
        bare.raise_for(derivatives(bare.tables.paths, q, v, nothing, changes))
        twice = changes[1] + changes[2] @ self._mechanism.bracket(v)
        if bare.turns:  # what is linear in v is skew, and counts as a whole
            bare.raise_for(derivatives(bare.tables.paths, q, nothing, nothing, changes))
            twice = twice + changes[1]
        return 0.5 * twice

    def pivots(self, q: Array) -> Pivots:
        return pivots_at(self._system, q)

    # -- with constraints ------------------------------------------------------------------------------------------------

    def constraints(self, q: Array, v: Array) -> Constraints:
        q, v = real_only(q, "q"), real_only(v, "v")
        bare, loops, weights = self._system.bare, self._system.constraint_tables[0], self._mechanism.scale.weights
        sides, jacobian = np.empty((3, len(weights))), np.empty((len(weights), self._nv))
        bare.raise_for(bare.kernel(closure_entries.constraint_rows)(loops, *bare.arrays, q, v, sides, jacobian))
        assembly = self._mechanism.assembly
        return finite_constraints(assembly, sides[0] / weights, jacobian / weights[:, None], sides[1] / weights)

    def prepare(self, places: Sequence[WrenchPlace], imposed: Array) -> PreparedDynamics:
        return CompiledPreparedDynamics(self._mechanism, self._system, places, imposed)


class CompiledSeries:
    """The series of the compiled engine; see `SeriesCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem, calls: CompiledCalls) -> None:
        self._mechanism, self._system, self._calls = mechanism, system, calls

    @cached_property
    def reference(self) -> SeriesCore:
        """The series of the reference engine, which evaluates every block in Python; it is imported at its first use."""
        from titop.solvers.engines.reference.reference_engine import reference_passes
        from titop.solvers.engines.reference.reference_series import ReferenceSeries

        return ReferenceSeries(reference_passes(self._system.assembly))

    @cached_property
    def _has_kernels(self) -> bool:
        return has_series(self._system)

    def _serves(self, pushes: Sequence[Push]) -> bool:
        """Tell whether the kernels can be used for the system and its external loads."""
        return self._has_kernels and all(isinstance(push, PortPush) for push in pushes)

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        if not self._serves(pushes):
            efforts = np.empty((len(v_series) - 1, self._mechanism.nv))
            if self._run(None, (q, v_series), pushes, (efforts,)):
                return efforts
            return self.reference.tree_inverse(q, v_series, pushes)
        q, v_series = real_only(q, "q"), np.ascontiguousarray(real_only(v_series, "v_series"), float)
        efforts = np.empty((len(v_series) - 1, self._mechanism.nv))
        changes, tables = self._acting(pushes, len(efforts))
        self._system.raise_for(series_entries.inverse_dynamics_series.rigid(changes, *tables, q, v_series, efforts))
        return efforts

    def tree_hybrid(
        self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]
    ) -> tuple[Array, Array] | None:
        accelerations, efforts = np.empty(tau_series.shape), np.empty(tau_series.shape)
        if self._mechanism.is_constrained or not self._serves(pushes):
            is_done = self._run(mask, (q, v, tau_series, a_series), pushes, (accelerations, efforts))
            return (accelerations, efforts) if is_done else None
        state = real_only(q, "q"), real_only(v, "v")
        stacks = [np.ascontiguousarray(real_only(x, name), float) for x, name in ((tau_series, "tau"), (a_series, "a"))]
        changes, tables = self._acting(pushes, len(efforts))
        kernel = series_entries.hybrid_dynamics_series.rigid
        self._system.raise_for(kernel(changes, mask, *tables, *state, *stacks, accelerations, efforts))
        return accelerations, efforts

    def shared_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push], driven: Array, actuated: Array) -> Array | None:
        efforts = np.empty((len(v_series) - 1, self._mechanism.nv))
        return efforts if self._run(None, (q, v_series, driven), pushes, (efforts,), actuated) else None

    def at_stack(
        self, name: str, mask: Sequence[Array], states: Sequence[Array], pushes: Sequence[Push], results: Sequence[Array]
    ) -> bool:
        """Write the results of a kernel at stacked states, of hybrid dynamics for a `mask`; tell whether it could be used."""
        if any(len(part) != len(states[0]) for part in states):
            return False
        if self._mechanism.is_constrained or not self._serves(pushes):
            return self._calls.along.run(mask[0] if mask else None, states, pushes, results)
        threads, wrenches = self._calls.threads, port_pushes(pushes)
        bound = Bound.of(self._loaded(wrenches), getattr(series_entries, name), CONSTANT, *mask)
        if not wrenches:
            return bound.at_stack(*states, *results, threads=threads) == DONE
        under, forces = bound.under_forces, np.concatenate([push.wrench for push in wrenches], axis=1)
        return under is not None and call_in_parts(threads, under.call, *states, *results, forces) == DONE

    def _run(
        self,
        mask: Array | None,
        state: Sequence[Array],
        pushes: Sequence[Push],
        results: Sequence[Array],
        actuated: Array | None = None,
    ) -> bool:
        """Write the results of dynamics at one state along a motion, with loads as they are; tell whether it could be done."""
        if _has_complex(state, pushes):
            return False
        arrays = [part[None] for part in state], _stacked(pushes), [part[None] for part in results]
        return self._calls.along.run(mask, *arrays, actuated)

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        if not _has_complex((q, v_series), pushes):
            terms = self._calls.along.equations(q[None], v_series[None], _stacked(pushes))
            if terms is not None:
                return EquationSeries(*[part[0] for part in terms])
        return self.reference.equation_series(q, v_series, pushes)

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        return [self._port_series(port, q, np.ascontiguousarray(v_series)) for port in ports]

    def _port_series(self, port: str, q: Array, v_series: Array) -> PortSeries:
        kernel = None if _has_complex((q, v_series)) else port_series(self._system, port)
        if kernel is None:
            series, along = np.empty((len(v_series), 18)), self._calls.along.motion(port)
            if (
                along is None
                or len(v_series) > ORDERS
                or _has_complex((q, v_series))
                or along.call(q, v_series, series) != DONE
            ):
                return self.reference.port_series([port], q, v_series)[0]
            return PortSeries(series[:, :9].reshape(-1, 3, 3), series[:, 9:12], series[:, 12:])
        series = np.empty((len(v_series) + 1, 18))
        self._system.raise_for(kernel.call(real_only(q, "q"), v_series, series))
        series = series[:-1]
        return PortSeries(series[:, :9].reshape(-1, 3, 3), series[:, 9:12], series[:, 12:])

    def _acting(self, pushes: Sequence[Push], rows: int) -> tuple[Array, tuple[Array, ...]]:
        """Return wrenches on ports with their derivatives, as kernels take them, and the tables with these loads."""
        wrenches = port_pushes(pushes)
        if not wrenches:
            return CONSTANT, self._system.arrays
        changes = [real_only(push.wrench, f"the wrench on {push.port}")[:rows] for push in wrenches]
        return np.vstack(changes).astype(float), self._loaded(wrenches).arrays

    def _loaded(self, wrenches: Sequence[PortPush]) -> PackedSystem:
        return self._system.with_loads_at(tuple([WrenchPlace(push.port, push.inertial) for push in wrenches]))


def _stacked(pushes: Sequence[Push]) -> list[Push]:
    """Return pushes at one state as those at a stack of one."""
    return [
        push._replace(wrench=push.wrench[None]) if isinstance(push, PortPush) else push._replace(u=push.u[None])
        for push in pushes
    ]


def _has_complex(state: Sequence[Array], pushes: Sequence[Push] = ()) -> bool:
    """Tell whether something is complex, as it is in complex steps."""
    loads = [push.wrench if isinstance(push, PortPush) else push.u for push in pushes]
    return any(np.asarray(part).dtype.kind == "c" for part in (*state, *loads))
