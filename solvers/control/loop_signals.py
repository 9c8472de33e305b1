"""Measured outputs, references and commands of a control loop, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CENTRAL_STEP
from titop.blocks.basics.user_functions import function_of_state, takes_state
from titop.blocks.basics.user_input import real_array
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import REFERENCE
from titop.solvers.signals.grammar import COMMANDED, MEASURED, SignalTable, commanded_signals, measured_signals, read_name
from titop.solvers.signals.quantities import DYNAMIC, Kind, units_of
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.values import JoinedValues
from titop.solvers.support.interpolated import Interpolated


class Measurements:
    """Some of the outputs of a model: of sensors, coordinates and ports.

    - `names`: in titop's spelling; see `titop.solvers.signals.grammar.measured_signals`;
    - `origin` (nq): origin of the coordinates of free and spherical joints, which are displacements (tangent vectors), as in
      linear models;
    - `dynamic` (ny): whether an output depends on accelerations, and so has a feedthrough from commands;
    - `senses`: from the outputs to what is read of them, where sensors have paths;
    - `plant`, object with `x`, or None: whose first-order states are in effect.
    """

    senses: Callable[[Array], Array] | None = None
    plant: Any = None

    def __init__(self, model: Model, names: Sequence[str], origin: Array) -> None:
        self.model = model
        self.names = tuple(names)
        self.origin = origin
        self._quantities = [read_name(model, MEASURED, name) for name in self.names]
        self.units = tuple(unit for of in self._quantities for unit in units_of(model, of))
        self.dynamic = np.array([of.kind in DYNAMIC for of in self._quantities], dtype=bool)
        self._values = JoinedValues(model, self._quantities)
        kinematic = [of for of, dynamic in zip(self._quantities, self.dynamic, strict=True) if not dynamic]
        self._kinematic = JoinedValues(model, kinematic) if self.dynamic.any() else self._values
        selection = self.selection(model.nq, model.nv)
        #: Which entries of q (0) or of v (1) they are, if they are such entries.
        self._entries = None if selection is None else [(int(of.kind == Kind.RATE), of.entries[0]) for of in self._quantities]

    @property
    def are_entries(self) -> bool:
        """Whether all are entries of q and v, as they are."""
        return self._entries is not None and self.senses is None

    @property
    def takes_stacks(self) -> bool:
        """Whether kernels read all of it, from where ports are and how they move alone, at stacked states too."""
        return self.senses is None and not self.dynamic.any() and self._kinematic.takes_stacks

    def selection(self, nq: int, nv: int) -> Array | None:
        """Return the outputs as a matrix (ny, nq + nv) that acts on ``[q, v]``; None if they are not entries of ``[q, v]``."""
        starts = {Kind.CONFIGURATION: 0, Kind.RATE: nq}
        if not all(of.kind in starts for of in self._quantities):
            return None
        matrix = np.zeros((len(self._quantities), nq + nv))
        for row, of in enumerate(self._quantities):
            matrix[row, starts[of.kind] + of.entries[0]] = 1.0
        return matrix

    def read(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array | None, tau: Array) -> Array:
        """Return the outputs (ny) at a state, with accelerations `a`, external `wrenches`, inputs `u` and efforts `tau`."""
        values = self._values.read(Snapshot(self.model, q, v, a, tau, u, wrenches, self.origin))
        return values if self.senses is None else self.senses(values)

    def read_kinematic(self, q: Array, v: Array) -> Array:
        """Return the outputs (ny) at a state, or at stacked ones, zero for those that depend on accelerations."""
        if self._entries is not None:
            columns = np.array([(q, v)[k][..., entry] for k, entry in self._entries])
            outputs = columns.reshape(len(columns), *q.shape[:-1]).T
            return outputs if self.senses is None else self.senses(outputs)
        if q.ndim == 2 and not self.takes_stacks:
            return np.array([self.read_kinematic(*state) for state in zip(q, v, strict=True)])
        outputs = np.zeros((*q.shape[:-1], len(self.names)))
        u = None if self.plant is None or not self.model.nx else self.model.mechanism.inputs.with_states(None, self.plant.x)
        zero = np.zeros_like(v)
        at = Snapshot(self.model, q, v, zero, zero, u, None, self.origin)
        outputs[..., ~self.dynamic] = self._kinematic.read(at)
        return outputs if self.senses is None else self.senses(outputs)


class References:
    """References by name.

    - `names`: in titop's spelling;
    - `given`: numbers, arrays (n,) at the `times` or functions ``f(t)`` or ``f(t, q, v)`` by
      name; or all together: numbers (nr,), an array (n, nr) at the `times`, or a function that returns (nr,). Linear between
      the times;
    - `times` (n, s);
    - `resting` (nr): values of references that are not given.
    """

    def __init__(self, names: Sequence[str], given: Any, times: Array, resting: Array) -> None:
        self.names = tuple(names)
        self._resting = resting
        self._functions: list[tuple[Any, Callable[[float, Any, Any], Any]]] = []
        #: References that are samples.
        self.tables: list[Interpolated] = []
        #: Whether they depend on time, and whether on the state.
        self.vary, self.follow_state = given is not None, False
        if given is None:
            return
        if not isinstance(given, Mapping):
            self._functions = [(slice(None), self._function("reference", given, times, (len(self.names),)))]
            return
        table = SignalTable("a reference of the controller", self.names)
        for key, value in given.items():
            entry = self.names.index(table.find("reference", str(key)))
            self._functions.append((entry, self._function(f"reference[{key!r}]", value, times, ())))

    def _function(self, where: str, value: Any, times: Array, shape: tuple[int, ...]) -> Callable[[float, Any, Any], Any]:
        """Return a function of time and state with values of some shape."""
        if callable(value):
            function = function_of_state(where, value)
            self.follow_state |= takes_state(where, value)
            return lambda t, q, v: _read_numbers(where, function(t, q, v), shape)
        numbers = real_array(value)
        if numbers is not None and shape == (1,) and numbers.ndim == 1 and len(numbers) > 1:
            numbers = numbers[:, None]
        if numbers is not None and numbers.ndim == len(shape) + 1:
            table = Interpolated(times, _read_numbers(where, numbers, (len(times), *shape)))
            self.tables.append(table)
            return lambda t, q, v: table(t)
        constant = _read_numbers(where, value, shape)
        return lambda t, q, v: constant

    @property
    def specified(self) -> tuple[str, ...]:
        """Names of the given references."""
        chosen = np.zeros(len(self.names), dtype=bool)
        for entry, _ in self._functions:
            chosen[entry] = True
        return tuple(name for name, is_chosen in zip(self.names, chosen, strict=True) if is_chosen)

    def read(self, t: float, q: Array, v: Array) -> Array:
        """Return the references (nr) at time t (s) and a state."""
        r = self._resting.copy()
        if self.follow_state:  # functions may change or store what they are passed
            q, v = q.copy(), v.copy()
        for entry, function in self._functions:
            r[entry] = function(t, q, v)
        return r

    def derivatives(self, model: Model, t: float, q: Array, v: Array) -> Array:
        """Return the derivatives (nr, 2 nv) by tangent changes of q and by v, by differences; zero for those of time alone."""
        nv, sizes = model.nv, model.mechanism.scale.coordinates
        result = np.zeros((len(self.names), 2 * nv))
        for k, size in enumerate(sizes if self.follow_state else ()):
            step = np.eye(nv)[k] * (CENTRAL_STEP * size)
            ends = [(self.read(t, model.integrate(q, way * step), v), self.read(t, q, v + way * step)) for way in (1, -1)]
            for column, (ahead, behind) in zip((k, nv + k), zip(*ends, strict=True), strict=True):
                result[:, column] = (ahead - behind) / (2 * step[k])
        return result


def _read_numbers(where: str, value: Any, shape: tuple[int, ...]) -> Array:
    numbers = real_array(value)
    if numbers is not None and shape == (1,) and numbers.shape == ():
        numbers = numbers.reshape(1)
    if numbers is None or numbers.shape != shape or not np.isfinite(numbers).all():
        expected = f"finite numbers of shape {shape}" if shape else "a finite number"
        raise ModelError(Finding("wrong-shape", where, value, expected, "one for each reference, or these at each output time"))
    return numbers


class Exchange(NamedTuple):
    """Signals from controllers to those after them in the list: names, and the places of the controllers that set them."""

    names: tuple[str, ...] = ()
    owners: tuple[int, ...] = ()

    def read_by(self, place: int, references: Sequence[str]) -> Array:
        """Return which of its `references` (nr) the controller at a place takes from which signals: a matrix (nr, signals)."""
        reads = [[name == reference and owner < place for name, owner in zip(*self, strict=True)] for reference in references]
        return np.array(reads, dtype=float).reshape(len(references), len(self.names))


class Command(NamedTuple):
    """Inputs (nu) and efforts (nv) that are added to the model's other loads, and signals to controllers."""

    u: Array
    tau: Array
    signals: Array = np.zeros(0)


