"""Errors and warnings about the functions of a user's block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import REAL_STEP
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.basics.user_input import is_name, real_array
from titop.blocks.checking.description_findings import some_place
from titop.blocks.contract.applied import is_acted_on
from titop.blocks.contract.block import Block, overrides_method
from titop.blocks.contract.block_law import BlockLaw
from titop.blocks.contract.law import Law, LawTerms
from titop.blocks.contract.own_coordinates import redefines
from titop.blocks.devices.actuators import Actuator

#: A function to be tried: its name, a call of it, and the shape of its result.
Trial = tuple[str, Callable[[], Any], tuple[int, ...]]
#: Endings after a block's name that mean something else than an input.
_SIGNALS = {"q", "v", "a", "tau", "F", "T", "P"}
#: Fields of names, with those of their units.
_UNITS = {"coordinates": "units", "inputs": "input_units", "state_names": "state_units"}


def law_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a block's functions, each called once at a random configuration."""
    if not hasattr(block, "reader"):
        advice = "call super().__init__(name) first in __init__"
        yield Finding("no-name", type(block).__name__, block, "a block that Block.__init__ has named", advice)
        return
    scales = block.coordinate_scales
    if scales is not None and not (np.shape(scales) == (block.nv,) and (np.asarray(scales) > 0).all()):
        expected, advice = f"{block.nv} positive numbers", "one size for each coordinate, or None to have them found"
        yield Finding("bad-scales", f"{block.name}.coordinate_scales", scales, expected, advice)
        return
    ports = naming_findings(block, "ports", "signal's, coordinate's or other port's", {*_SIGNALS, *block.coordinates})
    if wrong := [*naming_findings(block, "coordinates", "other coordinate's"), *ports]:
        yield from wrong
        return
    if block.compiled_law is not None and (wrong := list(own_law_findings(block))):
        yield from wrong
        return
    try:
        block.parameters()
    except Exception as error:
        yield _failure(f"{block.name}.parameter_units", error, "names of attributes that are numbers")
        return
    size, n = 6 + block.nv, block.nv
    q: Array = np.zeros(0)
    try:
        q = block.random_configuration(np.random.default_rng(0))
    except Exception as error:
        yield _failure(f"{block.name}.mass_matrix", error, f"numbers of shape {(size, size)}")
        return
    calls: list[Trial] = [
        ("mass_matrix", lambda: block.mass_matrix(q), (size, size)),
        ("elastic_energy", lambda: block.elastic_energy(q), ()),
        ("damping_efforts", lambda: block.damping_efforts(q, block.steps / REAL_STEP), (n,)),
    ]
    for port in block.ports:
        calls.append((f"pose({port!r})[0]", partial(_part_of_pose, block, port, q, 0), (3, 3)))
        calls.append((f"pose({port!r})[1]", partial(_part_of_pose, block, port, q, 1), (3,)))
    if redefines(block, "law", BlockLaw) and (wrong := list(_law_findings(block, q))):
        yield from wrong
        return
    at = f" (q = {q})"
    yield from list(trial_findings(block, calls, at)) or trial_findings(block, _overriding_calls(block, q), at)
    yield from driving_findings(block)
    yield from surroundings_findings(block)


def trial_findings(block: Block, trials: Iterable[Trial], at: str = "") -> Iterator[Finding]:
    """Yield what is wrong with the results of some functions of a block; `at` says where they are tried."""
    for name, call, shape in trials:
        where = f"{block.name}.{name}"
        expected = "a mass, and a first moment of shape (3,)" if name == "weight" else f"numbers of shape {shape}"
        try:
            value = np.asarray(call(), dtype=float)
        except Exception as error:
            yield _failure(where, error, expected)
            continue
        if value.shape != shape:
            expected = expected.removeprefix("numbers of ")
            yield Finding("wrong-shape", where, f"shape {value.shape}", expected, "see help(titop.Block)")
        elif not np.isfinite(value).all():
            yield Finding("not-finite", where, value, f"finite numbers{at}", "check the block's parameters and function")
        elif name == "mass_matrix":
            yield from inertia_findings(where, value)
        elif shape == (3, 3):
            yield from _rotation_findings(where, value)


