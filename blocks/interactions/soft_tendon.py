"""Tendons and pressure chambers in deformable bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.soft.domain import Domain
from titop.blocks.bodies.soft.line_programs import DIRECTION, PLACE, POINT_SIZE, WEIGHT
from titop.blocks.contract.fields import Consumed, Field, bound, switch
from titop.blocks.interactions.line import Chamber, ElasticTendon
from titop.blocks.interactions.soft_line import SoftLine

_MAX_POINTS = 64


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
    stiffness : float, N/m
        Of the whole tendon. Without it, the tension is the input alone.
    displacement : float, m
        Length that a motor has wound up, from the tendon without slack or tension in the bodies at rest.
    dissipation : float, s/m
        Of the elastic tendon, as for a contact.
    arms : array_like (m,), m or 1
        Length wound up per unit of each further coordinate, for motors in the system: a drum's radius.
    max_tension : float, N
        The input is between zero and this.
    push : bool
        Whether the input may be negative, down to minus `max_tension`.
    points : int
        Gauss points of every straight piece, or of the whole function.

    Notes
    -----
    Its length is ``l = int |F dx/ds| ds``, and a tension T gives the efforts ``-T dl/dq`` (virtual work, key P, 7.1).

    The tension is the input plus, for an elongation ``e = l - l(rest) + displacement + arms . q > 0``, that of the tendon,
    ``stiffness e (1 + dissipation de/dt)``, which never pushes: it is slack for ``e <= 0``, as for a `Tendon`. At rest the
    bodies' coordinates are zero.
    """

    curve, points = Consumed(), Consumed()
    upper = Field(bound, "max_tension")
    max_tension: float
    both_ways = Field(switch, "push")
    push: bool

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
            self._measured_at = tuple(_curve_points(self.reader, given, count) for given in curves)
        self._follow()


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
    max_pressure : float, Pa
        The input is between zero and this.
    suction : bool
        Whether the input may be negative, down to minus `max_pressure`.

    Notes
    -----
    A pressure P does ``P dV/dq`` on the coordinates, with the volume V inside of the surface's image ``p = f(x)``:
    ``1/3 int p . cof(F) N dA`` over its sides, and fans over the images of the rims of its ends, exact where these are plane.
    So nothing is asked of the kinematics inside, where there is no material: a hole that a source widens grows, though
    ``det F = 1`` everywhere.
    """

    cavity = Consumed()
    upper = Field(bound, "max_pressure")
    max_pressure: float
    both_ways = Field(switch, "suction")
    suction: bool

    def __init__(self, name: str, bodies: Any, cavity: Any, max_pressure: float = math.inf, suction: bool = False) -> None:
        super().__init__(name, bodies, max_pressure, suction)
        cavities = self._each("cavity", cavity, lambda x: not isinstance(x, list | tuple))
        if not all(isinstance(part, Domain) for part in cavities):
            advice = "write tt.Domain.cylinder(radius=0.005, length=0.1)"
            self.reader.report("wrong-type", "cavity", cavity, "a tt.Domain", advice)
        elif bare := [part for part in cavities if part.surface is None]:
            found, advice = (
                f"{len(bare[0].points)} points",
                "write tt.Domain.cylinder(...), sector(...).placed(tt.Pose(...)) or mesh(...)",
            )
            self.reader.report("no-surface", "cavity", found, "a tt.Domain with a surface", advice)
        elif not self.reader.findings:
            self._measured_at = tuple(part.surface for part in cavities)
        self._follow()


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
    given = real_array(curve)
    if given is None or given.ndim != 2 or given.shape[1] != 3 or len(given) < 2 or not np.isfinite(given).all():
        reader.report("wrong-shape", "curve", curve, "points (k, 3), k > 1, or a function of s", "give one row for each point")
        return np.zeros((0, POINT_SIZE))
    steps = np.diff(given, axis=0)
    if not (np.linalg.norm(steps, axis=1) > 0).all():
        reader.report("no-length", "curve", "two neighbours at one place", "points that differ", "leave one of them out")
    places = (given[:-1, None] + s[:, None] * steps[:, None]).reshape(-1, 3)
    return _pieces(places, np.repeat(steps, count, axis=0), np.tile(w, len(steps)))


def _along(reader: FieldReader, curve: Callable[[Any], Any], s: Array) -> tuple[Array, Array]:
    rows: list[Any] = []
    try:
        for x in s.tolist():
            rows.append(curve(complex(x, COMPLEX_STEP)))
        stepped = np.array([np.asarray(row, dtype=complex).ravel() for row in rows])
        found: Any = rows[:1]
    except Exception as error:  # whatever the function raises
        stepped, found = np.zeros(0), f"{type(error).__name__}: {error}"
    if stepped.shape != (len(s), 3) or not np.isfinite(stepped).all() or not stepped.imag.any():
        expected, advice = "three finite numbers that change with s", "let it take complex numbers: np.sin, not math.sin"
        reader.report("bad-curve", "curve", found, expected, advice)
        return np.zeros((len(s), 3)), np.ones((len(s), 3))
    return stepped.real, stepped.imag / COMPLEX_STEP


def _pieces(places: Array, directions: Array, weights: Array) -> Array:
    points = np.zeros((len(places), POINT_SIZE))
    points[:, PLACE], points[:, DIRECTION], points[:, WEIGHT] = places, directions, weights
    return points
