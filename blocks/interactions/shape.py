"""Shapes for contacts, with distances of points from their surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.laws.distances import BARREL, PLANE, ROUNDED, WALL, distance, nearest
from titop.blocks.laws.vectors import Vector

#: Dimensions of each kind of shape.
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "plane": ("normal",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length", "inside"),
    "box": ("sides",),
    "capsule": ("radius", "length"),
}
_Z = np.array([0.0, 0.0, 1.0])


class Shape:
    """The shape that a `Contact` touches, fixed in the frame of its port: `plane`, `sphere`, `cylinder`, `box` or `capsule`.

    Constructors raise a ModelError for lengths that are not positive, a normal without direction, and a hollow cylinder with
    ends.

    Attributes
    ----------
    kind : str
        Name of its constructor.
    dimensions : dict of str to number or array
        Its arguments, by name (m).
    numbers : (5,) array
        Its form for compiled laws.

    Notes
    -----
    The distance of a point from the surface is negative inside the material; its gradient is the outward unit normal at the
    nearest surface point. Where several points are nearest, deep inside a box or on the axis of a wall, one of them is chosen,
    and the force jumps. Spheres with a radius larger than their depth never reach such points: edges and corners are then
    rounded.

    Examples
    --------
    >>> import titop as tt
    >>> distance, normal = tt.Shape.box([2, 2, 2]).distance([1.3, 1.4, 0])
    >>> round(float(distance), 12), [round(float(x), 12) for x in normal[:2]]
    (0.5, [0.6, 0.8])
    """

    def __init__(self, kind: str, **dimensions: Any) -> None:
        if set(dimensions) != set(DIMENSIONS.get(kind, ())):
            value, expected = f"{kind} of {', '.join(dimensions)}", f"all dimensions of one of {', '.join(DIMENSIONS)}"
            raise ModelError(Finding("bad-shape", "shape", value, expected, "write tt.Shape.sphere(0.1), or Shape.of_kind"))
        reader = FieldReader(f"shape.{kind}")
        self.kind, self.dimensions = kind, {name: _read(reader, name, value) for name, value in dimensions.items()}
        reader.raise_findings()
        self.numbers = self._numbers()

    @classmethod
    def plane(cls, normal: Any = (0.0, 0.0, 1.0)) -> Shape:
        """Return the plane through the origin, with material below it.

        Parameters
        ----------
        normal : array_like (3,)
            Outward normal; of any length.
        """
        return cls("plane", normal=normal)

    @classmethod
    def sphere(cls, r: float) -> Shape:
        """Return a sphere about the origin.

        Parameters
        ----------
        r : float, m
        """
        return cls("sphere", radius=r)

    @classmethod
    def cylinder(cls, r: float, length: float | None = None, inside: bool = False) -> Shape:
        """Return a cylinder about z, or the wall around a hollow one.

        Parameters
        ----------
        r : float, m
        length : float, m, optional
            Between flat ends, with the origin in the middle; without it the cylinder is infinite.
        inside : bool
            Whether the material is *around* the cylinder, and contact is with the wall from inside. The hollow is then
            infinite.
        """
        if inside and length is not None:
            advice = "leave the length out, and close the ends by contacts with planes"
            raise ModelError(Finding("bad-shape", "shape.cylinder.length", length, "none: a hollow one is endless", advice))
        return cls("cylinder", radius=r, length=length, inside=inside)

    @classmethod
    def box(cls, sides: Any) -> Shape:
        """Return a box with the origin in its middle.

        Parameters
        ----------
        sides : array_like (3,), m
            Its lengths along x, y and z.
        """
        return cls("box", sides=sides)

    @classmethod
    def capsule(cls, r: float, length: float) -> Shape:
        """Return the points within `r` of a straight line along z, with the origin in its middle.

        Parameters
        ----------
        r : float, m
        length : float, m
            Of the line: from tip to tip it is ``length + 2 r``.
        """
        return cls("capsule", radius=r, length=length)

    @classmethod
    def of_kind(cls, kind: str, **dimensions: Any) -> Shape:
        """Return the shape of a kind with dimensions by name, as in model files.

        Parameters
        ----------
        kind : str
        **dimensions

        Raises
        ------
        ModelError
            If there is no such shape, or its dimensions are unknown or invalid.
        """
        if kind not in DIMENSIONS:
            raise ModelError(Finding("unknown-shape", "shape.kind", kind, "a shape", did_you_mean(kind, DIMENSIONS)))
        known, missing = DIMENSIONS[kind], [name for name in DIMENSIONS[kind][:1] if name not in dimensions]
        if unknown := [name for name in dimensions if name not in known]:
            where, advice = f"shape.{unknown[0]}", did_you_mean(unknown[0], known)
            raise ModelError(Finding("unknown-dimension", where, unknown[0], f"a dimension of a {kind}", advice))
        if missing or (kind == "capsule" and len(dimensions) < 2):
            expected = f"all dimensions of a {kind}: {', '.join(known)}"
            raise ModelError(Finding("missing-dimension", "shape", [*dimensions], expected, "give them"))
        first, *_ = known
        made: Shape = getattr(cls, kind)(dimensions.pop(first), **dimensions)
        return made

    def _numbers(self) -> Array:
        sizes = self.dimensions
        if self.kind == "plane":
            return np.array([PLANE, *sizes["normal"], 0.0])
        if self.kind == "cylinder" and sizes["length"] is None:
            return np.array([WALL, sizes["radius"], -1.0 if sizes["inside"] else 1.0, 0.0, 0.0])
        if self.kind == "cylinder":
            return np.array([BARREL, sizes["radius"], 0.5 * sizes["length"], 0.0, 0.0])
        half = 0.5 * sizes["sides"] if self.kind == "box" else 0.5 * sizes.get("length", 0.0) * _Z
        return np.array([ROUNDED, *half, sizes.get("radius", 0.0)])

    def distance(self, place: Any) -> tuple[Any, Vector]:
        """Return the distance (m) of a point from the surface, negative in the material, and the outward unit normal.

        Parameters
        ----------
        place : array_like (3,), m
        """
        return distance(self.numbers[None], place)

    def nearest(self, middle: Any, along: Any, half: float) -> Any:
        """Return the coordinate, from -half to half (m), of the point of a line nearest to this shape, which has to be convex.

        Parameters
        ----------
        middle, along : (3,) arrays
            The middle of the line (m), and the unit vector along it.
        half : float, m
            Half of its length.
        """
        order = 1 + max(getattr(x, "order", 0) for x in (*middle, *along))
        return nearest(self.numbers[None], middle, along, half, order)

    @property
    def is_convex(self) -> bool:
        """Whether it is bounded and convex, unlike planes and hollow walls."""
        return self.kind != "plane" and not self.dimensions.get("inside", False)

    def __repr__(self) -> str:
        values = (value.tolist() if isinstance(value, np.ndarray) else value for value in self.dimensions.values())
        return f"Shape.{self.kind}({', '.join(map(str, values))})"


def _read(reader: FieldReader, name: str, value: Any) -> Any:
    """Read a dimension; a direction is normalised."""
    if name == "inside":
        return reader.switch(name, value)
    if name == "normal":
        normal = reader.axis(name, value)
        if not normal.any():
            reader.report("zero-axis", name, normal.tolist(), "a direction", "give [0, 0, 1]")
            return normal
        return normal / np.sqrt(normal @ normal)
    if name == "length" and value is None and reader.owner == "shape.cylinder":
        return None
    read: Any = reader.array(name, value, (3,)) if name == "sides" else reader.scalar(name, value)
    if (np.asarray(read) <= 0).any():
        reader.report("bad-size", name, value, "lengths > 0", "check the sign and the unit")
    return read
