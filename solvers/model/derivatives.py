"""Derivatives of a model's dynamics with respect to its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of, shape_of
from titop.solvers.arguments.reading import are_ready_rows, as_arrays, check_stacks
from titop.solvers.arguments.rowwise import Stack, read_stack
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.engine_interface import HybridDerivatives
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.kernel_calls import DONE, driven_by, names_key
from titop.solvers.model.calls import LoadedCall
from titop.solvers.model.dynamics import forward_dynamics
from titop.solvers.model.mechanism import Mechanism, Resolved

#: ``stacked(q, None)`` is one state as a stack; lists and mappings are refused by a `TypeError`.
stacked = np.ndarray.__getitem__

_INVERSE = LoadedCall(
    "inverse_derivatives",
    ("q", "v", "a"),
    (3, "nv", "nv"),
    computed=lambda mechanism, *at: mechanism.engine.derivatives.inverse(*at),
    chosen="actuated",
    inputs="stay",
    closing=True,
)
_FORWARD = LoadedCall(
    "forward_derivatives",
    ("q", "v", "tau"),
    (3, "nv", "nv"),
    computed=lambda mechanism, q, v, tau, pushes, motors, mask: mechanism.engine.derivatives.forward(
        q, v, tau + motors, pushes
    ),
    closing=True,
)
_HYBRID = LoadedCall(
    "hybrid_derivatives",
    ("q", "v", "tau", "a"),
    (8, "nv", "nv"),
    computed=lambda mechanism, q, v, tau, a, pushes, motors, mask: np.array(
        mechanism.engine.derivatives.hybrid(q, v, tau + motors, a, mask, pushes)
    ),
    chosen="prescribed",
    closing=True,
)


def _linear(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, pushes: list[Push], motors: Any, mask: None
) -> tuple[Array, Array, Array]:
    nothing = np.zeros(mechanism.nv)
    a = closed_dynamics.hybrid(mechanism, q, v, tau + motors, nothing, nothing > 0, pushes)[0]
    return _matrices_of(mechanism, v, a, mechanism.engine.derivatives.forward(q, v, tau + motors, pushes))


_LINEAR = LoadedCall(
    "linear_matrices", ("q", "v", "tau"), ("nv",), ("states", "states"), ("states", "nv"), computed=_linear, closing=True
)


def inverse_dynamics_derivatives(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    out: Array | None = None,
    u: Any = None,
    actuated: Sequence[str] | None = None,
    x: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of inverse dynamics with respect to q, v and a, exact to rounding.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis; the results are then stacked too.
    wrenches, u, x
        As in `forward_dynamics`.
    out : (3, nv, nv) float array, optional
        Array for the results, for callers in a loop.
    actuated : sequence of str, optional
        With rigid closures or gears: the coordinates on which efforts act, as in `inverse_dynamics`.

    Returns
    -------
    dtau_dq, dtau_dv, dtau_da : (nv, nv) arrays
        Column j of the first is the derivative along ``integrate(q, e_j)``; in a tree the last is the mass
        matrix. With rigid closures or gears, only changes of the state that keep them closed are meaningful.

    Notes
    -----
    The elimination runs over linearised blocks. It costs a product of six numbers for each pair of coordinates on one path
    to the world (after Singh, Russell and Wensing, 2022). A block whose functions do not accept complex numbers is
    differentiated by finite differences, with their error (about 1e-10).
    """
    if wrenches is None and u is None and x is None:
        try:
            result = np.empty((3, model.nv, model.nv)) if out is None else out
            kernel = model._calls.kernels["inverse_derivatives", None if actuated is None else names_key(actuated)]
            if kernel.call(q, v, a, result) == DONE:
                return result[0], result[1], result[2]
        except TypeError:
            pass
    (result,) = _INVERSE.ask(model, (q, v, a), wrenches, u, x, None if out is None else _by_state(q, out), actuated)
    return _three(result)


