"""Joints along curves: beads on wires, carts on rails, pins in grooves."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import Picture
from titop.blocks.contract.fields import Fixed, optional, switch
from titop.blocks.contract.law import Law
from titop.blocks.joints.joint import Joint
from titop.blocks.laws.impact import HERTZ, impact_energy, impact_push
from titop.blocks.laws.vectors import Vector, cross3, dot3, times, transposed

#: Degree of the curve; numbers of the law before its pieces (see `Curvilinear.law_numbers`); pieces that are not halved again.
_DEGREE, _PIECES, _MOST = 5, 16, 2**13
#: Axes that do not turn, and their angular motion.
_LEVEL, _STILL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)


def curve_law(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
    """Fill in the law of a `Curvilinear`, from its `law_numbers`."""
    terms.inertia[6, 6] = numbers[0]
    terms.passive[0] = _passive(numbers, q[0], v[0])
    curve = _at(numbers, q[0], 0)
    if numbers[13].real > 0.0:
        _put(terms, curve[0], _frame(curve, _at(numbers, q[0], 3)), v[0], twist)
    else:
        _put(terms, curve[0], (_LEVEL, (curve[1], _STILL), (curve[2], _STILL)), v[0], twist)


def _put(terms: Any, p: Vector, frame: Any, rate: Any, twist: Any) -> None:
    """Write the pose of the child's port at p, and S and gamma there; `frame` as `_frame` returns it."""
    rotation, (linear, turn), (linear_rate, turn_rate) = frame
    back, angular = transposed(rotation), (twist[3], twist[4], twist[5])
    w0, v0 = times(back, angular), times(back, _sum((twist[0], twist[1], twist[2]), cross3(angular, p), 1.0))
    first, second, third = cross3(w0, linear), cross3(v0, turn), cross3(w0, turn)
    for r in range(3):
        for c in range(3):
            terms.rotation[0, r, c] = rotation[3 * r + c]
        terms.position[0, r] = p[r]
        terms.subspace[0, r, 0], terms.subspace[0, 3 + r, 0] = linear[r], turn[r]
        terms.bias[0, r] = (linear_rate[r] * rate + first[r] + second[r]) * rate
        terms.bias[0, 3 + r] = (turn_rate[r] * rate + third[r]) * rate


def curve_energy(numbers: Any, q: Any) -> Any:
    """Return what spring and stops store."""
    delta, (depth, _) = q[0] - numbers[2], _depth(numbers, q[0])
    return 0.5 * numbers[1] * delta * delta + impact_energy(depth, numbers[10], HERTZ)


vars(curve_law)["one_by_one"] = True  # its place along the curve decides which piece is read
CURVE_LAW = Law(curve_law, energy=curve_energy)


def _passive(numbers: Any, q: Any, v: Any) -> Any:
    """Return the effort of spring, damper, friction and stops, as `Joint.passive_efforts`."""
    peak = (numbers[5] - numbers[4]) * np.exp(-((v / numbers[6]) ** 2))
    way = select(v.real > 0.0, 1.0, -1.0)
    slow = np.exp(-2.0 * way * v / numbers[7])  # tanh of it cannot overflow
    depth, side = _depth(numbers, q)
    stop = side * impact_push(depth, side * v, numbers[10], numbers[11], HERTZ)
    friction = way * (numbers[4] + peak) * (1.0 - slow) / (1.0 + slow)
    return -numbers[1] * (q - numbers[2]) - numbers[3] * v - friction - stop


def _depth(numbers: Any, q: Any) -> tuple[Any, float]:
    """Return how deep q is in a stop, and on which side this stands."""
    lower, upper = numbers[8], numbers[9]
    below, above = q.real < lower.real, q.real > upper.real
    return select(below, lower - q, select(above, q - upper, 0.0 * q)), select(below, -1.0, 1.0)


