"""The shapes that contacts touch, as solids and as lines: what goes on endlessly is shown as far as bodies reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import PortRef
from titop.blocks.interactions.contact import Contact
from titop.blocks.interactions.shape import Shape
from titop.blocks.interactions.touching import RigidSpheres
from titop.solvers.model.model import Model

#: Corners of a circle; thickness of a plane, in parts of what is shown of it.
_CORNERS, _THIN = 49, 0.004


class Solid(NamedTuple):
    """A sphere, cylinder about z or box: `size` in x, y, z, and where it stands in a frame (m)."""

    kind: str
    size: Array
    rotation: Array
    position: Array


class Touched(NamedTuple):
    """A contact, and the ports of what is touched and of what touches."""

    contact: Contact
    port: PortRef
    touching: PortRef


def touched(model: Model) -> Iterator[Touched]:
    """Yield the contacts."""
    for loop in model.interactions:
        if loop.closure.has_points:
            moves_first = bool(loop.closure.own_blocks)
            yield Touched(loop.closure, loop.ports[moves_first], loop.ports[not moves_first])


def solids(shape: Shape, reach: float) -> list[Solid]:
    """Return the solids of which a shape is made; `reach` (m) is the length of what has no end."""
    own, straight, origin = shape.dimensions, np.eye(3), np.zeros(3)
    if shape.kind == "plane":
        thin = _THIN * reach
        turned = _turned_to(own["normal"])
        return [Solid("box", np.array([reach, reach, thin]), turned, -0.5 * thin * own["normal"])]
    if shape.kind == "box":
        return [Solid("box", own["sides"], straight, origin)]
    radius, length = own["radius"], own.get("length", 0.0) or 0.0
    ball = np.full(3, radius)
    if shape.kind == "sphere":
        return [Solid("sphere", ball, straight, origin)]
    body = Solid("cylinder", np.array([radius, radius, length or reach]), straight, origin)
    ends = [np.array([0.0, 0.0, 0.5 * side * length]) for side in (-1, 1)]
    return [body, *(Solid("sphere", ball, straight, end) for end in ends if shape.kind == "capsule")]


def spheres(contact: Contact) -> list[Solid]:
    """Return the spheres or capsules of a rigid body that touch."""
    touching = contact.touching
    if not isinstance(touching, RigidSpheres):
        return []
    if touching.reach:
        capsule = solids(Shape.capsule(touching.radii[0], 2.0 * touching.reach), 0.0)
        return [solid._replace(position=solid.position + place) for place in touching.places for solid in capsule]
    pairs = zip(touching.places, touching.radii, strict=True)
    return [Solid("sphere", np.full(3, radius), np.eye(3), place) for place, radius in pairs if radius > 0]


def outlines(solid: Solid) -> list[Array]:
    """Return lines (k, 3; m) of a solid, in the frame in which it stands."""
    angles = np.linspace(0.0, 2.0 * np.pi, _CORNERS)
    ring = np.array([np.cos(angles), np.sin(angles), 0.0 * angles]).T
    if solid.kind == "box":
        corners = 0.5 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * solid.size
        edges = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        lines = [corners[[a, b]] for a, b in edges]
    elif solid.kind == "sphere":
        lines = [np.roll(ring, k, axis=1) * solid.size for k in range(3)]
    else:
        half = np.array([0.0, 0.0, 0.5 * solid.size[2]])
        rim = ring * solid.size
        lines = [rim - half, rim + half, *(np.array([rim[k] - half, rim[k] + half]) for k in range(0, _CORNERS - 1, 6))]
    return [solid.position + line @ solid.rotation.T for line in lines]


def _turned_to(normal: Array) -> Array:
    """Return a rotation that takes z to a direction."""
    beside = np.eye(3)[np.abs(normal).argmin()]
    x = np.cross(beside, normal)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x), normal])
