"""Blocks at other values of uncertain parameters: of what laws and ports are interpolated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.contract.block import Block
from titop.graph.network.assembly import Assembly
from titop.solvers.lft.uncertainty.uncertain import Uncertainty
from titop.solvers.mechanism.parameters import changed_assembly

#: Rationality is judged where parameters differ from the middle of their range by this part of it at least.
_WIDE = 0.3
#: The least misfit of which a refusal speaks.
_LEAST = 1e-12


class ChangedBlock:
    """A block whose named parameters are uncertain.

    Parameters
    ----------
    assembly : Assembly
        With all parameters in the middle of their ranges.
    block : Block
    names : list of str
        Of its parameters, and of those of what belongs to it.
    uncertainty : Uncertainty

    Attributes
    ----------
    deltas : list of str
    """

    def __init__(self, assembly: Assembly, block: Block, names: list[str], uncertainty: Uncertainty) -> None:
        self.assembly, self.block, self.names, self.uncertainty = assembly, block, names, uncertainty
        self.deltas = [*dict.fromkeys(found[0].name for name in names if (found := uncertainty.at(name)))]
        self._known: dict[tuple[float, ...], Block] = {}

    def at(self, values: Mapping[str, float]) -> Block:
        """Return the block at some values of the deltas; missing ones are zero."""
        key = tuple(values.get(delta, 0.0) for delta in self.deltas)
        if not any(key):
            return self.block
        if key not in self._known:
            self._known[key] = self._changed(values)
        return self._known[key]

    def _changed(self, values: Mapping[str, float]) -> Block:
        changed, start = self.uncertainty.changed(values), f"{self.block.name}."
        if all(name.startswith(start) for name in self.names):
            return self.block.with_parameters({name.removeprefix(start): changed[name] for name in self.names})
        return changed_assembly(self.assembly, {name: changed[name] for name in self.names}, self.names).blocks[self.block.name]

    def path(self, delta: str) -> str:
        """Return the first name of a delta's that is the block's."""
        return next(name for name in self.names if (found := self.uncertainty.at(name)) and found[0].name == delta)

    @cached_property
    def reach(self) -> dict[str, float]:
        """How many times as far as its range each delta goes until its parameter has changed much: one of wide ranges.

        As far as the block accepts the values; of parameters around zero as far as the range.
        """
        known = len(self.block.check()[0])
        result = {}
        for delta in self.deltas:
            uncertain, member = self.uncertainty.at(self.path(delta))  # type: ignore[misc]
            far = 1.0 if uncertain.block.part else max(1.0, _WIDE * abs(member.middle / member.half))
            while far > 1.0 and any(len(self.at({delta: x}).check()[0]) > known for x in (-far, far)):
                far = max(1.0, far / 2)
            result[delta] = far
        return result


def not_rational(path: str, misfit: float, is_fitted: bool = False) -> Finding:
    """Return that a law is no polynomial in a parameter, and how well a fit does."""
    expected = "a parameter in which the block's law is polynomial: masses, inertias, stiffness, frequencies, positions"
    if is_fitted:
        expected, advice = "a fit within its tolerance", "narrow the range, or give a tolerance: fits={name: 1e-3}"
        return Finding("no-fit", f"parameters: {path}", f"a law that polynomials miss by {misfit:.1e}", expected, advice)
    found = "" if misfit == np.inf else f" (to {max(misfit, _LEAST):.0e} of its entries with degree 4)"
    advice = f"fits=[{path!r}] fits the law{found}; or keep it fixed, or sample it with tt.lpv"
    return Finding("not-rational", "parameters", path, expected, advice)
