"""From the matrices of each kind of deformation to those of a beam in its coordinates.

Without shear all beams with as many modes are one, in deflections over the length l. With m the mass a length, J its polar
moment and S the diagonal of the coordinates' units (``1/l`` of displacements of the tip, 1 of its rotations, of the modes'
amplitudes ``(m l^3)^-1/2``, of torsion ``(J l)^-1/2``), mass is ``S M S`` times ``m l^3`` (of torsion ``J l``), stiffness
``S K S`` times ``E I / l``, ``E A l`` or ``G J_t / l``, and so on. That beam is reduced once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam_matrices import (
    BeamShapes,
    KindShapes,
    bending_shapes,
    kind_matrices,
    line_moments,
    line_shortening,
    points_of,
    rod_shapes,
    shear_bending_shapes,
    tip_shortening,
)
from titop.blocks.bodies.modal_reduction import craig_bampton, reduced

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
        """Return mass and stiffness of one kind of deformation, both ends free; see `titop.blocks.bodies.beam_matrices`."""
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
