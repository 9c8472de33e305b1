"""Tables of what is read of a compiled model, and what is read of one whose constraints carry a part of what acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.rowwise import at_rows
from titop.solvers.constraints import closed_dynamics
from titop.solvers.engines.compiled.closed_derivatives import driven_by
from titop.solvers.engines.compiled.efforts import CompiledEfforts
from titop.solvers.engines.compiled.observations import IDENTITY
from titop.solvers.engines.compiled.packed import real
from titop.solvers.kernels.entries import reading_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import sensor_readings
from titop.solvers.mechanism.inputs import Push, own_efforts
from titop.solvers.native.callbacks import raise_pending

#: What depends on the constraints' multipliers.
_CARRIED = (sensor_readings.JOINT_WRENCH, sensor_readings.CLOSURE_WRENCH, sensor_readings.MULTIPLIER)

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


class Row(NamedTuple):
    """One row of the table of what to read: what, where, at which port and about which axes; the port's pose, a factor."""

    what: int
    at: int
    port: int = -1
    axes: int = 0
    frame: Array = IDENTITY
    factor: float = 1.0


class Readings(NamedTuple):
    """What a kernel is asked to read.

    Attributes
    ----------
    table, frames : arrays
        See `titop.solvers.kernels.ports.sensor_readings`.
    size : int
        Of the result.
    bound : callable
        The kernel with these and the model's tables.
    model : CompiledClosedReadings
        The model, or its like in which all ports are in use.
    angles : list of (str, str, int)
        Port, sequence and place of all Euler angles.
    closed : bool
        Whether the kernel is the one that finds what constraints carry.
    """

    table: Array
    frames: Array
    size: int
    bound: Any
    model: CompiledClosedReadings
    angles: list[tuple[str, str, int]]
    closed: bool


