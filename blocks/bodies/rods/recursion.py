"""Poses, motions and inertia of a rod's sections, from point to point.

Locals: ``X`` the transport ``Ad(g)^-1`` of a step, ``Z`` the motion subspace of its end relative to its start, ``J`` the
Jacobian of a section by ``[V_P; v]`` (6 x 6 + n). Twists are linear first, each in its section's own frame.

Steps are exponentials of SE(3), with tangent operators. A displacement ``x = [rho; phi]`` is linear first. With
``s = phi . phi`` the powers of ``ad(x)`` end at the fourth (``ad^5 = -2 s ad^3 - s^2 ad``), and four functions of s suffice::

    exp(x)^-1 d exp(x) = T dx        T = 1 - f1 ad + f2 ad^2 - f3 ad^3 + f4 ad^4

Their closed forms lose digits at small angles, those of their derivatives even at tenths of a radian: series replace them up to
two radians. All functions accept complex displacements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array, below, cross, entrywise, where
from titop.blocks.bodies.rods.discretisation import RodNumbers, as_twists
from titop.blocks.bodies.water.immersion import skews

#: Below this squared angle (rad^2) the series are used; there the first of its terms that is left out is below 1e-19.
_SERIES = 4.0
_TERMS = np.arange(13)


def _coefficients(factors: Array, shift: int) -> Array:
    """Return ``(-1)^k factors[k] / (2 k + shift)!``."""
    return np.array([(-1.0) ** k * factor / factorial(2 * k + shift) for k, factor in enumerate(factors)])


#: Coefficients of the powers of s in f1 to f4 (4 x terms).
_OF_VALUES = np.array([_coefficients(1.0 - _TERMS, k) for k in (2, 3)] + [_coefficients(1.0 + _TERMS, k) for k in (4, 5)])
#: Of their derivatives by s.
_OF_SLOPES = _OF_VALUES[:, 1:] * _TERMS[1:]


def adjoint(twists: Array) -> Array:
    """Return ``ad(V)`` (..., 6, 6; m and rad) of twists or displacements (..., 6)."""
    matrix = np.zeros((*twists.shape, 6), twists.dtype)
    both = skews(twists.reshape(*twists.shape[:-1], 2, 3))
    matrix[..., :3, 3:] = both[..., 0, :, :]
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = both[..., 1, :, :]
    return matrix


class Exponentials(NamedTuple):
    """Exponentials of displacements x (..., 6): rotation, position (m), ``Ad(exp(x))^-1`` and T (..., 6, 6; m)."""

    rotation: Array
    position: Array
    transport: Array
    tangent: Array


def exponentials(displacements: Array) -> Exponentials:
    """Return the exponentials of displacements (..., 6; m, rad), and their tangent operators."""
    A = adjoint(displacements)
    s = _squared_angles(displacements)
    (f1, f2, f3, f4), one = _values(s), np.eye(6)
    tangent = one + A @ (A @ (A @ (f4 * A - f3 * one) + f2 * one) - f1 * one)
    rotation, position = poses(displacements)
    return Exponentials(rotation, position, transports(rotation, position), tangent)


def poses(displacements: Array) -> tuple[Array, Array]:
    """Return rotations (..., 3, 3) and positions (..., 3; m) of the exponentials of displacements (..., 6; m, rad)."""
    K, s = adjoint(displacements)[..., 3:, 3:], _squared_angles(displacements)
    f1, f2, f3, f4 = _values(s)
    versine, cubic = f1 - s * f3, f2 - s * f4
    one, square = np.eye(3), K @ K
    rotation = one + (1.0 - s * cubic) * K + versine * square
    position = ((one + versine * K + cubic * square) @ displacements[..., :3, None])[..., 0]
    return rotation, position


def tangent_rates(displacements: Array, rates: Array) -> Array:
    """Return the rates (..., 6, 6; m/s and rad/s) of the tangent operators of displacements (..., 6) that change at `rates`."""
    A, change = adjoint(displacements), adjoint(rates)
    s = _squared_angles(displacements)
    turning = 2.0 * (displacements[..., 3:] * rates[..., 3:]).sum(-1)[..., None, None]
    f1, f2, f3, f4 = values = _values(s)
    d1, d2, d3, d4 = (turning * slope for slope in _slopes(s, *values))
    one = np.eye(6)
    inner, inner_rate = f4 * A - f3 * one, f4 * change + d4 * A - d3 * one
    middle, middle_rate = A @ inner + f2 * one, change @ inner + A @ inner_rate + d2 * one
    outer, outer_rate = A @ middle - f1 * one, change @ middle + A @ middle_rate - d1 * one
    return change @ outer + A @ outer_rate


def transports(rotation: Array, position: Array) -> Array:
    """Return ``Ad(g)^-1`` (..., 6, 6; m) of poses: rotations (..., 3, 3) and positions (..., 3)."""
    back = np.swapaxes(rotation, -1, -2)
    matrix = np.zeros((*rotation.shape[:-2], 6, 6), np.result_type(rotation, position))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = back
    matrix[..., :3, 3:] = -back @ skews(position)
    return matrix


def _squared_angles(displacements: Array) -> Array:
    """Return ``phi . phi`` as (..., 1, 1), to be multiplied with matrices."""
    return (displacements[..., 3:] ** 2).sum(-1)[..., None, None]


def _values(s: Array) -> list[Array]:
    """Return f1 to f4."""
    small, near, far = _sides(s)
    angle = entrywise(np.sqrt, far)
    sine, cosine = entrywise(np.sin, angle), entrywise(np.cos, angle)
    closed = (
        (4.0 - 4.0 * cosine - angle * sine) / (2.0 * far),
        (4.0 * angle - 5.0 * sine + angle * cosine) / (2.0 * far * angle),
        (2.0 - 2.0 * cosine - angle * sine) / (2.0 * far**2),
        (2.0 * angle - 3.0 * sine + angle * cosine) / (2.0 * far**2 * angle),
    )
    return [where(small, _polynomial(row, near), one) for row, one in zip(_OF_VALUES, closed, strict=True)]


def _slopes(s: Array, f1: Array, f2: Array, f3: Array, f4: Array) -> list[Array]:
    """Return the derivatives of f1 to f4 by s."""
    small, near, far = _sides(s)
    closed = (
        (0.5 - 0.5 * far**2 * f4 - f1) / far,
        (f1 - 3.0 * f2) / (2.0 * far),
        (0.5 * f2 - far * f4 - 2.0 * f3) / far,
        (f3 - 5.0 * f4) / (2.0 * far),
    )
    return [where(small, _polynomial(row, near), one) for row, one in zip(_OF_SLOPES, closed, strict=True)]


def _sides(s: Array) -> tuple[Any, Array, Array]:
    """Return where the series are used, and squares for them and for closed forms, both harmless elsewhere."""
    small = below(s, _SERIES)
    return small, where(small, s, 0.0 * s), where(small, _SERIES + 0.0 * s, s)


def _polynomial(coefficients: Array, s: Array) -> Array:
    """Return the polynomial in s with the given coefficients, lowest first."""
    total = coefficients[-1] + 0.0 * s
    for coefficient in coefficients[-2::-1]:
        total = total * s + coefficient
    return total


# -- the motion of sections ----------------------------------------------------------------------------------------------------


_MAGNUS = np.sqrt(3.0) / 12.0


class RodMotion:
    """A rod's sections at a configuration q (n): those at its points, then those at its ports."""

    def __init__(self, numbers: RodNumbers, q: Array) -> None:
        self._numbers = numbers
        h = numbers.steps[:, None, None]
        self._phi = _along(numbers)
        xi = as_twists(numbers.reference) + self._phi @ q
        first, second = np.moveaxis(adjoint(xi), 1, 0)
        phi1, phi2 = np.moveaxis(self._phi, 1, 0)
        #: The displacements Omega (k, 6) of all steps: intervals, then ports.
        self._displacement = _displacements(numbers, xi, first)
        self._onto = 0.5 * h * (phi1 + phi2) + _MAGNUS * h**2 * (first @ phi2 - second @ phi1)
        self._rotation, self._position, self._X, tangent = exponentials(self._displacement)
        self._tangent, self._Z = tangent, tangent @ self._onto
        self._starts = _starts(numbers)

    def poses(self) -> tuple[Array, Array]:
        """Return rotations (s, 3, 3) and positions (s, 3; m) of all sections in the parent port's frame."""
        return _compose_poses(self._starts, self._rotation, self._position)

    def jacobians(self) -> Array:
        """Return the Jacobians (s, 6, 6 + n) of all sections by ``[V_P; v]``."""
        n = self._Z.shape[-1]
        jacobians = [np.eye(6, 6 + n)]
        for start, X, Z in zip(self._starts, self._X, self._Z, strict=True):
            J = X @ jacobians[start]
            J[:, 6:] += Z
            jacobians.append(J)
        return np.array(jacobians)

    def biases(self, v: Array, twist: Array) -> tuple[Array, Array]:
        """Return twists and accelerations (s, 6 each) of all sections where those of P and of the coordinates are zero.

        The acceleration of a step's end relative to its start is ``dZ/dt v + ad(V) Z v``.
        """
        rates = (self._onto @ v[:, None])[..., 0]
        xi_rates = self._phi @ v
        bending = 2.0 * _MAGNUS * self._numbers.steps[:, None] ** 2
        second = bending * (adjoint(xi_rates[:, 0]) @ xi_rates[:, 1, :, None])[..., 0]
        relative = (self._tangent @ rates[..., None])[..., 0]
        turning = tangent_rates(self._displacement, rates) @ rates[..., None] + self._tangent @ second[..., None]
        twists, accelerations = [twist], [np.zeros(6)]
        crossing = adjoint(relative)
        for k, start in enumerate(self._starts):
            carried = self._X[k] @ twists[start]
            twists.append(carried + relative[k])
            accelerations.append(self._X[k] @ accelerations[start] + turning[k, :, 0] - crossing[k] @ carried)
        return np.array(twists), np.array(accelerations)


