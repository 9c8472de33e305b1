"""What an animation shows of a model: bodies, rods, ports, joints' axes, and the shapes that users give."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, pairwise, product
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import owner_of, split_path
from titop.blocks.basics.spatial import Array, matrix_quaternion, quaternion_matrix
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.joints.joint import Joint, unit_vector
from titop.graph.network.connections import Connection
from titop.solvers.model.model import Model
from titop.solvers.pictures.frames import (
    WORLD,
    Anchor,
    Frames,
    arrows,
    contact_solids,
    ellipsoid,
    lines,
    neutral_chord,
    pack_course,
    pack_numbers,
    port_anchor,
    rotation_to,
    routed,
    strings,
)
from titop.solvers.pictures.meshes import PAGE_TRIANGLES, Mesh, is_mesh, read_meshes

#: Numbers that describe each kind of given shape.
_DIMENSIONS = {"box": (3,), "cylinder": (2,), "capsule": (2,), "sphere": (), "ellipsoid": (3,)}
#: Colours of bodies, one after another.
PALETTE = ("#3f7fd0", "#e08a2e", "#45a36b", "#c9524f", "#8a6fc4", "#3aa5b5", "#d16ba5", "#9a8a3c")
#: Kinds of solids, and what makes half an extent of a size: a cylinder has radii and a length.
SOLIDS = {"box": np.full(3, 0.5), "cylinder": np.array([1.0, 1.0, 0.5]), "sphere": np.ones(3)}
#: Radii and length of a cylinder, as parts of the semi-axes of the ellipsoid with its mass and inertia.
_CYLINDER = np.sqrt([0.8, 0.8, 2.4])


@dataclass(frozen=True)
class Visual:
    """A given shape: `size` in x, y, z, placed in a block's reference frame; `color` None for the block's own.

    That of a mesh is what stretches it, and its `kind` the path of its file, or the mesh itself.
    """

    kind: Any
    size: Array
    position: Array
    rotation: Array
    color: str | None


def read_visuals(model: Model, visuals: Mapping[str, Any]) -> dict[str, list[Visual]]:
    """Read given shapes; those that bodies have for others."""
    reader = FieldReader("visuals")
    result: dict[str, list[Visual]] = {}
    if not isinstance(visuals, Mapping):
        reader.report("wrong-type", "visuals", visuals, "a mapping of block names to shapes", 'write {"hub": {"sphere": 0.1}}')
        raise ModelError(reader.findings)
    known, blocks = (WORLD, *model.body_names), model.mechanism.assembly.blocks
    visuals = {name: blocks[name].visuals for name in known if len(blocks[name].visuals)} | dict(visuals)
    for name, value in visuals.items():
        if name not in known:
            reader.report("unknown-block", str(name), name, "a body or the world", did_you_mean(name, known))
            continue
        shapes = list(value) if isinstance(value, list | tuple) else [value]
        result[name] = [visual for shape in shapes for visual in _read_visual(reader, name, shape)]
    reader.raise_findings()
    return result


def _read_visual(reader: FieldReader, name: str, shape: Any) -> list[Visual]:
    kinds = [kind for kind in (*_DIMENSIONS, "mesh") if kind in shape] if isinstance(shape, Mapping) else []
    if len(kinds) != 1:
        advice = 'write {"box": [dx, dy, dz]}, {"cylinder": [radius, height]}, {"sphere": radius} or {"mesh": "arm.stl"}'
        reader.report("unknown-visual", name, shape, f"exactly one of {', '.join(_DIMENSIONS)} and mesh", advice)
        return []
    kind, options = kinds[0], ("color", "position", "rotation", *(["scale"] if "mesh" in kinds else []))
    for key in (key for key in shape if key not in (kind, *options)):
        reader.report("unknown-visual", f"{name}.{key}", shape[key], f"the keys {kind}, {', '.join(options)}", "remove it")
    position = reader.array(f"{name}.position", shape.get("position", np.zeros(3)), (3,))
    rotation = reader.rotation(f"{name}.rotation", shape.get("rotation", np.eye(3)))
    if kind == "mesh":
        mesh = shape[kind]
        if isinstance(mesh, str | os.PathLike):
            mesh = os.fspath(mesh)
            if not os.path.isfile(mesh):
                reader.report("no-file", f"{name}.mesh", mesh, "the path of a mesh's file", "check the path")
        elif not is_mesh(mesh):
            expected, advice = "a path, or a mesh with its vertices (k, 3) and faces (m, 3)", "give the path of its file"
            reader.report("wrong-type", f"{name}.mesh", type(mesh).__name__, expected, advice)
        scale = reader.array(f"{name}.scale", shape.get("scale", np.ones(3)), (3,))
        color = _read_color(reader, f"{name}.color", shape.get("color"))
        return [Visual(mesh, scale, position, rotation, color)]
    numbers = np.atleast_1d(reader.array(f"{name}.{kind}", shape[kind], _DIMENSIONS[kind]))
    if (numbers <= 0).any():
        reader.report("bad-size", f"{name}.{kind}", shape[kind], "lengths > 0", "check the sign and the unit")
    color = _read_color(reader, f"{name}.color", shape.get("color"))
    if kind != "capsule":
        size = numbers if len(numbers) == 3 else numbers[[0, 0, -1]]
        return [Visual("sphere" if kind == "ellipsoid" else kind, size, position, rotation, color)]
    ends = [position + 0.5 * side * numbers[1] * rotation[:, 2] for side in (-1, 1)]
    balls = [Visual("sphere", numbers[[0, 0, 0]], end, rotation, color) for end in ends]
    return [Visual("cylinder", numbers[[0, 0, 1]], position, rotation, color), *balls]


#: Colours of axes x, y and z.
AXES = ("#d9534f", "#4caf6e", "#4a80d9")


def read_frames(model: Model, frames: bool | Iterable[str]) -> tuple[str, ...]:
    """Return the bodies and ports whose axes are asked for; True are the bodies, and the ports that something is connected to.

    Raises `ModelError` for names of nothing.
    """
    if isinstance(frames, bool | np.bool_):
        connected = Frames(model).connected.items() if frames else ()
        return tuple(f"{name}.{port}" if port else name for name, ports in connected for port in dict.fromkeys((None, *ports)))
    reader, known = FieldReader("frames"), (WORLD, *model.body_names, *model.port_names)
    expected = "a body, a port, or True for all"
    if not isinstance(frames, Iterable | PortRef):
        raise ModelError(Finding("wrong-type", "frames", frames, expected, 'write frames=["hub"]'))
    names = tuple(dict.fromkeys(map(str, (frames,) if isinstance(frames, str | PortRef) else frames)))
    for name in names:
        if name not in known:
            reader.report("unknown-port", name, name, expected, did_you_mean(name, known))
    reader.raise_findings()
    return names


def _read_color(reader: FieldReader, where: str, value: Any) -> str | None:
    from matplotlib.colors import to_hex

    try:
        return None if value is None else to_hex(value)
    except (ValueError, TypeError):
        reader.report("unknown-color", where, value, "a colour of Matplotlib", 'write "tab:blue", "#1f77b4" or (0.1, 0.5, 0.7)')
        return None


#: How far what contacts touch is shown where it has no end; radii of rods, port dots and point masses, lengths of joint axes
#: and of the world's: parts of the bodies' size.
_REACH = 4.0
_ROD, _DOT, _BALL, _PIN, _TRIAD = 0.014, 0.024, 0.1, 0.2, 0.35
#: Opacity of bodies with tendons or chambers in them.
_HOLLOW = 0.4
#: Where a unit sphere and a cube of half edge 1 end.
_TIPS = np.concatenate([np.eye(3), -np.eye(3)])
_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))


@dataclass(frozen=True)
class Scene(Frames):
    """The shapes of a model's blocks, each fixed in a frame of the model."""

    q: Array  #: (n, nq): the configurations of the motion that is shown: rails are as long as it.
    visuals: dict[str, list[Visual]] = field(default_factory=dict)
    axes: tuple[str, ...] = ()  #: The bodies and ports whose axes are shown.

    def __post_init__(self) -> None:
        if not self.names:
            raise ModelError(Finding("nothing-to-draw", self.model.name, "no body", "a body that moves", "connect one"))

    def description(self) -> dict[str, Any]:
        """Return everything but the motion, ready for JSON."""
        return {
            "title": str(self.model.name),
            "palette": PALETTE,
            "up": self.up,
            "detail": self.detail,
            "frames": self.names,
            "meshes": [
                pack_course(mesh.points) | {"triangles": pack_numbers(mesh.triangles)} for mesh in self.meshes_by_kind.values()
            ],
            "shapes": self.shapes,
            "links": self.links,
            "sweeps": self.sweeps,
            "surfaces": self.surfaces,
            "labels": self.labels,
        }

    def extents(self) -> Iterator[tuple[int, Array]]:
        """Yield frames and positions of what should be seen: the ends of shapes and lines, without axes."""
        yield from ((link[end]["frame"], link[end]["position"]) for link in self.links for end in ("from", "to"))
        for swept in self.rods:
            outlines = enumerate(swept.outlines(), start=self.index[swept.frame(0)])
            yield from ((frame, point) for frame, outline in outlines for point in outline)
        for shape in self.shapes:
            if shape["role"] not in ("triad", "axes"):
                radii = np.array(shape["size"]) * SOLIDS.get(shape["kind"], 1.0)
                if (mesh := self.meshes_by_kind.get(shape["kind"])) is not None:
                    radii = radii * np.abs(mesh.points).max(axis=0)
                axes = quaternion_matrix(shape["rotation"]) * radii
                ends = _TIPS if shape["kind"] == "sphere" else _CORNERS
                yield from ((shape["frame"], shape["position"] + axes @ end) for end in ends)

    @cached_property
    def meshes(self) -> dict[Any, list[tuple[str, Mesh]]]:
        """The surfaces of meshes by path or mesh, each with the kind of its shapes."""
        paths = [visual.kind for shapes in self.visuals.values() for visual in shapes if visual.kind not in SOLIDS]
        read, numbers = read_meshes(paths, PAGE_TRIANGLES), count()
        return {path: [(f"mesh {next(numbers)}", mesh) for mesh in meshes] for path, meshes in read.items()}

    @cached_property
    def meshes_by_kind(self) -> dict[str, Mesh]:
        """The surfaces of meshes by the kind of their shapes."""
        return {kind: mesh for meshes in self.meshes.values() for kind, mesh in meshes}

    @cached_property
    def sweeps(self) -> list[dict[str, Any]]:
        """The rods: the first frame of their sections, and the sections' shape and reach along y and z."""
        return [
            {
                "name": swept.rod.name,
                "color": self.index[swept.rod.name],
                "opacity": self._opacity(swept.rod.name),
                "first": self.index[swept.frame(0)],
                "shape": swept.shape,
                "reach": swept.reach.ravel(),
            }
            for swept in self.rods
        ]

    @cached_property
    def surfaces(self) -> list[dict[str, Any]]:
        """Frames of the bodies with surfaces, and the triangles of these."""
        return [
            {
                "name": shown.name,
                "color": "joint" if shown.at_rest is not None else self.index[shown.body.name],
                "opacity": self._opacity(shown.name),
                "frame": self.index[shown.body.name],
                "triangles": shown.triangles.ravel().tolist(),
            }
            for shown in self.surfaces_shown
        ]

    @cached_property
    def _hollow(self) -> set[str]:
        return {body.name for line in lines(self.model) for body in line.own_blocks}

    def _opacity(self, name: str) -> float:
        """Return how opaque a rod or deformable body is: tendons and chambers in it are seen."""
        return _HOLLOW if name in self._hollow else 1.0

    @cached_property
    def shapes(self) -> list[dict[str, Any]]:
        """The rigid shapes, each fixed in a frame."""
        given = {name: [*self._visuals(name)] for name in self.visuals}
        seen = {name for name, shapes in given.items() if shapes or not self.visuals[name]}
        seen |= {shown.name for shown in self.surfaces_shown}
        axes = (self._triad("axes", name, 0.5 * _TRIAD) for name in self.axes)
        parts = [self._triad("triad", WORLD, _TRIAD), *axes, *given.values()]
        for k, connection in enumerate(self.connections):
            body = connection.child.block
            if not (body.nv and body.ports):
                if body.name not in seen:
                    parts.append(self._solid(body, k))
                if not any(shape["kind"] in self.meshes_by_kind for shape in given.get(body.name, ())):
                    parts.append(self._bars(connection, k))
            if isinstance(connection.joint, Joint):
                parts.append(self._axes(connection, connection.joint))
        parts += [self._dots(), self._contacts(), self._marks()]
        return [shape for part in parts for shape in part]

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        """The lines of users' blocks, cables, springs, tendons in rods, closures and forces, between frames that move apart."""
        links, surfaces = [], {shown.name for shown in self.surfaces_shown}
        for k, connection in enumerate(self.connections):
            joint, body = connection.joint, connection.child.block
            if not isinstance(joint, Joint):
                ends = self.joint_anchor(connection), port_anchor(body, connection.child.name)
                links.append(self._link(joint, joint.ports[0], *ends, k))
            if body.nv and not body.has_sections and body.name not in surfaces:
                links += [self._link(body, port, port_anchor(body, None), port_anchor(body, port), k) for port in body.ports]
        for name, ports in strings(self.model):
            near, far = (port_anchor(ref.block, ref.name) for ref in ports)
            links.append(self._straight(name, (near, near.position), (far, far.position), 0.7))
        for name, frames, places, radius in routed(self.model, self.rods):
            near, far = (Anchor(frame, np.eye(3), np.zeros(3)) for frame in frames)
            thick = radius / (_ROD * self.detail) or 0.7
            links.append(self._straight(name, (near, places[0]), (far, places[1]), thick))
        for what, heads in (("force", (1.5,)), ("torque", (1.0, 1.5))):
            for name, port, direction, is_inertial in arrows(self.model, what):
                start, reach = port_anchor(port.block, port.name), _PIN * self.detail * direction
                along = np.zeros(3) if is_inertial else start.rotation @ reach
                for first, last, radius in ((0.0, 1.5, 0.7), *((head, head + 0.5, 2.2) for head in heads)):
                    ends_at = [(start, start.position + part * along) for part in (first, last)]
                    shifts = (first * reach, last * reach) if is_inertial else (np.zeros(3), np.zeros(3))
                    links.append(self._straight(name, ends_at[0], ends_at[1], radius, shifts) | {"is_head": first > 0})
        return links

    def _straight(
        self,
        name: str,
        start: tuple[Anchor, Array],
        end: tuple[Anchor, Array],
        radius: float,
        shifts: tuple[Array, Array] = (np.zeros(3), np.zeros(3)),
    ) -> dict[str, Any]:
        """Return a line between points of two frames, `shifts` (3, m) beyond them in inertial axes."""
        ends = [
            {"frame": self.index[anchor.name], "position": position, "tangent": np.zeros(3), "shift": shift}
            for (anchor, position), shift in zip((start, end), shifts, strict=True)
        ]
        return {"name": name, "color": "joint", "radius": radius * _ROD * self.detail, "from": ends[0], "to": ends[1]}

    @cached_property
    def labels(self) -> list[dict[str, Any]]:
        """Name, place and facts of every body."""
        return [self._label(connection) for connection in self.connections]

    def _shape(
        self, role: str, name: str, kind: str, size: Any, anchor: Anchor, color: str | int | None = None
    ) -> dict[str, Any]:
        """Return a shape; its colour is a body's number, one of the page (its role) or the user's."""
        return {
            "role": role,
            "name": name,
            "kind": kind,
            "size": size,
            "frame": self.index[anchor.name],
            "position": anchor.position,
            "rotation": matrix_quaternion(anchor.rotation),
            "color": role if color is None else color,
        }

    def _bar(self, role: str, name: str, start: Anchor, end: Array, radius: float, color: Any = None) -> dict[str, Any]:
        """Return a cylinder from an anchor to a point of its frame."""
        span = end - start.position
        length = float(np.linalg.norm(span))
        middle = Anchor(start.name, rotation_to(span / length), start.position + span / 2)
        return self._shape(role, name, "cylinder", [radius, radius, length], middle, color)

    def _triad(self, role: str, name: str, part: float) -> Iterator[dict[str, Any]]:
        """The axes of a body or port, so long in parts of the bodies' size."""
        body, port = split_path(name)
        origin = port_anchor(self.model.mechanism.assembly.blocks[body], port)
        for axis, direction, color in zip("xyz", origin.rotation.T, AXES, strict=True):
            end = origin.position + part * self.detail * direction
            yield self._bar(role, f"{name} {axis}", origin, end, 0.5 * _ROD * self.detail, color)

    def _visuals(self, name: str) -> Iterator[dict[str, Any]]:
        color = "port" if name == WORLD else self.index[name]
        for visual in self.visuals[name]:
            place = Anchor(name, visual.rotation, visual.position)
            chosen = color if visual.color is None else visual.color
            if visual.kind in SOLIDS:
                yield self._shape("visual", name, visual.kind, visual.size, place, chosen)
            for kind, mesh in self.meshes.get(visual.kind, ()):
                own = chosen if visual.color or mesh.color is None else mesh.color
                middle = place.compose(np.eye(3), visual.size * mesh.center)
                yield self._shape("visual", name, kind, mesh.half * visual.size, middle, own)

    def _solid(self, body: Block, k: int) -> Iterator[dict[str, Any]]:
        """The ellipsoid of a body's mass and inertia, a cylinder for a rotor, a ball for a point mass."""
        mass, com, inertia = self.masses[body.name]
        if mass <= 0:
            return
        if not inertia.any():
            radius = _BALL * self.detail * max((mass / self._heaviest_point) ** (1 / 3), 0.3)
            yield self._shape("visual", body.name, "sphere", [radius] * 3, Anchor(body.name, np.eye(3), com), k)
            return
        semi_axes, axes = ellipsoid(mass, inertia)
        semi_axes = np.maximum(semi_axes, _DOT * self.detail)
        kind = "sphere"
        if body.drawn_as == "cylinder":  # about the axis whose moment differs most, which is the first or the last
            order = [1, 2, 0] if 2 * semi_axes[1] < semi_axes[0] + semi_axes[2] else [0, 1, 2]
            kind, axes, semi_axes = "cylinder", axes[:, order], _CYLINDER * semi_axes[order]
        yield self._shape("ellipsoid", body.name, kind, semi_axes, Anchor(body.name, axes, com), k)

    @cached_property
    def _heaviest_point(self) -> float:
        return max(float(of.mass) for of in self.masses.values() if not of.inertia.any())

    def _bars(self, connection: Connection, k: int) -> Iterator[dict[str, Any]]:
        """Lines from where a body hangs to what it is joined to, and to its centre of mass."""
        body = connection.child.block
        mass, com, _ = self.masses[body.name]
        start = port_anchor(body, connection.child.name)
        ends = [body.neutral_pose(port)[1] for port in self.connected[body.name]]
        for end in (*ends, *([] if mass <= 0 or any(np.allclose(com, end) for end in ends) else [com])):
            if np.linalg.norm(end - start.position) > TYPED * self.detail:
                yield self._bar("rod", body.name, start, end, _ROD * self.detail, k)

    def _axes(self, connection: Connection, joint: Joint) -> Iterator[dict[str, Any]]:
        """A pin for each axis of rotation, a rail as long as the motion for each of translation, a ball for three; curves."""
        parent, child = self.joint_anchor(connection), port_anchor(connection.child.block, connection.child.name)
        if (shape := joint.picture(joint.neutral())) is not None:
            points = parent.position + shape.points @ parent.rotation.T
            for line in shape.lines:
                for start, end in pairwise(points[line]):
                    place = Anchor(parent.name, parent.rotation, start)
                    yield self._bar("joint", joint.name, place, end, 0.6 * _ROD * self.detail)
        for i, link in enumerate(joint.chain):
            place = child if i and i == len(joint.chain) - 1 else parent
            if link.kind == "spherical":
                yield self._shape("joint", joint.name, "sphere", [2.5 * _ROD * self.detail] * 3, child)
            if link.kind != "axial":
                continue
            axis = place.rotation @ unit_vector(
                getattr(joint, link.axis) if isinstance(link.axis, str) else np.array(link.axis)
            )
            half = 0.5 * _PIN * self.detail
            if link.angular:
                start = Anchor(place.name, place.rotation, place.position - half * axis)
                yield self._bar("joint", joint.name, start, place.position + half * axis, 2 * _ROD * self.detail)
            if link.linear == 1.0:
                travel = self.q[:, self.model.mechanism.assembly.q_slices[joint.name].start + i]
                start = Anchor(place.name, place.rotation, place.position + (travel.min() - half) * axis)
                yield self._bar(
                    "joint", joint.name, start, place.position + (travel.max() + half) * axis, 0.6 * _ROD * self.detail
                )

    def _dots(self) -> Iterator[dict[str, Any]]:
        radius = [_DOT * self.detail] * 3
        for name, ports in self.connected.items():
            block = self.model.mechanism.assembly.blocks[name]
            moving = block.ports if block.nv else ()
            for port in dict.fromkeys((*ports, *moving)):
                label = name if port is None else f"{name}.{port}"
                yield self._shape("port", label, "sphere", radius, port_anchor(block, port))

    def _marks(self) -> Iterator[dict[str, Any]]:
        """A ball where a closure joins its first port, a cube at the port or the joint of a sensor."""
        joints = {connection.joint.name: self.joint_anchor(connection) for connection in self.connections}
        for name, (port, _) in strings(self.model):
            yield self._shape("joint", name, "sphere", [1.3 * _DOT * self.detail] * 3, port_anchor(port.block, port.name))
        for sensor in self.model.mechanism.assembly.sensors:
            at = getattr(sensor, "target", None)
            place = joints.get(owner_of(str(getattr(sensor, "joint", ""))))
            if (anchor := port_anchor(at.block, at.name) if isinstance(at, PortRef) else place) is not None:
                yield self._shape("joint", sensor.name, "box", [3 * _DOT * self.detail] * 3, anchor)

    def _contacts(self) -> Iterator[dict[str, Any]]:
        """What contacts touch, and the spheres that do."""
        for contact, port, solid in contact_solids(self.model, _REACH * self.detail):
            place = port_anchor(port.block, port.name).compose(solid.rotation, solid.position)
            color = self.index[port.block.name]
            yield self._shape("touched", contact.name, solid.kind, solid.size, place, "port" if color < 0 else color)

    def _link(self, block: Block, port: str, start: Anchor, end: Anchor, k: int) -> dict[str, Any]:
        """Return a line that is straight at the block's neutral configuration and leaves both ports as it does there."""
        chord = neutral_chord(block, port)
        rotation = block.pose(port, block.neutral())[0] if chord.any() else np.eye(3)
        ends = [(start, start.rotation @ chord), (end, end.rotation @ rotation.T @ chord)]
        near, far = (
            {"frame": self.index[anchor.name], "position": anchor.position, "tangent": tangent, "shift": np.zeros(3)}
            for anchor, tangent in ends
        )
        return {"name": block.name, "color": k, "radius": 2 * _ROD * self.detail, "from": near, "to": far}

    def _label(self, connection: Connection) -> dict[str, Any]:
        """Return name, place and a line of facts."""
        body, joint = connection.child.block, connection.joint
        mass, com, _ = self.masses[body.name]
        at = np.zeros(3) if body.nv else com
        facts = f"{mass:.4g} kg, " if mass else f"{type(body).__name__}, "
        facts += f"on {joint.name} ({type(joint).__name__})"
        k = self.index[body.name]
        return {"name": body.name, "facts": facts, "frame": k, "position": at, "color": k}