class CompiledClosedReadings(CompiledEfforts):
    """What is read of a compiled model whose constraints carry a part of what acts; see `Model` for its functions."""

    def _bind_readings(self, rows: list[Row], angles: Sequence[tuple[str, str, int]] = ()) -> Readings:
        sizes = [SIZES[row.what] for row in rows]
        numbers = [[row.what, row.at, row.port, sum(sizes[:k]), row.axes] for k, row in enumerate(rows)]
        table = np.array(numbers, dtype=np.int64).reshape(-1, sensor_readings.READING_COLUMNS)
        frames = np.array([[*row.frame, row.factor] for row in rows], dtype=float).reshape(-1, sensor_readings.FRAME_COLUMNS)
        model = self._with_all_ports if any(row.port >= 0 for row in rows) else self
        closed = self.is_constrained and any(row.what in _CARRIED for row in rows)
        if closed:
            bound = partial(self._closed_kernel, table, frames, *self._constraints_to_read, *model._closing())
        else:
            bound = partial(self._kernel(reading_entries.readings).compiled, table, frames, *model._arrays)
        return Readings(table, frames, sum(sizes), bound, model, list(angles), closed)

    def _run(self, found: Readings, pushes: Sequence[Push], q: Array, v: Array, a: Array, result: Array) -> None:
        """Write readings at a state, or at stacked ones, under pushes into `result`."""
        kernel, tables = self._kernel(reading_entries.readings), found.model._pushed(pushes)._arrays
        state = (np.ascontiguousarray(np.atleast_2d(real(x, name)), float) for x, name in ((q, "q"), (v, "v"), (a, "a")))
        self.raise_for(kernel(found.table, found.frames, *tables, *state, result))

    @property
    def _closed_kernel(self) -> Any:
        return self._kernel(reading_entries.closed_readings).compiled

    @property
    def _constraints_to_read(self) -> tuple[Array, Array]:
        """The table of the constraints, and their weights."""
        return self._loops(self.generic_rank), np.ascontiguousarray(self.closure_weights)

    def _read_closed(
        self, found: Readings, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any
    ) -> Array:
        """Return readings that depend on what constraints carry, at a state, or at stacked ones, under loads."""
        try:
            single = q.ndim == 1
            state = (q[None], v[None], a[None]) if single else (q, v, a)
            applied = np.zeros(state[1].shape) if tau is None else tau[None] if single else tau
            result = np.empty((len(state[0]), found.size))
            if wrenches is None and u is None:
                status = found.bound(*state, applied, tau is not None, result)
            else:
                if u is not None and self.inputs.own:  # whose efforts change with q
                    raise TypeError
                acting, given, driven = found.model._acted_on(wrenches, u, q, closing=True)
                if tau is not None and driven is not None:
                    applied = driven_by(applied, np.broadcast_to(driven, state[1].shape))
                status = acting.run(found.bound, wrenches, given, *state, applied, tau is not None, result)
            if status == layout.OK:
                return result[0] if single else result
        except (AttributeError, IndexError, TypeError, ValueError):  # not the kernel's types: lists, integers, ...
            pass
        raise_pending()
        if np.ndim(q) == 2:
            rows = {"found": found, "q": q, "v": v, "a": a, "wrenches": wrenches, "u": u, "tau": tau}
            return np.asarray(at_rows(CompiledClosedReadings._read_closed, self, rows))
        return self._read_with_care(found, q, v, a, wrenches, u, tau)

    def _read_with_care(
        self, found: Readings, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any
    ) -> Array:
        """Return what `_read_closed` does at a state, whatever stands in the kernel's way."""
        q, v, a, pushes = self._read_q(q), self._read_v("v", v), self._read_v("a", a), self.external_pushes(wrenches, u)
        carried = self._carried(q, v, a, pushes, u, tau)
        if found.table[0, sensor_readings.WHAT] == sensor_readings.MULTIPLIER:
            return carried[found.table[:, sensor_readings.AT]]
        result = np.empty((1, found.size))
        self._run(found, [*pushes, *closed_dynamics.closure_pushes(self, q, carried)], q, v, a, result)
        return result[0]

    def _carried(self, q: Array, v: Array, a: Array, pushes: list[Push], u: Any, tau: Any) -> Array:
        applied, found = np.zeros((1, self.nv)) + own_efforts(pushes, q, self.nv), self._multipliers
        if tau is not None:
            applied += self._read_v("tau", tau) + self.motor_efforts(u)
        state = (real(x, name)[None] for x, name in ((q, "q"), (v, "v"), (a, "a")))
        tables, result = self._closing(pushes), np.empty((1, found.size))
        status = self._closed_kernel(*found.bound.args[: -len(tables)], *tables, *state, applied, tau is not None, result)
        raise_pending()
        return result[0] if status == layout.OK else super()._carried(q, v, a, pushes, u, tau)

    @cached_property
    def _multipliers(self) -> Readings:
        """The readings of what all constraints carry."""
        return self._bind_readings([self._multiplier_row(k) for k in range(len(self.constraint_names))])

    def _multiplier_row(self, constraint: int) -> Row:
        return Row(sensor_readings.MULTIPLIER, constraint, factor=float(self.closure_weights[constraint]))

    def gear_effort(
        self,
        gear: str,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
    ) -> Any:
        if not isinstance(gear, str) or gear not in self._gear_efforts:
            return super().gear_effort(gear, q, v, a, wrenches, u, tau)
        result = self._read_closed(self._gear_efforts[gear], q, v, a, wrenches, u, tau)
        return float(result[0]) if result.ndim == 1 else result[:, 0]

    @cached_property
    def _gear_efforts(self) -> dict[str, Readings]:
        """The readings of the gears' efforts by gear."""
        first, names = len(self.constraint_names) - self.gear_count, [each.gear.name for each in self.gear_constraints]
        return {name: self._bind_readings([self._multiplier_row(first + k)]) for k, name in enumerate(names)}
