"""Members of a block beside its law: surroundings, and what pictures, checks, files and linear fractional models need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.blocks.contract.law import Law
from titop.blocks.contract.own_coordinates import OwnCoordinates


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


class Described(OwnCoordinates):
    """The part of `Block` beside its law and coordinates; each member has a default that follows from the law.

    Notes
    -----
    The frame of a block is that of its parent port; for a body whose ports are fixed in a reference frame, it is that frame.
    `q` is the own configuration (nq), `v` its rates; `port` the name of a child port, None or another name for the frame
    itself; `twist` the twist (6) of the parent port, in its frame; `rotation` (3 x 3) and `position` (3, m) the pose of that
    port in the inertial frame.
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
    compiled_law: ClassVar[Law | None]
    #: The fraction of the weight that buoyancy carries, if it is uniform: the density of the fluid over the block's.
    borne: Any = None
    #: The fluid around a block of titop's own.
    fluid: Any = None
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

    def mass_moments(self) -> Array | None:
        """Return mass (kg) and its moments (k,) as polynomials of the own coordinates; None where they are not known as such.

        The numbers from `titop.blocks.laws.central_field.MASS` on. By default those of `mass_properties`, of a block without
        coordinates.
        """
        if self.nv:
            return None
        mass, com, inertia = self.mass_properties()
        return np.concatenate([[mass], com, second_moments(inertia), [0.0]])

    #: Whether the law is just that of a rigid body with the parameters ``mass``, ``com.x``, ``inertia.xx``, ....
    is_rigid: bool = False

    # -- pictures --------------------------------------------------------------------------------------------------------

    #: What a body without coordinates and picture is drawn as: ``"ellipsoid"`` or ``"cylinder"`` of its mass and inertia.
    drawn_as: str = "ellipsoid"
    #: Shapes that pictures show instead, in the block's frame, as `Trajectory.animate` takes them for a body.
    visuals: Sequence[Mapping[str, Any]] = ()
    #: Whether pictures show straight lines from port to port, as of cables, springs and closures.
    drawn_straight: ClassVar[bool] = False
    #: Whether pictures show it within its own blocks, as tendons and chambers.
    drawn_within: ClassVar[bool] = False

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

    #: Names of the parameters that are factors of loads which only disturb: they turn with what moves, as a wheel's jitter,
    #: and vanish on average. Equilibria and linear models are those without, at zero; everything else has them.
    disturbances: tuple[str, ...] = ()

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

    # -- surroundings: fluids, springs to the ground, gravity ------------------------------------------------------------

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia seen from the parent port, (6 + n) x (6 + n), for ``[V_P; v]`` (kg, kg m and kg m^2)."""
        raise NotImplementedError

    def law_numbers(self) -> Array:
        """Return the numbers (k, SI units) from which the block's compiled law is computed; none without such a law."""
        return np.zeros(0)

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the loads that depend on the block's motion and pose: drag, buoyancy, springs to the ground.

        Returns
        -------
        (6 + n,) array
            The wrench at the parent port (N and N m), in its frame, force first; then the efforts along the own coordinates.
        """
        law = self.compiled_law
        if law is not None and law.applied is not None:
            return law.applied_efforts(self.law_numbers(), q, v, twist, rotation, position)
        if self.fluid is not None:
            return self.stream_efforts(q, v, twist, rotation)
        return np.zeros(6 + len(self.coordinates))

    def stream_efforts(self, q: Array, v: Array, twist: Array, rotation: Array) -> Array:
        """Return the part of `applied_efforts` (6 + n; N, N m) due to the `fluid`: drag, lift, and the effects of a current."""
        return np.zeros(6 + len(self.coordinates))

    def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
        """Return the potential energy (J) of `applied_efforts` at rest; it is used in energy balances alone."""
        return 0.0 * q.sum()

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return the weight: a mass (kg), and its first moment (3, kg m) about the parent port, in its frame.

        By default from the mass matrix less `weightless_inertia`. In a fluid, buoyancy reduces the weight by that of the
        displaced fluid, and the added mass has no weight.
        """
        return mass_and_moment(self.mass_matrix(q) - self.weightless_inertia(q))

    def weightless_inertia(self, q: Array) -> Array:
        """Return the inertia (6 + n, 6 + n; kg, kg m and kg m^2) on which gravity does not act.

        It is that of the displaced fluid and of the added mass: by default the fraction `borne` of the mass matrix.
        """
        return (0.0 if self.borne is None else self.borne) * self.mass_matrix(q)

    def added_inertia(self, q: Array) -> Array:
        """Return the added mass of a fluid (6 + n, 6 + n; kg, kg m and kg m^2), a part of the mass matrix.

        It contributes neither to the centre of mass nor to the weight of the system. Zero by default.
        """
        return np.zeros((6 + len(self.coordinates), 6 + len(self.coordinates)))


def second_moments(inertia: Array) -> Array:
    """Return ``int x x^T dm`` (6; kg m^2: xx, yy, zz, xy, xz, yz) of an inertia (3, 3) about the same point."""
    moments = 0.5 * (np.trace(inertia) * np.eye(3) - inertia - inertia.T)
    return moments[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def mass_and_moment(inertia: Array) -> tuple[Any, Array]:
    """Return mass (kg) and first moment (3, kg m) of an inertia: mean values if the axes differ."""
    M = inertia
    moment = [M[5, 1] - M[4, 2], M[3, 2] - M[5, 0], M[4, 0] - M[3, 1]]
    return (M[0, 0] + M[1, 1] + M[2, 2]) / 3.0, 0.5 * np.array(moment)
