"""Time derivatives of a model's dynamics, of any order and for any causality.

A motion is given by a configuration `q` (nq) and a stack ``v, a, ..., v^(r+1)`` (r + 2, nv), efforts by
``tau, ..., tau^(r)`` (r + 1, nv): rows are time derivatives, not divided by factorials.

For rigid bodies and joints the recursions are compiled; they cost O(N) and O(r^2) (key L). Up to r = 3 all else that is
compiled, closed loops and gears too, runs along the motion in numbers with derivatives (`titop.solvers.native.jets`). Blocks in
Python and higher orders are evaluated through the blocks' Python functions on truncated power series.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.series_arrays import SeriesArray, derivatives
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.user_input import axes_of, shape_of
from titop.solvers.arguments.reading import as_arrays, store
from titop.solvers.constraints.engine_interface import EquationSeries
from titop.solvers.mechanism.kernel_calls import DONE, names_key
from titop.solvers.model.mechanism import Resolved
from titop.solvers.series import causality
from titop.solvers.series.base_twists import BaseTwists
from titop.solvers.series.series_arguments import acting_series, at_states, read_numbers, read_stack, stacked_series


class MotionSeries(NamedTuple):
    """Motion of a port with its time derivatives along the first axis; of stacked states, which stand along it, the second.

    - `rotation` (r + 2, 3, 3): port to inertial frame, and its derivatives;
    - `position` (r + 3, 3; m, m/s, ...): in the inertial frame, or Hill's: position, velocity, acceleration, jerk, snap, ... of
      the port's origin in it;
    - `twist` (r + 2, 6; m/s and rad/s, ...): in the port's frame, and its derivatives there: the second row is the spatial
      acceleration.
    """

    rotation: Array
    position: Array
    twist: Array


def inverse_dynamics_series(
    model: Resolved,
    q: Any,
    v_series: Any,
    order: int | None = None,
    wrenches: Mapping[str, Any] | None = None,
    out: Array | None = None,
    u: Any = None,
    actuated: Sequence[str] | None = None,
    twists: str = "body",
) -> Array:
    """Return the applied efforts ``tau`` that cause a motion, followed by their time derivatives (r + 1, nv).

    Parameters
    ----------
    q : (nq,) array_like
    v_series : (r + 2, nv) array_like
        Velocity, acceleration, jerk and so on. Stacked states: q (n, nq) and (n, r + 2, nv).
    order : int, optional
        The highest derivative r of the efforts; by default the highest that `v_series` allows.
    wrenches : mapping of port name to (6,) or (r + 1, 6), optional
        External wrenches on bodies, in the port's frame: constant, or with their derivatives.
    out : (r + 1, nv) float array, optional
        Array for the result.
    u : (nu,) or (r + 1, nu) array_like, or mapping of input name to number or (r + 1,), optional
        Inputs: constant, or with their derivatives.
    actuated : sequence of str, optional
        As in `inverse_dynamics`: in systems with closures and gears, the coordinates on which efforts act.
    twists : {"body", "spatial"}
        Frame of the twists of free joints on the world, and of the wrenches that are their efforts: the joint's own frame, as
        everywhere in titop, or the inertial frame about its origin, as in key L.

    Raises
    ------
    ModelError
        For unusable arguments, motions that open loops (naming the order), and blocks that give no derivatives.

    Notes
    -----
    Key L, Algorithm 2. With redundant closures the multipliers of each order are those of least norm. Where more coordinates
    are actuated than the closures and gears leave free, so are the efforts of each order. They cause the motion, but they are
    the derivatives of ``tau`` only where ``tau`` is determined: with as many `actuated` coordinates as degrees of freedom.
    """
    if actuated is None and _is_plain(wrenches, u, twists, v_series) and v_series.ndim == 2:
        try:
            rows = len(v_series) - 1 if order is None else _read_order(order) + 1
            result = np.empty((rows, model.nv)) if out is None else out
            if len(result) == rows and model._calls.inverse_dynamics_series(q, v_series[: rows + 1], result) == DONE:
                return result
        except TypeError:
            pass
    if ready := as_arrays(q, v_series):
        q, v_series = ready
        return inverse_dynamics_series(model, q, v_series, order, wrenches, out, u, actuated, twists)
    if actuated is None and _is_plain(wrenches, u, twists, v_series) and v_series.ndim == 3:
        rows = v_series.shape[1] if order is None else _read_order(order) + 2
        results = _by_kernel(model, "inverse_dynamics_series", None, (q, v_series[:, :rows]), -1)
        if results and rows <= v_series.shape[1]:
            return store(results[0], out)
    given, loads = {"q": q, "v_series": v_series}, (wrenches, u, twists)
    if order is None and (results := _under_loads(model, "inverse_dynamics_series", (), given, loads, -1, actuated)):
        return store(results[0], out)
    one = partial(inverse_dynamics_series, model, order=order, actuated=actuated, twists=twists)
    at_all = _at_stack(model, one, {"q": q, "v_series": v_series}, {"wrenches": wrenches, "u": u})
    if at_all is not None:
        return store(at_all, out)
    mechanism = model.mechanism
    motion = _read_rows(model, "v_series", v_series, None if order is None else _read_order(order) + 2, 2)
    q, bases, mask = mechanism._read_q(q), BaseTwists(mechanism, twists), mechanism.actuated(actuated)
    pushes, driven = acting_series(mechanism.inputs, mechanism.ports, wrenches, u, len(motion) - 1)
    motion = bases.to_body(q, motion)
    efforts = causality.inverse(mechanism, q, motion, pushes, driven, mask)
    return store(bases.wrenches_to_spatial(q, motion, efforts), out)


def forward_dynamics_series(
    model: Resolved,
    q: Any,
    v: Any,
    tau_series: Any,
    wrenches: Mapping[str, Any] | None = None,
    out: Array | None = None,
    u: Any = None,
    twists: str = "body",
) -> Array:
    """Return the accelerations ``a`` that efforts cause, followed by their time derivatives (r + 1, nv).

    Parameters
    ----------
    q, v : (nq,), (nv,) array_like
        All three may be stacked along a leading axis; the result is then stacked too.
    tau_series : (r + 1, nv) array_like
        Efforts and their time derivatives ``tau, ..., tau^(r)``.
    wrenches, out, u, twists
        As in `inverse_dynamics_series`.

    Raises
    ------
    ModelError
        For unusable arguments, blocks that give no derivatives, and where `forward_dynamics` raises it.

    Notes
    -----
    Key L, Algorithm 3: the articulated inertias computed for the accelerations serve all orders (Lemma 2). With redundant
    closures the motion is exact, but the reactions of higher orders are not the derivatives of those of least norm.
    """
    if _is_plain(wrenches, u, twists, tau_series):
        try:
            result = np.empty(tau_series.shape) if out is None else out
            if 0 < len(result) == len(tau_series) and model._calls.forward_dynamics_series(q, v, tau_series, result) == DONE:
                return result
        except TypeError:
            pass
    if ready := as_arrays(q, v, tau_series):
        q, v, tau_series = ready
        return forward_dynamics_series(model, q, v, tau_series, wrenches, out, u, twists)
    is_plain = _is_plain(wrenches, u, twists, tau_series)
    if is_plain and (results := _by_kernel(model, "forward_dynamics_series", None, (q, v, tau_series))):
        return store(results[0], out)
    one, states = partial(forward_dynamics_series, model, twists=twists), {"q": q, "v": v, "tau_series": tau_series}
    given, mask = states | {"a_series": np.zeros(shape_of(tau_series))}, np.zeros(model.nv, dtype=bool)
    if results := _under_loads(model, "hybrid_dynamics_series", (mask,), given, (wrenches, u, twists)):
        return store(results[0], out)
    at_all = _at_stack(model, one, states, {"wrenches": wrenches, "u": u})
    if at_all is not None:
        return store(at_all, out)
    efforts = _read_rows(model, "tau_series", tau_series, None, 1)
    state = q, v, efforts, np.zeros(efforts.shape), np.zeros(model.nv, dtype=bool)
    return store(_hybrid_series(model, *state, wrenches, u, twists)[0], out)


def hybrid_dynamics_series(
    model: Resolved,
    q: Any,
    v: Any,
    tau_series: Any,
    a_series: Any,
    prescribed: Sequence[str],
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    twists: str = "body",
) -> tuple[Array, Array]:
    """Return all accelerations and all efforts with their time derivatives, given the motion of some joints.

    Parameters
    ----------
    q, v : (nq,), (nv,) array_like
        All four may be stacked along a leading axis; the results are then stacked too.
    tau_series : (r + 1, nv) array_like
        Efforts and their derivatives, read where the motion is free.
    a_series : (r + 1, nv) array_like
        ``a, ..., v^(r+1)``, read where the motion is prescribed.
    prescribed : sequence of str
        As in `hybrid_dynamics`.
    wrenches, u, twists
        As in `inverse_dynamics_series`; with ``"spatial"`` twists the motion of a base is prescribed as a whole, or free.

    Returns
    -------
    a_series, tau_series : (r + 1, nv) arrays

    Raises
    ------
    ModelError
        For unusable arguments, blocks that give no derivatives, and where `hybrid_dynamics` raises it.

    Notes
    -----
    Key L, Algorithm 4.
    """
    if _is_plain(wrenches, u, twists, tau_series, a_series):
        accelerations, efforts = np.empty(tau_series.shape), np.empty(tau_series.shape)
        try:
            kernel = model._calls.kernels["hybrid_dynamics_series", names_key(prescribed)]
            given = q, v, tau_series, a_series, accelerations, efforts
            if 0 < len(a_series) == len(tau_series) and kernel is not None and kernel.call(*given) == DONE:
                return accelerations, efforts
        except TypeError:
            pass
    if ready := as_arrays(q, v, tau_series, a_series):
        q, v, tau_series, a_series = ready
        return hybrid_dynamics_series(model, q, v, tau_series, a_series, prescribed, wrenches, u, twists)
    is_plain, at = _is_plain(wrenches, u, twists, tau_series, a_series), (q, v, tau_series, a_series)
    if is_plain and (results := _by_kernel(model, "hybrid_dynamics_series", prescribed, at, widths=(model.nv, model.nv))):
        return results[0], results[1]
    one = partial(hybrid_dynamics_series, model, prescribed=prescribed, twists=twists)
    states = {"q": q, "v": v, "tau_series": tau_series, "a_series": a_series}
    mask = model.mechanism.prescribed(prescribed)
    if results := _under_loads(model, "hybrid_dynamics_series", (mask,), states, (wrenches, u, twists)):
        return results[0], results[1]
    at_all: Any = _at_stack(model, one, states, {"wrenches": wrenches, "u": u})
    if at_all is not None:
        return at_all[0], at_all[1]
    efforts = _read_rows(model, "tau_series", tau_series, None, 1)
    motion = _read_rows(model, "a_series", a_series, len(efforts), 1)
    return _hybrid_series(model, q, v, efforts, motion, mask, wrenches, u, twists)


def _is_plain(wrenches: Any, u: Any, twists: Any, *stacks: Any) -> bool:
    """Tell whether kernels can be used: there are no external loads, twists are body twists, and all stacks are arrays."""
    is_unloaded = wrenches is None and u is None and isinstance(twists, str) and twists == "body"
    return is_unloaded and all(type(stack) is np.ndarray for stack in stacks)


def _by_kernel(
    model: Resolved, name: str, names: Any, given: tuple[Any, ...], more: int = 0, widths: tuple[int, ...] = ()
) -> list[Array]:
    """Return a kernel's results at stacked states or one, with `more` rows than what is given last; none where it is none.

    `widths` of the results: one (nv) by default.
    """
    calls, like = model._calls, given[-1]
    if calls.kernels is None or like.ndim != axes_of(given[0]) + 1 or like.ndim > 3 or like.shape[-2] + more < 1:
        return []
    try:
        kernel = calls.kernels[name, names_key(names)]
        rows = *like.shape[:-2], like.shape[-2] + more
        arrays = [*map(np.ascontiguousarray, given), *(np.empty((*rows, width)) for width in widths or (model.nv,))]
        run = None if kernel is None else kernel.call if like.ndim == 2 else partial(kernel.at_stack, threads=calls.threads)
        if run is not None and run(*arrays) == DONE:
            return arrays[len(given) :]
    except TypeError:  # what has to be checked in detail
        pass
    return []


def _under_loads(
    model: Resolved,
    name: str,
    mask: tuple[Array, ...],
    states: Mapping[str, Any],
    loads: tuple[Any, Any, Any],
    more: int = 0,
    actuated: Sequence[str] | None = None,
) -> list[Array]:
    """Return a kernel's results at stacked states as `_by_kernel` does, under `loads`: wrenches and inputs, for body twists."""
    mechanism, (wrenches, u, twists) = cast(Any, model.mechanism), loads
    is_stack = axes_of(states["q"]) == 2
    if not (is_stack and twists == "body") or model._calls.kernels is None:
        return []
    try:
        q, *arrays = mechanism._read_q(states["q"], stacked=True), *(read_numbers(*each) for each in [*states.items()][1:])
        count = len(q)
        if arrays[-1].ndim != 3 or any(len(array) != count for array in arrays):
            return []
        if (rows := arrays[-1].shape[1] + more) < 1:
            return []
        pushes, driven = stacked_series(mechanism.inputs, mechanism.ports, wrenches, u, count, rows)
        if "tau_series" in states:
            arrays[1] = arrays[1] + driven
        results = [np.empty((count, rows, model.nv)) for _ in range(1 + len(mask))]
        if not mask and (shared := mechanism.actuated(actuated)) is not None:
            is_done = model._calls.along.run(None, (q, *arrays, driven), pushes, results, shared)
            return results if is_done else []
        if mechanism.engine.series.at_stack(name, mask, (q, *arrays), pushes, results):
            results[-1] -= driven
            return results
    except TypeError:  # what has to be checked in detail
        pass
    return []


