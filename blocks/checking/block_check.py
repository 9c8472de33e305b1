"""Comparison of a block's overridden functions with what follows from its pose, inertia and energy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, DIFFERENCE_STEP, EPS, SAME
from titop.blocks.checking.block_findings import damping_findings, law_findings
from titop.blocks.checking.complex_safety import is_complex_safe, is_parameter_complex_safe
from titop.blocks.checking.description_findings import (
    description_findings,
    difference,
    energy_disagreements,
    twin_disagreements,
    weight_findings,
)
from titop.blocks.checking.interaction_findings import energy_findings, interaction_findings, twin_findings, undefined_findings
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.blocks.interactions.interaction import Interaction, random_motion

#: Errors of second and third differences where the value should be zero, relative to the natural size of entries; third ones
#: are up to 5e-6 for spherical joints.
_NOTHING, _NOTHING_OF_THIRD = EPS**0.5, CLOSE


def check_block(block: Block, seed: int = 0) -> None:
    """Check a block's functions, and that what it overrides agrees with what follows from its other functions.

    At random configurations and motions: rotations must be rotations, the inertia not negative, and damping opposed to the
    motion. By differences: the motion subspace and its rate are compared with the poses, the gyroscopic terms with the mass
    matrix, the passive efforts with elastic energy and damping, the applied efforts at rest with their potential energy, the
    linearised law with the law, and a compiled law with all of them. Parameters must keep the values that they are given, and
    complex parameters must give the same derivatives as differences. Mass properties are compared with the mass matrix;
    pictures must have the same number of points at all configurations.

    For an interaction: its wrenches must be in balance, its loads at rest follow from the stored energy, its rate-dependent
    loads dissipate, its inputs act linearly, and a compiled law agree with ``act``.

    Parameters
    ----------
    block : Block
    seed : int
        Of the random configurations.

    Raises
    ------
    ModelError
        Naming each function that disagrees, and by how much; and if `block` is no block.

    Examples
    --------
    >>> import titop as tt
    >>> tt.check_block(tt.Universal("elbow"))  # no error
    """
    if not isinstance(block, Block):
        advice = "check a system by resolving it, its blocks one by one"
        expected = "a tt.Block: a body, a joint, an interaction, a device"
        raise ModelError(Finding("wrong-type", "block", f"a {type(block).__name__}", expected, advice))
    findings = _of_interaction(block, seed) if isinstance(block, Interaction) else _of_block(block, seed)
    refuse({finding.where: finding for finding in findings}.values())


def _of_interaction(interaction: Interaction, seed: int) -> Iterator[Finding]:
    motion = random_motion(interaction, np.random.default_rng(seed))
    counts = len(motion.R), len(motion.q)
    found = [finding for at in range(seed, seed + 3) for _, finding in interaction_findings(interaction, *counts, False, at)]
    yield from found
    if not found:
        yield from undefined_findings(interaction, range(seed, seed + 3))
        for at in range(seed, seed + 3):
            yield from energy_findings(interaction, at)
            yield from twin_findings(interaction, at)
        yield from parameter_findings(interaction)


def _of_block(block: Block, seed: int) -> Iterator[Finding]:
    if hasattr(block, "reader"):
        block.forget_steps()
    findings = list(law_findings(block))
    if not findings:
        block.complex_safe = is_complex_safe(block)
        findings += damping_findings(block)
        findings += weight_findings(block)
        findings += energy_disagreements(block, seed)
        findings += parameter_findings(block)
        findings += description_findings(block, seed)
        for _ in range(3):
            findings += disagreements(block, seed, slopes=True)
            seed += 1
        findings += law_disagreements(block, seed)
    yield from findings


def disagreements(block: Block, seed: int = 0, slopes: bool = False) -> Iterator[Finding]:
    """Yield a finding for each function that disagrees, at a random motion, with what follows from pose, inertia and energy.

    With `slopes` their derivatives as well, which takes much longer.
    """
    plain, motion = _Plain(block), _Motion.of(block, seed)
    for comparison in [*_laws(block, motion), *(_slopes(block, motion) if slopes else ())]:
        overridden, derived = comparison.values(block), comparison.values(plain)
        if observed := difference(overridden, derived, comparison.nothing, comparison.size):
            advice = _advice(block, comparison.method)
            yield Finding("inconsistent-block", f"{block.name}.{comparison.name}", observed, comparison.expected, advice)


def _advice(block: Block, method: str) -> str:
    """Return advice about a method that disagrees; it may be an inherited one."""
    cls = type(block)
    owner = next(each for each in cls.__mro__ if method in vars(each))
    if method in vars(block) or owner is cls or owner in Block.__mro__:
        return "correct it, or leave it out: titop derives it"
    return f"define {method} in {cls.__name__} too: that of {owner.__name__} knows nothing of what {cls.__name__} changes"


def law_disagreements(block: Block, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding for each term of a block's compiled law that disagrees with the block's functions."""
    if block.compiled_law is None:
        return
    yield from twin_disagreements(block, seed)
    motion = _Motion.of(block, seed)
    turns, own = 1.0 / motion.sizes[:6], motion.sizes[6:]
    state = motion.q, motion.v, motion.twist
    law, derived = block.compiled_law.terms(block, *state), block.law(*state)
    natural = {
        "inertia": (np.outer(motion.sizes, motion.sizes), motion.energy),
        "gyroscopic": (motion.sizes, motion.energy),
        "passive": (own, motion.stored),
        "rotation": (1.0, 1.0),
        "position": (turns[:3], 1.0),
        "subspace": (np.outer(turns, own), 1.0),
        "bias": (turns, 1.0),
    }
    for name, (units, size) in natural.items():
        if observed := difference(getattr(law, name) * units, getattr(derived, name) * units, _NOTHING, size):
            expected = "what follows from the block's pose, mass matrix, energy and damping"
            yield Finding("inconsistent-law", f"{block.name}.compiled_law.{name}", observed, expected, "correct the law")


