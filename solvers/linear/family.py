"""Trimming and linearising many points, in one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from titop.blocks.errors import ConvergenceError
from titop.blocks.spatial import Array
from titop.solvers.equilibrium.continuation import follow
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.linear.drives import Drives
from titop.solvers.linear.linearisation import Points, linearise
from titop.solvers.linear.readings import Reading, read_outputs
from titop.solvers.linear.variation import Snapshot
from titop.solvers.model import Model

#: Points that are linearised together.
_CHUNK = 500

#: A family that takes longer than this (s) shows a progress bar.
_SHOW_PROGRESS_AFTER = 1.0


@dataclass(frozen=True)
class Recipe:
    """What is done at every point; arguments of `lpv`."""

    names: tuple[str, ...]
    inputs: Any
    outputs: Any
    hold: Any
    independent: Any
    unknowns: Any
    bounds: Any
    tolerance: float


@dataclass
class Results:
    """What was found at stacked points; not a number where there is no equilibrium."""

    A: Array
    B: Array
    C: Array
    D: Array
    q: Array
    v: Array
    tau: Array
    u: Array
    y: Array
    residual: Array
    valid: Array
    states: Array

    @classmethod
    def empty(cls, count: int, like: Results) -> Results:
        """Return results for `count` points, all without an equilibrium."""
        arrays = {field.name: getattr(like, field.name) for field in fields(cls) if field.name not in ("valid", "states")}
        blank = {name: np.full((count, *array.shape[1:]), np.nan) for name, array in arrays.items()}
        return cls(**blank, valid=np.zeros(count, dtype=bool), states=like.states)

    def put(self, rows: Array, part: Results) -> None:
        """Put other results into some rows."""
        for field in fields(self):
            if field.name != "states":
                getattr(self, field.name)[rows] = getattr(part, field.name)


class Family:
    """The computation of a family's members.

    Parameters
    ----------
    guess : OperatingPoint
        For the first point.
    recipe : Recipe
    """

    def __init__(self, guess: OperatingPoint, recipe: Recipe) -> None:
        self.guess, self.recipe = guess, recipe
        self.drives = Drives(guess.model, recipe.inputs, recipe.hold)
        self.readings: tuple[Reading, ...] = read_outputs(guess.model, recipe.outputs, self.drives)

    # -- given points --------------------------------------------------------------------------------------------------

    def given(self, points: Sequence[OperatingPoint], workers: int, progress: bool) -> Results:
        """Return the results at given points."""
        chunks = [points[k : k + _CHUNK] for k in range(0, len(points), _CHUNK)]
        rows = [np.arange(k, min(k + _CHUNK, len(points))) for k in range(0, len(points), _CHUNK)]
        if workers > 1:
            parts = self._parallel([(_linearised, [_bare(point) for point in chunk]) for chunk in chunks], workers)
        else:
            parts = (self.linearised(chunk) for chunk in chunks)
        return _collected(parts, rows, len(points), progress)

    def linearised(self, points: Sequence[OperatingPoint]) -> Results:
        """Return the results at operating points."""
        model, count = self.guess.model, len(points)
        stack = Points(
            [point.model for point in points],
            np.array([point.q for point in points]),
            np.array([point.v for point in points]),
            np.array([point.tau for point in points]),
            _inputs(model, points),
            _wrenches(points),
        )
        linear = linearise(stack, self.drives, self.readings, self.recipe.independent)
        u = np.zeros((count, model.nu)) if stack.u is None else stack.u
        y = self._outputs(stack, linear.a, linear.tau)
        residual = linear.a if not stack.v.any() else np.maximum(np.abs(linear.a), np.abs(linear.drift))
        valid = np.ones(count, dtype=bool)
        return Results(
            linear.A, linear.B, linear.C, linear.D, stack.q, stack.v, linear.tau, u, y, residual, valid, linear.states
        )

    def _outputs(self, points: Points, a: Array, tau: Array) -> Array:
        """Return the outputs (n, outputs); displacements are measured from the neutral configuration."""
        n, origin = len(points.q), self.guess.model.neutral()
        whole = Snapshot(points.models[0], points.q, points.v, a, tau, None, None, origin)
        columns = []
        for reading in self.readings:
            if reading.selects:
                columns.append(reading.value(whole))
                continue
            rows = [
                Snapshot(points.models[k], points.q[k], points.v[k], a[k], tau[k], points.inputs(k), points.loads(k), origin)
                for k in range(n)
            ]
            columns.append(np.array([reading.value(row) for row in rows]))
        return np.concatenate(columns, axis=1) if columns else np.zeros((n, 0))

    # -- trimmed points ------------------------------------------------------------------------------------------------

    def trimmed(self, targets: Array, lines: list[tuple[int, Array]], workers: int, progress: bool) -> Results:
        """Return the results at points found by continuation: the lines' first points one after the other, then all lines.

        Raises
        ------
        ConvergenceError
            When no point has an equilibrium.
        """
        starts = self._line_starts(targets, lines)
        jobs = [(start, targets[rows]) for start, (_, rows) in zip(starts, lines, strict=True)]
        if workers > 1:
            tasks = [(_followed, (None if start is None else _bare(start), values)) for start, values in jobs]
            parts = self._parallel(tasks, workers)
        else:
            parts = (self.followed(start, values) for start, values in jobs)
        return _collected(parts, [rows for _, rows in lines], len(targets), progress)

    def followed(self, start: OperatingPoint | None, targets: Array) -> Results | None:
        """Return the results along a line, from an equilibrium near its first point; None when there is none on it."""
        found: list[OperatingPoint] = []
        valid = np.zeros(len(targets), dtype=bool)
        for k, values in enumerate(targets):
            point = self._point(start, values)
            if point is not None:
                start = point
                found.append(point)
                valid[k] = True
        if not found:
            return None
        part = self.linearised(found)
        whole = Results.empty(len(targets), part)
        whole.put(np.flatnonzero(valid), part)
        return whole

    def _line_starts(self, targets: Array, lines: list[tuple[int, Array]]) -> list[OperatingPoint | None]:
        """Return an equilibrium from which each line starts: that of its first point, or of a line before."""
        starts: list[OperatingPoint | None] = []
        for before, rows in lines:
            known = starts[before] if before >= 0 else None
            starts.append(self._point(known, targets[rows[0]]) or known)
        return starts

    def _point(self, start: OperatingPoint | None, values: Array) -> OperatingPoint | None:
        """Return the equilibrium at some values, from one at others or from the guess; None when there is none."""
        target, recipe = dict(zip(self.recipe.names, values.tolist(), strict=True)), self.recipe
        try:
            return follow(start or self.guess, target, recipe.unknowns, recipe.bounds, recipe.tolerance, start is not None)
        except ConvergenceError:
            return None

    # -- several processes ---------------------------------------------------------------------------------------------

    def _parallel(self, tasks: list[tuple[Callable[..., Any], Any]], workers: int) -> Iterator[Any]:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        made = type(self.guess.model), self.guess.model.assembly, _bare(self.guess), self.recipe
        with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, made) as pool:
            yield from pool.map(_run, tasks)


@dataclass(frozen=True)
class BarePoint:
    """The numbers of an operating point, to be sent to another process."""

    q: Array
    v: Array
    tau: Array
    u: Array | None
    wrenches: Any
    parameters: Any

    def on(self, model: Model) -> OperatingPoint:
        """Return the operating point of a model."""
        changed = model.with_parameters(self.parameters) if self.parameters else model
        return OperatingPoint(changed, self.q, self.v, self.tau, self.u, self.wrenches, self.parameters)


def _bare(point: OperatingPoint) -> BarePoint:
    return BarePoint(point.q, point.v, point.tau, point.u, point.wrenches, dict(point.parameters))


_worker: list[Family] = []


def _start_worker(kind: Any, assembly: Any, guess: BarePoint, recipe: Recipe) -> None:
    _worker[:] = [Family(guess.on(kind(assembly)), recipe)]


def _run(task: tuple[Callable[..., Any], Any]) -> Any:
    function, argument = task
    return function(_worker[0], argument)


def _linearised(family: Family, points: list[BarePoint]) -> Results:
    return family.linearised([point.on(family.guess.model) for point in points])


def _followed(family: Family, job: tuple[BarePoint | None, Array]) -> Results | None:
    start, targets = job
    return family.followed(None if start is None else start.on(family.guess.model), targets)


def _collected(parts: Iterable[Results | None], rows: list[Array], count: int, progress: bool) -> Results:
    """Return the parts in their rows."""
    from tqdm import tqdm

    whole: Results | None = None
    with tqdm(total=count, unit="points", delay=_SHOW_PROGRESS_AFTER, disable=None if progress else True, leave=False) as bar:
        for place, part in zip(rows, parts, strict=True):
            if part is not None:
                whole = whole or Results.empty(count, part)
                whole.put(place, part)
            bar.update(len(place))
    if whole is None:
        raise ConvergenceError("no equilibrium at any point; try another guess (q=, v=, ...) or more unknowns")
    return whole


def _inputs(model: Model, points: Sequence[OperatingPoint]) -> Array | None:
    given = [point.u for point in points]
    if all(u is None for u in given):
        return None
    return np.array([np.zeros(model.nu) if u is None else u for u in given])


def _wrenches(points: Sequence[OperatingPoint]) -> dict[str, Array] | None:
    ports = {port for point in points for port in point.wrenches or ()}
    if not ports:
        return None
    return {port: np.array([(point.wrenches or {}).get(port, np.zeros(6)) for point in points]) for port in sorted(ports)}
