"""Reading what users give for a deformable body."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, numbers_text
from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader


def argument_count(function: Callable[..., Any]) -> int:
    """Return how many positional arguments a function takes at most; 3 where that cannot be told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return 3 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)


def with_numbers(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function that takes `numbers` as its last argument, after `count` others."""
    return function if argument_count(function) > count else lambda *arguments: function(*arguments[:count])


def read_names(reader: FieldReader, value: Any, kinematics: Any) -> tuple[str, ...]:
    """Read the names of the coordinates, which ready kinematics know."""
    names = getattr(kinematics, "coordinates", None) if value is None else value
    names = names.tolist() if isinstance(names, np.ndarray) else names
    names = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else names
    advice = 'write coordinates=("bending",), a name for each entry of q'
    if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
        reader.report("bad-coordinates", "coordinates", names, "names of the coordinates", advice)
        return ()
    if len(set(names)) < len(names):
        reader.report("bad-coordinates", "coordinates", names, "names that differ", advice)
    return names


def read_units(reader: FieldReader, units: Any, n: int) -> tuple[str, ...]:
    """Read the units of n coordinates; "1" for None."""
    if units is None:
        return ("1",) * n
    known = isinstance(units, Sequence) and not isinstance(units, str) and all(isinstance(unit, str) for unit in units)
    if not known or len(units) != n:
        reader.report("wrong-shape", "units", units, f"{n} units", 'give one for each coordinate, such as ("rad", "m")')
        return ("1",) * n
    return tuple(units)


def read_numbers(reader: FieldReader, parameters: Any) -> tuple[dict[str, float], dict[str, str]]:
    """Read parameters of kinematics, numbers or pairs of one and its unit: values and units by name."""
    values: dict[str, float] = {}
    units: dict[str, str] = {}
    for name, value in reader.mapping("parameters", parameters, "names to numbers", '{"length": (0.2, "m")}').items():
        number, unit = value if isinstance(value, Sequence) and len(value) == 2 and isinstance(value[1], str) else (value, "1")
        if not str(name).isidentifier() or name in ("material", "density"):
            reader.report("bad-name", "parameters", name, "a Python name, neither material nor density", "rename the parameter")
            continue
        values[str(name)], units[str(name)] = reader.scalar(f"parameters.{name}", number), unit
    return values, units


def read_density(reader: FieldReader, density: Any, points: Array) -> tuple[float, Array]:
    """Read a density: a number and what each point has of it; a function of x counts as 1 kg/m^3 times its values."""
    if not callable(density):
        return reader.positive("density", density, "bad-density", "a value > 0 (kg/m^3)"), np.ones(len(points))
    try:
        sampled = [density(point) for point in points]
    except Exception as error:  # whatever the user's function raises
        reader.report(
            "function-fails", "density", f"{type(error).__name__}: {error}", "a number (kg/m^3)", "check the function"
        )
        return 1.0, np.ones(len(points))
    values = reader.array("density", sampled, (len(points),), "return a number for each point")
    if not reader.findings and not (values >= 0).all():
        worst = int(values.argmin())
        expected, where = "values >= 0 (kg/m^3)", numbers_text(points[worst])
        reader.report("bad-density", "density", f"{values[worst]:.3g} at {where}", expected, "check the function")
    return 1.0, values


class DeformationStage(NamedTuple):
    """A part of kinematics that are composed: ``f(x, q, numbers)`` of `size` of all coordinates, from the `first` on."""

    function: Callable[..., Any]
    first: int
    size: int


def checked_stages(kinematics: Callable[..., Any], n: int) -> list[DeformationStage]:
    """Return the parts of kinematics, one after the other: the function itself, if it has none; all are checked."""
    stages = getattr(kinematics, "stages", None) or [DeformationStage(kinematics, 0, n)]
    return [stage._replace(function=checked_kinematics(stage.function)) for stage in stages]


def checked_kinematics(kinematics: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    """Return kinematics of ``(x, q, numbers)`` that check that they give three numbers, as an array."""
    located = with_numbers(kinematics, 2)

    def checked(x: Any, q: Any, numbers: Any) -> Any:
        entries = np.array(located(np.asarray(x), q, numbers), dtype=object).ravel()
        if len(entries) != 3:
            expected = "the three numbers of a place"
            raise ModelError(Finding("wrong-shape", "kinematics", f"{len(entries)} numbers", expected, "return [x, y, z]"))
        return entries

    return checked


def namespace(numbers: Mapping[str, Any]) -> SimpleNamespace:
    """Return numbers by dotted names as attributes of attributes."""
    root = SimpleNamespace()
    for name, value in numbers.items():
        place = root
        *heads, last = parts_of(name)
        for head in heads:
            if not hasattr(place, head):
                setattr(place, head, SimpleNamespace())
            place = getattr(place, head)
        setattr(place, last, value)
    return root
