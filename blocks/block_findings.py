"""What is wrong, or suspicious, with the functions of a block that titop does not know."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.applied import Place, is_acted_on
from titop.blocks.block import REAL_STEP, Block, complex_step, overrides_method
from titop.blocks.checks import ORTHOGONALITY, is_name, real_array
from titop.blocks.differences import derivative, settled_step
from titop.blocks.errors import Finding
from titop.blocks.interaction import Interaction, TargetMotion, displaced, random_motion
from titop.blocks.law import Law
from titop.blocks.paths import owner_of
from titop.blocks.spatial import Array
from titop.blocks.surroundings_check import moved_place, some_place, surroundings_findings

#: Relative error of a matrix's symmetry or definiteness that rounding explains.
_ROUNDING = 1e-9
#: Relative disagreement of complex steps and differences; the latter are good to about 1e-10 of what they are taken of.
_TOLERANCE, _DIFFERENCES = 1e-6, 1e-9


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
    if len(block.units) not in (0, block.nv):
        yield Finding("bad-units", f"{block.name}.units", block.units, f"{block.nv} units, or none", "one each")
        return
    if block.compiled_law is not None and (wrong := list(own_law_findings(block))):
        yield from wrong
        return
    size, n = 6 + block.nv, block.nv
    q: Array = np.zeros(0)
    try:
        q = block.random_configuration(np.random.default_rng(0))
    except Exception as error:
        yield _failure(f"{block.name}.mass_matrix", error, f"numbers of shape {(size, size)}")
        return
    calls: list[tuple[str, Callable[[], Any], tuple[int, ...]]] = [
        ("mass_matrix", lambda: block.mass_matrix(q), (size, size)),
        ("elastic_energy", lambda: block.elastic_energy(q), ()),
        ("damping_efforts", lambda: block.damping_efforts(q, block.steps / REAL_STEP), (n,)),
    ]
    for port in block.ports:
        calls.append((f"pose({port!r})[0]", partial(_part_of_pose, block, port, q, 0), (3, 3)))
        calls.append((f"pose({port!r})[1]", partial(_part_of_pose, block, port, q, 1), (3,)))
    for name, call, shape in calls:
        where = f"{block.name}.{name}"
        try:
            value = np.asarray(call(), dtype=float)
        except Exception as error:
            yield _failure(where, error, f"numbers of shape {shape}")
            continue
        if value.shape != shape:
            advice = "see help(titop.Block)"
            yield Finding("wrong-shape", where, f"shape {value.shape}", f"shape {shape}", advice)
        elif not np.isfinite(value).all():
            yield Finding("not-finite", where, value, f"finite numbers (q = {q})", "check the block's parameters and function")
        elif name == "mass_matrix":
            yield from _inertia_findings(where, value)
        elif shape == (3, 3):
            yield from _rotation_findings(where, value)
    yield from input_findings(block)
    yield from surroundings_findings(block)


#: What stands after a block's name for something else than an input.
_SIGNALS = {"q", "v", "a", "tau", "F", "T", "P"}


def input_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with the inputs of a block's own: their names, units, and what they do."""
    inputs, where = tuple(block.inputs), f"{block.name}.inputs"
    if not inputs and not overrides_method(block, "input_matrix"):
        return
    if not block.nv:
        advice = "give the block coordinates, or use tt.Force or tt.Torque at a port"
        yield Finding("idle-inputs", where, inputs, "own coordinates that they act on", advice)
        return
    taken = _SIGNALS | {*block.coordinates, *block.ports, *(owner_of(name) for name in block.parameters())}
    for k, name in enumerate(inputs):
        if not is_name(name):
            yield Finding("bad-name", where, name, "letters, digits and _-/", "rename the input")
        elif name in taken or name in inputs[:k]:
            expected = "a name that is no coordinate's, port's, parameter's, signal's or other input's"
            yield Finding("duplicate-name", where, name, expected, "rename the input")
    if len(block.input_units) not in (0, len(inputs)):
        yield Finding("bad-units", f"{block.name}.input_units", block.input_units, f"{len(inputs)} units, or none", "one each")
    yield from _range_findings(block)
    where, shape = f"{block.name}.input_matrix", (block.nv, len(inputs))
    try:
        matrix = np.asarray(block.input_matrix(block.random_configuration(np.random.default_rng(0))), dtype=float)
    except Exception as error:
        yield _failure(where, error, f"numbers of shape {shape}")
        return
    if matrix.shape != shape:
        advice = "a row for each coordinate, a column for each name in inputs"
        yield Finding("wrong-shape", where, f"shape {matrix.shape}", f"shape {shape}", advice)
    elif not np.isfinite(matrix).all():
        yield Finding("not-finite", where, matrix, "finite numbers", "check the block's parameters and function")


