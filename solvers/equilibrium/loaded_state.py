"""What of an operating point says how it moves: for those that points themselves ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model


class LoadedState(Protocol):
    """A state with all that acts on it; see `titop.solvers.equilibrium.operating_point.OperatingPoint`."""

    @property
    def model(self) -> Model: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def u(self) -> Array | None: ...
    @property
    def driving(self) -> Array | None: ...
    @property
    def wrenches(self) -> Mapping[str, Array] | None: ...
    @property
    def residual(self) -> Array: ...
