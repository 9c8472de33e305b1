"""Poses, twists, accelerations and Jacobians of a model's ports."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.user_input import axes_of, shape_of
from titop.solvers.arguments.reading import is_world
from titop.solvers.mechanism.fast_path import DONE, UNREADY, with_care
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.model.resolved import Resolved

#: The kernels of accelerations, by whether in inertial axes, and whether classical.
_ACCELERATIONS = {
    (False, False): "acceleration",
    (False, True): "classical_acceleration",
    (True, False): "acceleration_in_world",
    (True, True): "classical_acceleration_in_world",
}


class PortKinematics(Resolved):
    """How the ports of a model stand and move.

    Arguments of the methods: `port` ``"body.port"``, or ``"body"`` for the reference frame; `q` a configuration (nq); `v` and
    `a` vectors (nv), or stacked ones for stacked results; `frame` ``"port"`` or ``"world"``, the axes of dual vectors.
    """

    def pose(self, port: str, q: Any) -> tuple[Array, Array]:
        """Return rotation (3x3, port to inertial) and position (3, m) of a port in the inertial frame."""
        try:
            numbers = np.empty((1, 12))
            if self._calls.at_ports[port].pose(q, numbers) == DONE:
                return numbers[0, :9].reshape(3, 3), numbers[0, 9:]
        except UNREADY:
            pass

        def one(motion: PortMotion) -> Array:
            return np.concatenate([motion.rotation.ravel(), motion.position])

        numbers = self._at_port(port, "pose", one, (q,), (12,))
        return numbers[..., :9].reshape(*numbers.shape[:-1], 3, 3), numbers[..., 9:]

    def twist(self, port: str, q: Any, v: Any, frame: str = "port") -> Array:
        """Return the twist (6, m/s and rad/s) of a port, velocity of its origin first, in the axes that `jacobian` knows."""
        in_port = type(frame) is str and frame == "port"
        name = "twist_in_world" if not in_port and is_world(frame) else "twist"
        try:
            twist = np.empty((1, 6))
            if getattr(self._calls.at_ports[port], name)(q, v, twist) == DONE:
                return twist[0]
        except UNREADY:
            pass

        def one(motion: PortMotion) -> Array:
            return _turned(motion.rotation, motion.twist) if is_world(frame) else motion.twist

        return self._at_port(port, name, one, (q, v), (6,))

    def acceleration(self, port: str, q: Any, v: Any, a: Any, frame: str = "port", classical: bool = False) -> Array:
        """Return the acceleration (6, m/s^2 and rad/s^2) of a port, without gravity's.

        Parameters
        ----------
        port : str
        q, v, a : array_like (nq,), (nv,), (nv,)
        frame : {"port", "world"}
            The axes, as for `jacobian`.
        classical : bool
            Whether the linear part is the acceleration of the port's origin; or else that of the spatial acceleration, the
            derivative of the twist in the port's frame.

        Raises
        ------
        ModelError
            For unusable states, unknown ports and other frames.
        """
        in_port = type(frame) is str and frame == "port"
        name = _ACCELERATIONS[not in_port and is_world(frame), bool(classical)]
        try:
            acceleration = np.empty((1, 6))
            if getattr(self._calls.at_ports[port], name)(q, v, a, acceleration) == DONE:
                return acceleration[0]
        except UNREADY:
            pass

        def one(motion: PortMotion) -> Array:
            acceleration = motion.acceleration.copy()
            acceleration[:3] += motion.rotation.T @ self.gravity
            if classical:
                acceleration[:3] += cross(motion.twist[3:], motion.twist[:3])
            return _turned(motion.rotation, acceleration) if is_world(frame) else acceleration

        return self._at_port(port, name, one, (q, v, a), (6,))

    def jacobian_bias(self, port: str, q: Any, v: Any, frame: str = "port") -> Array:
        """Return ``dJ/dt v`` (6, m/s^2 and rad/s^2) of `jacobian`, derived in axes that move with the port or do not."""
        still = self._stills[1][0] if axes_of(v) == 1 else np.zeros(shape_of(v))
        return self.acceleration(port, q, v, still, frame, classical=is_world(frame))

    def jacobian(self, port: str, q: Any, frame: str = "port") -> Array:
        """Return the 6 x nv matrix that maps v to the twist (m/s and rad/s) of a port, linear part first.

        Parameters
        ----------
        port : str
        q : array_like (nq,)
        frame : {"port", "world"}
            Whether velocity and angular velocity of the port's origin come in the axes of the port or of the inertial frame.

        Raises
        ------
        ModelError
            For unusable states, unknown ports and other frames.
        """
        in_port = type(frame) is str and frame == "port"
        name = "jacobian_in_world" if not in_port and is_world(frame) else "jacobian"
        try:
            jacobian = np.empty((6, self.nv))
            if getattr(self._calls.at_ports[port], name)(q, jacobian) == DONE:
                return jacobian
        except UNREADY:
            pass
        port = self.read_port(port)
        kernel = getattr(self._calls.at_ports[port], name)

        def one(q: Array) -> Array:
            jacobian = self.engine.observations.jacobian(port, q)
            return jacobian if name == "jacobian" else np.kron(np.eye(2), self.pose(port, q)[0]) @ jacobian

        return with_care(self, kernel, one, (q,), (6, self.nv))

    def _at_port(self, port: str, name: str, one: Any, given: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
        """Return what a kernel of a port, or without it `one` of the port's motion, says of arguments to be read with care."""
        port = self.read_port(port)
        kernel, still = getattr(self._calls.at_ports[port], name), self._stills[1][0]

        def at(q: Array, v: Array = still, a: Array = still) -> Array:
            result: Array = one(self.engine.observations.port_motion(port, q, v, a))
            return result[None]

        return with_care(self, kernel, at, given, (1, *shape))[..., 0, :]


def _turned(rotation: Array, x: Array) -> Array:
    """Return the two halves of a dual vector turned."""
    return np.concatenate([rotation @ x[:3], rotation @ x[3:]])
