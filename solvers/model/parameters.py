"""The parameters of a model, models with others, and derivatives of its dynamics by all that is not its state.

Inertial parameters are ten of each rigid body, in which dynamics are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_numbers import NAMES, inertial_numbers, own_numbers
from titop.solvers.arguments.named_rows import NamedRows
from titop.solvers.arguments.reading import read_state, read_wrenches
from titop.solvers.arguments.rowwise import read_states, rowwise
from titop.solvers.model.dynamics import forward_dynamics
from titop.solvers.model.resolved import Resolved
from titop.solvers.sensitivities.inertial_parameters import derivatives_by_inertia, regressor_of
from titop.solvers.sensitivities.sensitivities import Sensitivities

Model = TypeVar("Model", bound=Resolved)

#: Sets of names whose sensitivities are kept.
_MOST_KEPT = 16


def parameters(model: Resolved) -> dict[str, tuple[float, str]]:
    """Return every number of every block by dotted name, with its unit."""
    return model.mechanism.parameters()


def with_parameters(model: Model, values: Mapping[str, float]) -> Model:
    """Return a model of the same structure with some parameters changed.

    Takes microseconds for parameters of rigid bodies and joints, tens of them for springs and dampers, and milliseconds for
    those of flexible bodies, rods and blocks of one's own: the system is then put together anew, though not compiled.

    What the changed values make suspicious gives a `ModelWarning`, as when a system is resolved.

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
    """Return the model `with_parameters`, without a warning: for solvers, which go through many."""
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
    own = own_numbers(inertial.bodies, numbers.reshape(-1, len(NAMES)))
    return with_parameters(model, dict(zip(inertial.own_names, own.ravel().tolist(), strict=True)))


def inertial_parameters(model: Resolved) -> Array:
    """Return the inertial parameters (10 of each rigid body).

    In the order of `inertial_parameter_names`: mass (kg), first moments (kg m), and the inertia about the origin of the
    body's reference frame (kg m^2: xx, yy, zz, xy, xz, yz), all in the reference frame.
    """
    mechanism = model.mechanism
    blocks: Any = mechanism.assembly.blocks
    return inertial_numbers([blocks[name] for name in mechanism.inertial_bodies]).ravel()


def regressor(model: Resolved, q: Any, v: Any, a: Any) -> Array:
    """Return the efforts of inverse dynamics a unit of each of the `inertial_parameters`.

    ``regressor(q, v, a) @ inertial_parameters()`` is what `inverse_dynamics` says of the rigid bodies' inertia and weight;
    springs, dampers, armatures, loads and other blocks, bodies in a fluid among them, add what does not depend on these
    parameters. Of the tree: as if no loop were closed. After Atkeson, An and Hollerbach, International Journal of Robotics
    Research 5(3), 1986.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        Or stacked along a leading axis, all three; the result is then stacked too.

    Returns
    -------
    (nv, p) array, or (batch, nv, p)
        p is the number of inertial parameters.

    Raises
    ------
    ModelError
        For unusable states.

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
    return regressor_of(mechanism, mechanism.inertial_bodies, q, v, a)


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
    """Return the derivatives of inverse dynamics by parameters, inputs and wrenches on ports, exact to rounding.

    Parameters
    ----------
    q, v, a : array_like (nq,), (nv,), (nv,)
        Or stacked along a leading axis, all three; the results are then stacked too.
    names : iterable of str
        Of parameters such as ``"slider.mass"``, of inputs, and of ports such as ``"hub.C"``.
    wrenches, u, x
        As `forward_dynamics`.

    Returns
    -------
    mapping of str to array
        By name: (nv,) arrays for parameters and inputs, (nv, 6) arrays for wrenches on ports, in the port's frame; units
        of the efforts a unit of each. Where a tree is asked for masses, centres of mass and inertias alone, its attribute
        `matrix` holds all of them, row by row, and stacked states cost one call of the kernel.

    Raises
    ------
    ModelError
        For unknown names and unusable states.
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    names = _read_names(model, names)
    if wrenches is None and u is None and not mechanism.is_constrained:
        inertial = mechanism.inertial.rows(names)
        if inertial is not None:
            return NamedRows(inertial.places, derivatives_by_inertia(mechanism, inertial, q, v, a))
    return _by_state(model, q, v, wrenches, u, _sensitivities(model, names, wrenches).of_efforts, a=a)


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
    """Return the derivatives of forward dynamics by parameters, inputs and wrenches on ports, exact to rounding.

    Parameters
    ----------
    q, v, tau : array_like (nq,), (nv,), (nv,)
        Or stacked along a leading axis, all three; the results are then stacked too.
    names, wrenches, u, x
        As in `inverse_dynamics_sensitivities`.

    Returns
    -------
    mapping of str to array
        (nv,) and (nv, 6) arrays, as in `inverse_dynamics_sensitivities`; units of the accelerations a unit of each.
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    names = _read_names(model, names)
    if not mechanism.is_constrained:
        inertial = mechanism.inertial.rows(names)
        if inertial is not None:
            a = forward_dynamics(model, q, v, tau, wrenches, u=u)
            needed = derivatives_by_inertia(mechanism, inertial, q, v, a)
            q, responses = mechanism._read_q(q, stacked=True), mechanism.engine.dynamics.responses
            caused = responses(q[None], -needed[None])[0] if q.ndim == 1 else responses(q, -needed)
            return NamedRows(inertial.places, caused)
    return _by_state(model, q, v, wrenches, u, _sensitivities(model, names, wrenches).of_accelerations, tau=tau)


@rowwise
def _by_state(
    model: Resolved,
    q: Any,
    v: Any,
    wrenches: Mapping[str, Any] | None,
    u: Any,
    ask: Callable[..., dict[str, Array]],
    a: Any = None,
    tau: Any = None,
) -> dict[str, Array]:
    """Return chosen sensitivities at a state, of efforts at accelerations `a`, or of the accelerations under efforts `tau`."""
    mechanism = model.mechanism
    given = {} if wrenches is None else read_wrenches(wrenches, mechanism.ports)
    state = {"q": q, "v": v} | ({"a": a} if tau is None else {"tau": tau})
    return ask(*read_states(mechanism, state), given, mechanism.inputs.whole(u))


def _read_names(model: Resolved, names: Any) -> tuple[str, ...]:
    """Return names given as any number of them, or one alone; those that were asked for before are not looked at again."""
    read = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    try:
        met = read in model.mechanism.inertial.met
    except TypeError:  # not even to be looked up
        met = False
    if not met and not all(isinstance(name, str) for name in read):
        expected = "names of parameters, inputs or ports"
        raise ModelError(Finding("wrong-type", "names", names, expected, 'write ["hub.mass"]'))
    return read


def _sensitivities(model: Any, names: tuple[str, ...], wrenches: Mapping[str, Any] | None) -> Sensitivities:
    """Return the sensitivities of some names; kept, for states that follow."""
    kept, key = model.mechanism.sensitivities, (names, frozenset(wrenches if isinstance(wrenches, Mapping) else ()))
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[key] = found = Sensitivities(model, *key)
    return found
