"""Time derivatives of all that is compiled, by the kernels of plain dynamics, which run along motions in jets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import refuse_unsteady
from titop.solvers.constraints.engine_interface import EquationSeries
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.bound_kernels import least_efforts
from titop.solvers.engines.compiled.packed import PackedSystem, moving_otherwise
from titop.solvers.kernels.entries import closure_entries, dynamics_entries
from titop.solvers.mechanism.inputs import OwnPush, Push, WrenchPlace, acting_inputs, port_pushes
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.native.signatures import ORDERS
from titop.solvers.series.causality import allowed_openings
from titop.solvers.support.threads import call_in_parts


def _product(matrices: Array, vectors: Array) -> Array:
    """Return products (n, rows, i), with their derivatives, of matrices (n, rows, i, j) and vectors (n, rows, j)."""
    product: Array = np.zeros(matrices.shape[:3])
    for k in range(vectors.shape[1]):
        for j in range(k + 1):
            product[:, k] += comb(k, j) * np.einsum("nij,nj->ni", matrices[:, j], vectors[:, k - j])
    return product


#: Calls a kernel along motions with arrays of stacked states.
Stacked = Callable[..., int]


class AlongKernel:
    """A kernel for one state with its derivatives (`call`), and for stacked ones, as `Bound` has them.

    `arrange`: from the arguments of a model's function, of stacked states, to the kernel's.
    """

    def __init__(self, stacked: Stacked, arrange: Callable[..., tuple[Array, ...]]) -> None:
        self._stacked, self._arrange = stacked, arrange

    def call(self, *arrays: Array) -> int:
        """Return the kernel's status at one state. Raises `TypeError` as kernels do."""
        if any(type(array) is not np.ndarray for array in arrays):
            raise TypeError
        return self.at_stack(*[array[None] for array in arrays])

    def at_stack(self, *arrays: Array, threads: int | None = 1) -> int:
        """Return the first status that is not `DONE`, or `DONE`."""
        if any(len(array) != len(arrays[0]) for array in arrays) or arrays[-1].ndim != 3 or arrays[-1].shape[1] > ORDERS:
            raise TypeError
        return call_in_parts(threads, self._stacked, *self._arrange(*arrays))


class _AlongMotion(AlongKernel):
    """The kernel of a port's motion: of its results (orders, 18 or less) what is known."""

    def __init__(self, stacked: Stacked) -> None:
        super().__init__(stacked, _with_rates)

    def at_stack(self, *arrays: Array, threads: int | None = 1) -> int:
        *state, result = arrays
        room = np.empty((*result.shape[:2], 24))
        status = super().at_stack(*state, room, threads=threads)
        result[:] = room[..., : result.shape[2]]
        return status


def _of_inverse(q: Array, v_series: Array, *rest: Array) -> tuple[Array, ...]:
    if v_series.ndim != 3 or v_series.shape[1] != rest[-1].shape[1] + 1:
        raise TypeError
    return _with_rates(q, v_series, *rest)


def _with_rates(q: Array, v_series: Array, *rest: Array) -> tuple[Array, ...]:
    return q, v_series, *rest[:-1], np.ascontiguousarray(v_series[:, 1:]), rest[-1]


def _of_forward(q: Array, v: Array, tau_series: Array, *rest: Array) -> tuple[Array, ...]:
    if tau_series.shape[1] < rest[-1].shape[1]:
        raise TypeError
    return q, v[:, None], tau_series, *rest


def _of_hybrid(q: Array, v: Array, tau_series: Array, a_series: Array, *rest: Array) -> tuple[Array, ...]:
    if min(tau_series.shape[1], a_series.shape[1]) < rest[-1].shape[1] or v.shape[1:] != a_series.shape[2:]:
        raise TypeError
    return q, np.concatenate([v[:, None], a_series], axis=1), tau_series, a_series, *rest


