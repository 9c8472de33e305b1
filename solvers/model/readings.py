"""Reactions of joints and closures, efforts of gears, contacts, and sensor outputs at a model's states."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.graph.network.connections import Joined
from titop.solvers.arguments.reading import is_world, of_one_state
from titop.solvers.arguments.rowwise import Stack, at_rows, read_states, rowwise
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.interaction_loads import contacts_of, target_motion
from titop.solvers.mechanism.inputs import acting_inputs
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.model.kinematics import pose, rotate_vectors
from titop.solvers.model.mechanism import Resolved
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.values import quantity_value


def reaction(
    model: Resolved,
    joint: str,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    tau: Any = None,
    frame: str = "port",
    x: Any = None,
) -> Array:
    """Return the wrench (6, N and N m) that a joint transmits to its child, at the child's port, in its frame.

    For the name of a closure or interaction, it is the wrench on its second port. The effort of a gear on a joint is part of
    the joint's wrench.

    Parameters
    ----------
    joint : str
    q, v, a : array_like (nq,), (nv,), (nv,)
    wrenches, u, x
        The loads under which the accelerations are `a`.
    tau : array_like (nv,), optional
        The applied efforts. They matter only with rigid closures, which carry the rest. By default the efforts of least norm
        that cause `a`: zero, if `a` follows from the loads without efforts.
    frame : {"port", "world"}
        Axes of force and moment about the port's origin: the port's or the inertial ones.
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    if not (type(frame) is str and frame == "port") and is_world(frame):
        in_port = reaction(model, joint, q, v, a, wrenches, u, tau)
        return rotate_vectors(pose(model, str(mechanism.transmitting_port(joint)), q)[0], in_port)
    readings = model._calls.readings
    if readings is not None:
        result: Array | None = readings.reactions[str(joint)].read(q, v, a, wrenches, u, tau)
        if result is not None:
            return result
    if axes_of(q) == 2:  # of which kernels answer for some
        states = {"q": q, "v": v, "a": a, "wrenches": wrenches, "u": u, "tau": tau}
        return at_rows(partial(reaction, model, joint), mechanism, states)  # type: ignore[no-any-return]
    return _reaction(model, joint, q, v, a, wrenches, u, tau)


def _reaction(
    model: Resolved, joint: str, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any
) -> Array:
    mechanism = model.mechanism
    q, v, a = mechanism._read_q(q), mechanism._read_v("v", v), mechanism._read_v("a", a)
    tau = None if tau is None else mechanism._read_v("tau", tau)
    closure = mechanism.loop_of(joint)
    pushes, at_closures = mechanism.external_pushes(wrenches, u), {}
    if mechanism.is_constrained:
        closing = closed_dynamics.closure_pushes(mechanism, q, mechanism.multipliers(q, v, a, pushes, u, tau))
        pushes += closing
        at_closures = {loop.closure.name: closing[2 * k + 1].wrench for k, loop in enumerate(mechanism.rigid_loops)}
    if closure is None:
        return mechanism.engine.observations.joint_wrench(joint, q, v, a, pushes)
    if joint in at_closures:
        return at_closures[joint]
    inputs = acting_inputs(pushes).get(joint)
    at_second: Array = closure.closure.act(target_motion(mechanism, closure, q, v, inputs))[0][1]
    return at_second


def gear_effort(
    model: Resolved,
    gear: str,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    tau: Any = None,
    x: Any = None,
) -> float:
    """Return the effort (N m or N) of a gear on its driven coordinate; on the driver, minus the ratio times this effort acts.

    Of a `LinearRelation`, return the multiplier: each coordinate's effort over its factor.

    Parameters
    ----------
    gear : str
    q, v, a, wrenches, u, tau, x
        As in `reaction`.
    """
    if x is not None:
        u = model.mechanism.inputs.whole(u, x)
    readings = model._calls.readings
    if readings is not None:
        effort = readings.gear_efforts[_read_gear(model, gear)].read(q, v, a, wrenches, u, tau)
        if effort is not None:
            return float(effort[0]) if effort.ndim == 1 else effort[:, 0]
    mechanism = model.mechanism
    if axes_of(q) == 2:
        states = {"q": q, "v": v, "a": a, "wrenches": wrenches, "u": u, "tau": tau}
        return at_rows(partial(gear_effort, model, gear), mechanism, states)  # type: ignore[no-any-return]
    q, v, a = mechanism._read_q(q), mechanism._read_v("v", v), mechanism._read_v("a", a)
    carried = mechanism.multipliers(q, v, a, mechanism.external_pushes(wrenches, u), u, tau)
    return float(carried[len(carried) - mechanism.gear_count + _read_gear(model, gear)])


def _read_gear(model: Resolved, gear: str) -> int:
    names = [constraint.gear.name for constraint in model.mechanism.gear_constraints]
    if gear not in names:
        raise ModelError(Finding("unknown-gear", "gear", gear, "a gear of the model", did_you_mean(str(gear), names)))
    return names.index(gear)


class Contacts(NamedTuple):
    """Gaps, penetrations, forces and slip of contacts at k spheres or points, at one state or, with a leading axis, at several.

    Vectors are in the frame of the port whose shape is touched.

    Attributes
    ----------
    names : tuple of str
        Name of the contact of each, with an index where it has several, such as ``grip[3]``.
    gap : (..., k) array, m
        Distance of the surfaces, negative in contact.
    depth : (..., k) array, m
        Penetration; zero without contact.
    force : (..., k, 3) array, N
        Force on the sphere or point.
    slip : (..., k, 3) array, m/s
        Tangential velocity of its surface relative to the other, in contact or not.
    """

    names: tuple[str, ...]
    gap: Array
    depth: Array
    force: Array
    slip: Array


