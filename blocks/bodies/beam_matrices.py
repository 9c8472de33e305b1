"""Mass and stiffness of a uniform beam by polynomials of high degree.

Each kind of deformation (stretch, torsion, bending in two planes) has the displacements of its ends as coordinates, and then
amplitudes of polynomials that leave the ends alone: integrals of Legendre polynomials, whose stiffness is diagonal. Static
deformations under loads at the ends are contained exactly; natural modes converge exponentially with the degree.

How a bent, twisted and stretched beam foreshortens.

Along the beam strains are linear in its coordinates: curvature and twist ``k`` and the strain ``e`` of its line (stretch
along x, shear across). Sections turn by R with ``R' = R k~``, the line goes along ``R (1_x + e)``. With ``t = int k dx``, to
the second order in the coordinates::

    line: u1' = t x 1_x + e    u2' = t x e + int t x (k x 1_x) dx    rotation vector: t + int t x k dx / 2

whose part along x is ``-int |t|^2 dx / 2`` in pure bending; that of bending with twist moves the line across. Sections take
part by the inertia of the undeformed beam only.

Coordinates in which the law is a polynomial of section, density and length.

Against a beam of other parameters, with ``l`` the length, ``m`` the mass a length and ``J`` its polar moment (for torsion, in
place of m): deflections go as ``l^2``, slopes, twist and stretch as ``l``, their efforts as ``l`` and 1; amplitudes of modes,
of unit mass with the tip held, as ``(m l)^1/2`` times the same. Stiffness then goes with the section alone, inertia up to
``l^4``. Displacements along the beam are those of a beam of fixed length for ``l`` times slopes and ``l^2`` times own
coordinates. Hence the law is ``R(l) N(l) C(l)``, the diagonals C and R of powers of the length, N of first degree; and beside
it stiffness and damping on the own coordinates.

From the matrices of each kind of deformation to those of a beam in its coordinates.

Without shear all beams with as many modes are one, in deflections over the length l. With m the mass a length, J its polar
moment and S the diagonal of the coordinates' units (``1/l`` of displacements of the tip, 1 of its rotations, of the modes'
amplitudes ``(m l^3)^-1/2``, of torsion ``(J l)^-1/2``), mass is ``S M S`` times ``m l^3`` (of torsion ``J l``), stiffness
``S K S`` times ``E I / l``, ``E A l`` or ``G J_t / l``, and so on. That beam is reduced once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.modal_reduction import craig_bampton, reduced
from titop.blocks.bodies.second_order import CYCLIC
from titop.blocks.contract.description import CoordinateScaling


class KindShapes(NamedTuple):
    """One kind of deformation at p points along a beam: (k, p) arrays, a row for each of its coordinates."""

    values: Array  #: Displacement (m) of the line, or its rotation (rad) in torsion.
    turns: Array  #: Rotation (rad) of the sections in bending.
    strains: Array  #: Stretch, twist or curvature (1, rad/m).
    shear: Array


def rod_shapes(length: float, bubbles: int, points: int) -> KindShapes:
    """Return stretch or torsion (k = bubbles + 2) at `points_of(points)`; coordinates: both ends, then amplitudes."""
    x, _ = points_of(points)
    ends = np.array([(1 - x) / 2, (1 + x) / 2]), np.array([np.full_like(x, -1.0), np.full_like(x, 1.0)])
    values, slopes = _with_bubbles(ends, 1, bubbles, points)
    nothing = np.zeros_like(values)
    return KindShapes(values, nothing, slopes / length, nothing)


def bending_shapes(length: float, bubbles: int, points: int) -> KindShapes:
    """Return Euler-Bernoulli bending (k = bubbles + 4); coordinates: deflection and slope at both ends, then amplitudes."""
    x, _ = points_of(points)
    t = (x + 1) / 2
    values = np.array([1 - 3 * t**2 + 2 * t**3, length * (t - 2 * t**2 + t**3), 3 * t**2 - 2 * t**3, length * (t**3 - t**2)])
    slopes = np.array([6 * t**2 - 6 * t, length * (1 - 4 * t + 3 * t**2), 6 * t - 6 * t**2, length * (3 * t**2 - 2 * t)])
    curvatures = np.array([12 * t - 6, length * (6 * t - 4), 6 - 12 * t, length * (6 * t - 2)])
    values, slopes, curvatures = _with_bubbles((values, slopes, curvatures), 2, bubbles, points)
    return KindShapes(values, slopes / length, curvatures / length**2, np.zeros_like(values))


def shear_bending_shapes(length: float, bubbles: int, points: int) -> KindShapes:
    """Return Timoshenko bending (k = 2 bubbles + 4): deflections and rotations each as of `rod_shapes`, ends first."""
    ends, _, slopes, nothing = rod_shapes(length, bubbles, points)
    n = bubbles + 2
    order = [0, n, 1, n + 1, *range(2, n), *range(n + 2, 2 * n)]
    deflection, deflection_slope = (np.vstack([shapes, nothing])[order] for shapes in (ends, slopes))
    rotation, rotation_slope = (np.vstack([nothing, shapes])[order] for shapes in (ends, slopes))
    return KindShapes(deflection, rotation, rotation_slope, deflection_slope - rotation)


def kind_matrices(
    shapes: KindShapes,
    bubbles: int,
    length: float,
    inertia: float,
    stiffness: float,
    rotary_inertia: float = 0.0,
    shear_stiffness: float = 0.0,
) -> tuple[Array, Array]:
    """Return mass and stiffness of one kind of deformation in the coordinates of its shapes, both ends free.

    `shapes` are those at `points_of(bubbles)`; `inertia` a unit of length (kg/m, or kg m in torsion), `stiffness` E A (N),
    G J or E I (N m^2), `rotary_inertia` rho I (kg m), `shear_stiffness` kappa G A (N).
    """
    _, weights = points_of(bubbles)
    mass, strain = inertia * _gram(shapes.values, weights), stiffness * _gram(shapes.strains, weights)
    if shear_stiffness:
        mass = mass + rotary_inertia * _gram(shapes.turns, weights)
        strain = strain + shear_stiffness * _gram(shapes.shear, weights)
    return length * mass, length * strain


@lru_cache(maxsize=256)
def points_of(bubbles: int) -> tuple[Array, Array]:
    """Return Gauss points on [-1, 1] and weights of sum 1, exact for products of all the polynomials and of a cubic one."""
    x, weights = leggauss(bubbles + 5)
    weights = weights / 2
    x.flags.writeable = weights.flags.writeable = False
    return x, weights


def _with_bubbles(shapes: Iterable[Array], order: int, bubbles: int, points: int) -> Any:
    """Append polynomials that vanish at both ends with `order` - 1 derivatives to values, slopes and so on."""
    return tuple(np.vstack([shape, own]) for shape, own in zip(shapes, _bubbles(order, bubbles, points), strict=True))


@lru_cache(maxsize=256)
def _bubbles(order: int, bubbles: int, points: int) -> Array:
    """Return these polynomials and their derivatives (order + 1, bubbles, p), which take most of a beam's time."""
    x, _ = points_of(points)
    result = np.empty((order + 1, bubbles, len(x)))
    for k in range(bubbles):
        legendre = Legendre.basis(order + k) * np.sqrt(2 * (order + k) + 1)
        for left in range(order, -1, -1):
            result[order - left, k] = legendre.integ(left, lbnd=-1)(x) / 2**left if left else legendre(x)
    result.flags.writeable = False
    return result


