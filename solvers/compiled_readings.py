"""What is read of a compiled model under loads: reactions, sensors, motion of ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.checks import sequence_findings
from titop.blocks.errors import ModelError
from titop.blocks.sensors import Accelerometer, Encoder, Gyro, PoseSensor, ReactionSensor, Sensor, Tachometer, WheelMomentum
from titop.blocks.spatial import Array
from titop.solvers.arguments import check_stacks
from titop.solvers.compiled_closed_readings import CompiledClosedReadings, Readings, Row
from titop.solvers.inputs import Push
from titop.solvers.kernels import layout, readings
from titop.solvers.model import warn_of_gimbal_lock
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.rowwise import at_rows
from titop.solvers.stacked_loads import are_stacked


class CompiledReadings(CompiledClosedReadings):
    """What is read of a compiled model under loads; see `Model` for its functions."""

    def outputs(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, tau: Any = None
    ) -> Array:
        found = self._sensors
        given = q, v, a, wrenches, u
        result = self._read_closed(found, *given, tau) if found.closed else self._read_under(found, *given)
        for port, sequence, place in found.angles:
            warn_of_gimbal_lock(port, result[..., place : place + 3], sequence)
        return result

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
    def _sensors(self) -> Readings:
        return self._readings_of(self.assembly.sensors)

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
        found = self._motions[port, sequence] = self._bind_readings([self._row_at(readings.MOTION, port, sequence)])
        return found

    @cached_property
    def _motions(self) -> dict[tuple[str, str], Readings]:
        """The readings of motion vectors by port and sequence of Euler angles."""
        return {}

    def accelerometer(self, port: str, q: Any, v: Any, a: Any) -> Array:
        try:
            found = self._accelerometers[port]
        except (KeyError, TypeError):
            row = self._row_at(readings.SPECIFIC_FORCE, self._read_port(port))
            found = self._accelerometers[port] = self._bind_readings([row])
        return self._read_under(found, q, v, a, None, None)

    @cached_property
    def _accelerometers(self) -> dict[str, Readings]:
        """The readings of accelerometers by port."""
        return {}

    def _readings_of(self, sensors: Iterable[Sensor]) -> Readings:
        rows, angles, size = [], [], 0
        for sensor in sensors:
            rows.append(self._reading(sensor))
            if isinstance(sensor, PoseSensor):
                angles.append((str(sensor.target), sensor.sequence, size + 3))
            size += len(sensor.outputs)
        return self._bind_readings(rows, angles)

    def _reading(self, sensor: Sensor) -> Row:
        """Return what to read for a sensor."""
        if isinstance(sensor, Accelerometer):
            return self._row_at(readings.SPECIFIC_FORCE, str(sensor.target))
        if isinstance(sensor, Gyro):
            return self._row_at(readings.ANGULAR_VELOCITY, str(sensor.target))
        if isinstance(sensor, PoseSensor):
            return self._row_at(readings.POSE, str(sensor.target), sensor.sequence)
        if isinstance(sensor, Encoder):
            return Row(readings.COORDINATE, self._assembly.place(sensor.joint)[0])
        if isinstance(sensor, Tachometer | WheelMomentum):
            factor = sensor.inertia if isinstance(sensor, WheelMomentum) else 1.0
            return Row(readings.RATE, self._assembly.place(sensor.joint)[1], factor=factor)
        if isinstance(sensor, ReactionSensor):
            return self._reaction_row(sensor.joint)
        raise NotImplementedError(f"sensor {sensor.name!r} of unknown type {type(sensor).__name__}")

    def _row_at(self, what: int, port: str, sequence: str = "") -> Row:
        element, place, frame = self._port_place(port)
        return Row(what, element, place, sum("XYZ".index(axis) * 3**k for k, axis in enumerate(sequence)), frame)

    def _reaction_row(self, joint: str) -> Row:
        if joint in self._interaction_rows:
            return Row(readings.ACTING_WRENCH, self._interaction_rows[joint])
        closures = [loop.closure.name for loop in self.rigid_loops]
        if joint in closures:  # on its second port
            return Row(readings.CLOSURE_WRENCH, 2 * (closures.index(joint) - len(closures)) + 1)
        child = self._connections[joint].child
        _, port, frame = self._port_place(str(child) if child.name in child.block.ports else child.block.name)
        return Row(readings.JOINT_WRENCH, self._tables.carriers[child.block.name], port, frame=frame)
