"""Members of a block beside its law: for pictures, checks, files and linear fractional models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.blocks.contract.own_coordinates import OwnCoordinates
from titop.blocks.contract.surroundings import Surrounded, mass_and_moment


class MassProperties(NamedTuple):
    """Mass, centre of mass and inertia of a block.

    Attributes
    ----------
    mass : float, kg
    com : (3,) array, m
        Centre of mass in the block's frame.
    inertia : (3, 3) array, kg m^2
        About the centre of mass, in the block's axes.
    """

    mass: Any
    com: Array
    inertia: Array


class Picture(NamedTuple):
    """The shape of a block: points, and triangles and lines between them.

    Without triangles and lines the points are drawn as dots.

    Attributes
    ----------
    points : (k, 3) array, m
        In the block's frame.
    triangles : (m, 3) array of int
        Corner points of each, counterclockwise seen from outside.
    lines : tuple of int arrays
        Points of each line. With triangles, lines that show the shape of the surface.
    """

    points: Array
    triangles: Array
    lines: tuple[Array, ...]

    @classmethod
    def of_line(cls, points: Array) -> Picture:
        """Return the picture of one line through points (k, 3; m)."""
        return cls(points, np.zeros((0, 3), int), (np.arange(len(points)),))


class Share(NamedTuple):
    """A parameter that follows from a number x: ``factor x ** exponent``."""

    name: str
    factor: float
    exponent: float


class CommonParameter(NamedTuple):
    """A number from which several parameters follow: its value, its unit, and these parameters."""

    value: float
    unit: str
    shares: tuple[Share, ...]


class CoordinateScaling(NamedTuple):
    """Scales (n each) of the columns of coordinates in a law, and of the rows of their efforts."""

    columns: Array
    rows: Array


class Described(OwnCoordinates, Surrounded):
    """The part of `Block` beside its law and coordinates; each member has a default that follows from the law.

    Notes
    -----
    The frame of a block is that of its parent port; for a body whose ports are fixed in a reference frame, it is that frame.
    `q` is the own configuration (nq), `port` the name of a child port, None or another name for the frame itself.
    """

    #: Parameters that linear fractional models may vary; None for all: by factors, or by fitted polynomials.
    rational_parameters: ClassVar[tuple[str, ...] | None] = None
    #: Place of a unit quaternion (x, y, z, w) at the end of the own configuration, if there is one. The last three coordinates
    #: are then the angular velocity in the rotated axes; before it stand a position, and the velocity in these axes.
    quaternion: ClassVar[slice] = slice(0, 0)
    #: Tables of model files in which such blocks may stand.
    file_tables: ClassVar[tuple[str, ...]] = ("bodies", "joints")
    #: Why model files cannot hold such blocks, and what to do; empty if they can, once the class is registered.
    not_in_files: ClassVar[str] = ""
    name: str
    ports: tuple[str, ...] = ()

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation (3x3) and position (3, m) of child port `port` in the parent port's frame."""
        raise NotImplementedError(f"block {self.name!r} defines no pose for port {port!r}")

    # -- places and masses -----------------------------------------------------------------------------------------------

    def neutral_pose(self, port: str | None) -> tuple[Array, Array]:
        """Return rotation and position (3, m) of a child port at the neutral configuration; of the frame for None."""
        return self.pose(port, self.neutral()) if port in self.ports else (np.eye(3), np.zeros(3))

    def mass_properties(self) -> MassProperties:
        """Return mass, centre of mass and inertia at the neutral configuration, without the added mass of a fluid.

        By default from the mass matrix.
        """
        q = self.neutral()
        M = (self.mass_matrix(q) - self.added_inertia(q))[:6, :6]
        mass, moment = mass_and_moment(M)
        if not mass:
            return MassProperties(mass, np.zeros(3), M[3:, 3:])
        com = moment / mass
        return MassProperties(mass, com, M[3:, 3:] + mass * skew(com) @ skew(com))

    #: Whether the law is just that of a rigid body with the parameters ``mass``, ``com.x``, ``inertia.xx``, ....
    is_rigid: bool = False

    # -- pictures --------------------------------------------------------------------------------------------------------

    def picture(self, q: Array) -> Picture | None:
        """Return the shape of the block; triangles and lines, and the number of points, are the same at every `q`.

        By default a block that deforms is drawn as a curve from its parent port to each child port, one without coordinates as
        the ellipsoid of its mass and inertia, with lines to the connected blocks.
        """
        return None

    # -- checks ----------------------------------------------------------------------------------------------------------

    def cannot_object(self, entry: str, value: float) -> bool:
        """Tell whether `check` has no objection to a parameter, `entry`, of some `value`, whatever others are.

        Then it need not be asked.
        """
        return False

    #: The frequency (rad/s) compared with which spins must be small, since the law has no stiffening; None without a limit.
    spin_limit: float | None = None

    #: Names of the parameters that are loads, none if zero. Searches for equilibria increase them in steps.
    load_parameters: tuple[str, ...] = ()

    # -- linear fractional models ----------------------------------------------------------------------------------------

    #: Whether the law is that of a `FlexibleBody`, whose modes' parameters enter by factors.
    is_modal: bool = False

    def common_parameters(self) -> dict[str, CommonParameter]:
        """Return, by name, numbers from which several parameters follow; linear fractional models vary them too."""
        return {}

    def rescaled_coordinates(self) -> Mapping[str, Sequence[int]]:
        """Return, by name of a parameter or common parameter, the coordinates whose amplitude it rescales."""
        return {}

    def scaling_beside(self, other: Self) -> CoordinateScaling | None:
        """Return scales (n, no unit) of coordinates in which the law is a polynomial of the parameters; one for `other`.

        `other` is the same block with other parameters. None if the coordinates need no scales.
        """
        return None

    def length_powers(self) -> tuple[Array, Array] | None:
        """Return powers (6 + n, no unit) of the parameter ``length`` in rows and columns of the scaled law; None without.

        With R and C the diagonals of these powers the law is ``R N C`` beside stiffness and damping, N of first degree.
        """
        return None
