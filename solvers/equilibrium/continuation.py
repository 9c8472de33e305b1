"""Equilibria along a parameter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import RANK
from titop.blocks.basics.user_input import is_row, read_array
from titop.solvers.equilibrium.curve import Curve, steps_along
from titop.solvers.equilibrium.equations import AccelerationEquations
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.search import search
from titop.solvers.equilibrium.trim import read_guess, read_steps, read_tolerance
from titop.solvers.equilibrium.unknowns import TrimUnknown, TrimUnknowns, with_dependents
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model
from titop.solvers.signals.grammar import UNKNOWN, read_name
from titop.solvers.signals.quantities import units_of
from titop.solvers.support.checkpoint import Checkpoint, identity
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, SweepInterrupt, died_at, read_workers

#: A step without an equilibrium is halved so often.
_HALVINGS = 8

#: Along a branch that may cross another one: the longest step, and the largest number of steps.
_LONGEST, _STEPS = 0.2, 200

#: Points of a branch that are computed between two answers of a process.
STRETCH = 20


@dataclass(frozen=True)
class BarePoint:
    """The numbers of an operating point, to be sent to another process, and what the search has told of it."""

    q: Array
    v: Array
    tau: Array
    u: Array | None
    wrenches: Any
    parameters: Any
    x: Array
    a: Array
    findings: dict[str, Any]

    def on(self, model: Model) -> OperatingPoint:
        """Return the operating point, to the last bit, for a model."""
        changed = changed_model(model, self.parameters) if self.parameters else model
        members = {name: value for name, value in vars(self).items() if name != "findings"}
        return OperatingPoint.of_members(members | self.findings | {"model": changed})


def bare(point: OperatingPoint, model: Model | None = None) -> BarePoint:
    """Return a point's numbers; with a model, also the parameters in which the point's own model differs from it."""
    parameters = dict(point.parameters)
    if model is not None and point.model is not model:
        known = model.parameters()
        parameters |= {name: value for name, (value, _) in point.model.parameters().items() if value != known[name][0]}
    findings = {name: getattr(point, name) for name in ("unknowns", "rank", "free", "overdetermined", "negative")}
    return BarePoint(point.q, point.v, point.tau, point.u, point.wrenches, parameters, point.x, point.a, findings)


def trim_along(
    model: Model,
    name: str,
    values: Any,
    unknowns: Sequence[str] | str | None = None,
    steps: int = 1,
    q: Any = None,
    v: Any = None,
    tau: Any = None,
    u: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    bounds: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    workers: int | Executor = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[OperatingPoint]:
    """Follow an equilibrium along a parameter.

    Each equilibrium is the guess for the next, corrected along the tangent of the branch. If none is found, the step is halved.
    If one is found beyond a crossing of branches, or on another branch, the branch is followed as by `equilibrium_path`.

    Parameters
    ----------
    model : Model
    name : str
        The quantity to vary: ``"hinge.q"``, ``"shaft.v"``, ``"base.z.a"``, ``"hinge.tau"``, an actuator's input or a parameter
        ``"slider.mass"``.
    values : array_like (n,)
        Its values, in this order.
    unknowns : sequence of str, optional
        As in `trim`; by default all coordinates except the varied one. Coordinates that depend on others through closures and
        gears are always unknowns.
    steps : int
        Steps from each value to the next: ``values=[0, 10], steps=50`` gives 51 equilibria.
    q, v, tau, u, wrenches, parameters, bounds, tolerance
        As in `trim`; the guess is for the first value.
    workers : int or Executor
        Where the branch is followed: see `monte_carlo`. As each point is the guess for the next, one process works at a time,
        and several are no faster; another takes over where it dies.
    checkpoint : str or path, optional
        A file from which the branch goes on when it is followed again: see `monte_carlo`. At most twenty points are lost.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    list of OperatingPoint
        One for each value, including the steps in between.

    Raises
    ------
    ModelError
        For unknown names and unusable values.
    ConvergenceError
        Where the branch ends, such as at a fold; the message gives the value, and `found` of the error has the points before
        it.
    SweepInterrupt
        On Ctrl-C; its `found` has the points computed until then, but for the last twenty.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> points = tt.trim_along(s.resolve(), "hinge.tau", [0.0, 15.0], steps=3)
    >>> [round(float(point.q[0]), 4) for point in points]
    [0.0, 0.2577, 0.5348, 0.8703]
    """
    targets, tolerance = _read_values(values, steps), read_tolerance(tolerance)
    guess = read_guess(model, q, v, tau, u, wrenches, parameters)
    varied = single_unknown(guess, name, "name")
    if unknowns is None:
        unknowns = [entry for entry in model.coordinate_names if entry != varied.names[0]]
    sought = with_dependents(guess, TrimUnknowns(guess, unknowns).entries, varied.entries)
    keeper = None
    if checkpoint is not None:
        about = {"model": identity(model), "values": (name, targets), "guess": bare(guess, model)}
        about["options"] = [entry.name for entry in sought], bounds, tolerance
        keeper = Checkpoint(checkpoint, "trim_along", about, (BarePoint,))
    made, points = (_follow_stretch, guess, name, Branch(sought, bounds, tolerance, guess.q)), list[BarePoint]()
    died = died_at(lambda task: f"values {task[1][0]:.6g} to {task[1][-1]:.6g}")
    spread = Spread(partial, made, read_workers(workers), died, checkpoint=keeper)
    try:
        with spread, progress_bar(progress=progress, total=len(targets), unit=" points trimmed") as bar:
            for first in range(0, len(targets), STRETCH):
                spread.ask(first, (points[-1] if points else None, targets[first : first + STRETCH]))
                reached, end = spread.answer(first)
                points += reached
                bar.update(len(reached))
                if end:
                    raise ConvergenceError(end, [point.on(model) for point in points])
    except KeyboardInterrupt:
        stopped = f"stopped after {len(points)} of {len(targets)} points: they are the .found of this exception"
        raise SweepInterrupt(stopped, [point.on(model) for point in points]) from None
    return [point.on(model) for point in points]


def _follow_stretch(
    guess: OperatingPoint, name: str, branch: Branch, task: tuple[BarePoint | None, Array]
) -> tuple[list[BarePoint], str]:
    """Return the points of a stretch of a branch, and why there are no more, if the branch ends."""
    before, targets = task
    point = None if before is None else before.on(guess.model)
    points: list[BarePoint] = []
    for target in targets.tolist():
        try:
            point = branch.follow(point or guess, {name: target}, point is not None)
        except ConvergenceError as error:
            return points, str(error)
        points.append(bare(point))
    return points, ""


def single_unknown(guess: OperatingPoint, name: str, where: str) -> TrimUnknowns:
    """Return the unknown that a name stands for, a single quantity. Raises `ModelError` if it stands for several quantities."""
    varied = TrimUnknowns(guess, [name])
    if len(varied.entries) != 1:
        advice = f"choose one of {', '.join(varied.names)}"
        raise ModelError(Finding("not-scalar", where, name, "something with one value", advice))
    return varied


class Branch(NamedTuple):
    """What stays the same along a branch of equilibria.

    `axes` (nq): the configuration whose axes the positions of free joints are measured along: steps turn these.
    """

    unknowns: Sequence[TrimUnknown]
    bounds: Any
    tolerance: float
    axes: Array

    def follow(self, start: OperatingPoint, target: Mapping[str, float], is_equilibrium: bool) -> OperatingPoint:
        """Return the equilibrium at some values, from one at other values: in one step, or in smaller ones.

        A start that is no equilibrium is a guess, and only one step is made.

        Raises `ConvergenceError` with the values at which the equilibria end.
        """
        begin = {name: value_of(start, name) for name in target}
        reached, step, halvings = 0.0, 1.0, 0
        while True:
            part = min(1.0, reached + step)
            values = {name: end if part == 1.0 else begin[name] + part * (end - begin[name]) for name, end in target.items()}
            try:
                point = self.step(start, values, is_equilibrium)
            except ConvergenceError as error:
                halvings += 1
                if halvings > _HALVINGS or not is_equilibrium:
                    at = ", ".join(f"{name} = {value_of(start, name):.6g}" for name in target)
                    wanted = ", ".join(f"{value:.6g}" for value in target.values())
                    raise ConvergenceError(f"the equilibria end near {at}, before {wanted}: {error}") from None
                step /= 2
                continue
            if part == 1.0:
                return point
            start, reached = point, part

    def step(self, start: OperatingPoint, values: Mapping[str, float], is_equilibrium: bool) -> OperatingPoint:
        """Return the equilibrium at some values, from a start, in one step."""
        varied, targets = TrimUnknowns(start, list(values)), np.array([*values.values()])
        changes = targets - varied.values()
        sought = TrimUnknowns(varied.with_values(targets), self.unknowns, axes=self.axes)
        x = self._tangent(start, list(values), changes) / sought.scales if is_equilibrium else None
        point = search(sought, self.bounds, self.tolerance, start=x)
        if not is_equilibrium or None in (start.negative, point.negative) or start.negative == point.negative:
            return point
        curve = Curve(start, list(values), self.unknowns, changes, self.tolerance, self.axes)
        return self.step(_along_the_branch(curve), values, False)

    def _tangent(self, start: OperatingPoint, names: Sequence[str], changes: Array) -> Array:
        both, n = TrimUnknowns(start, [*names, *self.unknowns], axes=self.axes), len(names)
        derivatives = AccelerationEquations(both).derivatives(np.zeros(len(both.entries)))
        varied, by_unknowns = derivatives[:, :n] @ (changes / both.scales[:n]), derivatives[:, n:]
        rank = RANK * max(1.0, 1.0 / (np.linalg.norm(by_unknowns) or 1.0))  # one is an effect that can be seen
        return np.asarray(-np.linalg.pinv(by_unknowns, rank) @ varied * both.scales[n:])


def search_again(
    model: Model,
    guess: Mapping[str, Array],
    target: Mapping[str, float],
    unknowns: Sequence[str] | str,
    bounds: Any,
    tolerance: float,
    wrenches: Mapping[str, Array] | None,
) -> OperatingPoint:
    """Return the equilibrium at some values by name, searched from a guess: ``q, v, tau``, inputs ``u`` and states ``x``."""
    u = guess["u"] if model.nu else None
    start = OperatingPoint(model, guess["q"], guess["v"], guess["tau"], u, wrenches, x=guess["x"]).undisturbed
    sought = with_dependents(start, TrimUnknowns(start, unknowns).entries, TrimUnknowns(start, list(target)).entries)
    return Branch(sought, bounds, tolerance, start.q).step(start, target, False).of(model)


def _along_the_branch(curve: Curve) -> OperatingPoint:
    """Return the first point with a load factor of one; refuse branches that end or turn round before it."""
    for step in islice(steps_along(curve, curve.begin(), _LONGEST, (-1.0, 1.0)), _STEPS):
        if step.reached.tangent[0] < 0.0:
            break
        if step.end:
            return step.reached.point
    raise ConvergenceError("what is found is on another branch than what was found before")


def value_of(point: OperatingPoint, name: str) -> float:
    """Return a quantity's value at a point. Raises `ModelError` for quantities that are not a single number."""
    value = float(TrimUnknowns(point, [name]).values()[0])
    if np.isnan(value):
        advice = "free and spherical joints' coordinates have no values: vary something else"
        raise ModelError(Finding("no-number", name, name, "a plain number", advice))
    return value


def unit_of(model: Model, name: str) -> str:
    """Return a quantity's unit."""
    return units_of(model, read_name(model, UNKNOWN, name))[0]


def values_of(points: Sequence[OperatingPoint], name: str) -> Array:
    """Return a quantity's values (n) at points of one system; see `value_of`."""
    value_of(points[0], name)
    entries = TrimUnknowns(points[0], [name]).entries
    known = (point.parameters.get(name) for point in points)
    pairs = zip(points, known, strict=True)
    return np.array([TrimUnknowns(point, entries).values()[0] if value is None else value for point, value in pairs])


def _read_values(values: Any, steps: Any) -> Array:
    numbers = read_array(Finding("wrong-type", "values", values, "finite numbers", "such as np.linspace(0, 10, 51)"), is_row)
    steps = read_steps("steps", steps)
    between = [np.linspace(a, b, steps, endpoint=False) for a, b in pairwise(numbers)]
    return np.concatenate([*between, numbers[-1:]])
