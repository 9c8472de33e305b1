"""Equilibria along a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.equilibrium.dependents import with_dependents
from titop.solvers.equilibrium.equations import equation_derivatives
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.path_curve import Curve
from titop.solvers.equilibrium.path_steps import steps_along
from titop.solvers.equilibrium.trim import read_guess, read_tolerance, search
from titop.solvers.equilibrium.unknowns import Unknown, Unknowns
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import UNKNOWN, read_name
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.units import units_of

#: A step that finds no equilibrium is halved so often.
_HALVINGS = 8

#: Along a branch that may cross another one: the longest step, and how many there are at most.
_LONGEST, _STEPS = 0.2, 200


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
) -> list[OperatingPoint]:
    """Follow an equilibrium along a parameter.

    Each equilibrium is the start of the next, corrected by the tangent of the branch. Where none is found, the step is halved.
    Where one is found beyond a crossing of branches, or on another one, the branch is followed as by `equilibrium_path`.

    Parameters
    ----------
    model : Model
    name : str
        What is varied: ``"hinge.q"``, ``"shaft.v"``, ``"hinge.tau"``, an actuator's input or a parameter ``"slider.mass"``.
    values : array_like (n,)
        Its values, one after the other.
    unknowns : sequence of str, optional
        As in `trim`; by default all coordinates (but the varied one). Those that closures and gears make follow the others are
        unknowns in any case.
    steps : int
        Steps from each value to the next: ``values=[0, 10], steps=50`` gives 51 equilibria.
    q, v, tau, u, wrenches, parameters, bounds, tolerance
        As in `trim`; the guess is one for the first value.

    Returns
    -------
    list of OperatingPoint
        One for each value, the steps in between included.

    Raises
    ------
    ModelError
        For unknown names and unusable values.
    ConvergenceError
        Where the branch ends, such as at a fold; the message says at which value, and `found` of the error holds the points
        before.

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
    varied = Unknowns(guess, [name])
    if len(varied.entries) != 1:
        advice = f"choose one of {', '.join(varied.names)}"
        raise ModelError(Finding("not-scalar", "name", name, "something with one value", advice))
    if unknowns is None:
        unknowns = [entry for entry in model.coordinate_names if entry != varied.names[0]]
    read = with_dependents(guess, Unknowns(guess, unknowns).entries, varied.entries)
    found: list[OperatingPoint] = []
    for target in targets:
        start = found[-1] if found else guess
        try:
            found.append(follow(start, {name: target}, read, bounds, tolerance, bool(found), guess.q))
        except ConvergenceError as error:
            raise ConvergenceError(str(error), found) from None
    return found


def follow(
    start: OperatingPoint,
    target: Mapping[str, float],
    unknowns: Sequence[Unknown],
    bounds: Any,
    tolerance: float,
    found: bool,
    axes: Array,
) -> OperatingPoint:
    """Return the equilibrium at some values, from one at others: in one step, or in smaller ones.

    Parameters
    ----------
    start : OperatingPoint
    target : mapping of name to number
    unknowns : sequence of Unknown
    bounds, tolerance
        As in `trim`.
    found : bool
        Whether the start is an equilibrium; else it is a guess, and there is one step only.
    axes : (nq,) array
        The configuration along whose axes positions of free joints are those: one for all steps, which turn them.

    Raises
    ------
    ConvergenceError
        Saying where the equilibria end.
    """
    begin = {name: value_of(start, name) for name in target}
    reached, step, halvings = 0.0, 1.0, 0
    while True:
        part = min(1.0, reached + step)
        values = {name: value if part == 1.0 else begin[name] + part * (value - begin[name]) for name, value in target.items()}
        try:
            point = _step(start, values, unknowns, bounds, tolerance, found, axes)
        except ConvergenceError as error:
            halvings += 1
            if halvings > _HALVINGS or not found:
                at = ", ".join(f"{name} = {value_of(start, name):.6g}" for name in target)
                wanted = ", ".join(f"{value:.6g}" for value in target.values())
                raise ConvergenceError(f"the equilibria end near {at}, before {wanted}: {error}") from None
            step /= 2
            continue
        if part == 1.0:
            return point
        start, reached = point, part


