"""Errors and warnings about a block's members beside its law: surroundings, pictures, masses, linear fractional models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from titop.blocks.basics.complex_steps import REAL_STEP
from titop.blocks.basics.differences import derivative
from titop.blocks.basics.errors import Finding, numbers_text
from titop.blocks.basics.spatial import Array, rigid_inertia, rotation_exp
from titop.blocks.basics.tolerances import DIFFERENCE_ERROR, SAME
from titop.blocks.contract.applied import BlockMotion, has_weight
from titop.blocks.contract.block import Block, overrides_method
from titop.blocks.contract.description import Described, MassProperties, Picture
from titop.blocks.contract.own_coordinates import redefines


def some_place(block: Block, rng: np.random.Generator) -> BlockMotion:
    """Return a random pose and motion of a block, with its characteristic sizes."""
    q = block.random_configuration(rng)
    sizes = block.displacement_sizes(q)
    motion = rng.normal(size=len(sizes)) * sizes
    return BlockMotion(q, motion[6:], motion[:6], rotation_exp(rng.normal(size=3)), rng.normal(size=3) * sizes[:3])


def moved_place(block: Block, at: BlockMotion, by: Array) -> BlockMotion:
    """Return the motion after a small displacement of the parent port and of the coordinates (6 + n)."""
    return at._replace(
        q=block.integrate(at.q, by[6:]),
        rotation=at.rotation @ rotation_exp(by[3:6]),
        position=at.position + at.rotation @ by[:3],
    )


def difference(one: Array, two: Array, nothing: float = 0.0, size: float = 0.0) -> str:
    """Return in words how much a result differs from what it should be, `two`; empty if it does not.

    Errors up to `nothing`, relative to the natural `size` of the entries, count as none.
    """
    largest, error = np.abs(two).max(initial=0.0), np.abs(one - two).max(initial=0.0)
    if error <= DIFFERENCE_ERROR * largest + nothing * size:
        return ""
    return f"a difference of {error / (largest or size or 1.0):.2g} of what it should be"


def weight_findings(block: Block) -> Iterator[Finding]:
    """Yield a finding if gravity would act on an inertia whose mass differs between axes."""
    if has_weight(block):
        return
    M = block.mass_matrix(block.random_configuration(np.random.default_rng(0)))
    turning = M[:3, 3:6]
    apart = max(np.abs(M[:3, :3] - M[0, 0] * np.eye(3)).max(), np.abs(turning + turning.T).max())
    if apart > SAME * np.abs(M[:6, :6]).max():
        found = f"an inertia against forces of {numbers_text(M[:3, :3])}"
        advice = "define weight(q), which says what gravity pulls at: mass and first moment, without the added mass of a fluid"
        yield Finding("added-mass-weighs", f"{block.name}.mass_matrix", found, "one mass along all axes, or weight(q)", advice)


def twin_disagreements(block: Block, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding if the applied efforts of a compiled law disagree with the block's own function."""
    law = block.compiled_law
    if law is None or law.applied is None or not overrides_method(block, "applied_efforts"):
        return
    at = some_place(block, np.random.default_rng(seed))
    sizes = block.displacement_sizes(at.q)
    compiled, derived = law.applied_efforts(block.law_numbers(), *at), block.applied_efforts(*at)
    if observed := difference(compiled * sizes, derived * sizes):
        expected = "what the block's applied_efforts say"
        yield Finding("inconsistent-law", f"{block.name}.compiled_law.applied", observed, expected, "correct the law")


