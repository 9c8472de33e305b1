"""Derivatives of recorded numbers by others, recorded too: forward along directions, or backwards from each result.

Griewank and Walther, Evaluating Derivatives, chapter 3. Values that do not depend on the variables cost nothing, and what
several derivatives need is recorded once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.programs.graph import Graph, Unknown, applied, array_of, chosen_of, product, total
from titop.blocks.programs.program import CONSTANT, EACH, INPUT, LOADS, ONCE, OWN, SHARED, TOTAL, TOTALS, Output, Program

#: Derivatives of an operation by its arguments, from these and its result; those that are zero everywhere are left out.
_SLOPES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda y, a, b: (1.0, 1.0),
    "subtract": lambda y, a, b: (1.0, -1.0),
    "multiply": lambda y, a, b: (b, a),
    "divide": lambda y, a, b: (1.0 / b, -y / b),
    "negate": lambda y, a: (-1.0,),
    "power": lambda y, a, b: (b * a ** (b - 1.0), y * applied("log", a) if isinstance(b, Unknown) else 0.0),
    "atan2": lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "sqrt": lambda y, a: (0.5 / y,),
    "exp": lambda y, a: (y,),
    "expm1": lambda y, a: (y + 1.0,),
    "log": lambda y, a: (1.0 / a,),
    "log1p": lambda y, a: (1.0 / (1.0 + a),),
    "sin": lambda y, a: (applied("cos", a),),
    "cos": lambda y, a: (-applied("sin", a),),
    "tan": lambda y, a: (1.0 + y * y,),
    "asin": lambda y, a: (1.0 / applied("sqrt", (1.0 - a) * (1.0 + a)),),
    "acos": lambda y, a: (-1.0 / applied("sqrt", (1.0 - a) * (1.0 + a)),),
    "atan": lambda y, a: (1.0 / (1.0 + a * a),),
    "sinh": lambda y, a: (applied("cosh", a),),
    "cosh": lambda y, a: (applied("sinh", a),),
    "tanh": lambda y, a: ((1.0 - y) * (1.0 + y),),
    "asinh": lambda y, a: (1.0 / applied("sqrt", 1.0 + a * a),),
    "acosh": lambda y, a: (1.0 / applied("sqrt", (a - 1.0) * (a + 1.0)),),
    "atanh": lambda y, a: (1.0 / ((1.0 - a) * (1.0 + a)),),
    "absolute": lambda y, a: (applied("sign", a),),
}
#: Operations that choose, and what decides: of the first argument on, or between the two.
_CHOICES: dict[str, Callable[..., tuple[Any, int]]] = {
    "select": lambda chosen, x, y: (chosen, 1),
    "minimum": lambda x, y: (applied("less", x, y), 0),
    "maximum": lambda x, y: (applied("less", y, x), 0),
}


class _Dependence:
    """The values of a graph on the way from variables to results, with the derivatives of each by its arguments."""

    def __init__(self, graph: Graph, results: Sequence[Any], variables: Sequence[Unknown]) -> None:
        self.graph = graph
        self.seeds = {variable.place: k for k, variable in enumerate(variables)}
        self.depends = set(self.seeds)
        self.order = []
        for place in graph.needed(number.place for number in results if isinstance(number, Unknown)):
            if place in self.seeds or not self.depends.isdisjoint(graph.sources(place)):
                self.depends.add(place)
                self.order.append(place)
        self._known: dict[int, list[tuple[int, Any]]] = {}

    def at(self, place: int) -> list[tuple[int, Any]]:
        """Return a value's arguments that depend on the variables, each with the derivative by it; choices have functions."""
        if place not in self._known:
            (operation, entries), arguments = self.graph.values[place], self.graph.sources(place)
            known = [self.graph.known(k) for k in arguments]
            if operation == TOTAL:
                slopes: Sequence[Any] = list(_slopes_of_loop(self.graph, *entries))
            elif (choice := _CHOICES.get(operation)) is not None:
                chosen, first = choice(*known)
                slopes = [*[0.0] * first, lambda x: chosen_of(chosen, x, 0.0), lambda x: chosen_of(chosen, 0.0, x)]
            else:
                slope = _SLOPES.get(operation)
                slopes = slope(self.graph.known(place), *known) if slope else (0.0,) * len(arguments)
            pairs = zip(arguments, slopes, strict=True)
            self._known[place] = [
                (k, x) for k, x in pairs if k in self.depends and (isinstance(x, Unknown) or callable(x) or x)
            ]
        return self._known[place]


