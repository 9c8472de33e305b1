"""Contact of bodies, rods and deformable bodies with shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import real_array
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.soft.soft_body import SoftBody
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import Field, Fixed, axis, instance, non_negative, positive, scalar
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import BodyInteraction
from titop.blocks.interactions.shape import Shape
from titop.blocks.interactions.touching import RigidSpheres, Touch, Touching, places_of, touching_of
from titop.blocks.laws.impact import HERTZ
from titop.blocks.laws.touch import bristle_rate, pressed_energy, touch


def _read_touching(contact: Block, field: str, value: Any) -> Any:
    if not (
        value is None or isinstance(value, Rod | SoftBody) or (isinstance(value, Shape) and value.kind in ("sphere", "capsule"))
    ):
        expected = "a tt.Rod, a tt.SoftBody, or a tt.Shape that is a sphere or a capsule"
        filled = "give its corners as points, or spheres that fill it"
        advice = filled if isinstance(value, Shape) else "write the body itself"
        contact.reader.report("not-a-body", field, value, expected, advice)
        return None
    return value


def _read_radius(contact: Block, field: str, value: Any) -> Any:
    """Read None, a radius, or several; none of them negative."""
    if value is None:
        return None
    read: Any = contact.reader.numbers(field, value) if np.ndim(value) else contact.reader.scalar(field, value)
    if (np.asarray(read) < 0).any():
        contact.reader.report("negative-radius", field, value, "a value >= 0", "check the sign and the unit")
    return read


def _read_points(contact: Block, field: str, value: Any) -> Any:
    """Read None, a number of points, abscissas (k) or places (k, 3)."""
    array = None if value is None else real_array(value)
    if value is not None and (array is None or array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 3) or not array.size):
        advice = "give rows of three numbers; on rods a number of points, or their abscissas"
        contact.reader.report("wrong-shape", field, value, "places (k, 3), or on a rod abscissas or their number", advice)
        return None
    return array if array is None else contact.reader.array(field, array, array.shape)


_UP = (0.0, 0.0, 1.0)


class Contact(BodyInteraction):
    """Spheres, rods or deformable bodies that touch a shape: elastic, dissipative, with friction.

    Between two rigid bodies, by `System.close_loop`, the shape is fixed in the first port, and the spheres in the second. For
    a rod or a deformable body, ``s.add_interaction(contact, "world")`` fixes the shape in the world; other ports are possible.

    Parameters
    ----------
    name : str
    radius : float or array_like (k,), m
        Of the spheres; zero for points. For a rod the largest extent of its sections by default; with `on` a shape, it has its
        own radius.
    stiffness : float, N/m^exponent
        At every point; required. Hertz's law has ``4/3 E* sqrt(radius)``, with ``1/E* = (1 - nu1^2)/E1 + (1 - nu2^2)/E2``.
    normal : array_like (3,)
        Outward normal of the touched plane if no `shape` is given, in the first port's frame; of any length.
    dissipation : float, s/m
        Hunt and Crossley's: ``3/2 (1 - e)/v`` for a coefficient of restitution e near one at the approach velocity v.
    friction : float
        Coulomb's coefficient.
    slip_velocity : float, m/s
        Sliding velocity below which friction decreases smoothly to zero: ``friction N v / sqrt(v^2 + slip_velocity^2)``.
    exponent : float
        p of the elastic law ``stiffness depth^p``, at least one: 1.5 for Hertz's law, 1 for an elastic foundation.
    on : Rod, SoftBody or Shape, optional
        The touching body: a rod along its whole length, points of a deformable body, or a sphere or capsule about the second
        port in place of a single sphere.
    shape : Shape, optional
        The touched shape, fixed in its port; by default the plane through its origin.
    points : int or array_like, optional
        Positions of spheres: places (k, 3; m) in the second port's frame, its origin by default; on a rod their number, with
        equal distances from the base to the tip, or abscissas (k, m); on a deformable body material points (k, 3; m at rest),
        those of the outline of its domain by default.
    tangential_stiffness : float, 1/m
        If positive, static friction by a bristle at every point: it deflects along the surface with the stiffness
        ``tangential_stiffness N`` until the friction limit is reached. See the notes.
    rolling : float, m
        Of rolling friction: a torque against the rotation of a sphere relative to the shape, equal about all axes,
        ``rolling N r w / sqrt(r^2 w^2 + slip_velocity^2)`` for the angular velocity w and the radius r.

    Notes
    -----
    At the depth d the shape pushes with ``N = stiffness d^p (1 + dissipation dd/dt)`` along its normal, and never pulls (Hertz;
    K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975). Friction acts
    where the normal through a sphere's centre meets the shape; on a deformable body at the point itself. Without bristles a
    resting contact creeps under a tangential load, as with any smooth friction law: on a slope below the friction
    angle at ``slip_velocity s / sqrt(1 - s^2)``, with s the tangent of the slope by the coefficient.

    Bristles have three first-order states per point, ``name.bristle_x`` and so on: the deflection b (m) in the shape's
    frame. With the largest deflection ``e = friction / tangential_stiffness``, and the slip velocity v, in contact::

        db/dt = v - a(|b|/e) max(v . b, 0) b/|b|^2      a = 0 up to 1, and 1 from 2 on, smooth in between
        w = b/e + (db/dt)/slip_velocity                 friction = -friction N w / (1 + |w|^8)^(1/8)

    So a resting body does not creep; damping is set by the slip velocity. Sliding friction is Coulomb's up to 0.05 %
    (P. Dupont and others, Single state elastoplastic friction models, 2002, for one direction). Without contact bristles
    relax to zero. Bristles store no energy in this model: since their stiffness is proportional to N, tangential forces depend
    on the depth, but normal forces not on b, so that they are not the gradient of a potential. A normal force that grows while
    a bristle is deflected does work, up to ``friction e / 2`` per newton. `Model.dissipated_power`, given the states, includes
    all power lost to friction; it is negative while bristles spring back.

    Each of several points has the whole stiffness. For contact along a line choose as many points as the shape needs: with
    distances h between them, a foundation of stiffness k per unit length has ``k h`` per point.

    A capsule touches planes and hollow walls with the spheres at its ends, which come nearest. It touches spheres, cylinders,
    boxes and other capsules with the sphere at the point of its axis nearest to them. If the axis is parallel to the other
    surface, this point is not unique, and the force jumps along the axis: for a body that rests along a line, use `points`
    instead, spheres along that line. For other bodies give the corners, or spheres that fill them, as `points`.

    Forces, gaps and velocities are read by `Model.contacts` and as outputs: ``name.gap``, ``name.force``, ``name[3].force``.

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

    own_field = "on"
    own_kinds = (Rod, SoftBody)
    has_points = True
    radius = Field(_read_radius)
    stiffness = Field(positive("bad-stiffness", "a number > 0"))
    normal = Field(axis)
    dissipation = Field(non_negative("negative-dissipation"))
    friction = Field(non_negative("negative-friction"))
    slip_velocity = Field(positive("bad-slip_velocity", "a number > 0"))
    exponent = Field(scalar)
    on = Fixed(_read_touching)
    shape = Field(instance(Shape, "write tt.Shape.cylinder(0.1, inside=True)", "not-a-shape"))
    points = Field(_read_points)
    rolling = Field(non_negative("negative-rolling"))
    tangential_stiffness = Field(non_negative("negative-stiffness"))

    def __init__(
        self,
        name: str,
        radius: Any = None,
        stiffness: float = 0.0,
        normal: Any = _UP,
        dissipation: float = 0.0,
        friction: float = 0.0,
        slip_velocity: float = 1e-3,
        *,
        exponent: float = HERTZ,
        on: Rod | SoftBody | Shape | None = None,
        shape: Shape | None = None,
        points: Any = None,
        rolling: float = 0.0,
        tangential_stiffness: float = 0.0,
    ) -> None:
        super().__init__(name)
        self.radius, self.stiffness, self.normal = radius, stiffness, normal
        self.dissipation, self.friction, self.slip_velocity = dissipation, friction, slip_velocity
        self.exponent, self.on, self.shape, self.points, self.rolling = exponent, on, shape, points, rolling
        self.tangential_stiffness = tangential_stiffness
        self._update()

    @property
    def parameter_units(self) -> dict[str, str]:  # type: ignore[override]
        """Units of the parameters; that of the stiffness follows from the exponent."""
        units = {"radius": "m"} if np.ndim(self.radius) == 0 and self.radius is not None else {}
        unit = f"N/m^{np.real(self.exponent):g}" if np.real(self.exponent) != 1.0 else "N/m"
        units |= {"stiffness": unit, "dissipation": "s/m", "friction": "1", "slip_velocity": "m/s"}
        bristles = {"tangential_stiffness": "1/m"} if self.tangential_stiffness else {}
        return units | {"exponent": "1", "rolling": "m"} | bristles

    # -- touching bodies and shape ---------------------------------------------------------------------------------------

    def _update(self) -> None:
        self._findings: list[Finding] = []
        #: The touched shape, and the spheres or points.
        self.touched: Shape = Shape.plane()
        self.touching: Touching = RigidSpheres(np.zeros((1, 3)), np.zeros(1))
        if self.reader.findings or not self.normal.any() or (isinstance(self.on, Block) and self.on.check()[0]):
            return
        self._findings = [*self._wrong_numbers(), *self._wrong_places()]
        if not self._findings:
            self.touched = Shape.plane(self.normal) if self.shape is None else self.shape
            self.touching = touching_of(self.on, self.points, self.radius, self.touched)

    @property
    def own_ports(self) -> tuple[PortRef | Block | str, ...]:  # type: ignore[override]
        """The base of the rod or the deformable body."""
        return self.own_blocks

    @property
    def point_names(self) -> tuple[str, ...]:
        """Names of the contact points: that of the contact for one sphere, with numbers for several, such as ``foot[2]``."""
        count = len(self.touching.radii)
        return (self.name,) if count == 1 else tuple(f"{self.name}[{k}]" for k in range(count))

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the bristles' components."""
        count = len(self.touching.radii) if self.tangential_stiffness else 0
        numbers = [""] if count == 1 else map(str, range(count))
        return tuple(f"bristle{number}_{axis}" for number in numbers for axis in "xyz")

    @property
    def state_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Metres."""
        return ("m",) * len(self.state_names)

    # -- contact law ------------------------------------------------------------------------------------------------------

    def touches(self, motion: TargetMotion) -> list[Touch]:
        """Return the contact at every sphere."""
        results = [touch(*sphere) for sphere in self._spheres_at(motion)]
        return [Touch(gap, *map(np.array, vectors)) for gap, *vectors in results]

    def _spheres_at(self, motion: TargetMotion) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of the contact law for every sphere: see `titop.blocks.laws.touch`."""
        seen, numbers = self.touching.sphere_motions(motion), self._law[None]
        bristles = motion.x.reshape(-1, 3) if len(self.state_names) else np.zeros((len(seen), 3))
        for each, bristle in zip(seen, bristles, strict=True):
            yield numbers, each.place, each.rate, each.spin, each.radius, bristle

    def state_rates(self, motion: TargetMotion) -> Array:  # type: ignore[override]
        """Return the rates (k, m/s) of the bristles' components."""
        return np.concatenate([bristle_rate(*sphere) for sphere in self._spheres_at(motion)])

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        return self.touching.loads(motion, self.touches(motion))

    def stored(self, motion: TargetMotion) -> Any:
        numbers = self._law[None]
        return sum(pressed_energy(numbers, seen.place, seen.radius) for seen in self.touching.sphere_motions(motion))

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the distances (k, m) of all spheres from the shape."""
        return np.array([self.touched.distance(seen.place)[0] - seen.radius for seen in self.touching.sphere_motions(motion)])

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        on_1, on_2 = self.act(_between(R, r, V1, V2))[0]
        return on_1, on_2

    def energy(self, R: Array, r: Array) -> Any:
        return self.stored(_between(R, r, np.zeros(6), np.zeros(6)))

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.contact`."""
        return np.concatenate([self._law, self.touching.numbers])

    @property
    def _law(self) -> Array:
        numbers = self.stiffness, self.exponent, self.dissipation, self.friction, self.slip_velocity, self.rolling
        return np.array([*self.touched.numbers, *numbers, float(self.touching.turns), self.tangential_stiffness])

    # -- checks ------------------------------------------------------------------------------------------------------------

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        return errors + self._findings, warnings

    def _wrong_numbers(self) -> Iterator[Finding]:
        if self.shape is not None and self.normal.tolist() != list(_UP):
            advice = "write shape=tt.Shape.plane(normal), or leave one of the two out"
            yield Finding("two-shapes", f"{self.name}.normal", self.normal.tolist(), "no normal beside a shape", advice)
        if self.radius is not None and np.any(np.real(self.radius) < 0):  # an entry comes here unread
            yield Finding("negative-radius", f"{self.name}.radius", self.radius, "radii >= 0", "check the sign and the unit")
        if not self.exponent.real >= 1:
            advice = "write 1.5 for Hertz's law, 1 for a linear one"
            yield Finding("bad-exponent", f"{self.name}.exponent", self.exponent, "a number >= 1", advice)
        if isinstance(self.on, Shape) and self.radius is not None:
            expected, advice = "None: the shape that touches has a radius", "leave the radius out"
            yield Finding("two-radii", f"{self.name}.radius", self.radius, expected, advice)
        elif self.radius is None and not isinstance(self.on, Rod | Shape):
            yield Finding("no-radius", f"{self.name}.radius", None, "a length >= 0", "write 0 for points")
        if self.tangential_stiffness.real > 0 and not self.friction.real > 0:
            expected = "0 without friction: bristles hold what friction can hold"
            where = f"{self.name}.tangential_stiffness"
            yield Finding("no-friction", where, self.tangential_stiffness, expected, "give friction")
        if self.rolling.real > 0 and self.radius is not None and not np.all(np.real(self.radius) > 0):
            yield Finding("rolling-point", f"{self.name}.rolling", self.rolling, "0: points do not roll", "give a radius > 0")

    def _wrong_places(self) -> Iterator[Finding]:
        where, points = f"{self.name}.points", self.points
        if isinstance(self.on, Rod):
            count = points if points is not None and points.ndim == 0 else 1
            length = self.on.given_length
            inside = points is None or points.ndim == 0 or ((points >= 0) & (points <= length * (1 + SAME))).all()
            if (points is not None and points.ndim == 2) or count < 1 or count % 1 or not inside:
                expected = f"how many, or abscissas from 0 to {length:g} m"
                yield Finding("bad-points", where, points.tolist(), expected, "count from the base of the rod")
                return
            count = int(count) if points is None or points.ndim == 0 else len(points)
        elif points is None and isinstance(self.on, SoftBody) and self.on.domain.outline is None:
            yield Finding("no-points", where, None, "material points (k, 3)", "say which points of the body touch")
            return
        elif points is not None and points.ndim != 2:
            yield Finding("bad-points", where, points.tolist(), "places (k, 3)", "write one row for each point")
            return
        else:
            count = len(places_of(self.on, points))
        if np.ndim(self.radius) and len(self.radius) != count:
            expected = f"one for all, or one for each of {count}"
            yield Finding("wrong-count", f"{self.name}.radius", f"{len(self.radius)} radii", expected, "give as many as points")


def _between(R: Array, r: Array, V1: Array, V2: Array) -> TargetMotion:
    """Return the motion of two ports."""
    none = np.zeros(0)
    return TargetMotion(np.array([np.eye(3), R]), np.array([np.zeros(3), r]), np.array([V1, V2]), none, none, none)
