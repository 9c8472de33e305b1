"""Configurations from measured poses: the shape of rods whose sections stand where they were measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.pose import Pose, read_pose
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array, log_jacobian, rotation_log
from titop.blocks.basics.tolerances import EXACT, RANK
from titop.blocks.basics.user_input import FieldReader
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.equilibrium.displacements import displace, displacement_jacobian
from titop.solvers.model.model import Model, read_model
from titop.solvers.signals.grammar import read_entries


class FittedShape(NamedTuple):
    """A configuration fitted to measured poses.

    Attributes
    ----------
    q : (nq,) array, rad or m
    errors : dict of port name to array (3,) or (6,), m and rad
        Distances of ports from their measured places: in inertial axes, and, if the orientation was measured, followed by a
        rotation vector in the port's frame.
    rank : int
        Number of coordinates that the measurements determine.
    """

    q: Array
    errors: dict[str, Array]
    rank: int


def fit_shape(
    model: Model, measured: Mapping[str, Any], coordinates: Any = None, q: Any = None, radian: float | None = None
) -> FittedShape:
    """Return the configuration in which ports are closest to their measured poses, by least squares.

    A section is measured at a port, such as ``tt.Rod(..., ports={"marker": 0.2})``; such ports do not change the model. Scipy
    finds the minimum with exact Jacobians, those of the discretised rod.

    Parameters
    ----------
    model : Model
        Without rigid closures and gears.
    measured : mapping of port name to Pose or array_like (3,)
        Poses in the inertial frame, or positions (m) if the orientation is unknown.
    coordinates : sequence of str, optional
        The joints, blocks and coordinates to find; all by default.
    q : (nq,) array, optional
        Initial guess, and values of the other coordinates; neutral by default.
    radian : float, m, optional
        Distance of a port from its place that weighs as much as an error of one radian; the size of the system by default.

    Returns
    -------
    FittedShape
        If the measurements do not determine all coordinates, the result is one near the start; a `ModelWarning` says so.

    Raises
    ------
    ModelError
        For unknown ports and coordinates, unusable numbers, and constrained models.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("feeler")
    >>> rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), 1e6, 1000.0, strains={"bending_z": 0})
    >>> s.connect("world", rod, joint=tt.Weld("clamp"))
    >>> fit = tt.fit_shape(s.resolve(), {"rod.tip": [0.8415, 0.4597, 0]})
    >>> round(float(fit.q[0]), 3)  # rad from the base to the tip
    1.0
    """
    read_model(model)
    if model.is_constrained:
        expected, advice = "a model without closed loops and gears", "fit the tree, then close it by model.assemble"
        raise ModelError(Finding("constrained", "model", model.name, expected, advice))
    poses = _read_measured(model, measured)
    arm = model.mechanism.scale.length if radian is None else FieldReader("fit_shape").scalar("radian", radian)
    if not 0 < arm < np.inf:
        raise ModelError(Finding("bad-radian", "radian", radian, "a length > 0", "give metres that count as a radian"))
    sought = list(range(model.nv)) if coordinates is None else read_entries(model, "coordinates", coordinates)
    return _fit(model, poses, sought, model.integrate(model.neutral() if q is None else q, np.zeros(model.nv)), arm)


def _fit(model: Model, poses: Mapping[str, tuple[Pose, bool]], sought: list[int], start: Array, arm: float) -> FittedShape:
    from scipy.optimize import least_squares

    sizes = model.mechanism.scale.coordinates[sought]

    def displacement(x: Array) -> Array:
        dq = np.zeros(model.nv)
        dq[sought] = sizes * x
        return dq

    def residual(x: Array) -> Array:
        errors = _errors(model, poses, displace(model, start, displacement(x)))
        return np.concatenate([np.append(error[:3] / arm, error[3:]) for _, error in errors])  # in radians

    def derivatives(x: Array) -> Array:
        dq = displacement(x)
        by_tangent = _derivatives(model, poses, displace(model, start, dq), arm)
        return (by_tangent @ displacement_jacobian(model, dq))[:, sought] * sizes

    x = np.zeros(len(sought))
    if len(sought) and poses:
        x = least_squares(residual, x, derivatives, xtol=EXACT, ftol=EXACT, gtol=EXACT).x
    q = displace(model, start, displacement(x))
    singular = np.linalg.svd(derivatives(x), compute_uv=False) if len(sought) and poses else np.zeros(0)
    rank = decided_rank(singular, RANK * singular.max(initial=0.0))
    if rank < len(sought):
        value, expected = f"{rank} of {len(sought)} coordinates are determined", "measurements that determine all coordinates"
        advice = "measure more ports, or orientations, or name fewer coordinates; the others stay near the start"
        warn([Finding("undetermined", "measured", value, expected, advice)])
    return FittedShape(q, dict(_errors(model, poses, q)), rank)


def _errors(model: Model, poses: Mapping[str, tuple[Pose, bool]], q: Array) -> Iterator[tuple[str, Array]]:
    for port, (pose, turned) in poses.items():
        rotation, position = model.pose(port, q)
        turn = rotation_log(pose.rotation.T @ rotation) if turned else np.zeros(0)
        yield port, np.concatenate([position - pose.position, turn])


def _derivatives(model: Model, poses: Mapping[str, tuple[Pose, bool]], q: Array, arm: float) -> Array:
    rows = []
    for port, (pose, turned) in poses.items():
        jacobian, rotation = model.jacobian(port, q), model.pose(port, q)[0]
        rows.append(rotation @ jacobian[:3] / arm)
        if turned:
            rows.append(log_jacobian(rotation_log(pose.rotation.T @ rotation)) @ jacobian[3:])
    return np.vstack(rows) if rows else np.zeros((0, model.nv))


def _read_measured(model: Model, measured: Any) -> dict[str, tuple[Pose, bool]]:
    reader, poses = FieldReader("measured"), {}
    for port, value in read_mapping("measured", measured).items():
        if port not in model.port_names:
            reader.report("unknown-port", str(port), value, "a port of the model", did_you_mean(port, model.port_names))
            continue
        poses[port] = read_pose(reader, port, value), isinstance(value, Pose)
    reader.raise_findings()
    return poses
