"""Derivatives of a model's dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of, shape_of
from titop.solvers.arguments.reading import made_ready, new_floats, store
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.arguments.stacked_loads import each_row, read_states
from titop.solvers.mechanism.fast_path import DONE, UNREADY, driven_by, names_key
from titop.solvers.mechanism.hybrid_derivatives import HybridDerivatives
from titop.solvers.model.dynamics import Dynamics


class Derivatives(Dynamics):
    """The derivatives of a model.

    Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv); `port` ``"body.port"``, or
    ``"body"`` for the reference frame; `wrenches` external wrenches (6) on bodies by port name, in the port's frame; `out`
    where to put the result; `u` the inputs of actuators and blocks (nu, or by name); `x` states of the first order likewise.
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
        x: Any = None,
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of inverse dynamics by q, v and a, exact to rounding.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        wrenches, u, x
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
        if x is not None:
            u = self.inputs.whole(u, x)
        result = np.empty((3, self.nv, self.nv)) if out is None else out
        try:
            calls = self._calls
            found = calls.inverse_derivatives if actuated is None else calls.inverse_derivatives_on[names_key(actuated)]
            kernel, tree, shared = found
            if wrenches is None and u is None:
                status = kernel(*tree, q, v, a, result)
            else:
                acting, given, driven = self._calls.acted_on_derivatives(wrenches, u, q)
                beside = shared and driven is not None
                kernel = self._calls.beside(kernel, driven) if beside else kernel
                status = acting.run(kernel, wrenches, given, *tree, q, v, a, result, often=not beside)
            if status == DONE:
                return result[0], result[1], result[2]
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, a, u):
            q, v, a, u = ready
            return self.inverse_dynamics_derivatives(q, v, a, wrenches, out, u, actuated)
        states = {"q": q, "v": v, "a": a}
        if axes_of(q) == 2:
            one = partial(self.inverse_dynamics_derivatives, actuated=actuated)
            return self._derivatives_by_row(one, states, wrenches, u, out)
        (q, v, a), pushes, mask = read_states(self, states), self.external_pushes(wrenches, u), self._actuated(actuated)
        return _three(store(self.engine.derivatives.inverse(q, v, a, pushes, self.motor_efforts(u), mask), out))

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        x: Any = None,
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of forward dynamics by q, v and tau, exact to rounding.

        Arguments as `inverse_dynamics_derivatives`; no `tau` stands for zero.

        Returns
        -------
        da_dq, da_dv, da_dtau : (nv, nv) arrays
            In a tree the last is the inverse of the mass matrix, which takes those of inverse dynamics to minus the others
            (Carpentier and Mansard, Robotics: Science and Systems, 2018).
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        result = np.empty((3, self.nv, self.nv)) if out is None else out
        try:
            kernel, tree = self._calls.forward_derivatives
            efforts = self._stills[1][0] if tau is None else tau
            if wrenches is None and u is None:
                status = kernel(*tree, q, v, efforts, result)
            else:
                acting, given, driven = self._calls.acted_on_derivatives(wrenches, u, q)
                status = acting.run(kernel, wrenches, given, *tree, q, v, driven_by(efforts, driven), result)
            if status == DONE:
                return result[0], result[1], result[2]
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, u):
            q, v, tau, u = ready
            return self.forward_dynamics_derivatives(q, v, tau, wrenches, out, u)
        states = {"q": q, "v": v, "tau": np.zeros(shape_of(v)) if tau is None else tau}
        if axes_of(q) == 2:
            return self._derivatives_by_row(self.forward_dynamics_derivatives, states, wrenches, u, out)
        (q, v, tau), pushes = read_states(self, states), self.external_pushes(wrenches, u)
        return _three(store(self.engine.derivatives.forward(q, v, tau + self.motor_efforts(u), pushes), out))

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
        x: Any = None,
    ) -> Array:
        """Return the derivative (nv) of forward dynamics along one direction, without the matrices.

        In trees at linear cost in the number of blocks, some four times that of forward dynamics. With rigid closures or gears
        from `forward_dynamics_derivatives`.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            All arguments may be stacked along a leading axis; the result is then stacked too.
        dq, dv, dtau : array_like (nv,)
            Changes of the state and of the efforts, `dq` along ``integrate(q, dq)``. Of a single state they may be stacked:
            several directions cost little more than one.
        wrenches, u, x
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
        if x is not None:
            u = self.inputs.whole(u, x)
        try:
            da = _own_rows(dtau)
            rows = _rows(q, v, tau, len(da))
            changes = (dq[None], dv[None]) if dq.ndim == 1 else (dq, dv)
            if wrenches is None and u is None:
                status = self._calls.tangent(*rows, *changes, da)
            else:
                acting, given, driven = self._calls.acted_on_derivatives(wrenches, u, q)
                rows = _rows(q, v, driven_by(tau, driven), len(da))
                status = acting.run(self._calls.tangent, wrenches, given, *rows, *changes, da)
            if status == DONE:
                return da[0] if dq.ndim == 1 else da
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, dq, dv, dtau, u):
            q, v, tau, dq, dv, dtau, u = ready
            return self.forward_dynamics_tangent(q, v, tau, dq, dv, dtau, wrenches, u)
        return self._tangent(*_stacked_state(q, v, tau, dq), dq, dv, dtau, wrenches, u)

    @rowwise
    def _tangent(
        self, q: Any, v: Any, tau: Any, dq: Any, dv: Any, dtau: Any, wrenches: Mapping[str, Any] | None, u: Any
    ) -> Array:
        if (directions := self._calls.directions) is not None:
            return self._along(directions.tangent, (q, v, tau, dq, dv, dtau), wrenches, u)
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        change: Array = by_q @ self._read_v("dq", dq) + by_v @ self._read_v("dv", dv) + by_tau @ self._read_v("dtau", dtau)
        return change

    def forward_dynamics_adjoint(
        self, q: Any, v: Any, tau: Any, weights: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, x: Any = None
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of a weighted sum of the accelerations, without the matrices.

        At the cost of `forward_dynamics_tangent`.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            All arguments may be stacked along a leading axis; the results are then stacked too.
        weights : array_like (nv,)
            Of the accelerations, as the derivative of a cost by these. Of a single state they may be stacked.
        wrenches, u, x
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
        if x is not None:
            u = self.inputs.whole(u, x)
        try:
            by_tau = _own_rows(weights)
            by_q, by_v, rows = np.empty(by_tau.shape), np.empty(by_tau.shape), _rows(q, v, tau, len(by_tau))
            if wrenches is None and u is None:
                status = self._calls.adjoint(*rows, by_tau, by_q, by_v)
            else:
                acting, given, driven = self._calls.acted_on_derivatives(wrenches, u, q)
                rows = _rows(q, v, driven_by(tau, driven), len(by_tau))
                status = acting.run(self._calls.adjoint, wrenches, given, *rows, by_tau, by_q, by_v)
            if status == DONE:
                return (by_q[0], by_v[0], by_tau[0]) if axes_of(weights) == 1 else (by_q, by_v, by_tau)
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, weights, u):
            q, v, tau, weights, u = ready
            return self.forward_dynamics_adjoint(q, v, tau, weights, wrenches, u)
        return self._adjoint(*_stacked_state(q, v, tau, weights), weights, wrenches, u)

    @rowwise
    def _adjoint(
        self, q: Any, v: Any, tau: Any, weights: Any, wrenches: Mapping[str, Any] | None, u: Any
    ) -> tuple[Array, Array, Array]:
        if (directions := self._calls.directions) is not None:
            return self._along(directions.adjoint, (q, v, tau, weights), wrenches, u)
        weights, derivatives = self._read_v("weights", weights), self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        by_q, by_v, by_tau = (weights @ by for by in derivatives)
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
        x: Any = None,
    ) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics by q, v, the imposed efforts and the prescribed accelerations.

        Parameters
        ----------
        q, v, tau, a, wrenches, u, x
            As in `hybrid_dynamics`.
        prescribed : sequence of str
            Names of joints, of blocks with own coordinates, or of single coordinates.

        Returns
        -------
        HybridDerivatives

        Raises
        ------
        ModelError
            As `hybrid_dynamics`; and at a dead centre of the prescribed coordinates, where there are none.

        Notes
        -----
        Where closed loops do not let the prescribed coordinates move independently, changes of their accelerations that keep
        the loops closed make sense only; the derivatives of the efforts are those of the least ones. Compare key M, section 5.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        try:
            kernels, result = self._calls.hybrid(prescribed), np.empty((8, self.nv, self.nv))
            if wrenches is None and u is None:
                status = kernels.derivatives(q, v, tau, a, result)
            else:
                acting, given, driven = self._calls.acted_on_derivatives(wrenches, u, q)
                status = acting.run(kernels.derivatives, wrenches, given, q, v, driven_by(tau, driven), a, result)
            if status == DONE:
                return HybridDerivatives(*result)
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, a, u):
            q, v, tau, a, u = ready
            return self.hybrid_dynamics_derivatives(q, v, tau, a, prescribed, wrenches, u)
        mask, states = self._prescribed(prescribed), {"q": q, "v": v, "tau": tau, "a": a}
        if axes_of(q) == 2:
            rows = each_row(self, states, wrenches, u)
            one = partial(self.hybrid_dynamics_derivatives, prescribed=prescribed)
            derivatives = [one(*row, wrenches=own, u=inputs) for row, own, inputs in rows]
            return HybridDerivatives(*np.array(derivatives).reshape(-1, 8, self.nv, self.nv).transpose(1, 0, 2, 3).copy())
        (q, v, tau, a), pushes = read_states(self, states), self.external_pushes(wrenches, u)
        return self.engine.derivatives.hybrid(q, v, tau + self.motor_efforts(u), a, mask, pushes)

    def raw_linear_matrices(self, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        """Return accelerations, A (2nv, 2nv) and B (2nv, nv) of the linearisation by q, v and tau; see `linear_matrices`."""
        n = self.nv
        try:
            if not wrenches and u is None:
                numbers = np.empty(6 * n * n + n)
                A, B, a = numbers[: 4 * n * n].reshape(2 * n, 2 * n), numbers[4 * n * n : -n].reshape(2 * n, n), numbers[-n:]
                if self._calls.linear_matrices(q, v, tau, a, A, B) == DONE:
                    return a, A, B
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, u):
            q, v, tau, u = ready
            return self.raw_linear_matrices(q, v, tau, wrenches, u)
        a = self.forward_dynamics(q, v, tau, wrenches, u=u)
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        A = np.block([[-self.bracket(self._read_v("v", v)), np.eye(n)], [by_q, by_v]])
        return a, A, np.vstack([np.zeros((n, n)), by_tau])

    def _along(self, function: Any, state: tuple[Any, ...], wrenches: Mapping[str, Any] | None, u: Any) -> Any:
        """Return what an engine that needs no matrices says along one direction, of a state to be read with care."""
        names = ("q", "v", "tau", "dq", "dv", "dtau") if len(state) == 6 else ("q", "v", "tau", "weights")
        given = {name: np.zeros(self.nv) if x is None else x for name, x in zip(names, state, strict=True)}
        q, v, tau, *others = read_states(self, given)
        return function(q, v, tau + self.motor_efforts(u), *others, self.external_pushes(wrenches, u))

    def _derivatives_by_row(
        self, function: Any, states: Mapping[str, Any], wrenches: Mapping[str, Any] | None, u: Any, out: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return a function of single states that gives three matrices (nv, nv), stacked."""
        rows = each_row(self, states, wrenches, u)
        derivatives = np.empty((len(rows), 3, self.nv, self.nv))
        for (row, own, inputs), place in zip(rows, derivatives, strict=True):
            function(*row, wrenches=own, u=inputs, out=place)
        return _three(store(np.moveaxis(derivatives, 1, 0), out))