def _range_findings(block: Block) -> Iterator[Finding]:
    where, ranges = f"{block.name}.input_ranges", real_array(block.input_ranges)
    if ranges is None or ranges.shape not in ((0,), (len(block.inputs), 2)):
        expected, advice = f"{len(block.inputs)} pairs of numbers, or none", "write input_ranges = ((lower, upper),)"
        yield Finding("bad-range", where, block.input_ranges, expected, advice)
    elif ranges.size and not (ranges[:, 0] <= ranges[:, 1]).all():
        yield Finding(
            "bad-range", where, block.input_ranges, "lower <= upper", "check the order; -math.inf where there is none"
        )


def own_law_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a compiled law of one's own before it is called."""
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


def _inertia_findings(where: str, inertia: Array) -> Iterator[Finding]:
    """Yield what is wrong with an inertia, its rows and columns scaled to a diagonal of ones: units do not compare."""
    scale = np.sqrt(np.abs(np.diag(inertia)))
    scale[scale == 0] = scale.max() or 1.0
    scaled = inertia / np.outer(scale, scale)
    if np.abs(scaled - scaled.T).max() > _ROUNDING * np.abs(scaled).max():
        yield Finding("not-symmetric", where, inertia, "a symmetric matrix", "build it as a sum of J^T D J")
    elif (lowest := np.linalg.eigvalsh(scaled)[0]) < -_ROUNDING * np.abs(scaled).max():
        found, expected = f"lowest eigenvalue {lowest:.3g}, scaled to a diagonal of ones", "no negative kinetic energy"
        yield Finding("indefinite-inertia", where, found, expected, "build it as a sum of J^T D J, with masses D >= 0")


def _rotation_findings(where: str, rotation: Array) -> Iterator[Finding]:
    error, determinant = np.abs(rotation.T @ rotation - np.eye(3)).max(), np.linalg.det(rotation)
    if error > ORTHOGONALITY or determinant < 0:
        found = f"R^T R differs from the identity by {error:.3g}, determinant {determinant:.3g}"
        advice = "build it from rotations, such as titop.blocks.spatial.rotation_exp of a rotation vector"
        yield Finding("not-a-rotation", where, found, "a rotation matrix", advice)


def damping_findings(block: Block) -> Iterator[Finding]:
    """Yield a finding if the damping feeds energy at one of a few random motions."""
    rng = np.random.default_rng(0)
    for _ in range(3 if block.nv else 0):
        q, v = block.random_configuration(rng), rng.normal(size=block.nv) * block.steps
        powers = v * np.asarray(block.damping_efforts(q, v), dtype=float)
        if powers.sum() > _ROUNDING * np.abs(powers).sum():
            where, expected = f"{block.name}.damping_efforts", "efforts opposed to the motion"
            advice = "check the sign: the block feeds energy"
            yield Finding("negative-damping", where, f"power {powers.sum():.3g} W at v = {v}", expected, advice)
            return


# -- are complex steps right? ----------------------------------------------------------------------------------------------


def is_complex_safe(block: Block) -> bool:
    """Tell whether complex steps through the block's functions give the derivatives that differences give."""
    if is_acted_on(block):
        at = some_place(block, np.random.default_rng(1))
        if not _takes_complex(partial(_acting, block, at, block.displacement_sizes(at.q))):
            return False
    if block.nv == 0:
        return True
    rng = np.random.default_rng(0)
    q, scales = block.random_configuration(rng), block.steps / REAL_STEP
    v, direction = rng.normal(size=block.nv) * scales, np.linspace(0.3, 1.0, block.nv) * scales
    weights = block.inertia_weights()

    def moved(s: Any) -> list[Any]:
        at = block.integrate(q, s * direction)
        return [*block.law_parts(at, weights), block.damping_efforts(at, v)]

    def faster(s: Any) -> list[Any]:
        return [block.damping_efforts(q, v + s * direction)]

    sizes = block.displacement_sizes(q)
    turns, twist = 1.0 / sizes[:6], rng.normal(size=6) * sizes[:6]

    def by_law(s: Any) -> list[Any]:
        assert block.compiled_law is not None
        state = block.integrate(q, s * direction), v + s * direction, twist + s * sizes[:6]
        terms = block.compiled_law.terms(block, *state)
        inertia, efforts = terms.inertia * np.outer(sizes, sizes), terms.gyroscopic * sizes
        subspace, bias = terms.subspace * np.outer(turns, sizes[6:]), terms.bias * turns
        return [inertia, efforts, terms.passive * sizes[6:], terms.rotation, terms.position * turns[:3], subspace, bias]

    def driven(s: Any) -> list[Any]:
        return [block.input_matrix(block.integrate(q, s * direction))]

    functions = (
        _takes_complex(moved, step=REAL_STEP) and _takes_complex(faster) and (not block.inputs or _takes_complex(driven))
    )
    return functions and (block.compiled_law is None or _takes_complex(by_law, step=REAL_STEP))