def _gram(values: Array, weights: Array) -> Array:
    return (values * weights) @ values.T


# -- how a bent, twisted and stretched beam foreshortens -----------------------------------------------------------------------


@dataclass(frozen=True)
class BeamShapes:
    """What each coordinate moves, at points along the beam: (3, n, p) arrays."""

    line: Array  #: Displacement of the line (m).
    turns: Array  #: Rotation of the sections (rad).
    curvature: Array  #: Of twist about x and bending about y and z (rad/m).
    strain: Array  #: Of stretch along x and shear along y and z.

    @classmethod
    def nothing(cls, n: int, points: int) -> BeamShapes:
        """Return shapes that move nothing, to be filled."""
        return cls(*np.zeros((4, 3, n, points)))


def line_moments(shapes: BeamShapes, x: Array, masses: Array) -> tuple[Array, Array]:
    """Return ``int x0_k u_l dm`` (3, 3, n) and ``int u_k^T u_l dm`` (3, 3, n, n) of the line.

    `x` (p; m): the points along the beam; `masses` (p; kg): at these.
    """
    first = np.zeros((3, *shapes.line.shape[:2]))
    first[0] = shapes.line @ (x * masses)
    rows = shapes.line.reshape(-1, len(x))
    second = ((rows * masses) @ rows.T).reshape(3, -1, *shapes.line.shape[:2]).swapaxes(1, 2)
    return first, second


