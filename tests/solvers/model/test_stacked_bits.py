"""A batch gives the bits of single calls, in any order and grouping, whatever the other rows are.

Every public function of a model that takes a state is found by its signature; those that take one state only are named here.
`linear_matrices` is asked beside them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from tests.mechanisms import windows, windows_at
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
STACKED = ("q", "v", "a", "tau", "q0", "q1", "dq", "dv", "da", "dtau", "weights", "v_series", "tau_series", "a_series")

Rows = dict[str, Array]


@cache
def model(name: str) -> tt.Model:
    return SYSTEMS[name]().resolve()


def functions_of_states() -> dict[str, inspect.Signature]:
    """Return the public functions of a model that take a configuration, with their signatures."""
    members = {name: getattr(tt.Model, name) for name in dir(tt.Model) if not name.startswith("_")}
    found = {name: inspect.signature(member) for name, member in members.items() if callable(member)}
    found["linear_matrices"] = inspect.signature(linear_matrices)
    return {name: s for name, s in found.items() if {"q", "q0", "q_guess"} & set(s.parameters)}


def linear_matrices(m: tt.Model, q: Array, v: Array, tau: Array, wrenches: Any = None, u: Any = None, x: Any = None) -> Any:
    return tt.linear_matrices(m, (q, v, tau), wrenches, u, x)


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
    gears = [constraint.gear.name for constraint in m.mechanism.gear_constraints]
    return values | ({"gear": gears[0]} if gears else {})


def variants(m: tt.Model, name: str, signature: inspect.Signature) -> Iterator[tuple[str, Callable[[Rows], Any]]]:
    """Yield ways to call a function at rows, or at one row: plainly, in inertial axes, under loads, with states of blocks."""
    values, arguments = given(m), [*signature.parameters.values()][1:]
    function = partial(linear_matrices, m) if name == "linear_matrices" else getattr(m, name)
    needed = [each.name for each in arguments if each.default is inspect.Parameter.empty]
    names = [each.name for each in arguments]
    unknown = set(needed) - values.keys() - set(STACKED)
    assert unknown <= {"gear", "rod", "abscissas", "body", "name"}, f"{name}: say in `given` what {unknown} are"
    if unknown:  # the model has none
        return
    fixed = {each: values[each] for each in needed if each in values}
    stacked = [each for each in names if each in needed or (each == "tau" and m.is_constrained)]

    def call(more: tuple[str, ...], also: dict[str, Any], rows: Rows) -> Any:
        acting = {each: rows[each] for each in (*stacked, *more) if each in rows}
        if "wrenches" in more:
            acting["wrenches"] = {m.port_names[-1]: rows["wrenches"]}
        return function(**fixed, **acting, **also)

    yield name, partial(call, (), {})
    if "frame" in names:
        yield f"{name} in the world", partial(call, (), {"frame": "world"})
    loads = tuple(each for each in ("wrenches", "u") if each in names and (each == "wrenches" or m.nu))
    if loads and not name.endswith("series"):  # a stack of derivatives acts there
        yield f"{name} under loads", partial(call, loads, {})
        common = {"wrenches": {m.port_names[-1]: np.arange(6.0)}, "u": 0.2 + 0.1 * np.arange(m.nu)}
        yield f"{name} under common loads", partial(call, (), {each: common[each] for each in loads})
    if "actuated" in names and m.is_constrained:
        free = m.independent_coordinates(m.mechanism.regular_configuration)
        yield f"{name} on some coordinates", partial(call, (), {"actuated": free})
    if "x" in names and m.nx:
        yield f"{name} with states", partial(call, ("x",), {})


def parts(result: Any) -> list[Array]:
    """Return the arrays of a result, whose first axis is that of the states."""
    if isinstance(result, Mapping):
        return [np.asarray(part) for part in result.values()]
    each = result if isinstance(result, tuple) else (result,)
    return [np.asarray(part) for part in each if not isinstance(part, tuple)]  # no names


def rows_at(rows: Rows, k: Any) -> Rows:
    return {name: part[k] for name, part in rows.items()}


def differing(result: Any, expected: list[list[Array]], order: Any) -> list[int]:
    """Return the rows of a stacked result whose bits are not those of single calls: of `expected`, in this `order`."""
    found = parts(result)
    assert all(len(part) == len(order) for part in found)
    return [int(k) for at, k in enumerate(order) if [p[at].tobytes() for p in found] != [p.tobytes() for p in expected[k]]]


def calls(m: tt.Model, series: bool = False) -> dict[str, Callable[[Rows], Any]]:
    """Return all calls of a model's functions by labels; time derivatives with `series` only."""
    asked = functions_of_states()
    found = [each for function in asked if function not in OF_ONE_STATE for each in variants(m, function, asked[function])]
    return {label: call for label, call in found if series or not label.endswith("series")}


