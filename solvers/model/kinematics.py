"""Kinematics of a model's ports: poses, twists, accelerations and Jacobians, and their derivatives.

Arguments: `port` ``"body.port"``, or ``"body"`` for the reference frame; `q` a configuration (nq); `v` and `a` vectors (nv), or
stacked ones for stacked results; `frame` ``"port"`` or ``"world"``, the axes in which results are given.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.user_input import axes_of, shape_of
from titop.solvers.arguments.reading import is_world
from titop.solvers.arguments.rowwise import read_states, rowwise
from titop.solvers.mechanism.kernel_calls import DONE, real_only
from titop.solvers.mechanism.port_motion import PortMotion, motion_of_port, turning_motion, warn_of_gimbal_lock
from titop.solvers.model.calls import with_care
from titop.solvers.model.mechanism import Resolved

#: Names of the kernels of accelerations, by (in inertial axes, classical).
_ACCELERATIONS = {
    (False, False): "acceleration",
    (False, True): "classical_acceleration",
    (True, False): "acceleration_in_world",
    (True, True): "classical_acceleration_in_world",
}


class MotionDerivatives(NamedTuple):
    """Derivatives (6, nv) of a port's twist V and spatial acceleration A, in their units per unit of q, v or a.

    `jacobian` maps a change of q to the small displacement (m and rad) of the port; it is also dV/dv and dA/da.
    """

    jacobian: Array
    dV_dq: Array
    dA_dq: Array
    dA_dv: Array


def pose(model: Resolved, port: str, q: Any, frame: str = "world") -> tuple[Array, Array]:
    """Return rotation (3x3, port to inertial) and position (3, m, from the inertial origin) of a port.

    `frame` selects the axes of the position; with ``"port"`` it is the position of the motion vector.
    """
    if not ((type(frame) is str and frame == "world") or is_world(frame)):
        rotation, position = pose(model, port, q)
        return rotation, rotate_vectors(rotation.swapaxes(-1, -2), position)
    try:
        numbers = np.empty((1, 12))
        if model._calls.at_ports[port].pose(q, numbers) == DONE:
            return numbers[0, :9].reshape(3, 3), numbers[0, 9:]
    except TypeError:
        pass

    def one(motion: PortMotion) -> Array:
        return np.concatenate([motion.rotation.ravel(), motion.position])

    numbers = _at_port(model, port, "pose", one, (q,), (12,))
    return numbers[..., :9].reshape(*numbers.shape[:-1], 3, 3), numbers[..., 9:]


def twist(model: Resolved, port: str, q: Any, v: Any, frame: str = "port") -> Array:
    """Return the twist (6, m/s and rad/s) of a port, velocity of its origin first, in the axes `frame` as for `jacobian`."""
    in_port = type(frame) is str and frame == "port"
    name = "twist_in_world" if not in_port and is_world(frame) else "twist"
    try:
        twist = np.empty((1, 6))
        if getattr(model._calls.at_ports[port], name)(q, v, twist) == DONE:
            return twist[0]
    except TypeError:
        pass

    def one(motion: PortMotion) -> Array:
        return rotate_vectors(motion.rotation, motion.twist) if is_world(frame) else motion.twist

    return _at_port(model, port, name, one, (q, v), (6,))


def acceleration(model: Resolved, port: str, q: Any, v: Any, a: Any, frame: str = "port", classical: bool = False) -> Array:
    """Return the acceleration (6, m/s^2 and rad/s^2) of a port, gravity not included.

    Parameters
    ----------
    port : str
    q, v, a : array_like (nq,), (nv,), (nv,)
    frame : {"port", "world"}
        The axes, as for `jacobian`.
    classical : bool
        If true, the linear part is the acceleration of the port's origin. Otherwise the result is the spatial acceleration,
        the derivative of the twist in the port's frame.

    Raises
    ------
    ModelError
        For unusable states, unknown ports and other frames.
    """
    in_port = type(frame) is str and frame == "port"
    name = _ACCELERATIONS[not in_port and is_world(frame), bool(classical)]
    try:
        acceleration = np.empty((1, 6))
        if getattr(model._calls.at_ports[port], name)(q, v, a, acceleration) == DONE:
            return acceleration[0]
    except TypeError:
        pass

    def one(motion: PortMotion) -> Array:
        acceleration = motion.acceleration.copy()
        acceleration[:3] += motion.rotation.T @ model.mechanism.gravity
        if classical:
            acceleration[:3] += cross(motion.twist[3:], motion.twist[:3])
        return rotate_vectors(motion.rotation, acceleration) if is_world(frame) else acceleration

    return _at_port(model, port, name, one, (q, v, a), (6,))


def jacobian_bias(model: Resolved, port: str, q: Any, v: Any, frame: str = "port") -> Array:
    """Return ``dJ/dt v`` (6, m/s^2 and rad/s^2) of `jacobian`, differentiated in the axes of `frame`.

    It is the acceleration where coordinates have none: about an `Orbit` with what the turning of Hill's frame adds.
    """
    still = model._stills[1][0] if axes_of(v) == 1 else np.zeros(shape_of(v))
    return acceleration(model, port, q, v, still, frame, classical=is_world(frame))


def jacobian(model: Resolved, port: str, q: Any, frame: str = "port") -> Array:
    """Return the 6 x nv matrix that maps v to the twist (m/s and rad/s) of a port, linear part first.

    About an `Orbit` that is the twist against Hill's frame; `twist` is the inertial one.

    Parameters
    ----------
    port : str
    q : array_like (nq,)
    frame : {"port", "world"}
        Axes of the velocity of the port's origin and of the angular velocity: the port's or the inertial ones.

    Raises
    ------
    ModelError
        For unusable states, unknown ports and other frames.
    """
    in_port = type(frame) is str and frame == "port"
    name = "jacobian_in_world" if not in_port and is_world(frame) else "jacobian"
    try:
        jacobian = np.empty((6, model.nv))
        if getattr(model._calls.at_ports[port], name)(q, jacobian) == DONE:
            return jacobian
    except TypeError:
        pass
    mechanism = model.mechanism
    port = mechanism.read_port(port)
    kernel = getattr(model._calls.at_ports[port], name)

    def one(q: Array) -> Array:
        jacobian = mechanism.engine.observations.jacobian(port, q)
        return jacobian if name == "jacobian" else np.kron(np.eye(2), pose(model, port, q)[0]) @ jacobian

    return with_care(mechanism, kernel, _of_stacks(model, port, name), one, (q,), (6, model.nv))


def motion_derivatives(model: Resolved, port: str, q: Any, v: Any, a: Any, frame: str = "port") -> MotionDerivatives:
    """Return the derivatives of a port's twist and spatial acceleration with respect to q, v and a.

    Parameters
    ----------
    port : str
    q, v, a : array_like (nq,), (nv,), (nv,)
        All three may be stacked along a leading axis; the results are then stacked too.
    frame : {"port", "world"}
        Axes of both: the port's or the inertial ones, as in `twist` and `acceleration`.

    Returns
    -------
    MotionDerivatives

    Raises
    ------
    ModelError
        For unusable states, unknown ports and other frames.
    """
    mechanism = model.mechanism
    in_world, port = is_world(frame), mechanism.read_port(port)
    q, v, a = read_states(mechanism, {"q": q, "v": v, "a": a}, stacked=True)
    result, calls = np.empty((*q.shape[:-1], 4, 6, model.nv)), model._calls
    if calls.motion_slopes is None:
        for row in np.ndindex(q.shape[:-1]):
            (result[row],) = mechanism.engine.derivatives.motion([port], q[row], v[row], a[row], weightless=True)
    else:
        mechanism.engine.raise_pending()
        kernel, real = calls.motion_slopes[(port,), True], (real_only(q, "q"), real_only(v, "v"), real_only(a, "a"))
        status = kernel.call(*real, result) if q.ndim == 1 else kernel.at_stack(*real, result, threads=calls.threads)
        mechanism.engine.raise_for(status)
    derivatives = MotionDerivatives(*np.moveaxis(result, -3, 0))
    if not in_world:
        return derivatives
    return _in_inertial_axes(derivatives, pose(model, port, q)[0], twist(model, port, q, v), acceleration(model, port, q, v, a))


def motion(model: Resolved, port: str, q: Any, v: Any, a: Any, sequence: str = "XYZ", frame: str = "port") -> Array:
    """Return a port's motion vector (18) of key A: ``[dV; V; r; Theta]``.

    Parameters
    ----------
    port : str
        ``"body.port"``, or ``"body"`` for the reference frame.
    q, v, a : array_like (nq,), (nv,), (nv,)
    sequence : str
        Axes of the intrinsic Euler angles, such as ``"XYZ"`` or ``"ZXZ"``.
    frame : {"port", "world"}
        Axes of all but the angles: the port's or the inertial ones.

    Returns
    -------
    (18,) array
        Spatial acceleration (6, m/s^2 and rad/s^2), twist (6, m/s and rad/s) and position from the inertial origin (3, m),
        in these axes; Euler angles (3, rad). Within 0.1 degree of gimbal lock a `ModelWarning` is given: the first and
        third angle are nearly undetermined. In gimbal lock the third is set to zero.
    """
    if not (type(frame) is str and frame == "port") and is_world(frame):
        in_port = motion(model, port, q, v, a, sequence)
        return np.concatenate([rotate_vectors(pose(model, port, q)[0], in_port[..., :15]), in_port[..., 15:]], axis=-1)
    readings = model._calls.readings
    if readings is not None:
        result: Array | None = readings.motions[str(port), str(sequence)].read(q, v, a)
        if result is not None:
            return result
    return _motion(model, port, q, v, a, sequence)


@rowwise
def _motion(model: Resolved, port: str, q: Any, v: Any, a: Any, sequence: str) -> Array:
    motion, rotation = turning_motion(model.mechanism, port, q, v, a)
    angles = euler_angles(rotation, sequence)
    warn_of_gimbal_lock(port, angles, sequence)
    return np.concatenate([motion, angles])


def accelerometer(model: Resolved, port: str, q: Any, v: Any, a: Any, frame: str = "port") -> Array:
    """Return the specific force (3, m/s^2) that an accelerometer at a `port` measures: gravity, uniform or not, is not felt.

    It is given in the port's axes, or with `frame` ``"world"`` in inertial ones.
    """
    if not (type(frame) is str and frame == "port") and is_world(frame):
        return rotate_vectors(pose(model, port, q)[0], accelerometer(model, port, q, v, a))
    readings = model._calls.readings
    if readings is not None:
        result: Array | None = readings.accelerometers[str(port)].read(q, v, a)
        if result is not None:
            return result
    return _specific_force(model, port, q, v, a)


@rowwise
def _specific_force(model: Resolved, port: str, q: Any, v: Any, a: Any) -> Array:
    motion, field = motion_of_port(model.mechanism, port, q, v, a), model.mechanism.assembly.field
    felt = motion.acceleration[:3] + cross(motion.twist[3:], motion.twist[:3])
    return felt if field is None else felt - motion.rotation.T @ field.acceleration(motion.position)


def _at_port(model: Resolved, port: str, name: str, one: Any, state: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    """Return the result of a port's kernel, or without kernels `one` of the port's motion, at a state that is checked."""
    mechanism = model.mechanism
    port = mechanism.read_port(port)
    kernel, still = getattr(model._calls.at_ports[port], name), model._stills[1][0]

    def at(q: Array, v: Array = still, a: Array = still) -> Array:
        result: Array = one(mechanism.engine.observations.port_motion(port, q, v, a))
        return result[None]

    return with_care(mechanism, kernel, _of_stacks(model, port, name), at, state, (1, *shape))[..., 0, :]


def _of_stacks(model: Resolved, port: str, name: str) -> Any:
    """Return what calls a port's kernel at stacked states, None without kernels."""
    calls = model._calls
    return None if calls.kernels is None else partial(calls.at_ports[port].bound[name].at_stack, threads=calls.threads)


