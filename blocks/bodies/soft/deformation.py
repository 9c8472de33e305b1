"""Kinematics with named coordinates, which can be composed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.shapes import Shape
from titop.blocks.bodies.soft.soft_fields import DeformationStage, read_names, read_numbers, read_units, with_numbers


class Deformation:
    """A function ``f(x, q)`` or ``f(x, q, numbers)`` with named coordinates.

    Parameters
    ----------
    function : callable
        Returns the position (3, m) of the material point x (3, m at rest).
    coordinates : sequence of str
        Names of the entries of q.
    units : sequence of str, optional
        Of the coordinates, "1" by default.
    scales : sequence of float, optional
        Range of each coordinate over which the function is nearly linear; 1 by default.
    parameters : mapping of name to number or (number, unit), optional
        Numbers that the function receives as `numbers`.

    Raises
    ------
    ModelError
        If these do not match each other.
    """

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
        if reader.findings:
            raise ModelError(reader.findings)
        self.parameters = dict(parameters or {})
        #: The functions of which it is composed.
        self.stages: tuple[DeformationStage, ...] = (
            (DeformationStage(with_numbers(function, 2), 0, count),) if callable(function) else ()
        )

    def __call__(self, x: Any, q: Any, numbers: Any = None) -> Any:
        """Return the position (3, m) of the material point x (3, m at rest).

        Parameters
        ----------
        x : (3,) array, m
        q : (n,) array
        numbers : object, optional
            With the parameters as attributes.
        """
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
        joined.stages = _in_a_row(parts)
        return joined


def _in_a_row(parts: Sequence[Deformation]) -> tuple[DeformationStage, ...]:
    """Return the stages of several deformations, one after the other."""
    stages: list[DeformationStage] = []
    first = 0
    for part in parts:
        stages += [stage._replace(first=first + stage.first) for stage in part.stages]
        first += len(part.coordinates)
    return tuple(stages)


def read_shapes(shapes: Any, field: str) -> tuple[Shape, ...]:
    """Read functions of the abscissa; a single one means a sequence of one.

    Raises
    ------
    ModelError
        If they are none.
    """
    given = (shapes,) if callable(shapes) else shapes
    if isinstance(given, Sequence) and given and all(callable(shape) for shape in given):
        return tuple(given)
    advice = "write [lambda z: 1.0, lambda z: z / 0.2], a function of the abscissa for each coordinate"
    raise ModelError(Finding("wrong-type", f"kinematics.{field}", shapes, "functions of the abscissa", advice))


def numbered(name: str, count: int) -> list[str]:
    """Return names for so many coordinates: the name itself for one, else with numbers from 1."""
    return [name] if count == 1 else [f"{name}{k + 1}" for k in range(count)]
