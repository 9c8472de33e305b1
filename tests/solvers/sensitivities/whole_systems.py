"""Sensitivities another way: a parameter's step sent through the whole of the reference engine's system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import titop as tt
from tests.solvers.reference_models import reference_model
from titop.blocks.basics.differences import derivative
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.checking.complex_safety import is_parameter_complex_safe
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import rank_near
from titop.solvers.mechanism.system_parameters import perturbed_assembly

STEP = 1e-30


def takes_complex(m: tt.Model, name: str) -> bool:
    """Tell whether a complex step of a parameter arrives."""
    block = m.mechanism.assembly.blocks.get(owner_of(name))
    if block is None or entry_of(name) not in block.parameters():
        return True
    return block.complex_parameters and is_parameter_complex_safe(block, entry_of(name))


def by_parameter(m: tt.Model, name: str, function: Callable[[Any], Array]) -> Array:
    """Return the derivative of a function of the whole model by a parameter."""
    value = m.parameters()[name][0]

    def at(step: Any) -> Array:
        assembly = perturbed_assembly(m.mechanism.assembly, {name: value + step})
        return function(reference_model(assembly, complex if isinstance(step, complex) else float))

    if takes_complex(m, name):
        return np.imag(at(1j * STEP)) / STEP
    return derivative(at, 1e-3 * (abs(value) or 1.0))


def efforts(m: tt.Model, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array) -> Callable[[Any], Array]:
    """Return what the efforts at accelerations `a` are, as a function of the model."""
    everywhere = np.ones(m.nv, dtype=bool)
    rank = rank_near(m.mechanism, q) if m.is_constrained else 0

    def of(changed: Any) -> Array:
        pushes, motors = changed.mechanism.external_pushes(wrenches, u), changed.mechanism.motor_efforts(u)
        if not m.is_constrained:
            return np.asarray(changed.mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - motors)
        rows = changed.mechanism.engine.dynamics.constraints(q, v)
        shares = closed_dynamics.shares_at(changed.mechanism, rows.jacobian, everywhere, rank)
        needed = changed.mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - motors
        return np.asarray(shares.split(needed)[0])

    return of


def accelerations(m: tt.Model, q: Array, v: Array, tau: Array, wrenches: Mapping[str, Any], u: Array) -> Callable[[Any], Array]:
    """Return what the accelerations under efforts are, as a function of the model."""
    free, nothing, rank = np.zeros(m.nv, dtype=bool), np.zeros(m.nv), m.closure_rank(q)

    def of(changed: Any) -> Array:
        pushes, driven = changed.mechanism.external_pushes(wrenches, u), tau + changed.mechanism.motor_efforts(u)
        rows = changed.mechanism.engine.dynamics.constraints(q, v)
        return closed_dynamics.accelerations(changed.mechanism, q, v, nothing, driven, free, pushes, rows, rank)

    return of
