"""Forward, inverse and hybrid dynamics of a model, and inverse dynamics with the mass matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import shape_of
from titop.solvers.arguments.reading import as_arrays
from titop.solvers.constraints import closed_dynamics
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.kernel_calls import DONE, driven_by, names_key
from titop.solvers.model.calls import LoadedCall
from titop.solvers.model.mechanism import Mechanism, Resolved
from titop.solvers.model.terms import inertial_efforts


def _forward(mechanism: Mechanism, q: Array, v: Array, tau: Array, pushes: list[Push], motors: Any, mask: None) -> Array:
    nothing = np.zeros(mechanism.nv)
    return closed_dynamics.hybrid(mechanism, q, v, tau + motors, nothing, nothing > 0, pushes)[0]


def _hybrid(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, a: Array, pushes: list[Push], motors: Any, mask: Array
) -> tuple[Array, Array]:
    a, tau = closed_dynamics.hybrid(mechanism, q, v, tau + motors, a, mask, pushes)
    return a, tau - motors


def _inverse(*arguments: Any) -> Array:
    return closed_dynamics.inverse(*arguments)


def _mass_inverse(mechanism: Mechanism, q: Array, *arguments: Any) -> tuple[Array, Array]:
    return closed_dynamics.inverse(mechanism, q, *arguments), mechanism.engine.dynamics.mass_matrix(q)


def _mass_inertial_inverse(mechanism: Mechanism, q: Array, v: Array, a: Array, *loads: Any) -> tuple[Array, Array]:
    return inertial_efforts(mechanism, q, v, a), mechanism.engine.dynamics.mass_matrix(q)


_FORWARD = LoadedCall("forward", ("q", "v", "tau"), ("nv",), computed=_forward)
_INVERSE = LoadedCall("inverse", ("q", "v", "a"), ("nv",), computed=_inverse, chosen="actuated", inputs="leave")
_HYBRID = LoadedCall("hybrid", ("q", "v", "tau", "a"), ("nv",), ("nv",), computed=_hybrid, chosen="prescribed", inputs="both")
_MASS_INVERSE = LoadedCall(
    "mass_inverse", ("q", "v", "a"), ("nv",), ("nv", "nv"), computed=_mass_inverse, chosen="actuated", inputs="leave"
)
_MASS_INERTIAL_INVERSE = LoadedCall(
    "mass_inertial_inverse_dynamics", ("q", "v", "a"), ("nv",), ("nv", "nv"), computed=_mass_inertial_inverse
)


def forward_dynamics(
    model: Resolved,
    q: Any,
    v: Any,
    tau: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    out: Array | None = None,
    u: Any = None,
    x: Any = None,
) -> Array:
    """Return the accelerations ``a`` (nv) that the efforts cause. The cost is linear in the number of blocks.

    With rigid closures or gears, the constraint forces are computed too, as the multipliers of least norm. The cost then
    grows with the number of coordinates on the paths between them and with the square of the number of constraints.

    Parameters
    ----------
    q, v, tau : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis; the result is then stacked too. `tau` is zero by default.
    wrenches : mapping of port name to (6,), optional
        External wrenches on bodies, in the port's frame; for stacked states also (batch, 6), one for each state.
    out : (nv,) float array, optional
        Array for the result, for callers in a loop.
    u : array_like (nu,) or mapping of input name to number, optional
        Inputs of actuators and blocks, in addition to `tau`; zero by default. For stacked states also (batch, nu).
    x : array_like (nx,) or mapping of state name to number, optional
        First-order states of blocks and interactions; zero by default. For stacked states also (batch, nx).

    Raises
    ------
    ModelError
        For unusable arguments, for a joint that moves no inertia at `q`, and where the closures are singular.

    Notes
    -----
    Block elimination from the leaves to the root; for rigid bodies this is the articulated-body algorithm (Featherstone,
    Rigid Body Dynamics Algorithms, chapter 7). Rigid closures add multipliers (key M, section 5.2).

    With rigid closures or gears, `q` and `v` have to satisfy them (`assemble`, `assemble_velocity`). `simulate` checks this;
    this function does not.
    """
    if x is None and (u is None or type(u) is np.ndarray):
        try:
            calls, result = model._calls, np.empty(model.nv) if out is None else out
            efforts = model._stills[1][0] if tau is None else tau
            acting = None
            if u is not None:
                acting, driven = calls.read_inputs(u, q)
                efforts = driven_by(efforts, driven)
            if wrenches is None and acting is None:
                status = calls.forward(q, v, efforts, result)
            else:
                status = calls.run(calls.kernels["forward", None], wrenches, acting, (q, v, efforts, result))
            if status == DONE:
                return result
        except TypeError:  # no kernel, as with the reference engine, or arguments that are no arrays yet
            if type(q) is not np.ndarray and (ready := as_arrays(q, v, tau, u)):
                q, v, tau, u = ready
                return forward_dynamics(model, q, v, tau, wrenches, out, u)
    tau = np.zeros(shape_of(v)) if tau is None else tau
    a: Array = _FORWARD.ask(model, (q, v, tau), wrenches, u, x, None if out is None else (out,))[0]
    return a


def inverse_dynamics(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    out: Array | None = None,
    u: Any = None,
    actuated: Sequence[str] | None = None,
    x: Any = None,
) -> Array:
    """Return the applied efforts ``tau`` (nv) that, together with the inputs `u`, cause the accelerations `a`.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis.
    wrenches, out, u, x
        As in `forward_dynamics`.
    actuated : sequence of str, optional
        The only coordinates on which efforts act, by name; the name of a joint or block stands for all of its coordinates.
        All coordinates by default. Where closures or gears do not determine the efforts, those of least norm are returned.

    Raises
    ------
    ModelError
        For unusable arguments; for accelerations that would open the loops, or that need efforts on coordinates that are
        not actuated.

    Notes
    -----
    The recursive Newton-Euler algorithm: motions from the root to the leaves, wrenches back (Featherstone, Rigid Body
    Dynamics Algorithms, chapter 5; with soft bodies key P).
    """
    if u is None and x is None:
        try:
            calls, result = model._calls, np.empty(model.nv) if out is None else out
            if wrenches is None and actuated is None:
                status = calls.inverse(q, v, a, result)
            else:
                kernel = calls.kernels["inverse", None if actuated is None else names_key(actuated)]
                status = (
                    kernel.call(q, v, a, result) if wrenches is None else calls.run(kernel, wrenches, None, (q, v, a, result))
                )
            if status == DONE:
                return result
        except TypeError:
            if type(q) is not np.ndarray and (ready := as_arrays(q, v, a)):
                q, v, a = ready
                return inverse_dynamics(model, q, v, a, wrenches, out, u, actuated)
    tau: Array = _INVERSE.ask(model, (q, v, a), wrenches, u, x, None if out is None else (out,), actuated)[0]
    return tau


def hybrid_dynamics(
    model: Resolved,
    q: Any,
    v: Any,
    tau: Any,
    a: Any,
    prescribed: Sequence[str],
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    x: Any = None,
) -> tuple[Array, Array]:
    """Return all accelerations and all efforts, given the motion of some joints and the efforts of the others.

    Rigid closures and gears add their constraint forces. Where these leave the efforts undetermined, those of least norm are
    returned.

    Parameters
    ----------
    q, v : array_like (nq,), (nv,)
        All four may be stacked along a leading axis; the results are then stacked too.
    tau : array_like (nv,)
        Read where the motion is free.
    a : array_like (nv,)
        Read where the motion is prescribed.
    prescribed : sequence of str
        Names of joints, of blocks with coordinates of their own, or of single coordinates.
    wrenches, u, x
        As in `forward_dynamics`.

    Returns
    -------
    a, tau : (nv,) arrays

    Raises
    ------
    ModelError
        For unusable arguments, unknown names, a coordinate prescribed twice, and prescribed accelerations that would open
        the loops.

    Notes
    -----
    One block elimination with mixed causality (Featherstone, Rigid Body Dynamics Algorithms, chapter 9).
    """
    if wrenches is None and u is None and x is None:
        try:
            accelerations, efforts = np.empty(model.nv), np.empty(model.nv)
            kernel = model._calls.kernels["hybrid", names_key(prescribed)]
            if kernel.call(q, v, tau, a, accelerations, efforts) == DONE:
                return accelerations, efforts
        except TypeError:
            pass
    accelerations, efforts = _HYBRID.ask(model, (q, v, tau, a), wrenches, u, x, None, prescribed)
    return accelerations, efforts


def mass_inverse_dynamics(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    out: tuple[Array, Array] | None = None,
    u: Any = None,
    actuated: Sequence[str] | None = None,
    x: Any = None,
) -> tuple[Array, Array]:
    """Return the applied efforts that cause the accelerations `a`, as `inverse_dynamics` does, and the mass matrix.

    Both come from one pass, which evaluates the law of each block once: it costs less than `inverse_dynamics` and
    `mass_matrix`.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis.
    wrenches, u, x
        As in `forward_dynamics`.
    out : (nv,) and (nv, nv) float arrays, optional
        Arrays for the results, for callers in a loop.
    actuated : sequence of str, optional
        As in `inverse_dynamics`.

    Returns
    -------
    tau : (nv,) array
        With rigid closures or gears, as from `inverse_dynamics`: the efforts of least norm on the `actuated` coordinates.
    M : (nv, nv) array
        The `mass_matrix` of the tree, without closures and gears.

    Raises
    ------
    ModelError
        As in `inverse_dynamics`.

    Notes
    -----
    Mass inverse dynamics, MID (key P, section 5.2: its algorithm 2 with the mass matrix of algorithm 3). One pass to the root
    sums wrenches and composite inertias; each column of the mass matrix is a projection along one coordinate's path to it.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("pendulum", gravity=[0, 0, -10])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
    >>> tau, M = s.resolve(engine="reference").mass_inverse_dynamics([0.0], [0.0], [3.0])
    >>> tau.tolist(), M.tolist()
    ([6.0], [[2.0]])
    """
    tau, mass = (np.empty(model.nv), np.empty(model._shapes["nv", "nv"])) if out is None else _pair(out)
    if wrenches is None and u is None and x is None:
        try:
            kernel = model._calls.kernels["mass_inverse", None if actuated is None else names_key(actuated)]
            if kernel.call(q, v, a, tau, mass) == DONE:
                return tau, mass
        except TypeError:
            pass
    tau, mass = _MASS_INVERSE.ask(model, (q, v, a), wrenches, u, x, None if out is None else (tau, mass), actuated)
    return tau, mass


def mass_inertial_inverse_dynamics(
    model: Resolved, q: Any, v: Any, a: Any, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Return the inertial efforts (nv) ``M a + C v``, as `inertial_inverse_dynamics` does, and the mass matrix.

    Both are those of the tree, without closures and gears, from one pass: mass inertial inverse dynamics, MIID (key P,
    algorithm 3).

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis.
    out : (nv,) and (nv, nv) float arrays, optional
        Arrays for the results, for callers in a loop.

    Returns
    -------
    tau : (nv,) array
    M : (nv, nv) array

    Raises
    ------
    ModelError
        For unusable arguments.
    """
    tau, mass = (np.empty(model.nv), np.empty(model._shapes["nv", "nv"])) if out is None else _pair(out)
    try:
        if model._calls.mass_inertial_inverse_dynamics(q, v, a, tau, mass) == DONE:
            return tau, mass
    except TypeError:
        pass
    tau, mass = _MASS_INERTIAL_INVERSE.ask(model, (q, v, a), out=None if out is None else (tau, mass))
    return tau, mass


def _pair(out: Any) -> tuple[Any, Any]:
    """Return the two arrays of an `out` argument.

    Raises `ModelError` if `out` is not two objects, or if both are arrays that share memory.
    """
    advice = "make both with np.empty"
    if not isinstance(out, tuple | list) or len(out) != 2:
        raise ModelError(Finding("wrong-type", "out", out, "two arrays, (nv,) and (nv, nv)", advice))
    tau, mass = out
    both = isinstance(tau, np.ndarray) and isinstance(mass, np.ndarray)
    if both and np.may_share_memory(tau, mass) and np.shares_memory(tau, mass):
        raise ModelError(Finding("overlapping-out", "out", "arrays that share memory", "two arrays apart", advice))
    return tau, mass
