"""Derivatives of a model's dynamics and of the motion of its ports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.named_rows import NamedRows
from titop.solvers.arguments.reading import store
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.arguments.stacked_loads import each_row, read_states
from titop.solvers.constraints import closed_derivatives, closed_dynamics
from titop.solvers.mechanism.hybrid_derivatives import HybridDerivatives, hybrid_derivatives
from titop.solvers.mechanism.inputs import Push
from titop.solvers.model.identification import Identification
from titop.solvers.model.sensitivities import Sensitivities


class MotionDerivatives(NamedTuple):
    """Derivatives (6, nv) of a port's motion, in its own frame.

    `jacobian` maps a change of q to the small twist by which the port moves; it is also dV/dv and dA/da.
    """

    jacobian: Array
    dV_dq: Array
    dA_dq: Array
    dA_dv: Array


class Differentiable(Identification):
    """The derivatives of a model.

    Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv); `port` ``"body.port"``, or
    ``"body"`` for the reference frame; `wrenches` external wrenches (6) on bodies by port name, in the port's frame; `out`
    where to put the result; `u` the inputs of actuators and blocks (nu, or by name).
    """

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of inverse dynamics by q, v and a, exact to rounding.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        wrenches, u
            As `forward_dynamics`.
        out : (3, nv, nv) float array, optional
            Where to put the results, for callers in a loop.
        actuated : sequence of str, optional
            With rigid closures or gears: the coordinates that have efforts, as in `inverse_dynamics`.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : (nv, nv) arrays
            Column j of the first is the derivative along ``integrate(q, e_j)``; in a tree the last is the mass
            matrix. With rigid closures or gears, changes of the state that keep them closed make sense only.

        Notes
        -----
        The graph is resolved over linearised blocks. Costs a product of six numbers for each pair of coordinates on one path
        to the world (after Singh, Russell and Wensing, 2022). A block that is differentiated by differences, because its
        functions do not accept complex numbers, brings their error (near 1e-10).
        """
        states = {"q": q, "v": v, "a": a}
        if np.ndim(q) == 2:
            one = partial(self.inverse_dynamics_derivatives, actuated=actuated)
            return self._slopes_by_row(one, states, wrenches, u, out)
        (q, v, a), pushes = read_states(self, states), self.external_pushes(wrenches, u)
        return _three(store(self._inverse_derivatives(q, v, a, pushes, self.motor_efforts(u), self._actuated(actuated)), out))

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of forward dynamics by q, v and tau, exact to rounding.

        Arguments as `inverse_dynamics_derivatives`; no `tau` stands for zero.

        Returns
        -------
        da_dq, da_dv, da_dtau : (nv, nv) arrays
            The last is the inverse of the mass matrix.
        """
        states = {"q": q, "v": v, "tau": np.zeros(np.shape(v)) if tau is None else tau}
        if np.ndim(q) == 2:
            return self._slopes_by_row(self.forward_dynamics_derivatives, states, wrenches, u, out)
        (q, v, tau), pushes = read_states(self, states), self.external_pushes(wrenches, u)
        return _three(store(self._forward_derivatives(q, v, tau + self.motor_efforts(u), pushes), out))

    @rowwise
    def forward_dynamics_tangent(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dq: Any,
        dv: Any,
        dtau: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> Array:
        """Return the derivative (nv) of forward dynamics along one direction, without the matrices.

        Of trees of rigid bodies at linear cost in the number of blocks, some four times that of forward dynamics. With other
        blocks, interactions, rigid closures or gears, from `forward_dynamics_derivatives`.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            All arguments may be stacked along a leading axis; the result is then stacked too.
        dq, dv, dtau : array_like (nv,)
            Changes of the state and of the efforts, `dq` along ``integrate(q, dq)``.
        wrenches, u
            As `forward_dynamics`.

        Returns
        -------
        (nv,) array
            ``da_dq @ dq + da_dv @ dv + da_dtau @ dtau``

        Raises
        ------
        ModelError
            Where `forward_dynamics` does.
        """
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        change: Array = by_q @ self._read_v("dq", dq) + by_v @ self._read_v("dv", dv) + by_tau @ self._read_v("dtau", dtau)
        return change

    @rowwise
    def forward_dynamics_adjoint(
        self, q: Any, v: Any, tau: Any, weights: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of a weighted sum of the accelerations, without the matrices.

        At the cost of `forward_dynamics_tangent`.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            All arguments may be stacked along a leading axis; the results are then stacked too.
        weights : array_like (nv,)
            Of the accelerations, as the derivative of a cost by these.
        wrenches, u
            As `forward_dynamics`.

        Returns
        -------
        by_q, by_v, by_tau : (nv,) arrays
            ``da_dq.T @ weights``, ``da_dv.T @ weights`` and ``da_dtau.T @ weights``

        Raises
        ------
        ModelError
            Where `forward_dynamics` does.
        """
        weights, slopes = self._read_v("weights", weights), self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        by_q, by_v, by_tau = (weights @ by for by in slopes)
        return by_q, by_v, by_tau

    def hybrid_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics by q, v, the imposed efforts and the prescribed accelerations.

        Parameters
        ----------
        q, v, tau, a, wrenches, u
            As in `hybrid_dynamics`.
        prescribed : sequence of str
            Names of joints, of blocks with own coordinates, or of single coordinates.

        Returns
        -------
        HybridDerivatives

        Raises
        ------
        ModelError
            As `hybrid_dynamics`.

        Notes
        -----
        Where closed loops do not let the prescribed coordinates move independently, changes of their accelerations that keep
        the loops closed make sense only; the derivatives of the efforts are those of the least ones.
        """
        mask, states = self._prescribed(prescribed), {"q": q, "v": v, "tau": tau, "a": a}
        if np.ndim(q) == 2:
            rows = each_row(self, states, wrenches, u)
            one = partial(self.hybrid_dynamics_derivatives, prescribed=prescribed)
            slopes = [one(*row, wrenches=own, u=inputs) for row, own, inputs in rows]
            return HybridDerivatives(*np.array(slopes).reshape(-1, 8, self.nv, self.nv).transpose(1, 0, 2, 3).copy())
        (q, v, tau, a), pushes = read_states(self, states), self.external_pushes(wrenches, u)
        return self._hybrid_derivatives(q, v, tau + self.motor_efforts(u), a, mask, pushes)

    @rowwise
    def motion_derivatives(self, port: str, q: Any, v: Any, a: Any) -> MotionDerivatives:
        """Return how a port's twist and spatial acceleration, in its own frame, change with q, v and a.

        Parameters
        ----------
        port : str
        q, v, a : array_like (nq,), (nv,), (nv,)

        Returns
        -------
        MotionDerivatives
        """
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        return self._motion_derivatives([self._read_port(port)], q, v, a)[0]

    def _motion_derivatives(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[MotionDerivatives]:
        """Return the `motion_derivatives` of several ports."""
        results = []
        for port, (S, twist_by_q, by_q, by_v) in zip(ports, self.motion_slopes(ports, q, v, a), strict=True):
            gravity = self.pose(port, q)[0].T @ self.gravity
            by_q = by_q.copy()
            by_q[:3] += skew(gravity) @ S[3:]
            results.append(MotionDerivatives(S, twist_by_q, by_q, by_v))
        return results

    def inverse_dynamics_sensitivities(
        self, q: Any, v: Any, a: Any, names: Iterable[str], wrenches: Mapping[str, Any] | None = None, u: Any = None
    ) -> Mapping[str, Array]:
        """Return the derivatives of inverse dynamics by parameters, inputs and wrenches on ports, exact to rounding.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        names : iterable of str
            Of parameters such as ``"slider.mass"``, of inputs, and of ports such as ``"hub.C"``.
        wrenches, u
            As `forward_dynamics`.

        Returns
        -------
        mapping of str to array
            By name: (nv,) arrays for parameters and inputs, (nv, 6) arrays for wrenches on ports, in the port's frame. Where a
            tree is asked for masses, centres of mass and inertias alone, its attribute `matrix` holds all of them, row by row,
            and stacked states cost one call of the kernel.

        Raises
        ------
        ModelError
            For unknown names and unusable states.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if wrenches is None and u is None and not self.is_constrained:
            inertial = self._inertial_rows(names)
            if inertial is not None:
                places, rows = inertial
                return NamedRows(places, self._slopes_by_inertia(q, v, a).take(rows, -2))
        return self._effort_sensitivities(q, v, a, wrenches, u, Sensitivities(self, names))

    @rowwise
    def _effort_sensitivities(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, sensitivities: Sensitivities
    ) -> dict[str, Array]:
        """Return chosen sensitivities of the efforts of inverse dynamics."""
        return sensitivities.of_efforts(self._read_q(q), self._read_v("v", v), self._read_v("a", a), wrenches, u)

    def forward_dynamics_sensitivities(
        self, q: Any, v: Any, tau: Any, names: Iterable[str], wrenches: Mapping[str, Any] | None = None, u: Any = None
    ) -> Mapping[str, Array]:
        """Return the derivatives of forward dynamics by parameters, inputs and wrenches on ports, exact to rounding.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        names, wrenches, u
            As in `inverse_dynamics_sensitivities`.

        Returns
        -------
        mapping of str to array
            As `inverse_dynamics_sensitivities`.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if not self.is_constrained:
            inertial = self._inertial_rows(names)
            if inertial is not None:
                places, rows = inertial
                a = self.forward_dynamics(q, v, tau, wrenches, u=u)
                return NamedRows(places, -self._slopes_by_inertia(q, v, a).take(rows, -2) @ self.inverse_mass_matrix(q))
        return self._acceleration_sensitivities(q, v, tau, wrenches, u, Sensitivities(self, names))

    @rowwise
    def _acceleration_sensitivities(
        self, q: Any, v: Any, tau: Any, wrenches: Mapping[str, Any] | None, u: Any, sensitivities: Sensitivities
    ) -> dict[str, Array]:
        """Return chosen sensitivities of the accelerations of forward dynamics."""
        return sensitivities.of_accelerations(self._read_q(q), self._read_v("v", v), self._read_v("tau", tau), wrenches, u)

    def _linear_matrices(self, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        """Return accelerations, A (2nv, 2nv) and B (2nv, nv) of the linearisation by q, v and tau; see `linear_matrices`."""
        n = self.nv
        a = self.forward_dynamics(q, v, tau, wrenches, u=u)
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        A = np.block([[-self._bracket(self._read_v("v", v)), np.eye(n)], [by_q, by_v]])
        return a, A, np.vstack([np.zeros((n, n)), by_tau])

    def _slopes_by_row(
        self, function: Any, states: Mapping[str, Any], wrenches: Mapping[str, Any] | None, u: Any, out: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return a function of single states that gives three matrices (nv, nv), stacked."""
        rows = each_row(self, states, wrenches, u)
        slopes = [function(*row, wrenches=own, u=inputs) for row, own, inputs in rows]
        return _three(store(np.moveaxis(np.array(slopes).reshape(-1, 3, self.nv, self.nv), 1, 0), out))

    # -- what an engine provides, and what follows ---------------------------------------------------------------------

    @abstractmethod
    def tree_inverse_derivatives(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return derivatives (3, nv, nv) of `tree_inverse` by q, v and a; `pushes` are the wrenches that act from outside."""

    @abstractmethod
    def specification(self, assembly: Assembly, dtype: type) -> Any:
        """Return the reference engine's model of an `assembly`, whose parameters may be complex (`dtype`)."""

    @abstractmethod
    def motion_slopes(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[Array]:
        """Return for each of the `ports` S, dV/dq, dA/dq and dA/dv (4, 6, nv), A less gravity's."""

    def slopes_with_closures(self, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array) -> tuple[Array, Array]:
        """Return derivatives (3, nv, nv) of `tree_inverse` by q, v and a, the closures acting with constant `multipliers` (k).

        `pushes` act from outside. Also those of the constraints (4, k, nv): their Jacobian J, derivatives of ``J a + bias`` by
        q and v, of ``J v`` by q.
        """
        return closed_derivatives.slopes_with_closures(self, q, v, a, pushes, multipliers)

    def closure_rate_slopes(self, q: Array, v: Array) -> Array:
        """Return the derivative (k, nv) of ``J v`` by q, J the Jacobian of the constraints."""
        return closed_derivatives.rate_derivatives(self, q, v)

    def _inverse_derivatives(
        self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
    ) -> Array:
        """Return derivatives (3, nv, nv) of inverse dynamics by q, v and a."""
        if actuated is None:
            return self.tree_inverse_derivatives(q, v, a, pushes)
        closed_dynamics.inverse(self, q, v, a, pushes, motors, actuated)  # refuses what has no derivatives
        return closed_derivatives.actuated_derivatives(self, q, v, a, pushes, actuated, motors)

    def _forward_derivatives(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        """Return derivatives (3, nv, nv) of forward dynamics by q, v and tau."""
        free = np.zeros(self.nv, dtype=bool)
        slopes = self._hybrid_derivatives(q, v, tau, np.zeros(self.nv), free, pushes)
        return np.array([slopes.da_dq, slopes.da_dv, slopes.da_dtau])

    def _hybrid_derivatives(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]
    ) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics."""
        if not self.is_constrained:
            a, _ = self.tree_hybrid(q, v, tau, a, mask, pushes)
            return hybrid_derivatives(self._inverse_derivatives(q, v, a, pushes, 0.0, None), mask)
        a, tau = closed_dynamics.hybrid(self, q, v, tau, a, mask, pushes)
        return closed_derivatives.closed_slopes(self, q, v, a, tau, pushes, mask)


def _three(result: Array) -> tuple[Array, Array, Array]:
    by_q, by_v, by_x = result
    return by_q, by_v, by_x