def _own_rows(given: Any) -> Array:
    """Return directions as an array of their own (m, nv).

    Raises
    ------
    TypeError
        Where these are no real numbers in an array, a list or a tuple.
    """
    rows = new_floats(given)
    if rows is None:
        raise TypeError
    return np.atleast_2d(rows)


def _rows(q: Array, v: Array, tau: Array, count: int) -> tuple[Array, Array, Array]:
    """Return a state as rows for kernels, as often as there are directions; stacked ones as they are."""
    if q.ndim == 2:
        return q, v, tau
    if count == 1:
        return q[None], v[None], tau[None]
    return np.repeat(q[None], count, 0), np.repeat(v[None], count, 0), np.repeat(tau[None], count, 0)


def _stacked_state(q: Any, v: Any, tau: Any, direction: Any) -> tuple[Any, Any, Any]:
    """Return a single state as often as there are directions, if these are stacked."""
    if axes_of(q) != 1 or axes_of(direction) != 2:
        return q, v, tau
    q, v, tau = (x if x is None else np.repeat(np.asarray(x)[None], len(direction), 0) for x in (q, v, tau))
    return q, v, tau


def _three(result: Array) -> tuple[Array, Array, Array]:
    by_q, by_v, by_x = result
    return by_q, by_v, by_x
