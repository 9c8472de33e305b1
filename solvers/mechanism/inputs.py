"""The named inputs of a model and its first-order states: their loads on joints, ports and blocks' own coordinates.

For the dynamics, first-order states x act like inputs u: both are passed in one array ``[u; x]`` (`Whole`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step, trusted_step
from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.own_coordinates import effort_unit, known_units
from titop.blocks.devices.actuators import CoordinateActuator, PortActuator
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import Whole, check_stacks, read_state


class WrenchPlace(NamedTuple):
    """The place of a wrench: a port, and whether its components are in the inertial frame (`inertial`) or the port's."""

    port: str
    inertial: bool


class PortPush(NamedTuple):
    """A wrench (6) on a port, in the port's or the inertial frame (`inertial`)."""

    port: str
    inertial: bool
    wrench: Array


class OwnPush(NamedTuple):
    """A block's own inputs with values `u` (m), or (n, m) at stacked states; `q` and `v` are the slices of its coordinates."""

    block: Block
    q: slice
    v: slice
    u: Array

    def at(self, row: int) -> OwnPush:
        """Return the push at one of stacked states."""
        return self._replace(u=self.u[row]) if self.u.ndim == 2 else self

    def efforts(self, q: Array) -> Array:
        """Return the efforts (n) on the block's coordinates at a configuration of the model."""
        return self.block.input_matrix(q[self.q]) @ self.u

    def derivatives(self, q: Array) -> Array:
        """Return the derivatives (n x n) of the efforts by the tangent of the block's coordinates."""
        block, start = self.block, q[self.q]
        step = complex_step if block.complex_safe else trusted_step
        return step(lambda dq: block.input_matrix(block.integrate(start, dq)) @ self.u, np.zeros(block.nv))


class ActingPush(NamedTuple):
    """Inputs and states of the interaction called `name`, with values `u` (m + k), states last."""

    name: str
    u: Array


#: An external load on a model.
Push = PortPush | OwnPush | ActingPush


def port_pushes(pushes: Iterable[Push]) -> list[PortPush]:
    """Return the pushes on ports."""
    return [push for push in pushes if isinstance(push, PortPush)]


def own_pushes(pushes: Iterable[Push]) -> list[OwnPush]:
    """Return the pushes on blocks' own coordinates."""
    return [push for push in pushes if isinstance(push, OwnPush)]


def acting_inputs(pushes: Iterable[Push]) -> dict[str, Array]:
    """Return inputs of interactions, with their states behind them, by the interactions' names."""
    return {push.name: push.u for push in pushes if isinstance(push, ActingPush)}


def own_efforts(pushes: Iterable[Push], q: Array, nv: int) -> Any:
    """Return the efforts (nv) of blocks' own inputs at a configuration, stacked if it is; 0.0 without any."""
    on_blocks = own_pushes(pushes)
    if not on_blocks:
        return 0.0
    if q.ndim == 2:
        rows = [own_efforts([push.at(k) for push in on_blocks], row, nv) for k, row in enumerate(q)]
        return np.array(rows).reshape(len(q), nv)
    parts = [push.efforts(q) for push in on_blocks]
    efforts = np.zeros(nv, np.result_type(*parts))
    for push, part in zip(on_blocks, parts, strict=True):
        efforts[push.v] = part
    return efforts


def own_effort_derivatives(pushes: Iterable[Push], q: Array, nv: int) -> Any:
    """Return the derivatives (nv x nv) of `own_efforts` by the tangent of q; 0.0 without any."""
    on_blocks = own_pushes(pushes)
    if not on_blocks:
        return 0.0
    derivatives = np.zeros((nv, nv))
    for push in on_blocks:
        derivatives[push.v, push.v] = push.derivatives(q)
    return derivatives