def line_shortening(shapes: BeamShapes, x: Array, masses: Array, length: float) -> Array:
    """Return ``int (1, x0)_k H_l dm`` (4, 3, n, n) of the line, whose points stand at ``-q^T H q / 2`` beside ``u1``."""
    line = masses.sum() / length
    weights = masses / line
    beyond, moment = length - x, (length**2 - x**2) / 2
    result = np.zeros((4, 3, *[shapes.line.shape[1]] * 2))
    # int_x^L (1, s) ds of u2' at x, and int_x^L (1, s) (s - x) ds of u2'' there
    result[0] = line * _curved(shapes, weights * beyond, weights * beyond**2 / 2)
    result[1] = line * _curved(shapes, weights * moment, weights * ((length**3 - x**3) / 3 - x * moment))
    return result


def tip_shortening(shapes: BeamShapes, x: Array, weights: Array, length: float) -> Array:
    """Return H (6, n, n) of the tip's displacement and rotation vector; `weights` (p) integrate along the beam."""
    return np.concatenate(
        [_curved(shapes, weights, weights * (length - x)), _symmetric(_crossed(shapes.turns, shapes.curvature, weights / 2))]
    )


def _curved(shapes: BeamShapes, by_strain: Array, by_curvature: Array) -> Array:
    """Return H of weighted sums of ``t x e`` and ``t x (k x 1_x)``."""
    across = np.zeros_like(shapes.curvature)
    across[1], across[2] = shapes.curvature[2], -shapes.curvature[1]
    return _symmetric(_crossed(shapes.turns, shapes.strain, by_strain) + _crossed(shapes.turns, across, by_curvature))


def _crossed(first: Array, second: Array, weights: Array) -> Array:
    """Return the weighted sum of the cross products as bilinear forms (3, n, n)."""
    weighted = first * weights
    return np.stack([weighted[i] @ second[j].T - weighted[j] @ second[i].T for _, i, j in CYCLIC])


def _symmetric(forms: Array) -> Array:
    """Return H of ``q^T form q = -q^T H q / 2``."""
    return -(forms + forms.transpose(0, 2, 1))


#: Parameters with which the amplitudes of modes scale, but not the tip's displacements.
MODE_SCALES = ("density", "area", "iy", "iz")
#: Powers of the length with which the tip's coordinates scale: stretch, deflections, twist, slopes; and their efforts.
_TIP_SCALE, _TIP_EFFORT_SCALE = (1.0, 2.0, 2.0, 1.0, 1.0, 1.0), (0.0, 1.0, 1.0, 0.0, 0.0, 0.0)
#: Powers of the length in a law: of the motion of P, and of the wrench there.
_AT_PORT = (0, 0, 0, 0, 1, 1)
#: Of the tip's coordinates and of the modes' amplitudes (bending in two planes, torsion, stretch), and of efforts on them.
_TIP, _MODES = (1, 2, 2, 1, 2, 2), (2, 2, 1, 1)
_TIP_EFFORTS, _MODES_EFFORTS = (0, 1, 1, 0, 1, 1), (1, 1, 0, 0)


def scaling_beside(beam: Any, other: Any) -> CoordinateScaling:
    """Return the scales of a beam's coordinates beside those of the same beam with other parameters."""
    length = beam.length / other.length
    line, polar = (now / before for now, before in zip(_masses(beam), _masses(other), strict=True))
    counts = [*beam.mode_counts.values()]
    columns = np.concatenate([_TIP_SCALE, np.repeat([2.0, 2.0, 1.0, 1.0], counts)])
    rows = np.concatenate([_TIP_EFFORT_SCALE, np.repeat([1.0, 1.0, 0.0, 0.0], counts)])
    masses = np.concatenate([np.ones(6), np.repeat(np.sqrt(length * np.array([line, line, polar, line])), counts)])
    masses *= _signs(beam, other)
    return CoordinateScaling(length**columns * masses, length**rows * masses)


def _masses(beam: Any) -> tuple[float, float]:
    return beam.density * beam.area, beam.density * (beam.iy + beam.iz)


def _signs(beam: Any, other: Any) -> Array:
    """Return 1 for modes (n) that point as those of the other beam do, -1 for those that point against them."""
    shapes, others = (each.undeformed[:12, 6:] for each in (beam, other))
    return np.where((shapes * others).sum(axis=0) < 0, -1.0, 1.0)


