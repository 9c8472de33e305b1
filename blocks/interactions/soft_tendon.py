"""Tendons and pressure chambers in deformable bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.soft.domain import Domain
from titop.blocks.bodies.soft.line_programs import DIRECTION, PLACE, POINT_SIZE, WEIGHT, LinePrograms, shared_line_programs
from titop.blocks.bodies.soft.soft_body import SoftBody
from titop.blocks.contract.description import Picture
from titop.blocks.contract.fields import Consumed, Fixed
from titop.blocks.interactions.line import Chamber, ElasticTendon, Line, Measure, bodies_of
from titop.blocks.programs.program import Program
from titop.blocks.programs.repetition import totals_of

_MAX_POINTS = 64
#: Points of a line that pictures show.
_SHOWN = 17

#: Runs a program by name, on the numbers shared by all points and on the points; returns the totals.
Run = Callable[[LinePrograms, str, Array, Array], Array]


class SoftPath(Measure):
    """A length or volume in several bodies, and its derivatives by their coordinates, in the order of the bodies.

    In each there are points (k, 7), of cavities (k, 13): see `titop.blocks.bodies.soft.line_programs`.
    """

    def __init__(self, bodies: Sequence[SoftBody], points: Sequence[Array], volume: bool) -> None:
        self.bodies, self.points = tuple(bodies), tuple(points)
        self.programs: list[LinePrograms] = [
            shared_line_programs(body.kinematics, body.nv, body.number_names, volume) for body in bodies
        ]
        self.size = sum(body.nv for body in bodies)

    def measured(self, q: Array, run: Run | None = None) -> tuple[Any, Array]:
        """Return the measure and its derivatives (..., n), with another way to run programs."""
        totals = self._totals(q, "measure", run)
        return np.sum([part[..., 0] for part in totals], axis=0), np.concatenate([part[..., 1:] for part in totals], axis=-1)

    def hessian(self, q: Array, run: Run | None = None) -> Array:
        """Return its second derivatives (n, n)."""
        result, first = np.zeros((self.size, self.size), np.result_type(q, float)), 0
        for body, part in zip(self.bodies, self._totals(q, "curvature", run), strict=True):
            inside = slice(first, first + body.nv)
            result[inside, inside] = part.reshape(body.nv, body.nv)
            first += body.nv
        return result

    def _totals(self, q: Array, name: str, run: Run | None) -> list[Array]:
        """Return the totals (..., count) of a program for each body."""
        totals_of_bodies, first = [], 0
        for body, programs, points in zip(self.bodies, self.programs, self.points, strict=True):
            columns = q[..., first : first + body.nv]
            rows = [np.concatenate([row, body.number_values]) for row in columns.reshape(-1, body.nv)]
            totals = [(run or _interpret)(programs, name, shared, points) for shared in rows]
            totals_of_bodies.append(np.reshape(totals, (*columns.shape[:-1], -1)))
            first += body.nv
        return totals_of_bodies


def _interpret(programs: LinePrograms, name: str, shared: Array, points: Array) -> Array:
    program: Program = getattr(programs, name)
    return totals_of(program, shared, points)


class SoftLine(Line):
    """Common part of tendons and chambers that are fixed in the material of deformable bodies.

    Attributes
    ----------
    bodies : tuple of SoftBody
    path : SoftPath
        The measure, and its derivatives.
    drawn : tuple of Picture
        Its line or surface at rest in each body, for pictures.
    """

    drawn: tuple[Picture, ...] = ()
    not_in_files = SoftBody.not_in_files
    own_field = "bodies"
    own_kinds = (SoftBody,)
    bodies = Fixed(bodies_of(SoftBody, "soft body", "a tt.SoftBody, or several"))

    def __init__(self, name: str, bodies: Any, upper: float, both_ways: bool) -> None:
        super().__init__(name)
        self.bodies, self.upper, self.both_ways = bodies, upper, both_ways
        self._measured_at: tuple[Array, ...] = ()
        self.path = SoftPath([], [], False)

    def _update(self) -> None:
        if not self.reader.findings and not any(body.check()[0] for body in self.bodies):
            self.path = SoftPath(self.bodies, self._measured_at, self.measured == "volume")

    def _each(self, field: str, value: Any, is_one: Any) -> list[Any]:
        """Return one value for each body, from one for all or a sequence."""
        parts = [value] * len(self.bodies) if is_one(value) else list(value) if isinstance(value, Sequence) else []
        if len(parts) != len(self.bodies):
            expected = f"one for all bodies, or one for each of {len(self.bodies)}"
            self.reader.report("wrong-count", field, f"{len(parts)} of them", expected, "name as many as there are bodies")
            return []
        return parts

    def _line_numbers(self, sign: float, elastic: Sequence[Any], arms: Array) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.soft_lines`."""
        rows = [np.array([sign, *elastic, len(self.bodies), len(arms)]), arms]
        for body, points in zip(self.path.bodies, self.path.points, strict=True):
            values = body.number_values
            rows += [np.array([len(points), body.nv, len(values), points.shape[1]]), values, points.ravel()]
        return np.concatenate(rows)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not errors and self.path.bodies and not math.isfinite(self.path.at_rest):
            errors.append(Finding("bad-line", self.name, "not a number at rest", "a line with a length", "check its points"))
        return errors, warnings


