"""Whether functions of blocks preserve imaginary parts, so that complex steps give their derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import REAL_STEP, complex_step
from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import DIFFERENCE_ERROR, EPS, SAME
from titop.blocks.checking.description_findings import moved_place, some_place
from titop.blocks.contract.applied import BlockMotion, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import BlockLaw
from titop.blocks.contract.own_coordinates import redefines
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, displaced, random_motion

#: Offsets, in scales of the coordinates, at which the energy is checked too, since stops and other branches may act there.
_FAR = (3.0, -3.0)
#: A further value for the check of parameters that are zero, since zero may be the smallest valid value.
_ABOVE_ZERO = 0.1
#: Values of parameters that count as zero.
_NOTHING = 4 * EPS


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
    return _is_safe_at(block, q, scales, rng) and all(
        _stores_safely(block, block.integrate(q, s * scales), scales) for s in _FAR
    )


def _stores_safely(block: Block, q: Array, scales: Array) -> bool:
    """Tell the same for the energy alone, at a configuration where the block may fail: then the result is True."""
    direction = np.linspace(0.3, 1.0, block.nv) * scales

    def stored(s: Any) -> list[Any]:
        return [block.elastic_energy(block.integrate(q, s * direction))]

    try:
        with np.errstate(all="ignore"):
            return not np.isfinite(stored(0.0)[0]) or _takes_complex(stored)
    except Exception:  # far away a user's function may raise anything
        return True


def _is_safe_at(block: Block, q: Array, scales: Array, rng: np.random.Generator) -> bool:
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

    def overridden(s: Any) -> list[Any]:
        state = block.integrate(q, s * direction), v + s * direction, twist + s * sizes[:6]
        parts = []
        if redefines(block, "motion_subspace", BlockLaw):
            parts += [block.motion_subspace(port, state[0]) * np.outer(turns, sizes[6:]) for port in block.ports]
        if redefines(block, "passive_efforts", BlockLaw):
            parts.append(block.passive_efforts(*state[:2]) * sizes[6:])
        if redefines(block, "gyroscopic", BlockLaw):
            parts.append(block.gyroscopic(*state) * sizes)
        return parts

    def driven(s: Any) -> list[Any]:
        return [block.input_matrix(block.integrate(q, s * direction))]

    functions = (
        _takes_complex(moved, step=REAL_STEP) and _takes_complex(faster) and (not block.inputs or _takes_complex(driven))
    )
    functions = functions and (not overridden(0.0) or _takes_complex(overridden, step=REAL_STEP))
    return functions and (block.compiled_law is None or _takes_complex(by_law, step=REAL_STEP))


def _acting(block: Block, at: BlockMotion, sizes: Array, s: Any) -> list[Any]:
    """Return the loads on a block whose configuration and rates are changed by a step s, relative to its `sizes`."""
    there = moved_place(block, at, s * np.linspace(0.3, 1.0, len(sizes)) * sizes)
    faster = there._replace(v=at.v + s * sizes[6:], twist=at.twist + s * sizes[:6])
    mass, moment = block.weight(there.q)
    return [block.applied_efforts(*faster) * sizes, mass, moment]


def is_parameter_complex_safe(block: Block, name: str) -> bool:
    """Tell whether complex steps of a parameter, by its name in `Block.parameters`, agree with differences."""
    rng, value = np.random.default_rng(0), block.parameters()[name][0]
    values = (value,) if abs(value) > _NOTHING else (0.0, _ABOVE_ZERO)
    if isinstance(block, Interaction):
        acting = random_motion(block, rng)
        return any(_takes_complex(partial(_changed_loads, block, name, each, acting)) for each in values)
    q = block.random_configuration(rng)
    sizes = block.displacement_sizes(q)
    motion, turns = rng.normal(size=len(sizes)) * sizes, 1.0 / sizes[:6]
    v, twist = motion[6:], motion[:6]
    at = some_place(block, rng)

    def changed(value: float, s: Any) -> list[Any]:
        changed = block.with_parameters({name: value + (abs(value) or 1.0) * s})
        changed.complex_safe = block.complex_safe and not np.iscomplexobj(s)
        ports = [part for port in block.ports for part in changed.pose(port, q)]
        ports += [changed.motion_subspace(port, q) * np.outer(turns, sizes[6:]) for port in block.ports]
        inertia, gyroscopic = changed.mass_matrix(q) * np.outer(sizes, sizes), changed.gyroscopic(q, v, twist) * sizes
        driven = [changed.input_matrix(q)] if block.inputs else []
        driven += _acting(changed, at, sizes, 0.0) if is_acted_on(block) else []
        return [*ports, inertia, gyroscopic, changed.passive_efforts(q, v) * sizes[6:], changed.elastic_energy(q), *driven]

    return any(_takes_complex(partial(changed, each)) for each in values)


def law_takes_complex(interaction: Interaction, motion: TargetMotion) -> bool:
    """Tell whether complex steps through an interaction's compiled law, and its gaps, agree with differences."""
    law = interaction.compiled_law
    gaps = None if law is None else law.gaps

    def at(s: Any) -> list[Any]:
        steps = s * np.linspace(0.3, 1.0, 6 * max(len(motion.R) - 1, 0))
        rates = s * np.linspace(1.0, 0.4, motion.V.size).reshape(motion.V.shape)
        q, v = s * np.linspace(0.2, 0.9, len(motion.q)), s * np.linspace(-0.8, 0.5, len(motion.v))
        ahead = displaced(motion, steps)._replace(V=motion.V + rates, q=motion.q + q, v=motion.v + v)
        told = () if gaps is None else (gaps(interaction.law_numbers(), ahead),)
        return [*Interaction.act(interaction, ahead), *told]

    return _takes_complex(at)


def _changed_loads(interaction: Interaction, name: str, value: float, motion: TargetMotion, s: Any) -> list[Any]:
    """Return the loads of an interaction with one of its parameters increased from `value` by the fraction `s`."""
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
    """Yield the given step; if None the usual one, and then one found for the functions."""
    yield step or REAL_STEP
    if step is None:
        yield settled_step(functions, REAL_STEP) or REAL_STEP


def _agree(exact: Array, difference: Array, value: Array) -> bool:
    sizes = (np.abs(part).max(initial=0.0) for part in (difference, value))
    return bool(np.abs(exact - difference).max(initial=0.0) <= np.dot((DIFFERENCE_ERROR, SAME), list(sizes)))
