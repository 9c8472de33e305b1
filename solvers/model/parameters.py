"""The parameters of a model, models with other parameters, and sensitivities to parameters, inputs and wrenches.

Each rigid body has ten inertial parameters, in which inverse dynamics are linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.blocks.bodies.inertial_numbers import NAMES, inertial_numbers, own_numbers
from titop.solvers.arguments.reading import read_state, read_wrenches
from titop.solvers.arguments.rowwise import read_stack, read_states, rowwise
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.model.derivatives import forward_dynamics_derivatives
from titop.solvers.model.dynamics import forward_dynamics
from titop.solvers.model.mechanism import Resolved
from titop.solvers.sensitivities.inertial_parameters import efforts_by_inertia, refuse_field
from titop.solvers.sensitivities.recorded_effects import ApartError
from titop.solvers.sensitivities.sensitivities import Sensitivities

Model = TypeVar("Model", bound=Resolved)

#: Number of sets of names whose sensitivities are cached.
_MOST_KEPT = 16


def parameters(model: Resolved) -> dict[str, tuple[float, str]]:
    """Return every parameter of every block by dotted name: its value and unit."""
    return model.mechanism.parameters()


def with_parameters(model: Model, values: Mapping[str, float]) -> Model:
    """Return a model of the same structure with some parameters changed.

    Takes microseconds for parameters of rigid bodies and joints, tens of microseconds for springs and dampers, hundreds for
    flexible bodies and other blocks with compiled laws, and milliseconds for closures, gears, actuators, bodies with inputs or
    lines in them and laws in Python: the system is then assembled again, but not compiled.

    Suspicious values give a `ModelWarning`, as when a system is resolved.

    Raises
    ------
    ModelError
        For unknown names and values that a block refuses.
    """
    mechanism, findings = model.mechanism.engine.with_values(values)
    if findings:
        warn(findings)
    return model._alike(mechanism)


def changed_model(model: Model, values: Mapping[str, float]) -> Model:
    """Return the model of `with_parameters` without warnings, for solvers that try many values."""
    return model._alike(model.mechanism.engine.with_values(values)[0])


def with_inertial_parameters(model: Model, numbers: Any) -> Model:
    """Return a model of the same structure with other `inertial_parameters`.

    Parameters
    ----------
    numbers : array_like, as many as `inertial_parameter_names`

    Raises
    ------
    ModelError
        For numbers that no rigid body has: negative masses or inertias, first moments without mass.
    """
    inertial = model.mechanism.inertial
    numbers = read_state("numbers", numbers, inertial.names)
    values = own_numbers(inertial.bodies, numbers.reshape(-1, len(NAMES)))
    return with_parameters(model, dict(zip(inertial.own_names, values.ravel().tolist(), strict=True)))


def inertial_parameters(model: Resolved) -> Array:
    """Return the inertial parameters (10 of each rigid body).

    They are in the order of `inertial_parameter_names`: mass (kg), first moments (kg m), and the inertia about the origin of
    the body's reference frame (kg m^2: xx, yy, zz, xy, xz, yz), all in the reference frame.
    """
    mechanism = model.mechanism
    blocks: Any = mechanism.assembly.blocks
    return inertial_numbers([blocks[name] for name in mechanism.inertial_bodies]).ravel()


def regressor(model: Resolved, q: Any, v: Any, a: Any) -> Array:
    """Return the regressor: the efforts of inverse dynamics per unit of each of the `inertial_parameters`.

    ``regressor(q, v, a) @ inertial_parameters()`` are the efforts of `inverse_dynamics` due to the inertia and weight of rigid
    bodies. Springs, dampers, armatures, loads and all other blocks, including bodies in a fluid, add efforts that do not depend
    on these parameters. Computed for the tree, without closures and gears, after Atkeson, An and Hollerbach, International
    Journal of Robotics Research 5(3), 1986.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis; the result is then stacked too.

    Returns
    -------
    (nv, p) array, or (batch, nv, p)
        p is the number of inertial parameters.

    Raises
    ------
    ModelError
        For unusable states, and where gravity is a field: its pull is no linear function of these parameters.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("pendulum")
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
    >>> m = s.resolve()
    >>> float((m.regressor([0.3], [0.0], [0.0]) @ m.inertial_parameters())[0]) == float(m.gravity_effects([0.3])[0])
    True
    """
    mechanism = model.mechanism
    if mechanism.assembly.field is not None:
        refuse_field(mechanism.assembly.field)
    return efforts_by_inertia(mechanism, False, mechanism.inertial_bodies, q, v, a).swapaxes(-1, -2)


def inverse_dynamics_sensitivities(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    names: Iterable[str],
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    x: Any = None,
) -> Mapping[str, Array]:
    """Return the derivatives of inverse dynamics with respect to parameters, inputs and wrenches, exact to rounding.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis; the results are then stacked too.
    names : iterable of str
        Names of parameters such as ``"slider.mass"``, of inputs, and of ports such as ``"hub.C"``.
    wrenches, u, x
        As in `forward_dynamics`.

    Returns
    -------
    mapping of str to array
        By name: (nv,) arrays for parameters and inputs, (nv, 6) arrays for wrenches on ports, in the port's frame; in units
        of the efforts per unit of each. If all names are masses, centres of mass and inertias, the attribute `matrix` of the
        mapping holds all derivatives, row by row.

    Notes
    -----
    Stacked states go side by side but for: parameters that move ports or turn constraints, of closed loops and gears, or under
    external loads; parameters whose effects depend on inputs, where these are given; laws of rods and deformable bodies;
    parameters that are differentiated by differences; and systems with laws in Python.

    Raises
    ------
    ModelError
        For unknown names and unusable states.
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    names = _read_names(model, names)
    inertial = mechanism.inertial.rows(names) if wrenches is None and u is None else None
    if inertial is not None:
        needed: Array | None = efforts_by_inertia(mechanism, True, tuple(inertial), q, v, a)
        if mechanism.is_constrained:
            needed = _shared(mechanism, needed, q, v)
        if needed is not None:
            return NamedRows(inertial, needed)
    return _by_state(model, q, v, wrenches, u, _sensitivities(model, names, wrenches), a=a)