class SoftTendon(ElasticTendon, SoftLine):
    """A tendon along a curve of material points, through one deformable body or several. Input: ``tension``, N.

    `System.add_interaction` connects it to its bodies, and to coordinates that wind it, if it has `arms`.

    Parameters
    ----------
    name : str
        Unique name in the system; the input is ``name.tension``, the outputs ``name.length`` and ``name.rate``.
    bodies : SoftBody or sequence of SoftBody
        Several are connected rigidly: pieces between them are not part of the length.
    curve : array_like (k, 3) or callable, or a sequence of one for each body, m
        Points, connected by straight lines at rest; or a function ``x(s)`` of s from 0 to 1, which takes complex numbers.
    stiffness, displacement, dissipation, arms, max_tension, push
        As for a `Tendon`; at rest the bodies' coordinates are zero.
    points : int
        Gauss points of every straight piece, or of the whole function.

    Notes
    -----
    Its length is ``l = int |F dx/ds| ds``, and a tension T gives the efforts ``-T dl/dq`` (virtual work, key P, 7.1). The
    tension follows from input and elongation as for a `Tendon`.
    """

    curve, points = Consumed(), Consumed()

    def __init__(
        self,
        name: str,
        bodies: Any,
        curve: Any,
        stiffness: float = 0.0,
        displacement: float = 0.0,
        dissipation: float = 0.0,
        arms: Any = (),
        max_tension: float = math.inf,
        push: bool = False,
        points: int = 4,
    ) -> None:
        super().__init__(name, bodies, max_tension, push)
        self.stiffness, self.displacement, self.dissipation, self.arms = stiffness, displacement, dissipation, arms
        count = self.reader.integer("points", points, 1, _MAX_POINTS)
        curves = self._each("curve", curve, lambda x: not (isinstance(x, Sequence) and all(map(_is_curve, x))))
        if not self.reader.findings:
            self._measured_at = tuple(_curve_points(self.reader, each, count) for each in curves)
        if not self.reader.findings:
            self.drawn = tuple(_line(each) for each in curves)
        self._update()