class Inputs:
    """The inputs of a model, followed by its first-order states.

    Inputs of actuators come first, then those of blocks in the order of coordinates, then those of interactions; the states are
    those of interactions. Actuators and interactions are in the order in which they were added. An actuator with a filter
    or a law is an interaction here (`PathStates`, `DriveStates`), behind all others. Methods take inputs with the states behind
    them, except for `read`.

    - `count`: number of inputs and states; `place_of`: index of each input; `lower`, `upper` (nu): their ranges;
    - `motors` (nv, nu): efforts on the coordinates per unit of the motors' inputs;
    - `places`: places at which wrenches of the other actuators act;
    - `thrust` (6 n, nu): wrenches at these n places, per unit of each input;
    - `own`: blocks with inputs of their own, with the slices of their coordinates in q and v, and of their inputs;
    - `acting`: names of the interactions with inputs, with the slices of these;
    - `states`: names of the interactions with states, with the slices of these among all states;
    - `driving`: names of the interactions with inputs or states, with the indices of both, states behind inputs.
    """

    def __init__(self, assembly: Assembly) -> None:
        actuators = [actuator for actuator in assembly.actuators if not actuator.is_attached]
        driven = [block for block in assembly.blocks_with_coordinates if block.inputs and not block.state_names]
        interactions = [loop.closure for loop in assembly.loops if loop.closure.inputs]
        stated = [loop.closure for loop in assembly.loops if loop.closure.state_names]
        blocks = (*actuators, *driven, *interactions)
        self.names = tuple(name for block in blocks for name in block.input_names)
        self.state_names = tuple(name for block in stated for name in block.state_paths)
        self.state_units = tuple(unit for block in stated for unit in known_units(block.state_units, len(block.state_names)))
        nu, self.count = len(self.names), len(self.names) + len(self.state_names)
        self.place_of = {name: place for place, name in enumerate(self.names)}
        self.units: tuple[str, ...] = tuple(unit for block in blocks for unit in _units(assembly, block))
        ranges = [bounds for block in blocks for bounds in block.input_ranges or [(-np.inf, np.inf)] * len(block.inputs)]
        self.lower, self.upper = np.array(ranges, dtype=float).reshape(-1, 2).T.copy()
        gears = [actuator.gear for actuator in actuators if isinstance(actuator, CoordinateActuator)]
        self.motors = np.zeros((len(assembly.coordinate_names), nu), np.result_type(float, np.array(gears)))
        places, wrenches, columns, column = [], [], [], 0
        for actuator in actuators:
            if isinstance(actuator, CoordinateActuator):
                self.motors[assembly.place(actuator.joint)[1], column] = actuator.gear
            elif isinstance(actuator, PortActuator):
                for k, wrench in enumerate(actuator.wrenches):
                    places.append(WrenchPlace(str(actuator.target), actuator.frame == "world"))
                    wrenches.append(wrench)
                    columns.append(column + k)
            column += len(actuator.inputs)
        self.places = tuple(places)
        self.units_at_places, self.columns = np.array(wrenches).reshape(len(places), 6), np.array(columns, dtype=int)
        self.thrust = np.zeros((6 * len(places), nu), np.result_type(float, self.units_at_places))
        for k, wrench in enumerate(self.units_at_places):
            self.thrust[6 * k : 6 * k + 6, self.columns[k]] = wrench
        self.own: list[tuple[Block, slice, slice, slice]] = []
        for block in driven:
            columns_of_block = slice(column, column + len(block.inputs))
            self.own.append((block, assembly.q_slices[block.name], assembly.v_slices[block.name], columns_of_block))
            column = columns_of_block.stop
        self.acting: list[tuple[str, slice]] = []
        for interaction in interactions:
            self.acting.append((interaction.name, slice(column, column + len(interaction.inputs))))
            column = self.acting[-1][1].stop
        self.states: list[tuple[str, slice]] = []
        for interaction in stated:
            self.states.append((interaction.name, slice(column - nu, column - nu + len(interaction.state_names))))
            column += len(interaction.state_names)
        self.driving = _joined(dict(self.acting), dict(self.states), nu)

    def act_like(self, other: Inputs) -> bool:
        """Tell whether inputs of a model with other parameters act alike: by their efforts, wrenches and ranges."""
        names = "motors", "units_at_places", "lower", "upper"
        return self is other or all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def read(self, u: Any, stacked: bool = False) -> Array:
        """Return inputs given as numbers (nu), or stacked ones if `stacked`, or by name (the others are zero).

        Raises `ModelError` for unknown names, a wrong length, and entries that are not finite numbers.
        """
        if not isinstance(u, Mapping):
            return read_state("u", u, self.names, stacked)
        return _by_name("u", u, self.place_of, "an input")

    def whole(self, u: Any, x: Any = None) -> Array:
        """Return inputs with the states of the model behind them (nu + nx), as `Whole` if the model has states.

        Both are numbers, or mappings of name to number; None stands for zero, and a `Whole` is returned as it is. Both may be
        stacked. Raises `ModelError` for unknown names, wrong lengths, and entries that are no finite numbers.
        """
        if type(u) is Whole:
            return u
        read = np.zeros(len(self.names)) if u is None else self.read(u, stacked=True)
        if not self.state_names and x is None:
            return read
        state = self.read_states(x, stacked=True)
        if read.ndim == state.ndim == 2:
            check_stacks({"u": read, "x": state})
        return self.with_states(read, state)

    def with_states(self, u: Array | None, x: Array) -> Array:
        """Return checked inputs (nu), zero for None, with checked states (nx) behind them; or stacked ones."""
        u = np.zeros(len(self.names)) if u is None else u
        rows = max(u.shape[:-1], x.shape[:-1], key=len)
        parts = [np.broadcast_to(part, (*rows, part.shape[-1])) for part in (u, x)] if rows else [u, x]
        joined: Array = np.ascontiguousarray(np.concatenate(parts, axis=-1))  # kernels read row by row
        return joined.view(Whole) if self.state_names else joined

    def without_states(self, u: Array) -> Array:
        """Return the inputs (nu) without the states behind them."""
        return np.asarray(u[..., : len(self.names)]) if self.state_names else u

    def read_states(self, x: Any, stacked: bool = False) -> Array:
        """Return states given as numbers (nx), by name (the others are zero), or as None for zero.

        Raises `ModelError` for unknown names, wrong lengths, and entries that are no finite numbers.
        """
        if x is None:
            return np.zeros(len(self.state_names))
        if not isinstance(x, Mapping):
            return read_state("x", x, self.state_names, stacked)
        return _by_name("x", x, {name: place for place, name in enumerate(self.state_names)}, "a state")

    def pushes(self, u: Array) -> list[Push]:
        """Return the loads of the inputs on ports, own coordinates and interactions."""
        on_ports = (PortPush(*place, wrench) for place, wrench in zip(self.places, self.wrenches(u), strict=True))
        acting = (ActingPush(name, u[columns]) for name, columns in self.driving if u[columns].any())
        return [*on_ports, *self.own_pushes(u), *acting]

    def own_pushes(self, u: Array) -> list[OwnPush]:
        """Return the loads of the inputs (nu), or of stacked ones, on blocks' own coordinates."""
        return [OwnPush(block, q, v, u[..., columns]) for block, q, v, columns in self.own if u[..., columns].any()]

    def wrenches(self, u: Array) -> Array:
        """Return the wrenches (n, 6) of the inputs (nu) at their places; stacked for stacked inputs."""
        return u[..., self.columns, None] * self.units_at_places

    @cached_property
    def drives_coordinates(self) -> bool:
        """Whether there are inputs that act directly on coordinates."""
        return bool(self.own or self.motors.any())

    @cached_property
    def drives_ports(self) -> bool:
        """Whether there are inputs or states that act as wrenches at places, or by interactions."""
        return bool(self.places or self.driving)

    def efforts(self, u: Array, q: Array) -> Array:
        """Return the efforts (nv) of inputs that act directly on coordinates: of motors, and of blocks' own inputs.

        Stacked for stacked inputs and configurations.
        """
        inputs = self.without_states(u) if self.state_names else u
        efforts = self.motors.dot(inputs) if inputs.ndim == 1 else (self.motors @ inputs[..., None])[..., 0]
        return efforts + own_efforts(self.own_pushes(u), q, len(self.motors)) if self.own else efforts

    def matrix(self, mechanism: Any, q: Any) -> Array:
        """Return the efforts on the coordinates per unit of each input (nv, nu); zero columns for inputs of interactions."""
        parts = [(at_v, columns, block.input_matrix(q[at_q])) for block, at_q, at_v, columns in self.own]
        matrix = self.motors[:, : len(self.names)].astype(
            np.result_type(self.motors, self.units_at_places, *(part for *_, part in parts))
        )
        for (port, inertial), wrench, k in zip(self.places, self.units_at_places, self.columns, strict=True):
            if inertial:
                back = mechanism.pose(port, q)[0].T
                wrench = np.concatenate([back @ wrench[:3], back @ wrench[3:]])
            matrix[:, k] += mechanism.jacobian(port, q).T @ wrench
        for at_v, columns, part in parts:
            matrix[at_v, columns] = part
        return matrix