def parameter_findings(block: Block) -> Iterator[Finding]:
    """Yield the parameters that do not keep their values, or do not accept complex ones although the class says so."""
    for name, (value, _) in block.parameters().items():
        where, other = f"{block.name}.{name}", (1 + DIFFERENCE_STEP) * value or DIFFERENCE_STEP
        read_back = block.with_parameters({name: other}).parameters()[name][0]
        if not math.isclose(read_back, other, rel_tol=SAME):
            advice = "let with_parameters change what parameters reads"
            found = f"{read_back} after with_parameters({{{name!r}: {other}}})"
            yield Finding("parameter-lost", where, found, f"the new value {other}", advice)
        elif block.complex_parameters and not is_parameter_complex_safe(block, name):
            expected = "complex steps that give what differences give"
            advice = "let all functions keep imaginary parts, or set complex_parameters = False for derivatives by differences"
            yield Finding("parameter-not-complex-safe", where, "another derivative, or an error", expected, advice)


@dataclass(frozen=True)
class _Motion:
    """A random motion of a block, scaled by its coordinates and its size, so that units do not matter."""

    q: Array
    v: Array
    twist: Array  #: (6): of the parent port.
    x: Array  #: (6 + n): acceleration of the parent port, and own accelerations.
    sizes: Array  #: (6 + n): of displacements along the entries of ``x``: a length, an angle, the coordinates' scales.
    energy: float  #: Kinetic energy of a motion of these sizes in one second.
    stored: float  #: Stored energy, or energy lost to damping.

    @classmethod
    def of(cls, block: Block, seed: int) -> _Motion:
        rng = np.random.default_rng(seed)
        q = block.random_configuration(rng)
        inertia, sizes = block.mass_matrix(q), block.displacement_sizes(q)
        motion, x = rng.normal(size=(2, len(sizes))) * sizes
        damped = np.abs(block.damping_efforts(q, motion[6:])) @ np.abs(sizes[6:])
        stored = max(abs(float(block.elastic_energy(q))), float(damped))
        return cls(q, motion[6:], motion[:6], x, sizes, float(np.abs(np.diag(inertia)) @ sizes**2), stored)


@dataclass(frozen=True)
class _Comparison:
    """A method of a block whose result follows from others."""

    method: str
    arguments: tuple[Any, ...]
    expected: str
    units: Any  #: Factors, arrays like those returned, that make the entries comparable.
    size: float  #: Natural size of the scaled entries.
    nothing: float = _NOTHING  #: Relative error of differences where the value should be zero.

    @property
    def name(self) -> str:
        """Name of the method, with that of its port."""
        port = self.arguments[0]
        return f"{self.method}({port!r})" if isinstance(port, str) else self.method

    def values(self, block: Block) -> Array:
        """Return the result in comparable units, of combined functions in the form that follows redefinitions of the class."""
        method = current_form(block, self.method) if self.method.endswith("_slopes") else getattr(block, self.method)
        return _flat(method(*self.arguments)) * _flat(self.units)


def _laws(block: Block, motion: _Motion) -> Iterator[_Comparison]:
    q, v, own = motion.q, motion.v, motion.sizes[6:]
    expected = "what follows from the mass matrix"
    yield _Comparison("gyroscopic", (q, v, motion.twist), expected, motion.sizes, motion.energy)
    expected = "minus the slope of the energy, and the damping"
    yield _Comparison("passive_efforts", (q, v), expected, own, motion.stored)
    turns = 1.0 / motion.sizes[:6]
    for port in block.ports:
        yield _Comparison("motion_subspace", (port, q), "the derivative of the pose", np.outer(turns, own), 1.0)
        yield _Comparison("subspace_rate", (port, q, v), "the rate of the motion subspace", turns, 1.0)


def _slopes(block: Block, motion: _Motion) -> Iterator[_Comparison]:
    q, v, sizes, own = motion.q, motion.v, motion.sizes, motion.sizes[6:]
    yield _Comparison("elastic_slopes", (q,), "differences of the passive efforts", np.outer(own, own), motion.stored)
    by_own, size = np.outer(sizes, own), motion.energy + motion.stored
    units: Any = (by_own, by_own, np.outer(sizes, sizes[:6]))
    yield _Comparison("law_slopes", (q, v, motion.twist, motion.x), "differences of the law", units, size)
    by_own = np.outer(1.0 / sizes[:6], own)
    units = (own[:, None, None] * by_own, by_own, by_own)
    for port in block.ports:
        yield _Comparison("subspace_slopes", (port, q, v), "differences of the subspace", units, 1.0, _NOTHING_OF_THIRD)


def _flat(arrays: Any) -> Array:
    return np.concatenate([np.ravel(array) for array in arrays]) if isinstance(arrays, tuple) else np.ravel(arrays)


class _Plain(Block):
    """A block's pose, inertia, energy and damping, with nothing overridden, differentiated by differences."""

    complex_safe = False

    def __init__(self, block: Block) -> None:
        super().__init__(block.name)
        self.coordinates, self.ports, self._steps = block.coordinates, block.ports, block.steps
        for name in ("pose", "mass_matrix", "elastic_energy", "damping_efforts", "integrate", "difference", "bracket"):
            setattr(self, name, getattr(block, name))