def _at_stack(model: Resolved, function: Callable[..., Any], states: Mapping[str, Any], loads: Mapping[str, Any]) -> Any:
    """Return the function's result at stacked states; None for a single state that is to be checked."""
    model.mechanism.engine.raise_pending()
    return at_states(model.mechanism, function, states, loads) if axes_of(states["q"]) == 2 else None


def _hybrid_series(
    model: Resolved,
    q: Any,
    v: Any,
    efforts: Array,
    motion: Array,
    mask: Array,
    wrenches: Mapping[str, Any] | None,
    u: Any,
    twists: str,
) -> tuple[Array, Array]:
    mechanism = model.mechanism
    q, v, bases = mechanism._read_q(q), mechanism._read_v("v", v), BaseTwists(mechanism, twists)
    bases.check_whole(mask)
    pushes, driven = acting_series(mechanism.inputs, mechanism.ports, wrenches, u, len(efforts))
    if not bases:
        result = mechanism.engine.series.tree_hybrid(q, v, efforts + driven, motion, mask, pushes)
        if result is not None:
            return result[0], result[1] - driven
    stack = bases.to_body(q, np.vstack([v, np.where(mask, motion, 0.0)]))
    a, tau = causality.hybrid(
        mechanism,
        q,
        stack[0],
        lambda rates: bases.wrenches_to_body(q, rates, efforts[: len(rates)]) + driven[: len(rates)],
        stack[1:],
        mask,
        pushes,
    )
    whole = np.vstack([stack[:1], a])
    return bases.to_spatial(q, whole)[1:], bases.wrenches_to_spatial(q, whole, tau - driven)