def section_poses(numbers: RodNumbers, q: Array) -> tuple[Array, Array]:
    """Return the `RodMotion.poses` at coordinates (..., n): rotations (..., s, 3, 3) and positions (..., s, 3; m)."""
    along = _along(numbers)
    xi = as_twists(numbers.reference) + (along @ q if q.ndim == 1 else np.inner(q, along))
    return _compose_poses(_starts(numbers), *poses(_displacements(numbers, xi, adjoint(xi[..., 0, :]))))


def _along(numbers: RodNumbers) -> Array:
    """Return what a unit of each coordinate adds to the strains (k, 2, 6, n) at the two places of every step."""
    along: Array = as_twists(np.eye(6)[numbers.components]).T * numbers.shapes[:, :, None, :]
    return along


def _displacements(numbers: RodNumbers, xi: Array, first: Array) -> Array:
    """Return the displacements (..., k, 6) of all steps, along which the strains are (..., k, 2, 6), the `first` as ``ad``."""
    h = numbers.steps[:, None]
    second = xi[..., 1, :, None]
    displacements: Array = 0.5 * h * xi.sum(-2) + _MAGNUS * h**2 * (first @ second)[..., 0]
    return displacements


def _starts(numbers: RodNumbers) -> list[int]:
    """Return the section from which each step starts: intervals, then ports."""
    return [*range(len(numbers.fractions) - 1), *numbers.before.tolist()]


