"""What is read of a compiled model under loads: reactions, sensors, motion of ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import sequence_findings
from titop.solvers.arguments.reading import check_stacks
from titop.solvers.arguments.rowwise import at_rows
from titop.solvers.arguments.stacked_loads import are_stacked
from titop.solvers.engines.compiled.closed_readings import SIZES, CompiledClosedReadings, Readings, Row
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import sensor_readings
from titop.solvers.mechanism.euler_angles import warn_of_gimbal_lock
from titop.solvers.mechanism.inputs import Push
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.signals.quantities import Kind, Quantity

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


class CompiledReadings(CompiledClosedReadings):
    """What is read of a compiled model under loads; see `Model` for its functions."""

    def outputs(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, tau: Any = None
    ) -> Array:
        if self._sensors is None:
            return super().outputs(q, v, a, wrenches, u, tau)
        (found, picked), given = self._sensors, (q, v, a, wrenches, u)
        result = self._read_closed(found, *given, tau) if found.closed else self._read_under(found, *given)
        for port, sequence, place in found.angles:
            warn_of_gimbal_lock(port, result[..., place : place + 3], sequence)
        return result if picked is None else result[..., picked]

    def reaction(
        self,
        joint: str,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
    ) -> Array:
        found = self._reading_at(joint)
        if found.closed:
            return self._read_closed(found, q, v, a, wrenches, u, tau)
        if tau is not None:
            self._read_v("tau", tau, stacked=True)
        return self._read_under(found, q, v, a, wrenches, u)

    def _joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        found, result = self._reading_at(joint), np.empty((1, 6))
        self._run(found, pushes, q, v, a, result)
        return result[0]

    def _read_under(self, found: Readings, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any) -> Array:
        """Return readings at a state, or at stacked ones, under loads."""
        try:
            single = q.ndim == 1
            state = (q[None], v[None], a[None]) if single else (q, v, a)
            result = np.empty((len(state[0]), found.size))
            if wrenches is None and u is None:
                status = found.bound(*state, result)
            else:
                acting, given, _ = found.model._acted_on(wrenches, u, self._anywhere)
                status = acting.run(found.bound, wrenches, given, *state, result)
            if status == layout.OK:
                return result[0] if single else result
        except (AttributeError, IndexError, TypeError, ValueError):  # not the kernel's types: lists, integers, ...
            pass
        raise_pending()
        if are_stacked(q, wrenches, u):
            rows = {"found": found, "q": q, "v": v, "a": a, "wrenches": wrenches, "u": u}
            return np.asarray(at_rows(CompiledReadings._read_under, self, rows))
        q, v, a = self._read_q(q, stacked=True), self._read_v("v", v, True), self._read_v("a", a, True)
        check_stacks({"q": q, "v": v, "a": a})
        result = np.empty((len(np.atleast_2d(q)), found.size))
        self._run(found, self.external_pushes(wrenches, u), q, v, a, result)
        return result[0] if q.ndim == 1 else result

    @cached_property
    def _anywhere(self) -> Array:
        """A configuration for efforts that readings do not ask for."""
        return self.neutral()

    @cached_property
    def _sensors(self) -> tuple[Readings, list[int] | None] | None:
        return self._readings_of(self._sensed)

    @cached_property
    def _reactions(self) -> dict[str, Readings]:
        """The readings of reactions by joint or interaction."""
        return {}

    def _reading_at(self, joint: str) -> Readings:
        """Return how the reaction of a joint or interaction is read."""
        try:
            return self._reactions[joint]
        except (KeyError, TypeError):
            self._read_joint_or_closure(joint)
        found = self._reactions[joint] = self._bind_readings([self._reaction_row(joint)])
        return found

    def motion(self, port: str, q: Any, v: Any, a: Any, sequence: str = "XYZ") -> Array:
        result = self._read_under(self._motion_reading(port, sequence), q, v, a, None, None)
        warn_of_gimbal_lock(port, result[..., 15:], sequence)
        return result

    def _motion_reading(self, port: str, sequence: str) -> Readings:
        try:
            return self._motions[port, sequence]
        except (KeyError, TypeError):
            port = self._read_port(port)
            if findings := sequence_findings("sequence", sequence):
                raise ModelError(findings) from None
        found = self._motions[port, sequence] = self._bind_readings([self._row_at(sensor_readings.MOTION, port, sequence)])
        return found

    @cached_property
    def _motions(self) -> dict[tuple[str, str], Readings]:
        """The readings of motion vectors by port and sequence of Euler angles."""
        return {}

    def accelerometer(self, port: str, q: Any, v: Any, a: Any) -> Array:
        try:
            found = self._accelerometers[port]
        except (KeyError, TypeError):
            row = self._row_at(sensor_readings.SPECIFIC_FORCE, self._read_port(port))
            found = self._accelerometers[port] = self._bind_readings([row])
        return self._read_under(found, q, v, a, None, None)

    @cached_property
    def _accelerometers(self) -> dict[str, Readings]:
        """The readings of accelerometers by port."""
        return {}

    def _readings_of(self, sensed: Sequence[Quantity]) -> tuple[Readings, list[int] | None] | None:
        """Return what reads the sensors, and where their outputs stand in it if it is not them all in order.

        None where the kernels do not know the kind of one of them.
        """
        rows, angles, picked, size = [], [], [], 0
        for of in sensed:
            found = self._rows_of(of)
            if found is None:
                return None
            own, start = found
            if of.kind in (Kind.POSE, Kind.ANGLES):
                angles.append((of.owner, of.sequence, size + SIZES[own[0].what] - 3))
            picked += [size + start + k for k in (range(len(own)) if of.kind in _OF_COORDINATES else of.entries)]
            rows += own
            size += sum(SIZES[row.what] for row in own)
        return self._bind_readings(rows, angles), None if picked == [*range(size)] else picked

    def _rows_of(self, of: Quantity) -> tuple[list[Row], int] | None:
        """Return rows that read a quantity, and where its vector begins in what they give; None where there are none."""
        if of.kind == Kind.REACTION:
            return [self._reaction_row(of.owner)], 0
        if of.kind in _OF_COORDINATES:
            return [Row(_OF_COORDINATES[of.kind], k, factor=of.factor) for k in of.entries], 0
        if of.kind == Kind.TWIST and min(of.entries) >= 3:
            return [self._row_at(sensor_readings.ANGULAR_VELOCITY, of.owner)], -3
        if of.kind in _AT_PORTS:
            what, start = _AT_PORTS[of.kind]
            return [self._row_at(what, of.owner, of.sequence)], start
        return None

    def _row_at(self, what: int, port: str, sequence: str = "") -> Row:
        element, place, frame = self._port_place(port)
        return Row(what, element, place, sum("XYZ".index(axis) * 3**k for k, axis in enumerate(sequence)), frame)

    def _reaction_row(self, joint: str) -> Row:
        if joint in self._interaction_rows:
            return Row(sensor_readings.ACTING_WRENCH, self._interaction_rows[joint])
        closures = [loop.closure.name for loop in self.rigid_loops]
        if joint in closures:  # on its second port
            return Row(sensor_readings.CLOSURE_WRENCH, 2 * (closures.index(joint) - len(closures)) + 1)
        child = self._connections[joint].child
        _, port, frame = self._port_place(str(child) if child.name in child.block.ports else child.block.name)
        return Row(sensor_readings.JOINT_WRENCH, self._tables.carriers[child.block.name], port, frame=frame)
