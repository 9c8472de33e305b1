"""How rods, deformable bodies and what contacts touch look, and the frames in which pictures of a model are drawn."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.constraints.rigid_closure import perpendicular
from titop.blocks.contract.block import PARENT_PORT, Block, PortRef
from titop.blocks.contract.description import MassProperties
from titop.blocks.interactions.contact import Contact
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.interactions.shape import Shape
from titop.blocks.interactions.touching import RigidSpheres
from titop.blocks.joints.joint import unit_vector
from titop.graph.network.connections import Connection
from titop.solvers.model.model import Model

#: Most and fewest stretches between sections that are shown of a rod, and how many of all rods together, if that is between.
_MOST_STRETCHES, _FEWEST_STRETCHES, _STRETCHES = 16, 4, 96
#: Points around a round section, and corners of a circle.
_AROUND, _CORNERS = 24, 49
#: Points around a tendon in a deformable body.
_AROUND_LINES = 8
#: Most points of a surface that is shown; bodies with finer meshes are lines between their ports.
MOST_POINTS = 4000
#: Bytes of a point: three 16-bit numbers, in base64.
POINT_BYTES = 3 * 2 * 4 / 3
#: Largest 16-bit number.
_FULL = 32767
#: Thickness of a plane, in parts of what is shown of it.
_THIN = 1 / 250


@dataclass(frozen=True)
class SweptRod:
    """A rod with the sections at which it is shown."""

    rod: Rod
    abscissas: Array  #: (k; m)
    reach: Array  #: (k, 2; m): how far the sections reach along y and z.

    @property
    def shape(self) -> str:
        """What its sections look like, ``"box"`` or ``"round"``; those of own moments as ellipses with these."""
        return "box" if self.rod.section.shape == "rectangle" else "round"

    def frame(self, k: int) -> str:
        """Return the name of the k-th section's frame."""
        return f"{self.rod.name}@{k}"

    def outlines(self) -> Array:
        """Return the outlines (k, m, 3; m) of the sections in their frames, closed."""
        turn = np.linspace(0.0, 2 * np.pi, _AROUND + 1)
        corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]])
        around = corners if self.shape == "box" else np.column_stack([np.cos(turn), np.sin(turn)])
        return np.pad(self.reach[:, None] * around, [(0, 0), (0, 0), (1, 0)])


