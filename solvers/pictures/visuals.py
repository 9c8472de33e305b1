"""Shapes that users give for what an animation shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader
from titop.solvers.model.model import Model

#: Numbers that describe each kind of given shape.
_DIMENSIONS = {"box": (3,), "cylinder": (2,), "sphere": ()}
_WORLD = "world"


@dataclass(frozen=True)
class Visual:
    """A given shape: `size` in x, y, z, placed in a block's reference frame; `color` None for the block's own."""

    kind: str
    size: Array
    position: Array
    rotation: Array
    color: str | None


def read_visuals(model: Model, visuals: Mapping[str, Any]) -> dict[str, list[Visual]]:
    """Read given shapes."""
    reader = FieldReader("visuals")
    result: dict[str, list[Visual]] = {}
    if not isinstance(visuals, Mapping):
        reader.report("wrong-type", "visuals", visuals, "a mapping of block names to shapes", 'write {"hub": {"sphere": 0.1}}')
        raise ModelError(reader.findings)
    known = (_WORLD, *model.body_names)
    for name, value in visuals.items():
        if name not in known:
            reader.report("unknown-block", str(name), name, "a body or the world", did_you_mean(name, known))
            continue
        shapes = list(value) if isinstance(value, list | tuple) else [value]
        result[name] = [visual for shape in shapes if (visual := _read_visual(reader, name, shape))]
    if reader.findings:
        raise ModelError(reader.findings)
    return result


def _read_visual(reader: FieldReader, name: str, shape: Any) -> Visual | None:
    kinds = [kind for kind in _DIMENSIONS if kind in shape] if isinstance(shape, Mapping) else []
    if len(kinds) != 1:
        advice = 'write {"box": [dx, dy, dz]}, {"cylinder": [radius, height]} or {"sphere": radius}'
        reader.report("unknown-visual", name, shape, "exactly one of box, cylinder and sphere", advice)
        return None
    kind, options = kinds[0], ("color", "position", "rotation")
    for key in (key for key in shape if key not in (kind, *options)):
        reader.report("unknown-visual", f"{name}.{key}", shape[key], f"the keys {kind}, {', '.join(options)}", "remove it")
    numbers = np.atleast_1d(reader.array(f"{name}.{kind}", shape[kind], _DIMENSIONS[kind]))
    if (numbers <= 0).any():
        reader.report("bad-size", f"{name}.{kind}", shape[kind], "lengths > 0", "check the sign and the unit")
    size = {"box": numbers, "cylinder": numbers[[0, 0, -1]], "sphere": numbers[[0, 0, 0]] if kind == "sphere" else numbers}[
        kind
    ]
    position = reader.array(f"{name}.position", shape.get("position", np.zeros(3)), (3,))
    rotation = reader.rotation(f"{name}.rotation", shape.get("rotation", np.eye(3)))
    return Visual(kind, size, position, rotation, _read_color(reader, f"{name}.color", shape.get("color")))


def _read_color(reader: FieldReader, where: str, value: Any) -> str | None:
    from matplotlib.colors import to_hex

    try:
        return None if value is None else to_hex(value)
    except (ValueError, TypeError):
        reader.report("unknown-color", where, value, "a colour of Matplotlib", 'write "tab:blue", "#1f77b4" or (0.1, 0.5, 0.7)')
        return None
