"""What a block says of itself beside its law: to pictures, checks, files and linear fractional models."""

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
    """What a block looks like: points, and the triangles and lines between them.

    Without triangles and lines the points are drawn as dots.

    Attributes
    ----------
    points : (k, 3) array, m
        In the block's frame.
    triangles : (m, 3) array of int
        Points at the corners of each; seen from outside they turn to the left.
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
    """A number from which several parameters follow: its value, its unit, and what follows."""

    value: float
    unit: str
    shares: tuple[Share, ...]


class CoordinateScaling(NamedTuple):
    """Scales (n each) of the columns of coordinates in a law, and of the rows of the efforts on them."""

    columns: Array
    rows: Array


class Described(OwnCoordinates, Surrounded):
    """The part of `Block` that answers what others ask of any block; each answer has a default that follows from the law.

    Notes
    -----
    The frame of a block is that of its parent port, and of a body whose ports are fixed in a reference frame that one. `q` is
    the own configuration (nq), `port` the name of a child port, None or another name for the frame itself.
    """

    #: Parameters that linear fractional models may vary; None for all, by factors or by polynomials that are found.
    rational_parameters: ClassVar[tuple[str, ...] | None] = None
    #: Where a unit quaternion (x, y, z, w) ends the own configuration, if one does. The last three coordinates are then the
    #: angular velocity in the axes that it turns; what comes before is a position, and the velocity in these axes.
    quaternion: ClassVar[slice] = slice(0, 0)
    #: Tables of model files in which such blocks may stand.
    file_tables: ClassVar[tuple[str, ...]] = ("bodies", "joints")
    #: Why model files cannot hold such blocks, and what to do; empty where they can, once the class is registered.
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
        """Return mass, centre of mass and inertia at the neutral configuration, without what is a fluid's.

        Those of the mass matrix, unless the block knows them.
        """
        q = self.neutral()
        M = (self.mass_matrix(q) - self.added_inertia(q))[:6, :6]
        mass, moment = mass_and_moment(M)
        if not mass:
            return MassProperties(mass, np.zeros(3), M[3:, 3:])
        com = moment / mass
        return MassProperties(mass, com, M[3:, 3:] + mass * skew(com) @ skew(com))

    #: Whether the law is that of a rigid body with its parameters ``mass``, ``com.x``, ``inertia.xx``, ..., and no more.
    is_rigid: bool = False

    # -- pictures --------------------------------------------------------------------------------------------------------

    def picture(self, q: Array) -> Picture | None:
        """Return what the block looks like; triangles and lines, and the number of points, are the same at every `q`.

        Without a picture of its own a block that deforms is drawn as a curve from its parent port to each child port, one
        without coordinates as the ellipsoid that has its mass and inertia, with lines to what it is joined to.
        """
        return None

    # -- checks ----------------------------------------------------------------------------------------------------------

    #: The frequency (rad/s) beside which spins have to be small, since the law does not stiffen; None where it may spin.
    spin_limit: float | None = None

    #: Names of the parameters that are loads: zero, they load nothing. Searches for equilibria raise them in steps.
    load_parameters: tuple[str, ...] = ()

    # -- linear fractional models ----------------------------------------------------------------------------------------

    #: Whether the law is that of a `FlexibleBody`, whose modes' parameters enter by factors.
    is_modal: bool = False

    def common_parameters(self) -> dict[str, CommonParameter]:
        """Return numbers by name from which several parameters follow at once; linear fractional models vary them too."""
        return {}

    def rescaled_coordinates(self) -> Mapping[str, Sequence[int]]:
        """Return which coordinates mean another amplitude as a parameter, or a common one, changes: by its name."""
        return {}

    def scaling_beside(self, other: Self) -> CoordinateScaling | None:
        """Return scales (n, no unit) of coordinates in which the law is a polynomial of parameters, one for the `other`.

        `other` is the same block with other parameters. None where the coordinates are good as they are.
        """
        return None

    def length_powers(self) -> tuple[Array, Array] | None:
        """Return powers (6 + n, no unit) of the parameter ``length`` in rows and columns of the scaled law; None without.

        With R and C the diagonals of these powers the law is ``R N C`` beside stiffness and damping, N of first degree.
        """
        return None
