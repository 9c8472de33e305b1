"""Massless rods between two ports: their distance stays the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.contract.fields import Field, positive


class Distance(MultiplierClosure):
    """A massless rod with a ball joint at each end: ``(r . r - length^2) / (2 length) = 0``.

    Rods may meet at a node without mass, ``tt.RigidBody("node", 0.0)`` on a `Cartesian` joint, if they hold it: three that are
    not in one plane, for example. A node that can still swing about two rods needs a mass, however small, since nothing but
    forces tells where it is.

    Its force on the second port, ``m.reaction(name, ...)[:3]``, is along the rod: the multiplier, negative in tension.

    Parameters
    ----------
    name : str
    length : float, m
        Distance of the two ports' origins.
    redundant : bool
        Whether the constraint is redundant by design: there is no warning then. Its reaction is that of least norm.

    Examples
    --------
    A pendulum of 2 m, at rest, hangs with its weight:

    >>> import numpy as np, titop as tt
    >>> s = tt.System("pendulum", gravity=[0, 0, -10])
    >>> bob = tt.RigidBody("bob", mass=3.0, inertia=0.01)
    >>> s.connect("world", bob, tt.Free("base"))
    >>> s.close_loop("world", bob, tt.Distance("rod", length=2.0))
    >>> m = s.resolve()
    >>> q = m.configuration({"base": [0, 0, -2, 0, 0, 0, 1]})
    >>> a = m.forward_dynamics(q, np.zeros(6), np.zeros(6))
    >>> m.reaction("rod", q, np.zeros(6), a)[:3].round(9).tolist()
    [0.0, 0.0, 30.0]
    """

    drawn_straight = True
    form = 3
    parameter_units: ClassVar = {"length": "m"}
    length = Field(positive("no-length", "a length > 0", "join the ports by a RigidClosure of kind 'spherical'"))

    def __init__(self, name: str, length: float, redundant: bool = False) -> None:
        super().__init__(name)
        self.length, self.redundant = length, redundant

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return ("distance",)

    def coefficients(self, weights: Array) -> Array:
        numbers = np.zeros((1, 13))
        numbers[0, 0], numbers[0, 12] = weights[0] / self.length, 0.5 * weights[0] * self.length
        return numbers

    def error(self, R: Array, r: Array) -> Array:
        return np.array([0.5 * (r @ r / self.length - self.length)])

    def gradients(self, R: Array, r: Array) -> tuple[Array, Array]:
        return r[None] / self.length, np.zeros((1, 3))

    def curvature(self, R: Array, r: Array, r_rate: Array, w: Array) -> Array:
        return np.array([r_rate @ r_rate / self.length])
