"""Motions prescribed as functions of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CENTRAL_STEP, COARSE, TYPED
from titop.solvers.arguments.reading import coordinate_mask, read_state
from titop.solvers.model.model import Model
from titop.solvers.motions.motion import Motion, read_motion
from titop.solvers.signals.grammar import COORDINATE, read_name, read_names

#: Where in its time a motion is looked at, and by how much of that time to both sides.
_LOOKED_AT, _PART = np.array([0.11, 0.29, 0.53, 0.71, 0.89]), CENTRAL_STEP
#: By how much velocities and accelerations may disagree with the changes of positions and velocities: of what they are.
_DISAGREEMENT = COARSE


def _change(model: Model, order: int, begin: Array, end: Array) -> Array:
    """Return by how much the configuration (`order` 1) or the velocities (2) of a row change up to another."""
    if order == 1:
        return model.difference(begin[: model.nq], end[: model.nq])
    moving = slice(model.nq, model.nq + model.nv)
    return np.asarray(end[moving] - begin[moving])


def with_held(model: Model, prescribed: Mapping[str, Any], hold: Any, q: Any, v: Any) -> dict[str, Callable[[float], Any]]:
    """Return motions by name, with those of joints or coordinates that stay at their place; `hold` as in `linearize`."""
    result = dict(prescribed)
    names = read_names("hold", hold)
    if not names:
        return result
    q, v = model.integrate(q, np.zeros(model.nv)), read_state("v0", v, model.coordinate_names)
    for name in names:
        if name in result:
            advice = "a motion, or none"
            raise ModelError(Finding("prescribed-twice", "hold", name, "coordinates whose motion is not prescribed", advice))
        for k in read_name(model, COORDINATE, name, "hold", "a joint or coordinate to hold").entries:
            if v[k]:
                got, advice = f"{model.coordinate_names[k]} moves", f"prescribe its motion: prescribed={{{name!r}: f}}"
                raise ModelError(Finding("held-moves", "hold", got, "coordinates at rest", advice))
        in_q, in_v = _place(model, name, "hold")
        row = q[in_q], np.zeros(in_v.stop - in_v.start), np.zeros(in_v.stop - in_v.start)
        result[name] = lambda t, row=row: row
    return result


def _place(model: Model, name: str, argument: str) -> tuple[slice, slice]:
    """Return where a joint, a block or a coordinate stands in q and in v."""
    assembly = model.mechanism.assembly
    if name in assembly.v_slices:
        return assembly.q_slices[name], assembly.v_slices[name]
    k = model.coordinate_names.index(name)
    block = next(b for b, where in assembly.v_slices.items() if where.start <= k < where.stop)
    if assembly.blocks[block].configuration_names != assembly.blocks[block].coordinates:
        expected, advice = "a joint with plain coordinates", f"name all of {block!r} at once"
        raise ModelError(Finding("not-separable", argument, name, expected, advice))
    j = assembly.q_slices[block].start + k - assembly.v_slices[block].start
    return slice(j, j + 1), slice(k, k + 1)


class PrescribedMotion:
    """The prescribed coordinates of a simulation.

    `functions`: ``f(t)`` returns position, velocity and acceleration; a scipy spline is differentiated; `span` (float, float;
    s): times over which they are used; `hold`: names of those that stay where they are.
    """

    def __init__(
        self,
        model: Model,
        functions: Mapping[str, Callable[[float], Any]],
        span: tuple[float, float] = (0.0, 0.0),
        hold: Any = (),
    ) -> None:
        self.names = list(functions)
        self.mask, self.still = (coordinate_mask(names, model.mechanism.assembly) for names in (self.names, hold))
        self._in_q, self._in_v = slice(model.nq), slice(model.nq, model.nq + model.nv)
        self._in_a = slice(self._in_v.stop, self._in_v.stop + model.nv)
        self.mask_q = np.zeros(model.nq, dtype=bool)
        self._parts: list[tuple[Motion, Array]] = []
        self._quaternions: list[tuple[str, int]] = []
        columns = np.arange(self._in_a.stop)
        for name, function in functions.items():
            q, v = _place(model, name, "prescribed")
            self.mask_q[q] = True
            motion = read_motion(f"prescribed[{name!r}]", function, (q.stop - q.start, v.stop - v.start), span)
            entries = np.concatenate([columns[self._in_q][q], columns[self._in_v][v], columns[self._in_a][v]])
            self._parts.append((motion, entries))
            self._quaternions += [(name, start) for start in model.mechanism.quaternions if q.start <= start < q.stop]
        self._time, self._row = math.nan, np.zeros((1, len(columns)))
        self._times, self._rows = np.zeros(0), np.zeros((0, len(columns)))
        warn([*self._jumps(span), *self._contradictions(model, span)])

    @property
    def kinks(self) -> list[Array]:
        """The times (s) at which each motion is known not to be smooth."""
        return [motion.kinks() for motion, _ in self._parts]

    def _jumps(self, span: tuple[float, float]) -> Iterator[Finding]:
        """Yield motions whose velocities jump: by an impulse, which nothing else of the system feels."""
        for name, (motion, _) in zip(self.names, self._parts, strict=True):
            times = motion.jumps()
            for t in times[(times > span[0]) & (times < span[1])][:1]:
                jump, expected = (
                    f"a velocity that jumps at t = {t:.6g} s",
                    "velocities without jumps, whose impulses are left out",
                )
                yield Finding("jumping-motion", f"prescribed[{name!r}]", jump, expected, "round it off, or take a cubic spline")

    def _contradictions(self, model: Model, span: tuple[float, float]) -> Iterator[Finding]:
        """Yield velocities and accelerations that are not the derivatives of what comes before them, at most of some times."""
        length = span[1] - span[0]
        if not self.names or length <= 0:
            return
        times, step = span[0] + length * _LOOKED_AT, _PART * length
        before, near_before, at, near_after, after = (self._all_at(model, times + k * step) for k in (-1, -0.5, 0, 0.5, 1))
        for order, what in ((1, "velocity"), (2, "acceleration")):
            wide, narrow = (
                np.array([_change(model, order, *pair) for pair in zip(*ends, strict=True)]) / width
                for ends, width in (((before, after), 2 * step), ((near_before, near_after), step))
            )
            returned = at[:, self._in_v if order == 1 else self._in_a]
            allowed = _DISAGREEMENT * np.maximum(np.abs(narrow), np.abs(returned)) + 10 * np.abs(wide - narrow)
            off = np.abs(narrow - returned) > allowed
            for k in np.flatnonzero(self.mask & (off.sum(axis=0) > len(times) // 2)):
                row = int(np.argmax(off[:, k]))
                value, where = f"{what} {returned[row, k]:.6g}", f"prescribed motion of {model.coordinate_names[k]}"
                expected = f"{narrow[row, k]:.6g} at t = {times[row]:.6g} s, the derivative of what comes before it"
                yield Finding("contradictory-motion", where, value, expected, "correct the function, or give a scipy spline")

    def _all_at(self, model: Model, times: Array) -> Array:
        """Return configurations, velocities and accelerations at some times, neutral where nothing is prescribed."""
        rows = self._rows_at(times).copy()
        rows[:, self._in_q] = np.where(self.mask_q, rows[:, self._in_q], model.neutral())
        return rows

    def impose(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v with the prescribed entries at time t."""
        if not self._parts:
            return q, v
        row = self._row_at(t)
        return np.where(self.mask_q, row[self._in_q], q), np.where(self.mask, row[self._in_v], v)

    def impose_rows(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q (n, nq) and v (n, nv) with the prescribed entries at times t (n, s)."""
        if not self._parts:
            return q, v
        rows = self._rows_at(t)
        return np.where(self.mask_q, rows[:, self._in_q], q), np.where(self.mask, rows[:, self._in_v], v)

    def accelerations(self, t: Array) -> Array:
        """Return accelerations (n, nv) at times t (n, s), zero where nothing is prescribed."""
        return self._rows_at(t)[:, self._in_a].copy()

    def _rows_at(self, t: Array) -> Array:
        if not np.array_equal(t, self._times):
            self._rows = np.zeros((len(t), self._in_a.stop))
            self.write(t.tolist(), self._rows)
            self._times = t.copy()
        return self._rows

    def acceleration(self, t: float) -> Array:
        """Return accelerations (nv), zero where nothing is prescribed."""
        return self._row_at(t)[self._in_a].copy()

    def _row_at(self, t: float) -> Array:
        if t != self._time and self._parts:
            self.write([t], self._row)
            self._time = t
        return self._row[0]

    def write(self, times: Sequence[float], rows: Array) -> None:
        """Write what is prescribed at some times into rows ``[q, v, a]`` (n x nq + 2 nv)."""
        for motion, columns in self._parts:
            rows[:, columns] = motion.rows(times)
        for name, start in self._quaternions:
            norms = np.linalg.norm(rows[:, start : start + 4], axis=1)
            if (wrong := np.abs(norms - 1.0) > TYPED).any():
                row, expected = int(wrong.argmax()), "a unit quaternion (x, y, z, w)"
                where = f"prescribed[{name!r}] at t = {times[row]:.6g} s"
                raise ModelError(Finding("not-unit", where, f"norm {norms[row]:.6g}", expected, "divide it by its norm"))
