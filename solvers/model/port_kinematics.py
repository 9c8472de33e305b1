"""Poses, twists, accelerations and Jacobians of a model's ports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, cross
from titop.solvers.arguments.reading import is_world
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.mechanism.port_motion import PortMotion


class PortKinematics(ClosedLoops, ABC):
    """How the ports of a model stand and move.

    Arguments of the methods: `port` ``"body.port"``, or ``"body"`` for the reference frame; `q` a configuration (nq); `v` and
    `a` vectors (nv); `frame` ``"port"`` or ``"world"``, the axes in which dual vectors come.
    """

    @rowwise
    def pose(self, port: str, q: Any) -> tuple[Array, Array]:
        """Return rotation (3x3, port to inertial) and position (3, m) of a port in the inertial frame."""
        motion = self.port_motion(self._read_port(port), self._read_q(q), np.zeros(self.nv), np.zeros(self.nv))
        return motion.rotation, motion.position

    @rowwise
    def twist(self, port: str, q: Any, v: Any, frame: str = "port") -> Array:
        """Return the twist (6, m/s and rad/s) of a port, velocity of its origin first, in the axes that `jacobian` knows."""
        motion = self._motion_at(port, q, v, self._still)
        return _turned(motion.rotation, motion.twist) if is_world(frame) else motion.twist

    @rowwise
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
        motion = self._motion_at(port, q, v, a)
        acceleration = motion.acceleration.copy()
        acceleration[:3] += motion.rotation.T @ self.gravity
        if classical:
            acceleration[:3] += cross(motion.twist[3:], motion.twist[:3])
        return _turned(motion.rotation, acceleration) if is_world(frame) else acceleration

    @rowwise
    def jacobian_bias(self, port: str, q: Any, v: Any, frame: str = "port") -> Array:
        """Return ``dJ/dt v`` (6, m/s^2 and rad/s^2) of `jacobian`, derived in axes that move with the port or do not."""
        still = self._still if getattr(v, "ndim", 1) == 1 else np.zeros(np.shape(v))
        return self.acceleration(port, q, v, still, frame, classical=is_world(frame))

    def _motion_at(self, port: str, q: Any, v: Any, a: Any) -> PortMotion:
        return self.port_motion(self._read_port(port), self._read_q(q), self._read_v("v", v), self._read_v("a", a))

    @cached_property
    def _still(self) -> Array:
        """Zeros (nv), which nobody writes to."""
        return np.zeros(self.nv)

    # -- what an engine provides -----------------------------------------------------------------------------------------

    @abstractmethod
    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        """Return pose, twist and acceleration of a port."""

    @abstractmethod
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

    @property
    @abstractmethod
    def gravity(self) -> Array:
        """Gravity (3, m/s^2) in inertial components."""


def _turned(rotation: Array, x: Array) -> Array:
    """Return the two halves of a dual vector turned."""
    return np.concatenate([rotation @ x[:3], rotation @ x[3:]])
