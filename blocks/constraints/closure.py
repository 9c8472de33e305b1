"""The common part of loop closures: the relative motion of two ports.

A closure joins two ports that the tree of joints already connects. Symbols: 1 and 2 are the ports; ``(R, r)`` is the pose of
port 2 in port 1, ``R = R1^T R2`` and ``r = R1^T (p2 - p1)``; ``V`` twists and ``A`` spatial accelerations, each in its own
port's frame; ``w = w2 - R^T w1`` the relative angular velocity, in the frame of port 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array, cross, log_jacobian, rotation_log, skew
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import Field, switch

#: Names of the six components of a displacement, and their units.
DISPLACEMENT = {"x": "m", "y": "m", "z": "m", "rx": "rad", "ry": "rad", "rz": "rad"}


class Closure(Block):
    """Common part of the closures, which `System.close_loop` puts between two ports.

    Attributes
    ----------
    own_blocks : tuple of Block
        Blocks beside its targets on whose data it depends.
    own_field : str
        Name of the field with these blocks.
    own_ports : tuple of PortRef, Block or "world"
        Ports on which it always acts, before those given as targets; a block means its reference frame.
    own_coordinates : tuple of str
        Coordinates likewise.
    measured : str
        Quantity that it measures of rods through which it runs, by its name in signals: ``"length"``, ``"volume"`` or empty.
    """

    rational_parameters: ClassVar[tuple[str, ...] | None] = ()
    file_tables: ClassVar[tuple[str, ...]] = ("closures",)
    own_blocks: tuple[Block, ...] = ()
    own_field: ClassVar[str] = ""
    own_ports: tuple[PortRef | Block | str, ...] = ()
    measured: ClassVar[str] = ""
    own_coordinates: tuple[str, ...] = ()
    #: Whether it is a field's gravity on a body, attached by the assembly.
    is_gravity: ClassVar[bool] = False
    #: In words, where it gives no finite numbers; empty if it always does.
    undefined: str = ""

    def inputs_and_states(self, values: Array | None) -> tuple[Array, Array]:
        """Return inputs (m) and states (k) from one array of `values` (m + k); zeros for None."""
        m = len(self.inputs)
        values = np.zeros(m + len(self.state_names)) if values is None else values
        return values[:m], values[m:]

    def among(self, blocks: Mapping[str, Block]) -> Closure:
        """Return the closure, its own blocks replaced by those of the same names among `blocks`."""
        return self

    def under(self, gravity: Array, field: Any) -> Closure:
        """Return the closure under other uniform `gravity` (3, m/s^2) and `field`: itself, unless it depends on them."""
        return self


class MultiplierClosure(Closure):
    """Common part of the closures that act by Lagrange multipliers.

    The rate of every constraint's error is ``u . dr/dt + s . w``, with u in the axes of port 1 and s in those of port 2: its
    `gradients`. Where a constraint `slips` only the rate has to vanish, and the error counts as zero.

    Notes
    -----
    Arguments of the methods: `R` and `r` the rotation (3 x 3) and position (3, m) of port 2 in port 1, `r_rate` the rate of r
    (3, m/s), `w` the relative angular velocity (3, rad/s) in the frame of port 2, `V1` and `V2` the ports' twists (6).
    """

    #: How the compiled engine reads the `coefficients`: see its layout.
    form: int = 0
    #: Whether constraints are redundant by design.
    redundant = Field(switch)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints within the closure."""
        raise NotImplementedError

    @property
    def is_angular(self) -> Array:
        """Whether each constraint's error (k) is an angle (rad), not a length (m)."""
        return np.zeros(len(self.constraint_names), dtype=bool)

    @property
    def slips(self) -> Array:
        """Whether each constraint (k) acts on velocities alone."""
        return np.zeros(len(self.constraint_names), dtype=bool)

    def coefficients(self, weights: Array) -> Array:
        """Return the numbers (k x 13 at least, own units) from which kernels compute the constraints times `weights` (k)."""
        raise NotImplementedError

    def error(self, R: Array, r: Array) -> Array:
        """Return the constraints' values (k, m or rad) at the relative pose ``(R, r)``: zero when the loop is closed."""
        raise NotImplementedError

    def gradients(self, R: Array, r: Array) -> tuple[Array, Array]:
        """Return u and s (k x 3 each; no unit and m)."""
        raise NotImplementedError

    def curvature(self, R: Array, r: Array, r_rate: Array, w: Array) -> Array:
        """Return ``du/dt . dr/dt + ds/dt . w`` (k, m/s^2 or rad/s^2)."""
        raise NotImplementedError

    def is_flipped(self, R: Array) -> bool:
        """Tell whether an axis that should be aligned points backwards, which also satisfies the constraints."""
        return False

    def jacobians(self, R: Array, r: Array) -> tuple[Array, Array]:
        """Return E1 and E2 (k x 6, no unit or m) with ``d error/dt = E1 V1 + E2 V2``."""
        linear, angular = self.gradients(R, r)
        return np.hstack([-linear, linear @ skew(r) - angular @ R.T]), np.hstack([linear @ R, angular])

    def bias(self, R: Array, r: Array, V1: Array, V2: Array) -> Array:
        """Return the part (k, m/s^2 or rad/s^2) of the errors' second derivatives that is not ``E1 A1 + E2 A2``."""
        linear, angular = self.gradients(R, r)
        w1 = R.T @ V1[3:]  # in the frame of port 2
        w = V2[3:] - w1
        r_rate = R @ V2[:3] - V1[:3] + cross(r, V1[3:])
        moved = linear @ (R @ cross(w, V2[:3]) + cross(r_rate, V1[3:]))
        return moved + self.curvature(R, r, r_rate, w) + angular @ cross(w, w1)


def relative_pose(pose1: tuple[Array, Array], pose2: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return rotation (3x3) and position (3) of port 2 in port 1, from both poses in one frame."""
    back = pose1[0].T
    return back @ pose2[0], back @ (pose2[1] - pose1[1])


def displacement(R: Array, r: Array) -> Array:
    """Return ``delta = (r, log R)`` (6)."""
    return np.concatenate([r, rotation_log(R)])


def displacement_jacobians(R: Array, r: Array) -> tuple[Array, Array]:
    """Return J1 and J2 (6x6) with ``d delta/dt = J1 V1 + J2 V2``."""
    turn = log_jacobian(rotation_log(R))
    nothing = np.zeros((3, 3))
    at_1 = np.block([[-np.eye(3), skew(r)], [nothing, -turn @ R.T]])
    at_2 = np.block([[R, nothing], [nothing, turn]])
    return at_1, at_2
