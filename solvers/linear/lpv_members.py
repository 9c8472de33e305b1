"""The members of a family: many points trimmed and linearised, in one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.continuation import STRETCH, BarePoint, Branch, bare
from titop.solvers.equilibrium.linear_validity import doubts, steadiness_findings
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknown, TrimUnknowns, with_dependents
from titop.solvers.linear.independent_states import FamilyBasis
from titop.solvers.linear.linear_equations import linear_equations, nearby
from titop.solvers.linear.linearize import read_ends
from titop.solvers.linear.system_outputs import state_of
from titop.solvers.model.closures import independent_names, reduction
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.model import Model
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.support.checkpoint import Checkpoint, digest
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, died_at

#: Points that are linearised together, at most; and in how many parts a family is, at least.
_CHUNK, _PARTS = 500, 8

#: Lines of points: the preceding line of each (-1 for the first), and the rows of its points.
LineRows = list[tuple[int, Array]]


class Failure(NamedTuple):
    """The reason why there is no operating point: the search's message."""

    reason: str


#: What there is of points that Ctrl-C has left out.
_STOPPED = Failure("not computed: stopped by Ctrl-C")


#: Complete points stay in this process.
AnyPoint = BarePoint | OperatingPoint


@dataclass
class Results:
    """The results at stacked points; NaN without an equilibrium."""

    A: Array
    B: Array
    C: Array
    D: Array
    q: Array
    v: Array
    tau: Array
    u: Array
    x: Array
    y: Array
    a: Array
    drift: Array
    valid: Array
    states: Array

    @classmethod
    def empty(cls, count: int, like: Results) -> Results:
        """Return results for `count` points, all without an equilibrium."""
        arrays = {field.name: getattr(like, field.name) for field in fields(cls) if field.name not in ("valid", "states")}
        blank = {name: np.full((count, *array.shape[1:]), np.nan) for name, array in arrays.items()}
        return cls(**blank, valid=np.zeros(count, dtype=bool), states=like.states)

    def put(self, rows: Array, part: Results) -> None:
        """Write other results into some rows."""
        for field in fields(self):
            if field.name != "states":
                getattr(self, field.name)[rows] = getattr(part, field.name)


@dataclass(frozen=True)
class Recipe:
    """The arguments of `lpv` that apply at every point."""

    names: tuple[str, ...]
    inputs: Any
    outputs: Any
    omit: Any
    hold: Any
    independent: Any
    unknowns: Any
    bounds: Any
    tolerance: float


