"""Poses, motions and inertia of a rod's sections, from point to point.

Locals: ``X`` the transport ``Ad(g)^-1`` of a step, ``Z`` the motion subspace of its end relative to its start, ``J`` the motion
of a section a unit of ``[V_P; v]`` (6 x 6 + n). Twists are linear first, each in its section's own frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.spatial import Array, cross
from titop.blocks.bodies.rods.discretisation import RodNumbers, as_twists
from titop.blocks.bodies.rods.exponential import adjoint, exponentials, poses, tangent_rates

_MAGNUS = np.sqrt(3.0) / 12.0


class RodMotion:
    """A rod's sections at a configuration: those at its points, then those at its ports.

    Parameters
    ----------
    numbers : RodNumbers
    q : (n,) array
    """

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
        return _chained(self._starts, self._rotation, self._position)

    def jacobians(self) -> Array:
        """Return the motions (s, 6, 6 + n) of all sections a unit of ``[V_P; v]``."""
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
    return _chained(_starts(numbers), *poses(_displacements(numbers, xi, adjoint(xi[..., 0, :]))))


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


def _chained(starts: Sequence[int], rotation: Array, position: Array) -> tuple[Array, Array]:
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
