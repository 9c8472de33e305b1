"""The compiled engine's dynamics for integrators: direct kernel calls on tables that are made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.target_motion import TargetMotion
from titop.solvers.constraints.assembling import follow_steps
from titop.solvers.engines.compiled.bound_kernels import HybridKernels
from titop.solvers.engines.compiled.packed import PackedSystem, interaction_rows, moving_otherwise
from titop.solvers.engines.compiled.tables import constraint_tables
from titop.solvers.kernels.entries import closure_entries, gap_entries, runge_kutta, stepping_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.guards import BOUND, COUNT, GUARD_COLUMNS, IN_Q, NEAR, PLACE, ROW
from titop.solvers.mechanism.inputs import PortPush, WrenchPlace
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.prepared import Closed, FollowingStates, PreparedDynamics, Residual
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.support.threads import in_parts

#: A step of no length, as kernels are asked for it, and its table: of one stage, which is its beginning.
_AT_ONCE = np.array([[0, 0, 0, 1, 0, 1]]), np.zeros((2, 1))
#: No gaps.
NO_GUARDS = np.zeros((0, GUARD_COLUMNS))


def _work(table: Array, y: Array, plan: Array) -> int:
    """Return how many numbers stages of members have, if each leg of a plan is a step: much of it goes in pieces."""
    return y.size * len(plan) * len(table)


class MemberTables(NamedTuple):
    """The tables of many members, which differ in numbers: the last arguments of `stepping_entries.members`.

    - `table` (n, 1): which of those behind is each member's; `ints`;
    - `floats`, `numbers` (k, ...): of members, or one of all; `stages`. The last two only of systems with laws.
    - `lanes`: members' own floats and numbers in lanes, where they step in these (see `calling.members_function`).
    """

    table: Array
    ints: Array
    floats: Array
    numbers: Array
    stages: Array
    lanes: tuple[Array, ...] = ()

    def push(self, wrenches: Array) -> None:
        """Let wrenches (n, places, 6) at the last loads act."""
        first, force = self.floats.shape[1] - wrenches.shape[1], slice(layout.FORCE, layout.FORCE + 6)
        self.floats[:, first:, force] = wrenches
        if self.lanes:
            self.lanes[0][:, first:, force] = _side_by_side(self.floats[:, first:, force])


def _side_by_side(rows: Array) -> Array:
    """Return rows (n, ...) in blocks (k, ..., lanes), the last filled up by the last row."""
    count = -(-len(rows) // LANE_COUNT)
    blocks = rows[np.minimum(np.arange(count * LANE_COUNT), len(rows) - 1)].reshape(count, LANE_COUNT, *rows.shape[1:])
    return np.moveaxis(blocks, 1, -1)


def in_lanes(rows: Array) -> Array:
    """Return rows (n, ...) in blocks (k, ..., lanes), in memory as kernels read them: from multiples of the lanes' size on."""
    blocks = _side_by_side(rows)
    room = np.empty(blocks.size + LANE_COUNT)
    aligned = room[-room.ctypes.data // room.itemsize % LANE_COUNT :][: blocks.size].reshape(blocks.shape)
    aligned[...] = blocks
    return aligned


class CompiledPreparedDynamics(PreparedDynamics):
    """The dynamics of a compiled mechanism for integrators; see `PreparedDynamics`."""

    mechanism: Mechanism

    def __init__(self, mechanism: Mechanism, system: PackedSystem, places: Sequence[WrenchPlace], imposed: Array) -> None:
        super().__init__(mechanism, places, imposed)
        self._imposed = int(np.count_nonzero(imposed))
        self._states = np.zeros(len(mechanism.inputs.state_names))
        self._system = system
        loaded = system.with_pushes([PortPush(*place, wrench) for place, wrench in zip(places, self.wrenches, strict=True)])
        self._ints, self._floats = loaded.ints, loaded.floats.copy()
        if mechanism.is_constrained:
            self._loops, self._tree = self._closures()
        self._numbers = loaded.numbers.copy()
        self._tables = (self._ints, self._floats, self._numbers, loaded.laws.stages.addresses)[: len(loaded.arrays)]
        #: The blocks that override the steps of their coordinates.
        self.moving_otherwise = moving_otherwise(system)
        if places:
            self.wrenches = self._floats[-len(places) :, layout.FORCE : layout.FORCE + 6]

    def _closures(self) -> tuple[Array, Array]:
        """Return the kernels' tables of the constraints."""
        loops, tree = constraint_tables(self.mechanism, self._system.tables, self.imposed)
        loops[0, layout.HELD] = True
        return loops, tree

    def hold_rank(self) -> None:
        """Set the number of acting constraints."""
        if self.mechanism.is_constrained:
            self._loops[0, layout.RANK] = self.rank

    def drive_interactions(self, u: Array) -> None:
        super().drive_interactions(u)
        self._states = u[len(self.mechanism.inputs.names) :]
        for name, columns in self.mechanism.inputs.driving:
            self._numbers[0, self._system.acting_inputs[name]] = u[columns]

    @property
    def farthest(self) -> float:
        """The largest distance from a singular configuration of a motion so far."""
        return float(self.closure_report[3])

    @farthest.setter
    def farthest(self, distance: float) -> None:
        self.closure_report[3] = distance

    @cached_property
    def closure_report(self) -> Array:
        """The kernel's record of the last closed state, as in `closed_steps`."""
        return self._closing_numbers[: stepping_entries.REPORTED]

    @cached_property
    def _closing_numbers(self) -> Array:
        """What `closed_steps` is told of closing, without the precision."""
        sizes = self.mechanism.scale.coordinates if self.mechanism.is_constrained else np.zeros(0)
        return np.concatenate([np.zeros(stepping_entries.REPORTED + 3), sizes])

    @cached_property
    def _kernel(self) -> Any:
        """The compiled steps of explicit Runge-Kutta methods (`stepping_entries`)."""
        pair = stepping_entries.closed_steps if self.mechanism.is_constrained else stepping_entries.open_steps
        return self._system.kernel(pair).compiled

    @property
    def _closures_for_steps(self) -> tuple[Array, ...]:
        """Return the arguments of `closed_steps` for the constraints; none for trees."""
        if not self.mechanism.is_constrained:
            return ()
        plain = self.mechanism.plain_coordinates
        where = np.array([plain.in_q, plain.in_v], dtype=np.int64)
        return self._closing_numbers, where, self._tree, self._loops

    def steps(
        self, moved: Array, control: tuple[Array, ...], guards: Array, tau: Array, precision: Array
    ) -> tuple[Callable[..., int], tuple[Array, ...]]:
        """Return compiled steps, and what they take behind what changes between them; before each, callers `hold_rank`.

        `moved` (nq): entries of q that are imposed. `control`: as `no_control` returns it. `guards` (n, k): as
        `titop.solvers.kernels.ports.guards` has it. `tau` (nv). `precision` (3): as `closed_steps` has it.

        Returns
        -------
        kernel : callable
            ``f(asked, clock, table, y, states, rates, told, *same)``, which returns a status; see `stepping_entries`.
        same : tuple of array
        """
        self._closing_numbers[stepping_entries.REPORTED :][: len(precision)] = precision
        return self._kernel, (moved, self.imposed, *control, guards, tau, *self._closures_for_steps, *self._tables)

    def member_tables(self, mechanisms: Sequence[Any], each: bool) -> MemberTables | None:
        """Return the tables of members of the same structure; None if they differ in more than numbers.

        They have one table for `each` if inputs act on ports, or their parameters differ.
        """
        systems = [each_of.engine.system for each_of in mechanisms] if each else [self._system]
        systems = [system.with_loads_at(tuple(self.places)) if self.places else system for system in systems]
        others, shape = [one for one in systems if one.ints is not self._ints], self._numbers.shape
        if any(not np.array_equal(one.ints, self._ints) for one in others) or any(
            one.numbers.shape != shape for one in systems
        ):
            return None
        if not all(self._system.acts_like(one) for one in systems):
            return None
        table = np.arange(len(mechanisms))[:, None] if each else np.zeros((len(mechanisms), 1), dtype=np.int64)
        stages = self._tables[3] if len(self._tables) > 2 else np.zeros((1, 1), dtype=np.int64)
        floats, numbers = (np.array([getattr(system, name) for system in systems]) for name in ("floats", "numbers"))
        tables = MemberTables(table, self._ints, floats, numbers, stages)
        tables.push(self.wrenches[None])
        return tables

    def are_same_places(self, mechanisms: Sequence[Any]) -> bool:
        """Tell whether ports of members of the same structure are at the same places in the same configuration."""
        geometry, elements = [*range(layout.MASS), layout.LINEAR, layout.ANGULAR], slice(1, self._ints[0, layout.ELEMENTS])

        def places(system: PackedSystem) -> tuple[Array, ...]:
            return system.floats[elements][:, geometry], system.frames, system.ports, system.numbers

        known = places(self._system)
        others = (places(mechanism.engine.system) for mechanism in mechanisms)
        return all(np.array_equal(one, other) for each in others for one, other in zip(known, each, strict=True))

    def member_steps(self, *arguments: Any) -> int:
        """Call the compiled steps of many members: see `stepping_entries.members`; the last argument is their tables."""
        asked, table, times, progress, clocks, y, outputs, loads, imposed, *control, signals, tables = arguments
        kernel, own = self._system.kernel(stepping_entries.open_members).compiled, tables[1 : 1 + len(self._tables)]

        def run(rows: slice) -> int:
            states = progress[rows], clocks[rows], y[rows], outputs[rows], loads[rows]
            return int(kernel(asked, table, times, *states, imposed, *control, signals[rows], *own))

        return in_parts(1, len(y), run, numbers=_work(table, y, control[0]))

    def with_lanes(self, tables: MemberTables) -> MemberTables | None:
        """Return the tables of members that step in lanes, None if they do not: of several, in lanes if they are their own."""
        if len(tables.table) == 1 or len(self._states) or not self._system.has_lanes(stepping_entries.open_lane_steps):
            return None
        return tables if len(tables.floats) == 1 else tables._replace(lanes=(in_lanes(tables.floats), in_lanes(tables.numbers)))

    def lane_steps(self, *arguments: Any) -> int:
        """Call the compiled steps of members in lanes: see `stepping_entries.lane_steps`; the last argument is their tables."""
        asked, table, times, clocks, y, outputs, loads, imposed, *control, signals, tables = arguments
        system, pair, size = self._system, stepping_entries.open_lane_steps, len(self._tables)
        kernel, placed = system.kernel_of_members(pair) if tables.lanes else system.kernel_in_lanes(pair)
        shared = tables.floats[0], tables.numbers[0]

        def run(rows: slice) -> int:
            blocks = slice(rows.start // LANE_COUNT, -(-rows.stop // LANE_COUNT))
            numbers = [each[blocks] for each in tables.lanes] or shared
            own = signals[rows], *placed((tables.ints, *numbers, tables.stages)[:size])
            states = clocks[rows], y[rows], outputs[rows], loads[rows]
            return int(kernel(asked, table, times, *states, imposed, *control, *own))

        engine: Any = self.mechanism.engine
        threads = self.mechanism.threads if engine.is_compiled else 1
        return in_parts(threads, len(y), run, numbers=_work(table, y, control[0]))

    def rates_of_members(self, y: Array, tau: Array, tables: MemberTables, in_lanes: bool = False) -> tuple[Array, Array]:
        """Return the rates (n, m, ny) of states with unit quaternions, under efforts (n, m, nv), and a status (n) of each.

        Those of members that fail are NaN.
        """
        rates, progress, loads = y.copy(), np.zeros_like(tables.table), np.zeros((len(y), 0))
        begin, control = (*_AT_ONCE, np.zeros(0)), [np.zeros((0, 0))] * 3
        given = loads, loads, rates, loads, self.imposed, *control, tau, tables
        if not in_lanes or self.lane_steps(*begin, *given) != layout.OK:
            rates[:], progress = y, np.hstack([progress, tables.table])
            self.member_steps(*begin, progress, *given)
            rates[progress[:, 0] != layout.OK] = np.nan
        return rates, progress[:, 0]

    @property
    def stacks(self) -> bool:
        """Whether `dynamics_rows` is compiled."""
        otherwise = self.mechanism.is_constrained or self._imposed or self.moving_otherwise
        return not (otherwise or self.mechanism.inputs.driving or len(self._states))

    def dynamics_rows(self, q: Array, v: Array, tau: Array, a: Array, wrenches: Array, u: Array) -> tuple[Array, Array]:
        if self.stacks:
            differ = bool((wrenches != wrenches[:1]).any())
            if wrenches.size:
                self.wrenches[:] = wrenches[0]
            tables = self.member_tables([self.mechanism] * len(q), differ)
            if tables is not None:
                tables.push(wrenches if differ else wrenches[:1])
                rates, status = self.rates_of_members(np.hstack([q, v])[:, None], np.ascontiguousarray(tau)[:, None], tables)
                raise_pending()
                if (status == layout.OK).all():
                    return rates[:, 0, self.mechanism.nq :], tau
        return super().dynamics_rows(q, v, tau, a, wrenches, u)

    @cached_property
    def _one(self) -> Any:
        """The compiled rate, and the rows that it reads (a state, imposed motions, efforts) and writes."""
        nq, nv = self.mechanism.nq, self.mechanism.nv
        size = nq + nv + len(self._states)
        state, rate, motion, tau = np.empty((1, size)), np.empty((1, size)), np.empty((1, nq + 2 * nv)), np.empty(nv)
        begin = _AT_ONCE[0], np.zeros(runge_kutta.ATOL), _AT_ONCE[1], state[0], state, rate, motion
        same = np.zeros(nq, dtype=bool), self.imposed, *no_control(nv), NO_GUARDS, tau, *self._closures_for_steps
        return partial(self._kernel, *begin, *same, *self._tables), state[0], motion[0], tau, rate[0]

    def rate(self, q: Array, v: Array, tau: Array, a: Array) -> Array:
        nq, nv = len(q), len(v)
        kernel, state, motion, efforts, rate = self._one
        state[:nq], state[nq : nq + nv], efforts[:] = q, v, tau
        state[nq + nv :] = self._states
        if self._imposed:
            motion[nq : nq + nv], motion[nq + nv :] = v, a
        self.hold_rank()
        status = kernel()
        if status != layout.OK:
            self._system.raise_for(status)
        result = rate.copy()
        for block, in_q, in_v in self.moving_otherwise:
            result[in_q] = block.along(lambda x: x, q[in_q], v[in_v])
        return result

    def accelerations(self, q: Array, v: Array, tau: Array, a: Array) -> Array:
        return self.rate(q, v, tau, a)[self.mechanism.nq :][: self.mechanism.nv]

    def dynamics(self, q: Array, v: Array, tau: Array, a: Array) -> tuple[Array, Array]:
        accelerations, efforts = np.empty(len(v)), tau
        if self.mechanism.is_constrained and not self._imposed:
            self.hold_rank()
            status = self._forward(q, v, tau, accelerations)
        else:
            if self.rank not in self._hybrids:
                kernels = HybridKernels(self._system, self.imposed, self.rank)
                self._hybrids[self.rank] = kernels.dynamics(self._tables).call
            efforts = np.empty(len(v))
            status = self._hybrids[self.rank](q, v, tau, a, accelerations, efforts)
        if status == layout.OK:
            return accelerations, efforts
        raise_pending()  # where kernels fail, the general functions look closer
        return super().dynamics(q, v, tau, a)

    @cached_property
    def _equations(self) -> Any:
        """The compiled equations on tables with space for closures, and the rows there of the wrenches at the places."""
        closing = self._system.closing([PortPush(*place, np.zeros(6)) for place in self.places])
        end = len(closing[1]) - 2 * len(self.mechanism.rigid_loops)
        rows = closing[1][end - len(self.places) : end, layout.FORCE : layout.FORCE + 6]
        tables = self._system.constraint_tables[0], *closing[:2], *self._tables[2:]
        return self._system.kernel(closure_entries.implicit_equations).compiled, tables, rows

    def equations(
        self, q: Array, v: Array, a: Array, tau: Array, multipliers: Array, following: FollowingStates, whole: bool
    ) -> Residual:
        (kernel, tables, rows), n, k = self._equations, len(v), len(multipliers)
        rows[:] = self.wrenches
        result = Residual(np.empty(n), np.empty(k), np.empty((k * whole, n)), np.empty((n * whole, n)))
        self._system.raise_for(kernel(whole, *following, *tables, q, v, a, multipliers, *result))
        np.subtract(result.efforts, tau, out=result.efforts)
        return result

    @cached_property
    def _places(self) -> list[tuple[int, int, int, tuple[Array, Array]]]:
        """Index in the laws of the motion of each interaction's targets, and numbers of ports and coordinates; no inputs."""
        places = []
        for row, loop in zip(self.interaction_rows, self.mechanism.interactions, strict=True):
            o, p, n = self._ints[row, [layout.LAW, layout.ACT_PORTS, layout.ACT_COORDINATES]].tolist()
            places.append((o, p, n, loop.closure.inputs_and_states(None)))
        return places

    @cached_property
    def interaction_rows(self) -> list[int]:
        """The row of every interaction."""
        return [*interaction_rows(self._system).values()]

    def guards(self, stops: Array, interactions: Sequence[tuple[int, int]]) -> Array:
        """Return rows that guard the gaps of stops and interactions, as `titop.solvers.kernels.ports.guards` has it.

        `stops` (n, 4): where each coordinate stands in q and v, the sign of the gap on this side of the bound, and the bound.
        `interactions` (int, int): which interactions have gaps that are compiled (`gap_stage`), and how many.
        """
        rows = np.zeros((len(stops) + sum(count for _, count in interactions), GUARD_COLUMNS))
        rows[: len(stops), ROW] = -1.0
        rows[: len(stops), IN_Q : BOUND + 1] = stops
        first = len(stops)
        for k, count in interactions:
            part, first = rows[first : first + count], first + count
            part[:, ROW], part[:, PLACE], part[:, COUNT] = self.interaction_rows[k], np.arange(count), count
        return rows

    def target_motions(self, q: Array, v: Array) -> list[TargetMotion]:
        told, size = self._system.outward(q, v, layout.INVERSE_COLUMNS)[0][0], layout.MOTION_SIZE
        motions = []
        for o, p, n, driven in self._places:
            ports, along = told[o : o + size * p].reshape(p, size), told[o + size * p : o + size * p + 2 * n]
            motions.append(
                TargetMotion(ports[:, :9].reshape(p, 3, 3), ports[:, 9:12], ports[:, 12:], along[:n], along[n:], *driven)
            )
        return motions

    @cached_property
    def _guard(self) -> Any:
        """The compiled check of guarded gaps, and the step length that it reads."""
        length = np.zeros(1)
        return partial(self._system.kernel(gap_entries.guard).compiled, length), length

    def clears(self, rows: Array, length: float, q: Array, v: Array) -> bool:
        """Tell whether no guarded gap came near zero in a step of a `length` (s) to a state; write what gaps are there."""
        kernel, step = self._guard
        step[0] = length
        return bool(kernel(rows, *self._tables, q[None], v[None], np.empty((1, 2 * len(rows)))) == layout.OK)

    def gaps(self, rows: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the guarded gaps (m, n) at stacked states and their rates; what is known of steps in the `rows` is left."""
        kernel, step = self._guard
        step[0], count = 0.0, len(rows)
        values = np.empty((len(q), 2 * count))
        status = kernel(rows.copy(), *self._tables, np.ascontiguousarray(q), np.ascontiguousarray(v), values)
        if status not in (layout.OK, NEAR):
            self._system.raise_for(status)
        return values[:, :count], values[:, count:]

    @cached_property
    def _forward(self) -> Any:
        """Compiled forward dynamics of a constrained system."""
        return partial(
            self._system.kernel(closure_entries.constrained_forward).compiled, self._tree, self._loops, *self._tables
        )

    @cached_property
    def _hybrids(self) -> dict[int, Any]:
        """Compiled hybrid dynamics, by the number of acting constraints."""
        return {}

    @cached_property
    def _closing(self) -> Any:
        """The compiled search for states on the closures, and what it writes beside velocities: a step, and what it is told."""
        kernel, sizes = self._system.kernel(closure_entries.close_state).compiled, self.mechanism.scale.coordinates
        return partial(kernel, sizes, self.imposed, self._loops, *self._tables), np.empty(self.mechanism.nv), np.zeros(3)

    def project(self, q: Array, v: Array, precision: float) -> Closed:
        (closing, step, told), velocity, status = self._closing, np.empty(len(v)), layout.OK
        self.hold_rank()

        def look(q: Array) -> tuple[float, Array]:
            nonlocal status
            status = min(status, closing(q, v, step, velocity, told))
            return told.item(0), step

        try:
            q = follow_steps(self.mechanism, q, look, precision)
        except ConvergenceError:
            status = min(status, layout.SINGULAR)
        if status != layout.OK:  # what is wrong is found by looking closer
            raise_pending()
            return super().project(q, v, precision)
        return Closed(q, velocity, told.item(1), int(told[2]))


def no_control(nv: int) -> tuple[Array, Array]:
    """Return the arguments of compiled stages without a controller: gains and drives."""
    return np.zeros((0, 0)), np.zeros((2 + nv, 0))
