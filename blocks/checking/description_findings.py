"""Errors in a block's members for pictures, checks and linear fractional models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import rigid_inertia
from titop.blocks.basics.tolerances import DIFFERENCE_ERROR
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import Described, MassProperties, Picture
from titop.blocks.contract.own_coordinates import redefines

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
    """Compare mass properties with the mass matrix at the neutral configuration."""
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
