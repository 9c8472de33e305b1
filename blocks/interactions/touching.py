"""Contact points: spheres fixed in a rigid body, or along a rod, and points of a deformable body.

The contact law receives the motion of each sphere relative to the touched shape: the position r of its centre, the rate of r
and the relative angular velocity, in the frame of the shape's port.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array, cross
from titop.blocks.bodies.rods.discretisation import pack_to_places
from titop.blocks.bodies.rods.recursion import RodMotion
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.soft.law_programs import PLACE, POINT_SIZE
from titop.blocks.bodies.soft.soft_body import SoftBody
from titop.blocks.bodies.water.immersion import wrenches_to_efforts
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import opposite_wrenches, relative_rates
from titop.blocks.interactions.shape import Shape

_NOTHING = np.zeros(3)


class Seen(NamedTuple):
    """Motion of a sphere relative to the touched shape: position (3, m), its rate (m/s), spin (3, rad/s), and radius (m)."""

    place: Array
    rate: Array
    spin: Array
    radius: Any


class Touch(NamedTuple):
    """Contact at one sphere, in the frame of the touched shape.

    The gap (m) between the surfaces is negative in contact; force (3, N) and torque (3, N m) act on the sphere, about its
    centre; the slip (3, m/s) is the tangential velocity of its surface relative to the shape.
    """

    gap: Any
    force: Array
    torque: Array
    slip: Array


class Touching(ABC):
    """The spheres, with radii (k, m), or points of a contact."""

    radii: Array
    #: Whether they rotate, and friction acts at the contact point; otherwise at their centres.
    turns = True

    @property
    def extents(self) -> Array:
        """Distances (m) of the surfaces of spheres from the origin of their rigid body's port."""
        return np.zeros(0)

    @abstractmethod
    def sphere_motions(self, motion: TargetMotion) -> list[Seen]:
        """Return how all spheres move."""

    @abstractmethod
    def loads(self, motion: TargetMotion, touches: Sequence[Touch]) -> tuple[Array, Array]:
        """Return the loads of all spheres: the wrenches (2, 6) on the ports, each in its frame, and the efforts (n)."""

    @property
    @abstractmethod
    def numbers(self) -> Array:
        """Numbers of the spheres for compiled laws."""


class RigidSpheres(Touching):
    """Spheres at places (k, 3; m) in the frame of port 2; the shape belongs to port 1.

    For a capsule that touches a convex shape, the sphere is at the point of its axis nearest to the shape: it may move along z
    of the frame by the `reach` (m) to both sides.
    """

    def __init__(self, places: Array, radii: Array, reach: float = 0.0, shape: Shape | None = None) -> None:
        self.places, self.radii, self.reach, self.shape = places, radii, reach, shape

    def sphere_motions(self, motion: TargetMotion) -> list[Seen]:
        r, (rate, spin) = motion.r[1], relative_rates(motion.R[1], motion.r[1], motion.V[0], motion.V[1])
        arms = zip(self._arms(motion), self.radii, strict=True)
        return [Seen(r + arm, rate + cross(spin, arm), spin, radius) for arm, radius in arms]

    @property
    def extents(self) -> Array:
        """Of all spheres."""
        return np.linalg.norm(np.real(self.places), axis=1) + np.real(self.radii)

    def _arms(self, motion: TargetMotion) -> list[Array]:
        """Return the positions of the centres relative to port 2, in the frame of port 1."""
        R, r = motion.R[1], motion.r[1]
        arms = [R @ place for place in self.places]
        if self.shape is None:
            return arms
        return [arm + self.shape.nearest(r + arm, R[:, 2], self.reach) * R[:, 2] for arm in arms]

    def loads(self, motion: TargetMotion, touches: Sequence[Touch]) -> tuple[Array, Array]:
        R, r = motion.R[1], motion.r[1]
        on_1, on_2 = np.zeros(6), np.zeros(6)
        for arm, touch in zip(self._arms(motion), touches, strict=True):
            one, two = opposite_wrenches(R, r, r + arm, touch.force)
            turn = np.concatenate([_NOTHING, touch.torque])
            on_1, on_2 = on_1 + one - turn, on_2 + two + np.concatenate([_NOTHING, R.T @ touch.torque])
        return np.array([on_1, on_2]), np.zeros(0)

    @property
    def numbers(self) -> Array:
        """Count, places, radii and reaches."""
        reaches = np.full(len(self.radii), self.reach)
        return np.concatenate([[len(self.radii)], np.column_stack([self.places, self.radii, reaches]).ravel()])


