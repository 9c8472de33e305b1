"""What an equilibrium is searched over: coordinates, rates, accelerations, efforts, inputs and parameters, by name.

Coordinates that closures and gears make follow others are unknowns of every search in which those change (`with_dependents`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED
from titop.blocks.basics.user_input import read_array
from titop.solvers.arguments.reading import Percent, read_mapping
from titop.solvers.constraints.branch import closed_near, comparable_jacobian, is_open, regular_configuration
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.equilibrium.displacements import (
    axes_transform,
    displace,
    displacement_jacobian,
    following_states,
    steady_states,
)
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.sizes import sizes_of
from titop.solvers.mechanism.scale import StateScale
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model
from titop.solvers.signals.grammar import UNKNOWN, find_name, read_name, read_names
from titop.solvers.signals.quantities import Kind


class TrimUnknown(NamedTuple):
    """One unknown. `number`: in v, a, tau or u; -1 for a parameter."""

    kind: Kind
    name: str
    number: int = -1


class TrimUnknowns:
    """The unknowns of a search, as numbers x that are zero at the guess.

    They have no units: coordinates are measured along their tangent directions from the guess, positions of free joints along
    their axes there, or in another configuration, whatever turns; they, rates, efforts and inputs over the system's sizes;
    parameters in parts of the guess, but forces and moments that are next to none.

    - `names`: all coordinates by default. ``"hinge"`` or ``"hinge.q"`` a coordinate (a joint's name stands for all of its own),
      ``"hinge.v"`` its rate, ``"hinge.a"`` its acceleration, ``"hinge.tau"`` its effort, the name of an actuator's input, the
      name of a parameter. Or what was read of them already;
    - `sizes`: of the guess's system by default;
    - `axes` (nq): the configuration whose axes count; the guess's by default;
    - `scales` (n): what a unit of x stands for: the same for all efforts of one unit, and for all inputs;
    - `least` (n): changes of x that count as large even where x is smaller: efforts and inputs that move what they act on as
      much as one.

    Raises `ModelError` for unknown names, and names given twice.
    """

    def __init__(
        self, guess: OperatingPoint, names: Any = None, sizes: StateScale | None = None, axes: Array | None = None
    ) -> None:
        self.guess, self.axes = guess, guess.q if axes is None else axes
        if sizes is not None:
            self.sizes = sizes
        self.entries: tuple[TrimUnknown, ...]
        self._last: tuple[bytes, OperatingPoint] | None = None
        model = guess.model
        if names is None:
            self.entries = tuple(TrimUnknown(Kind.POSITION, name, k) for k, name in enumerate(model.coordinate_names))
            return
        self.entries = tuple(entry for name in read_names("unknowns", names) for entry in _read(model, name))
        met: set[TrimUnknown] = set()
        for entry in self.entries:
            if entry in met:
                advice = f"{entry.name!r} is there already"
                raise ModelError(Finding("duplicate-unknown", "unknowns", entry.name, "each unknown once", advice))
            met.add(entry)

    @cached_property
    def _numbers(self) -> dict[str, tuple[float, str]]:
        return self.guess.model.parameters()

    @cached_property
    def sizes(self) -> StateScale:
        """The sizes of the guess's system."""
        return sizes_of(self.guess)

    @cached_property
    def scales(self) -> Array:
        """What a unit of x stands for."""
        sizes = self.sizes
        scales = {Kind.POSITION: sizes.coordinates, Kind.RATE: sizes.coordinates * sizes.rate, Kind.EFFORT: sizes.efforts}
        scales[Kind.ACCELERATION] = sizes.accelerations
        if Kind.INPUT in self._by_kind:
            scales[Kind.INPUT] = self._inputs[0]
        return np.array([self._parameter(e.name) if e.number < 0 else scales[e.kind][e.number] for e in self.entries])

    def _parameter(self, name: str) -> float:
        value, unit = self._numbers[name]
        if value and unit in ("N", "N m"):
            return max(abs(value), BALANCED * self.sizes.of_unit(unit))  # smaller steps are lost in rounding
        return abs(value) or self.sizes.of_unit(unit)

    @cached_property
    def least(self) -> Array:
        """Changes of x that count as large even where x is smaller."""
        least = {Kind.EFFORT: self.sizes.inertias}
        if Kind.INPUT in self._by_kind:
            least[Kind.INPUT] = self._inputs[1]
        return np.array([least[e.kind][e.number] if e.kind in least else 1.0 for e in self.entries])

    @cached_property
    def _inputs(self) -> tuple[Array, Array]:
        """What a unit of x stands for in actuators' inputs (nu), by their units, and `least` of each."""
        model, sizes = self.guess.model, self.sizes
        effects = np.abs(model.actuation_matrix(self.guess.q)) / sizes.efforts[:, None]
        units = np.array(model.mechanism.inputs.units)
        largest = np.array([effects[:, units == unit].max(initial=0.0) or 1.0 for unit in units])
        moved = (effects / np.where(sizes.inertias > 0, sizes.inertias, np.inf)[:, None]).max(axis=0, initial=0.0)
        return 1.0 / largest, np.divide(largest, moved, out=np.ones(model.nu), where=moved > 0)

    @cached_property
    def openings(self) -> Array:
        """What counts as one of openings of closures and gears."""
        model = self.guess.model
        return np.where(model.mechanism.angular_constraints, 1.0, self.sizes.length) if model.is_constrained else np.zeros(0)

    @property
    def are_moving(self) -> bool:
        """Whether the points move that are searched."""
        return bool(self.guess.v.any()) or Kind.RATE in self._by_kind

    @property
    def are_all_coordinates(self) -> bool:
        """Whether all coordinates are unknown, in their order, and nothing else."""
        nv = self.guess.model.nv
        return len(self.entries) == nv and self.select(Kind.POSITION)[1] == [*range(nv)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return tuple(entry.name for entry in self.entries)

    def select(self, kind: Kind) -> tuple[list[int], list[int]]:
        """Return positions in x, and indices in v, a, tau or u, of the unknowns of a kind."""
        return self._by_kind.get(kind, ([], []))

    @cached_property
    def _by_kind(self) -> dict[Kind, tuple[list[int], list[int]]]:
        selected: dict[Kind, tuple[list[int], list[int]]] = {}
        for k, entry in enumerate(self.entries):
            positions, indices = selected.setdefault(entry.kind, ([], []))
            positions.append(k)
            indices.append(entry.number)
        return selected

    @cached_property
    def _indices(self) -> dict[Kind, tuple[Any, Any]]:
        """What `select` returns, ready to index with."""
        return {
            kind: (_slice_or_array(positions), _slice_or_array(indices)) for kind, (positions, indices) in self._by_kind.items()
        }

    @cached_property
    def transform(self) -> Array | None:
        """From displacements along the axes that count to displacements (nv, nv) at the guess; None where they are the same."""
        return axes_transform(self.guess.model, self.guess.q, self.axes) if self.select(Kind.POSITION)[0] else None

    def at(self, x: Array) -> OperatingPoint:
        """Return the operating point that x stands for: the last one, with what is known of it, for the same x.

        Raises `ModelError` for parameters that a block refuses.
        """
        numbers = x.tobytes()
        if self._last is None or self._last[0] != numbers:
            self._last = numbers, self._shift(self.scales * x)
        return self._last[1]

    def with_values(self, values: Any) -> OperatingPoint:
        """Return the operating point with values (n) of the unknowns, each in its own unit, whatever the sizes of the guess."""
        return self._shift(np.asarray(values, dtype=float) - self.values())

    def _shift(self, by: Array) -> OperatingPoint:
        """Return the operating point with the unknowns changed, each in its own unit."""
        guess, model = self.guess, self.guess.model
        dq, v, a, tau, u = np.zeros(model.nv), guess.v.copy(), guess.a.copy(), guess.tau.copy(), guess.u
        targets = {Kind.POSITION: dq, Kind.RATE: v, Kind.ACCELERATION: a, Kind.EFFORT: tau}
        if Kind.INPUT in self._indices:
            targets[Kind.INPUT] = u = np.zeros(model.nu) if u is None else u.copy()
        for kind, (positions, indices) in self._indices.items():
            if kind != Kind.PARAMETER:
                targets[kind][indices] += by[positions]
        if self.transform is not None:
            dq = self.transform @ dq
        changes = {
            self.entries[k].name: self._numbers[self.entries[k].name][0] + float(by[k]) for k in self.select(Kind.PARAMETER)[0]
        }
        if changes:
            model = changed_model(model, changes)
            guess = replace(guess, model=model, parameters={**guess.parameters, **changes})
        point = guess.with_state(displace(model, guess.q, dq), v, tau, u, following_states(guess, dq), a)
        return point.with_state(point.q, v, tau, u, steady_states(point)) if model.nx else point

    def fill_columns(self, kind: Kind, derivatives: Array, x: Array, by_x: Array) -> None:
        """Put the derivatives at x by unknowns of a kind into their columns of `by_x` (n, unknowns).

        From `derivatives` (n, nv or nu) by all of this kind; by coordinates along the configuration's tangent.
        """
        if kind not in self._indices:
            return
        model, (positions, indices) = self.guess.model, self._indices[kind]
        scales = self.scales[positions]
        if kind == Kind.POSITION and not model.mechanism.has_plain_configuration:
            dq = np.zeros(model.nv)
            dq[indices] = scales * x[positions]
            dq = dq if self.transform is None else self.transform @ dq
            derivatives = derivatives @ displacement_jacobian(model, dq)
            derivatives = derivatives if self.transform is None else derivatives @ self.transform
        by_x[:, positions] = derivatives[:, indices] * scales

    def bounds(self, bounds: Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Return lower and upper bounds of x; inputs stay in their actuators' ranges when nothing else is said.

        Raises `ModelError` for bounds of what is no unknown or has no plain number, and for bounds that are no pair with room
        between.
        """
        inputs = self.guess.model.mechanism.inputs
        lower, upper = np.full((2, len(self.entries)), [[-np.inf], [np.inf]])
        if not bounds and not self.select(Kind.INPUT)[0]:
            return lower, upper
        values = self.values()
        for k, entry in enumerate(self.entries):
            if entry.kind == Kind.INPUT:
                lower[k], upper[k] = inputs.lower[entry.number], inputs.upper[entry.number]
        met: set[int] = set()
        for name, pair in read_mapping("bounds", bounds or {}).items():
            k = self._index_of(name)
            if k in met:
                advice = f"{self.names[k]!r} has bounds already"
                raise ModelError(Finding("doubled-bound", "bounds", name, "each unknown once", advice))
            met.add(k)
            if np.isnan(values[k]):
                advice = "bound joints with plain coordinates"
                raise ModelError(Finding("no-number", f"bounds[{name!r}]", pair, "an unknown that is a plain number", advice))
            pair = pair.about(f"bounds[{name!r}]", float(values[k])) if isinstance(pair, Percent) else pair
            lower[k], upper[k] = _read_pair(name, pair)
        known = np.nan_to_num(values)
        return (lower - known) / self.scales, (upper - known) / self.scales

    def _index_of(self, name: Any) -> int:
        """Return the place in x of an unknown that bounds name, in any way in which `unknowns` may."""
        names = [name] if name in self.names else []
        if not names and isinstance(name, str) and (of := find_name(self.guess.model, UNKNOWN, name)) is not None:
            names = [path for path in of.paths if path in self.names]
        if len(names) != 1:
            raise ModelError(Finding("unknown-bound", "bounds", name, "one of the unknowns", did_you_mean(name, self.names)))
        return self.names.index(names[0])

    def values(self) -> Array:
        """Return the guess's values; NaN for coordinates of free and spherical joints."""
        guess, model = self.guess, self.guess.model
        values = np.empty(len(self.entries))
        for k, (kind, name, index) in enumerate(self.entries):
            if kind == Kind.POSITION:
                path, plain = model.coordinate_names[index], model.mechanism.has_plain_coordinates(index)
                known = plain and path in model.configuration_names
                values[k] = guess.q[model.configuration_names.index(path)] if known else np.nan
            elif kind == Kind.INPUT:
                values[k] = 0.0 if guess.u is None else guess.u[index]
            elif kind == Kind.PARAMETER:
                values[k] = self._numbers[name][0]
            else:
                values[k] = {Kind.RATE: guess.v, Kind.ACCELERATION: guess.a, Kind.EFFORT: guess.tau}[kind][index]
        return values


def with_dependents(
    guess: OperatingPoint, sought: Sequence[TrimUnknown], varied: Sequence[TrimUnknown] = ()
) -> tuple[TrimUnknown, ...]:
    """Return what is sought, and the coordinates that it takes to close loops and to keep gears.

    Those that vary are held, and those whose effort is sought, if the loops can be closed without. Of the others the ones are
    taken that closures tell best.
    """
    model, q = guess.model, guess.q
    if not model.is_constrained:
        return tuple(sought)
    with suppress(ConvergenceError):
        q = regular_configuration(model.mechanism, closed_near(model.mechanism, q))
    jacobian = comparable_jacobian(model.mechanism, q)[model.mechanism.places]
    held = {entry.number for entry in varied if entry.kind == Kind.POSITION}
    known = [entry.number for entry in sought if entry.kind == Kind.POSITION and entry.number not in held]
    driven = {entry.number for entry in sought if entry.kind == Kind.EFFORT} - {*known} - held
    rest = [k for k in range(model.nv) if k not in held and k not in driven and k not in known]
    _, span = _closing_coordinates(jacobian, known, np.zeros((len(jacobian), 0)))
    added: list[int] = []
    for candidates in (rest, sorted(driven)):
        closing, span = _closing_coordinates(jacobian, candidates, span)
        added += closing
    return (*sought, *(TrimUnknown(Kind.POSITION, model.coordinate_names[k], k) for k in sorted(added)))


def _closing_coordinates(jacobian: Array, candidates: list[int], span: Array) -> tuple[list[int], Array]:
    """Return which candidates close what coordinates that span a space (k, n) do not, and the space of both."""
    both = np.hstack([span, jacobian[:, candidates]])
    count = len(independent_rows(both.T)) - span.shape[1]
    left = jacobian[:, candidates] - span @ (span.T @ jacobian[:, candidates])
    closing = [candidates[k] for k in independent_rows(left.T, count)] if count > 0 else []
    return closing, np.linalg.qr(np.hstack([span, jacobian[:, closing]]))[0]


def is_open_guess(guess: OperatingPoint) -> bool:
    """Tell whether a guess leaves loops open or gears out of step."""
    model = guess.model
    return model.is_constrained and is_open(
        model.mechanism, model.mechanism.engine.dynamics.constraints(guess.q, np.zeros(model.nv)).error
    )


def _slice_or_array(numbers: list[int]) -> Any:
    """Return what picks entries: a slice where they follow each other, ten times as fast."""
    first = numbers[0]
    return slice(first, first + len(numbers)) if numbers == [*range(first, first + len(numbers))] else np.array(numbers)


def _read(model: Model, name: Any) -> list[TrimUnknown]:
    if isinstance(name, TrimUnknown):
        return [name]
    of = read_name(model, UNKNOWN, name)
    if of.kind == Kind.PARAMETER:
        return [TrimUnknown(of.kind, name)]
    return [TrimUnknown(of.kind, path, k) for k, path in zip(of.entries, of.paths, strict=True)]


def _read_pair(name: str, pair: Any) -> tuple[float, float]:
    advice = f'write {{"{name}": (lower, upper)}}; leave out what is fixed'
    wrong = Finding("bad-bounds", f"bounds[{name!r}]", pair, "two numbers, the second larger", advice)
    lower, upper = read_array(wrong, lambda pair: pair.shape == (2,) and pair[0] < pair[1]).tolist()
    return lower, upper
