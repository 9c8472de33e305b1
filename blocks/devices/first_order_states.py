"""First-order states of blocks with own coordinates, and of the filters of actuators and sensors, as interactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.law import Law
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.devices.device import Device, FilterKind
from titop.blocks.devices.drives import CoordinateDrive
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.interactions.harmonics import harmonic_sum
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.surroundings.inertial_places import CENTRED, PLACE, held_place, place_of_world
from titop.blocks.surroundings.magnetic_field import torque_on_dipole


def path_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in what filtered commands do: efforts on a coordinate, or wrenches on a port; see `FilterKind` for the numbers."""
    kind, n, m = int(np.real(numbers[0])), int(np.real(numbers[1])), int(np.real(numbers[2]))
    if 2 < kind < 8:
        return
    at_C, at_D = 3 + n * n + n * m, 3 + n * n + 2 * n * m
    at_own = at_D + m * m
    for k in range(m):
        value = 0.0 * numbers[0]
        for j in range(n):
            value = value + numbers[at_C + k * n + j] * motion.x[j]
        for j in range(m):
            value = value + numbers[at_D + k * m + j] * motion.u[j]
        if kind == 0:
            loads.efforts[0] += numbers[at_own] * value
        elif kind == 1:
            for i in range(6):
                loads.wrenches[0, i] += numbers[at_own + 6 * k + i] * value
        elif kind == 8:
            o = at_own + PLACE + 4 + 3 * k
            moment = numbers[o] * value, numbers[o + 1] * value, numbers[o + 2] * value
            torque = torque_on_dipole(numbers, at_own, motion, moment)
            for i in range(3):
                loads.wrenches[1, 3 + i] += torque[i]
        else:
            for i in range(3):
                for j in range(3):
                    loads.wrenches[1, i] += motion.R[1, j, i] * numbers[at_own + 6 * k + j] * value
                    loads.wrenches[1, 3 + i] += motion.R[1, j, i] * numbers[at_own + 6 * k + 3 + j] * value


def path_rates(numbers: Any, motion: Any, rates: Any) -> None:
    """Fill in the rates of a filter's states.

    An accelerometer's filter receives ``s = dV/dt + w x V - R^T g``. Its states are x minus ``B V``, V the velocity of the port
    in its axes, so that their rates do not depend on accelerations: ``A (x + B V) + B (w x V - R^T g)``.
    """
    kind, n, m = int(np.real(numbers[0])), int(np.real(numbers[1])), int(np.real(numbers[2]))
    at_B = 3 + n * n
    at_own = at_B + 2 * n * m + m * m
    for k in range(m):
        beside, received = 0.0 * numbers[0], 0.0 * numbers[0]  # what is added to states, and what the filter receives
        if kind <= 2 or kind == 8:
            received = received + motion.u[k]
        elif kind == 3:
            received = received + motion.q[0]
        elif kind == 4:
            received = received + motion.v[0]
        elif kind == 5:
            received = received + motion.V[0, 3 + k]
        else:  # without the acceleration, whose integral is the velocity
            one, other = (k + 1) % 3, (k + 2) % 3
            beside = beside + motion.V[1, k]
            received = received + motion.V[1, 3 + one] * motion.V[1, other] - motion.V[1, 3 + other] * motion.V[1, one]
            for i in range(3):
                received = received - motion.R[1, i, k] * numbers[at_own + i]
        for i in range(n):
            rates[i] += numbers[at_B + i * m + k] * received
            for j in range(n):
                rates[i] += numbers[3 + i * n + j] * numbers[at_B + j * m + k] * beside
    for i in range(n):
        for j in range(n):
            rates[i] += numbers[3 + i * n + j] * motion.x[j]


#: One law, of whatever number of states: its machine code is kept once.
PATH_LAW = Law(path_loads, rates=path_rates)


class AttachedStates(Interaction):
    """Common part of the first-order states of a `block`, as an interaction that has its inputs, named after it."""

    def __init__(self, block: Any, suffix: str, *arguments: Any) -> None:
        """Keep the other `arguments` of the constructor."""
        super().__init__(f"{block.name}/{suffix}")
        self.block, self.own_blocks, self._arguments = block, (block,), arguments

    def among(self, blocks: Mapping[str, Any]) -> AttachedStates:
        block = blocks[self.block.name]
        return self if block is self.block else type(self)(block, *self._arguments)

    @property
    def input_names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self.block.input_names
        return names

    @property
    def state_paths(self) -> tuple[str, ...]:
        return tuple(f"{self.block.name}.{name}" for name in self.state_names)

    @property
    def reading_paths(self) -> tuple[str, ...]:
        return tuple(f"{self.block.name}.{name}" for name in self.readings)

    @property
    def input_ranges(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]
        """Range of each of the block's inputs, unbounded by default."""
        return tuple(self.block.input_ranges) or super().input_ranges


