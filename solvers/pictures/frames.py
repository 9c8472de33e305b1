"""The frames in which pictures of a model are drawn: where they move, and what is fixed in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import PARENT_PORT, Block
from titop.blocks.contract.description import MassProperties
from titop.blocks.joints.joint import unit_vector
from titop.graph.network.connections import Connection
from titop.solvers.model.model import Model
from titop.solvers.pictures.outlines import DrawnSurface, SweptRod, drawn_surfaces, swept_rods

#: Thinnest semi-axis of an ellipsoid, as a part of its longest: rods and plates, and inertias of no real body, stay visible.
_THINNEST = 0.03
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
        """The bodies that have a surface to show."""
        return drawn_surfaces(self.model)

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
