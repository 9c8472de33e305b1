"""Reading what users give of the second order of a body's deformation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.second_order import LOADS

_NEEDED = ("acceleration", "spin")


def read_second_order(
    reader: FieldReader, stiffness: Any, position: Any, displacement: Any, n: int, ports: Iterable[str]
) -> tuple[dict[str, Array] | None, Array | None, Array | None]:
    """Read geometric stiffness and the modes' moments of n coordinates: all of them or none."""
    given = {"geometric_stiffness": stiffness, "position_moments": position, "displacement_moments": displacement}
    missing = [field for field, value in given.items() if value is None]
    if len(missing) == len(given):
        return None, None, None
    for field in missing:
        advice = "geometric_stiffness, position_moments and displacement_moments belong together: give all three or none"
        reader.report("missing-second-order", field, "nothing", "the second order of the deformation as a whole", advice)
    if missing:
        return None, None, None
    if not isinstance(stiffness, Mapping):
        advice = 'write {"acceleration": ..., "spin": ...}'
        reader.report("wrong-type", "geometric_stiffness", stiffness, "a mapping of loads to arrays", advice)
        return None, None, None
    moments = reader.array("position_moments", position, (3, 3, n), "entries k, l: int r0_k Phi_l dm about P, in body axes")
    products = reader.array("displacement_moments", displacement, (3, 3, n, n), "entries k, l: int Phi_k^T Phi_l dm")
    _check_symmetric(reader, "displacement_moments", products, products.transpose(1, 0, 3, 2))
    return _read_stiffness(reader, stiffness, n, tuple(ports)), moments, products


def _read_stiffness(reader: FieldReader, stiffness: Mapping[str, Any], n: int, ports: tuple[str, ...]) -> dict[str, Array]:
    """Read the geometric stiffness under each load."""
    counts = LOADS | dict.fromkeys(ports, 6)
    result = {}
    for load, value in stiffness.items():
        field = f"geometric_stiffness.{load}"
        if load not in counts:
            reader.report("unknown-load", field, load, "a unit load or a port of the body", did_you_mean(load, counts))
            continue
        result[load] = reader.array(field, value, (counts[load], n, n), "one symmetric matrix for each unit load")
        _check_symmetric(reader, field, result[load], result[load].transpose(0, 2, 1))
    for load in _NEEDED:
        if load not in result:
            if load not in stiffness:
                expected = f"an array of shape {(counts[load], n, n)}"
                reader.report("missing-load", f"geometric_stiffness.{load}", "nothing", expected, "give it")
            result[load] = np.full((counts[load], n, n), np.nan)
    for port in ports:
        if port not in stiffness:
            advice = "give the matrices of unit forces and moments at the port, or zeros"
            expected = f"an array of shape (6, {n}, {n}): loads at this port do not stiffen the body"
            reader.suspect("port-without-stiffness", f"geometric_stiffness.{port}", "nothing", expected, advice)
    return result


def _check_symmetric(reader: FieldReader, field: str, array: Array, transposed: Array) -> None:
    if np.isfinite(array).all() and np.abs(array - transposed).max(initial=0.0) > TYPED * np.abs(array).max(initial=0.0):
        reader.report(
            "not-symmetric", field, "matrices that differ from their transposes", "symmetric matrices", "check the order"
        )
