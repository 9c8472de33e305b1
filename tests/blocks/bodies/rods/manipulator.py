"""The soft manipulator of key M (section 4.5), as a rod and in a second implementation.

The second one multiplies exponentials of 4x4 matrices and differentiates them: no twists, no recursion, nothing of titop's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss, legval, legvander
from numpy.typing import NDArray
from scipy.linalg import expm

import titop as tt

Array = NDArray[Any]

LENGTH, BASE, TIP, YOUNG, POISSON, DENSITY, VISCOSITY = 0.5, 0.03, 0.015, 1e6, 0.5, 1000.0, 1e4
#: Order of each component of ``[k; s]``: 24 coordinates.
ORDERS = {"torsion": 4, "bending_y": 4, "bending_z": 4, "elongation": 2, "shear_y": 2, "shear_z": 2}
FIELDS: dict[str, Any] = {"length": LENGTH, "young": YOUNG, "density": DENSITY, "poisson": POISSON, "damping": VISCOSITY}


def manipulator(**fields: Any) -> tt.Rod:
    """Return the manipulator, with some fields replaced."""
    given: dict[str, Any] = {"section": tt.Section.circle([BASE, TIP]), "strains": ORDERS, **FIELDS}
    return tt.Rod("rod", **(given | fields))


class DenseManipulator:
    """The manipulator clamped at the origin: poses, energies and efforts by differentiating products of exponentials.

    Parameters
    ----------
    points : int
        Gauss points.
    """

    def __init__(self, points: int = 5) -> None:
        roots, weights = leggauss(points)
        self.X = np.concatenate([[0.0], (1 + roots) / 2, [1.0]]) * LENGTH
        self.weights = np.concatenate([[0.0], weights / 2, [0.0]]) * LENGTH
        radius = BASE + (TIP - BASE) * self.X / LENGTH
        self.area, self.second = np.pi * radius**2, np.pi * radius**4 / 4
        self.components = [k for k, order in enumerate(ORDERS.values()) for _ in range(order + 1)]
        self.degrees = [degree for order in ORDERS.values() for degree in range(order + 1)]
        self.n = len(self.degrees)

    def strain(self, X: float, q: Array) -> Array:
        """Return the strain as a 4x4 matrix of se(3)."""
        straight = np.array([0, 0, 0, 1.0, 0, 0]) * (1.0 + 0.0 * q.sum())
        polynomials = legvander(2 * X / LENGTH - 1, 4)[0]
        for component, degree, amplitude in zip(self.components, self.degrees, q, strict=True):
            straight[component] += polynomials[degree] * amplitude / LENGTH
        (a, b, c), s = straight[:3], straight[3:]
        return np.array([[0, -c, b, s[0]], [c, 0, -a, s[1]], [-b, a, 0, s[2]], [0, 0, 0, 0]])

    def displacements(self, q: Array) -> Array:
        """Return Omega (6, 4, 4) of all intervals."""
        found = []
        for X, h in zip(self.X, np.diff(self.X), strict=False):
            one, two = (self.strain(X + h * (0.5 + side * np.sqrt(3) / 6), q) for side in (-1, 1))
            found.append(h / 2 * (one + two) + np.sqrt(3) / 12 * h**2 * (one @ two - two @ one))
        return np.array(found)

    def poses_and_rates(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the poses (points, 4, 4) and their rates, by exponentials of twice the size; `q` may be complex.

        The displacements are of second degree in q: their central difference is exact, with a step as large as one likes.
        """
        omega, rate = self.displacements(q), (self.displacements(q + v) - self.displacements(q - v)) / 2
        big = expm(np.block([[omega, rate], [np.zeros_like(omega), omega]]))
        poses, rates = [np.eye(4)], [np.zeros((4, 4))]
        for g, dg in zip(big[:, :4, :4], big[:, :4, 4:], strict=True):
            poses.append(poses[-1] @ g)
            rates.append(rates[-1] @ g + poses[-2] @ dg)
        return np.array(poses), np.array(rates)

    def momenta(self, q: Array, v: Array) -> Array:
        """Return ``M v`` (n): the derivative of the kinetic energy by v."""
        moving = self.poses_and_rates(q, v)[1]
        return np.array([self.inner(self.poses_and_rates(q, e)[1], moving) for e in np.eye(self.n)])

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (n, n)."""
        rates = [self.poses_and_rates(q, e)[1] for e in np.eye(self.n)]
        return np.array([[self.inner(one, two) for one in rates] for two in rates])

    def inner(self, one: Array, two: Array) -> Any:
        """Return twice the kinetic energy's mixed term of two rates of poses: of all particles of the sections.

        A particle ``p + y R_y + z R_z`` moves with ``dp + y dR_y + z dR_z``; over a section y^2 and z^2 give Iz and Iy.
        """
        moving = (one[:, :3, 3] * two[:, :3, 3]).sum(1) * self.area
        turning = (one[:, :3, 1:3] * two[:, :3, 1:3]).sum((1, 2)) * self.second
        return DENSITY * self.weights @ (moving + turning)

    def potential(self, q: Array, gravity: Array) -> Any:
        """Return elastic and gravitational energy (J); `gravity` in the frame of the base."""
        poses, _ = self.poses_and_rates(q, 0.0 * q)
        return 0.5 * q @ self.gram(YOUNG, YOUNG / 3) @ q - DENSITY * self.weights * self.area @ (poses[:, :3, 3] @ gravity)

    def gram(self, young: float, shear: float) -> Array:
        """Return the stiffness (n, n) with some moduli, by dense quadrature."""
        roots, weights = leggauss(40)
        xi = (1 + roots) / 2
        radius = BASE + (TIP - BASE) * xi
        area, second = np.pi * radius**2, np.pi * radius**4 / 4
        factor = 6 * (1 + POISSON) / (7 + 6 * POISSON)
        rigidity = [
            2 * shear * second,
            young * second,
            young * second,
            young * area,
            factor * shear * area,
            factor * shear * area,
        ]
        phi = [legval(roots, np.eye(degree + 1)[degree]) / LENGTH for degree in self.degrees]
        return np.array(
            [
                [
                    (weights / 2 * LENGTH * rigidity[c] * one * two).sum() if c == d else 0.0
                    for one, c in zip(phi, self.components, strict=True)
                ]
                for two, d in zip(phi, self.components, strict=True)
            ]
        )

    def inverse_dynamics(self, q: Array, v: Array, a: Array, gravity: Array) -> Array:
        """Return the efforts (n), by Lagrange's equations."""
        step = 1e-30
        inertial = self.momenta(q, a) + np.imag(self.momenta(q + 1j * step * v, v)) / step
        slopes = []
        for e in np.eye(self.n):
            moved = q + 1j * step * e
            rates = self.poses_and_rates(moved, v)[1]
            slopes.append(np.imag(self.potential(moved, gravity) - self.inner(rates, rates) / 2) / step)
        return inertial + np.array(slopes) + self.gram(3 * VISCOSITY, VISCOSITY) @ v