def _step(
    start: OperatingPoint,
    values: Mapping[str, float],
    unknowns: Sequence[Unknown],
    bounds: Any,
    tolerance: float,
    found: bool,
    axes: Array,
) -> OperatingPoint:
    varied, targets = Unknowns(start, list(values)), np.array([*values.values()])
    changes = targets - varied.values()
    searched = Unknowns(varied.valued(targets), unknowns, axes=axes)
    x = tangent(start, list(values), changes, unknowns, axes) / searched.scales if found else None
    point = search(searched, searched.bounds(bounds), tolerance, start=x)
    if not found or None in (start.negative, point.negative) or start.negative == point.negative:
        return point
    onwards = _along_the_branch(Curve(start, list(values), unknowns, changes, tolerance, axes))
    return _step(onwards, values, unknowns, bounds, tolerance, False, axes)


def _along_the_branch(curve: Curve) -> OperatingPoint:
    """Return the point at which a load factor of one is reached first.

    Raises
    ------
    ConvergenceError
        Where the branch ends or turns round before.
    """
    for step in islice(steps_along(curve, curve.begin(), _LONGEST, (-1.0, 1.0)), _STEPS):
        if step.reached.tangent[0] < 0.0:
            break
        if step.end:
            return step.reached.point
    raise ConvergenceError("what is found is on another branch than what was found before")


def tangent(start: OperatingPoint, names: Sequence[str], changes: Array, unknowns: Sequence[Unknown], axes: Array) -> Array:
    """Return how the unknowns follow, to first order, when an equilibrium's varied quantities change: all in their own units.

    `axes` are as in `follow`.
    """
    both, n = Unknowns(start, [*names, *unknowns], axes=axes), len(names)
    moving = bool(start.v.any()) or bool(both.select(Kind.RATE)[0])
    derivatives = equation_derivatives(both, np.zeros(len(both.entries)), moving)
    varied = derivatives[:, :n] @ (changes / both.scales[:n])
    predicted: Array = -np.linalg.lstsq(derivatives[:, n:], varied, rcond=1e-10)[0] * both.scales[n:]
    return predicted


def value_of(point: OperatingPoint, name: str) -> float:
    """Return a quantity's value at a point.

    Raises
    ------
    ModelError
        For quantities that are no plain number.
    """
    value = float(Unknowns(point, [name]).values()[0])
    if np.isnan(value):
        advice = "free and spherical joints' coordinates have no values: vary something else"
        raise ModelError(Finding("no-number", name, name, "a plain number", advice))
    return value


def unit_of(model: Model, name: str) -> str:
    """Return a quantity's unit."""
    return units_of(model, read_name(model, UNKNOWN, name))[0]


def values_of(points: Sequence[OperatingPoint], name: str) -> Array:
    """Return a quantity's values (n) at points of one system; see `value_of`."""
    entry = Unknowns(points[0], [name]).entries[0]
    if entry.kind == Kind.PARAMETER:
        return np.array([point.parameters[name] if name in point.parameters else value_of(point, name) for point in points])
    value_of(points[0], name)
    if entry.kind == Kind.POSITION:
        k = points[0].model.configuration_names.index(entry.name)
        return np.array([point.q[k] for point in points])
    if entry.kind == Kind.INPUT:
        return np.array([0.0 if point.u is None else point.u[entry.number] for point in points])
    return np.array([(point.v if entry.kind == Kind.RATE else point.tau)[entry.number] for point in points])


def _read_values(values: Any, steps: Any) -> Array:
    """Return all values, the steps in between included."""
    numbers = real_array(values)
    if numbers is None or numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
        raise ModelError(Finding("wrong-type", "values", values, "finite numbers", "such as np.linspace(0, 10, 51)"))
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ModelError(Finding("wrong-type", "steps", steps, "a whole number, 1 or more", "count the steps"))
    between = [np.linspace(a, b, steps, endpoint=False) for a, b in pairwise(numbers)]
    return np.concatenate([*between, numbers[-1:]])
