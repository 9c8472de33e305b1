"""Derivatives of recorded numbers by others, recorded too: forward along directions, or backwards from each result.

Griewank and Walther, Evaluating Derivatives, chapter 3. Values that do not depend on the variables cost nothing, and what
several derivatives need is recorded once. Derivatives of a loop are loops: along directions they go with it, backwards from
its last turn to the first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.programs.graph import Graph, Unknown, applied, array_of, chosen_of, product, total
from titop.blocks.programs.program import (
    CARRIED,
    EACH,
    INPUT,
    LOADS,
    LOOP,
    NEXT,
    ONCE,
    OWN,
    SHARED,
    TOTAL,
    TOTALS,
    Program,
    ProgramLoop,
)
from titop.blocks.programs.repetition import recorded_again

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

    def __init__(self, graph: Graph, results: Sequence[Any], variables: Sequence[Unknown] | Array) -> None:
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
            operation, arguments = self.graph.values[place].operation, self.graph.sources(place)
            known, slopes = [self.graph.known(k) for k in arguments], list[Any]()
            if (choice := _CHOICES.get(operation)) is not None:
                chosen, first = choice(*known)
                slopes = [*[0.0] * first, lambda x: chosen_of(chosen, x, 0.0), lambda x: chosen_of(chosen, 0.0, x)]
            else:
                slope = _SLOPES.get(operation)
                slopes[:] = slope(self.graph.known(place), *known) if slope else (0.0,) * len(arguments)
            pairs = zip(arguments, slopes, strict=True)
            self._known[place] = [
                (k, x) for k, x in pairs if k in self.depends and (isinstance(x, Unknown) or callable(x) or x)
            ]
        return self._known[place]


def _times(slope: Any, x: Any) -> Any:
    return slope(x) if callable(slope) else product(slope, x)


def jacobian(results: Array, variables: Sequence[Unknown] | Array, reverse: bool = False) -> Array:
    """Return the derivatives (..., n) of an array of numbers by n variables: any recorded values, seen as independent.

    Forward a sweep for each variable, or in `reverse` one for each result.
    """
    flat = list(np.asarray(results, dtype=object).ravel())
    found = np.full((len(flat), len(variables)), 0.0, dtype=object)
    if len(variables):
        slopes = _Dependence(variables[0].graph, flat, variables)
        if reverse:
            _sweep_back(slopes, flat, found)
        else:
            _sweep(slopes, {variable.place: {k: 1.0} for k, variable in enumerate(variables)}, flat, found)
    return found.reshape(*np.shape(results), len(variables))


def along(results: Array, variables: Sequence[Unknown] | Array, direction: Sequence[Any] | Array) -> Array:
    """Return the derivatives, shaped as the results, along a direction (n) of the variables."""
    flat = list(np.asarray(results, dtype=object).ravel())
    found = np.full((len(flat), 1), 0.0, dtype=object)
    if len(variables):
        slopes = _Dependence(variables[0].graph, flat, variables)
        _sweep(slopes, {x.place: {0: d} for x, d in zip(variables, direction, strict=True)}, flat, found)
    return found.reshape(np.shape(results))


def _sweep(slopes: _Dependence, moved: dict[int, dict[int, Any]], results: Sequence[Any], found: Array) -> None:
    """Fill in derivatives along directions, from those of the variables by the number of the direction; zeros are left out."""
    graph = slopes.graph
    runs: dict[int, dict[int, Callable[[int], Any]]] = {}
    for place in slopes.order:
        if place in slopes.seeds:
            continue
        operation, arguments = graph.values[place]
        if operation == LOOP:
            loop = graph.loops[arguments[0]]
            directions = dict.fromkeys(k for argument in loop.given for k in moved.get(argument, ()))
            changed = ((k, {of: moved[of].get(k, 0.0) for of in loop.given if of in moved}) for k in directions)
            runs[place] = {k: _moved_run(graph, loop, changes) for k, changes in changed}
            continue
        changes: dict[int, Any] = {}
        if operation == TOTAL:
            changes = {k: change_of(arguments[1]) for k, change_of in runs[arguments[0]].items()}
        for argument, slope in slopes.at(place) if operation != TOTAL else ():
            for k, of_argument in moved.get(argument, {}).items():
                change = _times(slope, of_argument)
                changes[k] = total(changes[k], change) if k in changes else change
        moved[place] = {k: change for k, change in changes.items() if isinstance(change, Unknown) or change}
    for row, number in enumerate(results):
        if isinstance(number, Unknown):
            for k, change in moved.get(number.place, {}).items():
                found[row, k] = change


def _sweep_back(slopes: _Dependence, results: Sequence[Any], found: Array) -> None:
    graph = slopes.graph
    for row, number in enumerate(results):
        if not isinstance(number, Unknown):
            continue
        pulled: dict[int, Any] = {number.place: 1.0}
        runs: dict[int, dict[int, Any]] = {}
        for place in reversed(slopes.order):
            operation, arguments = graph.values[place]
            if operation == LOOP and place in runs:
                for argument, weight in _pulled_run(graph, place, runs[place]):
                    if argument in slopes.depends:
                        pulled[argument] = total(pulled.get(argument, 0.0), weight)
            if (weight := pulled.get(place)) is None:
                continue
            if place in slopes.seeds:
                found[row, slopes.seeds[place]] = weight
            elif operation == TOTAL:
                runs.setdefault(arguments[0], {})[arguments[1]] = weight
            else:
                for argument, slope in slopes.at(place):
                    pulled[argument] = total(pulled.get(argument, 0.0), _times(slope, weight))


def replaced(results: Array, values: Mapping[Unknown, Any]) -> Array:
    """Return numbers with others in place of some recorded values."""
    flat = list(np.asarray(results, dtype=object).ravel())
    known: dict[int, Any] = {old.place: new for old, new in values.items() if new is not old}
    unknown = [number for number in flat if isinstance(number, Unknown)]
    if not unknown:
        return np.asarray(results, dtype=object)
    graph, moved = unknown[0].graph, set(known)
    for place in graph.needed(number.place for number in unknown):
        arguments = graph.sources(place)
        if place not in known and not moved.isdisjoint(arguments):
            moved.add(place)
            operation, entries = graph.values[place]
            if operation == LOOP:
                known[place] = graph.looped_again(graph.loops[entries[0]], lambda k: known.get(k, graph.known(k)))
            elif operation == TOTAL:
                known[place] = graph.result(known[entries[0]], entries[1])
            else:
                known[place] = applied(operation, *(known.get(k, graph.known(k)) for k in arguments))
    moved_to = [known.get(number.place, number) if isinstance(number, Unknown) else number for number in flat]
    return array_of(moved_to).reshape(np.shape(results))


# -- loops ---------------------------------------------------------------------------------------------------------------------


def _parts(loop: ProgramLoop, of: Callable[[int], Any]) -> tuple[list[Any], list[Any], list[list[Any]]]:
    """Return numbers that belong to what a loop takes: shared, carried, and rows of loads."""
    loads, n = [of(k) for k in loop.loads], len(loop.points)
    width = len(loads) // max(n, 1)
    rows = [loads[k * width : (k + 1) * width] for k in range(n)]
    return [of(k) for k in loop.shared], [of(k) for k in loop.carried], rows


def _is_some(x: Any) -> bool:
    return isinstance(x, Unknown) or bool(x)


def _moved_run(graph: Graph, loop: ProgramLoop, changes: Mapping[int, Any]) -> Callable[[int], Any]:
    """Return a function of the change of each of a loop's results, from those of the values that it takes."""
    own, start, rows = _parts(loop, graph.known)
    shared, carried, loads = _parts(loop, lambda k: changes.get(k, 0.0))
    moved = tuple(k for k, x in enumerate(shared) if _is_some(x))
    by = tuple(k for k, column in enumerate(zip(*loads, strict=True)) if any(map(_is_some, column)))
    program, (totals, ends, each) = _tangent(loop.program, moved, by), loop.sizes
    given = [x for row, changed in zip(rows, loads, strict=True) for x in (*row, *(changed[k] for k in by))]
    run = graph.looped(program, [*own, *(shared[k] for k in moved)], loop.points, [*start, *carried], given)
    size = len(program.outputs[EACH].values)

    def change_of(k: int) -> Any:
        if k < totals + ends:
            return graph.result(run, k if k < totals else k + ends)
        row, column = divmod(k - totals - ends, each)
        return graph.result(run, totals + 2 * ends + row * size + 2 * ends + column)

    return change_of


