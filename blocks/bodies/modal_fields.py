"""Reading the data of flexible bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import did_you_mean
from titop.blocks.basics.pose import Pose, read_ports
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.second_order import LOADS
from titop.blocks.contract.block import check_port_name


def number_of_modes(reader: FieldReader, frequencies: Any, modal_mass: Any, modal_stiffness: Any, participation: Any) -> int:
    """Return how many modes the fields describe; there must be frequencies, or else a stiffness, which may have a mass."""
    if frequencies is not None and modal_mass is not None:
        expected = "none beside frequencies, which are of modes of unit modal mass"
        advice = "divide participation and shapes by its root, or give modal_stiffness in place of the frequencies"
        reader.report("frequencies-and-mass", "modal_mass", modal_mass, expected, advice)
    if (frequencies is None) == (modal_stiffness is None):
        given = "neither" if frequencies is None else "both"
        advice = "give frequencies for mass-normalised modes, modal_mass and modal_stiffness for other coordinates"
        reader.report("frequencies-or-stiffness", "frequencies", given, "frequencies or modal_stiffness", advice)
    numbers = (real_array(value) for value in (frequencies, modal_stiffness, participation) if value is not None)
    given_numbers = next(numbers, None)
    return 1 if given_numbers is None else len(np.atleast_1d(given_numbers))


def read_names(reader: FieldReader, names: tuple[str, ...] | None, n: int) -> tuple[str, ...]:
    """Read the names of n coordinates."""
    default = tuple(f"mode{k + 1}" for k in range(n))
    if names is None:
        return default
    if len(names) != n or len(set(names)) < n or any(not name or "." in name or not name.isprintable() for name in names):
        expected = f"{n} names that differ, without dots or control characters"
        reader.report("bad-name", "coordinate_names", names, expected, "one name for each modal coordinate")
        return default
    return names


def read_participation(reader: FieldReader, value: Any, n: int) -> Array:
    """Read the participation (n, 6); six numbers stand for that of a single mode."""
    if value is None:
        advice = "L = Phi^T M tau, linear first, at P"
        reader.report("missing-participation", "participation", "nothing", f"an array of shape ({n}, 6)", advice)
        return np.full((n, 6), np.nan)
    given = real_array(value)
    if given is not None and n == 1 and given.shape == (6,):
        value = given[None]
    return reader.array("participation", value, (n, 6), "one row a mode: its participation in x, y, z, rx, ry, rz at P")


def read_ratios(reader: FieldReader, value: Any, n: int) -> Array:
    """Read damping ratios (n); a number stands for all."""
    given = real_array(value)
    if given is not None and given.shape == ():
        return np.array(np.broadcast_to(reader.array("damping_ratios", given, ()), n))
    return reader.array("damping_ratios", value, (n,), f"give a number or {n} numbers")


def read_child_ports(reader: FieldReader, ports: Any) -> dict[str, Pose]:
    """Read the child ports of the undeformed body."""
    poses = read_ports(reader, ports)
    for port in poses:
        check_port_name(reader, port)
    return {str(port): pose for port, pose in poses.items()}


def read_shapes(reader: FieldReader, shapes: Any, ports: Mapping[str, Pose], n: int) -> dict[str, Array]:
    """Read the shapes (6, n), one for each port; six numbers stand for that of a single mode."""
    result = {}
    shapes = reader.mapping("shapes", shapes, "port names to arrays", '{"C": array of shape (6, n)}')
    for port, value in shapes.items():
        if port not in ports:
            reader.report("unknown-port", f"shapes.{port}", port, "a port of the body", did_you_mean(port, ports))
            continue
        given = real_array(value)
        if given is not None and n == 1 and given.shape == (6,):
            value = given[:, None]
        advice = "rows x, y, z, rx, ry, rz: motion of the port a unit of each modal coordinate"
        result[port] = reader.array(f"shapes.{port}", value, (6, n), advice)
    for port in ports:
        if port not in result:
            if port not in shapes:
                advice = "give the port's displacement and rotation in each mode, or zeros"
                reader.report("missing-shape", f"shapes.{port}", "nothing", f"an array of shape (6, {n})", advice)
            result[port] = np.full((6, n), np.nan)
    return {port: result[port] for port in ports}


def read_recovery(reader: FieldReader, recovery: Any, n: int) -> dict[str, Array]:
    """Read the recovery matrices (k, n); n numbers stand for a single row."""
    result = {}
    example = '{"root stress": array of shape (k, n)}'
    for name, value in reader.mapping("recovery", recovery, "names to arrays", example).items():
        rows = real_array(value)
        if rows is not None and rows.ndim == 1:
            value = rows = rows[None]
        count = len(rows) if rows is not None and rows.ndim else 1
        result[str(name)] = reader.array(f"recovery.{name}", value, (count, n), "one column a modal coordinate")
    return result


# -- the second order of the deformation ---------------------------------------------------------------------------------------


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
    loads = reader.mapping("geometric_stiffness", stiffness, "loads to arrays", '{"acceleration": ..., "spin": ...}')
    if not isinstance(stiffness, Mapping):
        return None, None, None
    moments = reader.array("position_moments", position, (3, 3, n), "entries k, l: int r0_k Phi_l dm about P, in body axes")
    products = reader.array("displacement_moments", displacement, (3, 3, n, n), "entries k, l: int Phi_k^T Phi_l dm")
    _check_symmetric(reader, "displacement_moments", products, products.transpose(1, 0, 3, 2))
    return _read_stiffness(reader, loads, n, tuple(ports)), moments, products


def _read_stiffness(reader: FieldReader, stiffness: Mapping[str, Any], n: int, ports: tuple[str, ...]) -> dict[str, Array]:
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
        value = "matrices that differ from their transposes"
        reader.report("not-symmetric", field, value, "symmetric matrices", "check the order")