def _times(slope: Any, x: Any) -> Any:
    return slope(x) if callable(slope) else product(slope, x)


def jacobian(results: Array, variables: Sequence[Unknown], reverse: bool = False) -> Array:
    """Return the derivatives (..., n) of an array of numbers by n variables: any recorded values, seen as independent.

    Forward a sweep for each variable, or in `reverse` one for each result.
    """
    flat = list(np.asarray(results, dtype=object).ravel())
    found = np.zeros((len(flat), len(variables)), dtype=object)
    found.fill(0.0)
    if variables:
        slopes = _Dependence(variables[0].graph, flat, variables)
        if reverse:
            _sweep_back(slopes, flat, found)
        else:
            for k, variable in enumerate(variables):
                _sweep(slopes, {variable.place: 1.0}, flat, found[:, k])
    return found.reshape(*np.shape(results), len(variables))


def along(results: Array, variables: Sequence[Unknown], direction: Sequence[Any]) -> Array:
    """Return the derivatives, shaped as the results, along a direction (n) of the variables."""
    flat = list(np.asarray(results, dtype=object).ravel())
    found = array_of([0.0] * len(flat))
    if variables:
        slopes = _Dependence(variables[0].graph, flat, variables)
        _sweep(slopes, {x.place: d for x, d in zip(variables, direction, strict=True)}, flat, found)
    return found.reshape(np.shape(results))


def _sweep(slopes: _Dependence, moved: dict[int, Any], results: Sequence[Any], found: Array) -> None:
    for place in slopes.order:
        if place in slopes.seeds:
            continue
        change: Any = 0.0
        for argument, slope in slopes.at(place):
            if (of_argument := moved.get(argument)) is not None:
                change = total(change, _times(slope, of_argument))
        if isinstance(change, Unknown) or change:
            moved[place] = change
    for row, number in enumerate(results):
        if isinstance(number, Unknown):
            found[row] = moved.get(number.place, 0.0)


def _sweep_back(slopes: _Dependence, results: Sequence[Any], found: Array) -> None:
    for row, number in enumerate(results):
        if not isinstance(number, Unknown):
            continue
        pulled: dict[int, Any] = {number.place: 1.0}
        for place in reversed(slopes.order):
            if (weight := pulled.get(place)) is None:
                continue
            if place in slopes.seeds:
                found[row, slopes.seeds[place]] = weight
                continue
            for argument, slope in slopes.at(place):
                pulled[argument] = total(pulled.get(argument, 0.0), _times(slope, weight))


def replaced(results: Array, values: Mapping[Unknown, Any]) -> Array:
    """Return numbers with others in place of some recorded values."""
    flat = list(np.asarray(results, dtype=object).ravel())
    known: dict[int, Any] = {old.place: new for old, new in values.items()}
    unknown = [number for number in flat if isinstance(number, Unknown)]
    if not unknown:
        return np.asarray(results, dtype=object)
    graph, moved = unknown[0].graph, set(known)
    for place in graph.needed(number.place for number in unknown):
        arguments = graph.sources(place)
        if place not in known and not moved.isdisjoint(arguments):
            moved.add(place)
            (operation, entries), new = graph.values[place], [known.get(k, graph.known(k)) for k in arguments]
            if operation == TOTAL:
                loop = graph.loops[entries[0]]
                known[place] = graph.summed(loop.program, new, loop.points)[entries[1]]
            else:
                known[place] = applied(operation, *new)
    moved_to = [known.get(number.place, number) if isinstance(number, Unknown) else number for number in flat]
    return array_of(moved_to).reshape(np.shape(results))