def length_powers(beam: Any) -> tuple[Array, Array]:
    """Return the powers of the length in R and in C (6 + n each)."""
    counts = [*beam.mode_counts.values()]
    rows = np.concatenate([_AT_PORT, _TIP_EFFORTS, np.repeat(_MODES_EFFORTS, counts)])
    return rows, np.concatenate([_AT_PORT, _TIP, np.repeat(_MODES, counts)])


# -- from the matrices of each kind of deformation to those of a beam in its coordinates ---------------------------------------


#: Polynomials in addition to the modes, for an accuracy of 1e-8 or better.
_MARGIN = 10

#: Kinds in the names of modes: bending in the x-y and x-z planes, torsion, stretch.
KINDS = ("y", "z", "rx", "x")
#: The tip's coordinates of each kind, with their signs.
_TIPS = {"y": {1: 1.0, 5: 1.0}, "z": {2: 1.0, 4: -1.0}, "rx": {3: 1.0}, "x": {0: 1.0}}


class BeamSection(NamedTuple):
    """The numbers from which a beam's matrices follow."""

    length: float  #: m
    line: float  #: Mass a length (kg/m).
    polar: float  #: Its polar moment (kg m).
    bending: dict[str, float]  #: E I (N m^2) of bending in the planes ``"y"`` and ``"z"``.
    twisting: float  #: G J (N m^2).
    stretching: float  #: E A (N).
    shear: dict[str, float] | None = None  #: Of a Timoshenko beam, kappa G A (N) in both planes.
    rotary: dict[str, float] | None = None  #: Of a Timoshenko beam, rho I (kg m) in both planes.

    def shapes(self, kind: str, bubbles: int, points: int) -> KindShapes:
        """Return the shapes of one kind of deformation."""
        if kind in ("x", "rx"):
            return rod_shapes(self.length, bubbles, points)
        return (bending_shapes if self.shear is None else shear_bending_shapes)(self.length, bubbles, points)

    def matrices(self, kind: str, shapes: KindShapes, bubbles: int) -> tuple[Array, Array]:
        """Return mass and stiffness of one kind of deformation, both ends free; see `kind_matrices`."""
        inertia = self.polar if kind == "rx" else self.line
        stiffness = (self.bending | {"rx": self.twisting, "x": self.stretching})[kind]
        rotary, shear = ((of or {}).get(kind, 0.0) for of in (self.rotary, self.shear))
        return kind_matrices(shapes, bubbles, self.length, inertia, stiffness, rotary, shear)


def _add_shapes(kind: str, added: KindShapes, onto: Array, where: list[int], shapes: BeamShapes) -> None:
    """Add the shapes of one kind of deformation, with its coordinates at `where`, to the beam's shapes."""
    values, turns, strains, shear = (onto @ part for part in added)
    if kind == "x":
        shapes.line[0, where], shapes.strain[0, where] = values, strains
    elif kind == "rx":
        shapes.turns[0, where], shapes.curvature[0, where] = values, strains
    else:
        along, about, sign = (1, 2, 1.0) if kind == "y" else (2, 1, -1.0)
        shapes.line[along, where], shapes.strain[along, where] = values, shear
        shapes.turns[about, where], shapes.curvature[about, where] = sign * turns, sign * strains


class ReducedBeam(NamedTuple):
    """A beam with n coordinates: the tip's displacements and rotations, then amplitudes of modes, kind by kind."""

    places: Array  #: (p; m): points along the line.
    lengths: Array  #: (p; m): the length that each stands for.
    line: Array  #: (3, n, p): displacements of the line there.
    turns: Array  #: (3, n, p): rotations of the sections there.
    strains: Array  #: (6, n, p): curvature and strain there, as `Beam.stressing_strain` has them.
    mass: Array  #: (n, n)
    stiffness: Array  #: (n, n)
    participation: Array  #: (n, 6)
    first: Array  #: See `line_moments`, also for the next.
    second: Array
    shortening: Array  #: See `line_shortening`.
    tip: Array  #: See `tip_shortening`.


def reduced_beam(section: BeamSection, counts: dict[str, int]) -> ReducedBeam:
    """Return a beam with `counts` modes of each of the `KINDS`.

    Raises `LinAlgError` or `ArithmeticError` for numbers that are out of range.
    """
    if section.shear is not None:
        return _reduce(section, counts)
    return _scaled(_unit_beam(*counts.values()), section, [*counts.values()])