class SoftChamber(Chamber, SoftLine):
    """A cavity in one deformable body or several, under pressure. Input: ``pressure``, Pa, above that outside.

    `System.add_interaction` lets it act on its bodies.

    Parameters
    ----------
    name : str
        Unique name in the system; the input is ``name.pressure``, what can be read ``name.volume`` and ``name.rate``.
    bodies : SoftBody or sequence of SoftBody
    cavity : Domain, or a sequence of one for each body
        Where it is at rest, with a `surface`: a ready shape or a mesh. The bodies' kinematics carry it along.
    max_pressure, suction
        As for a `PressureChamber`.

    Notes
    -----
    A pressure P does ``P dV/dq`` on the coordinates, with the volume V inside of the surface's image ``p = f(x)``:
    ``1/3 int p . cof(F) N dA`` over its sides, and fans over the images of the rims of its ends, exact where these are plane.
    So nothing is asked of the kinematics inside, where there is no material: a hole that a source widens grows, though
    ``det F = 1`` everywhere.
    """

    cavity = Consumed()

    def __init__(self, name: str, bodies: Any, cavity: Any, max_pressure: float = math.inf, suction: bool = False) -> None:
        super().__init__(name, bodies, max_pressure, suction)
        cavities = self._each("cavity", cavity, lambda x: not isinstance(x, list | tuple))
        if not all(isinstance(part, Domain) for part in cavities):
            advice = "write tt.Domain.cylinder(radius=0.005, length=0.1)"
            self.reader.report("wrong-type", "cavity", cavity, "a tt.Domain", advice)
        elif bare := [part for part in cavities if part.surface is None]:
            advice = "write tt.Domain.cylinder(...), sector(...).placed(tt.Pose(...)) or mesh(...)"
            self.reader.report("no-surface", "cavity", f"{len(bare[0].points)} points", "a tt.Domain with a surface", advice)
        elif not self.reader.findings:
            self._measured_at = tuple(part.surface for part in cavities)
            self.drawn = tuple(part.outline for part in cavities if part.outline is not None)
        self._update()


def _is_curve(value: Any) -> bool:
    """Tell whether something given for a curve may be one."""
    points = None if callable(value) else real_array(value)
    return callable(value) or (points is not None and points.ndim == 2)


def _curve_points(reader: FieldReader, curve: Any, count: int) -> Array:
    """Return places, directions and weights (k, 7) along a curve."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    s, w = 0.5 * (nodes + 1.0), 0.5 * weights
    if callable(curve):
        return _pieces(*_along(reader, curve, s), w)
    corners = real_array(curve)
    if corners is None or corners.ndim != 2 or corners.shape[1] != 3 or len(corners) < 2 or not np.isfinite(corners).all():
        reader.report("wrong-shape", "curve", curve, "points (k, 3), k > 1, or a function of s", "give one row for each point")
        return np.zeros((0, POINT_SIZE))
    steps = np.diff(corners, axis=0)
    if not (np.linalg.norm(steps, axis=1) > 0).all():
        reader.report("no-length", "curve", "two neighbours at one place", "points that differ", "leave one of them out")
    places = (corners[:-1, None] + s[:, None] * steps[:, None]).reshape(-1, 3)
    return _pieces(places, np.repeat(steps, count, axis=0), np.tile(w, len(steps)))


def _along(reader: FieldReader, curve: Callable[[Any], Any], s: Array) -> tuple[Array, Array]:
    rows: list[Any] = []
    try:
        for x in s.tolist():
            rows.append(curve(complex(x, COMPLEX_STEP)))
        stepped = np.array([np.asarray(row, dtype=complex).ravel() for row in rows])
        value: Any = rows[:1]
    except Exception as error:  # whatever the function raises
        stepped, value = np.zeros(0), f"{type(error).__name__}: {error}"
    if stepped.shape != (len(s), 3) or not np.isfinite(stepped).all() or not stepped.imag.any():
        expected, advice = "three finite numbers that change with s", "let it take complex numbers: np.sin, not math.sin"
        reader.report("bad-curve", "curve", value, expected, advice)
        return np.zeros((len(s), 3)), np.ones((len(s), 3))
    return stepped.real, stepped.imag / COMPLEX_STEP


def _line(curve: Any) -> Picture:
    """Return a curve as a line that bends with its body."""
    s = np.linspace(0.0, 1.0, _SHOWN)
    if callable(curve):
        points = np.array([np.real(np.asarray(curve(complex(x)), dtype=complex)).ravel() for x in s.tolist()])
    else:
        at = np.linspace(0.0, 1.0, len(curve))
        points = np.column_stack([np.interp(np.union1d(s, at), at, column) for column in np.asarray(curve, float).T])
    return Picture(points, np.zeros((0, 3), int), (np.arange(len(points)),))


def _pieces(places: Array, directions: Array, weights: Array) -> Array:
    points = np.zeros((len(places), POINT_SIZE))
    points[:, PLACE], points[:, DIRECTION], points[:, WEIGHT] = places, directions, weights
    return points
