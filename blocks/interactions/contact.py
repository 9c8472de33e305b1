"""Contact of a sphere with a plane."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.contract.fields import Field, axis, non_negative, scalar
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, opposite_wrenches, relative_rates
from titop.blocks.joints.impact import impact_energy, impact_push


class Contact(Interaction):
    """A sphere that touches a plane: elastic, dissipative, with friction.

    The plane goes through the origin of the first port, the sphere is centred at the origin of the second.

    Parameters
    ----------
    name : str
        Unique name in the system.
    radius : float, m
        Of the sphere; zero for a point.
    stiffness : float, N/m^1.5
        For Hertz's ``4/3 E* sqrt(radius)``, with ``1/E* = (1 - nu1^2)/E1 + (1 - nu2^2)/E2``.
    normal : array_like (3,)
        Out of the plane, in the first port's frame; of any length.
    dissipation : float, s/m
        Hunt and Crossley's: ``3/2 (1 - e)/v`` for a coefficient of restitution e near one at the approach velocity v.
    friction : float
        Coulomb's coefficient.
    slip_velocity : float, m/s
        Below this sliding velocity friction fades: ``friction N v / sqrt(v^2 + slip_velocity^2)``.

    Notes
    -----
    At the depth d the plane pushes with ``N = stiffness d^1.5 (1 + dissipation dd/dt)``, and never pulls (Hertz; K. H. Hunt and
    F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975). Friction acts where the normal
    through the sphere's centre meets the plane. A contact that rests holds still only against forces, and creeps under friction
    as every smooth friction does: the slip velocity is what it creeps at.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("ball", gravity=[0, 0, -9.81])
    >>> ball = tt.RigidBody("ball", mass=0.5)
    >>> s.connect("world", ball, tt.Prismatic("up", axis=[0, 0, 1]))
    >>> s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e5))
    >>> a = s.resolve().forward_dynamics([[0.2], [0.09]], [[0.0], [0.0]])
    >>> a.round(6).tolist()  # free fall, and 1e5 N/m^1.5 on 10 mm
    [[-9.81], [190.19]]
    """

    parameter_units: ClassVar = {
        "radius": "m",
        "stiffness": "N/m^1.5",
        "dissipation": "s/m",
        "friction": "1",
        "slip_velocity": "m/s",
    }
    radius = Field(non_negative("negative-radius"))
    stiffness = Field(scalar)
    normal = Field(axis)
    dissipation = Field(non_negative("negative-dissipation"))
    friction = Field(non_negative("negative-friction"))
    slip_velocity = Field(scalar)

    def __init__(
        self,
        name: str,
        radius: float,
        stiffness: float,
        normal: Any = (0.0, 0.0, 1.0),
        dissipation: float = 0.0,
        friction: float = 0.0,
        slip_velocity: float = 1e-3,
    ) -> None:
        super().__init__(name)
        self.radius, self.stiffness, self.normal = radius, stiffness, normal
        self.dissipation, self.friction, self.slip_velocity = dissipation, friction, slip_velocity

    @property
    def _unit_normal(self) -> Array:
        return self.normal / np.sqrt(self.normal @ self.normal)

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        """Return the wrenches (6) on both ports, each in its port's frame."""
        n = self._unit_normal
        height = n @ r
        depth = self.radius - height
        if np.real(depth) <= 0:
            return opposite_wrenches(R, r, r, 0.0 * r)
        at = r - height * n
        rate, spin = relative_rates(R, r, V1, V2)
        push = impact_push(depth, -(n @ rate), self.stiffness, self.dissipation)
        sliding = rate + cross(spin, at - r)
        sliding = sliding - (n @ sliding) * n
        drag = self.friction * push * sliding / np.sqrt(sliding @ sliding + self.slip_velocity**2)
        return opposite_wrenches(R, r, at, push * n - drag)

    def energy(self, R: Array, r: Array) -> Any:
        """Return the stored energy (J) at the relative pose ``(R, r)``."""
        return impact_energy(self.radius - self._unit_normal @ r, self.stiffness)

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the distance (1, m) of the sphere from the plane."""
        return np.array([self._unit_normal @ motion.r[1] - self.radius])

    def law_numbers(self) -> Array:
        """Return normal, radius, stiffness, dissipation, friction coefficient and slip velocity."""
        own = self.radius, self.stiffness, self.dissipation, self.friction, self.slip_velocity
        return np.array([*self._unit_normal, *own])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the contact and what is suspicious."""
        errors, warnings = super().check()
        if not self.normal.any():
            errors.append(Finding("zero-axis", f"{self.name}.normal", self.normal.tolist(), "a direction", "give [0, 0, 1]"))
        for field in ("stiffness", "slip_velocity"):
            if not (value := getattr(self, field)) > 0:
                errors.append(Finding(f"bad-{field}", f"{self.name}.{field}", value, "a number > 0", "check sign and unit"))
        return errors, warnings
