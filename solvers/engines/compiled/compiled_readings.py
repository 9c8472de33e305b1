"""Readings of a compiled mechanism, bound to kernels: sensors, reactions, motion of ports, efforts of gears."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import sequence_findings
from titop.solvers.arguments.reading import all_finite, are_ready_rows, as_arrays
from titop.solvers.arguments.rowwise import Stack, read_stack, read_states
from titop.solvers.constraints import closed_dynamics
from titop.solvers.engines.compiled.acted_on import ActedOn, Bound, Variants
from titop.solvers.engines.compiled.packed import interaction_rows
from titop.solvers.kernels.entries import reading_entries
from titop.solvers.kernels.ports import sensor_readings
from titop.solvers.mechanism.inputs import Push, own_efforts
from titop.solvers.mechanism.kernel_calls import DONE, driven_by, real_only
from titop.solvers.mechanism.port_motion import warn_of_gimbal_lock
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.signals.quantities import OF_LINES, Kind, Quantity

#: The pose of a frame in itself.
IDENTITY = np.concatenate([np.eye(3).ravel(), np.zeros(3)])

#: Quantities that depend on the constraints' multipliers.
CARRIED = (sensor_readings.JOINT_WRENCH, sensor_readings.CLOSURE_WRENCH, sensor_readings.MULTIPLIER)

#: How many numbers each has.
SIZES = {
    sensor_readings.SPECIFIC_FORCE: 3,
    sensor_readings.ANGULAR_VELOCITY: 3,
    sensor_readings.POSE: 6,
    sensor_readings.COORDINATE: 1,
    sensor_readings.RATE: 1,
    sensor_readings.MOTION: 18,
    sensor_readings.JOINT_WRENCH: 6,
    sensor_readings.ACTING_WRENCH: 6,
    sensor_readings.CLOSURE_WRENCH: 6,
    sensor_readings.MULTIPLIER: 1,
}


class ReadingRow(NamedTuple):
    """One row of the table of what to read: what, where, at which port and about which axes; the port's pose, a factor."""

    what: int
    at: int
    port: int = -1
    axes: int = 0
    frame: Array = IDENTITY
    factor: float = 1.0


def reading_tables(rows: Sequence[ReadingRow]) -> tuple[Array, Array, int]:
    """Return the tables of rows (see `sensor_readings`), and how many numbers are read."""
    sizes = [SIZES[row.what] for row in rows]
    numbers = [[row.what, row.at, row.port, sum(sizes[:k]), row.axes] for k, row in enumerate(rows)]
    table = np.array(numbers, dtype=np.int64).reshape(-1, sensor_readings.READING_COLUMNS)
    frames = np.array([[*row.frame, row.factor] for row in rows], dtype=float).reshape(-1, sensor_readings.FRAME_COLUMNS)
    return table, frames, sum(sizes)