def add_commands(commands: Sequence[Command]) -> Command:
    """Return the sum of commands, one at least."""
    return Command(*(reduce(np.add, parts) for parts in zip(*commands, strict=True)))


class Commands:
    """The connection of a controller's outputs to a model, and to other controllers.

    - `names`: in titop's spelling; see `titop.solvers.signals.grammar.commanded_signals`. Others are signals;
    - `saturate`: whether inputs are limited to the actuators' ranges;
    - `place`: of the controller in the list;
    - `matrix` (nu + nv + signals, names): inputs, efforts and signals per unit of each commanded value;
    - `limits` (2, nu): the inputs' ranges.
    """

    def __init__(self, model: Model, names: Sequence[str], saturate: bool, exchange: Exchange, place: int) -> None:
        inputs, known = model.mechanism.inputs, commanded_signals(model)
        signals = [name if owner == place else None for name, owner in zip(*exchange, strict=True)]
        self._ends = model.nu, model.nu + model.nv
        self.matrix, units = np.zeros((self._ends[1] + len(signals), len(names))), list[str]()
        for k, name in enumerate(names):
            if name in known:
                of = read_name(model, COMMANDED, name)
                row, unit = (0 if of.kind == Kind.INPUT else model.nu) + of.entries[0], units_of(model, of)[0]
            else:
                row, unit = self._ends[1] + signals.index(name), reference_unit(model, name)
            self.matrix[row, k] = 1.0
            units.append(unit)
        self.units, free = tuple(units), np.full(model.nu, np.inf)
        self.limits = np.array([inputs.lower, inputs.upper] if saturate else [-free, free])
        self._is_limited = bool(np.isfinite(self.limits).any())

    def beside(self, others: Sequence[Commands]) -> Commands:
        """Return these and those of other controllers as one."""
        joined = copy.copy(self)
        joined.matrix = np.hstack([each.matrix for each in (self, *others)])
        joined.units = tuple(unit for each in (self, *others) for unit in each.units)
        return joined

    @property
    def to_loads(self) -> Array:
        """Inputs and efforts (nu + nv, names) per unit of each value."""
        return self.matrix[: self._ends[1]]

    @property
    def to_signals(self) -> Array:
        """Signals (signals, names) per unit of each value."""
        return self.matrix[self._ends[1] :]

    def part(self, whole: Array) -> Command:
        """Return the command of inputs, efforts and signals, concatenated."""
        nu, loads = self._ends
        return Command(whole[..., :nu], whole[..., nu:loads], whole[..., loads:])

    def send(self, values: Array, resting: Array) -> Command:
        """Return the command for values (one for each name), added to the `resting` inputs, efforts and signals."""
        return self.part(resting + self.matrix.dot(values.T).T)

    def values(self, commands: Sequence[Command]) -> Array:
        """Return the values (one for each name) of commands, one row each."""
        return np.array([np.concatenate(command) for command in commands]).reshape(len(commands), -1) @ self.matrix

    def acting(self, u: Array | None) -> Array:
        """Return one for each name, or zero if its inputs (nu) are at the actuators' limits, where commands have no effect."""
        held = np.zeros(len(self.limits[0])) if u is None else (u <= self.limits[0]) | (u >= self.limits[1])
        return 1.0 - self.matrix[: len(held)].T @ held

    def within_limits(self, u: Array) -> Array:
        """Return inputs (nu) limited to the actuators' ranges."""
        if not self._is_limited:
            return u
        return np.minimum(np.maximum(u, self.limits[0]), self.limits[1])


def reference_unit(model: Model, name: str) -> str:
    """Return the unit of a reference: of the output that it is for, as in ``r_hinge.q``; "1" for other names."""
    output = name.removeprefix(REFERENCE)
    if name == output or output not in measured_signals(model):
        return "1"
    return units_of(model, read_name(model, MEASURED, output))[0]