class FamilyMembers:
    """The computation of a family's members, from a guess for the first point.

    - `failures`: reasons why there is no member, by row of the latest targets;
    - `stopped`: whether Ctrl-C came before the end.
    """

    def __init__(self, guess: OperatingPoint, recipe: Recipe) -> None:
        self.guess, self.recipe, self.stopped = guess, recipe, False
        self.failures: dict[int, str] = {}
        self._linearised_at: tuple[list[AnyPoint], Any] = [], None
        self.ends = read_ends(guess.model, state_of(guess), recipe.inputs, recipe.outputs, recipe.omit, recipe.hold)

    # -- members -------------------------------------------------------------------------------------------------------

    def at_known(self, points: Sequence[OperatingPoint], targets: Array, lines: LineRows, sweep: SweepOf) -> Results:
        """Return the results at given points. Raises `ModelError` where the family's independent coordinates fail."""
        sent = [bare(point, self.guess.model) if sweep.leaves_here else point for point in points]
        with self._spread(sweep) as spread:
            return self._members(sent, targets, lines, spread, sweep.progress)

    def trim(self, targets: Array, lines: LineRows, sweep: SweepOf) -> Results:
        """Return the results at points found by continuation: first the lines' first points in order, then all lines.

        Raises `ConvergenceError` if no point has an equilibrium, and `ModelError` if the family's independent coordinates fail,
        and `KeyboardInterrupt` if nothing is known yet.
        """
        points: list[BarePoint | Failure] = [_STOPPED] * len(targets)
        with self._spread(sweep) as spread:
            starts = self._line_starts(targets, lines, spread)
            with progress_bar(progress=sweep.progress, total=len(targets), unit=" points trimmed") as bar:
                try:
                    for rows, stretch in self._stretches(targets, lines, starts, spread):
                        for row, point in zip(rows, stretch, strict=True):
                            points[row] = point
                        bar.update(len(rows))
                except KeyboardInterrupt:
                    self.stopped = True
                    spread.forget()
                    if all(isinstance(point, Failure) for point in points):
                        raise
            return self._members(points, targets, lines, spread, sweep.progress)

    def _stretches(
        self, targets: Array, lines: LineRows, starts: Sequence[BarePoint | None], spread: Spread
    ) -> Iterator[tuple[Array, list[BarePoint | Failure]]]:
        """Yield rows and points, stretch by stretch; each begins where the one before it on its line has ended."""

        def stretch(line: int, first: int, known: BarePoint | None) -> tuple[Any, Task]:
            rows = lines[line][1][first : first + STRETCH]
            return ("trimmed", line, first), Task(rows, self._span(targets[rows]), "follow_line", (known, targets[rows]))

        tasks = [stretch(line, 0, start) for line, start in enumerate(starts)]
        known = list(starts)
        for (_, line, first), points in spread.results(tasks):
            yield lines[line][1][first : first + STRETCH], points
            there = [point for point in points if isinstance(point, BarePoint)]
            known[line] = there[-1] if there else known[line]
            if first + STRETCH < len(lines[line][1]):
                tasks.append(stretch(line, first + STRETCH, known[line]))

    def _members(
        self, points: Sequence[AnyPoint | Failure], targets: Array, lines: LineRows, spread: Spread, progress: bool
    ) -> Results:
        self.failures = {k: point.reason for k, point in enumerate(points) if isinstance(point, Failure)}
        rows = np.setdiff1d(np.arange(len(points)), [*self.failures])
        if not rows.size:
            advice = "try another guess (q=, v=, ...) or more unknowns"
            found = f"no equilibrium at any point; {advice}; at {self.values(targets[0])}: {self.failures[0]}"
            raise ConvergenceError(found, self.failures)
        there = [point for point in points if not isinstance(point, Failure)]
        independent = self._independent(there, rows, targets, lines)
        self._linearised_at = there, independent
        size = min(_CHUNK, -(-len(rows) // _PARTS))
        cuts, which = {k: rows[k : k + size] for k in range(0, len(rows), size)}, digest(rows)
        tasks = [
            (("linearised", which, k), Task(part, self._span(targets[part]), "linearise", (there[k : k + size], independent)))
            for k, part in cuts.items()
        ]
        whole: Results | None = None
        with progress_bar(progress=progress, total=len(rows), unit=" points linearised") as bar:
            try:
                for (*_, k), part in spread.results(tasks):
                    whole = whole or Results.empty(len(points), part)
                    whole.put(cuts[k], part)
                    bar.update(len(cuts[k]))
            except KeyboardInterrupt:
                self.stopped = True
                if whole is None:
                    raise
        assert whole is not None
        self.failures |= {int(row): _STOPPED.reason for row in rows[~whole.valid[rows]]}
        return whole

    def nearby(self, rows: Array) -> list[tuple[Array, Array]]:
        """Return A and C, twice, next to some of the points linearised last."""
        points, independent = self._linearised_at
        chosen, rng = [self.whole(points[k]) for k in rows], np.random.default_rng(0)
        others = (linear_equations(nearby(chosen, rng), self.ends.inputs, self.ends.outputs, independent) for _ in range(2))
        return [(other.A, other.C) for other in others]

    def whole(self, point: AnyPoint) -> OperatingPoint:
        """Return a complete operating point from one that may be numbers only."""
        return point.on(self.guess.model) if isinstance(point, BarePoint) else point

    def findings(self) -> list[Finding]:
        """Return the warnings about points linearised last: about the first that moves, and what is doubtful at any."""
        points = self._linearised_at[0]
        moving = [point for point in points if point.v.any() or point.a.any()][:1]
        unsteady = (finding for point in moving for finding in steadiness_findings(self.whole(point), "points"))
        return [*unsteady, *doubts((each.model, each.q, each.v) for each in map(self.whole, points))]

    def _independent(self, points: Sequence[AnyPoint], rows: Array, targets: Array, lines: LineRows) -> Any:
        model, asked = self.guess.model, self.recipe.independent
        if not model.is_constrained:
            return asked

        def name(k: int) -> str:
            return self.values(targets[rows[k]])

        before = _neighbours(rows, lines)
        basis = FamilyBasis([self.whole(point) for point in points], before, self.ends.inputs.held, name)
        names = basis.choose() if asked is None else basis.read(asked)
        if model.mechanism.places.all():
            return names
        first = self.whole(points[0])
        reduced = reduction(first.model, first.q, first.v, self.ends.inputs.held, names if asked is None else asked)
        return independent_names(model, reduced.places, reduced.rates)

    def linearise(self, known: Sequence[AnyPoint], independent: Any) -> Results:
        """Return the results at points, in the states of the independent coordinates."""
        model, points = self.guess.model, [self.whole(point) for point in known]
        linear = linear_equations(points, self.ends.inputs, self.ends.outputs, independent)
        q, v, x = (np.array([getattr(point, name) for point in points]) for name in "qvx")
        u = np.array([np.zeros(model.nu) if point.u is None else point.u for point in points])
        y = self._outputs(points, q, v, linear.a, linear.tau)
        matrices, valid = (linear.A, linear.B, linear.C, linear.D), np.ones(len(points), dtype=bool)
        return Results(*matrices, q, v, linear.tau, u, x, y, linear.a, linear.drift, valid, linear.states)

    def _outputs(self, points: Sequence[OperatingPoint], q: Array, v: Array, a: Array, tau: Array) -> Array:
        """Return the outputs (n, outputs); displacements are measured from the neutral configuration."""
        n, origin = len(points), self.guess.model.neutral()
        whole = Snapshot(points[0].model, q, v, a, tau, None, None, origin)
        columns = []
        for group in self.ends.outputs:
            if group.selects:
                columns.append(group.value(whole))
                continue
            rows = [
                Snapshot(point.model, point.q, point.v, a[k], tau[k], point.driving, point.wrenches or None, origin)
                for k, point in enumerate(points)
            ]
            columns.append(np.array([group.value(row) for row in rows]))
        return np.concatenate(columns, axis=1) if columns else np.zeros((n, 0))

    # -- equilibria ----------------------------------------------------------------------------------------------------

    def follow_line(self, start: BarePoint | None, targets: Array) -> list[BarePoint | Failure]:
        """Return the equilibria along a line, starting near its first point."""
        known, points = None if start is None else self.whole(start), []
        for values in targets:
            point = self._point(known, values)
            known = known if isinstance(point, Failure) else point
            points.append(point if isinstance(point, Failure) else bare(point))
        return points

    def _line_starts(self, targets: Array, lines: LineRows, spread: Spread) -> list[BarePoint | None]:
        """Return the equilibrium from which each line starts: that of its first point, or of an earlier line."""
        starts: list[BarePoint | None] = []
        for before, rows in lines:
            known = starts[before] if before >= 0 else None

            def first(known: BarePoint | None = known, values: Array = targets[rows[0]]) -> BarePoint | None:
                point = self._point(None if known is None else self.whole(known), values)
                return known if isinstance(point, Failure) else bare(point)

            starts.append(spread.here(("start", len(starts)), first))
        return starts

    def _point(self, start: OperatingPoint | None, values: Array) -> OperatingPoint | Failure:
        target, recipe = dict(zip(self.recipe.names, values.tolist(), strict=True)), self.recipe
        try:
            branch = Branch(self._unknowns, recipe.bounds, recipe.tolerance, self.guess.q)
            return branch.follow(start or self.guess, target, start is not None)
        except ConvergenceError as error:
            return Failure(str(error))
        except Exception as error:
            error.add_note(f"at {self.values(values)}")
            raise

    @cached_property
    def _unknowns(self) -> tuple[TrimUnknown, ...]:
        varied = TrimUnknowns(self.guess, self.recipe.names)
        return with_dependents(self.guess, TrimUnknowns(self.guess, self.recipe.unknowns).entries, varied.entries)

    def values(self, values: Array) -> str:
        """Return values of the parameters as text."""
        return ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.recipe.names, values, strict=True))

    def _span(self, targets: Array) -> str:
        return " to ".join(dict.fromkeys([self.values(targets[0]), self.values(targets[-1])]))

    def _spread(self, sweep: SweepOf) -> Spread:
        died = died_at(lambda task: task.where)
        if not sweep.leaves_here:
            return Spread(lambda: lambda task: task.run(self), (), 1, died, checkpoint=sweep.checkpoint)
        made = type(self.guess.model.mechanism.engine), self.guess.model.mechanism.assembly, bare(self.guess), self.recipe
        return Spread(_worker, made, sweep.workers, died, "spawn", sweep.checkpoint)