class BlockStates(AttachedStates):
    """The efforts of a block's states and inputs on its plain coordinates; systems add it for every block with states."""

    port_counts, coordinate_counts = (0, 0), (1, np.inf)

    def __init__(self, block: Block) -> None:
        super().__init__(block, "states")
        self.own_coordinates = tuple(f"{block.name}.{name}" for name in block.coordinates)
        self.inputs, self.input_units = tuple(block.inputs), block.input_units
        self.state_names, self.state_units = tuple(block.state_names), block.state_units

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return no wrenches (0, 6), and the efforts (n, N m or N) on the block's coordinates."""
        efforts = self.block.state_efforts(motion.q, motion.v, motion.x)
        driven = self.block.input_matrix(motion.q) @ motion.u if self.inputs else 0.0
        return np.zeros((0, 6)), efforts + driven

    def state_rates(self, motion: TargetMotion) -> Array:  # type: ignore[override]
        return self.block.state_rates(motion.q, motion.v, motion.x, motion.u)


class PathStates(AttachedStates):
    """What an actuator with a filter applies, or what the filter of a sensor receives; systems add it for every such device.

    `gravity` (3; m/s^2) is what accelerometers measure; `along` has the units of the coordinates on which the filter acts, or
    which it receives; `field` is that of gravity, which says where in the planet's frame the world is, for magnetic fields.
    """

    port_counts, coordinate_counts = (0, 2), (0, 1)
    external = True
    compiled_law = PATH_LAW

    def __init__(self, device: Device, gravity: Array, along: tuple[str, ...] = (), field: Any = None) -> None:
        super().__init__(device, "path", gravity, along, field)
        self.device, self.gravity, self.coordinate_units = device, gravity, along
        path, self.place = device.path or SignalPath(), place_of_world(field)
        if device.filter_law[0] == FilterKind.DIPOLE and field is not None:
            self.own_blocks = device, field
        self.own_ports, self.own_coordinates = device.filter_ports, device.filter_coordinates
        count, units = len(device.channels), device.channel_units(along)
        self.inputs, self.input_units = device.inputs, units if device.inputs else ()
        self.state_names = path.state_names(count)
        self.state_units = path.state_units(units)
        self.matrices, self._paces = path.law(count), path.paces(count)

    def denominators(self) -> tuple[Any, ...]:
        """Return those of loads, ones, and of states."""
        return *(1.0 for _ in range(6 * len(self.own_ports) + len(self.own_coordinates))), *self._paces

    def under(self, gravity: Array, field: Any) -> PathStates:
        if field is not None and self.device.filter_law[0] == FilterKind.SPECIFIC_FORCE:
            return FallingStates(self.device, gravity, self.coordinate_units, field)
        pairs = zip([*gravity, *place_of_world(field)], [*self.gravity, *self.place], strict=True)
        if all(everywhere(new == old) for new, old in pairs):
            return self
        return PathStates(self.device, gravity, self.coordinate_units, field)

    def along_time(self) -> Iterator[Finding]:
        return held_place(self.device.name, self.place if self.device.filter_law[0] == FilterKind.DIPOLE else CENTRED)

    def law_numbers(self) -> Array:
        """Return the numbers of the law: what the filter acts on or receives, its size, A, B, C, D, and the device's own."""
        A, B, C, D = self.matrices
        kind, own = self.device.filter_law
        own = self.gravity if kind == FilterKind.SPECIFIC_FORCE else own
        own = np.concatenate([self.place, own]) if kind == FilterKind.DIPOLE else own
        return np.concatenate([[kind, len(A), len(D)], *map(np.ravel, (A, B, C, D)), np.ravel(own)])


class FallingStates(PathStates):
    """The same of an accelerometer in a `field` of gravity."""

    compiled_law = None  # type: ignore[assignment]

    def __init__(self, device: Device, gravity: Array, along: tuple[str, ...], field: Any) -> None:
        super().__init__(device, gravity, along)
        self.field, self._arguments = field, (gravity, along, field)

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        return np.zeros((2, 6)), np.zeros(0)

    def state_rates(self, motion: TargetMotion) -> Array:  # type: ignore[override]
        numbers, rates = self.law_numbers(), -self.matrices[1] @ motion.R[1].T @ self.field.acceleration(motion.r[1])
        path_rates(numbers, motion, rates := rates.astype(np.result_type(numbers, *motion)))
        return rates


class ObservedStates(PathStates):
    """The same of a sensor that says itself what its filter receives, a function of poses and coordinates."""

    compiled_law = None  # type: ignore[assignment]

    def __init__(
        self, device: Device, blocks: Mapping[str, Block], gravity: Array, along: tuple[str, ...] = (), field: Any = None
    ) -> None:
        super().__init__(device, gravity, along, field)
        placed = device.under(field)
        self.field, self.own_blocks = field, (device,) if placed is device else (device, field)
        self.own_coordinates, self.observe = placed.observation(blocks)

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """All that it receives."""
        return len(self.own_coordinates), len(self.own_coordinates)

    def among(self, blocks: Mapping[str, Any]) -> PathStates:
        field = None if self.field is None else blocks[self.field.name]
        return ObservedStates(blocks[self.device.name], blocks, self.gravity, self.coordinate_units, field)

    def under(self, gravity: Array, field: Any) -> PathStates:
        return self

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        return np.zeros((len(motion.R), 6)), np.zeros(len(motion.q))

    def state_rates(self, motion: TargetMotion) -> Array:  # type: ignore[override]
        A, B, *_ = self.matrices
        rates: Array = A @ motion.x + B @ self.observe(motion)
        return rates