#: Systems with quick time derivatives; elsewhere blocks' Python functions take up to seconds for one state.
RIGID = ("a free base",)

#: What is asked for in every run; of the others each system gets its own share.
ALWAYS = ("forward_dynamics under loads", "inverse_dynamics", "mass_matrix", "forward_dynamics_derivatives", "outputs")
SHARES, OF_SLOW = 6, 40
#: Systems with laws in Python.
SLOW = ("surrounded, in Python", "laws in Python", "inputs of all kinds", "a little of everything")


def share(name: str) -> dict[str, Callable[[Rows], Any]]:
    """Return some calls of a system: all functions come in turn in one system or another."""
    every, turn, slow = calls(model(name), name in RIGID), [*SYSTEMS].index(name), name in SLOW
    always, shares = (ALWAYS[:1], OF_SLOW) if slow else (ALWAYS, SHARES)
    return {label: call for k, (label, call) in enumerate(every.items()) if label in always or (k + turn) % shares == 0}


def assert_bits_of_single_calls(name: str, asked: dict[str, Callable[[Rows], Any]]) -> None:
    m = model(name)
    rows, order = states(m, ROWS), np.random.default_rng(1).permutation(ROWS)
    groups = [order, order[:9], order[9:], *np.split(order[::-1], [1, 4, 12])]
    for label, call in asked.items():
        if error := error_of(lambda call=call: call(rows_at(rows, 0))):  # what the system does not have
            assert (found := error_of(lambda call=call: call(rows))), label
            assert found.findings[0].code == error.findings[0].code, label
            continue
        expected = [parts(call(rows_at(rows, k))) for k in range(ROWS)]
        for group in groups:
            assert differing(call(rows_at(rows, group)), expected, group) == [], (label, len(group))


@pytest.mark.parametrize("name", SYSTEMS)
def test_batches_have_the_bits_of_single_calls(name: str) -> None:
    assert_bits_of_single_calls(name, share(name))


@pytest.mark.long
@pytest.mark.parametrize("name", SYSTEMS)
def test_all_batches_have_the_bits_of_single_calls(name: str) -> None:
    assert_bits_of_single_calls(name, calls(model(name), name in RIGID))


@pytest.mark.parametrize("name", RIGID)
def test_time_derivatives_under_loads_have_the_bits_of_single_calls(name: str) -> None:
    m = model(name)
    rows, rng, twice = states(m, 9), np.random.default_rng(2), np.arange(9)[::-1]
    for function, stack, count in ((m.inverse_dynamics_series, "v_series", 2), (m.forward_dynamics_series, "tau_series", 3)):
        given = [rows["q"], rows[stack]] if count == 2 else [rows["q"], rows["v"], rows[stack]]
        wrenches = rng.normal(size=(9, count, 6))
        one = [parts(function(*(part[k] for part in given), wrenches={m.port_names[-1]: wrenches[k]})) for k in range(9)]
        found = function(*(part[twice] for part in given), wrenches={m.port_names[-1]: wrenches[twice]})
        assert differing(found, one, twice) == []
        assert differing(found, one, range(9))  # the control


def test_every_function_of_a_state_takes_several() -> None:
    """But those that are named, which refuse them."""
    m = model("a planar loop")
    rows = states(m, 2)
    one: dict[str, Any] = {"q_guess": rows["q"], "closure": "pin"}
    for name in OF_ONE_STATE:
        needed = [each.name for each in inspect.signature(getattr(m, name)).parameters.values() if each.default is each.empty]
        with pytest.raises(tt.ModelError, match="expected shape"):
            getattr(m, name)(**{each: one[each] if each in one else rows[each] for each in needed})
    assert functions_of_states().keys() > OF_ONE_STATE
    covered = {label.split()[0] for name in SYSTEMS for label in calls(model(name), name in RIGID)}
    assert covered == functions_of_states().keys() - OF_ONE_STATE


def test_a_row_that_its_neighbours_change_is_seen() -> None:
    """The negative control: a function that scales its rows by the largest of them, and one that mixes their order."""
    m = model("a tree")
    rows, order = states(m, 9), np.arange(9)[::-1]
    expected = [parts(m.mass_matrix(q)) for q in rows["q"]]
    assert differing(m.mass_matrix(rows["q"][order]), expected, order) == []
    scaled = m.mass_matrix(rows["q"][order]) * (1.0 + 1e-16 * np.arange(9)[:, None, None])
    assert differing(scaled, expected, order)
    assert differing(m.mass_matrix(rows["q"]), expected, order)