class KernelReading:
    """What a kernel reads of the states of a mechanism.

    - `acted_on`: what acts on the system, or on its like in which all ports are in use if one of the rows needs that;
    - `angles`: port, sequence and place of all Euler angles, for warnings of their locks;
    - `picked`: which of the numbers are the result, all by default.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        acted_on: ActedOn,
        rows: Sequence[ReadingRow],
        angles: Sequence[tuple[str, str, int]] = (),
        picked: list[int] | None = None,
    ) -> None:
        self._mechanism, self._acted_on, self._system = mechanism, acted_on, acted_on.system
        self._table, self._frames, self._size = reading_tables(rows)
        self._angles, self._picked = angles, picked
        self._is_closed = mechanism.is_constrained and any(row.what in CARRIED for row in rows)
        self._bounds = Variants(lambda known: self._on(known, self._system.closing()))
        self._anywhere = mechanism.neutral()

    def _on(self, known: bool, tables: tuple[Array, ...]) -> Bound:
        """Return the kernel; that of multipliers, all efforts being `known` or not, on tables with space for closures."""
        if not self._is_closed:
            return Bound.of(self._system, reading_entries.readings, self._table, self._frames)
        weights = np.ascontiguousarray(self._mechanism.scale.weights)
        before = self._table, self._frames, self._system.loops, weights, known
        return Bound.of(self._system, reading_entries.closed_readings, *before, tables=tables)

    def read(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, tau: Any = None
    ) -> Array | None:
        """Return the readings at a state, or at stacked ones, under loads; efforts `tau` matter with constraints only.

        None for a state at which the kernel cannot be used, or that has to be checked.
        """
        if type(q) is type(v) is type(a) is np.ndarray and (tau is None or type(tau) is np.ndarray):
            result: Array | None = np.empty(self._size)
            try:
                if wrenches is u is tau is None and q.ndim == 1 and not self._is_closed:
                    if self._bounds[False].call(q, v, a, result) != DONE:
                        result = None
                elif q.ndim == 2:
                    result = self._of_stack(q, v, a, wrenches, u, tau)
                else:
                    result = self._of_state(q, v, a, wrenches, u, tau)
                if result is not None:
                    return self._shown(result) if self._angles or self._picked is not None else result
            except TypeError:
                pass
        raise_pending()
        if ready := as_arrays(q, v, a, u, tau):
            q, v, a, u, tau = ready
            return self.read(q, v, a, wrenches, u, tau)
        states = {"q": q, "v": v, "a": a} | ({} if tau is None else {"tau": tau})
        if all(type(state) is np.ndarray and state.dtype == float for state in states.values()):
            return None
        real = zip(read_states(self._mechanism, states, stacked=True), states, strict=True)
        q, v, a, *efforts = (real_only(state, name) for state, name in real)
        return self.read(q, v, a, wrenches, u, *efforts)

    def _of_state(
        self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any] | None, u: Any, tau: Array | None
    ) -> Array | None:
        """Return the readings at a state; None where the kernel cannot be used.

        Raises `TypeError` where loads have to be read with more care: also where kernels would leave what is not finite alone.
        """
        if tau is not None and (tau.dtype != float or tau.shape != v.shape or not all_finite(tau)):
            raise TypeError
        driven: Array | None = None
        if u is not None:
            place = None if self._is_closed else self._anywhere  # where own inputs push does not matter
            u, driven = self._acted_on.read_inputs(u, place, closing=self._is_closed)
        result, bound = np.empty(self._size), self._bounds[self._is_closed and tau is not None]
        state: tuple[Any, ...] = q, v, a
        if self._is_closed:
            state = *state, np.zeros(v.shape) if tau is None else driven_by(tau, driven)
        if wrenches is None and u is None:
            status = bound.call(*state, result)
        else:
            status = self._acted_on.run(bound, wrenches, u, (*state, result), closing=self._is_closed)
        return result if status == DONE else None

    def _of_stack(
        self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any] | None, u: Any, tau: Array | None
    ) -> Array | None:
        """Return the readings at stacked states, each with its own loads; None if states have to be checked one by one."""
        if tau is wrenches is u is None and are_ready_rows(q) and are_ready_rows(v) and are_ready_rows(a):
            stack = Stack((q, v, a), None, None)
        else:
            states = {"q": q, "v": v, "a": a} | ({} if tau is None else {"tau": tau})
            stack = read_stack(self._mechanism, states, wrenches, u)
        if self._is_closed and stack.u is not None and self._mechanism.inputs.own:
            return None
        arrays, bound = stack.states[:3], self._bounds[self._is_closed and tau is not None]
        if self._is_closed:
            applied = np.zeros(arrays[1].shape) if tau is None else stack.states[3] + self._acted_on.driven(stack)
            arrays = *arrays, np.ascontiguousarray(applied)
        arrays = *arrays, np.empty((len(q), self._size))

        def at(rows: Any) -> tuple[Any, ...]:
            return tuple([part[rows] for part in arrays])

        done = self._acted_on.run_stacked(bound, at, stack, closing=self._is_closed) == DONE
        return arrays[-1] if done else None

    def under(self, pushes: Sequence[Push], q: Array, v: Array, a: Array) -> Array:
        """Return the readings at a checked state, with all loads given as pushes."""
        kernel, tables = self._system.kernel(reading_entries.readings), self._system.with_pushes(pushes).arrays
        state, result = [real_only(x, name) for x, name in ((q, "q"), (v, "v"), (a, "a"))], np.empty(self._size)
        self._system.raise_for(kernel(self._table, self._frames, *tables, *state, result))
        return result

    def multipliers(self, pushes: list[Push], q: Array, v: Array, a: Array, applied: Array | None) -> Array | None:
        """Return readings of constraints at a checked state; None if the kernel reports a problem."""
        driven = np.zeros(self._mechanism.nv) + own_efforts(pushes, q, self._mechanism.nv)
        efforts = driven if applied is None else driven + real_only(applied, "tau")
        state, result = [real_only(x, name) for x, name in ((q, "q"), (v, "v"), (a, "a"))], np.empty(self._size)
        status = self._on(applied is not None, self._system.closing(pushes)).call(*state, efforts, result)
        raise_pending()
        return result if status == DONE else None

    def _shown(self, result: Array) -> Array:
        """Return the chosen numbers, and warn of angles near gimbal lock."""
        for port, sequence, place in self._angles:
            warn_of_gimbal_lock(port, result[..., place : place + 3], sequence)
        return result if self._picked is None else result[..., self._picked]


#: What the kernels read of the kinds of a port, and where the kind's vector begins in it.
_AT_PORTS = {
    Kind.SPECIFIC_FORCE: (sensor_readings.SPECIFIC_FORCE, 0),
    Kind.POSE: (sensor_readings.POSE, 0),
    Kind.PORT_ACCELERATION: (sensor_readings.MOTION, 0),
    Kind.TWIST: (sensor_readings.MOTION, 6),
    Kind.PLACE: (sensor_readings.MOTION, 12),
    Kind.ANGLES: (sensor_readings.MOTION, 15),
}
#: What they read of the entries of q and v.
_OF_COORDINATES = {
    Kind.CONFIGURATION: sensor_readings.COORDINATE,
    Kind.RATE: sensor_readings.RATE,
    Kind.MOMENTUM: sensor_readings.RATE,
}


class CompiledReadings:
    """Readings of a mechanism, bound to kernels at their first use.

    - `acted_on`: what acts on the system;
    - `reactions`, `motions`, `accelerometers`, `gear_efforts`: by joint, closure or interaction; by port and sequence of Euler
      angles; by port; by place among the gears. Looking up what the mechanism does not have raises a `ModelError`.
    """

    def __init__(self, mechanism: Any, acted_on: ActedOn) -> None:
        self._mechanism, self._acted_on, self._system = mechanism, acted_on, acted_on.system
        self.reactions, self.motions = Variants(self._reaction), Variants(self._motion)
        self.accelerometers, self.gear_efforts = Variants(self._accelerometer), Variants(self._gear_effort)

    def _reading(
        self, rows: Sequence[ReadingRow], angles: Sequence[tuple[str, str, int]] = (), picked: list[int] | None = None
    ) -> KernelReading:
        at_ports = any(row.port >= 0 for row in rows)
        return KernelReading(self._mechanism, self._acted_on_all_ports if at_ports else self._acted_on, rows, angles, picked)

    @cached_property
    def _acted_on_all_ports(self) -> ActedOn:
        """What acts on the system's like in which all ports are in use."""
        return ActedOn(self._system.with_all_ports, self._mechanism.inputs)

    @cached_property
    def _apart(self) -> CompiledReadings:
        """The readings of the system's like in which no welds are merged."""
        return CompiledReadings(self._mechanism, ActedOn(self._system.apart, self._mechanism.inputs))

    def _is_merged(self, joint: str) -> bool:
        """Tell whether a joint is a weld of bodies that have one element."""
        names = (connection.joint.name for connection in self._system.structure.connections)
        return joint not in self._system.tables.joints and joint in names

    def _reaction(self, joint: str) -> KernelReading:
        self._mechanism.loop_of(joint)
        return self._apart._reaction(joint) if self._is_merged(joint) else self._reading([self._reaction_row(joint)])

    def _motion(self, asked: tuple[str, str]) -> KernelReading:
        port, sequence = self._mechanism.read_port(asked[0]), asked[1]
        refuse(sequence_findings("sequence", sequence))
        row = self._row_at(sensor_readings.MOTION, port, sequence)
        return self._reading([row], [(port, sequence, 15)])

    def _accelerometer(self, port: str) -> KernelReading:
        row = self._row_at(sensor_readings.SPECIFIC_FORCE, self._mechanism.read_port(port))
        return self._reading([row])

    def _gear_effort(self, gear: int) -> KernelReading:
        first = len(self._mechanism.constraint_names) - self._mechanism.gear_count
        return self._reading([self._multiplier_row(first + gear)])

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        """Return the multipliers (k) of all constraints at a checked state."""
        carried = self._all_multipliers.multipliers(pushes, q, v, a, applied)
        return closed_dynamics.multipliers(self._mechanism, q, v, a, pushes, applied) if carried is None else carried

    @cached_property
    def _all_multipliers(self) -> KernelReading:
        rows = [self._multiplier_row(k) for k in range(len(self._mechanism.constraint_names))]
        return self._reading(rows)

    def _multiplier_row(self, constraint: int) -> ReadingRow:
        return ReadingRow(sensor_readings.MULTIPLIER, constraint, factor=float(self._mechanism.scale.weights[constraint]))

    @cached_property
    def sensors(self) -> KernelReading | None:
        """The reading of all sensors except those of lines; None if the kernels do not know the kind of one of them."""
        sensed = [of for of in self._mechanism.sensor_signals if of.kind not in OF_LINES]
        return self.joined(sensed) if all(map(self.knows, sensed)) else None

    def knows(self, of: Quantity) -> bool:
        """Whether the kernels read quantities of a kind."""
        return of.kind == Kind.REACTION or of.kind in _OF_COORDINATES or of.kind in _AT_PORTS

    def joined(self, quantities: Iterable[Quantity]) -> KernelReading:
        """Return the reading of several quantities of known kinds, concatenated; each vector is computed once."""
        quantities = tuple(quantities)
        if any(of.kind == Kind.REACTION and self._is_merged(of.owner) for of in quantities):
            return self._apart.joined(quantities)
        rows: list[ReadingRow] = []
        angles: list[tuple[str, str, int]] = []
        picked: list[int] = []
        places: dict[Any, int] = {}
        size = 0
        for of in quantities:
            parts, start = self._rows_of(of)
            for entry, row in zip(of.entries if of.kind in _OF_COORDINATES else [None], parts, strict=True):
                key = row.what, row.at, row.port, row.axes, row.factor, row.frame.tobytes()
                if key not in places:
                    places[key], size = size, size + SIZES[row.what]
                    rows.append(row)
                place = places[key]
                picked += [place] if entry is not None else [place + start + k for k in of.entries]
            if of.kind == Kind.ANGLES or (of.kind == Kind.POSE and max(of.entries) > 2):
                angles.append((of.owner, of.sequence, place + SIZES[parts[0].what] - 3))
        return self._reading(rows, angles, None if picked == [*range(size)] else picked)

    def _rows_of(self, of: Quantity) -> tuple[list[ReadingRow], int]:
        """Return rows that read a quantity, and where its vector begins in what they give."""
        if of.kind == Kind.REACTION:
            return [self._reaction_row(of.owner)], 0
        if of.kind in _OF_COORDINATES:
            return [ReadingRow(_OF_COORDINATES[of.kind], k, factor=of.factor) for k in of.entries], 0
        if of.kind == Kind.TWIST and min(of.entries) >= 3:
            return [self._row_at(sensor_readings.ANGULAR_VELOCITY, of.owner)], -3
        what, start = _AT_PORTS[of.kind]
        return [self._row_at(what, of.owner, of.sequence)], start

    def _row_at(self, what: int, port: str, sequence: str = "") -> ReadingRow:
        element, place, frame = self._system.port_place(port)
        return ReadingRow(what, element, place, sum("XYZ".index(axis) * 3**k for k, axis in enumerate(sequence)), frame)

    def _reaction_row(self, joint: str) -> ReadingRow:
        rows = interaction_rows(self._system)
        if joint in rows:
            return ReadingRow(sensor_readings.ACTING_WRENCH, rows[joint])
        closures = [loop.closure.name for loop in self._mechanism.rigid_loops]
        if joint in closures:  # on its second port
            return ReadingRow(sensor_readings.CLOSURE_WRENCH, 2 * (closures.index(joint) - len(closures)) + 1)
        child = next(c.child for c in self._system.structure.connections if c.joint.name == joint)
        _, port, frame = self._system.port_place(str(child) if child.name in child.block.ports else child.block.name)
        return ReadingRow(sensor_readings.JOINT_WRENCH, self._system.tables.carriers[child.block.name], port, frame=frame)
