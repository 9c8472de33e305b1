"""Values of uncertain parameters, as users give them and as results name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.user_input import real_array
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.lft.uncertainty.uncertain import Uncertain
from titop.solvers.signals.exported import exported

#: Normalised values of names that are tied to each other differ by no more, but for rounding.
_ALIKE = 1e-9


def read_values(
    where: str, values: Mapping[str, Any], uncertain: Sequence[Uncertain], blocks: Sequence[DeltaBlock]
) -> dict[str, float]:
    """Return values of parameters by path, those of complex and full blocks left out.

    Raises
    ------
    ModelError
        For names that are unknown, what are no finite numbers, and names of one number that contradict each other.
    """
    paths = [member.path for own in uncertain for member in own.members]
    known = {path: path for path in paths} | {exported(path): path for path in paths}
    others = {block.name for block in blocks if block.kind != "real"}
    given: dict[str, float] = {}
    for name, value in values.items():
        if name in others:
            continue
        if name not in known:
            expected, advice = "an uncertain parameter", did_you_mean(name, paths)
            raise ModelError(Finding("unknown-parameter", where, name, expected, advice))
        number = real_array(value)
        if number is None or number.ndim or not np.isfinite(number):
            raise ModelError(Finding("wrong-type", f"{where}: {name}", value, "a finite number", "give one value of each"))
        given[known[name]] = float(number)
    for own in uncertain:
        _refuse_contradiction(where, own, given)
    return given


def _refuse_contradiction(where: str, uncertain: Uncertain, given: Mapping[str, float]) -> None:
    """Refuse several names of one uncertain number that say different things of it."""
    said = [member for member in uncertain.members if member.path in given]
    normalised = [member.normalised(given[member.path], uncertain.block.part) for member in said]
    for member, number in zip(said, normalised, strict=True):
        if abs(number - normalised[0]) > _ALIKE * max(1.0, abs(number)):
            first = said[0].path
            expected, advice = f"what goes with {first} = {given[first]:.6g}", "give one of them: the family ties them together"
            raise ModelError(Finding("contradiction", f"{where}: {member.path}", given[member.path], expected, advice))


def refuse_complex(where: str, values: Mapping[str, Any], blocks: Sequence[DeltaBlock]) -> None:
    """Refuse values of complex and full blocks that are not zero, with which no real system has a response."""
    for block in blocks:
        if block.kind != "real" and np.any(values.get(block.name, 0.0)):
            expected, advice = "zero", "its response is complex: close M by hand, or leave it out for the real parameters'"
            raise ModelError(Finding("complex-value", f"{where}: {block.name}", values[block.name], expected, advice))