def swept_rods(model: Model) -> list[SweptRod]:
    """Return the rods of a model, in the order of its blocks."""
    rods: list[Any] = [block for block in model.mechanism.assembly.blocks.values() if block.has_sections]
    count = int(np.clip(_STRETCHES // max(len(rods), 1), _FEWEST_STRETCHES, _MOST_STRETCHES))
    parts = np.linspace(0.0, 1.0, count + 1)
    return [SweptRod(rod, parts * rod.length, rod.section.reach(parts, rod.given_length).T) for rod in rods]


@dataclass(frozen=True)
class DrawnSurface:
    """The surface by which a body is shown, or a tendon or chamber in a body."""

    name: str
    body: Any
    in_q: slice  #: Where its coordinates stand in q.
    points: Array  #: (k, 3; m): of the surface at the neutral configuration, in the body's frame.
    triangles: Array  #: (m, 3): numbers of points.
    at_rest: Array | None = None  #: (k, 3; m): the points' material, of a tendon or chamber.

    def course(self, configurations: Array) -> Array:
        """Return where the points stand (n, k, 3; m) in the body's frame.

        `configurations` (n, nq).
        """
        if self.at_rest is not None:
            return np.array([self.body.positions(q[self.in_q], self.at_rest) for q in configurations])
        pictures = (self.body.picture(q[self.in_q]) for q in configurations)
        return np.array([picture.points for picture in pictures if picture is not None])


def drawn_surfaces(model: Model, radius: float) -> list[DrawnSurface]:
    """Return the surfaces of a model's bodies, in their order, and what lies in their material: tendons with a `radius` (m)."""
    shown = []
    for body, in_q in pictured_bodies(model):
        picture = body.picture(body.neutral())
        if picture is not None and len(picture.triangles) and len(picture.points) <= MOST_POINTS:
            shown.append(DrawnSurface(body.name, body, in_q, picture.points, picture.triangles))
    for line in lines(model):
        for inside, picture in zip(line.own_blocks, getattr(line, "drawn", ()), strict=False):
            points, triangles = picture[:2] if len(picture.triangles) else _tube(picture.points, radius)
            soft: Any = inside
            place = soft.positions(soft.neutral(), points)
            shown.append(DrawnSurface(line.name, soft, model.mechanism.assembly.q_slices[soft.name], place, triangles, points))
    return shown


def lines(model: Model) -> list[Any]:
    """Return the tendons and chambers in bodies."""
    return [loop.closure for loop in model.mechanism.assembly.loops if loop.closure.drawn_within]


def tube_triangles(rings: int, around: int) -> Array:
    """Return the triangles between rings of points, of which the last stands where the first does."""
    k = (np.arange(rings - 1)[:, None] * around + np.arange(around - 1)).ravel()
    return np.concatenate([np.column_stack([k, k + 1, k + around + 1]), np.column_stack([k, k + around + 1, k + around])])


def _tube(points: Array, radius: float) -> tuple[Array, Array]:
    """Return points and triangles of a tube about a line (k, 3; m)."""
    along = np.gradient(points, axis=0)
    across = np.cross(along, np.eye(3)[np.abs(along.sum(axis=0)).argmin()])
    sides = [side / np.linalg.norm(side, axis=1)[:, None] for side in (across, np.cross(along, across))]
    turn = np.linspace(0.0, 2 * np.pi, _AROUND_LINES + 1)[:, None]
    ring = np.cos(turn) * sides[0][:, None] + np.sin(turn) * sides[1][:, None]
    return (points[:, None] + radius * ring).reshape(-1, 3), tube_triangles(len(points), _AROUND_LINES + 1)


def routed(model: Model, rods: Sequence[SweptRod]) -> Iterator[tuple[str, tuple[str, str], Array, float]]:
    """Yield tendons and chambers in rods by name, from section to section: two frames, places (2, 3; m) there, a radius (m)."""
    swept_by_name = {swept.rod.name: swept for swept in rods}
    for line in lines(model):
        for number, swept in enumerate(swept_by_name[rod.name] for rod in line.own_blocks if rod.has_sections):
            fractions = swept.abscissas / swept.rod.length
            (start, stop), places, radii = line.course(number, fractions)
            for k, (near, far) in enumerate(pairwise(fractions)):
                if (low := max(start, near)) < (high := min(stop, far)):
                    beyond = swept.rod.length * np.array([[low - near], [high - far]])
                    frames = swept.frame(k), swept.frame(k + 1)
                    yield line.name, frames, np.hstack([beyond, places[:, k : k + 2].T]), float(radii[k : k + 2].mean())


def pictured_bodies(model: Model) -> list[tuple[Block, slice]]:
    """Return the bodies that are not drawn by sections, and where their coordinates stand in q."""
    assembly = model.mechanism.assembly
    bodies = [connection.child.block for connection in assembly.connections]
    return [(body, assembly.q_slices.get(body.name, slice(0, 0))) for body in bodies if not body.has_sections]


def pack_course(course: Array) -> dict[str, Any]:
    """Return places as 16-bit parts of the farthest reach (m) in base64."""
    reach = float(np.abs(course).max())
    return {"unit": reach / _FULL, "points": pack_numbers(np.rint(course * (_FULL / reach)).astype("<i2"))}


def pack_numbers(numbers: Array) -> str:
    """Return whole numbers as 16 bits each in base64."""
    return base64.b64encode(numbers.astype("<i2", copy=False).tobytes()).decode("ascii")


class Solid(NamedTuple):
    """A sphere, cylinder about z or box: `size` in x, y, z, and where it stands in a frame (m)."""

    kind: str
    size: Array
    rotation: Array
    position: Array


def contact_solids(model: Model, reach: float) -> Iterator[tuple[Interaction, PortRef, Solid]]:
    """Yield the solids that contacts touch, the spheres that touch, and facets as square plates.

    Each with the interaction, and the port that carries it. Solids that have no end are shown over a length `reach` (m).
    """
    plates = set[tuple[str, bytes]]()  # of drag and light alike
    for loop in model.mechanism.interactions:
        contact: Any = loop.closure
        for facet in getattr(contact, "facets", ()):
            port, side, normal = loop.ports[1 + facet.target], np.sqrt(facet.area), unit_vector(facet.normal)
            key = str(port), np.concatenate([facet.center, normal]).tobytes()
            if key not in plates:
                plates.add(key)
                size = side * np.array([1.0, 1.0, _THIN])
                yield contact, port, Solid("box", size, rotation_to(normal), facet.center - 0.5 * size[2] * normal)
        if contact.has_points:
            is_first = bool(contact.own_blocks)  # whether the first port is that of what touches
            yield from ((contact, loop.ports[is_first], solid) for solid in solids(contact.touched, reach))
            yield from ((contact, loop.ports[not is_first], sphere) for sphere in _spheres(contact))


def strings(model: Model) -> Iterator[tuple[str, tuple[PortRef, PortRef]]]:
    """Yield cables, springs and closures by name, each with every two of its ports between which it is straight."""
    for loop in model.mechanism.assembly.loops:
        if loop.closure.drawn_straight:
            yield from ((loop.closure.name, pair) for pair in pairwise(loop.ports))


def arrows(model: Model, what: str = "force") -> Iterator[tuple[str, PortRef, Array, bool]]:
    """Yield forces, or each ``"torque"``, by name: port, direction (3), and whether this is in inertial axes or the port's."""
    assembly = model.mechanism.assembly
    for load in assembly.loads:
        vector = getattr(load, what, None)
        if vector is not None and np.any(vector) and isinstance(load.target, PortRef):
            yield load.name, load.target, unit_vector(np.asarray(vector, float)), load.frame == "world"
    actuators: tuple[Any, ...] = assembly.actuators
    for actuator in actuators:
        direction = getattr(actuator, "direction", None)
        is_what = (getattr(actuator, "input_unit", "") == "N m") == (what == "torque")
        if is_what and direction is not None and np.any(direction) and isinstance(actuator.target, PortRef):
            yield actuator.name, actuator.target, unit_vector(np.asarray(direction, float)), False


def solids(shape: Shape, reach: float) -> list[Solid]:
    """Return the solids of which a shape is made; `reach` (m) is the length of what has no end."""
    dimensions, straight, origin = shape.dimensions, np.eye(3), np.zeros(3)
    if shape.kind == "plane":
        thin = _THIN * reach
        rotation = rotation_to(dimensions["normal"])
        return [Solid("box", np.array([reach, reach, thin]), rotation, -0.5 * thin * dimensions["normal"])]
    if shape.kind == "box":
        return [Solid("box", dimensions["sides"], straight, origin)]
    radius, length = dimensions["radius"], dimensions.get("length", 0.0) or 0.0
    ball = np.full(3, radius)
    if shape.kind == "sphere":
        return [Solid("sphere", ball, straight, origin)]
    body = Solid("cylinder", np.array([radius, radius, length or reach]), straight, origin)
    ends = [np.array([0.0, 0.0, 0.5 * side * length]) for side in (-1, 1)]
    return [body, *(Solid("sphere", ball, straight, end) for end in ends if shape.kind == "capsule")]


def _spheres(contact: Contact) -> list[Solid]:
    """Return the spheres or capsules of a rigid body that touch."""
    touching = contact.touching
    if not isinstance(touching, RigidSpheres):
        return []
    if touching.reach:
        capsule = solids(Shape.capsule(touching.radii[0], 2.0 * touching.reach), 0.0)
        return [solid._replace(position=solid.position + place) for place in touching.places for solid in capsule]
    pairs = zip(touching.places, touching.radii, strict=True)
    return [Solid("sphere", np.full(3, radius), np.eye(3), place) for place, radius in pairs if radius > 0]


def edges(solid: Solid) -> list[Array]:
    """Return lines (k, 3; m) of a solid, in the frame in which it stands."""
    angles = np.linspace(0.0, 2.0 * np.pi, _CORNERS)
    ring = np.array([np.cos(angles), np.sin(angles), 0.0 * angles]).T
    if solid.kind == "box":
        corners = 0.5 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * solid.size
        pairs = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        lines = [corners[[a, b]] for a, b in pairs]
    elif solid.kind == "sphere":
        lines = [np.roll(ring, k, axis=1) * solid.size for k in range(3)]
    else:
        half = np.array([0.0, 0.0, 0.5 * solid.size[2]])
        rim = ring * solid.size
        lines = [rim - half, rim + half, *(np.array([rim[k] - half, rim[k] + half]) for k in range(0, _CORNERS - 1, 6))]
    return [solid.position + line @ solid.rotation.T for line in lines]


def rotation_to(direction: Array) -> Array:
    """Return a rotation that takes z to a unit direction (3)."""
    return np.column_stack([*perpendicular(direction), direction])


#: Thinnest semi-axis of an ellipsoid, as a part of its longest: rods and plates, and inertias of no real body, stay visible.
_THINNEST = 0.03
#: Radius of tendons in deformable bodies, as a part of the bodies' size.
_STRING = 0.01
#: What hangs on nothing.
WORLD = "world"


def ellipsoid(mass: float, inertia: Array) -> tuple[Array, Array]:
    """Return semi-axes (3, m) and axes (3x3, columns) of the ellipsoid of uniform density with this mass and inertia.

    From ``I_x = m (b^2 + c^2) / 5``: ``a = sqrt(5 / (2 m) (I_y + I_z - I_x))``, kept from vanishing.

    `mass` (kg); `inertia` (3, 3; kg m^2): about the centre of mass.
    """
    moments, axes = np.linalg.eigh(inertia)
    squares = 2.5 / mass * (moments.sum() - 2 * moments)
    semi_axes = np.sqrt(np.maximum(squares, _THINNEST**2 * squares.max()))
    return semi_axes, axes * np.linalg.det(axes)


def _semi_axes(body: MassProperties) -> Array:
    return ellipsoid(body.mass, body.inertia)[0] if body.mass > 0 and body.inertia.any() else np.zeros(0)


@dataclass(frozen=True)
class Anchor:
    """A frame fixed in a moving one: `rotation` and `position` in the frame of that `name` (a port of the model)."""

    name: str
    rotation: Array
    position: Array

    def compose(self, rotation: Array, position: Array) -> Anchor:
        """Return the frame that stands at this rotation and position in this one."""
        return Anchor(self.name, self.rotation @ rotation, self.position + self.rotation @ position)


def port_anchor(block: Block, port: str | None) -> Anchor:
    """Return where a port stands: fixed in a body without coordinates, or the moving port of another itself."""
    if not block.nv:
        return Anchor(block.name, *block.neutral_pose(port))
    is_body = port is None or port == PARENT_PORT
    return Anchor(block.name if is_body else f"{block.name}.{port}", np.eye(3), np.zeros(3))


def neutral_chord(block: Block, port: str) -> Array:
    """Return the way (3, m) from a block's parent port to a child port at the neutral configuration; zero if undefined."""
    position = np.asarray(block.pose(port, block.neutral())[1], dtype=float)
    return position if np.isfinite(position).all() else np.zeros(3)


@dataclass(frozen=True)
class Frames:
    """The moving frames of a model, and where its blocks are connected."""

    model: Model

    @cached_property
    def up(self) -> Array:
        """Against gravity, or z without gravity."""
        gravity = self.model.gravity
        return -unit_vector(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])

    @cached_property
    def names(self) -> list[str]:
        """Their names, in the order of the poses: the bodies' frames, and the child ports of those with coordinates."""
        ports = [f"{body.name}.{port}" for body in self.bodies if body.nv for port in body.ports]
        return [*self.model.body_names, *ports, *(swept.frame(k) for swept in self.rods for k in range(len(swept.reach)))]

    @cached_property
    def index(self) -> dict[str, int]:
        """Their numbers by name, -1 for the world."""
        return {WORLD: -1, **{name: k for k, name in enumerate(self.names)}}

    @cached_property
    def rods(self) -> list[SweptRod]:
        """The rods, each with the sections at which it is shown."""
        return swept_rods(self.model)

    @cached_property
    def surfaces_shown(self) -> list[DrawnSurface]:
        """The bodies that have a surface to show, and tendons and chambers in these."""
        return drawn_surfaces(self.model, _STRING * self.detail)

    def poses(self, q: Array) -> list[tuple[Array, Array]]:
        """Return rotations and positions (m) of all frames at a configuration, in inertial axes."""
        fixed = len(self.names) - sum(len(swept.reach) for swept in self.rods)
        poses = [self.model.pose(name, q) for name in self.names[:fixed]]
        for swept in self.rods:
            poses += zip(*self.model.section_poses(swept.rod.name, swept.abscissas, q), strict=True)
        return poses

    @property
    def bodies(self) -> list[Block]:
        """The blocks that joints carry, in their order."""
        return [connection.child.block for connection in self.connections]

    @cached_property
    def masses(self) -> dict[str, MassProperties]:
        """Mass properties of the bodies."""
        return {body.name: body.mass_properties() for body in self.bodies}

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The joints, each with what it connects."""
        return self.model.mechanism.assembly.connections

    @cached_property
    def connected(self) -> dict[str, list[str | None]]:
        """The ports of each block that something is connected to, the one by which it hangs first."""
        connected: dict[str, list[str | None]] = {WORLD: []}
        for connection in self.connections:
            connected[connection.child.block.name] = [connection.child.name]
        assembly = self.model.mechanism.assembly
        refs = [*(connection.parent for connection in self.connections), *(load.target for load in assembly.loads)]
        refs += [ref for loop in assembly.loops for ref in loop.named_ports]
        for ref in refs:
            if ref.name not in connected[ref.block.name]:
                connected[ref.block.name].append(ref.name)
        return connected

    @cached_property
    def detail(self) -> float:
        """Root mean square of the bodies' sizes (m), to which the thickness of lines is proportional."""
        sizes = np.array([self._size(connection) for connection in self.connections])
        return float(np.sqrt((sizes[sizes > 0] ** 2).mean())) if sizes.any() else 1.0

    def _size(self, connection: Connection) -> float:
        body = connection.child.block
        if body.nv and body.ports:
            return max(float(np.linalg.norm(neutral_chord(body, port))) for port in body.ports)
        start, masses = body.neutral_pose(connection.child.name)[1], self.masses[body.name]
        ends = [masses.com, *(body.neutral_pose(port)[1] for port in self.connected[body.name])]
        return float(max([*(np.linalg.norm(end - start) for end in ends), *_semi_axes(masses)]))

    def joint_anchor(self, connection: Connection) -> Anchor:
        """Return where a joint stands in its parent."""
        parent, placement = connection.parent, connection.placement
        return port_anchor(parent.block, parent.name).compose(placement.rotation, placement.position)