def energy_disagreements(block: Block, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding if the applied efforts at rest disagree with their potential energy, if there is one."""
    if not overrides_method(block, "applied_energy"):
        return
    at = some_place(block, np.random.default_rng(seed))
    resting = at._replace(v=0.0 * at.v, twist=0.0 * at.twist)
    sizes, efforts = block.displacement_sizes(at.q), block.applied_efforts(*resting)

    def energy_along(k: int, s: float) -> float:
        there = moved_place(block, at, s * np.diag(sizes)[k])
        return float(block.applied_energy(there.q, there.rotation, there.position))

    work = efforts * sizes
    derived = np.array([-derivative(partial(energy_along, k), REAL_STEP) for k in range(len(sizes))])
    error = np.abs(work - derived)
    if not error.max() <= DIFFERENCE_ERROR * max(np.abs(work).max(), np.abs(derived).max(), abs(energy_along(0, 0.0))):
        k = int(error.argmax())
        observed = f"{efforts[k]:.6g} at entry {k}, at rest"
        expected = f"minus the slope of applied_energy, {derived[k] / sizes[k]:.6g}"
        advice = "let both say the same, or leave applied_energy out: efforts without an energy are fine"
        yield Finding("inconsistent-block", f"{block.name}.applied_efforts", observed, expected, advice)


_ADVICE = "see help(titop.Block)"


def description_findings(block: Block, seed: int = 0) -> Iterator[Finding]:
    """Yield members that disagree with the law, or cannot be drawn or varied."""
    yield from _mass_findings(block)
    yield from _picture_findings(block, seed)
    known, common = set(block.parameters()), block.common_parameters()
    named = {
        "common_parameters": {share.name for entry in common.values() for share in entry.shares},
        "rational_parameters": set(block.rational_parameters or ()),
        "load_parameters": set(block.load_parameters),
        "disturbances": set(block.disturbances),
        "rescaled_coordinates": set(block.rescaled_coordinates()) - common.keys(),
    }
    for member, names in named.items():
        for name in sorted(names - known):
            yield Finding("unknown-parameter", f"{block.name}.{member}", name, "names in parameters()", _ADVICE)
    for name, places in block.rescaled_coordinates().items():
        if wrong := [k for k in places if k not in range(block.nv)]:
            where, expected = f"{block.name}.rescaled_coordinates[{name!r}]", f"numbers of coordinates below {block.nv}"
            yield Finding("unknown-coordinate", where, wrong, expected, _ADVICE)


def _mass_findings(block: Block) -> Iterator[Finding]:
    if not redefines(block, "mass_properties", Described):
        return
    given, derived = block.mass_properties(), Described.mass_properties(block)
    where = f"{block.name}.mass_properties"
    if not isinstance(given, MassProperties):
        yield Finding("wrong-type", where, given, "titop.blocks.contract.description.MassProperties", _ADVICE)
        return
    one, two = (rigid_inertia(*each) for each in (given, derived))
    sizes = np.sqrt(np.abs(np.diag(two)))
    sizes[3:] = sizes[3:].max()
    if not (np.abs(one - two) <= DIFFERENCE_ERROR * np.outer(sizes, sizes)).all():
        found = f"a difference of up to {np.abs(one - two).max():.2g} in the inertia"
        yield Finding("inconsistent-block", where, found, "what the mass matrix says", "correct it, or leave it out")


def _picture_findings(block: Block, seed: int) -> Iterator[Finding]:
    """Yield findings for pictures without points, or with different points at different configurations."""
    rng, where = np.random.default_rng(seed), f"{block.name}.picture"
    pictures = [block.picture(q) for q in (block.neutral(), block.random_configuration(rng))]
    if all(picture is None for picture in pictures):
        return
    first, second = pictures
    if not (isinstance(first, Picture) and isinstance(second, Picture)):
        expected = "titop.blocks.contract.description.Picture at every configuration, or None at all"
        yield Finding("wrong-type", where, f"{type(first).__name__} and {type(second).__name__}", expected, _ADVICE)
        return
    for points in (first.points, second.points):
        if np.shape(points) != (len(first.points), 3) or not np.isfinite(points).all():
            yield Finding("bad-picture", where, points, "as many points (k, 3) at every configuration, finite", _ADVICE)
            return
    if np.shape(first.triangles)[1:] != (3,):
        yield Finding("bad-picture", where, f"triangles of shape {np.shape(first.triangles)}", "(m, 3)", _ADVICE)
    numbers = np.concatenate([np.ravel(part).astype(int) for part in (first.triangles, *first.lines)])
    if not set(numbers.tolist()) <= set(range(len(first.points))):
        found = f"the point {numbers.max()} of {len(first.points)}"
        yield Finding("bad-picture", where, found, "numbers of points, counted from 0", _ADVICE)
