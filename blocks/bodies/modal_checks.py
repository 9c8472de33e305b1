"""What is wrong with the data of a flexible body, and what is suspicious."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import pose_suspicions
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, CLOSE, SAME, TYPED
from titop.blocks.bodies.modal_analysis import DIRECTIONS, are_matrices_usable, lowest_eigenvalue, residual_mass
from titop.blocks.bodies.modal_body import ModalBody
from titop.blocks.bodies.rigid_body import check_mass_and_inertia
from titop.blocks.bodies.second_order import gram_at


def findings(body: ModalBody) -> tuple[list[Finding], list[Finding]]:
    """Return what is wrong with a body whose fields have been read, and what is suspicious."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    check_mass_and_inertia(body, errors, warnings)
    errors += [*_matrix_findings(body), *_moment_findings(body)]
    warnings += _damping_findings(body)
    for port, pose in body.port_poses.items():
        warnings += pose_suspicions(f"{body.name}.{port}", pose)
    numbers = (body.matrices.mass, body.participation, body.rigid_inertia)
    if not errors and all(np.isfinite(array).all() for array in numbers):
        excess, directions = _excess_participation(*numbers)
        if np.isinf(excess):
            expected, advice = "numbers whose products double precision can hold", "check the units of all numbers"
            largest = f"numbers up to {max(np.abs(array).max() for array in numbers):.3g}"
            errors.append(Finding("out-of-range", f"{body.name}.participation", largest, expected, advice))
        elif excess > SAME:
            value = f"modes whose effective mass exceeds the rigid body's by {100 * excess:.2g} % along {directions}"
            expected = "a residual mass D_P - L^T M^-1 L without negative eigenvalue"
            advice = "the rigid data are the whole body's; participation is that of mass-normalised modes at P, linear first"
            errors.append(Finding("too-much-participation", f"{body.name}.participation", value, expected, advice))
    return errors, warnings


def _matrix_findings(body: ModalBody) -> Iterator[Finding]:
    name = body.name
    if body.frequencies is not None:
        if np.isfinite(body.frequencies).all() and (body.frequencies <= 0).any():
            advice = "the modes are those of the body clamped at P: leave rigid modes out"
            yield Finding("bad-frequency", f"{name}.frequencies", body.frequencies.tolist(), "frequencies > 0", advice)
        return
    mass, stiffness, _ = body.matrices
    for field, matrix in (("mass", mass), ("stiffness", stiffness)):
        if np.isfinite(matrix).all() and not lowest_eigenvalue(matrix) > (CANCELLED if field == "mass" else -SAME):
            code, expected = (
                ("bad-modal-mass", "a positive definite matrix")
                if field == "mass"
                else ("indefinite-stiffness", "a positive semidefinite matrix")
            )
            value, advice = f"lowest eigenvalue {np.linalg.eigvalsh(matrix)[0]:.3g}", "check signs and the order of coordinates"
            yield Finding(code, f"{name}.modal_{field}", value, expected, advice)


def _moment_findings(body: ModalBody) -> list[Finding]:
    """Return what is wrong with the second-order moments of a body: with them a deformed body has no valid inertia."""
    second, scales = body.second_order, body.coordinate_scales
    if second is None:
        return []
    arrays = second.first, second.second, second.shortening, body.undeformed
    if not all(np.isfinite(array).all() for array in arrays):
        return []
    with np.errstate(all="ignore"):
        gram = gram_at(second, body.undeformed, np.asarray(scales, dtype=float))
    if not (np.isfinite(gram).all() and np.isfinite(body.rigid_inverse).all()):
        expected, advice = "numbers whose products double precision can hold", "check the units of all numbers"
        largest = f"numbers up to {max(np.abs(array).max() for array in arrays):.3g}"
        return [Finding("out-of-range", f"{body.name}.displacement_moments", largest, expected, advice)]
    lowest = lowest_eigenvalue(gram)
    if not lowest < -CLOSE:
        return []
    value = f"a deformed body's inertia with the eigenvalue {lowest:.3g}, of one scaled to a diagonal of ones"
    expected = "moments of the modes whose modal mass and participation are given"
    advice = "check signs, coordinates and that positions are those from P"
    return [Finding("bad-moments", f"{body.name}.displacement_moments", value, expected, advice)]


def _damping_findings(body: ModalBody) -> list[Finding]:
    where, advice = f"{body.name}.damping_ratios", "check the sign: the body feeds energy"
    if (body.damping_ratios < 0).any():
        return [Finding("negative-damping", where, body.damping_ratios.tolist(), "ratios >= 0", advice)]
    differ = bool(np.diff(body.damping_ratios).any())
    if differ and body.frequencies is None and are_matrices_usable(body.matrices.mass, body.matrices.stiffness):
        frequencies, _, ratios = body.natural_modes
        equal = np.flatnonzero((np.diff(frequencies) <= TYPED * frequencies[1:]) & (np.diff(ratios) != 0))
        if len(equal):
            k, w = equal[0], frequencies[equal[0]]
            value = f"{ratios[k]:g} and {ratios[k + 1]:g} for two modes at {w:.6g} rad/s"
            expected = "one ratio for modes of equal frequency, which no order tells apart"
            return [Finding("ambiguous-damping", where, value, expected, "give them one ratio, or use modal_damping")]
    damping = body.modal_damping
    if damping is not None and np.isfinite(damping).all() and lowest_eigenvalue(damping) < -SAME:
        value, expected = f"lowest eigenvalue {np.linalg.eigvalsh(damping)[0]:.3g}", "a positive semidefinite matrix"
        return [Finding("negative-damping", f"{body.name}.modal_damping", value, expected, advice)]
    return []


def _excess_participation(mass: Array, participation: Array, rigid: Array) -> tuple[float, str]:
    """Return by which fraction the modes' effective mass exceeds the rigid body's at worst, and along which directions.

    Each direction is scaled by its own inertia, so that kg and kg m^2 compare; negative where there is no excess, infinite
    where the numbers are out of range.
    """
    with np.errstate(all="ignore"):
        residual = residual_mass(mass, participation, rigid)
        scale = np.sqrt(np.maximum(np.diag(rigid), np.diag(rigid - residual)))
        scale[scale == 0] = 1.0
        scaled = residual / scale[:, None] / scale
    if not np.isfinite(scaled).all():
        return np.inf, ""
    values, vectors = np.linalg.eigh(scaled)
    direction = np.abs(vectors[:, 0])
    named = [name for name, share in zip(DIRECTIONS, direction, strict=True) if share > 0.3]
    return float(-values[0]), ", ".join(named)