class CompiledAlong:
    """The functions of a system along motions."""

    def __init__(self, system: PackedSystem, calls: Any) -> None:
        self._system, self._calls = system, calls

    @cached_property
    def serves(self) -> bool:
        """Whether kernels compute derivatives for all that the system has; states of the first order would stand still."""
        if self._system.mechanism.inputs.state_names:
            return False
        try:
            refuse_unsteady(self._system.structure)
        except ModelError:
            return False
        has_laws = self._system.has_laws
        return not moving_otherwise(self._system) and (not has_laws or self._system.laws.stages.is_along)

    def _dynamics(
        self, mask: Array | None, actuated: Array | None = None
    ) -> tuple[Bound, Callable[..., tuple[Array, ...]]] | None:
        """Return a kernel of dynamics and what arranges its arguments; None where there is none.

        It is that of the tree's inverse dynamics for None, or else of hybrid dynamics for a `mask` of imposed coordinates. With
        a mask `actuated` it is that of the efforts on these, if the constraints leave no choice.
        """
        if not self.serves:
            return None
        if actuated is not None:
            mechanism = self._system.mechanism
            is_determined = np.count_nonzero(actuated) == mechanism.nv - mechanism.generic_rank and mechanism.is_constrained
            return (least_efforts(self._system, actuated).beside, _of_inverse) if is_determined else None
        if mask is None:
            return Bound.of(self._system, dynamics_entries.inverse_dynamics), _of_inverse
        if not mask.any():
            return self._calls.kernels["forward", None], _of_forward
        hybrid = self._calls.hybrids[mask.tobytes()]
        return (hybrid.dynamics(self._system.arrays), _of_hybrid) if hybrid.determines else None

    def kernel(self, mask: Array | None, forward: bool = False) -> AlongKernel | None:
        """Return the kernel of dynamics without loads; a `forward` one has no results for efforts."""
        is_other = self._system.mechanism.is_constrained if mask is None else forward == mask.any()
        found = None if is_other else self._dynamics(mask)
        if found is None:
            return None
        return AlongKernel(found[0].along(), found[1])

    def run(
        self,
        mask: Array | None,
        states: Sequence[Array],
        pushes: Sequence[Push],
        results: Sequence[Array],
        actuated: Array | None = None,
    ) -> bool:
        """Write the results of dynamics at stacked states; tell whether it could be done.

        `pushes` are stacked, with derivatives. Inverse dynamics are those of the tree, or else with `actuated` coordinates take
        efforts (rows, nv) that act as well. For a `mask` states and results are those of hybrid dynamics.
        """
        rows = results[0].shape[1]
        found = None if rows > ORDERS or any(isinstance(push, OwnPush) for push in pushes) else self._dynamics(mask, actuated)
        if found is None:
            return False
        (bound, arrange), given = found, [np.ascontiguousarray(part, float) for part in states]
        if mask is not None and not mask.any():  # forward dynamics read no motion and give no efforts
            results[1][:] = given[2]
            given, results = given[:3], results[:1]
        stacked, forces = self._under(bound, pushes, len(given[0]), rows)
        arguments = arrange(*given, *results)
        split = len(arguments) - len(results)
        if actuated is not None and not self._keeps_closed(*given[:2]):
            return False
        return call_in_parts(self._calls.threads, stacked, *arguments[:split], *forces, *arguments[split:]) == DONE

    def motion(self, port: str) -> _AlongMotion | None:
        """Return the kernel of a port's motion."""
        return _AlongMotion(self._calls.at_ports[port].bound["motion"].along()) if self.serves else None

    def equations(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries | None:
        """Return the terms of the tree's equations of motion at stacked states; None where it could not be done.

        They are inverse dynamics where coordinates change as they do, but no acceleration acts: without gravity, and what they
        have more with it, and then with all that acts. That difference loses what a field, small beside fast motion, has of its
        own: there the reference engine sums it apart.
        """
        system, (count, rows, n) = self._system, (len(q), v_series.shape[1] - 1, v_series.shape[2])
        if rows > ORDERS or not self.serves or any(isinstance(push, OwnPush) for push in pushes):
            return None
        if system.structure.field is not None:
            return None
        state = np.ascontiguousarray(q), np.ascontiguousarray(v_series)
        at_rest = np.zeros((count, rows, n))
        inertial, bare, whole = np.empty((3, count, rows, n))
        mass, threads = np.empty((count, rows, n * n)), self._calls.threads
        status = call_in_parts(threads, Bound.of(system.bare, dynamics_entries.whole_mass_matrix).along(), *state, mass)
        for of, acting, part in ((system.inertial, (), inertial), (system.bare, (), bare), (system, pushes, whole)):
            kernel, forces = self._under(Bound.of(of, dynamics_entries.inverse_dynamics), acting, count, rows)
            status |= call_in_parts(threads, kernel, *state, at_rest, *forces, part)
        if status != DONE:
            return None
        return EquationSeries(mass.reshape(count, rows, n, n), inertial, bare - inertial, whole - bare)

    def _keeps_closed(self, q: Array, v_series: Array) -> bool:
        """Tell whether motions keep loops closed at all orders."""
        bare, weights, (count, rows, n) = self._system.bare, self._system.mechanism.scale.weights, v_series.shape
        sides, jacobian = np.empty((count, rows, 3 * len(weights))), np.empty((count, rows, len(weights) * n))
        kernel = Bound.of(bare, closure_entries.constraint_rows, self._system.constraint_tables[0]).along()
        if rows > ORDERS or call_in_parts(self._calls.threads, kernel, q, v_series, sides, jacobian) != DONE:
            return False
        gradients = jacobian.reshape(count, rows, len(weights), n)
        openings = np.abs(_product(gradients, v_series))[:, 1:]
        sizes = zip(np.abs(gradients[:, 0]), v_series, strict=True)
        return bool(
            all((here.max(axis=1) <= allowed_openings(*size)).all() for here, size in zip(openings, sizes, strict=True))
        )

    def _under(self, bound: Bound, pushes: Sequence[Push], count: int, rows: int) -> tuple[Stacked, tuple[Array, ...]]:
        """Return the kernel under pushes, and what acts (count, rows, 6 k): at loads, and as inputs of interactions."""
        if not pushes:
            return bound.along(), ()
        at_ports, inputs = port_pushes(pushes), acting_inputs(pushes)
        system = self._system.with_loads_at(tuple(WrenchPlace(push.port, push.inertial) for push in at_ports))
        forces = [np.asarray(push.wrench, float) for push in at_ports]
        if inputs:
            places = sorted(system.acting_inputs.items(), key=lambda each: each[1].start)
            parts = [np.zeros((count, rows, place.stop - place.start)) for _, place in places]
            for part, (name, place) in zip(parts, places, strict=True):
                part[:, 0] = system.numbers[0, place]
                part += inputs.get(name, 0.0)
            own = np.concatenate(parts, axis=2)
            system = system.with_own_inputs(own.shape[2])
            forces.append(np.pad(own, ((0, 0), (0, 0), (0, -own.shape[2] % 6))))
        return bound.along(system.arrays), (np.ascontiguousarray(np.concatenate(forces, axis=2)),)