@functools.lru_cache(maxsize=256)
def _tangent(program: Program, shared: tuple[int, ...], loads: tuple[int, ...]) -> Program:
    """Return the program of a loop and of its change along a direction, by what it carries and some of what else it takes."""
    inner = Graph()
    given = {name: inner.input(name, size) for name, size in program.inputs.items()}
    results, before = recorded_again(program, given, inner), given[CARRIED]
    changes = [inner.put(INPUT, CARRIED, len(before) + k) for k in range(len(before))]
    moved = [inner.put(INPUT, SHARED, len(given[SHARED]) + k) for k in range(len(shared))]
    moved += [inner.put(INPUT, LOADS, len(given[LOADS]) + k) for k in range(len(loads))]
    variables = [*given[SHARED][[*shared]], *given[LOADS][[*loads]], *before]
    found = {name: along(results[name], variables, [*moved, *changes]) for name in (TOTALS, EACH, NEXT)}
    sizes = dict(program.inputs) | {SHARED: len(given[SHARED]) + len(shared), LOADS: len(given[LOADS]) + len(loads)}
    outputs = {TOTALS: found[TOTALS], ONCE: results[ONCE], EACH: [*before, *changes, *found[EACH]]}
    return inner.program(sizes | {CARRIED: 2 * len(before)}, outputs | {NEXT: [*results[NEXT], *found[NEXT]]})


