"""Reading and checking the data of flexible bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.basics.pose import Pose, pose_suspicions, read_pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.modal_analysis import excess_participation
from titop.blocks.bodies.rigid_body import check_inertia
from titop.blocks.contract.block import PARENT_PORT

if TYPE_CHECKING:
    from titop.blocks.bodies.flexible_body import FlexibleBody

#: Rounding of matrices of tens of modes, relative to their largest eigenvalue (or to the rigid inertia).
_ROUNDING = 1e-9


def number_of_modes(reader: FieldReader, frequencies: Any, modal_stiffness: Any, participation: Any) -> int:
    """Return how many modes the fields describe; there must be frequencies or a stiffness, not both."""
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


def read_ports(reader: FieldReader, ports: Any) -> dict[str, Pose]:
    """Read the child ports of the undeformed body."""
    if ports is not None and not isinstance(ports, Mapping):
        reader.report("wrong-type", "ports", ports, "a mapping of names to positions", 'write {"C": [x, y, z]}')
        ports = {}
    for port in ports or {}:
        if not isinstance(port, str) or not port or "." in port or not port.isprintable() or port == PARENT_PORT:
            expected = f"a port name without dots or control characters, other than {PARENT_PORT!r}"
            reader.report("bad-name", str(port), port, expected, "rename the port")
    return {str(port): read_pose(reader, str(port), value) for port, value in (ports or {}).items()}


def read_shapes(reader: FieldReader, shapes: Any, ports: Mapping[str, Pose], n: int) -> dict[str, Array]:
    """Read the shapes (6, n), one for each port; six numbers stand for that of a single mode."""
    if shapes is not None and not isinstance(shapes, Mapping):
        reader.report("wrong-type", "shapes", shapes, "a mapping of port names to arrays", 'write {"C": array of shape (6, n)}')
        shapes = {}
    result = {}
    for port, value in (shapes or {}).items():
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
            if not (shapes and port in shapes):
                advice = "give the port's displacement and rotation in each mode, or zeros"
                reader.report("missing-shape", f"shapes.{port}", "nothing", f"an array of shape (6, {n})", advice)
            result[port] = np.full((6, n), np.nan)
    return {port: result[port] for port in ports}


def are_matrices_usable(mass: Array, stiffness: Array) -> bool:
    """Tell whether a generalised eigenvalue problem with these matrices has an answer."""
    finite = bool(np.isfinite(mass).all() and np.isfinite(stiffness).all())
    return finite and _lowest(mass) > 0


def findings(body: FlexibleBody) -> tuple[list[Finding], list[Finding]]:
    """Return what is wrong with a body whose fields have been read, and what is suspicious."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    if body.mass < 0:
        errors.append(Finding("negative-mass", f"{body.name}.mass", body.mass, "a mass >= 0", "check the sign and the unit"))
    if np.isfinite(body.inertia).all():
        check_inertia(f"{body.name}.inertia", body.inertia, float(body.mass * body.com @ body.com), errors, warnings)
    errors += _matrix_findings(body)
    warnings += _damping_findings(body) + _order_findings(body)
    for port, pose in body.port_poses.items():
        warnings += pose_suspicions(f"{body.name}.{port}", pose)
    numbers = (body.matrices.mass, body.participation, body.rigid_inertia)
    if not errors and all(np.isfinite(array).all() for array in numbers):
        excess, directions = excess_participation(*numbers)
        if np.isinf(excess):
            expected, advice = "numbers whose products double precision can hold", "check the units of all numbers"
            largest = f"numbers up to {max(np.abs(array).max() for array in numbers):.3g}"
            errors.append(Finding("out-of-range", f"{body.name}.participation", largest, expected, advice))
        elif excess > _ROUNDING:
            value = f"modes whose effective mass exceeds the rigid body's by {100 * excess:.2g} % along {directions}"
            expected = "a residual mass D_P - L^T M^-1 L without negative eigenvalue"
            advice = "the rigid data are the whole body's; participation is that of mass-normalised modes at P, linear first"
            errors.append(Finding("too-much-participation", f"{body.name}.participation", value, expected, advice))
    return errors, warnings


def _matrix_findings(body: FlexibleBody) -> list[Finding]:
    name = body.name
    if body.frequencies is not None:
        if np.isfinite(body.frequencies).all() and (body.frequencies <= 0).any():
            advice = "the modes are those of the body clamped at P: leave rigid modes out"
            return [Finding("bad-frequency", f"{name}.frequencies", body.frequencies.tolist(), "frequencies > 0", advice)]
        return []
    errors = []
    mass, stiffness, _ = body.matrices
    for field, matrix in (("mass", mass), ("stiffness", stiffness)):
        if np.isfinite(matrix).all() and not _lowest(matrix) > (1e-14 if field == "mass" else -_ROUNDING):
            code, expected = (
                ("bad-modal-mass", "a positive definite matrix")
                if field == "mass"
                else ("indefinite-stiffness", "a positive semidefinite matrix")
            )
            value, advice = f"lowest eigenvalue {np.linalg.eigvalsh(matrix)[0]:.3g}", "check signs and the order of coordinates"
            errors.append(Finding(code, f"{name}.modal_{field}", value, expected, advice))
    return errors


def _damping_findings(body: FlexibleBody) -> list[Finding]:
    where, advice = f"{body.name}.damping_ratios", "check the sign: the body feeds energy"
    if (body.damping_ratios < 0).any():
        return [Finding("negative-damping", where, body.damping_ratios.tolist(), "ratios >= 0", advice)]
    damping = body.modal_damping
    if damping is not None and np.isfinite(damping).all() and _lowest(damping) < -_ROUNDING:
        value, expected = f"lowest eigenvalue {np.linalg.eigvalsh(damping)[0]:.3g}", "a positive semidefinite matrix"
        return [Finding("negative-damping", f"{body.name}.modal_damping", value, expected, advice)]
    return []


def _order_findings(body: FlexibleBody) -> list[Finding]:
    """Return what is suspicious in ratios that differ beside frequencies that do not rise."""
    frequencies, ratios = body.frequencies, body.damping_ratios
    if frequencies is None or not (np.diff(frequencies) < 0).any() or np.ptp(ratios) == 0:
        return []
    advice = "ratios belong to the modes in the order of ascending frequencies; sort modes and ratios"
    where, expected = f"{body.name}.frequencies", "rising frequencies beside ratios that differ"
    return [Finding("unsorted-frequencies", where, frequencies.tolist(), expected, advice)]


def _lowest(matrix: Array) -> float:
    """Return the lowest eigenvalue of a matrix scaled to a diagonal of ones (where it is not zero)."""
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0] = scale.max(initial=0.0) or 1.0
    return float(np.linalg.eigvalsh(matrix / np.outer(scale, scale)).min(initial=np.inf))


def integer(reader: FieldReader, field: str, value: Any, least: int, most: int) -> int:
    """Read a whole number from `least` to `most`."""
    number = reader.scalar(field, value)
    if np.isfinite(number) and not (number == int(number) and least <= number <= most):
        reader.report("not-a-count", field, value, f"a whole number from {least} to {most}", "check the value")
        return least
    return int(number) if np.isfinite(number) else least
