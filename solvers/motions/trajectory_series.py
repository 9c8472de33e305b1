"""Motions given as functions of time, as the stacks of derivatives that series of dynamics take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import factors_of
from titop.blocks.basics.user_input import is_row, read_array, read_count, sequence_findings
from titop.blocks.contract.block import Block
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.mechanism.port_motion import warn_of_gimbal_lock
from titop.solvers.model.model import Model, read_model
from titop.solvers.motions.motion_series import (
    angular_velocity,
    body_velocity,
    function_derivatives,
    quaternions,
    rotation_coefficients,
)


def trajectory_series(
    m: Model, t: Any, motions: Mapping[str, Any], order: int = 0, sequence: str = "XYZ"
) -> tuple[Array, Array]:
    """Return the configuration, and the stack of velocities and their derivatives, of motions given as functions of time.

    With these `m.inverse_dynamics_series(q, v_series)` returns efforts and their derivatives up to `order`. Rotations become
    angular velocities, and poses body-frame twists, exactly.

    Parameters
    ----------
    m : Model
    t : float or (n,) array_like, s
    motions : mapping of joint or coordinate name to function
        All coordinates have to be there.

        - One coordinate: a function of time that returns a number (rad or m), a spline of scipy's, or a number, which stays.
        - Several coordinates of a joint by its name: a function or spline of as many numbers.
        - A spherical joint: its rotation, as a matrix (3x3, from the child's frame to the joint's), a unit quaternion (x, y, z,
          w) or Euler angles (3, rad, intrinsic).
        - A free joint: the pair of its position (3, m) and its rotation, a function that returns such a pair, or a `Pose`.

        Functions are called with a number that carries its derivatives: write them with arithmetic and NumPy's functions
        (`np.sin`, not `math.sin`).
    order : int
        Of the efforts. The stack goes two orders further than the efforts, and splines need that degree: one of degree
        ``order + 2`` has efforts whose last derivative jumps at its knots, one of a higher degree does not.
    sequence : str
        The axes of Euler angles, such as ``"ZYX"``.

    Returns
    -------
    q : (nq,) array, rad and m, or (n, nq) for stacked times
    v_series : (order + 2, nv) or (n, order + 2, nv) array
        ``v, a, da/dt, ...``, in rad, m and s.

    Raises
    ------
    ModelError
        For coordinates that are missing or unknown; splines of too low a degree, or that end before; functions that cannot be
        derived; rotations that are none; wrong shapes.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> s = tt.System("arm")
    >>> s.connect("world", tt.RigidBody("link", mass=1.0, inertia=1.0), joint=tt.Revolute("hinge"))
    >>> q, v_series = tt.trajectory_series(s.resolve(), 0.0, {"hinge": lambda t: 0.5 * np.sin(2 * t)}, order=1)
    >>> q.tolist(), v_series.tolist()
    ([0.0], [[1.0], [0.0], [-4.0]])
    """
    m = read_model(m)
    advice = "give the order of the efforts' derivatives"
    times, highest = _read_times(t), read_count(Finding("bad-order", "order", order, "an integer >= 0", advice), 0) + 2
    refuse(sequence_findings("sequence", sequence))
    motions = _read_motions(m, read_mapping("motions", motions))
    q, rates = np.empty((len(times), m.nq)), np.empty((highest, len(times), m.nv))
    for block in m.mechanism.assembly.blocks_with_coordinates:
        functions = {name: motions[name] for name in (block.name, *_coordinate_names(m, block)) if name in motions}
        in_q, in_v = m.mechanism.assembly.q_slices[block.name], m.mechanism.assembly.v_slices[block.name]
        q[:, in_q], rates[..., in_v] = _Reader(times, highest, sequence).block_motion(block, functions)
    v_series = np.ascontiguousarray(np.moveaxis(rates, 1, 0))
    return (q[0], v_series[0]) if np.ndim(t) == 0 else (q, v_series)


class _Reader:
    """Reads the motions of one block's coordinates at some times, with so many derivatives."""

    def __init__(self, times: Array, highest: int, sequence: str) -> None:
        self.times, self.highest, self.sequence = times, highest, sequence

    def block_motion(self, block: Block, functions: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return configurations (n, nq of the block) and the derivatives of its velocities (highest, n, nv of the block)."""
        if block.quaternion.start:
            return self._pose(block.name, functions[block.name])
        if block.quaternion.stop:
            q, spin = self._rotation(_where(block.name), functions[block.name])[1:]
            return q, spin
        columns = [self._numbers(name, function, block) for name, function in functions.items()]
        derivatives = np.concatenate(columns, axis=-1)
        return derivatives[0], derivatives[1:]

    def _numbers(self, name: str, function: Any, block: Block) -> Array:
        """Return the derivatives (highest + 1, n, k) of one coordinate, or of all of a block."""
        size = block.nv if name == block.name else 1
        derivatives = self._derivatives(_where(name), function)
        if derivatives.ndim == 2:
            derivatives = derivatives[..., None]
        _check_shape(_where(name), derivatives, size)
        return derivatives

    def _pose(self, name: str, value: Any) -> tuple[Array, Array]:
        """Return positions with quaternions (n, 7) and the derivatives of body-frame twists (highest, n, 6)."""
        place, turn = _pair(_where(name), value)
        position = self._derivatives(f"{_where(name)} position", place)
        _check_shape(f"{_where(name)} position", position, 3)
        rotation, quaternion, spin = self._rotation(f"{_where(name)} rotation", turn)
        c = body_velocity(rotation, position / factors_of(position))
        return np.concatenate([position[0], quaternion], axis=-1), np.concatenate([c * factors_of(c), spin], axis=-1)

    def _rotation(self, where: str, function: Any) -> tuple[Array, Array, Array]:
        """Return coefficients of matrices, quaternions (n, 4), and the derivatives of angular velocities (highest, n, 3)."""
        constant = function.as_matrix() if hasattr(function, "as_matrix") else function
        derivatives = self._derivatives(where, constant)
        c = derivatives / factors_of(derivatives)
        if c.shape[2:] == (3,):
            warn_of_gimbal_lock(where, c[0], self.sequence)
        rotation = rotation_coefficients(where, c, self.sequence)
        spin = angular_velocity(rotation)
        return rotation, quaternions(c, rotation), spin * factors_of(spin)

    def _derivatives(self, where: str, function: Any) -> Array:
        return function_derivatives(where, function, self.times, self.highest)


def _where(name: str) -> str:
    return f"motions[{name!r}]"


def _coordinate_names(m: Model, block: Block) -> tuple[str, ...]:
    """Return the names of a block's coordinates that have a function each: those of numbers."""
    names: tuple[str, ...] = m.coordinate_names[m.mechanism.assembly.v_slices[block.name]]
    return () if block.quaternion.stop or names == (block.name,) else names


def _read_motions(m: Model, motions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse names that are unknown, missing or given twice, and blocks whose coordinates are no numbers."""
    findings, known = [], list[str]()
    groups = {block.name for block, _, _ in m.mechanism.plain_coordinates.others}
    for block in m.mechanism.assembly.blocks_with_coordinates:
        names, whole = _coordinate_names(m, block), block.name in motions
        known += [block.name, *names]
        if block.name in groups and not block.quaternion.stop:
            advice = "write the stack of its derivatives yourself"
            findings.append(Finding("no-series", block.name, type(block).__name__, "coordinates that are numbers", advice))
        elif whole and any(name in motions for name in names):
            advice = "give a function of all of it, or one for each coordinate"
            findings.append(Finding("given-twice", _where(block.name), block.name, "each coordinate once", advice))
        elif not whole:
            missing = [name for name in names or (block.name,) if name not in motions]
            advice = "give its motion as a function of time, a spline, or a number that stays"
            expected = "a motion of every coordinate"
            findings += [Finding("missing-motion", "motions", f"none for {name}", expected, advice) for name in missing]
    for name in motions:
        if name not in known:
            findings.append(Finding("unknown-coordinate", "motions", name, "a joint or coordinate", did_you_mean(name, known)))
    refuse(findings)
    return motions


def _read_times(t: Any) -> Array:
    wrong = Finding("bad-times", "t", t, "a finite time (s), or a row of them", "give a number or an array (n,)")
    return np.atleast_1d(read_array(wrong, lambda times: is_row(np.atleast_1d(times))))


def _pair(where: str, value: Any) -> tuple[Any, Any]:
    """Return position and rotation of a free joint, each of a form that `function_derivatives` takes, or a rotation."""
    if isinstance(value, Pose):
        return value.position, value.rotation
    if callable(value):
        return lambda t: value(t)[0], lambda t: value(t)[1]
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    expected = "a pair (position, rotation) of functions of time, or one function that returns both"
    raise ModelError(
        Finding("wrong-type", where, value, expected, "give the position (3), then a matrix, quaternion or angles")
    )


def _check_shape(where: str, derivatives: Array, size: int) -> None:
    if derivatives.shape[2:] != (size,):
        shape, expected = f"shape {derivatives.shape[2:]}", f"shape ({size},)" + (" or a number" if size == 1 else "")
        raise ModelError(Finding("wrong-shape", where, shape, expected, "return as many numbers at each time"))