def _pulled_run(graph: Graph, place: int, weights: Mapping[int, Any]) -> list[tuple[int, Any]]:
    """Return the weights of all values that a loop takes, from those of its results."""
    run, loop = graph.known(place), graph.loops[graph.values[place].arguments[0]]
    (totals, ends, each), (shared, _, rows) = loop.sizes, _parts(loop, graph.known)
    first, backwards = totals + ends, range(len(rows) - 1, -1, -1)
    of_totals = tuple(k for k in range(totals) if k in weights)
    of_each = tuple(sorted({(k - first) % each for k in weights if k >= first}))
    program, given = _adjoint(loop.program, of_totals, of_each), list[Any]()
    for k in backwards:
        at = first + k * each
        given += [*(graph.result(run, at + j) for j in range(ends)), *rows[k], *(weights.get(at + j, 0.0) for j in of_each)]
    carried = [weights.get(totals + k, 0.0) for k in range(ends)]
    back = graph.looped(program, [*shared, *(weights[k] for k in of_totals)], loop.points[::-1], carried, given)
    width, size, end = program.inputs[LOADS] - ends - len(of_each), len(program.outputs[EACH].values), len(shared) + ends
    found = [*zip(loop.shared + loop.carried, (graph.result(back, k) for k in range(end)), strict=True)]
    for k, row in enumerate(backwards):
        found += [(loop.loads[row * width + j], graph.result(back, end + k * size + ends + j)) for j in range(width)]
    return [(argument, weight) for argument, weight in found if _is_some(weight)]


@functools.lru_cache(maxsize=256)
def _adjoint(program: Program, totals: tuple[int, ...], each: tuple[int, ...]) -> Program:
    """Return the program of a loop's turns backwards: of weights on some results, it carries those of what is carried.

    Its loads are what the turn took, carried and loads, and the weights on its results.
    """
    inner = Graph()
    own, carried = inner.input(SHARED, program.inputs[SHARED] + len(totals)), inner.input(CARRIED, program.inputs[CARRIED])
    taken = inner.input(LOADS, len(carried) + program.inputs[LOADS] + len(each))
    shared, of_totals = np.split(own, [program.inputs[SHARED]])
    before, loads, of_each = np.split(taken, [len(carried), len(taken) - len(each)])
    given = {SHARED: shared, OWN: inner.input(OWN, program.inputs[OWN]), LOADS: loads, CARRIED: before}
    results = recorded_again(program, given, inner)
    known = np.concatenate([results[TOTALS][[*totals]], results[EACH][[*each]], results[NEXT]])
    whole = array_of([known @ np.concatenate([of_totals, of_each, carried])])
    found = jacobian(whole, [*shared, *before, *loads], reverse=True)[0]
    by_shared, by_carried, by_loads = np.split(found, [len(shared), len(shared) + len(before)])
    sizes = dict(program.inputs) | {SHARED: len(own), LOADS: len(taken)}
    outputs = {TOTALS: by_shared, ONCE: np.zeros(len(by_shared)), EACH: [*carried, *by_loads], NEXT: by_carried}
    return inner.program(sizes, outputs)


def slopes(function: Callable[[Array], Any], moved: Callable[[Array], Array], count: int, graph: Graph) -> tuple[Array, Array]:
    """Return ``function(moved(x))`` and its derivatives (count, ...) by x (count) at zero."""
    steps = graph.fresh(count)
    values, rest = np.asarray(function(moved(steps)), dtype=object), dict.fromkeys(steps, 0.0)
    return replaced(values, rest), np.moveaxis(replaced(jacobian(values, list(steps)), rest), -1, 0)