class Carried(Touching):
    """Spheres that move with a deformable body, whose frame is port 1; the shape belongs to port 2."""

    @abstractmethod
    def moving(self, motion: TargetMotion) -> tuple[Array, Array, Array]:
        """Return positions, velocities and angular velocities (k, 3 each) of all centres, in the frame of the body."""

    def sphere_motions(self, motion: TargetMotion) -> list[Seen]:
        R, r, V = motion.R[1], motion.r[1], motion.V[1]
        centres, velocities, turning = self.moving(motion)
        places = [R.T @ (centre - r) for centre in centres]
        rates = [R.T @ velocity - V[:3] - cross(V[3:], place) for velocity, place in zip(velocities, places, strict=True)]
        spins = [R.T @ spin - V[3:] if self.turns else _NOTHING for spin in turning]
        return [*map(Seen, places, rates, spins, self.radii)]

    def _on_shape(self, motion: TargetMotion, places: Array, touches: Sequence[Touch]) -> Array:
        """Return the wrench (6) on the shape's port, from what happens at spheres at places (k, 3) in the frame of the body."""
        R, r = motion.R[1], motion.r[1]
        rows = [
            np.concatenate([touch.force, cross(R.T @ (place - r), touch.force) + touch.torque])
            for place, touch in zip(places, touches, strict=True)
        ]
        return -sum(rows, np.zeros(6))


class RodSpheres(Carried):
    """Spheres on the backbone of a rod, at places (k) as fractions of its length."""

    def __init__(self, rod: Rod, places: Array, radii: Array) -> None:
        self.block, self.places, self.radii = rod, places, radii
        self._rod = rod.numbers_to(places.tolist())

    def moving(self, motion: TargetMotion) -> tuple[Array, Array, Array]:
        rotations, places, twists = self._sections(motion)
        turned = np.einsum("kij,klj->kli", rotations, twists.reshape(-1, 2, 3))
        return places, turned[:, 0], turned[:, 1]

    def _sections(self, motion: TargetMotion) -> tuple[Array, Array, Array]:
        bent, count = RodMotion(self._rod, motion.q), len(self.places)
        rotations, places = bent.poses()
        return rotations[-count:], places[-count:], bent.biases(motion.v, motion.V[0])[0][-count:]

    def loads(self, motion: TargetMotion, touches: Sequence[Touch]) -> tuple[Array, Array]:
        """Return the wrenches on the base and on the shape, and the efforts."""
        bent, count = RodMotion(self._rod, motion.q), len(self.places)
        rotations, places = (part[-count:] for part in bent.poses())
        turned = [motion.R[1] @ np.array([touch.force, touch.torque]).T for touch in touches]
        wrenches = np.array([(R.T @ pair).T.ravel() for R, pair in zip(rotations, turned, strict=True)])
        pressed = wrenches_to_efforts(bent.jacobians()[-count:], wrenches)
        return np.array([pressed[:6], self._on_shape(motion, places, touches)]), pressed[6:]

    @property
    def numbers(self) -> Array:
        """Counts; each sphere's place on the rod and radius; the rod, with steps to the places."""
        places, steps, row = pack_to_places(self._rod)
        return np.concatenate([[len(places), steps, len(row)], np.column_stack([places, self.radii]).ravel(), row])


