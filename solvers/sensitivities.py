"""Sensitivities of the dynamics: derivatives by parameters, actuators' inputs and wrenches on ports, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.blocks.spatial import Array
from titop.solvers.parameters import perturbed_assembly

if TYPE_CHECKING:
    from titop.solvers.model import Model

_STEP = 1e-30
#: Part of a parameter's value, for blocks whose parameters cannot be complex.
_DIFFERENCE = 1e-3
#: Sixth-order central difference: offset in steps, weight.
_STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


class Sensitivities:
    """Derivatives of a model's inverse dynamics by everything that is not its state.

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

    def __init__(self, model: Model, names: Iterable[str]) -> None:
        self.model = model
        self.names = [names] if isinstance(names, str) else list(names)
        known = [*self._values, *model.input_names, *model.ports]
        for name in self.names:
            if name not in known:
                expected = "a parameter, an input or a port of the model"
                raise ModelError(Finding("unknown-name", "names", name, expected, did_you_mean(str(name), known)))

    @cached_property
    def _values(self) -> dict[str, float]:
        return {name: value for name, (value, _) in self.model.parameters().items()}

    def of_efforts(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any] | None, u: Any) -> dict[str, Array]:
        """Return the derivatives of the efforts ``tau`` at accelerations `a` by name."""
        return {name: self._of_efforts(name, q, v, a, wrenches, u) for name in self.names}

    def _of_efforts(self, name: str, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any] | None, u: Any) -> Array:
        model = self.model
        if name in self._values:
            return self._by_parameter(name, q, v, a, wrenches, u)
        if name in model.input_names:
            return -model.actuation_matrix(q)[:, model.input_names.index(name)]
        return -model.jacobian(name, q).T

    def _by_parameter(self, name: str, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any] | None, u: Any) -> Array:
        """Return the derivative by a parameter: a complex step through the reference resolver, exact to rounding.

        A block whose parameters cannot be complex is differentiated by sixth-order differences.
        """
        from titop.solvers.reference import ReferenceModel

        def efforts(step: complex) -> Array:
            assembly = perturbed_assembly(self.model.assembly, {name: self._values[name] + step})
            return ReferenceModel(assembly, dtype=type(step)).inverse_dynamics(q, v, a, wrenches, u=u)

        block = self.model.assembly.blocks.get(name.partition(".")[0])
        if block is None or block.complex_parameters:
            return np.imag(efforts(1j * _STEP)) / _STEP
        step = _DIFFERENCE * abs(self._values[name]) or _DIFFERENCE
        return np.asarray(sum(w * (efforts(k * step) - efforts(-k * step)) for k, w in _STENCIL)) / step