def forward_dynamics_sensitivities(
    model: Resolved,
    q: Any,
    v: Any,
    tau: Any,
    names: Iterable[str],
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    x: Any = None,
) -> Mapping[str, Array]:
    """Return the derivatives of forward dynamics with respect to parameters, inputs and wrenches, exact to rounding.

    Parameters
    ----------
    q, v, tau : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis; the results are then stacked too.
    names, wrenches, u, x
        As in `inverse_dynamics_sensitivities`.

    Returns
    -------
    mapping of str to array
        (nv,) and (nv, 6) arrays, as in `inverse_dynamics_sensitivities`; in units of the accelerations per unit of each.
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    names = _read_names(model, names)
    inertial = mechanism.inertial.rows(names)
    if inertial is not None:
        a = forward_dynamics(model, q, v, tau, wrenches, u=u)
        needed = efforts_by_inertia(mechanism, True, tuple(inertial), q, v, a)
        return NamedRows(inertial, _caused(model, needed, q, v, tau, wrenches, u))
    return _by_state(model, q, v, wrenches, u, _sensitivities(model, names, wrenches), tau=tau)


def _shared(mechanism: Any, needed: Any, q: Any, v: Any) -> Array | None:
    """Return the least efforts that do, with closures and gears, what `needed` ones (m, nv) do; None where that is unclear."""
    try:
        kernel = mechanism.engine.calls.stacked["least_shares"]
        shared, one = np.empty(needed.shape), needed.ndim == 2
        states = read_states(mechanism, {"q": q, "v": v}, stacked=True, unit=False)
        arrays = [np.ascontiguousarray(x[None] if one else x, float) for x in (*states, needed)]
        return shared if kernel(*arrays, shared[None] if one else shared) == DONE else None
    except TypeError:  # an engine without kernels
        return None


def _caused(model: Any, needed: Any, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> Array:
    """Return the changes (m, nv) of accelerations with which efforts `needed` in addition (m, nv) are there without these."""
    mechanism, stacked = model.mechanism, needed[None] if needed.ndim == 2 else needed
    if mechanism.is_constrained:
        by_tau = forward_dynamics_derivatives(model, q, v, tau, wrenches, u=u)[2]
        caused = -np.matmul(stacked, by_tau.swapaxes(-1, -2))
    else:
        q = mechanism._read_q(q, stacked=True)
        caused = mechanism.engine.dynamics.responses(q[None] if q.ndim == 1 else q, -stacked)
    return caused[0] if needed.ndim == 2 else caused


def _by_state(model: Any, q: Any, v: Any, wrenches: Any, u: Any, of: Sensitivities, **third: Any) -> Mapping[str, Array]:
    """Return sensitivities at a state or at stacked ones: of efforts for accelerations `a`, of accelerations for `tau`."""
    together, left = of.apart[wrenches is not None or u is not None]
    found: dict[str, Array] = {}
    if together:
        if axes_of(q) == 2 and len(q):
            with suppress(ApartError):
                found = _together(model, of, {"q": q, "v": v, **third}, wrenches, u)
        found = found or _alone(model, q, v, wrenches, u, of, **third)
    if left:
        alone = _sensitivities(model, left, wrenches) if together else of
        found |= _at_state(model, q, v, wrenches, u, alone, **third)
    return {name: found[name] for name in of.asked}


def _together(
    model: Any, of: Sensitivities, states: Mapping[str, Any], wrenches: Any, u: Any, known: Array | None = None
) -> dict[str, Array]:
    """Return sensitivities at stacked states. Raises `ApartError` where these have to go one by one.

    `known`: the accelerations under the efforts, where they have been computed.
    """
    mechanism, loaded = model.mechanism, wrenches is not None or u is not None
    q, v, third = read_states(mechanism, states, stacked=True, unit=False)
    if "tau" in states:
        a = forward_dynamics(model, q, v, third, wrenches, u=u) if known is None else known
        return of.at_stack(q, v, a, loaded, lambda needed, *_: _caused(model, needed, q, v, third, wrenches, u))
    if loaded:  # which only have to be sound
        acting = read_stack(mechanism, {"q": q, "v": v, "a": third}, wrenches, u).wrenches or {}
        read_wrenches({port: wrench[0] if axes_of(wrench) == 2 else wrench for port, wrench in acting.items()}, mechanism.ports)
        mechanism.inputs.whole(u)
    respond = partial(_shared, mechanism) if model.is_constrained else lambda needed, *_: needed
    return of.at_stack(q, v, third, loaded, respond)


@rowwise
def _alone(
    model: Any, q: Any, v: Any, wrenches: Any, u: Any, of: Sensitivities, a: Any = None, tau: Any = None
) -> dict[str, Array]:
    """Return sensitivities at a state, of a stack of one."""
    given = {"q": q, "v": v} | ({"a": a} if tau is None else {"tau": tau})
    states = dict(zip(given, read_states(model.mechanism, given, unit=False), strict=True))
    known = None if tau is None else forward_dynamics(model, **states, wrenches=wrenches, u=u)[None]
    try:
        found = _together(model, of, {name: state[None] for name, state in states.items()}, wrenches, u, known)
    except ApartError:
        names = of.apart[wrenches is not None or u is not None][0]
        return _at_state(model, wrenches=wrenches, u=u, of=_sensitivities(model, names, wrenches), **states)
    return {name: rows[0] for name, rows in found.items()}


@rowwise
def _at_state(
    model: Any, q: Any, v: Any, wrenches: Any, u: Any, of: Sensitivities, a: Any = None, tau: Any = None
) -> dict[str, Array]:
    """Return sensitivities at a state, from each block."""
    mechanism = model.mechanism
    on_ports = {} if wrenches is None else read_wrenches(wrenches, mechanism.ports)
    state = {"q": q, "v": v} | ({"a": a} if tau is None else {"tau": tau})
    q, v, third = read_states(mechanism, state)
    return (of.of_efforts if tau is None else of.of_accelerations)(q, v, third, on_ports, mechanism.inputs.whole(u))


def _read_names(model: Resolved, names: Any) -> tuple[str, ...]:
    """Return one name, or an iterable of names, as a tuple; names that were read before are not checked again."""
    read = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    try:
        met = read in model.mechanism.inertial.met
    except TypeError:  # not hashable
        met = False
    if not met and not all(isinstance(name, str) for name in read):
        raise ModelError(Finding("wrong-type", "names", names, "names of parameters, inputs or ports", 'write ["hub.mass"]'))
    return read


def _sensitivities(model: Any, names: tuple[str, ...], wrenches: Mapping[str, Any] | None) -> Sensitivities:
    """Return the sensitivities of some names, cached for further states."""
    cache, key = model.mechanism.sensitivities, (names, frozenset(wrenches if isinstance(wrenches, Mapping) else ()))
    sensitivities = cache.get(key)
    if sensitivities is None:
        if len(cache) >= _MOST_KEPT:
            cache.clear()
        cache[key] = sensitivities = Sensitivities(model, *key)
    return sensitivities


class NamedRows(Mapping[str, Array]):
    """A mapping from names to rows of a matrix; rows are taken from the matrix when they are read.

    For stacked matrices the rows are stacked too.

    - `matrix` (m, n);
    - `places`: row indices by name;
    - `matrix` (m, n): all rows, in the order of the names.
    """

    def __init__(self, places: dict[str, int], matrix: Array) -> None:
        self._places, self.matrix = places, matrix

    def __getitem__(self, name: str) -> Array:
        row: Array = self.matrix[..., self._places[name], :]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))
