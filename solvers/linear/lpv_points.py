"""Operating points of a family: kept as they are, or as numbers that other processes and large families hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.model.model import Model


@dataclass(frozen=True)
class BarePoint:
    """The numbers of an operating point, to be sent to another process."""

    q: Array
    v: Array
    tau: Array
    u: Array | None
    wrenches: Any
    parameters: Any
    x: Array

    def on(self, model: Model) -> OperatingPoint:
        """Return the operating point of a model."""
        changed = model.changed(self.parameters)[0] if self.parameters else model
        return OperatingPoint(changed, self.q, self.v, self.tau, self.u, self.wrenches, self.parameters, x=self.x)


class WholePoint(NamedTuple):
    """An operating point that stays in this process, with its own model."""

    point: OperatingPoint

    def on(self, model: Model) -> OperatingPoint:
        """Return the operating point."""
        return self.point


AnyPoint = BarePoint | WholePoint


class Failure(NamedTuple):
    """Why there is no operating point: in the words of the search."""

    reason: str


def bare(point: OperatingPoint, model: Model | None = None) -> BarePoint:
    """Return a point's numbers; with a model, also the parameters in which the point's own model differs from it."""
    parameters = dict(point.parameters)
    if model is not None and point.model is not model:
        known = model.parameters()
        parameters |= {name: value for name, (value, _) in point.model.parameters().items() if value != known[name][0]}
    return BarePoint(point.q, point.v, point.tau, point.u, point.wrenches, parameters, point.x)
