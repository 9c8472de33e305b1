"""Shapes that contacts touch, each with its distance from any place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COMPLEX_STEP, EXACT
from titop.blocks.basics.user_input import FieldReader

#: What tells shapes apart in the numbers of compiled laws: planes, boxes whose edges are rounded by a radius (spheres and
#: capsules among them), round walls without ends, and round bodies with flat ends.
PLANE, ROUNDED, WALL, BARREL = range(4)
#: What each kind of shape has.
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "plane": ("normal",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length", "inside"),
    "box": ("sides",),
    "capsule": ("radius", "length"),
}
_Z = np.array([0.0, 0.0, 1.0])
#: After so many halvings two places of a line are one.
HALVINGS = 60
#: Axes that are as parallel as this (rad) to a surface are nearest to it in their middle.
LEVEL = EXACT


class Shape:
    """What a `Contact` touches, fixed in the frame of its port: `plane`, `sphere`, `cylinder`, `box` or `capsule`.

    Attributes
    ----------
    kind : str
        Name of the function that made it.
    dimensions : dict of str to number or array
        What that was given, by name (m).
    numbers : (5,) array
        As compiled laws read it.

    Notes
    -----
    The distance of a place from the surface is negative inside of the material, and its gradient the unit vector out of the
    nearest place of the surface. Where several are nearest, deep inside of a box or on the axis of a wall, one of them is
    taken: there what touches it jumps. Spheres that are larger than they are deep never come there: they round edges and
    corners.

    Examples
    --------
    >>> import titop as tt
    >>> distance, normal = tt.Shape.box([2, 2, 2]).distance([1.3, 1.4, 0])
    >>> round(float(distance), 12), [round(float(x), 12) for x in normal[:2]]
    (0.5, [0.6, 0.8])
    """

    def __init__(self, kind: str, **dimensions: Any) -> None:
        if set(dimensions) != set(DIMENSIONS.get(kind, ())):
            expected, advice = (
                f"all dimensions of one of {', '.join(DIMENSIONS)}",
                "write tt.Shape.sphere(0.1), or Shape.of_kind",
            )
            raise ModelError(Finding("bad-shape", "shape", f"{kind} of {', '.join(dimensions)}", expected, advice))
        reader = FieldReader(f"shape.{kind}")
        self.kind, self.dimensions = kind, {name: _read(reader, name, value) for name, value in dimensions.items()}
        if reader.findings:
            raise ModelError(reader.findings)
        self.numbers = self._numbers()

    @classmethod
    def plane(cls, normal: Any = (0.0, 0.0, 1.0)) -> Shape:
        """Return the plane through the origin, below which all is material.

        Parameters
        ----------
        normal : array_like (3,)
            Out of it; of any length.

        Raises
        ------
        ModelError
            If it is no direction.
        """
        return cls("plane", normal=normal)

    @classmethod
    def sphere(cls, r: float) -> Shape:
        """Return a sphere about the origin.

        Parameters
        ----------
        r : float, m

        Raises
        ------
        ModelError
            If the radius is not positive.
        """
        return cls("sphere", radius=r)

    @classmethod
    def cylinder(cls, r: float, length: float | None = None, inside: bool = False) -> Shape:
        """Return a cylinder about z, or the wall around a hollow one.

        Parameters
        ----------
        r : float, m
        length : float, m, optional
            Between flat ends, the origin in the middle; without it the cylinder is endless.
        inside : bool
            Whether all *around* the cylinder is material: what touches the wall is inside. The hollow is endless then.

        Raises
        ------
        ModelError
            If radius or length are not positive, or a hollow one has ends.
        """
        if inside and length is not None:
            advice = "leave the length out, and close the ends by contacts with planes"
            raise ModelError(Finding("bad-shape", "shape.cylinder.length", length, "none: a hollow one is endless", advice))
        return cls("cylinder", radius=r, length=length, inside=inside)

    @classmethod
    def box(cls, sides: Any) -> Shape:
        """Return a box, the origin in its middle.

        Parameters
        ----------
        sides : array_like (3,), m
            Its lengths along x, y and z.

        Raises
        ------
        ModelError
            If they are not positive.
        """
        return cls("box", sides=sides)

    @classmethod
    def capsule(cls, r: float, length: float) -> Shape:
        """Return all that is no further than `r` from a straight line along z, whose middle is the origin.

        Parameters
        ----------
        r : float, m
        length : float, m
            Of the line: from tip to tip it is ``length + 2 r``.

        Raises
        ------
        ModelError
            If they are not positive.
        """
        return cls("capsule", radius=r, length=length)

    @classmethod
    def of_kind(cls, kind: str, **dimensions: Any) -> Shape:
        """Return the shape of a kind with dimensions by name, as model files have it.

        Parameters
        ----------
        kind : str
        **dimensions

        Raises
        ------
        ModelError
            If there is no such shape, or its dimensions are others or cannot be used.
        """
        if kind not in DIMENSIONS:
            raise ModelError(Finding("unknown-shape", "shape.kind", kind, "a shape", did_you_mean(kind, DIMENSIONS)))
        own, missing = DIMENSIONS[kind], [name for name in DIMENSIONS[kind][:1] if name not in dimensions]
        if unknown := [name for name in dimensions if name not in own]:
            advice = did_you_mean(unknown[0], own)
            raise ModelError(
                Finding("unknown-dimension", f"shape.{unknown[0]}", unknown[0], f"a dimension of a {kind}", advice)
            )
        if missing or (kind == "capsule" and len(dimensions) < 2):
            expected = f"all dimensions of a {kind}: {', '.join(own)}"
            raise ModelError(Finding("missing-dimension", "shape", [*dimensions], expected, "give them"))
        first, *_ = own
        made: Shape = getattr(cls, kind)(dimensions.pop(first), **dimensions)
        return made

    def _numbers(self) -> Array:
        own = self.dimensions
        if self.kind == "plane":
            return np.array([PLANE, *own["normal"], 0.0])
        if self.kind == "cylinder" and own["length"] is None:
            return np.array([WALL, own["radius"], -1.0 if own["inside"] else 1.0, 0.0, 0.0])
        if self.kind == "cylinder":
            return np.array([BARREL, own["radius"], 0.5 * own["length"], 0.0, 0.0])
        half = 0.5 * own["sides"] if self.kind == "box" else 0.5 * own.get("length", 0.0) * _Z
        return np.array([ROUNDED, *half, own.get("radius", 0.0)])

    def distance(self, place: Any) -> tuple[Any, list[Any]]:
        """Return the distance (m) of a place from the surface, negative in the material, and the unit vector out of that.

        Parameters
        ----------
        place : array_like (3,), m
        """
        kind, own, (x, y, z) = self.numbers[0], self.numbers[1:], place
        if kind == PLANE:
            return own[0] * x + own[1] * y + own[2] * z, list(own[:3])
        if kind == ROUNDED:
            apart, out = _from_box((x, y, z), own[:3])
            return apart - own[3], out
        across, (e, f) = _from_box((x, y), (0.0, 0.0))
        if kind == WALL:
            return own[1] * (across - own[0]), [own[1] * e, own[1] * f, 0.0 * z]
        apart, (aside, along) = _from_box((across, z), own[:2])
        return apart, [aside * e, aside * f, along]

    def nearest(self, middle: Any, along: Any, half: float) -> Any:
        """Return the place on a line, from -half to half (m), that is nearest to this shape, which has to be convex.

        Along a line the slope of the distance only rises. Bisection finds its zero, and the implicit function its derivatives.

        Parameters
        ----------
        middle, along : (3,) arrays
            The middle of the line (m), and the unit vector along it.
        half : float, m
            How far it goes to both sides.
        """

        def slope(middle: Any, along: Any, s: Any) -> Any:
            return sum(
                n * u
                for n, u in zip(self.distance([p + s * u for p, u in zip(middle, along, strict=True)])[1], along, strict=True)
            )

        (p, u), low, high = ([float(np.real(x)) for x in vector] for vector in (middle, along)), -half, half
        for _ in range(HALVINGS):
            s = 0.5 * (low + high)
            low, high = (low, s) if slope(p, u, s) + LEVEL * s / half > 0 else (s, high)
        s = 0.5 * (low + high)
        if not slope(p, u, -half) < LEVEL or not slope(p, u, half) > -LEVEL:
            return s
        bend = slope(p, u, s + 1j * COMPLEX_STEP).imag / COMPLEX_STEP + LEVEL / half
        place: Any = s
        for _ in range(1 + max(getattr(x, "order", 0) for x in (*middle, *along))):
            left = slope(middle, along, place) + LEVEL * place / half
            place = place - (left - np.real(left)) / bend
        return place

    @property
    def is_convex(self) -> bool:
        """Whether it bulges, as planes and hollow walls do not."""
        return self.kind != "plane" and not self.dimensions.get("inside", False)

    def __repr__(self) -> str:
        given = (value.tolist() if isinstance(value, np.ndarray) else value for value in self.dimensions.values())
        return f"Shape.{self.kind}({', '.join(map(str, given))})"


def _read(reader: FieldReader, name: str, value: Any) -> Any:
    """Return a dimension, read; a direction of unit length."""
    if name == "inside":
        return reader.switch(name, value)
    if name == "normal":
        normal = reader.axis(name, value)
        if not normal.any():
            reader.report("zero-axis", name, normal.tolist(), "a direction", "give [0, 0, 1]")
            return normal
        return normal / np.sqrt(normal @ normal)
    if name == "length" and value is None:
        return None
    read: Any = reader.array(name, value, (3,)) if name == "sides" else reader.scalar(name, value)
    if (np.asarray(read) <= 0).any():
        reader.report("bad-size", name, value, "lengths > 0", "check the sign and the unit")
    return read


def _from_box(place: Sequence[Any], half: Any) -> tuple[Any, list[Any]]:
    """Return the distance of a place from a box about the origin, as long to both sides of it as said, and the way out."""
    sides = [-1.0 if np.real(x) < 0 else 1.0 for x in place]
    beyond = [side * x - h for side, x, h in zip(sides, place, half, strict=True)]
    out = [x if np.real(x) > 0 else 0.0 * x for x in beyond]
    square = sum(x * x for x in out)
    if np.real(square) > 0:
        apart = np.sqrt(square)
        return apart, [side * x / apart for side, x in zip(sides, out, strict=True)]
    last = max(range(len(beyond)), key=lambda k: (np.real(beyond[k]), -k))
    return beyond[last], [side * float(k == last) for k, side in enumerate(sides)]