def drive_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the effort of a drive on its coordinate.

    Numbers are the kind of the drive, the size of the filter, the number of harmonics, the gear, four of the kind, A, B, C and
    D of the filter, and the harmonics. Kinds: 0 a motor without, 1 with inductance (resistance, inductance, torque constant,
    back-EMF); 2 a stepper (holding torque, cycles per turn, damping, time constant). Own states are behind those of the filter.
    """
    kind, n, h = int(np.real(numbers[0])), int(np.real(numbers[1])), int(np.real(numbers[2]))
    gear, one, two, three, four = numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]
    angle, rate = gear * motion.q[0], gear * motion.v[0]  # of the rotor
    torque, _ = harmonic_sum(numbers, 9 + n * n + 2 * n, h, angle)
    if kind == 0:
        torque = torque + three * (drive_command(numbers, motion) - four * rate) / one
    elif kind == 1:
        torque = torque + three * motion.x[n]
    else:
        torque = torque + one * np.sin(two * (gear * motion.x[n] - angle)) - three * rate
    loads.efforts[0] += gear * torque


def drive_rates(numbers: Any, motion: Any, rates: Any) -> None:
    """Fill in the rates of the states of a drive's filter, and of its own."""
    kind, n = int(np.real(numbers[0])), int(np.real(numbers[1]))
    for i in range(n):
        rates[i] += numbers[8 + n * n + i] * motion.u[0]
        for j in range(n):
            rates[i] += numbers[8 + i * n + j] * motion.x[j]
    if kind == 1:
        driving = drive_command(numbers, motion) - numbers[4] * motion.x[n] - numbers[7] * numbers[3] * motion.v[0]
        rates[n] += driving / numbers[5]
    elif kind == 2:
        rates[n] += (drive_command(numbers, motion) - motion.x[n]) / numbers[7]


def drive_command(numbers: Any, motion: Any) -> Any:
    """Return the command behind the filter."""
    n = int(np.real(numbers[1]))
    at = 8 + n * n + n
    value = numbers[at + n] * motion.u[0]
    for j in range(n):
        value = value + numbers[at + j] * motion.x[j]
    return value


DRIVE_LAW = Law(drive_loads, rates=drive_rates)


class DriveStates(AttachedStates):
    """What a drive does to its coordinate; systems add it for every drive."""

    port_counts, coordinate_counts = (0, 0), (1, 1)
    compiled_law = DRIVE_LAW

    def __init__(self, drive: CoordinateDrive, along: tuple[str, ...]) -> None:
        super().__init__(drive, "law", along)
        self.drive, self.coordinate_units, self.own_coordinates = drive, along, drive.filter_coordinates
        self.path, self.inputs, self.input_units = drive.path or SignalPath(), drive.inputs, drive.channel_units(along)
        filtered, own = self.path.state_names(1), drive.own_states
        self.state_names = (*filtered, *(name for name, _ in own))
        self.state_units = (*self.path.state_units(self.input_units), *(unit or along[0] for _, unit in own))
        self.readings, self.reading_units = zip(*drive.readings, strict=True) if drive.readings else ((), ())

    def law_numbers(self) -> Array:
        A, B, C, D = self.path.law(1)
        kind, *own = self.drive.drive_numbers()
        harmonics = self.drive.torques
        return np.concatenate(
            [[kind, len(A), len(harmonics), self.drive.gear, *own], *map(np.ravel, (A, B, C, D)), np.ravel(harmonics)]
        )

    def stored(self, motion: TargetMotion) -> Any:
        return self.drive.energy(motion.q[0], motion.x)

    def denominators(self) -> tuple[Any, ...]:
        effort, *own = self.drive.denominators()
        return effort, *self.path.paces(1), *own

    def read(self, motion: TargetMotion) -> Array:
        return np.array(self.drive.read(drive_command(self.law_numbers(), motion), motion.v[0], motion.x))


def path_states(
    device: Device, blocks: Mapping[str, Block], gravity: Array, along: tuple[str, ...], field: Any
) -> AttachedStates:
    """Return the states of a device's filter, by the way in which the filter receives its signals, or those of a drive."""
    if isinstance(device, CoordinateDrive):
        return DriveStates(device, along)
    if device.filter_law[0] == FilterKind.OBSERVED:
        return ObservedStates(device, blocks, gravity, along, field)
    return PathStates(device, gravity, along)
