"""Sensitivities of the dynamics: derivatives by parameters, actuators' inputs and wrenches on ports, by name.

Those by masses, centres of mass and inertias of rigid bodies come from the regressor, all in one pass. Those by other
parameters are exact to rounding too, but take the reference resolver: milliseconds each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.checking.complex_safety import is_parameter_complex_safe
from titop.blocks.contract.overrides import overrides
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import rank_near
from titop.solvers.constraints.multipliers import share_efforts
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.parameters import perturbed_assembly
from titop.solvers.signals.grammar import CAUSE, read_name
from titop.solvers.signals.named_model import NamedModel
from titop.solvers.signals.quantities import Kind

_STEP = 1e-30
#: Step over a parameter's value, for blocks whose parameters cannot be complex.
_DIFFERENCE = 1e-3


class SensitiveModel(NamedModel, Protocol):
    """What sensitivities know of a model; see `titop.solvers.model.parameter_derivatives`."""

    def closure_jacobian(self, q: Any) -> Array: ...
    def motor_efforts(self, u: Any) -> Any: ...
    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]: ...
    def inertial_effort_derivatives(self, names: Iterable[str], q: Array, v: Array, a: Array) -> dict[str, Array]: ...
    def forward_dynamics(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> Array: ...
    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> Array: ...
    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> tuple[Array, Array, Array]: ...


class Sensitivities:
    """Derivatives of a model's dynamics by everything that is not its state.

    Parameters
    ----------
    model : Model
    names : iterable of str
        Of parameters, inputs and ports; a port's derivative has six columns, by a wrench on it in its frame.

    Raises
    ------
    ModelError
        For unknown names.
    """

    def __init__(self, model: SensitiveModel, names: Iterable[str]) -> None:
        self.model = model
        self.names = [names] if isinstance(names, str) else list(names)
        self._causes = {name: read_name(model, CAUSE, name) for name in self.names}

    @cached_property
    def _values(self) -> dict[str, float]:
        return {name: value for name, (value, _) in self.model.parameters().items()}

    def of_efforts(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any] | None, u: Any) -> dict[str, Array]:
        """Return the derivatives of the efforts ``tau`` (with constraints, of least norm) at accelerations `a` by name."""
        model = self.model
        everywhere = np.ones(model.nv, dtype=bool)
        rank = rank_near(model, q) if model.is_constrained else 0

        def efforts(changed: SensitiveModel) -> Array:
            if not model.is_constrained:
                return changed.inverse_dynamics(q, v, a, wrenches, u=u)
            pushes, motors = changed.external_pushes(wrenches, u), changed.motor_efforts(u)
            rows = changed.engine.dynamics.constraints(q, v)
            return closed_dynamics.balanced(changed, q, v, a, pushes, motors, everywhere, rows, rank)[0]

        def shared(efforts: Array) -> Array:
            if not model.is_constrained:
                return efforts
            J, weights = model.closure_jacobian(q), model.closure_weights
            parts = [
                share_efforts(J, weights, part, everywhere, rank, model.gear_count)[0] for part in np.atleast_2d(efforts.T)
            ]
            return np.array(parts).T.reshape(efforts.shape)

        inertial = model.inertial_effort_derivatives(self.names, q, v, a)

        def change(name: str) -> Array:
            if name in inertial:
                return shared(inertial[name])
            return self._by_parameter(name, efforts) if name in self._values else -shared(self._push(name, q))

        return {name: change(name) for name in self.names}

    def of_accelerations(self, q: Array, v: Array, tau: Array, wrenches: Mapping[str, Any] | None, u: Any) -> dict[str, Array]:
        """Return the derivatives of the accelerations under the efforts `tau` by name."""
        model = self.model
        mobility = model.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)[2]
        a = model.forward_dynamics(q, v, tau, wrenches, u=u)
        nothing, imposed = np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
        rank = model.closure_rank(q)

        def accelerations(changed: SensitiveModel) -> Array:
            pushes, efforts = changed.external_pushes(wrenches, u), tau + changed.motor_efforts(u)
            rows = changed.engine.dynamics.constraints(q, v)
            return closed_dynamics.accelerations(changed, q, v, nothing, efforts, imposed, pushes, rows, rank)[0]

        inertial = model.inertial_effort_derivatives(self.names, q, v, a)

        def change(name: str) -> Array:
            if name in inertial:
                return -mobility @ inertial[name]
            if name not in self._values:
                return mobility @ self._push(name, q)
            if model.is_constrained:
                return self._by_parameter(name, accelerations)
            return -mobility @ self._by_parameter(name, lambda changed: changed.inverse_dynamics(q, v, a, wrenches, u=u))

        return {name: change(name) for name in self.names}

    def _push(self, name: str, q: Array) -> Array:
        """Return the efforts a unit of an input (nv), or of a wrench on a port (nv, 6)."""
        model, cause = self.model, self._causes[name]
        if cause.kind == Kind.INPUT:
            return model.actuation_matrix(q)[:, cause.entries[0]]
        return model.jacobian(cause.owner, q).T[:, list(cause.entries)]

    def _by_parameter(self, name: str, function: Callable[[SensitiveModel], Array]) -> Array:
        """Return the derivative of a function of the model by a parameter: a complex step through the reference resolver.

        Where the block's functions lose imaginary parts, sixth-order differences.
        """

        def at(step: complex) -> Array:
            assembly = perturbed_assembly(self.model.assembly, {name: self._values[name] + step})
            return function(self.model.engine.specification(assembly, type(step)))

        if self._takes_complex(name):
            return np.imag(at(1j * _STEP)) / _STEP
        step = _DIFFERENCE * abs(self._values[name]) or settled_step(lambda s: (at(s),), _DIFFERENCE) or _DIFFERENCE
        return derivative(at, step)

    def _takes_complex(self, name: str) -> bool:
        """Tell whether the functions of the block to which a parameter belongs keep imaginary parts; users' are tried."""
        entry, block = entry_of(name), self.model.assembly.blocks.get(owner_of(name))
        if block is None or not block.complex_parameters:
            return block is None
        return (
            not (overrides(block) or (block.nv and block.inputs))
            or entry not in block.parameters()
            or is_parameter_complex_safe(block, entry)
        )
