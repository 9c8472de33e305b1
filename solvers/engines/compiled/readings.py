"""What is read of a compiled model: its sensors, reactions, motion of its ports, efforts of its gears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import sequence_findings
from titop.solvers.constraints import closed_dynamics
from titop.solvers.engines.compiled.acted_on import ActedOn, Variants
from titop.solvers.engines.compiled.efforts import interaction_rows
from titop.solvers.engines.compiled.reading import Reading
from titop.solvers.engines.compiled.reading_tables import SIZES, Row
from titop.solvers.kernels.ports import sensor_readings
from titop.solvers.mechanism.inputs import Push
from titop.solvers.signals.quantities import OF_LINES, Kind, Quantity

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
    """What is read of a model, bound to kernels when it is first asked for.

    Parameters
    ----------
    model : Model
    acted_on : ActedOn
        What acts on the system.

    Attributes
    ----------
    reactions, motions, accelerometers, gear_efforts : mapping to Reading
        By joint, closure or interaction; by port and sequence of Euler angles; by port; by place among the gears. Looking up
        what the model does not have raises a `ModelError`.
    """

    def __init__(self, model: Any, acted_on: ActedOn) -> None:
        self._model, self._acted_on, self._system = model, acted_on, acted_on.system
        self.reactions, self.motions = Variants(self._reaction), Variants(self._motion)
        self.accelerometers, self.gear_efforts = Variants(self._accelerometer), Variants(self._gear_effort)

    def _reading(
        self, rows: Sequence[Row], angles: Sequence[tuple[str, str, int]] = (), picked: list[int] | None = None
    ) -> Reading:
        at_ports = any(row.port >= 0 for row in rows)
        return Reading(self._model, self._acted_on_all_ports if at_ports else self._acted_on, rows, angles, picked)

    @cached_property
    def _acted_on_all_ports(self) -> ActedOn:
        """What acts on the system's like in which all ports are in use."""
        return ActedOn(self._system.with_all_ports, self._model.inputs)

    def _reaction(self, joint: str) -> Reading:
        self._model.loop_of(joint)
        return self._reading([self._reaction_row(joint)])

    def _motion(self, asked: tuple[str, str]) -> Reading:
        port, sequence = self._model.read_port(asked[0]), asked[1]
        if findings := sequence_findings("sequence", sequence):
            raise ModelError(findings)
        row = self._row_at(sensor_readings.MOTION, port, sequence)
        return self._reading([row], [(port, sequence, 15)])

    def _accelerometer(self, port: str) -> Reading:
        row = self._row_at(sensor_readings.SPECIFIC_FORCE, self._model.read_port(port))
        return self._reading([row])

    def _gear_effort(self, gear: int) -> Reading:
        first = len(self._model.constraint_names) - self._model.gear_count
        return self._reading([self._multiplier_row(first + gear)])

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        """Return the multipliers (k) of all constraints at a state that was read."""
        found = self._all_multipliers.multipliers(pushes, q, v, a, applied)
        return closed_dynamics.multipliers(self._model, q, v, a, pushes, applied)[0] if found is None else found

    @cached_property
    def _all_multipliers(self) -> Reading:
        rows = [self._multiplier_row(k) for k in range(len(self._model.constraint_names))]
        return self._reading(rows)

    def _multiplier_row(self, constraint: int) -> Row:
        return Row(sensor_readings.MULTIPLIER, constraint, factor=float(self._model.scale.weights[constraint]))

    @cached_property
    def sensors(self) -> Reading | None:
        """What reads all sensors but those of lines; None where the kernels do not know the kind of one of them."""
        sensed = [of for of in self._model.sensed if of.kind not in OF_LINES]
        return self.joined(sensed) if all(map(self.knows, sensed)) else None

    def knows(self, of: Quantity) -> bool:
        """Whether the kernels read quantities of a kind."""
        return of.kind == Kind.REACTION or of.kind in _OF_COORDINATES or of.kind in _AT_PORTS

    def joined(self, quantities: Iterable[Quantity]) -> Reading:
        """Return what reads quantities of which the kernels know the kinds, one after the other, each vector once."""
        rows: list[Row] = []
        angles: list[tuple[str, str, int]] = []
        picked: list[int] = []
        places: dict[Any, int] = {}
        size = 0
        for of in quantities:
            own, start = self._rows_of(of)
            for entry, row in zip(of.entries if of.kind in _OF_COORDINATES else [None], own, strict=True):
                key = row.what, row.at, row.port, row.axes, row.factor, row.frame.tobytes()
                if key not in places:
                    places[key], size = size, size + SIZES[row.what]
                    rows.append(row)
                place = places[key]
                picked += [place] if entry is not None else [place + start + k for k in of.entries]
            if of.kind == Kind.ANGLES or (of.kind == Kind.POSE and max(of.entries) > 2):
                angles.append((of.owner, of.sequence, place + SIZES[own[0].what] - 3))
        return self._reading(rows, angles, None if picked == [*range(size)] else picked)

    def _rows_of(self, of: Quantity) -> tuple[list[Row], int]:
        """Return rows that read a quantity, and where its vector begins in what they give."""
        if of.kind == Kind.REACTION:
            return [self._reaction_row(of.owner)], 0
        if of.kind in _OF_COORDINATES:
            return [Row(_OF_COORDINATES[of.kind], k, factor=of.factor) for k in of.entries], 0
        if of.kind == Kind.TWIST and min(of.entries) >= 3:
            return [self._row_at(sensor_readings.ANGULAR_VELOCITY, of.owner)], -3
        what, start = _AT_PORTS[of.kind]
        return [self._row_at(what, of.owner, of.sequence)], start

    def _row_at(self, what: int, port: str, sequence: str = "") -> Row:
        element, place, frame = self._system.port_place(port)
        return Row(what, element, place, sum("XYZ".index(axis) * 3**k for k, axis in enumerate(sequence)), frame)

    def _reaction_row(self, joint: str) -> Row:
        rows = interaction_rows(self._system)
        if joint in rows:
            return Row(sensor_readings.ACTING_WRENCH, rows[joint])
        closures = [loop.closure.name for loop in self._model.rigid_loops]
        if joint in closures:  # on its second port
            return Row(sensor_readings.CLOSURE_WRENCH, 2 * (closures.index(joint) - len(closures)) + 1)
        child = next(c.child for c in self._system.structure.connections if c.joint.name == joint)
        _, port, frame = self._system.port_place(str(child) if child.name in child.block.ports else child.block.name)
        return Row(sensor_readings.JOINT_WRENCH, self._system.tables.carriers[child.block.name], port, frame=frame)