@lru_cache(maxsize=128)
def _unit_beam(*counts: int) -> ReducedBeam:
    unit = _reduce(BeamSection(1.0, 1.0, 1.0, {"y": 1.0, "z": 1.0}, 1.0, 1.0), dict(zip(KINDS, counts, strict=True)))
    for array in unit:
        array.flags.writeable = False
    return unit


def _scaled(unit: ReducedBeam, section: BeamSection, counts: list[int]) -> ReducedBeam:
    """Return a beam without shear from the unit beam with as many modes."""
    length, line, (y, z) = section.length, section.line, section.bending.values()
    mass, torsion = line * length**3, section.polar * length
    own = 1.0 / np.sqrt([mass, mass, torsion, mass])
    units = np.concatenate([[1.0 / length] * 3, np.ones(3), np.repeat(own, counts)])
    pairs = np.outer(units, units)
    stretch, twist = section.stretching * length, section.twisting / length
    masses = _of_kinds([mass, mass, torsion, mass], counts)
    strains = _of_kinds([y / length, z / length, twist, stretch], counts)
    moving = np.array([line * length**2] * 3 + [mass] * 3)
    participation = units[:, None] * np.where(np.arange(6) == 3, torsion, moving) * unit.participation
    seconds = line * length**2 * np.array([1.0, length, length, length])
    return ReducedBeam(
        length * unit.places,
        length * unit.lengths,
        length * units[:, None] * unit.line,
        units[:, None] * unit.turns,
        np.array([1.0 / length] * 3 + [1.0] * 3)[:, None, None] * units[:, None] * unit.strains,
        masses[:, None] * (pairs * unit.mass),
        strains[:, None] * (pairs * unit.stiffness),
        participation,
        mass * units * unit.first,
        mass * pairs * unit.second,
        seconds[:, None, None, None] * pairs * unit.shortening,
        np.array([length] * 3 + [1.0] * 3)[:, None, None] * pairs * unit.tip,
    )


def _of_kinds(values: list[float], counts: list[int]) -> Array:
    """Return for each coordinate (n) the value of its kind."""
    y, z, rx, x = values
    return np.concatenate([[x, y, z, rx, z, y], np.repeat(values, counts)])


def _reduce(section: BeamSection, counts: dict[str, int]) -> ReducedBeam:
    """Return mass, stiffness, participation and the second-order terms, from the kinds of deformation."""
    n = 6 + sum(counts.values())
    mass, stiffness, participation = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, 6))
    x, y, z, rx, ry, rz = np.eye(6)
    lever = section.length
    first, finest = 6, 2 * max(counts.values()) + _MARGIN
    points, weights = points_of(finest)
    shapes = BeamShapes.nothing(n, len(points))
    #: Of each kind, the displacements of both ends by motion of P.
    ends = {"y": [y, rz, y + lever * rz, rz], "z": [z, -ry, z - lever * ry, -ry], "rx": [rx, rx], "x": [x, x]}
    for kind, rigid in ends.items():
        tip, modes = _TIPS[kind], counts[kind]
        bubbles, held = 2 * modes + _MARGIN, len(tip)
        of_kind = section.shapes(kind, bubbles, bubbles)
        M, K = section.matrices(kind, of_kind, bubbles)
        motion = np.vstack([*rigid, np.zeros((len(M) - len(rigid), 6))])
        basis = np.vstack([np.zeros((held, held + modes)), craig_bampton(M[held:, held:], K[held:, held:], held, modes)])
        basis[:, :held] *= list(tip.values())
        # between held ends a mode has a strain at the base: positive, so that its sign does not jump with dimensions
        basis[:, held:] *= np.sign(of_kind.strains[:, 0] @ basis[:, held:])
        where = [*tip, *range(first, first + modes)]
        square = np.ix_(where, where)
        mass[square], stiffness[square], participation[where] = reduced(M, K, motion, basis)
        _add_shapes(kind, section.shapes(kind, bubbles, finest), basis.T, where, shapes)
        first += modes
    places, lengths = section.length * (points + 1) / 2, section.length * weights
    masses = section.line * lengths
    moments = line_moments(shapes, places, masses)
    shortening = line_shortening(shapes, places, masses, section.length)
    tip_shortened = tip_shortening(shapes, places, lengths, section.length)
    strains = np.concatenate([shapes.curvature, shapes.strain])
    of_line = places, lengths, shapes.line, shapes.turns, strains
    return ReducedBeam(*of_line, mass, stiffness, participation, *moments, shortening, tip_shortened)