def equation_series(
    model: Resolved, q: Any, v_series: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None
) -> EquationSeries:
    """Return the terms of the tree's equations of motion ``M a + h + g + e = tau`` with their time derivatives.

    Parameters
    ----------
    q, v_series, wrenches, u
        As in `inverse_dynamics_series`. Stacked states: q (n, nq) and (n, r + 2, nv).

    Returns
    -------
    EquationSeries
        The mass matrix (r + 1, nv, nv; in units of efforts per unit of accelerations) and the efforts h of Coriolis and
        centrifugal terms, g of gravity and e of external loads (r + 1, nv each). Derivatives of inverse dynamics follow by
        Leibniz' rule; ``M' - 2 C`` is skew with the `coriolis_matrix` C.

    Raises
    ------
    ModelError
        For unusable arguments, and blocks that give no derivatives.

    Notes
    -----
    Key L, Proposition 1 and Lemma 1. The terms are computed from the Jacobians of all blocks, independently of the
    recursions, at a cost of O(N nv^2).
    """
    mechanism = model.mechanism
    if axes_of(q) == 2:
        loads = {"wrenches": wrenches, "u": u}
        if (terms := _stacked_equations(model, q, v_series, wrenches, u)) is not None:
            return terms
        stacked: EquationSeries = at_states(mechanism, partial(equation_series, model), {"q": q, "v_series": v_series}, loads)
        return stacked
    motion, q = _read_rows(model, "v_series", v_series, None, 2), mechanism._read_q(q)
    pushes, driven = acting_series(mechanism.inputs, mechanism.ports, wrenches, u, len(motion) - 1)
    terms = mechanism.engine.series.equation_series(q, motion, pushes)
    return terms._replace(external=terms.external - driven)


