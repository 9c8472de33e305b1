"""Programs that tell whether their numbers can be trusted: one output more, so that callers look at one number alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from titop.blocks.basics.tolerances import CANCELLED, TYPED
from titop.blocks.programs.program import CONSTANT, INPUT, Output, Program, Value

#: Pivots, each over what it was, by which programs say whether they can be trusted; and the one number of all, behind them.
HEALTH, TRUST = "health", "trust"


def trusted(program: Program, quaternions: Sequence[int] = ()) -> Program:
    """Return a program that divides quaternions in q by their norms; last is its health, then zero if all is well, else NaN.

    All is well if inputs and outputs are finite, `quaternions` (by where they begin) unit ones, and no pivot is lost.
    """
    values = list[Value]()

    def put(operation: str, *arguments: object) -> int:
        values.append(Value(operation, arguments))
        return len(values) - 1

    def joined(operation: str, places: list[int]) -> int:
        while len(places) > 1:  # in pairs: none waits for a long chain
            pairs = zip(places[::2], places[1::2], strict=False)
            places = [*(put(operation, *pair) for pair in pairs), *places[len(places) & ~1 :]]
        return places[0]

    numbers = {(name, k): put(INPUT, name, k) for name, size in program.inputs.items() for k in range(size)}
    zero, one, truths, watched = put(CONSTANT, 0.0), put(CONSTANT, 1.0), list[int](), [*numbers.values()]
    for start in quaternions if "q" in program.inputs else ():
        parts = [numbers["q", start + k] for k in range(4)]
        norm = put("sqrt", joined("add", [put("multiply", x, x) for x in parts]))
        truths.append(put("less_equal", put("absolute", put("subtract", norm, one)), put(CONSTANT, TYPED)))
        numbers |= {("q", start + k): put("divide", x, norm) for k, x in enumerate(parts)}
    new = list[int]()
    for operation, arguments in program.values:
        moved = Value(operation, arguments).moved(new)
        new.append(numbers[arguments] if operation == INPUT else put(operation, *moved.arguments))  # type: ignore[index]
    outputs = {name: Output(tuple(new[k] for k in places), shape) for name, (places, shape) in program.outputs.items()}
    healths = outputs.pop(HEALTH, Output((), ())).values
    watched += dict.fromkeys(k for output in outputs.values() for k in output.values)
    truths += [put("less", put(CONSTANT, CANCELLED), k) for k in healths]
    trust = joined("add", [zero, *(put("multiply", k, zero) for k in watched)])
    if truths:
        trust = put("select", joined("and", truths), trust, put(CONSTANT, math.nan))
    loops = tuple(loop.moved(new) for loop in program.loops)
    outputs[TRUST] = Output((*healths, trust), (len(healths) + 1,))
    return dataclasses.replace(program, values=tuple(values), outputs=outputs, loops=loops)
