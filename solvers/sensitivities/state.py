"""A state at which sensitivities are taken, with cached port motions, and a system with one parameter changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array, twist_transport
from titop.graph.network.assembly import Assembly
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.parameters import changed_block, perturbed_assembly
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.signals.named_model import NamedModel


class SensitiveModel(NamedModel, Protocol):
    """A model with dynamics and their derivatives by its state; see `titop.solvers.model.parameters`."""

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> Array: ...
    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> tuple[Array, Array, Array]: ...


class SensitivityState:
    """A state of a model with its external loads.

    `u` (nu + nx): first-order states behind the inputs.
    """

    def __init__(self, model: SensitiveModel, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array) -> None:
        self.model, self.q, self.v, self.a, self.wrenches = model, q, v, a, wrenches
        self.u = model.mechanism.inputs.without_states(u)
        self.pushes: list[Push] = model.mechanism.external_pushes(wrenches, u)
        self._motions: dict[str, PortMotion] = {}
        self._jacobians: dict[str, Array] = {}

    def motion(self, port: str) -> PortMotion:
        """Return the motion of a port."""
        if port not in self._motions:
            self._motions[port] = self.model.mechanism.engine.observations.port_motion(port, self.q, self.v, self.a)
        return self._motions[port]

    def jacobian(self, port: str) -> Array:
        """Return the Jacobian (6, nv) of a port, in its frame."""
        if port not in self._jacobians:
            self._jacobians[port] = self.model.mechanism.engine.observations.jacobian(port, self.q)
        return self._jacobians[port]

    def parent_port(self, block: str) -> PortMotion:
        """Return the motion of the parent port of a body or of a joint."""
        if (joining := self.model.mechanism.assembly.connection_of_joint.get(block)) is None:
            return self.motion(block)
        rotation, position, twist, acceleration = self.motion(str(joining.parent))
        placement = joining.placement
        onto = twist_transport(placement.rotation, placement.position)
        place = rotation @ placement.rotation, position + rotation @ placement.position
        return PortMotion(*place, onto @ twist, onto @ acceleration)

    def parent_jacobian(self, block: str) -> Array:
        """Return the Jacobian (6, nv) of the parent port of a body or of a joint, in its frame."""
        if (joining := self.model.mechanism.assembly.connection_of_joint.get(block)) is None:
            return self.jacobian(block)
        onto = twist_transport(joining.placement.rotation, joining.placement.position)
        return onto @ self.jacobian(str(joining.parent))

    def coordinates_of(self, block: str) -> tuple[slice, slice]:
        """Return the slices of a block's own coordinates in q and in v."""
        nothing, assembly = slice(0, 0), self.model.mechanism.assembly
        return assembly.q_slices.get(block, nothing), assembly.v_slices.get(block, nothing)

    def efforts_of(self, port: str, wrench: Array) -> Array:
        """Return the efforts (nv) of a wrench on a port, given in its frame."""
        efforts: Array = np.dot(self.jacobian(port).T, wrench)
        return efforts


class Stepped:
    """A system with another value of a parameter, real or complex, without checks."""

    def __init__(self, assembly: Assembly, name: str, value: complex) -> None:
        self._assembly, self._name, self._value = assembly, name, value

    @cached_property
    def block(self) -> Any:
        """The parameter's block."""
        block: Any = self._assembly.blocks[owner_of(self._name)]
        return changed_block(block, {entry_of(self._name): self._value})

    @cached_property
    def assembly(self) -> Assembly:
        """The whole system, with all that depends on the block changed too."""
        return perturbed_assembly(self._assembly, {self._name: self._value})