def naming_findings(
    block: Block, field: str, others: str, taken: Collection[str] = (), nameless: bool = False
) -> Iterator[Finding]:
    """Yield what is wrong with the names in a field of a block, and with the number of their units.

    Names must differ from each other and from those that are `taken`, by `others`; an empty one is none if `nameless` is set.
    """
    names, where = getattr(block, field), f"{block.name}.{field}"
    if isinstance(names, str) or not isinstance(names, Sequence):
        yield Finding("wrong-type", where, names, "a tuple of names", f'write {field} = ("{names}",)')
        return
    for k, name in enumerate(names):
        if not is_name(name) and not (nameless and name == ""):
            yield Finding("bad-name", where, name, "letters, digits and _-/", "rename it")
        elif name in taken or name in names[:k]:
            yield Finding("duplicate-name", where, name, f"a name that is no {others}", "rename it")
    unit_field = _UNITS.get(field, "")
    units = getattr(block, unit_field, ())
    if len(units) not in (0, len(names)):
        yield Finding("bad-units", f"{block.name}.{unit_field}", units, f"{len(names)} units, or none", "one each")


def _law_findings(block: Block, q: Array) -> Iterator[Finding]:
    sizes, where = block.displacement_sizes(q), f"{block.name}.law"
    try:
        returned = block.law(q, sizes[6:], sizes[:6])
    except Exception as error:
        yield _failure(where, error, "the block's LawTerms")
        return
    if not isinstance(returned, LawTerms):
        advice = "return LawTerms, or leave it out: titop derives it"
        yield Finding("wrong-type", where, returned, "titop.blocks.contract.law.LawTerms", advice)


def _overriding_calls(block: Block, q: Array) -> Iterator[Trial]:
    """Yield the functions that a block overrides: names, calls and shapes."""
    n, sizes = block.nv, block.displacement_sizes(q)
    if redefines(block, "passive_efforts", BlockLaw):
        yield "passive_efforts", lambda: block.passive_efforts(q, sizes[6:]), (n,)
    if redefines(block, "gyroscopic", BlockLaw):
        yield "gyroscopic", lambda: block.gyroscopic(q, sizes[6:], sizes[:6]), (6 + n,)
    if redefines(block, "motion_subspace", BlockLaw):
        for port in block.ports:
            yield f"motion_subspace({port!r})", partial(block.motion_subspace, port, q), (6, n)


def driving_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a block's own inputs and first-order states."""
    yield from _input_findings(block)
    if block.state_names:
        yield from list(state_name_findings(block)) or _state_findings(block)


def state_name_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with the names and units of a block's first-order states."""
    others = "coordinate's, port's, parameter's, input's, signal's or other state's"
    yield from naming_findings(block, "state_names", others, _taken_names(block) | {*block.inputs})


def _taken_names(block: Block) -> set[str]:
    return _SIGNALS | {*block.coordinates, *block.ports, *(owner_of(name) for name in block.parameters())}


def _state_findings(block: Block) -> Iterator[Finding]:
    if not block.nv or block.configuration_names != block.coordinates:
        expected = "own coordinates that are plain numbers, on which they act"
        advice = "let a tt.Interaction on ports and coordinates have the states"
        yield Finding("idle-states", f"{block.name}.state_names", block.state_names, expected, advice)
        return
    q, v, count = block.random_configuration(np.random.default_rng(0)), block.steps / REAL_STEP, len(block.state_names)
    x, u = np.ones(count), np.ones(len(block.inputs))
    efforts: Trial = "state_efforts", lambda: block.state_efforts(q, v, x), (block.nv,)
    yield from trial_findings(block, [efforts, ("state_rates", lambda: block.state_rates(q, v, x, u), (count,))])


def _input_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a block's own inputs: names, units and efforts; actuators act on other blocks."""
    inputs = tuple(block.inputs)
    if isinstance(block, Actuator) or not (inputs or overrides_method(block, "input_matrix")):
        return
    if not block.nv:
        advice = "give the block coordinates, or use tt.Force or tt.Torque at a port"
        yield Finding("idle-inputs", f"{block.name}.inputs", inputs, "own coordinates that they act on", advice)
        return
    others = "coordinate's, port's, parameter's, signal's or other input's"
    yield from naming_findings(block, "inputs", others, _taken_names(block))
    yield from _range_findings(block)
    shape = block.nv, len(inputs)
    q = partial(block.random_configuration, np.random.default_rng(0))
    yield from trial_findings(block, [("input_matrix", lambda: block.input_matrix(q()), shape)])