def _stacked_equations(
    model: Resolved, q: Any, v_series: Any, wrenches: Mapping[str, Any] | None, u: Any
) -> EquationSeries | None:
    """Return `equation_series` at stacked states by kernels; None where there are none, or something is to be checked."""
    mechanism: Any = model.mechanism
    if model._calls.kernels is None:
        return None
    try:
        q, motion = mechanism._read_q(q, stacked=True), read_numbers("v_series", v_series)
        count, rows = len(q), motion.shape[1] - 1
        if motion.shape != (count, rows + 1, model.nv) or min(count, rows) < 1:
            return None
        pushes, driven = stacked_series(mechanism.inputs, mechanism.ports, wrenches, u, count, rows)
        terms = model._calls.along.equations(q, motion, pushes)
    except (TypeError, IndexError):  # what has to be checked in detail
        return None
    return None if terms is None else terms._replace(external=terms.external - driven)


def motion_series(model: Resolved, port: str, q: Any, v_series: Any, twists: str = "body") -> MotionSeries:
    """Return the motion of a port with as many time derivatives as are given: velocity, acceleration, jerk, snap, ...

    Parameters
    ----------
    port : str
        ``"body.port"``, or ``"body"`` for the reference frame.
    q : (nq,) array_like
    v_series : (r + 2, nv) array_like
        Velocity and its derivatives. Stacked states: q (n, nq) and (n, r + 2, nv).
    twists : {"body", "spatial"}
        As in `inverse_dynamics_series`.

    Raises
    ------
    ModelError
        For unusable arguments, and blocks that give no derivatives.
    """
    mechanism, is_stack = model.mechanism, axes_of(q) == 2
    motion = v_series if is_stack else _read_rows(model, "v_series", v_series, None, 1)
    if _is_plain(None, None, twists, motion):
        at = mechanism._read_q(q, stacked=True), motion
        if results := _by_kernel(model, "motion_series", (port,), at, 1, (18,)):
            known = results[0][..., :-1, :]
            return MotionSeries(known[..., :9].reshape(*known.shape[:-1], 3, 3), results[0][..., 9:12], known[..., 12:])
    if is_stack:
        stacked: MotionSeries = at_states(
            mechanism, partial(motion_series, model, port, twists=twists), {"q": q, "v_series": v_series}
        )
        return stacked
    q = mechanism._read_q(q)
    motion = BaseTwists(mechanism, twists).to_body(q, motion)
    (series,) = mechanism.engine.series.port_series([mechanism.read_port(port)], q, motion)
    rotation, twist = SeriesArray.of_derivatives(series.rotation), SeriesArray.of_derivatives(series.twist)
    velocity = rotation @ twist[:3]
    if (turning := mechanism.engine.turning[:3]).any():
        velocity = velocity - skew(turning) @ SeriesArray.of_derivatives(series.position)
    position = np.vstack([series.position[:1], derivatives(velocity, len(motion) - 1)])
    return MotionSeries(series.rotation, position, series.twist)


def _read_rows(model: Resolved, name: str, value: Any, rows: int | None, least: int) -> Array:
    """Return a stack of vectors (nv) with their derivatives: exactly `rows` rows, or at least `least` if that is None.

    Raises `ModelError` for another shape, and entries that are not finite.
    """
    array = read_numbers(name, value)
    if rows is not None and array.ndim == 2 and len(array) > rows and name == "v_series":
        array = array[:rows]
    elif rows is None:
        rows = max(len(array), least) if array.ndim else least
    return read_stack(name, array, rows, model.nv, model.coordinate_names)


def _read_order(order: Any) -> int:
    if isinstance(order, numbers.Integral) and not isinstance(order, bool) and int(order) >= 0:
        return int(order)
    raise ModelError(Finding("bad-order", "order", order, "a whole number >= 0", "order 0 gives efforts without derivatives"))
