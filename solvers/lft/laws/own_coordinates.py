"""A block's own coordinates as uncertain numbers of its law: deflections and rates that are not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.solvers.lft.laws.compared_ports import PortMotion
from titop.solvers.lft.laws.laws import At, by_acceleration
from titop.solvers.lft.uncertainty.uncertain import Uncertainty

#: So many coordinates of a block may move: its law is evaluated at a grid of them.
_MOST = 6
#: By how much numbers may differ that do not depend on a coordinate, in parts of the largest.
_SAME = 1e-9

_ADVICE = "use tt.lpv, or hold it with efforts"


class OwnCoordinates(NamedTuple):
    """Which coordinates and rates of a block are uncertain: their names, and whose entry each is.

    Attributes
    ----------
    paths : tuple of str
    entries : tuple of int
    uncertainty : Uncertainty
    """

    paths: tuple[str, ...]
    entries: tuple[int, ...]
    uncertainty: Uncertainty

    @classmethod
    def of(cls, coordinates: Sequence[str], uncertainty: Uncertainty) -> OwnCoordinates:
        """Return those of a block with some coordinates."""
        found = [(f"{name}{end}", k) for end in (".q", ".v") for k, name in enumerate(coordinates)]
        found = [(path, k) for path, k in found if uncertainty.at(path)]
        paths, entries = tuple(path for path, _ in found), tuple(k for _, k in found)
        if len(paths) > _MOST:
            expected = f"{_MOST} coordinates of a block at most"
            raise ModelError(Finding("many-coordinates", "parameters", ", ".join(paths), expected, _ADVICE))
        return cls(paths, entries, uncertainty)

    @property
    def deltas(self) -> list[str]:
        """Of all of them."""
        return [found[0].name for path in self.paths if (found := self.uncertainty.at(path))]

    def path(self, delta: str) -> str:
        """Return the first name of a delta's."""
        return self.paths[self.deltas.index(delta)]

    def moved(self, at: At, values: Mapping[str, float]) -> At:
        """Return where a law is taken at some values of the deltas."""
        if not self.paths:
            return at
        changed, q, v = self.uncertainty.changed(values), at.q.copy(), at.v.copy()
        for path, k in zip(self.paths, self.entries, strict=True):
            (q if split_end(path)[1] == "q" else v)[k] = changed[path]
        return at._replace(q=q, v=v)

    def refuse_turning(self, block: Block, at: At) -> None:
        """Refuse coordinates on which it depends how the law changes with the acceleration of the parent port.

        Raises
        ------
        ModelError
            Naming one.
        """
        columns = slice(6 if at.acceleration[3:].any() else 3)
        still = by_acceleration(block, at)[..., columns]
        for path in self.paths:
            uncertain, _ = self.uncertainty.at(path)  # type: ignore[misc]
            other = by_acceleration(block, self.moved(at, {uncertain.name: 0.7}))[..., columns]
            if np.abs(other - still).max(initial=0.0) > _SAME * np.abs(still).max(initial=0.0):
                expected = "a coordinate that stays, where the direction of gravity is uncertain"
                raise ModelError(Finding("not-rational", "parameters", path, expected, _ADVICE))


def refuse_moving_port(block: Block, port: str, q: Array, own: OwnCoordinates) -> None:
    """Refuse coordinates and rates that move a port that is in use.

    Raises
    ------
    ModelError
        Naming one.
    """
    before, size = PortMotion(*block.pose(port, q), block.motion_subspace(port, q)), own.uncertainty.point.model.size
    for path, k in zip(own.paths, own.entries, strict=True):
        uncertain, _ = own.uncertainty.at(path)  # type: ignore[misc]
        moved = q.copy()
        end = split_end(path)[1]
        if end == "q":
            moved[k] = own.uncertainty.changed({uncertain.name: 0.7})[path]
        after = PortMotion(*block.pose(port, moved), block.motion_subspace(port, moved))
        if end == "v" or before.differs(after, size, _SAME):
            expected = f"a coordinate of a plain joint, or one that does not move {block.name}.{port}"
            raise ModelError(Finding("not-rational", "parameters", path, expected, _ADVICE))
