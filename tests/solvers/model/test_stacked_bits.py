"""A batch gives the bits of single calls, in any order and grouping, whatever the other rows are.

Every public function of a model that takes a state is found by its signature; those that take one state only are named here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from tests.systems import Array

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

ROWS = 17

#: Functions of one state, which are asked for one at a time.
OF_ONE_STATE = {
    "assemble",
    "assemble_velocity",
    "assemble_acceleration",
    "closure_error",
    "closure_jacobian",
    "closure_bias",
    "closure_rank",
    "independent_coordinates",
    "impact",
}
#: Arguments that are stacked.
STACKED = ("q", "v", "a", "tau", "q0", "q1", "dq", "dv", "dtau", "weights", "v_series", "tau_series", "a_series")

Rows = dict[str, Array]


@cache
def model(name: str) -> tt.Model:
    return SYSTEMS[name]().resolve()


def functions_of_states() -> dict[str, inspect.Signature]:
    """Return the public functions of a model that take a configuration, with their signatures."""
    members = {name: getattr(tt.Model, name) for name in dir(tt.Model) if not name.startswith("_")}
    found = {name: inspect.signature(member) for name, member in members.items() if callable(member)}
    return {name: s for name, s in found.items() if {"q", "q0", "q_guess"} & set(s.parameters)}


def given(m: tt.Model) -> dict[str, Any]:
    """Return values of the arguments that are not stacked; what the model does not have is left out."""
    parameters, blocks = m.parameters(), m.mechanism.assembly.blocks
    values: dict[str, Any] = {
        "port": m.port_names[-1],
        "joint": m.joint_names[-1],
        "prescribed": [m.coordinate_names[0]],
        "names": [*[name for name in parameters if name.endswith(".mass")][:1], *m.input_names[:1], m.port_names[-1]],
    }
    for name, block in blocks.items():
        if getattr(block, "recovery", None):
            values |= {"body": name, "name": next(iter(block.recovery))}
        if isinstance(block, tt.Rod):
            values |= {"rod": name, "abscissas": [0.0, 0.4 * block.length]}
    return values | {"gear": gear.gear.name for gear in m.mechanism.gear_constraints}


def variants(m: tt.Model, name: str, signature: inspect.Signature) -> Iterator[tuple[str, Callable[[Rows], Any]]]:
    """Yield ways to call a function of rows, or of one row, with labels: plainly, in inertial axes, under loads."""
    values, function, names = given(m), getattr(m, name), [*signature.parameters][1:]
    needed = [each for each in names if signature.parameters[each].default is inspect.Parameter.empty]
    if "tau" in needed or name == "forward_dynamics":
        names.remove("wrenches") if False else None
    if any(each not in STACKED and each not in values for each in needed):
        assert {"gear", "rod", "body"} & set(needed), f"{name}: an argument that is not known here"
        return
    plain = [each for each in needed if each in STACKED] + (["tau"] if name.startswith("forward_dynamics") and "tau" in names else [])
    fixed = {each: values[each] for each in needed if each in values}

    def call(more: tuple[str, ...], also: Mapping[str, Any], rows: Rows) -> Any:
        loads = {each: rows[each] for each in more if each != "wrenches"}
        if "wrenches" in more:
            loads["wrenches"] = {m.port_names[-1]: rows["wrenches"]}
        return function(**fixed, **{each: rows[each] for each in dict.fromkeys(plain)}, **loads, **also)

    yield "", partial(call, (), {})
    if "frame" in names:
        yield "in the world", partial(call, (), {"frame": "world"})
    loads = tuple(each for each in ("wrenches", "u") if each in names and (each != "u" or m.nu) and not name.endswith("series"))
    if loads:
        yield "under loads", partial(call, loads, {})
    if "x" in names and m.nx:
        yield "with states", partial(call, ("x",), {})


def parts(result: Any) -> list[Any]:
    """Return the arrays of a result, those of stacked states first."""
    if isinstance(result, Mapping):
        return [np.asarray(each) for each in result.values()]
    each = [part for part in result if not isinstance(part, tuple)] if isinstance(result, tuple) else [result]  # no names
    return [np.asarray(part) for part in each]


def row_of(rows: Rows, k: Any) -> Rows:
    return {name: part[k] for name, part in rows.items()}


def same(found: Any, expected: Any) -> bool:
    return found.shape == expected.shape and found.tobytes() == expected.tobytes()


def calls(name: str) -> dict[str, Callable[[Rows], Any]]:
    m = model(name)
    return {
        f"{function} {label}".strip(): call
        for function, signature in functions_of_states().items()
        if function not in OF_ONE_STATE
        for label, call in variants(m, function, signature)
    }
