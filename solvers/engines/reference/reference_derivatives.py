"""Derivatives of the reference engine: complex steps through the elimination, without any formula of the compiled engine.

Where users' functions do not keep imaginary parts, finite differences are used. First-order states are computed by the
interactions' own functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import complex_step, trusted_step
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT
from titop.blocks.contract.block import is_titops_own
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, rates_by_driving, rates_by_motion
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import free_rank, least_beside_dead_centre, rank_near, refuse_dead_centre
from titop.solvers.constraints.closed_dynamics import acting
from titop.solvers.constraints.engine_interface import DerivativesCore, HybridDerivatives, StateDerivatives
from titop.solvers.constraints.interaction_loads import efforts_by_states, read_rates, stated_motions, target_derivatives
from titop.solvers.constraints.multipliers import DEPENDENT
from titop.solvers.engines.reference.reference_dynamics import ReferenceDynamics, ReferenceObservations
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.model.mechanism import Mechanism


class ReferenceDerivatives(DerivativesCore):
    """The derivatives of the reference engine; see `DerivativesCore` for its functions."""

    def __init__(self, mechanism: Mechanism, dynamics: ReferenceDynamics, observations: ReferenceObservations) -> None:
        self._mechanism, self._dynamics, self._observations, self._nv = mechanism, dynamics, observations, mechanism.nv

    @cached_property
    def _method(self) -> Any:
        """The method of differentiation: users' interactions are tested at every state, since the result may differ."""
        blocks = self._mechanism.assembly.blocks.values()
        known = (block.complex_safe and (is_titops_own(block) or not isinstance(block, Interaction)) for block in blocks)
        return complex_step if all(known) else trusted_step

    def _step(self, function: Any, count: int, *state: Array) -> Array:
        """Return the derivatives of a function by its `count` arguments at zero; it also reads a state of real numbers.

        Raises `ModelError` if that is complex: its imaginary parts would be taken for those of the steps.
        """
        for part in state:
            real_only(part, "state", "differentiate the function by steps of your own: it takes complex arguments here")
        return self._method(function, np.zeros(count))

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        return self._stepped(lambda q, v, a: self._dynamics.tree_inverse(q, v, a, pushes), q, v, a)

    def inverse(self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None) -> Array:
        if actuated is None:
            return self.tree_inverse(q, v, a, pushes)
        rank, jacobian = rank_near(self._mechanism, q), self._dynamics.constraints(q, v).jacobian
        least = least_beside_dead_centre(self._mechanism, q, jacobian, actuated, rank)

        def efforts(q: Array, v: Array, a: Array) -> Array:
            rows = self._dynamics.constraints(q, v)
            shares = closed_dynamics.shares_at(self._mechanism, rows.jacobian, actuated, rank, least=least)
            return np.where(actuated, shares.split(self._dynamics.tree_inverse(q, v, a, pushes) - motors)[0], 0.0)

        return self._stepped(efforts, q, v, a)

    def forward(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        nothing, none = np.zeros(self._nv), np.zeros(self._nv, dtype=bool)
        hybrid = closed_dynamics.hybrid
        return self._stepped(lambda q, v, tau: hybrid(self._mechanism, q, v, tau, nothing, none, pushes)[0], q, v, tau)

    def _stepped(self, function: Any, q: Array, v: Array, x: Array) -> Array:
        """Return the derivatives (3, nv, nv) of a function of q, v and x."""

        def at(step: Array) -> Array:
            dq, dv, dx = step.reshape(3, self._nv)
            return function(self._mechanism.integrate_unchecked(q, dq), v + dv, x + dx)

        return _split_columns(self._step(at, 3 * self._nv, q, v, x), 3)

    def with_closures(self, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array) -> tuple[Array, Array]:
        def equations(q: Array, v: Array, a: Array) -> Array:
            closing, rows = closed_dynamics.closure_pushes(self._mechanism, q, multipliers), self._dynamics.constraints(q, v)
            efforts = self._dynamics.tree_inverse(q, v, a, [*pushes, *closing])
            return np.concatenate([efforts, rows.jacobian @ a + rows.bias, rows.jacobian @ v])

        changes, by_motion, by_rate = np.split(
            self._stepped(equations, q, v, a), [self._nv, self._nv + len(multipliers)], axis=1
        )
        return changes, np.array([by_motion[2], by_motion[0], by_motion[1], by_rate[0]])

    def closure_rate(self, q: Array, v: Array) -> Array:
        def rate(dq: Array) -> Array:
            return self._dynamics.constraints(self._mechanism.integrate_unchecked(q, dq), v).jacobian @ v

        return self._step(rate, self._nv, q, v)

    def motion(self, ports: Sequence[str], q: Array, v: Array, a: Array, weightless: bool = False) -> list[Array]:
        gravity = self._mechanism.engine.gravity if weightless else np.zeros(3)

        def motions(x: Array) -> Array:
            dq, dv = x.reshape(2, self._nv)
            at_ports = self._observations.port_motions(ports, self._mechanism.integrate_unchecked(q, dq), v + dv, a)
            falling = [np.concatenate([rotation.T @ gravity, np.zeros(3)]) for rotation, *_ in at_ports]
            return np.array([(twist, A + fall) for (_, _, twist, A), fall in zip(at_ports, falling, strict=True)])

        if not ports:
            return []
        derivatives = [np.split(by_both, 2, axis=2) for by_both in self._step(motions, 2 * self._nv, q, v, a)]
        return [np.array([by_v[0], by_q[0], by_q[1], by_v[1]]) for by_q, by_v in derivatives]

    def hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> HybridDerivatives:
        rank, least = 0, DEPENDENT
        if self._mechanism.is_constrained:
            rows, whole = acting(self._mechanism, q, v)
            least = least_beside_dead_centre(self._mechanism, q, rows.jacobian, mask, whole)
            rank = free_rank(self._mechanism, q, mask, whole, least)
            refuse_dead_centre(self._mechanism, q, mask, whole, rank)

        def both(x: Array) -> Array:
            dq, dv, dtau, da = x.reshape(4, self._nv)
            q_, v_ = self._mechanism.integrate_unchecked(q, dq), v + dv
            a_, tau_ = a + np.where(mask, da, 0.0), tau + np.where(mask, 0.0, dtau)
            return np.array(closed_dynamics.hybrid(self._mechanism, q_, v_, tau_, a_, mask, pushes, rank, least))

        by_each = self._step(both, 4 * self._nv, q, v, tau, a)
        return HybridDerivatives(*_split_columns(by_each[0], 4), *_split_columns(by_each[1], 4))


def _split_columns(matrix: Array, parts: int) -> Array:
    """Return the `parts` groups of columns of a matrix, stacked."""
    return np.stack(np.split(matrix, parts, axis=1))


#: Number of Newton's iterations, and after how many of them derivatives are computed again.
_ITERATIONS, _RENEWED = 30, 3


class ReferenceStates:
    """The first-order states of the reference engine; see `StatesCore` for its functions."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism

    def rates(self, q: Array, v: Array, u: Array) -> Array:
        motions = stated_motions(self._mechanism, q, v, u)
        return np.concatenate([np.zeros(0), *(read_rates(loop.closure, motion) for loop, motion in motions)])

    def slopes(self, q: Array, v: Array, u: Array) -> tuple[StateDerivatives, Array]:
        inputs, nv = self._mechanism.inputs, self._mechanism.nv
        nx, places, driving = len(inputs.state_names), dict(inputs.states), dict(inputs.driving)
        by_state, by_w, efforts = np.zeros((nx, 2 * nv)), np.zeros((nx, inputs.count)), np.zeros((nv, nx))
        for loop, motion in stated_motions(self._mechanism, q, v, u):
            rows = places[loop.closure.name]
            by_state[rows] = rates_by_motion(loop.closure, motion) @ target_derivatives(self._mechanism, loop, q, v, motion)
            by_w[rows, driving[loop.closure.name]] = rates_by_driving(loop.closure, motion)
            efforts[:, rows] = efforts_by_states(self._mechanism, loop, q, motion)
        parts = *np.split(by_state, 2, axis=1), *np.split(by_w, [len(inputs.names)], axis=1)
        return StateDerivatives(*parts), efforts

    def following(self, q: Array, v: Array, u: Array, begun: Array, guess: Array, half: float) -> tuple[Array, Array]:
        x, inverse, places = np.empty(len(guess)), np.zeros((len(guess),) * 2), dict(self._mechanism.inputs.states)
        for loop, motion in stated_motions(self._mechanism, q, v, u):
            rows = places[loop.closure.name]
            x[rows], inverse[rows, rows] = _solve_step(loop.closure, motion, begun[rows], guess[rows], half)
        return x, inverse


def _solve_step(interaction: Interaction, motion: TargetMotion, begun: Array, x: Array, half: float) -> tuple[Array, Array]:
    """Return the states of one interaction, and the inverse: see `StatesCore.following`."""
    inverse: Array = np.eye(len(x))
    m = len(motion.u)
    for iteration in range(_ITERATIONS):
        at = motion._replace(x=x)
        if iteration % _RENEWED == 0:
            inverse = np.linalg.inv(np.eye(len(x)) - half * rates_by_driving(interaction, at)[:, m:])
        change = inverse @ (x - begun - half * read_rates(interaction, at))
        x = x - change
        if np.abs(change).max() <= EXACT * np.abs([x, begun]).max():
            return x, inverse
    return np.full(len(x), np.nan), inverse
