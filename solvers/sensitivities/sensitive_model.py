"""What sensitivities know of a model."""

from __future__ import annotations

from typing import Any, Protocol, Self

from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly
from titop.solvers.signals.named_model import NamedModel


class SensitiveModel(NamedModel, Protocol):
    """A model with dynamics and their derivatives by its state; see `titop.solvers.model.parameter_derivatives`."""

    def of(self, assembly: Assembly) -> Self: ...
    def neutral(self) -> Array: ...
    def motor_efforts(self, u: Any) -> Any: ...
    def forward_dynamics(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> Array: ...
    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> tuple[Array, Array, Array]: ...