def forward_dynamics_derivatives(
    model: Resolved,
    q: Any,
    v: Any,
    tau: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    out: Array | None = None,
    u: Any = None,
    x: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of forward dynamics with respect to q, v and tau, exact to rounding.

    Arguments are those of `inverse_dynamics_derivatives`, with `tau` in place of `a`; `tau` is zero by default.

    Returns
    -------
    da_dq, da_dv, da_dtau : (nv, nv) arrays
        In a tree the last is the inverse of the mass matrix, and the others are minus this inverse times `dtau_dq` and
        `dtau_dv` (Carpentier and Mansard, Robotics: Science and Systems, 2018).
    """
    if wrenches is None and u is None and x is None:
        try:
            result = np.empty((3, model.nv, model.nv)) if out is None else out
            efforts = model._stills[1][0] if tau is None else tau
            if model._calls.forward_derivatives(q, v, efforts, result) == DONE:
                return result[0], result[1], result[2]
        except TypeError:
            pass
    tau = np.zeros(shape_of(v)) if tau is None else tau
    (result,) = _FORWARD.ask(model, (q, v, tau), wrenches, u, x, None if out is None else _by_state(q, out))
    return _three(result)


def inverse_dynamics_tangent(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    dq: Any,
    dv: Any,
    da: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    actuated: Sequence[str] | None = None,
    x: Any = None,
) -> Array:
    """Return the derivative (nv) of inverse dynamics along one direction, without the matrices.

    In trees the cost is linear in the number of blocks, about three times that of inverse dynamics. With rigid closures or
    gears the result is computed from `inverse_dynamics_derivatives`.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All arguments may be stacked along a leading axis; the result is then stacked too.
    dq, dv, da : array_like (nv,)
        Changes of the state and of the accelerations, `dq` along ``integrate(q, dq)``. At a single state they may be stacked:
        several directions cost little more than one.
    wrenches, u, actuated, x
        As in `inverse_dynamics_derivatives`.

    Returns
    -------
    (nv,) array
        ``dtau_dq @ dq + dtau_dv @ dv + dtau_da @ da``

    Raises
    ------
    ModelError
        As in `inverse_dynamics`.
    """
    if wrenches is None and u is None and x is None and actuated is None:
        try:
            along, change = [stacked(part, None) for part in (dq, dv, da)], np.empty((1, model.nv))
            if model._calls.inverse_tangent(q, v, a, *along, change) == DONE:
                return change[0]
        except TypeError:  # of lists, of mappings
            pass
    return _tangent(model, _OF_INVERSE, {"q": q, "v": v, "a": a}, {"dq": dq, "dv": dv, "da": da}, wrenches, u, x, actuated)


def inverse_dynamics_adjoint(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    weights: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    actuated: Sequence[str] | None = None,
    x: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of a weighted sum of the efforts of inverse dynamics, without the matrices.

    The cost is that of `inverse_dynamics_tangent`.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All arguments may be stacked along a leading axis; the results are then stacked too.
    weights : array_like (nv,)
        Weights of the efforts, such as the gradient of a cost function. At a single state they may be stacked.
    wrenches, u, actuated, x
        As in `inverse_dynamics_derivatives`.

    Returns
    -------
    by_q, by_v, by_a : (nv,) arrays
        ``dtau_dq.T @ weights``, ``dtau_dv.T @ weights`` and ``dtau_da.T @ weights``

    Raises
    ------
    ModelError
        As in `inverse_dynamics`.
    """
    if wrenches is None and u is None and x is None and actuated is None:
        try:
            by_q, by_v, by_a = np.empty((3, 1, model.nv))
            if model._calls.inverse_adjoint(q, v, a, stacked(weights, None), by_q, by_v, by_a) == DONE:
                return by_q[0], by_v[0], by_a[0]
        except TypeError:  # of lists, of mappings
            pass
    return _adjoint(model, _OF_INVERSE, {"q": q, "v": v, "a": a}, weights, wrenches, u, x, actuated)


def forward_dynamics_tangent(
    model: Resolved,
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

    In trees the cost is linear in the number of blocks, about four times that of forward dynamics. With rigid closures or
    gears the result is computed from `forward_dynamics_derivatives`.

    Parameters
    ----------
    q, v, tau : array_like (nq,), (nv,), (nv,)
        All arguments may be stacked along a leading axis; the result is then stacked too.
    dq, dv, dtau : array_like (nv,)
        Changes of the state and of the efforts, `dq` along ``integrate(q, dq)``. At a single state they may be stacked:
        several directions cost little more than one.
    wrenches, u, x
        As in `forward_dynamics`.

    Returns
    -------
    (nv,) array
        ``da_dq @ dq + da_dv @ dv + da_dtau @ dtau``

    Raises
    ------
    ModelError
        As in `forward_dynamics`.
    """
    if wrenches is None and u is None and x is None:
        try:
            along, change = [stacked(part, None) for part in (dq, dv, dtau)], np.empty((1, model.nv))
            if model._calls.forward_tangent(q, v, tau, *along, change) == DONE:
                return change[0]
        except TypeError:  # of lists, of mappings
            pass
    tau = np.zeros(shape_of(v)) if tau is None else tau
    return _tangent(model, _OF_FORWARD, {"q": q, "v": v, "tau": tau}, {"dq": dq, "dv": dv, "dtau": dtau}, wrenches, u, x)


def forward_dynamics_adjoint(
    model: Resolved,
    q: Any,
    v: Any,
    tau: Any,
    weights: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    x: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of a weighted sum of the accelerations, without the matrices.

    The cost is that of `forward_dynamics_tangent`.

    Parameters
    ----------
    q, v, tau : array_like (nq,), (nv,), (nv,)
        All arguments may be stacked along a leading axis; the results are then stacked too.
    weights : array_like (nv,)
        Weights of the accelerations, such as the gradient of a cost function. At a single state they may be stacked.
    wrenches, u, x
        As in `forward_dynamics`.

    Returns
    -------
    by_q, by_v, by_tau : (nv,) arrays
        ``da_dq.T @ weights``, ``da_dv.T @ weights`` and ``da_dtau.T @ weights``

    Raises
    ------
    ModelError
        As in `forward_dynamics`.
    """
    if wrenches is None and u is None and x is None:
        try:
            by_q, by_v, by_tau = np.empty((3, 1, model.nv))
            if model._calls.forward_adjoint(q, v, tau, stacked(weights, None), by_q, by_v, by_tau) == DONE:
                return by_q[0], by_v[0], by_tau[0]
        except TypeError:  # of lists, of mappings
            pass
    tau = np.zeros(shape_of(v)) if tau is None else tau
    return _adjoint(model, _OF_FORWARD, {"q": q, "v": v, "tau": tau}, weights, wrenches, u, x)


def hybrid_dynamics_derivatives(
    model: Resolved,
    q: Any,
    v: Any,
    tau: Any,
    a: Any,
    prescribed: Sequence[str],
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    x: Any = None,
) -> HybridDerivatives:
    """Return the derivatives of hybrid dynamics with respect to q, v, imposed efforts and prescribed accelerations.

    Parameters
    ----------
    q, v, tau, a, wrenches, u, x
        As in `hybrid_dynamics`.
    prescribed : sequence of str
        Names of joints, of blocks with coordinates of their own, or of single coordinates.

    Returns
    -------
    HybridDerivatives

    Raises
    ------
    ModelError
        As in `hybrid_dynamics`; and at a dead centre of the prescribed coordinates, where there are no derivatives.

    Notes
    -----
    Where closed loops do not let the prescribed coordinates move independently, only changes of their accelerations that
    keep the loops closed are meaningful. The derivatives of efforts are those of the efforts of least norm. Compare key M,
    section 5.
    """
    if wrenches is None and u is None and x is None:
        try:
            result = np.empty((8, model.nv, model.nv))
            if model._calls.kernels["hybrid_derivatives", names_key(prescribed)].call(q, v, tau, a, result) == DONE:
                return HybridDerivatives(*result)
        except TypeError:
            pass
    (result,) = _HYBRID.ask(model, (q, v, tau, a), wrenches, u, x, None, prescribed)
    return HybridDerivatives(*np.moveaxis(result, -3, 0))


def raw_linear_matrices(
    model: Resolved, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None
) -> tuple[Array, Array, Array]:
    """Return accelerations, A (2nv, 2nv) and B (2nv, nv) of the linear model in q, v and tau; see `linear_matrices`.

    Stacked, if the state is.
    """
    n, kernel = model.nv, model._calls.linear_matrices
    if not wrenches and u is None and kernel is not None:
        numbers = np.empty(6 * n * n + n)
        A, B, a = numbers[: 4 * n * n].reshape(2 * n, 2 * n), numbers[4 * n * n : -n].reshape(2 * n, n), numbers[-n:]
        try:
            if kernel(q, v, tau, a, A, B) == DONE:
                return a, A, B
        except TypeError:
            pass
    if kernel is not None:
        return _LINEAR.ask(model, (q, v, tau), wrenches or None, u)  # type: ignore[return-value]
    a = forward_dynamics(model, q, v, tau, wrenches, u=u)
    by = forward_dynamics_derivatives(model, q, v, tau, wrenches, u=u)
    return _matrices_of(model.mechanism, model.mechanism._read_v("v", v, stacked=True), a, by)


def _matrices_of(mechanism: Any, v: Array, a: Array, by: Any) -> tuple[Array, Array, Array]:
    """Return `raw_linear_matrices` from accelerations and their derivatives, stacked if these are."""
    unit, nothing = np.broadcast_to(np.eye(mechanism.nv), by[0].shape), np.zeros(by[0].shape)
    return a, np.block([[-mechanism.bracket(v), unit], [by[0], by[1]]]), np.concatenate([nothing, by[2]], axis=-2)


class _Along(NamedTuple):
    """A function that is differentiated along directions: kernels `tangent` and `adjoint`, else its `derivatives`."""

    tangent: str
    adjoint: str
    derivatives: Callable[..., tuple[Array, Array, Array]]


_OF_INVERSE = _Along("inverse_tangent", "inverse_adjoint", inverse_dynamics_derivatives)
_OF_FORWARD = _Along("forward_tangent", "forward_adjoint", forward_dynamics_derivatives)

Named = dict[str, Any]


def _tangent(
    model: Resolved, of: _Along, state: Named, directions: Named, wrenches: Any, u: Any, x: Any, actuated: Any = None
) -> Array:
    """Return a derivative along directions: by the kernel for loads, stacks and lists, or by the matrices."""
    if x is not None:
        u = model.mechanism.inputs.whole(u, x)
    if actuated is None and (found := _by_kernel(model, of.tangent, state, directions, 1, wrenches, u)) is not None:
        return found[0][0] if axes_of(directions["dq"]) == 1 else found[0]
    if ready := as_arrays(*state.values(), *directions.values(), u):
        state, directions = dict(zip(state, ready, strict=False)), dict(zip(directions, ready[3:], strict=False))
        return _tangent(model, of, state, directions, wrenches, ready[6], None, actuated)
    matrices, changes = _matrices(model, of, state, directions, wrenches, u, actuated)
    parts = [(by * x[..., None, :]).sum(axis=-1) for by, x in zip(matrices, changes, strict=True)]
    return parts[0] + parts[1] + parts[2]


def _adjoint(
    model: Resolved, of: _Along, state: Named, weights: Any, wrenches: Any, u: Any, x: Any, actuated: Any = None
) -> tuple[Array, Array, Array]:
    """Return the derivatives of a weighted sum, as `_tangent` does."""
    if x is not None:
        u = model.mechanism.inputs.whole(u, x)
    named, found = {"weights": weights}, None
    if actuated is None and (found := _by_kernel(model, of.adjoint, state, named, 3, wrenches, u)) is not None:
        return (found[0][0], found[1][0], found[2][0]) if axes_of(weights) == 1 else (found[0], found[1], found[2])
    if ready := as_arrays(*state.values(), weights, u):
        return _adjoint(model, of, dict(zip(state, ready, strict=False)), ready[3], wrenches, ready[4], None, actuated)
    matrices, (row,) = _matrices(model, of, state, named, wrenches, u, actuated)
    by_q, by_v, by_third = ((by * row[..., None]).sum(axis=-2) for by in matrices)
    return by_q, by_v, by_third


def _matrices(
    model: Resolved, of: _Along, state: Named, directions: Named, wrenches: Any, u: Any, actuated: Any
) -> tuple[tuple[Array, ...], list[Array]]:
    """Return the derivatives at a state, and the directions (nv, zero for None; or stacked ones)."""
    nothing, read_v = np.zeros(shape_of(state["v"])), model.mechanism._read_v
    read = {name: read_v(name, nothing if x is None else x, stacked=True) for name, x in directions.items()}
    check_stacks(read if axes_of(state["q"]) == 1 else {"v": read_v("v", state["v"], stacked=True), **read})
    more = {} if actuated is None else {"actuated": actuated}
    return of.derivatives(model, **state, wrenches=wrenches, u=u, **more), [*read.values()]


def _by_kernel(
    model: Resolved, name: str, state: Named, directions: Named, count: int, wrenches: Any, u: Any
) -> tuple[Array, ...] | None:
    """Return the `count` results (m, nv) of a kernel along m directions, at one state or at m; None where it cannot be used."""
    calls, (q, v, third) = model._calls, state.values()
    kernel = None if calls.kernels is None else calls.kernels[name, None]
    if kernel is None or any(type(part) is not np.ndarray for part in (q, v, third, *directions.values())):
        return None
    try:
        along = tuple([part[None] if part.ndim == 1 else part for part in directions.values()])
        results = tuple([np.empty(along[0].shape) for _ in range(count)])
        if q.ndim == 2:
            return results if _at_states(model, kernel, state, (*along, *results), wrenches, u) else None
        if u is not None:
            u, driven = calls.read_inputs(u, q, closing=True)
            third = driven_by(third, driven) if "tau" in state else third
        arguments = (q, v, third, *along, *results)
        if wrenches is None and u is None:
            status = kernel.call(*arguments)
        else:
            status = calls.run(kernel, wrenches, u, arguments, closing=True)
        if status == DONE:
            return results
        model.mechanism.engine.raise_pending()
    except TypeError:
        pass
    return None


def _at_states(model: Resolved, kernel: Any, state: Named, directions: tuple[Array, ...], wrenches: Any, u: Any) -> bool:
    """Run a kernel at stacked states, along a direction each; return whether it could be used."""
    stack, calls = Stack(tuple(state.values()), None, None), model._calls
    if not (wrenches is None and u is None and all(map(are_ready_rows, state.values()))):
        stack = read_stack(model.mechanism, state, wrenches, u)
    if (u is not None and model.mechanism.inputs.own) or any(len(part) != len(stack.states[0]) for part in directions):
        return False
    third = stack.states[2] + calls.driven(stack) if "tau" in state else stack.states[2]
    arrays = (*stack.states[:2], np.ascontiguousarray(third), *(part[:, None] for part in directions))
    if calls.run_stacked(kernel, lambda rows: tuple([part[rows] for part in arrays]), stack, True) == DONE:
        return True
    model.mechanism.engine.raise_pending()
    return False


def _by_state(q: Any, out: Any) -> tuple[Any, ...]:
    """Return `out` with the axis of the states first, as the call writes it."""
    return (np.moveaxis(out, 0, 1) if axes_of(q) == 2 and isinstance(out, np.ndarray) and out.ndim == 4 else out,)


def _three(result: Array) -> tuple[Array, Array, Array]:
    """Split a result into its three matrices, of one state or of stacked ones."""
    if result.ndim == 4:
        result = np.moveaxis(result, 1, 0)
    return result[0], result[1], result[2]
