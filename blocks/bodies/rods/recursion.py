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

from collections.abc import Callable
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array, below, cross, entrywise, mirrored, where
from titop.blocks.bodies.rods.discretisation import RodNumbers, as_twists
from titop.blocks.bodies.water.immersion import skews
from titop.blocks.programs.repetition import for_each, repeated, summed

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
        self._numbers, rows = numbers, (numbers.steps, numbers.reference, numbers.shapes)
        found = for_each(lambda *step: self._step(q, *step), *rows, of=q)
        #: The displacements Omega (k, 6) of all steps, intervals then ports, and these by q; poses, X, T and Z.
        self._displacement, self._onto, self._rotation, self._position, self._X, self._tangent, self._Z = found

    def _step(self, q: Array, steps: Array, reference: Array, shapes: Array) -> tuple[Array, ...]:
        h, phi = steps[:, None, None], _along(self._numbers.components, shapes)
        xi = as_twists(reference) + phi @ q
        first, second = np.moveaxis(adjoint(xi), 1, 0)
        phi1, phi2 = np.moveaxis(phi, 1, 0)
        displacement = _displacements(steps, xi, first)
        onto = 0.5 * h * (phi1 + phi2) + _MAGNUS * h**2 * (first @ phi2 - second @ phi1)
        rotation, position, X, tangent = exponentials(displacement)
        return displacement, onto, rotation, position, X, tangent, tangent @ onto

    def poses(self) -> tuple[Array, Array]:
        """Return rotations (s, 3, 3) and positions (s, 3; m) of all sections in the parent port's frame."""
        rotations, positions = _carried(self._numbers, _compose, _BASE, self._rotation, self._position)
        return rotations, positions

    def jacobians(self) -> Array:
        """Return the Jacobians (s, 6, 6 + n) of all sections by ``[V_P; v]``."""

        def step(J: Array, X: Array, Z: Array) -> tuple[Array, ...]:
            J = X @ J
            J[..., 6:] += Z
            return (J,)

        return _carried(self._numbers, step, (np.eye(6, 6 + self._Z.shape[-1]),), self._X, self._Z)[0]

    def biases(self, v: Array, twist: Array) -> tuple[Array, Array]:
        """Return twists and accelerations (s, 6 each) of all sections where those of P and of the coordinates are zero.

        The acceleration of a step's end relative to its start is ``dZ/dt v + ad(V) Z v``.
        """

        def changes(h: Array, shapes: Array, displacement: Array, onto: Array, tangent: Array) -> tuple[Array, ...]:
            rates, xi_rates = _times(onto, v), _along(self._numbers.components, shapes) @ v
            second = 2.0 * _MAGNUS * h[:, None] ** 2 * _times(adjoint(xi_rates[:, 0]), xi_rates[:, 1])
            return _times(tangent, rates), _times(tangent_rates(displacement, rates), rates) + _times(tangent, second)

        def step(V: Array, A: Array, X: Array, relative: Array, turning: Array) -> tuple[Array, ...]:
            carried = _times(X, V)
            return carried + relative, _times(X, A) + turning - _times(adjoint(relative), carried)

        numbers, steps = self._numbers, (self._displacement, self._onto, self._tangent)
        moving = for_each(changes, numbers.steps, numbers.shapes, *steps, of=v)
        twists, accelerations = _carried(numbers, step, (twist, np.zeros(6)), self._X, *moving)
        return twists, accelerations


def section_poses(numbers: RodNumbers, q: Array) -> tuple[Array, Array]:
    """Return the `RodMotion.poses` at coordinates (..., n): rotations (..., s, 3, 3) and positions (..., s, 3; m)."""
    along = _along(numbers.components, numbers.shapes)
    xi = as_twists(numbers.reference) + (along @ q if q.ndim == 1 else np.inner(q, along))
    steps = (np.moveaxis(part, q.ndim - 1, 0) for part in poses(_displacements(numbers.steps, xi, adjoint(xi[..., 0, :]))))
    rotations, positions = _carried(numbers, _compose, _BASE, *steps)
    return np.moveaxis(rotations, 0, q.ndim - 1), np.moveaxis(positions, 0, q.ndim - 1)


def _along(components: Array, shapes: Array) -> Array:
    """Return what a unit of each coordinate adds to the strains (k, 2, 6, n) at the two places of every step."""
    along: Array = as_twists(np.eye(6)[components]).T * shapes[:, :, None, :]
    return along


def _displacements(steps: Array, xi: Array, first: Array) -> Array:
    """Return the displacements (..., k, 6) of all steps, along which the strains are (..., k, 2, 6), the `first` as ``ad``."""
    h = steps[:, None]
    displacements: Array = 0.5 * h * xi.sum(-2) + _MAGNUS * h**2 * _times(first, xi[..., 1, :])
    return displacements


def _times(matrices: Array, vectors: Array) -> Array:
    product: Array = (matrices @ vectors[..., None])[..., 0]
    return product


#: The pose of a rod's base.
_BASE = np.eye(3), np.zeros(3)


def _compose(base: Array, start: Array, rotation: Array, position: Array) -> tuple[Array, ...]:
    return base @ rotation, start + _times(base, position)


def _carried(
    numbers: RodNumbers, step: Callable[..., tuple[Array, ...]], base: tuple[Array, ...], *rows: Array
) -> tuple[Array, ...]:
    """Return what a step carries from section to section (s, ...): from point to point, and to ports from points before."""
    points = len(numbers.fractions) - 1
    inside = repeated(step, base, *(row[:points] for row in rows))
    ports = for_each(step, *(each[numbers.before] for each in inside), *(row[points:] for row in rows))
    return tuple(np.concatenate(both) for both in zip(inside, ports, strict=True))


def mass_matrix(inertia: Array, jacobians: Array) -> Array:
    """Return the inertia (6 + n, 6 + n; kg, kg m, kg m^2) of sections (s, 4) that move by `jacobians` (s, 6, 6 + n)."""

    def of_sections(inertia: Array, jacobians: Array) -> Array:
        weighted, width = _weights(inertia)[:, :, None] * jacobians, jacobians.shape[-1]
        return jacobians.reshape(-1, width).T @ weighted.reshape(-1, width)

    return mirrored(summed(of_sections, inertia, jacobians))


def gyroscopic(inertia: Array, jacobians: Array, twists: Array, accelerations: Array) -> Array:
    """Return the gyroscopic terms (6 + n; N, N m) of sections with the given twists and accelerations (s, 6 each)."""

    def of_sections(inertia: Array, jacobians: Array, twists: Array, accelerations: Array) -> Array:
        weights, spins = _weights(inertia), twists[:, 3:]
        points = accelerations[:, :3] + cross(spins, twists[:, :3])
        moments = weights[:, 3:] * accelerations[:, 3:] + cross(spins, weights[:, 3:] * spins)
        forces = np.concatenate([weights[:, :3] * points, moments], axis=1)
        return np.einsum("sij,si->j", jacobians, forces)

    return summed(of_sections, inertia, jacobians, twists, accelerations)


def _weights(inertia: Array) -> Array:
    """Return the diagonals (s, 6) of the sections' inertia."""
    return inertia[:, [0, 0, 0, 1, 2, 3]]
