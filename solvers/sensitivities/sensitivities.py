"""Sensitivities of the dynamics: derivatives by parameters, actuators' inputs and wrenches on ports, by name.

Those by masses, centres of mass and inertias of rigid bodies come from the regressor of these bodies, in one pass. For other
parameters only the parameter's block is differentiated (`parameter_changes`); the response of the system follows from its
derivatives by the state (`effects`). All are exact to rounding, except for blocks that do not keep imaginary parts: these are
differentiated by finite differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import rank_near
from titop.solvers.constraints.multipliers import Shares
from titop.solvers.mechanism.movable_ports import MovablePlace
from titop.solvers.sensitivities.effects import Effect, Movable, SensitiveModel, SensitivityState
from titop.solvers.sensitivities.inertial_parameters import inertial_effort_derivatives
from titop.solvers.sensitivities.parameter_changes import ParameterChange
from titop.solvers.signals.grammar import CAUSE, read_name
from titop.solvers.signals.quantities import Kind


class _Closed(NamedTuple):
    """The constraints at a state: the split of efforts, all multipliers (k), and the vector w (nv) of the split."""

    shares: Shares
    multipliers: Array
    shared: Array


class _Change(NamedTuple):
    """Changes of the efforts of inverse dynamics (nv), of J times the `shared` vector, and of ``J a + bias`` (k each)."""

    needed: Array
    turned: Array
    opening: Array


class Sensitivities:
    """Derivatives of a model's dynamics by everything that is not its state.

    `names`: names of parameters, inputs and ports; for a port, derivatives are by a wrench on it in its frame (six columns);
    `pushed`: ports on which wrenches act.

    Raises `ModelError` for unknown names.
    """

    def __init__(self, model: SensitiveModel, names: Iterable[str], pushed: Iterable[str] = ()) -> None:
        self.model, self.names, self._pushed = model, tuple(names), frozenset(pushed)
        self._causes = {name: read_name(model, CAUSE, name) for name in self.names}
        self._movable: Movable | None = None

    @cached_property
    def _parameters(self) -> dict[str, ParameterChange]:
        values, assembly = self.model.parameters(), self.model.mechanism.assembly
        return {name: ParameterChange(assembly, name, values[name][0], self._pushed) for name in self.names if name in values}

    def of_efforts(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array) -> dict[str, Array]:
        """Return the derivatives of the efforts ``tau`` (with constraints, of least norm) at accelerations `a` by name."""
        model, state = self.model, SensitivityState(self.model, q, v, a, wrenches, u)
        if not model.is_constrained:
            return {name: change.needed for name, change in self._changes(state, None).items()}
        needed = model.mechanism.engine.dynamics.tree_inverse(q, v, a, state.pushes) - model.mechanism.motor_efforts(u)
        closed = self._closed(q, v, rank_near(model.mechanism, q), needed, np.ones(model.nv, dtype=bool))

        def least(needed: Array, turned: Array, opening: Array) -> Array:
            return closed.shares.least(needed, turned)

        return _together(self._changes(state, closed), least)

    def of_accelerations(self, q: Array, v: Array, tau: Array, wrenches: Mapping[str, Any], u: Array) -> dict[str, Array]:
        """Return the derivatives of the accelerations under the efforts `tau` by name."""
        model = self.model
        a = model.forward_dynamics(q, v, tau, wrenches, u=u)
        state = SensitivityState(model, q, v, a, wrenches, u)
        if not model.is_constrained:
            free = np.zeros(model.nv, dtype=bool)

            def caused(needed: Array, turned: Array, opening: Array) -> Array:
                return model.mechanism.engine.dynamics.tree_response(q, -needed, free)

            return _together(self._changes(state, None), caused)
        needed = model.mechanism.engine.dynamics.tree_inverse(q, v, a, state.pushes) - model.mechanism.motor_efforts(u) - tau
        closed = self._closed(q, v, closed_dynamics.acting(model.mechanism, q, v)[1], needed, np.zeros(model.nv, dtype=bool))
        mobility = model.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)[2]

        def accelerated(needed: Array, turned: Array, opening: Array) -> Array:
            if not opening.any():
                return -mobility @ needed
            closing = closed.shares.partition.follow(-opening)
            return closing - mobility @ (needed + model.mechanism.engine.dynamics.mass_matrix(q) @ closing)

        return _together(self._changes(state, closed), accelerated)

    def _closed(self, q: Array, v: Array, rank: int, needed: Array, unknown: Array) -> _Closed:
        """Return the constraints for `needed` efforts, with efforts of least norm on the `unknown` coordinates."""
        model = self.model
        jacobian = model.mechanism.engine.dynamics.constraints(q, v).jacobian
        shares = closed_dynamics.shares_at(model.mechanism, jacobian, unknown, rank)
        shared, multipliers = shares.split(needed)
        return _Closed(shares, multipliers, shared)

    def _changes(self, state: SensitivityState, closed: _Closed | None) -> dict[str, _Change]:
        """Return the changes by each cause at a state, by name, with coordinates and accelerations held."""
        constraints = 0 if closed is None else len(closed.multipliers)
        inertial = inertial_effort_derivatives(self.model.mechanism, self.names, state.q, state.v, state.a)
        effects = {name: change.effect(state) for name, change in self._parameters.items() if name not in inertial}
        followed = self._followed(state, closed, effects)

        def change(name: str) -> _Change:
            if name in followed:
                return followed[name]
            needed = inertial[name] if name in inertial else -self._push(name, state)
            still = np.zeros((constraints, *needed.shape[1:]))
            return _Change(needed, still, still)

        return {name: change(name) for name in self.names}

    def _followed(self, state: SensitivityState, closed: _Closed | None, effects: Mapping[str, Effect]) -> dict[str, _Change]:
        """Return the changes by effects, including those of moving ports and changing constraints."""
        nothing = np.zeros(0)
        multipliers, shared = (nothing, np.zeros(self.model.nv)) if closed is None else (closed.multipliers, closed.shared)
        places = {move.place for effect in effects.values() for move in effect.moves}
        response = self._movable_at(places).response(state, multipliers, shared) if places else None
        changes = {}
        for name, effect in effects.items():
            needed, turned, opening = effect.efforts, np.zeros(len(multipliers)), np.zeros(len(multipliers))
            for turn in effect.turns:
                needed = needed - turn.jacobian.T @ multipliers[turn.rows]
                turned[turn.rows] += turn.jacobian @ shared
                opening[turn.rows] += turn.opening
            for move in effect.moves:
                assert response is not None
                needed = needed + response.needed(move)
                if closed is not None:
                    turned += response.turned(move, shared)
                    opening += response.opening(move)
            changes[name] = _Change(needed, turned, opening)
        return changes

    def _movable_at(self, places: set[MovablePlace]) -> Movable:
        """Return the model in which these places, and those of earlier calls, can be moved."""
        known = self._movable
        if known is None or not known.places >= places:
            known = self._movable = Movable(self.model, places if known is None else places | known.places)
        return known

    def _push(self, name: str, state: SensitivityState) -> Array:
        """Return the efforts per unit of an input (nv), or of a wrench on a port (nv, 6)."""
        cause = self._causes[name]
        if cause.kind == Kind.INPUT:
            return self.model.actuation_matrix(state.q)[:, cause.entries[0]]
        return state.jacobian(cause.owner).T[:, list(cause.entries)]


def _together(changes: Mapping[str, _Change], function: Callable[[Array, Array, Array], Array]) -> dict[str, Array]:
    """Apply a linear function to all changes at once, and return its results by name."""
    if not changes:
        return {}
    columns = [[_columns(part) for part in change] for change in changes.values()]
    needed, turned, opening = (np.hstack(parts) for parts in zip(*columns, strict=True))
    ends = np.cumsum([part.shape[1] for part, _, _ in columns])
    parts = np.split(function(needed, turned, opening), ends[:-1], axis=1)
    return {name: part.reshape(changes[name].needed.shape) for name, part in zip(changes, parts, strict=True)}


def _columns(change: Array) -> Array:
    """Return a change as a matrix of one or more columns."""
    return change[:, None] if change.ndim == 1 else change