def recorded_again(program: Program, inputs: Mapping[str, Array], graph: Graph) -> dict[str, Array]:
    """Return the outputs of a program, of numbers that are not known yet in place of its inputs."""
    known: list[Any] = []
    for operation, arguments in program.values:
        if operation == CONSTANT:
            known.append(arguments[0])
        elif operation == INPUT:
            known.append(inputs[arguments[0]][arguments[1]])
        elif operation == TOTAL:
            loop = program.loops[arguments[0]]
            known.append(graph.summed(loop.program, [known[k] for k in loop.shared], loop.points)[arguments[1]])
        else:
            known.append(applied(operation, *(known[k] for k in arguments)))
    return {name: array_of([known[k] for k in row]).reshape(shape) for name, (row, shape) in program.outputs.items()}


def _slopes_of_loop(graph: Graph, loop: int, entry: int) -> Array:
    """Return the derivatives of a total of a loop by the numbers that its points share: totals of another loop."""
    program, shared, points = graph.loops[loop]
    found = graph.summed(_by_shared(program), map(graph.known, shared), points)
    return found.reshape(-1, len(shared))[entry]


@functools.lru_cache(maxsize=64)
def _by_shared(program: Program) -> Program:
    """Return the program of the derivatives (k x n, row by row) of all totals by what points share."""
    inner = Graph()
    given = {name: inner.input(name, size) for name, size in program.inputs.items()}
    found = program.evaluate({name: numbers[None] for name, numbers in given.items()})
    derived = {name: jacobian(found[name][0], list(given[SHARED])).ravel() for name in (ONCE, TOTALS)}
    return inner.program(program.inputs, {**derived, EACH: np.zeros(0)})


def summed(function: Callable[[Array, Array], Array], shared: Array, points: Array) -> Array:
    """Return ``function(shared, points)``, a sum over points (k, m) with numbers (n) that they share.

    Of numbers that are not known yet it is recorded for one point, in a loop over all.
    """
    graph = graph_of(shared)
    if graph is None:
        return function(shared, points)
    inner, sizes = Graph(), {SHARED: len(shared), OWN: points.shape[1], LOADS: 0}
    numbers, own = (inner.input(name, sizes[name]) for name in (SHARED, OWN))
    totals = np.asarray(function(numbers, own[None]), dtype=object)
    program = inner.program(sizes, {ONCE: np.zeros(totals.size), TOTALS: totals.ravel(), EACH: np.zeros(0)})
    return graph.summed(program, shared, points).reshape(totals.shape)


def totals_of(program: Program, shared: Array, points: Array) -> Array:
    """Return the totals of a program of many points, also of numbers that are not known yet."""
    graph = graph_of(shared)
    if graph is None:
        return program.at_points(shared, points)[0]
    kept = {name: program.outputs[name] for name in (ONCE, TOTALS)}
    return graph.summed(dataclasses.replace(program, outputs={**kept, EACH: Output((), (0,))}), shared, points)


def slopes(function: Callable[[Array], Any], moved: Callable[[Array], Array], count: int, graph: Graph) -> tuple[Array, Array]:
    """Return ``function(moved(x))`` and its derivatives (count, ...) by x (count) at zero."""
    steps = graph.fresh(count)
    values, rest = np.asarray(function(moved(steps)), dtype=object), dict.fromkeys(steps, 0.0)
    return replaced(values, rest), np.moveaxis(replaced(jacobian(values, list(steps)), rest), -1, 0)


def graph_of(numbers: Array) -> Graph | None:
    """Return the graph of an array of numbers; None if none of them is unknown."""
    if numbers.dtype != object:
        return None
    return next((number.graph for number in numbers.flat if isinstance(number, Unknown)), None)