def _acting(block: Block, at: Place, sizes: Array, s: Any) -> list[Any]:
    """Return what acts on a block that moves on, and faster, by a step s, in parts of its `sizes`."""
    there = moved_place(block, at, s * np.linspace(0.3, 1.0, len(sizes)) * sizes)
    faster = there._replace(v=at.v + s * sizes[6:], twist=at.twist + s * sizes[:6])
    mass, moment = block.weight(there.q)
    return [block.applied_efforts(*faster) * sizes, mass, moment]


def is_parameter_complex_safe(block: Block, name: str) -> bool:
    """Tell whether complex steps of a parameter, by its name in `Block.parameters`, give what differences give."""
    rng, value = np.random.default_rng(0), block.parameters()[name][0]
    if isinstance(block, Interaction):
        return _takes_complex(partial(_changed_loads, block, name, random_motion(block, rng)))
    q = block.random_configuration(rng)
    sizes = block.displacement_sizes(q)
    motion, turns = rng.normal(size=len(sizes)) * sizes, 1.0 / sizes[:6]
    v, twist = motion[6:], motion[:6]
    at = some_place(block, rng)

    def changed(s: Any) -> list[Any]:
        changed = block.with_parameters({name: value + (abs(value) or 1.0) * s})
        changed.complex_safe = block.complex_safe and not np.iscomplexobj(s)
        ports = [part for port in block.ports for part in changed.pose(port, q)]
        ports += [changed.motion_subspace(port, q) * np.outer(turns, sizes[6:]) for port in block.ports]
        inertia, gyroscopic = changed.mass_matrix(q) * np.outer(sizes, sizes), changed.gyroscopic(q, v, twist) * sizes
        driven = [changed.input_matrix(q)] if block.inputs else []
        driven += _acting(changed, at, sizes, 0.0) if is_acted_on(block) else []
        return [*ports, inertia, gyroscopic, changed.passive_efforts(q, v) * sizes[6:], changed.elastic_energy(q), *driven]

    return _takes_complex(changed)


def law_takes_complex(interaction: Interaction, motion: TargetMotion) -> bool:
    """Tell whether complex steps of a motion through an interaction's compiled law give what differences give."""

    def at(s: Any) -> list[Any]:
        steps = s * np.linspace(0.3, 1.0, 6 * max(len(motion.R) - 1, 0))
        rates = s * np.linspace(1.0, 0.4, motion.V.size).reshape(motion.V.shape)
        q, v = s * np.linspace(0.2, 0.9, len(motion.q)), s * np.linspace(-0.8, 0.5, len(motion.v))
        ahead = displaced(motion, steps)._replace(V=motion.V + rates, q=motion.q + q, v=motion.v + v)
        return list(Interaction.act(interaction, ahead))

    return _takes_complex(at)


def _changed_loads(interaction: Interaction, name: str, motion: TargetMotion, s: Any) -> list[Any]:
    """Return what an interaction does, one of its parameters larger by the part `s`."""
    value = interaction.parameters()[name][0]
    changed: Any = interaction.with_parameters({name: value + (abs(value) or 1.0) * s})
    return [*changed.act(motion), changed.stored(motion)]


def _takes_complex(functions: Callable[[Any], list[Any]], step: float | None = None) -> bool:
    """Tell whether complex steps at zero give the derivatives that differences give, for each of several functions."""
    splits = np.cumsum([np.size(part) for part in functions(0.0)])[:-1]

    def joined(s: Any) -> Array:
        return np.concatenate([np.ravel(part) for part in functions(s)])

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            exact = complex_step(lambda x: joined(x[0]), np.zeros(1))[:, 0]
    except (TypeError, ValueError):
        return False
    for differences in (derivative(joined, step) for step in _steps(functions, step)):
        parts = zip(*(np.split(values, splits) for values in (exact, differences, joined(0.0))), strict=True)
        if all(_agree(*part) for part in parts):
            return True
    return False


def _steps(functions: Callable[[Any], list[Any]], step: float | None) -> Iterator[float]:
    """Yield a given step; without it the usual one, and then one that suits the functions."""
    yield step or REAL_STEP
    if step is None:
        yield settled_step(functions, REAL_STEP) or REAL_STEP


def _agree(exact: Array, difference: Array, value: Array) -> bool:
    """Tell whether two derivatives of a function of a certain value agree."""
    sizes = (np.abs(part).max(initial=0.0) for part in (difference, value))
    return bool(np.abs(exact - difference).max(initial=0.0) <= np.dot((_TOLERANCE, _DIFFERENCES), list(sizes)))