def _by_name(argument: str, values: Mapping[str, Any], places: Mapping[str, int], what: str) -> Array:
    numbers = np.zeros(len(places))
    for name, value in values.items():
        place = places.get(name)
        if place is None:
            code, advice = f"unknown-{what.split()[1]}", did_you_mean(name, places)
            raise ModelError(Finding(code, argument, name, f"{what} of the model", advice))
        try:
            if type(value) is not float and np.asarray(value).dtype.kind in "SU":
                raise TypeError
            numbers[place] = value
        except (TypeError, ValueError, OverflowError):
            expected, advice = "a number", f"give one number for each {what.split()[1]}"
            raise ModelError(Finding("wrong-type", f"{argument}[{name!r}]", value, expected, advice)) from None
    return read_state(argument, numbers, tuple(places))


def _joined(acting: dict[str, slice], states: dict[str, slice], nu: int) -> list[tuple[str, Any]]:
    """Return the name of each interaction with the indices of its inputs and states among all."""
    driving: list[tuple[str, Any]] = []
    for name in dict.fromkeys((*acting, *states)):
        u, x = acting.get(name, slice(0, 0)), states.get(name, slice(0, 0))
        driving.append((name, np.r_[u, nu + x.start : nu + x.stop] if name in states else u))
    return driving


def _units(assembly: Assembly, block: Block) -> tuple[str, ...]:
    if isinstance(block, CoordinateActuator):
        return (effort_unit(assembly.coordinate_units[assembly.place(block.joint)[1]]),)
    return known_units(block.input_units, len(block.inputs))
