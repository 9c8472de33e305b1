"""Mass and stiffness of a uniform beam by polynomials of high degree.

Each kind of deformation (stretch, torsion, bending in two planes) has the displacements of its ends as coordinates, and then
amplitudes of polynomials that leave the ends alone: integrals of Legendre polynomials, whose stiffness is diagonal. Static
deformations under loads at the ends are contained exactly; natural modes converge exponentially with the degree.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss

from titop.blocks.basics.spatial import Array


def rod_matrices(inertia: float, stiffness: float, length: float, bubbles: int) -> tuple[Array, Array]:
    """Return mass and stiffness of stretch or torsion; coordinates: both ends, then `bubbles` amplitudes.

    Parameters
    ----------
    inertia : float
        A unit of length (kg/m, kg m).
    stiffness : float
        E A (N) or G J (N m^2).
    length : float, m
    bubbles : int
    """
    _, weights = points_of(bubbles)
    values, slopes = rod_shapes(bubbles, bubbles)
    return inertia * length * _gram(values, weights), stiffness / length * _gram(slopes, weights)


def bending_matrices(inertia: float, stiffness: float, length: float, bubbles: int) -> tuple[Array, Array]:
    """Return mass and stiffness of Euler-Bernoulli bending; coordinates: deflection and slope at both ends, then amplitudes.

    Parameters
    ----------
    inertia : float, kg/m
        A unit of length.
    stiffness : float, N m^2
        E I.
    length : float, m
    bubbles : int
    """
    _, weights = points_of(bubbles)
    values, _, curvatures = bending_shapes(length, bubbles, bubbles)
    return inertia * length * _gram(values, weights), stiffness / length**3 * _gram(curvatures, weights)


def shear_bending_matrices(
    inertia: float, rotary_inertia: float, stiffness: float, shear_stiffness: float, length: float, bubbles: int
) -> tuple[Array, Array]:
    """Return mass and stiffness of Timoshenko bending; coordinates as `bending_matrices`, slopes being sections' rotations.

    Parameters
    ----------
    inertia : float, kg/m
    rotary_inertia : float, kg m
        rho I, a unit of length.
    stiffness : float, N m^2
        E I.
    shear_stiffness : float, N
        kappa G A.
    length : float, m
    bubbles : int
        Each, of deflection and rotation.
    """
    _, weights = points_of(bubbles)
    deflection, deflection_slope, rotation, rotation_slope = shear_bending_shapes(bubbles, bubbles)
    deflection_slope, rotation_slope = deflection_slope / length, rotation_slope / length
    mass = length * (inertia * _gram(deflection, weights) + rotary_inertia * _gram(rotation, weights))
    strain = stiffness * _gram(rotation_slope, weights) + shear_stiffness * _gram(deflection_slope - rotation, weights)
    return mass, length * strain


def rod_shapes(bubbles: int, points: int) -> tuple[Array, Array]:
    """Return values and slopes (each bubbles + 2, p) of stretch or torsion at `points_of(points)`.

    Here and below slopes are derivatives by ``t = x / length``, in the coordinates of the matrices.
    """
    x, _ = points_of(points)
    return _with_bubbles((_linear(x), _linear_derivatives(x)), 1, bubbles, points)


def bending_shapes(length: float, bubbles: int, points: int) -> tuple[Array, Array, Array]:
    """Return values, slopes and curvatures (each bubbles + 4, p) of Euler-Bernoulli bending."""
    x, _ = points_of(points)
    t = (x + 1) / 2
    values = np.array([1 - 3 * t**2 + 2 * t**3, length * (t - 2 * t**2 + t**3), 3 * t**2 - 2 * t**3, length * (t**3 - t**2)])
    slopes = np.array([6 * t**2 - 6 * t, length * (1 - 4 * t + 3 * t**2), 6 * t - 6 * t**2, length * (3 * t**2 - 2 * t)])
    curvatures = np.array([12 * t - 6, length * (6 * t - 4), 6 - 12 * t, length * (6 * t - 2)])
    return _with_bubbles((values, slopes, curvatures), 2, bubbles, points)


def shear_bending_shapes(bubbles: int, points: int) -> tuple[Array, Array, Array, Array]:
    """Return deflections and their slopes, rotations and theirs (each 2 bubbles + 4, p), of Timoshenko bending."""
    ends, slopes = rod_shapes(bubbles, points)
    n = bubbles + 2
    order = [0, n, 1, n + 1, *range(2, n), *range(n + 2, 2 * n)]
    nothing = np.zeros_like(ends)
    deflection, deflection_slope = (np.vstack([shapes, nothing])[order] for shapes in (ends, slopes))
    rotation, rotation_slope = (np.vstack([nothing, shapes])[order] for shapes in (ends, slopes))
    return deflection, deflection_slope, rotation, rotation_slope


@lru_cache(maxsize=256)
def points_of(bubbles: int) -> tuple[Array, Array]:
    """Return Gauss points on [-1, 1] and weights of sum 1, exact for products of all the polynomials and of a cubic one."""
    x, weights = leggauss(bubbles + 5)
    weights = weights / 2
    x.flags.writeable = weights.flags.writeable = False
    return x, weights


def _linear(x: Array) -> Array:
    return np.array([(1 - x) / 2, (1 + x) / 2])


def _linear_derivatives(x: Array) -> Array:
    return np.array([np.full_like(x, -1.0), np.full_like(x, 1.0)])


def _with_bubbles(shapes: Iterable[Array], order: int, bubbles: int, points: int) -> Any:
    """Append polynomials that vanish at both ends with `order` - 1 derivatives to values, slopes and so on."""
    return tuple(np.vstack([shape, own]) for shape, own in zip(shapes, _bubbles(order, bubbles, points), strict=True))


@lru_cache(maxsize=256)
def _bubbles(order: int, bubbles: int, points: int) -> Array:
    """Return these polynomials and their derivatives (order + 1, bubbles, p), which take most of a beam's time."""
    x, _ = points_of(points)
    result = np.empty((order + 1, bubbles, len(x)))
    for k in range(bubbles):
        legendre = Legendre.basis(order + k) * np.sqrt(2 * (order + k) + 1)
        for left in range(order, -1, -1):
            result[order - left, k] = legendre.integ(left, lbnd=-1)(x) / 2**left if left else legendre(x)
    result.flags.writeable = False
    return result


def _gram(values: Array, weights: Array) -> Array:
    return (values * weights) @ values.T
