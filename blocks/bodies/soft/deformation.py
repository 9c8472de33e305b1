"""Functions that place the points of a body, with named coordinates: compositions, and primitives that preserve volume.

Primitives have ``det F = 1`` (key P, simulations 1 and 2; Xu and Chirikjian 2023). Each takes functions of z, one for each
coordinate. Polynomials are integrated exactly, others at twelve Gauss points from the base to any z: bells with a standard
deviation of a quarter of the length to 1e-11. The derivative of an integral is its integrand, independent of the quadrature
error: so volumes are preserved to rounding. `then` composes primitives in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.functions import Shape, ShapeSum, integral, planar_curve, where
from titop.blocks.bodies.soft.soft_fields import DeformationStage, read_names, read_numbers, read_units, with_numbers

#: A bump is zero to rounding where its exponent is below minus this.
_ZERO = 200.0


class Deformation:
    """The part of `Kinematics` that composes functions, and its primitives of one kind of deformation each."""

    def __init__(
        self,
        function: Callable[..., Any],
        coordinates: Sequence[str],
        units: Sequence[str] | None = None,
        scales: Sequence[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        reader = FieldReader("kinematics")
        if not callable(function):
            reader.report("wrong-type", "function", function, "a function f(x, q)", "write def f(x, q): return [...]")
        self.coordinates = read_names(reader, coordinates, None)
        count = len(self.coordinates)
        self.units = read_units(reader, units, count)
        self.scales = tuple(np.ones(count) if scales is None else reader.array("scales", scales, (count,)).tolist())
        read_numbers(reader, parameters)
        reader.raise_findings()
        self.parameters = dict(parameters or {})
        #: The functions of which it is composed.
        self.stages: tuple[DeformationStage, ...] = (
            (DeformationStage(with_numbers(function, 2), 0, count),) if callable(function) else ()
        )

    def __call__(self, x: Any, q: Any, numbers: Any = None) -> Any:
        """Return the position (3, m) of the material point x (3, m at rest); `numbers` has the parameters as attributes."""
        for stage in self.stages:
            x = stage.function(x, q[stage.first : stage.first + stage.size], numbers)
        return x

    def then(self, *others: Deformation) -> Self:
        """Return the composition: these kinematics, followed by the others in order.

        Parameters
        ----------
        *others : Kinematics
            Their coordinates come after these.

        Raises
        ------
        ModelError
            If two coordinates or parameters have one name.

        Examples
        --------
        >>> import titop as tt
        >>> stretch = tt.Kinematics.elongation([lambda z: 1.0])
        >>> stretch.then(tt.Kinematics.twist([lambda z: 5.0 * z])).coordinates
        ('elongation', 'twist')
        """
        parts: tuple[Deformation, ...] = (self, *others)
        for kind in ("coordinates", "parameters"):
            names = [name for part in parts for name in getattr(part, kind)]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                advice = 'give one of them another name, as in tt.Kinematics.twist(shapes, name="turn")'
                raise ModelError(Finding("same-name", f"kinematics.{kind}", twice, "names that differ", advice))
        joined = type(self)(
            self,
            [name for part in parts for name in part.coordinates],
            [unit for part in parts for unit in part.units],
            [scale for part in parts for scale in part.scales],
            {name: value for part in parts for name, value in part.parameters.items()},
        )
        firsts = np.cumsum([0, *(len(part.coordinates) for part in parts)]).tolist()
        joined.stages = tuple(
            stage._replace(first=first + stage.first)
            for first, part in zip(firsts, parts, strict=False)
            for stage in part.stages
        )
        return joined

    # -- primitives ------------------------------------------------------------------------------------------------------------

    @classmethod
    def elongation(cls, shapes: Any, name: str = "elongation", scale: float = 0.3) -> Self:
        """Return elongation by ``p(z)``, with shrinking sections: ``(x, y) / sqrt(1 + p)`` at ``z + int_0^z p``.

        Parameters
        ----------
        shapes : function or sequence of functions
            ``p = sum_k shape_k(z) q_k``, without unit.
        name : str
            Of the coordinates; numbered if there are several.
        scale : float
            Range of a coordinate over which the kinematics are nearly linear.
        """
        read = read_shapes(shapes, name)

        def place(x: Any, q: Any) -> Any:
            stretch = ShapeSum(read, q)
            shrinking = 1.0 / np.sqrt(1.0 + stretch(x[2]))
            return [x[0] * shrinking, x[1] * shrinking, x[2] + integral(stretch, x[2])]

        return cls._of(place, read, name, "1", scale)

    @classmethod
    def twist(cls, shapes: Any, name: str = "twist", scale: float = 1.0) -> Self:
        """Return a rotation of the section at z about the z axis by ``sum_k shape_k(z) q_k`` (rad).

        Parameters
        ----------
        shapes, name, scale
            As for `elongation`.
        """
        read = read_shapes(shapes, name)

        def place(x: Any, q: Any) -> Any:
            angle = ShapeSum(read, q)(x[2])
            c, s = np.cos(angle), np.sin(angle)
            return [c * x[0] - s * x[1], s * x[0] + c * x[1], x[2]]

        return cls._of(place, read, name, "rad", scale)

    @classmethod
    def shear(cls, shapes: Any, along: str = "x", name: str | None = None, scale: float = 0.01) -> Self:
        """Return a displacement of the section at z along x or y by ``sum_k shape_k(z) q_k`` (m).

        Parameters
        ----------
        shapes, name, scale
            As for `elongation`; the name is ``shear_x`` or ``shear_y`` by default.
        along : {"x", "y"}
        """
        axis = _axis("along", along)
        name = f"shear_{along}" if name is None else name
        read = read_shapes(shapes, name)

        def place(x: Any, q: Any) -> Any:
            place = [x[0], x[1], x[2]]
            place[axis] = place[axis] + ShapeSum(read, q)(x[2])
            return place

        return cls._of(place, read, name, "m", scale)

    @classmethod
    def planar_bending(cls, shapes: Any, about: str = "y", name: str | None = None, scale: float = 1.0) -> Self:
        """Return volume-preserving bending about x or y with curvature ``k(z)`` and plane sections.

        About y, with ``theta = int_0^z k`` and ``r = 2 x / (1 + sqrt(1 - 2 k x))``:
        ``(int_0^z sin theta + r cos theta, y, int_0^z cos theta - r sin theta)``. It folds where ``2 k x >= 1``.

        Parameters
        ----------
        shapes, name, scale
            As for `elongation`: ``k = sum_k shape_k(z) q_k`` (rad/m); the name is ``bending_x`` or ``bending_y`` by default.
        about : {"x", "y"}
            Right-handed: about y the tip moves towards x, about x towards -y.
        """
        axis = _axis("about", about)
        name = f"bending_{about}" if name is None else name
        read = read_shapes(shapes, name)

        def place(x: Any, q: Any) -> Any:
            outwards = x[0] if axis == 1 else -x[1]
            curvature = ShapeSum(read, q)
            angle, aside, ahead = planar_curve(curvature, x[2])
            r = 2.0 * outwards / (1.0 + np.sqrt(1.0 - 2.0 * curvature(x[2]) * outwards))
            across, along = aside + r * np.cos(angle), ahead - r * np.sin(angle)
            return [across, x[1], along] if axis == 1 else [x[0], -across, along]

        return cls._of(place, read, name, "rad/m", scale)

    @classmethod
    def source(cls, shapes: Any, inner_radius: float, name: str = "source") -> Self:
        """Return the widening of hollow sections by a source along the axis: ``(x, y) sqrt(1 + m(z) / (x^2 + y^2))``.

        Parameters
        ----------
        shapes, name
            As for `elongation`: ``m = sum_k shape_k(z) q_k`` (m^2), above ``-inner_radius^2``.
        inner_radius : float, m
            Of the hole, in which no material may be.
        """
        check_positive(inner_radius=inner_radius)
        read = read_shapes(shapes, name)

        def place(x: Any, q: Any) -> Any:
            spreading = np.sqrt(1.0 + ShapeSum(read, q)(x[2]) / (x[0] * x[0] + x[1] * x[1]))
            return [x[0] * spreading, x[1] * spreading, x[2]]

        return cls._of(place, read, name, "m^2", 0.3 * inner_radius**2)

    @classmethod
    def bulges(
        cls, length: float, radius: float, name: str = "bulge", along: float = 1.0, around: float = 4.0 / np.pi**2
    ) -> Self:
        """Return sections that bulge on the sides of x and of -x (key P, simulation 4); this does not preserve the volume.

        A point moves away from the axis by its distance times ``sum_k b_k q_k`` over the radius. b_1 is 1 in the middle of the
        body on the side of x, and falls to 0 with all derivatives at both ends and a quarter turn away:
        ``exp(-along s/(1 - s) - around t/(1 - t))`` with ``s = (2 z / length - 1)^2``, ``t = (2 phi / pi)^2``. Key P's bump is
        not 1 in the middle, and has ``along = 4 / length`` with the length in metres. PCC with variable radius is
        ``tt.Kinematics.bulges(...).then(tt.Kinematics.constant_curvature(length, elongation=True))``.

        Parameters
        ----------
        length, radius : float, m
        name : str
            Of the two coordinates (m), which get numbers.
        along, around : float
            Steepness of the bulges.
        """
        check_positive(length=length, radius=radius, along=along, around=around)

        def place(x: Any, q: Any) -> Any:
            waist = _bump((2.0 * x[2] / length - 1.0) ** 2, along)
            ahead = where(x[0] * x[0] + x[1] * x[1] > 0.0, x[0], 1.0)  # on the axis, without a direction, as if ahead
            sides = [_bump((2.0 / np.pi * np.arctan2(side * x[1], side * ahead)) ** 2, around) for side in (1.0, -1.0)]
            spreading = 1.0 + waist * (sides[0] * q[0] + sides[1] * q[1]) / radius
            return [x[0] * spreading, x[1] * spreading, x[2]]

        return cls(place, number_names(name, 2), ("m", "m"), (0.3 * radius,) * 2)

    @classmethod
    def _of(cls, place: Any, shapes: Sequence[Shape], name: str, unit: str, scale: float) -> Self:
        count = len(shapes)
        return cls(place, number_names(name, count), (unit,) * count, (scale,) * count)


def read_shapes(shapes: Any, field: str) -> tuple[Shape, ...]:
    """Read functions of the abscissa; a single one means a sequence of one."""
    functions = (shapes,) if callable(shapes) else shapes
    if isinstance(functions, Sequence) and functions and all(callable(shape) for shape in functions):
        return tuple(functions)
    advice = "write [lambda z: 1.0, lambda z: z / 0.2], a function of the abscissa for each coordinate"
    raise ModelError(Finding("wrong-type", f"kinematics.{field}", shapes, "functions of the abscissa", advice))


def number_names(name: str, count: int) -> list[str]:
    """Return names for so many coordinates: the name itself for one, else with numbers from 1."""
    return [name] if count == 1 else [f"{name}{k + 1}" for k in range(count)]


def _bump(square: Any, steepness: float) -> Any:
    """Return ``exp(-steepness square / (1 - square))``, and zero from where that is zero to rounding."""
    inside = (1.0 - square) * _ZERO > steepness
    distance = where(inside, 1.0 - square, 1.0)
    return where(inside, np.exp(steepness * (1.0 - 1.0 / distance)), 0.0)


def _axis(field: str, axis: Any) -> int:
    if axis not in ("x", "y"):
        raise ModelError(Finding("bad-axis", f"kinematics.{field}", axis, '"x" or "y"', did_you_mean(str(axis), ("x", "y"))))
    return ("x", "y").index(axis)


def check_positive(**values: Any) -> None:
    """Refuse numbers that are not positive."""
    reader = FieldReader("kinematics")
    for name, value in values.items():
        reader.positive(name, value, f"bad-{name.replace('_', '-')}", "a number > 0")
    reader.raise_findings()