class SoftPoints(Carried):
    """Material points (k, 3; m at rest) of a deformable body, with forces but no moments."""

    turns = False

    def __init__(self, body: SoftBody, points: Array, radii: Array) -> None:
        self.block, self.radii = body, radii
        self.points = np.zeros((len(points), POINT_SIZE))
        self.points[:, PLACE] = points

    @property
    def programs(self) -> list[Any]:
        """The programs of the body."""
        return [self.block.programs]

    def _columns(self, motion: TargetMotion) -> tuple[Array, Array, Array]:
        """Return positions and velocities (k, 3 each) in the body, and their Jacobians (k, 3, n)."""
        _, each = self.programs[0].columns.at_points(self.block.shared(motion.q, motion.v), self.points)
        return each[:, :3], each[:, 3:6], each[:, 9:].reshape(len(each), 3, -1)

    def moving(self, motion: TargetMotion) -> tuple[Array, Array, Array]:
        places, relative, _ = self._columns(motion)
        velocities = [motion.V[0, :3] + cross(motion.V[0, 3:], place) + u for place, u in zip(places, relative, strict=True)]
        return places, np.array(velocities), np.zeros((len(places), 3))

    def loads(self, motion: TargetMotion, touches: Sequence[Touch]) -> tuple[Array, Array]:
        """Return the wrenches on the body and on the shape, and the efforts."""
        places, _, columns = self._columns(motion)
        forces = np.array([motion.R[1] @ touch.force for touch in touches])
        rows = [np.concatenate([force, cross(place, force)]) for place, force in zip(places, forces, strict=True)]
        on_body = sum(rows, np.zeros(6))
        return np.array([on_body, self._on_shape(motion, places, touches)]), np.einsum("kij,ki->j", columns, forces)

    @property
    def numbers(self) -> Array:
        """Counts; the body's parameters and the points, in its own numbers' order; the radii."""
        values = self.block.number_values
        return np.concatenate([[len(self.points), len(values)], values, self.points.ravel(), self.radii])


_AXIS = np.array([0.0, 0.0, 1.0])


def touching_of(on: Rod | SoftBody | Shape | None, points: Any, radius: Any, shape: Shape) -> Touching:
    """Return the spheres or points of a `Contact` with a shape, from valid fields."""
    if isinstance(on, Rod):
        places = _abscissas(on, points) / on.given_length
        reach = on.section.reach(places, on.given_length).max(axis=0)
        return RodSpheres(on, places, reach if radius is None else radius + 0.0 * places)
    places = places_of(on, points)
    if isinstance(on, SoftBody):
        return SoftPoints(on, places, radius + np.zeros(len(places)))
    if on is None:
        return RigidSpheres(places, radius + np.zeros(len(places)))
    shape_radius, half = on.dimensions["radius"], 0.5 * on.dimensions.get("length", 0.0)
    if half and shape.is_convex:
        return RigidSpheres(places, shape_radius + np.zeros(len(places)), half, shape)
    ends = np.outer([-half, half] if half else [0.0], _AXIS)
    places = (places[:, None] + ends).reshape(-1, 3)
    return RigidSpheres(places, shape_radius + np.zeros(len(places)))


def places_of(on: SoftBody | Shape | Rod | None, points: Any) -> Array:
    """Return places (k, 3; m) in the second port's frame, or of material points, from `points` or by default."""
    if points is None:
        outline = on.domain.outline if isinstance(on, SoftBody) else None
        return np.zeros((1, 3)) if outline is None else outline.points
    places: Array = points
    return places


def _abscissas(rod: Rod, points: Any) -> Array:
    """Return the abscissas (k, m) of the spheres along a rod."""
    if points is None or points.ndim == 0:
        count = 1 if points is None else int(points)
        return np.linspace(0.0, rod.given_length, count) if count > 1 else np.array([rod.given_length])
    abscissas: Array = points
    return abscissas
