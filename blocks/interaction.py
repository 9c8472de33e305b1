"""Interactions: wrenches on two ports that follow from the ports' relative motion, and do not constrain it."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.closure import Closure
from titop.blocks.spatial import Array


class Interaction(Closure):
    """What acts between two ports: springs, dampers, contact, or a law of one's own.

    `System.close_loop` puts it between two ports, of which one may be the world's. A class of one's own says:

    1. ``wrenches(R, r, V1, V2)``: what acts on both ports.
    2. ``energy(R, r)``: the energy that it stores; none by default.
    3. ``parameter_units``: which of its attributes are parameters, and their units, as every `Block` does.

    All else follows: dynamics of any causality, linear models, equilibria, sensitivities, model files (`register_block`).
    Derivatives are complex steps through these functions, exact to rounding, which asks of them what it asks of a `Block`:
    arrays of the arguments' type, ``np.sqrt(x @ x)`` instead of norms, comparisons of real parts (``np.real(x) > 0``).
    The compiled engine calls them once a state.

    Examples
    --------
    >>> import numpy as np
    >>> import titop as tt
    >>> class Magnet(tt.Interaction):
    ...     parameter_units = {"strength": "N m^2"}
    ...     def __init__(self, name, strength):
    ...         super().__init__(name)
    ...         self.strength = self.reader.scalar("strength", strength)
    ...     def wrenches(self, R, r, V1, V2):
    ...         pull = self.strength * r / np.sqrt(r @ r) ** 3
    ...         return np.concatenate([pull, np.zeros(3)]), np.concatenate([-R.T @ pull, np.zeros(3)])
    >>> s = tt.System("attracted", gravity=[0, 0, 0])
    >>> puck = tt.RigidBody("puck", mass=2.0)
    >>> s.connect("world", puck, tt.Prismatic("rail", axis=[1, 0, 0]), placement=tt.Pose([2, 0, 0]))
    >>> s.close_loop("world", puck, Magnet("magnet", 1.6))
    >>> s.resolve().forward_dynamics([0.0], [0.0]).round(12).tolist()
    [-0.2]
    """

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        """Return the wrenches (6) on both ports, each in its port's frame, force first.

        Parameters
        ----------
        R : (3, 3) array
            Attitude of port 2 in port 1.
        r : (3,) array, m
            Position of port 2 in port 1.
        V1, V2 : (6,) arrays
            Twists of the ports, each in its frame, linear part first.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it does: see help(tt.Interaction)")

    def energy(self, R: Array, r: Array) -> Any:
        """Return the stored energy (J) at the relative pose ``(R, r)``."""
        return 0.0

    def law_numbers(self) -> Array:
        """Return the numbers that a compiled kind of interaction takes; none for one that is not compiled."""
        return np.zeros(0)


def relative_rates(R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
    """Return dr/dt and the relative angular velocity ``R w2 - w1``, both in port 1."""
    return R @ V2[:3] - V1[:3] + np.cross(r, V1[3:]), R @ V2[3:] - V1[3:]


def opposite_wrenches(R: Array, r: Array, at: Array, force: Array) -> tuple[Array, Array]:
    """Return the wrenches on both ports of a `force` on the body of port 2 at a point, both in port 1, and its opposite."""
    on_2 = np.concatenate([R.T @ force, R.T @ np.cross(at - r, force)])
    return -np.concatenate([force, np.cross(at, force)]), on_2