def _at(numbers: Any, s: Any, row: int) -> tuple[Vector, Vector, Vector, Vector]:
    """Return what rows of the pieces have at s, with three derivatives; beyond the ends of an open curve, a straight line."""
    count, step, is_open = int(numbers[14].real), numbers[15], numbers[12].real == 0.0
    k = int(np.floor((s / step).real))
    k = min(max(k, 0), count - 1) if is_open else k
    x = s - k * step
    before, behind = is_open and x.real < 0.0, is_open and x.real > step.real
    within = select(before, 0.0 * x, select(behind, 0.0 * x + step, x))
    beyond, bent = x - within, select(before or behind, 0.0, 1.0)
    rows = 6 if numbers[13].real > 0.0 else 3
    o = _PIECES + 6 * (rows * (k % count) + row)
    a, b, c = _polynomial(numbers, o, within), _polynomial(numbers, o + 6, within), _polynomial(numbers, o + 12, within)
    return (
        (a[0] + beyond * a[1], b[0] + beyond * b[1], c[0] + beyond * c[1]),
        (a[1], b[1], c[1]),
        (bent * a[2], bent * b[2], bent * c[2]),
        (bent * a[3], bent * b[3], bent * c[3]),
    )


def _polynomial(numbers: Any, o: int, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return a polynomial of degree 5 with three derivatives."""
    a, b, c, d, e, f = numbers[o], numbers[o + 1], numbers[o + 2], numbers[o + 3], numbers[o + 4], numbers[o + 5]
    return (
        a + x * (b + x * (c + x * (d + x * (e + x * f)))),
        b + x * (2.0 * c + x * (3.0 * d + x * (4.0 * e + x * 5.0 * f))),
        2.0 * c + x * (6.0 * d + x * (12.0 * e + x * 20.0 * f)),
        6.0 * d + x * (24.0 * e + x * 60.0 * f),
    )


def _frame(curve: Any, up: Any) -> Any:
    """Return the rotation whose x is along a curve and whose z is near `up`, S and its derivative, both linear and angular.

    `curve` is a position with three derivatives, `up` a direction with these. With ``a = p''/|p'|``, ``n = up x p'``,
    ``b = n'/|n|`` the angular part of S in the child's axes is ``(z.b, -z.a, y.a)``.
    """
    (_, p1, p2, p3), (u, u1, u2, _) = curve, up
    speed = np.sqrt(dot3(p1, p1))
    n, n1 = cross3(u, p1), _sum(cross3(u1, p1), cross3(u, p2), 1.0)
    n2 = _sum(_sum(cross3(u2, p1), cross3(u1, p2), 2.0), cross3(u, p3), 1.0)
    wide = np.sqrt(dot3(n, n))
    x = p1[0] / speed, p1[1] / speed, p1[2] / speed
    y = n[0] / wide, n[1] / wide, n[2] / wide
    z = cross3(x, y)
    xa, ya, za = dot3(x, p2) / speed, dot3(y, p2) / speed, dot3(z, p2) / speed
    xb, yb, zb = dot3(x, n1) / wide, dot3(y, n1) / wide, dot3(z, n1) / wide
    turn = zb, -za, ya
    turn_rate = (
        turn[1] * xb - turn[0] * yb + dot3(z, n2) / wide - zb * yb,
        turn[0] * ya - turn[1] * xa - dot3(z, p3) / speed + za * xa,
        turn[0] * za - turn[2] * xa + dot3(y, p3) / speed - ya * xa,
    )
    rotation = x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]
    nothing = 0.0 * speed
    return rotation, ((speed, nothing, nothing), turn), ((speed * xa, nothing, nothing), turn_rate)


def _sum(a: Vector, b: Vector, factor: float) -> Vector:
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


def _degree(count: int) -> int:
    """Return the degree of an open spline through a `count` of points; degree four is refused by SciPy 1.14."""
    return _DEGREE if count > _DEGREE else min(3, count - 1)


def _read_points(joint: Block, field: str, value: Any) -> Array:
    shape = np.shape(np.asarray(value, dtype=object))
    return joint.reader.array(field, value, (shape[0] if len(shape) == 2 else 2, 3), "give a point (x, y, z) in each row")


def _read_up(joint: Any, field: str, value: Any) -> Array:
    several = len(np.shape(np.asarray(value, dtype=object))) == 2
    return joint.reader.array(field, value, joint.points.shape if several else (3,), "give a direction, or one for each point")


class Curvilinear(Joint):
    """A point that moves along a curve: a bead on a wire, a cart on a rail, a pin in a groove. Coordinate: distance (m).

    The curve is given by points in the joint frame. The coordinate is the way along it from the first point, where it is zero,
    and its rate the speed. A closed curve may be followed any number of times. An open one goes on straight beyond its ends,
    which are the bounds of the joint's limits where these have none: `Trajectory.violations` reports motions that leave it,
    and a stiffness of the limits makes stops of the ends.

    Parameters
    ----------
    name : str
    points : array_like (n, 3), m
        On the curve, in order, in the joint frame; at least two, or three of a closed one.
    closed : bool
        Whether the curve returns from the last point to the first, which is not repeated.
    up : array_like (3,) or (n, 3), optional
        In the joint frame, one direction or one at each point. With it the child's x axis points along the curve, and z
        to the side of `up`, perpendicular to that: a cart on a rail, with the rail's bank. Without it the child keeps the joint
        frame's axes.
    **passive
        See `Joint`; stiffness in N/m.

    Attributes
    ----------
    length : float, m
        Of the curve.
    stations : (n,) array, m
        The coordinate at each point.

    Raises
    ------
    ModelError
        When the model is built: for neighbours that coincide, too few points where the curve turns, and `up` along the
        curve.

    Notes
    -----
    Through the points goes a spline of degree five over the length of their chords, whose curvature is smooth, so that
    accelerations and linear models are; with fewer points the degree is lower. It is sampled at even distances and fitted
    again, with as many pieces as it takes for rates to be speeds to 1e-9, or 1e-6 on rough curves. Twenty
    points around a circle are within 1e-7 of its radius, and its curvature within 2e-5; forty within 1e-9, and 1e-6.

    With the position p(s), its derivatives p', p'', and up x p' = n, the motion subspace of a joint with `up` is
    ``[(|p'|, 0, 0); (z.n'/|n|, -z.p''/|p'|, y.p''/|p'|)]`` in the child's axes; without, it is ``[p'; 0]``.

    Examples
    --------
    A bead of 1 kg slides on a ring of 0.5 m, from rest at its side to the bottom, by ``sqrt(2 g r)``:

    >>> import numpy as np, titop as tt
    >>> turn = np.arange(40) * np.pi / 20
    >>> wire = tt.Curvilinear("wire", 0.5 * np.column_stack([np.cos(turn), 0 * turn, -np.sin(turn)]), closed=True)
    >>> s = tt.System("ring", gravity=[0, 0, -10])
    >>> s.connect("world", tt.RigidBody("bead", mass=1.0), wire)
    >>> m = s.resolve()
    >>> run = tt.simulate(m, np.linspace(0, 1, 101), m.neutral(), m.velocity({}), rtol=1e-9, atol=1e-9)
    >>> run.v.max().round(3).item()
    3.162
    """

    coordinates = ("distance",)
    units = ("m",)
    compiled_law = CURVE_LAW
    points = Fixed(_read_points)
    closed = Fixed(switch)
    up = Fixed(optional(_read_up))

    def __init__(self, name: str, points: Any, closed: bool = False, up: Any = None, **passive: Any) -> None:
        super().__init__(name, **passive)
        self.points, self.closed, self.up = points, closed, up
        self.length, self.stations = 1.0, np.zeros(len(self.points))
        #: Coefficients (pieces, 3 of the position and 3 of up, 6) of polynomials over the way within each piece.
        self._pieces = np.zeros((1, 3, _DEGREE + 1))
        if not self.reader.findings:
            self._fit()
        if not closed:
            bounds = self.limit_numbers[0, :2]
            bounds[:] = np.where(np.isfinite(bounds), bounds, [0.0, self.length])

    def _fit(self) -> None:
        """Find the curve's pieces, of even length."""
        from scipy.interpolate import make_interp_spline

        ends_at = "periodic" if self.closed else None

        def spline(x: Array, y: Array) -> Any:
            return make_interp_spline(x, y, 3 if self.closed and len(x) <= _DEGREE else _degree(len(x)), bc_type=ends_at)

        def speeds(curve: Any, x: Array) -> Array:
            return np.sqrt((curve(x, nu=1)[..., :3] ** 2).sum(axis=-1))

        report, least = self.reader.report, 3 if self.closed else 2
        if len(self.points) < least:
            report("too-few-points", "points", len(self.points), f"at least {least} points", "give more points")
            return
        ups = [] if self.up is None else [np.broadcast_to(self.up, self.points.shape)]
        given = np.hstack([self.points, *ups])
        given = np.vstack([given, given[: int(self.closed)]])
        chords = np.sqrt((np.diff(given[:, :3], axis=0) ** 2).sum(axis=1))
        if chords.min() <= SAME * chords.max():
            k, expected = int(chords.argmin()), "points that differ from the next one"
            advice = "leave one out; a closed curve returns to its first point by itself"
            report("coincident-points", f"points[{k}]", self.points[k].tolist(), expected, advice)
            return
        ends, parts = np.concatenate([[0.0], np.cumsum(chords)]), 1
        first = spline(ends, given)
        nodes, weights = np.polynomial.legendre.leggauss(_DEGREE + 1)
        while True:
            places = np.interp(np.arange(parts * (len(ends) - 1) + 1) / parts, np.arange(len(ends)), ends)
            inner = places[:-1, None] + np.diff(places)[:, None] * (nodes + 1.0) / 2.0
            ways = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(places) * (speeds(first, inner) @ weights))])
            even = np.linspace(0.0, ways[-1], len(ways))
            samples = first(make_interp_spline(ways, places, _degree(len(ways)))(even))
            samples[-1] = samples[0] if self.closed else samples[-1]
            curve, step = spline(even, samples), even[1]
            errors = np.abs(speeds(curve, even[:-1, None] + step * (nodes + 1.0) / 2.0) - 1.0).max(axis=1)
            if errors.max() < SAME or len(errors) > _MOST:
                break
            parts *= 2
        if errors.max() > TYPED:
            place = int(np.searchsorted(ways[::parts], even[errors.argmax()], "right")) - 1
            advice, expected = "give more points where it turns, or round its corners", "a curve that turns smoothly"
            report("sharp-curve", f"points[{place}]", self.points[place].tolist(), expected, advice)
        self._pieces, self.length = np.zeros((len(even) - 1, given.shape[1], _DEGREE + 1)), float(ways[-1])
        for k in range(curve.k + 1):  # SciPy 1.14 writes over memory where more derivatives than the degree are asked for
            self._pieces[..., k] = curve(even[:-1], nu=k) / factorial(k)
        self.stations = ways[::parts][: len(self.points)]
        if self.up is not None:
            sides = np.cross(curve(even)[:, 3:], curve(even, nu=1)[:, :3])
            turned = (sides[1:] * sides[:-1]).sum(axis=1)
            if not (turned > 0.0).all():
                where = even[turned.argmin()]
                advice = "give up at each point, or a direction that the curve never has, such as the normal of its plane"
                report("up-along-curve", "up", f"along the curve at {where:.4g} m", "a direction beside it", advice)

    def law_numbers(self) -> Array:
        """Return armature, passive coefficients, whether it is closed and has `up`, number and length of pieces, and these."""
        limits, count = self.limit_numbers[0, [0, 1, 4, 5]], len(self._pieces)
        passive = [self.total_armature[0], self.stiffness[0, 0], self.rest[0], self.damping[0, 0], *self.friction[0], *limits]
        shape = [float(self.closed), float(self.up is not None), count, self.length / count]
        return np.concatenate([passive, shape, self._pieces.ravel()])

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return S of the law (6 x 1)."""
        return self._terms_at(q).subspace[0]

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return gamma of the law at a parent port at rest."""
        return self.compiled_law.terms(self, q, v, np.zeros(6)).bias[0]

    @property
    def coordinate_scales(self) -> Array:  # type: ignore[override]
        """The least radius of the curve, or that of a circle as long (1, m)."""
        bends = np.sqrt((self._pieces[:, :3, 2] ** 2).sum(axis=1)).max()
        return np.array([1.0 / max(2.0 * bends, 2.0 * np.pi / self.length)])

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a place on the curve."""
        return rng.uniform(0.0, self.length, 1)

    def picture(self, q: Array) -> Picture:
        """Return the curve, as a line in the joint frame."""
        start = self._pieces[:: max(len(self._pieces) // 200, 1), :3, 0]
        return Picture.of_line(np.vstack([start, self.pose(self.ports[0], np.array([self.length]))[1]]))
