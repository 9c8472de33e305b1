"""Mass and stiffness of a uniform beam by polynomials of high degree.

Each kind of deformation (stretch, torsion, bending in two planes) has the displacements of its ends as coordinates, and then
amplitudes of polynomials that leave the ends alone: integrals of Legendre polynomials, whose stiffness is diagonal. Static
deformations under loads at the ends are contained exactly; natural modes converge exponentially with the degree.
"""

from __future__ import annotations

from functools import lru_cache

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
    x, weights = _points(bubbles)
    values, slopes = _linear(x), _linear_slopes(x)
    values, slopes = _with_bubbles(values, slopes, 1, bubbles)
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
    x, weights = _points(bubbles)
    t = (x + 1) / 2
    values = np.array([1 - 3 * t**2 + 2 * t**3, length * (t - 2 * t**2 + t**3), 3 * t**2 - 2 * t**3, length * (t**3 - t**2)])
    curvatures = np.array([12 * t - 6, length * (6 * t - 4), 6 - 12 * t, length * (6 * t - 2)])
    values, curvatures = _with_bubbles(values, curvatures, 2, bubbles)
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
    x, weights = _points(bubbles)
    ends, slopes = _with_bubbles(_linear(x), _linear_slopes(x), 1, bubbles)
    n = bubbles + 2
    nothing = np.zeros_like(ends)
    deflection, deflection_slope = np.vstack([ends, nothing]), np.vstack([slopes, nothing]) / length
    rotation, rotation_slope = np.vstack([nothing, ends]), np.vstack([nothing, slopes]) / length
    mass = length * (inertia * _gram(deflection, weights) + rotary_inertia * _gram(rotation, weights))
    strain = stiffness * _gram(rotation_slope, weights) + shear_stiffness * _gram(deflection_slope - rotation, weights)
    order = [0, n, 1, n + 1, *range(2, n), *range(n + 2, 2 * n)]
    return mass[np.ix_(order, order)], length * strain[np.ix_(order, order)]


@lru_cache(maxsize=256)
def _points(bubbles: int) -> tuple[Array, Array]:
    """Return Gauss points on [-1, 1] and weights of sum 1, exact for products of all the polynomials."""
    x, weights = leggauss(bubbles + 5)
    weights = weights / 2
    x.flags.writeable = weights.flags.writeable = False
    return x, weights


def _linear(x: Array) -> Array:
    return np.array([(1 - x) / 2, (1 + x) / 2])


def _linear_slopes(x: Array) -> Array:
    return np.array([np.full_like(x, -1.0), np.full_like(x, 1.0)])


def _with_bubbles(values: Array, derivatives: Array, order: int, bubbles: int) -> tuple[Array, Array]:
    """Append polynomials that vanish at both ends with `order` - 1 derivatives, and those derivatives (on [0, 1])."""
    own = _bubbles(order, bubbles)
    return np.vstack([values, own[0]]), np.vstack([derivatives, own[1]])


@lru_cache(maxsize=256)
def _bubbles(order: int, bubbles: int) -> Array:
    """Return the values and the derivatives (2, bubbles, points) of these polynomials, which take most of a beam's time."""
    x, _ = _points(bubbles)
    result = np.empty((2, bubbles, len(x)))
    for k in range(bubbles):
        legendre = Legendre.basis(order + k) * np.sqrt(2 * (order + k) + 1)
        result[:, k] = legendre.integ(order, lbnd=-1)(x) / 2**order, legendre(x)
    result.flags.writeable = False
    return result


def _gram(values: Array, weights: Array) -> Array:
    return (values * weights) @ values.T