def surroundings_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a block's applied efforts and weight, called once at a random pose."""
    if not is_acted_on(block) and not overrides_method(block, "applied_energy"):
        return
    at = some_place(block, np.random.default_rng(0))
    trials: list[Trial] = [
        ("applied_efforts", lambda: block.applied_efforts(*at), (6 + block.nv,)),
        ("applied_energy", lambda: block.applied_energy(at.q, at.rotation, at.position), ()),
        ("weight", lambda: _mass_and_moment(block.weight(at.q)), (4,)),
    ]
    yield from trial_findings(block, trials)


def _mass_and_moment(weight: Any) -> Array:
    mass, moment = weight
    return np.concatenate([np.reshape(mass, 1), np.reshape(moment, 3)])


def _range_findings(block: Block) -> Iterator[Finding]:
    where, ranges = f"{block.name}.input_ranges", real_array(block.input_ranges)
    if ranges is None or ranges.shape not in ((0,), (len(block.inputs), 2)):
        expected, advice = f"{len(block.inputs)} pairs of numbers, or none", "write input_ranges = ((lower, upper),)"
        yield Finding("bad-range", where, block.input_ranges, expected, advice)
    elif ranges.size and not (ranges[:, 0] <= ranges[:, 1]).all():
        advice = "check the order; -math.inf where there is none"
        yield Finding("bad-range", where, block.input_ranges, "lower <= upper", advice)


def own_law_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a user's compiled law before it is called."""
    if not isinstance(block.compiled_law, Law):
        advice = "write compiled_law = tt.Law(function)"
        yield Finding("wrong-type", f"{block.name}.compiled_law", block.compiled_law, "a tt.Law", advice)
        return
    where, expected = f"{block.name}.law_numbers", "finite numbers, one after the other"
    try:
        numbers = np.asarray(block.law_numbers(), dtype=float)
    except Exception as error:
        yield _failure(where, error, expected)
        return
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        yield Finding("bad-numbers", where, numbers, expected, "return an array of the numbers that the law reads")


def _failure(where: str, error: Exception, expected: str) -> Finding:
    return Finding("block-fails", where, f"{type(error).__name__}: {error}", expected, "see the block's function")


def _part_of_pose(block: Block, port: str, q: Array, part: int) -> Array:
    return block.pose(port, q)[part]


def inertia_findings(where: str, inertia: Array) -> Iterator[Finding]:
    """Yield what is wrong with an inertia, scaled to a unit diagonal since its entries have different units."""
    scale = np.sqrt(np.abs(np.diag(inertia)))
    scale[scale == 0] = scale.max() or 1.0
    scaled = inertia / np.outer(scale, scale)
    if np.abs(scaled - scaled.T).max() > SAME * np.abs(scaled).max():
        yield Finding("not-symmetric", where, inertia, "a symmetric matrix", "build it as a sum of J^T D J")
    elif (lowest := np.linalg.eigvalsh(scaled)[0]) < -SAME * np.abs(scaled).max():
        observed, expected = f"lowest eigenvalue {lowest:.3g}, scaled to a diagonal of ones", "no negative kinetic energy"
        yield Finding("indefinite-inertia", where, observed, expected, "build it as a sum of J^T D J, with masses D >= 0")


def _rotation_findings(where: str, rotation: Array) -> Iterator[Finding]:
    error, determinant = np.abs(rotation.T @ rotation - np.eye(3)).max(), np.linalg.det(rotation)
    if error > TYPED or determinant < 0:
        found = f"R^T R differs from the identity by {error:.3g}, determinant {determinant:.3g}"
        advice = "build it from rotations, such as titop.blocks.basics.spatial.rotation_exp of a rotation vector"
        yield Finding("not-a-rotation", where, found, "a rotation matrix", advice)


def damping_findings(block: Block) -> Iterator[Finding]:
    """Yield a finding if the damping has positive power at one of a few random motions."""
    rng = np.random.default_rng(0)
    for _ in range(3 if block.nv else 0):
        q, v = block.random_configuration(rng), rng.normal(size=block.nv) * block.steps
        powers = v * np.asarray(block.damping_efforts(q, v), dtype=float)
        if powers.sum() > SAME * np.abs(powers).sum():
            where, expected = f"{block.name}.damping_efforts", "efforts opposed to the motion"
            advice = "check the sign: the block feeds energy"
            yield Finding("negative-damping", where, f"power {powers.sum():.3g} W at v = {v}", expected, advice)
            return