def rotate_vectors(rotation: Array, x: Array) -> Array:
    """Return vectors (..., 3k) whose consecutive triples are rotated by matrices (..., 3, 3)."""
    parts = x.reshape(*x.shape[:-1], -1, 3)
    return (parts @ rotation.swapaxes(-1, -2)).reshape(x.shape)


def _in_inertial_axes(in_port: MotionDerivatives, rotation: Array, twist: Array, acceleration: Array) -> MotionDerivatives:
    """Return derivatives (..., 6, nv) of the same motion in inertial axes.

    The port's axes rotate with the port: ``d(R x) = R (dx + dtheta x x)``, where ``dtheta`` is the angular half of the
    Jacobian times the change of q.
    """
    angular = in_port.jacobian[..., 3:, :]

    def with_rotation(derivative: Array, x: Array) -> Array:
        halves = [-_skew(half) @ angular for half in (x[..., :3], x[..., 3:])]
        return derivative + np.concatenate(halves, axis=-2)

    dV_dq, dA_dq = with_rotation(in_port.dV_dq, twist), with_rotation(in_port.dA_dq, acceleration)
    parts = (in_port.jacobian, dV_dq, dA_dq, in_port.dA_dv)
    return MotionDerivatives(*(_rotate_columns(rotation, part) for part in parts))


def _rotate_columns(rotation: Array, matrix: Array) -> Array:
    """Return matrices (..., 6, n) with both halves of their columns rotated."""
    return np.concatenate([rotation @ matrix[..., :3, :], rotation @ matrix[..., 3:, :]], axis=-2)


def _skew(x: Array) -> Array:
    """Return the skew matrices (..., 3, 3) of vectors (..., 3)."""
    return np.cross(x[..., None, :], np.eye(3)).swapaxes(-1, -2)