HUGE = 3e7


@pytest.mark.parametrize("name", ["a tree", "springs, friction and stops", "modal bodies and beams", "users' compiled laws"])
def test_huge_angles_leave_neighbours_alone(name: str) -> None:
    m = model(name)
    rows, turned = states(m, 9), 5
    angles = [
        k
        for k, (unit, of) in enumerate(zip(m.mechanism.assembly.coordinate_units, m.coordinate_names, strict=True))
        if unit == "rad" and of not in m.mechanism.own_coordinates and of in m.configuration_names
    ]
    assert angles
    for k in angles:
        rows["q"][turned, m.configuration_names.index(m.coordinate_names[k])] = HUGE * (1 + 0.1 * k)
    rows["q1"] = rows["q"][::-1].copy()
    for label, call in share(name).items():
        try:
            expected = [parts(call(rows_at(rows, k))) for k in range(9)]
        except tt.ModelError:
            continue
        assert differing(call(rows), expected, range(9)) == [], label


def error_of(call: Callable[[], Any]) -> tt.ModelError | None:
    try:
        call()
    except tt.ModelError as error:
        return error
    return None


def assert_refused_like_the_row(asked: Mapping[str, Callable[[Rows], Any]], rows: Rows, k: int, code: str) -> None:
    """Check that a stack is refused as its wrong row is, which is named, by several functions."""
    compared = 0
    for label, call in asked.items():
        single, stacked = error_of(lambda call=call: call(rows_at(rows, k))), error_of(lambda call=call: call(rows))
        if single is None or error_of(lambda call=call: call(rows_at(rows, 0))) is not None:
            continue  # it does not look at the number, or no row is one that it takes
        assert stacked is not None, label
        one, many = single.findings[0], stacked.findings[0]
        assert one.code == many.code == code, label
        argument, bracket, entries = one.where.partition("[")
        assert many.where == f"{argument}{bracket}{k}, {entries}", label
        compared += 1
    assert compared > 2


@pytest.mark.parametrize("name", ["a tree", "gears", "a planar loop", "contacts", "soft bodies", "laws in Python"])
def test_a_row_that_is_refused_is_named(name: str) -> None:
    m, asked, k = model(name), share(name), 5
    for argument in ("q", "v"):
        rows = states(m, 9)
        rows[argument][k, -1] = np.nan
        rows["q0"] = rows["q"]
        assert_refused_like_the_row(asked, rows, k, "not-finite")
    for start in m.mechanism.quaternions[:1]:
        rows = states(m, 9)
        rows["q"][k, start : start + 4] *= 1.5
        rows["q0"] = rows["q"]
        assert_refused_like_the_row(asked, rows, k, "not-unit")


@pytest.mark.parametrize("closed", [False, True])
def test_a_row_that_fails_fails_as_by_itself(closed: bool) -> None:
    """A gimbal in its lock, and a linkage stretched out: forward dynamics say so in the words of the single call."""
    if closed:
        m, k = windows(1).resolve(), 3
        q = np.array([windows_at(1, angle) for angle in np.linspace(0.5, 1.0, 9)])
        q[k] = windows_at(1, 0.0)
    else:
        s = tt.System("gimbal")
        s.connect("world", tt.RigidBody("bob", 1.0, com=[1, 0, 0]), tt.Universal("gimbal", axis1=[0, 0, 1], axis2=[0, 1, 0]))
        m, k = s.resolve(), 3
        q = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 2))
        q[k, 1] = np.pi / 2
    zero, others = np.zeros((9, m.nv)), np.delete(np.arange(9), k)
    for function in (m.forward_dynamics, m.forward_dynamics_derivatives):
        single, stacked = (error_of(partial(function, q[at], zero[at], zero[at])) for at in (k, slice(None)))
        assert single is not None
        assert stacked is not None
        assert str(single) == str(stacked)
        assert error_of(partial(function, q[others], zero[others], zero[others])) is None


def test_the_page_of_speed_lists_every_stacked_function() -> None:
    page = (Path(tt.__file__).parent / "examples" / "pages" / "speed.md").read_text(encoding="utf8")
    section = page.partition("## Stacked states")[2].partition("\n## ")[0]
    assert functions_of_states().keys() - OF_ONE_STATE <= set(re.findall(r"`(\w+)`", section))
