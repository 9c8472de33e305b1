"""Angles over wide ranges, up to full turns: several linear fractional models, each of an arc."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.lft.lft import lft
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.lft.operating_points import accelerations_at, held_point, is_of_point, value_at
from titop.solvers.lft.uncertainty import WIDEST_HALF, WIDEST_QUARTER
from titop.solvers.signals.system_inputs import SystemInputs


def lft_arcs(
    model: Any,
    point: Any,
    parameters: Mapping[Any, Any],
    inputs: Sequence[str] | str = (),
    outputs: Sequence[Any] | str = (),
    arcs: Mapping[str, int] | None = None,
    **options: Any,
) -> tuple[LFTModel, ...]:
    """Return linear fractional models that cover wide ranges of angles together, each of an arc.

    The nominal angle of an arc is that of the point where it lies inside, else the arc's middle. There the point is the given
    one, moved, with efforts that hold it; of a function `equilibrium` it is what this returns.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
    parameters : mapping of name, or tuple of names, to range
        As in `lft`; angles may have ranges of any width.
    inputs, outputs
        As in `linearize`.
    arcs : mapping of name to int, optional
        Into how many arcs of equal width the range of an angle is cut. By default as few as `lft` takes: of 240 degrees at
        most, of angles among `quarters` 480. Narrow arcs keep tangents, and with them numbers, small.
    **options
        `quarters`, `equilibrium` and all others of `lft`.

    Returns
    -------
    tuple of LFTModel
        Their blocks tell the arcs by `lower` and `upper`. Of several angles all combinations, the last varying fastest.

    Raises
    ------
    ModelError
        For unknown angles and numbers of arcs that are none, and as `lft`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> turn = {"hinge.q": (-3.2, 3.2)}
    >>> parts = tt.lft_arcs(s.resolve(), [0.0], turn, ["hinge"], ["hinge.q"], arcs={"hinge.q": 3})
    >>> [(round(part.blocks[0].lower, 3), round(part.blocks[0].upper, 3)) for part in parts]
    [(-3.2, -1.067), (-1.067, 1.067), (1.067, 3.2)]
    """
    at, given = read_point(model, point), read_mapping("parameters", parameters)
    cuts = _cuts(at, given, options.get("quarters", ()), arcs)
    a = accelerations_at(at, SystemInputs(at.model, inputs, options.get("hold", ())))
    found = []
    for chosen in itertools.product(*cuts.values()):
        ranges = dict(zip(cuts, chosen, strict=True))
        angles = {name: arc.nominal for key, arc in ranges.items() for name in _names(key)}
        bounds = {key: (ranges[key].lower, ranges[key].upper) if key in ranges else value for key, value in given.items()}
        moved = _moved(at, given, angles, options.get("equilibrium"), a)
        found.append(lft(model, moved, bounds, inputs, outputs, **options))
    return tuple(found)


class Arc(NamedTuple):
    """A part of the range of an angle (rad), and the nominal one in it."""

    lower: float
    upper: float
    nominal: float


def _names(key: Any) -> tuple[str, ...]:
    return key if isinstance(key, tuple) else (key,)


def _cuts(point: OperatingPoint, given: Mapping[Any, Any], quarters: Any, arcs: Any) -> dict[Any, list[Arc]]:
    """Return the arcs of each angle whose range is cut."""
    counts = None if arcs is None else dict(read_mapping("arcs", arcs))
    wide = set(_names(quarters)) if isinstance(quarters, str) else set(quarters)
    found = {}
    for key, bounds in given.items():
        names, numbers = _names(key), real_array(bounds)
        if numbers is None or numbers.shape != (2,) or not all(_is_angle(point, name) for name in names):
            continue
        width = float(numbers[1] - numbers[0])
        if counts is None:
            count = math.ceil(width / (WIDEST_QUARTER if wide & set(names) else WIDEST_HALF) * (1 - SAME))
        else:
            count = _count(next((counts.pop(name) for name in names if name in counts), 1))
        if count > 1:
            found[key] = _arcs(float(numbers[0]), float(numbers[1]), count, value_at(point, names[0]))
    for name in counts or ():
        expected, advice = "an angle among the parameters, its range as (lower, upper)", "see tt.lft"
        raise ModelError(Finding("unknown-angle", "arcs", name, expected, advice))
    return found


def _arcs(lower: float, upper: float, count: int, nominal: float) -> list[Arc]:
    """Return arcs of equal width."""
    edges = np.linspace(lower, upper, count + 1).tolist()
    inside = SAME * (upper - lower)
    return [Arc(a, b, nominal if a + inside < nominal < b - inside else (a + b) / 2) for a, b in itertools.pairwise(edges)]


def _count(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ModelError(Finding("bad-count", "arcs", number, "a whole number, one at least", "two for a full turn, or more"))
    return number


def _is_angle(point: OperatingPoint, name: Any) -> bool:
    """Tell whether a name is that of an angle of the operating point."""
    model, (stem, end) = point.model, split_end(name) if isinstance(name, str) else ("", "")
    if end != "q" or stem not in model.coordinate_names:
        return False
    return model.mechanism.assembly.coordinate_units[model.coordinate_names.index(stem)] == "rad"


def _moved(
    point: OperatingPoint, given: Mapping[Any, Any], angles: Mapping[str, float], equilibrium: Any, a: Array
) -> OperatingPoint:
    """Return the point with other angles, held there or as a function says."""
    model = point.model
    if not angles:
        return point
    if equilibrium is not None:
        paths = [name for key in given for name in _names(key) if is_of_point(model, name)]
        found: OperatingPoint = equilibrium(model, {path: value_at(point, path) for path in paths} | dict(angles))
        return found
    return held_point(point, model, angles, a)
