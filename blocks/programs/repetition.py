"""What is done again and again, row by row: ordinary NumPy of known numbers, and of unknown ones a loop in the program.

Functions may look at any numbers around them: what does not depend on the row is computed before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.programs.graph import Graph, Unknown, applied, array_of, product
from titop.blocks.programs.program import (
    CARRIED,
    CONSTANT,
    EACH,
    INPUT,
    LOADS,
    LOOP,
    NEXT,
    ONCE,
    OPERATIONS,
    OWN,
    SHARED,
    TOTAL,
    TOTALS,
    Program,
)

_NONE = np.zeros(0)
#: A turn: from what is carried, and a row, to what is summed, what is carried on, and what stays of the turn.
_Turn = Callable[[list[Any], list[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]


def for_each(function: Callable[..., tuple[Array, ...]], *rows: Array, of: Array = _NONE) -> tuple[Array, ...]:
    """Return ``function(*rows)``: arrays of as many rows as those given, each of which follows from these and `of` alone."""
    graph = graph_of(of, *rows)
    if graph is None or len(rows[0]) <= 1:
        return function(*rows)
    shapes: list[tuple[int, ...]] = []

    def turn(_: list[Any], row: list[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        found = [np.asarray(each[0], dtype=object) for each in function(*_unpacked(row, rows))]
        shapes[:] = [each.shape for each in found]
        return (), (), _packed(found)

    each = _looped(graph, turn, [], _table(rows))[1]
    return _parted(each, shapes)


def repeated(
    step: Callable[..., tuple[Array, ...]], start: tuple[Array, ...], *rows: Array, of: Array = _NONE
) -> tuple[Array, ...]:
    """Return what ``carried = step(*carried, *row)`` carries from row to row, before all and after each (n + 1, ...)."""
    graph = graph_of(of, *start, *rows)
    if graph is None or len(rows[0]) <= 1:
        kept = [start]
        for row in zip(*rows, strict=True):
            kept.append(step(*kept[-1], *row))
        return tuple(np.stack(np.broadcast_arrays(*each)) for each in zip(*kept, strict=True))
    shapes = [np.shape(each) for each in start]

    def turn(carried: list[Any], row: list[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        before, given = _parted(array_of(carried)[None], shapes), _unpacked(row, rows)
        after = _packed(step(*(each[0] for each in (*before, *given))))
        return (), after, after

    first = _packed(start)
    each = _looped(graph, turn, first, _table(rows))[1]
    return _parted(np.vstack([array_of(first), each]), shapes)


def summed(function: Callable[..., Array], *rows: Array, of: Array = _NONE) -> Array:
    """Return ``function(*rows)``: sums over rows of what follows from each row alone, and from `of`."""
    graph = graph_of(of, *rows)
    if graph is None or len(rows[0]) <= 1:
        return function(*rows)
    shape: list[int] = []

    def turn(_: list[Any], row: list[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        found = np.asarray(function(*_unpacked(row, rows)), dtype=object)
        shape[:] = found.shape
        return found.ravel().tolist(), (), ()

    return _looped(graph, turn, [], _table(rows))[0].reshape(shape)


def totals_of(program: Program, shared: Array, points: Array) -> Array:
    """Return the totals of a program of many points, also of numbers that are not known yet."""
    if (graph := graph_of(shared)) is None:
        return program.at_points(shared, points)[0]
    none = np.zeros(program.inputs[LOADS])

    def at(rows: Array, output: str = TOTALS) -> Array:
        return recorded_again(program, {SHARED: shared, OWN: rows[0], LOADS: none}, graph)[output]

    return at(points, ONCE) + summed(at, points, of=shared)


def recorded_again(program: Program, inputs: Mapping[str, Array], graph: Graph) -> dict[str, Array]:
    """Return the outputs of a program, of numbers that are not known yet in place of its inputs."""
    known: list[Any] = []
    for operation, arguments in program.values:
        if operation == CONSTANT:
            known.append(arguments[0])
        elif operation == INPUT:
            known.append(inputs[arguments[0]][arguments[1]])
        elif operation == LOOP:
            known.append(graph.looped_again(program.loops[arguments[0]], known.__getitem__))
        elif operation == TOTAL:
            known.append(graph.result(known[arguments[0]], arguments[1]))
        else:
            known.append(applied(operation, *(known[k] for k in arguments)))
    return {name: array_of([known[k] for k in row]).reshape(shape) for name, (row, shape) in program.outputs.items()}


def graph_of(*arrays: Array) -> Graph | None:
    """Return the graph of some arrays of numbers; None if none of these is unknown."""
    objects = (numbers for numbers in arrays if numbers.dtype == object)
    return next((number.graph for numbers in objects for number in numbers.flat if isinstance(number, Unknown)), None)


def _looped(graph: Graph, turn: _Turn, start: list[Any], rows: Array) -> tuple[Array, Array]:
    """Record a turn once, for all rows (n, m); return the totals, and what stays of each turn (n, k).

    Columns that are alike are one. What all rows have, and what is carried on as it was, is no number of the loop.
    """
    row, columns = _columns(graph, rows)
    carried, kept = [*graph.fresh(len(start))], [*start]
    while True:
        totals, after, each = turn(kept, row)
        moved = [k for k, x in enumerate(kept) if x is not carried[k] and _key(after[k]) != _key(x)]
        if not moved:
            break
        for k in moved:
            kept[k] = carried[k]
    turning = [k for k, x in enumerate(kept) if x is carried[k]]
    given = {name: [row[k] for k in of] for name, of in columns.items()} | {CARRIED: [carried[k] for k in turning]}
    program, shared, places = _body(
        graph, given, {TOTALS: totals, NEXT: [after[k] for k in turning], EACH: [*given[CARRIED], *each]}
    )
    own = rows[:, columns[OWN]].astype(float)
    run = graph.looped(program, shared, own, [start[k] for k in turning], rows[:, columns[LOADS]].ravel())
    ends = len(program.outputs[TOTALS].values)
    first, size = ends + len(turning), len(program.outputs[EACH].values)
    pairs = zip(totals, places[TOTALS], strict=True)
    sums = [product(len(rows), x) if at is None else graph.result(run, at) for x, at in pairs]
    found = np.empty((len(rows), len(each)), dtype=object)
    for j, (x, at) in enumerate(zip(each, places[EACH][len(turning) :], strict=True)):
        for k in range(len(rows)):
            found[k, j] = x if at is None else graph.result(run, first + k * size + at)
    return array_of(sums), found


def _columns(graph: Graph, rows: Array) -> tuple[list[Any], dict[str, list[int]]]:
    """Return what stands for a row, and which columns are known in all rows, and which are not."""
    row, known, columns = [*rows[0]], dict[Any, Any](), dict[str, list[int]]({OWN: [], LOADS: []})
    for j, column in enumerate(rows.T):
        keys = tuple(map(_key, column))
        if len({*keys}) == 1:
            continue
        if keys not in known:
            known[keys] = graph.fresh(1)[0]
            columns[LOADS if any(isinstance(x, Unknown) for x in column) else OWN].append(j)
        row[j] = known[keys]
    return row, columns


def _body(
    graph: Graph, given: dict[str, list[Any]], results: dict[str, Sequence[Any]]
) -> tuple[Program, list[Any], dict[str, list[int | None]]]:
    """Return the program of a turn, what all turns share, and where each result is among its outputs, None if in no turn."""
    inner, shared = Graph(), dict[int, Any]()
    known = {x.place: inner.put(INPUT, name, k) for name, of in given.items() for k, x in enumerate(of)}
    unknown = [x.place for of in results.values() for x in of if isinstance(x, Unknown)]

    def argument(k: int) -> Any:
        if k not in known and isinstance(x := graph.known(k), Unknown):
            return shared.setdefault(k, (x, inner.put(INPUT, SHARED, len(shared))))[1]
        return known.get(k, graph.known(k))

    for place in graph.needed(unknown, min(known, default=len(graph.values))):
        operation, arguments = graph.values[place]
        if place not in known and any(k in known for k in graph.sources(place)):
            if operation not in OPERATIONS:
                raise TypeError("a loop inside a loop")
            known[place] = applied(operation, *map(argument, arguments))
    outputs, places = dict[str, list[Any]](), dict[str, list[int | None]]()
    for name, of in results.items():
        taken: dict[Any, int] = {}
        outputs[name], places[name] = [], []
        for x in of:
            new = known.get(x.place, x) if isinstance(x, Unknown) else x
            if name == NEXT and isinstance(x, Unknown):
                new = argument(x.place)
            elif new is x and name != NEXT:
                places[name].append(None)
                continue
            key = _key(new) if name != NEXT else len(taken)
            if key not in taken:
                taken[key] = len(taken)
                outputs[name].append(new)
            places[name].append(taken[key])
    sizes = {SHARED: len(shared)} | {name: len(of) for name, of in given.items()}
    program = inner.program(sizes, outputs | {ONCE: np.zeros(len(outputs[TOTALS]))})
    return graph.interned(program), [x for x, _ in shared.values()], places


def _key(x: Any) -> Any:
    return (x.place,) if isinstance(x, Unknown) else x


def _packed(arrays: Sequence[Array]) -> list[Any]:
    return [x for array in arrays for x in np.asarray(array, dtype=object).ravel()]


def _parted(rows: Array, shapes: Sequence[tuple[int, ...]]) -> tuple[Array, ...]:
    """Return the arrays (n, ...) of these shapes in rows (n, k)."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    return tuple(part.reshape(len(rows), *shape) for part, shape in zip(np.split(rows, ends, axis=1), shapes, strict=True))


def _table(rows: Sequence[Array]) -> Array:
    return np.hstack([np.asarray(each, dtype=object).reshape(len(each), -1) for each in rows])


def _unpacked(row: list[Any], rows: Sequence[Array]) -> tuple[Array, ...]:
    """Return one row of each array (1, ...)."""
    return _parted(array_of(row)[None], [np.shape(each)[1:] for each in rows])