class SweepOf(NamedTuple):
    """How a family is computed."""

    workers: int | Executor
    checkpoint: Checkpoint | None
    progress: bool

    @property
    def leaves_here(self) -> bool:
        """Whether another process computes."""
        return self.workers != 1


class Task(NamedTuple):
    """Points to be computed together: their rows, their description, a method of the family and its arguments."""

    rows: Array
    where: str
    method: str
    arguments: tuple[Any, ...]

    def run(self, family: FamilyMembers) -> Any:
        """Return the method's result; its errors say at which points."""
        try:
            return getattr(family, self.method)(*self.arguments)
        except Exception as error:
            if not hasattr(error, "__notes__"):
                error.add_note(f"at {self.where}")
            raise


def _worker(engine: Any, assembly: Any, guess: BarePoint, recipe: Recipe) -> Callable[[Task], Any]:
    family = FamilyMembers(guess.on(Model(Mechanism(assembly, engine))), recipe)
    return lambda task: task.run(family)


def _neighbours(rows: Array, lines: LineRows) -> list[int]:
    """Return for each of the points in some rows the position of an earlier neighbour, 0 for the first."""
    places = {int(row): place for place, row in enumerate(rows)}
    before, firsts = [0] * len(rows), [0] * len(lines)
    for k, (line_before, line) in enumerate(lines):
        there = [places[row] for row in line.tolist() if row in places]
        firsts[k] = there[0] if there else firsts[max(line_before, 0)]
        for place, previous in zip(there, [firsts[max(line_before, 0)], *there[:-1]], strict=True):
            before[place] = previous
    return before
