"""Discs, spheres and knife edges that roll on a plane without slip: constraints of velocities, and the height of the contact.

The plane goes through the origin of port 1, its normal n fixed there; c is the part of n across the axis a of a disc, both in
the frame of port 2, or all of n for a sphere. The contact stands at ``d = -radius c / |c|`` from the origin of port 2, at
``p = r + R d`` in port 1. The constraints are the height ``n . p = 0``, and, without slip, the velocity of the body against
the plane in two directions u, at the contact: its rate is ``u . dr/dt + (d x R^T u) . w`` (symbols as in
`titop.blocks.constraints.closure`; Neimark and Fufaev, Dynamics of Nonholonomic Systems, 1972).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array, cross
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.constraints.rigid_closure import perpendicular
from titop.blocks.contract.fields import Field, Fixed, positive, switch
from titop.blocks.contract.fields import axis as direction
from titop.blocks.joints.joint import unit_vector

_RADIUS = positive("no-radius", "a radius > 0")


class RollingContact(MultiplierClosure):
    """Common part of what touches a plane without slip."""

    form = 2
    normal = Field(direction)
    height = Fixed(switch)
    _directions: ClassVar[tuple[str, ...]] = ("slip1", "slip2")

    def __init__(self, name: str, normal: Any, height: bool, redundant: bool) -> None:
        super().__init__(name)
        self.normal, self.height, self.redundant = normal, height, redundant

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return ("height", *self._directions) if self.height else self._directions

    @property
    def slips(self) -> Array:
        return np.array([name != "height" for name in self.constraint_names])

    @property
    def _turned(self) -> tuple[float, Array, Array]:
        """The radius (m), the axis (3) of a disc, zero without one, and the direction (3) fixed in port 2 without slip."""
        raise NotImplementedError

    def _fixed(self) -> tuple[Array, Array]:
        """Return the directions u = u1 + R u2 of all constraints, u1 (k x 3) fixed in port 1 and u2 in port 2."""
        normal, (_, _, across) = unit_vector(self.normal), self._turned
        zeros = np.zeros((2, 3))
        first, second = (zeros[:1], across[None]) if len(self._directions) == 1 else (perpendicular(normal), zeros)
        if not self.height:
            return first, second
        return np.vstack([normal, first]), np.vstack([np.zeros(3), second])

    def coefficients(self, weights: Array) -> Array:
        (in_1, in_2), (radius, axis, _) = self._fixed(), self._turned
        k = len(weights)
        fixed = [np.tile(part, (k, 1)) for part in (unit_vector(self.normal), axis, [radius])]
        return np.column_stack([weights[:, None] * in_1, weights[:, None] * in_2, *fixed])

    def _contact(self, R: Array) -> tuple[Array, Array, Any]:
        """Return the contact d (3) from the origin of port 2, c (3) and its length."""
        radius, axis, _ = self._turned
        normal = unit_vector(self.normal) @ R
        across = normal - (normal @ axis) * axis
        length = np.sqrt(across @ across)
        with np.errstate(divide="ignore", invalid="ignore"):  # a disc that lies flat touches everywhere: engines tell
            return across * (-radius / length), across, length

    def error(self, R: Array, r: Array) -> Array:
        height = unit_vector(self.normal) @ (r + R @ self._contact(R)[0])
        return np.where(self.slips, 0.0, height)

    def gradients(self, R: Array, r: Array) -> tuple[Array, Array]:
        in_1, in_2 = self._fixed()
        linear = in_1 + in_2 @ R.T
        return linear, cross(self._contact(R)[0], linear @ R)

    def curvature(self, R: Array, r: Array, r_rate: Array, w: Array) -> Array:
        (in_1, in_2), (radius, axis, _) = self._fixed(), self._turned
        contact, across, length = self._contact(R)
        turned = cross(unit_vector(self.normal) @ R, w)
        across_rate = turned - (turned @ axis) * axis
        with np.errstate(divide="ignore", invalid="ignore"):
            contact_rate = (across * (across @ across_rate / length**2) - across_rate) * (radius / length)
        angular_rate = cross(contact_rate, in_1 @ R + in_2) + cross(contact, cross(in_1 @ R, w))
        return cross(w, in_2) @ R.T @ r_rate + angular_rate @ w


class RollingDisc(RollingContact):
    """A thin disc, or wheel, that rolls on a plane without slip, leaning as it likes.

    Put it between the ground and the wheel: ``s.close_loop("world", wheel, tt.RollingDisc("tyre", radius=0.3))``. The ground
    may be any body, which moves and turns.

    Parameters
    ----------
    name : str
    radius : float, m
        Of the disc, whose centre is the origin of the second port.
    axis : array_like (3,)
        Axis of the disc, in the second port's frame.
    normal : array_like (3,)
        Normal of the plane through the origin of the first port, in that port's frame, on the side of the disc.
    height : bool
        Whether the contact keeps the disc at its height. Not where joints do, as those of vehicles that move in a plane.
    redundant : bool
        Whether constraints are redundant by design: there is no warning then. Their reactions are those of least norm.

    Examples
    --------
    A wheel that rolls down a slope of 0.1 rad:

    >>> import numpy as np, titop as tt
    >>> s = tt.System("wheel", gravity=[9.81 * np.sin(0.1), 0, -9.81 * np.cos(0.1)])
    >>> wheel = tt.RigidBody("wheel", mass=2.0, inertia=[0.05, 0.09, 0.05])
    >>> s.connect("world", wheel, tt.Free("base"))
    >>> s.close_loop("world", wheel, tt.RollingDisc("tyre", radius=0.3))
    >>> m = s.resolve()
    >>> a = m.forward_dynamics(m.assemble(m.neutral()), np.zeros(6), np.zeros(6))
    >>> bool(np.isclose(a[0], 9.81 * np.sin(0.1) / (1 + 0.09 / (2.0 * 0.3**2))))
    True
    """

    radius = Field(_RADIUS)
    axis = Field(direction)
    parameter_units: ClassVar = {"radius": "m", "axis": "1", "normal": "1"}

    def __init__(
        self,
        name: str,
        radius: float,
        axis: Any = (0.0, 1.0, 0.0),
        normal: Any = (0.0, 0.0, 1.0),
        height: bool = True,
        redundant: bool = False,
    ) -> None:
        super().__init__(name, normal, height, redundant)
        self.radius, self.axis = radius, axis

    @property
    def undefined(self) -> str:  # type: ignore[override]
        """Where the disc touches everywhere."""
        return f"the disc of {self.name} lies flat on its plane"

    @property
    def _turned(self) -> tuple[float, Array, Array]:
        return self.radius, unit_vector(self.axis), np.zeros(3)


class RollingSphere(RollingContact):
    """A sphere that rolls on a plane without slip, free to spin about the normal.

    Parameters
    ----------
    name, normal, height, redundant
        As in `RollingDisc`.
    radius : float, m
        Of the sphere, whose centre is the origin of the second port.

    Examples
    --------
    On a turntable a ball goes round at 2/7 of its rate, wherever it starts; a thin shell at 2/5.

    >>> import numpy as np, titop as tt
    >>> s = tt.System("turntable", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("table", mass=1.0, inertia=1e9), tt.Revolute("spin", axis=[0, 0, 1]))
    >>> ball = tt.RigidBody("ball", mass=0.1, inertia=0.4 * 0.1 * 0.02**2)
    >>> s.connect("world", ball, tt.Free("base"))
    >>> s.close_loop(s["table"], ball, tt.RollingSphere("contact", radius=0.02))
    >>> m = s.resolve()
    >>> q = m.assemble(m.configuration({"base": [0.3, 0, 0.02, 0, 0, 0, 1]}))
    >>> v = m.assemble_velocity(q, m.velocity({"spin": 7.0, "base": [0.1, 0, 0, 0, 0, 0]}), fixed=["spin", "base.x", "base.y"])
    >>> bool(np.isclose(m.forward_dynamics(q, v, np.zeros(7))[2], 7.0 * 2 / 7 * 0.1))
    True
    """

    radius = Field(_RADIUS)
    parameter_units: ClassVar = {"radius": "m", "normal": "1"}

    def __init__(
        self, name: str, radius: float, normal: Any = (0.0, 0.0, 1.0), height: bool = True, redundant: bool = False
    ) -> None:
        super().__init__(name, normal, height, redundant)
        self.radius = radius

    @property
    def _turned(self) -> tuple[float, Array, Array]:
        return self.radius, np.zeros(3), np.zeros(3)


class KnifeEdge(RollingContact):
    """An edge, such as a skate's, that moves along itself on a plane and turns, but does not move across.

    The edge touches at the origin of the second port, along the line in which its plane cuts the ground.

    Parameters
    ----------
    name, normal, height, redundant
        As in `RollingDisc`.
    across : array_like (3,)
        Normal of the blade's plane, in the second port's frame.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("sleigh", gravity=[0, 0, -9.81])
    >>> sleigh = tt.RigidBody("sleigh", mass=3.0, com=[0.2, 0, 0], inertia=0.4)
    >>> s.connect("world", sleigh, tt.Planar("base"))
    >>> s.close_loop("world", sleigh, tt.KnifeEdge("runner", height=False))
    >>> m = s.resolve()
    >>> m.forward_dynamics([0, 0, 0], [1, 0, 2], [0, 0, 0]).round(9).tolist()  # m c w^2 / m, -m c w u / (J + m c^2)
    [0.8, 2.0, -2.307692308]
    """

    across = Field(direction)
    parameter_units: ClassVar = {"across": "1", "normal": "1"}
    _directions = ("slip",)

    def __init__(
        self,
        name: str,
        across: Any = (0.0, 1.0, 0.0),
        normal: Any = (0.0, 0.0, 1.0),
        height: bool = True,
        redundant: bool = False,
    ) -> None:
        super().__init__(name, normal, height, redundant)
        self.across = across

    @property
    def _turned(self) -> tuple[float, Array, Array]:
        return 0.0, np.zeros(3), unit_vector(self.across)