def _compose_poses(starts: Sequence[int], rotation: Array, position: Array) -> tuple[Array, Array]:
    """Return rotations (..., s, 3, 3) and positions (..., s, 3) of all sections from those of steps (k) from their starts."""
    rotations = np.empty((*rotation.shape[:-3], len(starts) + 1, 3, 3), rotation.dtype)
    positions = np.empty(rotations.shape[:-1], position.dtype)
    rotations[..., 0, :, :], positions[..., 0, :] = np.eye(3), 0.0
    for k, start in enumerate(starts):
        base = rotations[..., start, :, :]
        rotations[..., k + 1, :, :] = base @ rotation[..., k, :, :]
        positions[..., k + 1, :] = positions[..., start, :] + (base @ position[..., k, :, None])[..., 0]
    return rotations, positions


def mass_matrix(inertia: Array, jacobians: Array) -> Array:
    """Return the inertia (6 + n, 6 + n; kg, kg m, kg m^2) of sections (s, 4) that move by `jacobians` (s, 6, 6 + n)."""
    weighted = _weights(inertia)[:, :, None] * jacobians
    width = jacobians.shape[-1]
    return jacobians.reshape(-1, width).T @ weighted.reshape(-1, width)


def gyroscopic(inertia: Array, jacobians: Array, twists: Array, accelerations: Array) -> Array:
    """Return the gyroscopic terms (6 + n; N, N m) of sections with the given twists and accelerations (s, 6 each)."""
    weights, spins = _weights(inertia), twists[:, 3:]
    points = accelerations[:, :3] + cross(spins, twists[:, :3])
    moments = weights[:, 3:] * accelerations[:, 3:] + cross(spins, weights[:, 3:] * spins)
    forces = np.concatenate([weights[:, :3] * points, moments], axis=1)
    return np.einsum("sij,si->j", jacobians, forces)


def _weights(inertia: Array) -> Array:
    """Return the diagonals (s, 6) of the sections' inertia."""
    return inertia[:, [0, 0, 0, 1, 2, 3]]
