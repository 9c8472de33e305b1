"""The compiled resolver: a model whose functions are compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.acting import Variants
from titop.solvers.arguments import check_stacks, store
from titop.solvers.compiled_closed_slopes import driven_by, names_key
from titop.solvers.compiled_hybrid import CompiledHybrid
from titop.solvers.compiled_prepared import CompiledDynamics
from titop.solvers.inputs import Place, Push, own_efforts
from titop.solvers.kernels import closure_entries, entries, layout
from titop.solvers.loops import closed_dynamics, consistency
from titop.solvers.loops.branch import is_open
from titop.solvers.loops.closed_loops import Constraints, finite_constraints
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import BOUND, real
from titop.solvers.prepared import PreparedDynamics
from titop.solvers.rowwise import rowwise
from titop.solvers.stacked_loads import are_stacked, by_row

#: Attributes that keep compiled functions.
_FUNCTIONS = (*BOUND, "_law_stages", "_stages", "_acting", "_at_ports", "_loaded_variants", "_masks")


class CompiledModel(CompiledHybrid):
    """A model resolved by compiled kernels; see `Model` for its functions."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out compiled functions, which cannot be sent to another process; it loads its own."""
        return {name: value for name, value in self.__dict__.items() if name not in _FUNCTIONS}

    # -- forward and inverse dynamics: straight into the kernel, and only on a fault back to find its cause ------------

    @cached_property
    def _forward(self) -> Any:
        if self.is_constrained:
            return self._constrained(self.generic_rank)
        return self._bound(entries.forward_dynamics)

    def _constrained(self, rank: int, held: bool = False) -> Any:
        """Return compiled forward dynamics in which `rank` constraints act."""
        kernel = self._kernel(closure_entries.constrained_forward).compiled
        return partial(kernel, self._constraint_tables[1], self._loops(rank, held), *self._arrays)

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> Array:
        a = np.empty(self.nv) if out is None else out
        try:
            if wrenches is None and u is None:
                status = self._forward(q, v, tau, a)
            else:
                acting, given, driven = self._acted_on(wrenches, u, q)
                status = acting.run(self._forward, wrenches, given, q, v, tau if driven is None else driven_by(tau, driven), a)
            if status == layout.OK:
                return a
        except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
            pass
        raise_pending()
        if are_stacked(q, wrenches, u):
            return by_row(self, self.forward_dynamics, "tau", (q, v, tau), {"wrenches": wrenches, "u": u, "out": out})
        batch = None if self.is_constrained else self._kernel(entries.forward_batch)
        return self._any_input(self._forward_one, batch, q, v, "tau", tau, wrenches, u, out)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
    ) -> Array:
        tau, shared = np.empty(self.nv) if out is None else out, actuated is not None or self.is_constrained
        try:
            inverse, driven = self._shared_inverses[names_key(actuated)] if shared else self._inverse, None
            if wrenches is None and u is None:
                status = inverse(q, v, a, tau)
            else:
                acting, given, driven = self._acted_on(wrenches, u, q)
                beside = shared and driven is not None
                if beside:  # what is shared is what is left to do beside the inputs
                    inverse, driven = partial(inverse.func, *inverse.args[:2], driven, *inverse.args[3:]), None
                status = acting.run(inverse, wrenches, given, q, v, a, tau, often=not beside)
            if status == layout.OK:
                return tau if driven is None else np.subtract(tau, driven, out=tau)
        except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
            pass
        raise_pending()
        if are_stacked(q, wrenches, u):
            one = partial(self.inverse_dynamics, actuated=actuated)
            return by_row(self, one, "a", (q, v, a), {"wrenches": wrenches, "u": u, "out": out})
        mask = self._actuated(actuated)
        if mask is None:
            return self._any_input(self._inverse_one, self._kernel(entries.inverse_batch), q, v, "a", a, wrenches, u, out)
        return self._any_input(self._closed_inverse(mask, u), None, q, v, "a", a, wrenches, u, out)

    @cached_property
    def _shared_inverses(self) -> Variants:
        """Compiled inverse dynamics by names of the actuated coordinates, where constraints share efforts."""
        kernel, loops = self._kernel(closure_entries.constrained_inverse).compiled, self._loops(self.generic_rank)
        return Variants(lambda names: partial(kernel, loops, self._masks[names], self._still, *self._arrays))

    def _closed_inverse(self, actuated: Array, u: Any) -> Any:
        """Return a function of model and state that finds efforts on the actuated coordinates, those of inputs included."""
        motors, pushes = self.motor_efforts(u), self.external_pushes(None, u)
        least = partial(self._kernel(closure_entries.constrained_inverse).compiled, self._loops(self.generic_rank), actuated)

        def one(model: CompiledModel, q: Array, v: Array, a: Array, tau: Array) -> None:
            driven = np.zeros(self.nv) + motors + own_efforts(pushes, q, self.nv)
            if least(driven, *model._arrays, q, v, a, tau) != layout.OK:
                raise_pending()
                tau[:] = closed_dynamics.inverse(model, q, v, a, [], driven, actuated)
            tau += driven

        return one

    def _any_input(
        self, one: Any, batch: Any, q: Any, v: Any, name: str, x: Any, wrenches: Any, u: Any, out: Array | None
    ) -> Array:
        """Read any usable arguments, single or stacked, and compute; raise what is wrong with the others."""
        q = real(self._read_q(q, stacked=True), "q")
        v = real(self._read_v("v", v, True), "v")
        x = np.zeros(v.shape) if x is None and name == "tau" else real(self._read_v(name, x, True), name)
        check_stacks({"q": q, "v": v, name: x})
        u = None if u is None else real(self.inputs.read(u), "u")
        pushes = self.external_pushes(wrenches, u)
        model, driven = self._pushed(pushes), self.motor_efforts(u) + own_efforts(pushes, q, self.nv)
        if name == "tau":
            x = x + driven
        result = np.empty_like(x)
        if q.ndim == 1:
            one(model, q, v, x, result)
        elif batch is not None:
            self.raise_for(batch(*model._arrays, q, v, x, result))
        else:
            for row in range(len(q)):
                one(model, q[row], v[row], x[row], result[row])
        return store(result - driven if name == "a" else result, out)

    def _forward_one(self, model: CompiledModel, q: Array, v: Array, tau: Array, a: Array) -> None:
        if self.is_constrained:
            self._closed_forward(model, q, v, tau, a)
        else:
            self.raise_for(model._forward(q, v, tau, a))

    def _closed_forward(self, model: CompiledModel, q: Array, v: Array, tau: Array, a: Array) -> None:
        """Write forward dynamics with constraints into `a`: with as many as act generically, or else as many as act here."""
        status = self._constrained_stage(model, self.generic_rank, False, q, v, tau, a)
        if status == layout.SINGULAR:
            opened = is_open(self, self.constraints(q, v).error)
            status = self._constrained_stage(model, self.closure_rank(q), opened, q, v, tau, a)
        if status == layout.INCONSISTENT:
            rows, rank = closed_dynamics.acting(self, q, v)
            nothing = np.zeros(self.nv)
            alone = closed_dynamics.tree_accelerations(model, q, v, nothing, tau, nothing.astype(bool), [])
            consistency.refuse_opening(self, rows, v, a, alone, rank)
        self.raise_for(status)

    def _constrained_stage(self, model: CompiledModel, rank: int, held: bool, q: Array, v: Array, tau: Array, a: Array) -> int:
        return int(model._constrained(rank, held)(q, v, tau, a))

    def held_dynamics(self, q: Array, v: Array, tau: Array, rank: int, pushes: list[Push]) -> Array:
        q, v, tau = (np.ascontiguousarray(real(x, name), float) for x, name in ((q, "q"), (v, "v"), (tau, "tau")))
        a = np.empty(self.nv)
        driven = tau + own_efforts(pushes, q, self.nv)
        self.raise_for(self._constrained_stage(self._pushed(pushes), rank, True, q, v, driven, a))
        return a

    def _open_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        if self.gear_count:
            return super()._open_dynamics(q, v, tau)
        a = np.empty(self.nv)
        self.raise_for(self._kernel(entries.forward_dynamics)(*self._arrays, q, v, tau, a))
        return a

    def _inverse_one(self, model: CompiledModel, q: Array, v: Array, a: Array, tau: Array) -> None:
        self.raise_for(model._inverse(q, v, a, tau))

    def prepared(self, places: Sequence[Place], imposed: Array) -> PreparedDynamics:
        return CompiledDynamics(self, places, imposed)

    def loaded(self, wrenches: Mapping[str, Any], u: Any = None) -> Self:
        """Return the model with constant external wrenches, in the ports' frames, and the inputs' on ports made part of it."""
        return self._pushed(self.external_pushes(wrenches, u))

    def state_derivative(self, tau: Array) -> tuple[Any, tuple[Any, ...]]:
        """Return the compiled ``f(dy, t, y, *arguments) -> status`` of a compiled system, ``y = [q, v]``, and its arguments.

        The system is driven by constant efforts `tau` (nv). Where it cannot go on, dy is NaN.
        """
        return self._kernel(entries.state_derivative).compiled, (*self._arrays, tau)

    # -- staged dynamics, for any causality and any block --------------------------------------------------------------

    @rowwise
    def configuration_rate(self, q: Any, v: Any) -> Array:
        q, v = real(self._read_q(q), "q"), real(self._read_v("v", v), "v")
        rates = np.empty(self.nq)
        self._write_rates(q, v, rates)
        return rates

    def _write_rates(self, q: Array, v: Array, rates: Array) -> None:
        """Write dq/dt of arguments that need no check."""
        entries.configuration_rate(self._ints, q, v, rates)
        for block, in_q, in_v in self._moving_otherwise:
            rates[in_q] = block.along(lambda x: x, q[in_q], v[in_v])

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        efforts = self._pushed(pushes)._inverse_work(real(q, "q"), real(v, "v"), real(a, "a"))[0]
        return efforts - own_efforts(pushes, q, self.nv)

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        response, free = np.zeros(efforts.shape), ~mask
        matrix = self.mass_matrix(q)[np.ix_(free, free)]
        response[free] = np.linalg.solve(matrix, efforts[free])
        return response

    def constraints(self, q: Array, v: Array) -> Constraints:
        q, v = real(q, "q"), real(v, "v")
        k = len(self.constraint_names)
        error, jacobian, bias = np.empty(k), np.empty((k, self.nv)), np.empty(k)
        _, law, work = self._bare._inverse_work(q, v, np.zeros(self.nv))
        closure_entries.closure_rows(self._loops(0), self._ints, self._floats, law, q, v, work, error, jacobian, bias)
        weights = self.closure_weights
        return finite_constraints(error / weights, jacobian / weights[:, None], bias / weights)

    @cached_property
    def _nearest_velocity(self) -> Any:
        return self._nearest_motion(False)

    @cached_property
    def _nearest_acceleration(self) -> Any:
        return self._nearest_motion(True)

    def _nearest_motion(self, second: bool) -> Any:
        """Return the compiled function that finds velocities, or `second` rates, which keep loops closed."""
        kernel = self._kernel(closure_entries.nearest_motion).compiled
        return partial(kernel, self._loops(self.generic_rank), second, self.coordinate_weights, *self._bare._arrays)

    def assemble_velocity(self, q: Any, v: Any, fixed: Iterable[str] = ()) -> Array:
        nearest = self._nearest_at_once(lambda held, x: self._nearest_velocity(q, v, held, x), v, fixed)
        return super().assemble_velocity(q, v, fixed) if nearest is None else nearest

    def assemble_acceleration(self, q: Any, v: Any, a: Any, fixed: Iterable[str] = ()) -> Array:
        nearest = self._nearest_at_once(lambda held, x: self._nearest_acceleration(q, v, held, x), a, fixed)
        return super().assemble_acceleration(q, v, a, fixed) if nearest is None else nearest

    def _nearest_at_once(self, replace: Callable[[Array, Array], int], rates: Any, fixed: Any) -> Array | None:
        """Return rates that a kernel replaces by nearest ones; None where arguments have to be read with more care."""
        if self.is_constrained and not self.gear_constraints:  # whose followers are put in place first
            try:
                nearest: Array = rates.copy()
                if replace(self._masks[names_key(fixed)], nearest) == layout.OK:
                    return nearest
            except (TypeError, ValueError, AttributeError):  # not the kernel's types: lists, integers, ...
                pass
            raise_pending()
        return None

    def closed_velocity(self, q: Array, v: Array, fixed: Array) -> Array:
        nearest = self._nearest_to(v, lambda x: self._nearest_velocity(real(q, "q"), v, fixed, x))
        return super().closed_velocity(q, v, fixed) if nearest is None else nearest

    def closed_acceleration(self, q: Array, v: Array, a: Array, fixed: Array) -> Array:
        nearest = self._nearest_to(a, lambda x: self._nearest_acceleration(real(q, "q"), real(v, "v"), fixed, x))
        return super().closed_acceleration(q, v, a, fixed) if nearest is None else nearest

    def _nearest_to(self, rates: Array, replace: Callable[[Array], int]) -> Array | None:
        """Return rates that a kernel replaces by nearest ones; None where that has to be looked at more closely."""
        nearest = real(rates, "rates").copy()
        status = replace(nearest) if self.is_constrained else layout.SINGULAR
        raise_pending()
        return nearest if status == layout.OK else None

    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        q, v, tau, a = real(q, "q"), real(v, "v"), real(tau, "tau"), real(a, "a")
        model, driven = self._pushed(pushes), own_efforts(pushes, q, self.nv)
        law, work = model._outward(q, v, layout.FORWARD_COLUMNS)
        a, tau = a.astype(float), tau.astype(float) + driven
        self.raise_for(entries.hybrid_stage(model._ints, model._floats, law, q, v, a, tau, mask, work))
        return a, tau - driven
