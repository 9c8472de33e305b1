"""External loads of a compiled model, for each call: wrenches on ports, and the inputs of actuators, blocks, interactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import all_finite, as_arrays, is_ready, read_wrenches
from titop.solvers.arguments.rowwise import Stack, at_row
from titop.solvers.engines.compiled.packed import MOST_VARIANTS, PackedSystem
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.inputs import Inputs, WrenchPlace
from titop.solvers.mechanism.kernel_calls import DONE, real_only
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.support.threads import BY_PYTHON, call_in_parts, in_parts

#: A copy of the tables, kernels bound to it, and functions that write wrenches on ports, and inputs, into it.
_TablesCopy = tuple[tuple[Array, ...], dict[Any, Any], list[Any], Any]

#: Number of kernels that are kept bound to a copy of the tables.
_MOST_CALLS = 8
#: Accepted types of the `wrenches` argument.
_WRENCHES = dict, type(None), Mapping
_NO_NUMBERS, _FLOAT = np.zeros((1, 0)), np.dtype(float)


class Bound:
    """A compiled function on the tables of a system: `call` takes a state and the arrays that results are written into.

    - `function`: takes the arguments `before`, the tables, the arguments `behind`, a state and results; returns a status;
    - `shares`: whether efforts are split between actuators and constraints. The last argument `behind` then are efforts (nv) of
      inputs, which act in addition: none;
    - `imposed` (nv): the coordinates whose motion is imposed;
    - `of_stacks`: returns the function for stacked states, or that with forces of each behind, and what makes its tables from
      these;
    - `of_motions`: likewise for stacked states along motions (see `pair.along`).
    """

    def __init__(
        self,
        function: Callable[..., int],
        before: tuple[Any, ...],
        tables: tuple[Array, ...],
        behind: tuple[Any, ...] = (),
        shares: bool = False,
        imposed: Array | None = None,
        of_stacks: Callable[[bool], tuple[Callable[..., int], Any]] | None = None,
        of_motions: Callable[[bool], tuple[Callable[..., int], Any]] | None = None,
    ) -> None:
        self._parts, self._tables, self.shares, self.imposed = (function, before, behind), tables, shares, imposed
        self._of_stacks, self._of_motions = of_stacks, of_motions
        self.call = partial(function, *before, *tables, *behind)

    @classmethod
    def of(cls, system: PackedSystem, pair: Pair, *before: Any, tables: tuple[Array, ...] | None = None, **more: Any) -> Bound:
        """Return the function of a pair for a system, on its tables or others; `more` as the class takes it."""
        of_stacks = partial(system.kernel_in_lanes, pair) if system.has_lanes(pair) else None
        return cls(
            system.kernel(pair).compiled,
            before,
            system.arrays if tables is None else tables,
            of_stacks=of_stacks,
            of_motions=partial(system.kernel_along, pair),
            **more,
        )

    @cached_property
    def stacked(self) -> Bound | None:
        """The function for stacked states, if there is one; where it gives a status, single calls say which state has it."""
        return self._in_lanes(False)

    @cached_property
    def under_forces(self) -> Bound | None:
        """The same, with the forces of each state at the last loads as an argument behind the results."""
        return self._in_lanes(True)

    def _in_lanes(self, forced: bool) -> Bound | None:
        if self._of_stacks is None:
            return None
        function, in_lanes = self._of_stacks(forced)
        return _InLanes(function, self._parts[1], self._tables, self._parts[2], in_lanes)

    def along(self, tables: tuple[Array, ...] | None = None) -> Callable[..., int]:
        """Return the function for stacked states along motions; on other tables with the forces of each at their last loads."""
        assert self._of_motions is not None
        function, made = self._of_motions(tables is not None)
        return partial(function, *self._parts[1], *made(self._tables if tables is None else tables), *self._parts[2])

    def at_stack(self, *arrays: Array, threads: int | None = 1) -> int:
        """Call the function at stacked states, with a row of every array for each; return the first status that is not `DONE`.

        Raises `TypeError` as the function does. `threads`: as `in_parts` has it.
        """
        of_stack = self.stacked
        if of_stack is not None:
            if call_in_parts(threads, of_stack.call, *arrays) == DONE:
                return DONE
            _leave_to_rows()
        if any(len(array) != len(arrays[0]) for array in arrays):
            raise TypeError

        def run_rows(rows: slice) -> int:
            each = zip(*[array[rows] for array in arrays], strict=True)
            return next((status for k, row in enumerate(each, rows.start) if (status := _called_at(k, self.call, row))), DONE)

        return in_parts(threads, len(arrays[0]), run_rows, BY_PYTHON)

    def on(self, tables: tuple[Array, ...]) -> Callable[..., int]:
        """Return the function on other tables."""
        function, before, behind = self._parts
        return partial(function, *before, *tables, *behind)

    @cached_property
    def beside(self) -> Bound:
        """The function that takes the efforts of inputs as its first argument, if it `shares` efforts."""
        function, before, behind = self._parts
        return Bound(function, before, self._tables, behind[:-1], of_stacks=self._of_stacks, of_motions=self._of_motions)


class _InLanes(Bound):
    """A compiled function of stacked states, on tables that are made of those of single ones."""

    def __init__(self, function: Any, before: Any, tables: tuple[Array, ...], behind: Any, in_lanes: Any) -> None:
        super().__init__(function, before, in_lanes(tables), behind)
        self._made = in_lanes

    def on(self, tables: tuple[Array, ...]) -> Callable[..., int]:
        return super().on(self._made(tables))


class Acting:
    """Calls of a compiled model with wrenches on fixed ports, with or without inputs.

    Copies of the tables with space for the loads are kept between calls, one for each call that runs at the same time. Raises
    `ModelError` for an unknown port.

    Parameters
    ----------
    driven : bool
        Whether inputs act.
    closing : bool
        Whether the tables get space for the wrenches of rigid closures on their ports, as the last loads.
    """

    def __init__(
        self, system: PackedSystem, inputs: Inputs, ports: tuple[str, ...], driven: bool, closing: bool = False
    ) -> None:
        known = read_wrenches(dict.fromkeys(ports, np.zeros(6)), system.mechanism.ports)
        places = inputs.places if driven else ()
        closed = [str(ref) for loop in system.mechanism.rigid_loops for ref in (loop.first, loop.second)] if closing else []
        loads = (*(WrenchPlace(port, False) for port in known), *places, *(WrenchPlace(port, False) for port in closed))
        loaded = system.with_loads_at(loads) if loads else system
        self._loaded, self._tables, self._count, self._loads = loaded, loaded.arrays, len(ports), len(loads)
        self._closing = bool(closed)
        acting = [(system.acting_inputs[name], columns) for name, columns in inputs.driving] if driven else []
        #: Indices of the inputs of interactions among the numbers, in order, and among the inputs; the numbers without inputs.
        where = [(at, k) for place, columns in acting for at, k in zip(_each(place), _each(columns), strict=True)]
        self._places = np.array(sorted(where), dtype=np.int64).reshape(-1, 2).T.copy()
        self._resting = self._tables[2][:, self._places[0]] if acting else np.zeros((1, 0))
        #: The inputs that act as wrenches at places, and these wrenches per unit of each.
        self._columns = np.array([inputs.columns if driven else []], dtype=np.int64)
        self._units, self._driven = real_only(inputs.units_at_places, "units"), inputs.count if driven else 0
        #: Copies of the tables that are not in use; a call takes one and returns it.
        self.copies: list[_TablesCopy] = []

    def run_rows(
        self, bound: Bound, wrenches: Sequence[Array], u: Array | None, rows: Iterable[tuple[Any, ...]], first: int
    ) -> int:
        """Call a kernel as `run` does with the arguments of each of several `rows`; return the first status that is not `DONE`.

        Raises `TypeError` as in `run`. `wrenches` (6), (n, 6): on each port, for all rows or for each row. `u` (nu), (n, nu).
        `first`: the place of the first row in the stack.
        """
        copy = self.copies.pop() if self.copies else self.new_copy()
        _, calls, puts, put_inputs = copy
        call, status = calls.get(bound) or _call_on(copy, bound), DONE
        acting = [*zip(puts, wrenches, strict=True), *([] if u is None else [(put_inputs, u)])]
        turning = [(put, loads) for put, loads in acting if loads.ndim == 2]
        try:
            if any(put(loads) != layout.OK for put, loads in acting if loads.ndim != 2):
                raise TypeError
            for k, arguments in enumerate(rows):
                for put, loads in turning:
                    if put(loads[k]) != layout.OK:
                        raise TypeError
                status = _called_at(first + k, call, arguments)
                if status != DONE:
                    break
        finally:
            self.copies.append(copy)
        return status

    @cached_property
    def _own_tables(self) -> tuple[Array, ...]:
        """The tables in which the inputs of interactions stand behind the loads."""
        inputs = self._places.shape[1]
        return self._loaded.with_own_inputs(inputs).arrays if inputs else self._tables

    def under_forces(self, bound: Bound, wrenches: Sequence[Any], u: Array | None, count: int) -> tuple[Any, Array] | None:
        """Return a kernel of stacked states with forces and inputs of their own, and these; None where there is none.

        Arguments are as for `run_rows`; raises `TypeError` as there.
        """
        if bound.under_forces is None or (self._closing and self._places.size):  # closures' wrenches have to be the last loads
            return None
        more = len(self._own_tables[1]) - len(self._tables[1])
        forces = np.zeros((count, self._loads + more, 6))
        for k, wrench in enumerate(wrenches):
            if type(wrench) is not np.ndarray or wrench.shape not in ((6,), (count, 6)):
                raise TypeError
            forces[:, k] = wrench
        if u is not None:
            if u.shape not in ((self._driven,), (count, self._driven)):
                raise TypeError
            forces[:, self._count :][:, : self._columns.size] = u[..., self._columns[0], None] * self._units
            inputs = forces[:, self._loads :].reshape(count, 6 * more)
            inputs[:, : self._places.shape[1]] = self._resting + u[..., self._places[1]]
        if not all_finite(forces):
            raise TypeError
        return bound.under_forces.on(self._own_tables), forces

    def new_copy(self) -> _TablesCopy:
        """Return a copy of the tables, with functions that write loads into it."""
        ints, floats, *laws = self._tables
        if self._loads:
            floats = floats.copy()
        if self._places.size:
            laws[0] = laws[0].copy()
        first = len(floats) - self._loads
        puts = [partial(dynamics_entries.put_wrench.compiled, floats, first + k) for k in range(self._count)]
        where = self._places, self._resting, first + self._count, self._columns, self._units
        into = floats, laws[0] if laws else _NO_NUMBERS
        return (ints, floats, *laws), {}, puts, partial(dynamics_entries.put_inputs.compiled, self._driven, *where, *into)


def _leave_to_rows() -> None:
    """Forget what a law in Python has raised: it comes again, in a row."""
    with suppress(Exception):
        raise_pending()


def _called_at(k: int, call: Callable[..., int], arguments: tuple[Any, ...]) -> int:
    """Return the status of a call at row k; what a law in Python has raised says where."""
    status = call(*arguments)
    if status != DONE:
        at_row(k, raise_pending)
    return status


def _call_on(copy: _TablesCopy, bound: Bound) -> Any:
    """Return a kernel bound to a copy of the tables, and keep it there."""
    tables, calls, _, _ = copy
    if len(calls) == _MOST_CALLS:
        calls.clear()
    calls[bound] = call = bound.on(tables)
    return call


def _each(place: Any) -> Iterable[int]:
    return range(place.start, place.stop) if isinstance(place, slice) else place.tolist()


class Variants(dict[Any, Any]):
    """A cache of bounded size, whose entries are made when their key is first read."""

    def __init__(self, make: Callable[[Any], Any], most: int = MOST_VARIANTS) -> None:
        super().__init__()
        self._make, self._most = make, most

    def __missing__(self, key: Any) -> Any:
        if len(self) == self._most:
            self.clear()
        self[key] = made = self._make(key)
        return made


class ActedOn:
    """The external loads of a system, for each call."""

    def __init__(self, system: PackedSystem, inputs: Inputs) -> None:
        self.system, self._inputs, self._nq = system, inputs, system.mechanism.nq
        self._acting = Variants(lambda key: Acting(system, inputs, *key))

    @cached_property
    def threads(self) -> int | None:
        """Number of threads for stacked states: one where laws are in Python."""
        mechanism = self.system.mechanism
        engine: Any = mechanism.engine
        return mechanism.threads if mechanism.threads == 1 or engine.is_compiled else 1

    def run(
        self,
        bound: Bound,
        wrenches: Mapping[str, Any] | None,
        u: Array | None,
        arguments: tuple[Any, ...],
        closing: bool = False,
    ) -> int:
        """Call a kernel with `wrenches`, and the inputs `u` on ports and of interactions, in its tables; return its status.

        Raises `TypeError` if a wrench is not six real numbers, or `u` has another length: they have to be checked in detail.
        `wrenches` (6) are by port name, `u` (nu) as `read_inputs` returns them, `arguments` those behind the kernel's tables.
        `closing`: whether the tables have space for the wrenches of rigid closures on their ports, as derivatives need it.
        """
        if type(wrenches) is not dict and not isinstance(wrenches, _WRENCHES):
            raise TypeError
        acting = self._acting[tuple(wrenches) if wrenches else (), u is not None, closing]
        copy = acting.copies.pop() if acting.copies else acting.new_copy()
        _, calls, puts, put_inputs = copy
        try:
            if wrenches:
                for put, wrench in zip(puts, wrenches.values(), strict=False):
                    try:
                        status = put(wrench) if type(wrench) is np.ndarray else put(*as_arrays(wrench))
                    except TypeError:
                        status = put(*as_arrays(wrench))  # without anything it refuses once more
                    if status != layout.OK:
                        raise TypeError
            if u is not None and put_inputs(u) != layout.OK:
                raise TypeError
            call = calls.get(bound) or _call_on(copy, bound)
            status = call(*arguments)
        finally:
            acting.copies.append(copy)
        return status

    def read_inputs(self, u: Any, q: Any, closing: bool = False) -> tuple[Array | None, Array | None]:
        """Return inputs (nu) if any can act on ports or by interactions, and efforts (nv) if any can along coordinates.

        Derivatives (`closing`) leave out what inputs of blocks change with q. Raises `TypeError` if arguments have to be
        checked in detail.
        """
        inputs = self._inputs
        if type(u) is not np.ndarray or u.dtype is not _FLOAT or inputs.state_names:
            u = real_only(np.asarray(inputs.whole(u)), "u")
        if u.shape != (inputs.count,):
            raise TypeError
        acting = u if inputs.drives_ports else None
        if not inputs.drives_coordinates:
            return acting, None
        if not inputs.own and not inputs.state_names:
            return acting, inputs.motors.dot(u)
        if inputs.own and (closing or not is_ready(q, self._nq)):
            raise TypeError
        return acting, inputs.efforts(u, q)

    def run_stacked(self, bound: Bound, at: Callable[[Any], tuple[Any, ...]], stack: Stack, closing: bool = False) -> int:
        """Call a kernel at stacked states: at once where the same acts on ports all the time, or row by row; return its status.

        Raises `TypeError` if loads have to be checked in detail. `at`: from an index of rows, or of one row, to the kernel's
        arguments behind its tables. `closing`: whether the tables have space for closures.
        """
        count, of_stack = len(stack.states[0]), bound.stacked
        if stack.wrenches is None and stack.u is None:
            return bound.at_stack(*at(slice(None)), threads=self.threads)
        numbers = at(slice(None))[-1].size
        loads = [_loads_of(wrench) for wrench in (stack.wrenches or {}).values()]
        u = None if stack.u is None else self._read(stack.u)
        if not self._inputs.drives_ports:
            u = None
        acting = self._acting[tuple(stack.wrenches or ()), u is not None, closing]
        turning = any(axes_of(each) == 2 for each in (*loads, u))

        def run_together(rows: slice) -> int:
            assert of_stack is not None
            return self.run(of_stack, stack.wrenches, u, at(rows), closing)

        if of_stack is not None and not turning:
            if in_parts(self.threads, count, run_together, numbers=numbers) == DONE:
                return DONE
            _leave_to_rows()

        if turning and (forced := acting.under_forces(bound, loads, u, count)) is not None:
            call, forces = forced
            if in_parts(self.threads, count, lambda rows: call(*at(rows), forces[rows]), numbers=numbers) == DONE:
                return DONE
            _leave_to_rows()

        def run_turning(rows: slice) -> int:
            own = [part[rows] if part.ndim == 2 else part for part in loads]
            own_u = u[rows] if u is not None and u.ndim == 2 else u
            return acting.run_rows(bound, own, own_u, map(at, range(*rows.indices(count))), rows.start)

        return in_parts(self.threads, count, run_turning, BY_PYTHON)

    def driven(self, stack: Stack) -> Any:
        """Return the efforts of inputs on coordinates at stacked states: one row for each (n, nv), or one for all (nv)."""
        if stack.u is None or not self._inputs.drives_coordinates:
            return 0.0
        return self._inputs.efforts(self._read(stack.u), stack.states[0])

    def _read(self, u: Any) -> Array:
        """Return inputs (nu) as an array of floats, and stacked ones as they are.

        Raises `ModelError` for unusable and complex ones.
        """
        return real_only(u if type(u) is np.ndarray and u.ndim == 2 else np.asarray(self._inputs.whole(u)), "u")


def _loads_of(wrenches: Any) -> Any:
    """Return wrenches of stacked states (n, 6), or one for all states, as kernels accept them."""
    if axes_of(wrenches) == 2:
        return np.ascontiguousarray(real_only(wrenches, "wrenches"), float)
    ready = as_arrays(wrenches)
    return ready[0] if ready else wrenches