def contacts(model: Resolved, q: Any, v: Any, name: str | None = None, x: Any = None) -> Contacts:
    """Return gaps, penetrations, forces and slip of all contacts, or of one of them, at a state or at stacked ones.

    Parameters
    ----------
    q, v : array_like (nq,), (nv,)
    name : str, optional
        Name of a single contact; all by default.
    x : array_like (nx,), optional
        First-order states, such as the deflections (m) of bristles; zero by default.

    Returns
    -------
    Contacts
        Gaps and depths (k, m), forces (k, 3; N) and slip (k, 3; m/s).

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("ball", gravity=[0, 0, -9.81])
    >>> ball = tt.RigidBody("ball", mass=0.5)
    >>> s.connect("world", ball, tt.Prismatic("up", axis=[0, 0, 1]))
    >>> s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e5))
    >>> touching = s.resolve().contacts([0.09], [0.0])
    >>> touching.names, touching.depth.round(6).tolist(), touching.force.round(6).tolist()
    (('ground',), [0.01], [[0.0, 0.0, 100.0]])
    """
    loops = _contacts_of(model, name)
    names = tuple(name for loop in loops for name in loop.closure.point_names)
    inputs = model.mechanism.inputs.whole(None, x)
    touched = _touched_together(model, q, v, None if x is None else inputs, loops)
    touched = _touches(model, q, v, inputs, loops) if touched is None else touched
    gaps = touched[..., 0]
    return Contacts(names, gaps, np.maximum(-gaps, 0.0), touched[..., 1:4], touched[..., 4:])


def _contacts_of(model: Resolved, name: str | None) -> list[Joined]:
    """Return all contacts, or the one called `name`. Raises `ModelError` if there is none of this name."""
    by_name = contacts_of(model.mechanism)
    if name is not None and name not in by_name:
        raise ModelError(Finding("unknown-contact", "name", name, "a contact", did_you_mean(name, by_name)))
    return [*by_name.values()] if name is None else [by_name[name]]


def _touched_together(model: Resolved, q: Any, v: Any, u: Array | None, loops: list[Joined]) -> Array | None:
    """Return what `_touches` does at stacked states, in lanes; None where each has to be asked for."""
    calls = model._calls
    if calls.kernels is None or axes_of(q) != 2:
        return None
    kernels = [calls.touches[loop.closure.name] for loop in loops]
    q, v = (np.ascontiguousarray(x, float) for x in read_states(model.mechanism, {"q": q, "v": v}, stacked=True, unit=False))
    parts = [np.empty((len(q), len(loop.closure.point_names), 7)) for loop in loops]
    stack = Stack((q, v), None, u)
    for kernel, part in zip(kernels, parts, strict=True):
        try:
            if (
                kernel is None
                or calls.run_stacked(kernel, lambda rows, part=part: (q[rows], v[rows], part[rows]), stack) != DONE
            ):
                return None
        except TypeError:
            return None
    return np.concatenate([np.empty((len(q), 0, 7)), *parts], axis=1)


@rowwise
def _touches(model: Resolved, q: Any, v: Any, u: Any, loops: list[Joined]) -> Array:
    """Return gap, force and slip (k, 7) of the spheres or points of some contacts."""
    mechanism, unit = model.mechanism, model._calls.kernels is None
    q, v, driving = mechanism._read_q(q, unit=unit), mechanism._read_v("v", v), dict(mechanism.inputs.driving)
    inputs = of_one_state(mechanism.inputs.whole(u))
    observations = mechanism.engine.observations
    rows = [observations.touches(loop, q, v, inputs[driving.get(loop.closure.name, [])]) for loop in loops]
    return np.vstack([np.zeros((0, 7)), *rows])


def outputs(
    model: Resolved,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    tau: Any = None,
    x: Any = None,
) -> Array:
    """Return the sensors' readings (outputs, each in its own unit), in the order of `output_names`.

    The `wrenches`, inputs `u` and states `x` have to be those under which the accelerations are `a`: reactions depend on
    them, and with rigid closures also on the efforts `tau` (see `reaction`).
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    readings = model._calls.readings
    sensors = None if readings is None else readings.sensors
    read: Array | None = None if sensors is None else sensors.read(q, v, a, wrenches, u, tau)
    if read is None and axes_of(q) == 2:
        states = {"q": q, "v": v, "a": a, "wrenches": wrenches, "u": u, "tau": tau}
        return at_rows(partial(outputs, model), mechanism, states)  # type: ignore[no-any-return]
    if read is None:
        return _outputs(model, q, v, a, wrenches, u, tau)
    return _with_lines(model, read, np.asarray(q, float), np.asarray(v, float)) if mechanism.line_sensor_signals else read


def _with_lines(model: Any, read: Array, q: Array, v: Array) -> Array:
    """Return all outputs at checked states: those of lines, and the others as kernels have `read` them."""
    still = np.zeros_like(v)
    at = Snapshot(model, q, v, still, still, None, None)
    mechanism = model.mechanism
    parts = [quantity_value(at, of) for of in mechanism.line_sensor_signals]
    return np.concatenate([*parts, read], axis=-1)[..., mechanism.order_of_sensed]


def _outputs(model: Any, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any) -> Array:
    mechanism = model.mechanism
    q, v, a = mechanism._read_q(q), mechanism._read_v("v", v), mechanism._read_v("a", a)
    tau = None if tau is None else mechanism._read_v("tau", tau)
    mechanism.external_pushes(wrenches, u)  # checks the loads, even if no sensor depends on them
    at = Snapshot(model, q, v, a, tau, u, wrenches)
    parts = [quantity_value(at, of) for of in mechanism.sensor_signals]
    return np.concatenate(parts) if parts else np.zeros(0)
