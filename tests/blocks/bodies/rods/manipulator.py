"""The soft manipulator of key M (section 4.5), as a rod and in a second implementation.

The second one multiplies exponentials of 4x4 matrices and differentiates them: no twists, no recursion, nothing of titop's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

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


def exponential(matrices: Array) -> Array:
    """Return the exponentials of stacked matrices of norm 2 or less, by their power series: 2^30 / 30! is 1e-23."""
    term = total = np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape)
    for k in range(1, 30):
        term = term @ matrices / k
        total = total + term
    return total


class DenseManipulator:
    """The manipulator clamped at the origin: inertia and efforts by differentiating products of exponentials.

    States may be stacked, (..., n), and complex.

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
        components = [k for k, order in enumerate(ORDERS.values()) for _ in range(order + 1)]
        self.onto = np.eye(6)[:, components]
        self.degrees = [degree for order in ORDERS.values() for degree in range(order + 1)]
        self.n, self.magnus = len(self.degrees), np.sqrt(3) / 12

    def strain(self, X: float, q: Array) -> Array:
        """Return the strains (..., 4, 4) as matrices of se(3), without the straight rod's."""
        phi = self.onto * legvander(2 * X / LENGTH - 1, 4)[0, self.degrees] / LENGTH
        xi = np.moveaxis(q @ phi.T, -1, 0)
        matrix = np.zeros((*q.shape[:-1], 4, 4), q.dtype)
        for (row, column), entry in {(2, 1): xi[0], (0, 2): xi[1], (1, 0): xi[2]}.items():
            matrix[..., row, column], matrix[..., column, row] = entry, -entry
        matrix[..., :3, 3] = np.moveaxis(xi[3:], 0, -1)
        return matrix

    def motions(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the poses (..., points, 4, 4) and their rates, by exponentials of twice the size."""
        straight = np.zeros((4, 4))
        straight[0, 3] = 1.0
        q, v = np.broadcast_arrays(q, v)
        g, dg = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4)), np.zeros((*q.shape[:-1], 4, 4))
        poses, rates = [g], [dg]
        for X, h in zip(self.X, np.diff(self.X), strict=False):
            places = [X + h * (0.5 + side * np.sqrt(3) / 6) for side in (-1, 1)]
            (a, b), (da, db) = ([self.strain(place, each) for place in places] for each in (q, v))
            a, b, bracket = a + straight, b + straight, self.magnus * h**2
            omega = h / 2 * (a + b) + bracket * (a @ b - b @ a)
            change = h / 2 * (da + db) + bracket * (da @ b - b @ da + a @ db - db @ a)
            big = exponential(np.block([[omega, change], [np.zeros_like(omega), omega]]))
            g, dg = g @ big[..., :4, :4], dg @ big[..., :4, :4] + g @ big[..., :4, 4:]
            poses.append(g)
            rates.append(dg)
        return np.stack(poses, -3), np.stack(rates, -3)

    def inner(self, one: Array, two: Array) -> Array:
        """Return twice the kinetic energy's mixed term of two rates of poses: of all particles of the sections.

        A particle ``p + y R_y + z R_z`` moves with ``dp + y dR_y + z dR_z``; over a section y^2 and z^2 give Iz and Iy.
        """
        products = one * two
        moving, turning = products[..., :3, 3].sum(-1) * self.area, products[..., :3, 1:3].sum((-1, -2)) * self.second
        return DENSITY * (moving + turning) @ self.weights

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (n, n)."""
        rates = self.motions(q, np.eye(self.n))[1]
        return self.inner(rates[:, None], rates)

    def stiffness(self, young: float, shear: float) -> Array:
        """Return the stiffness (n, n) for some moduli, by dense quadrature."""
        roots, weights = leggauss(40)
        radius = BASE + (TIP - BASE) * (1 + roots) / 2
        area, second = np.pi * radius**2, np.pi * radius**4 / 4
        sheared = 6 * (1 + POISSON) / (7 + 6 * POISSON) * shear * area
        rigidities = [2 * shear * second, young * second, young * second, young * area, sheared, sheared]
        phi = legvander(roots, 4)[:, self.degrees] / LENGTH
        return sum(
            np.outer(row, row) * (phi.T @ ((weights * LENGTH / 2 * rigidity)[:, None] * phi))
            for row, rigidity in zip(self.onto, rigidities, strict=True)
        )

    def inverse_dynamics(self, q: Array, v: Array, a: Array, gravity: Array) -> Array:
        """Return the efforts (n), by Lagrange's equations; `gravity` in the frame of the base."""
        step = 1e-30
        slopes = self.motions(q + 1j * step * v, np.eye(self.n))[1]
        accelerated, moving = (self.inner(slopes, np.tensordot(along, slopes, 1)) for along in (a, v))
        inertial = np.real(accelerated) + np.imag(moving) / step
        poses, rates = self.motions(q + 1j * step * np.eye(self.n), v)
        lagrangian = self.inner(rates, rates) / 2 + DENSITY * (poses[..., :3, 3] @ gravity) @ (self.weights * self.area)
        passive = self.stiffness(YOUNG, YOUNG / 3) @ q + self.stiffness(3 * VISCOSITY, VISCOSITY) @ v
        return inertial - np.imag(lagrangian) / step + passive


class ContinuousManipulator(DenseManipulator):
    """The same without exponentials: poses and their rates by integration of ``g' = g xi``, to 1e-9."""

    def motions(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the poses (..., points, 4, 4) and their rates."""
        straight = np.zeros((4, 4))
        straight[0, 3] = 1.0
        q, v = np.broadcast_arrays(q, v)
        shape = (2, *q.shape[:-1], 4, 4)

        def change(X: float, numbers: Array) -> Array:
            g, dg = numbers.reshape(shape)
            xi = self.strain(X, q) + straight
            return np.stack([g @ xi, dg @ xi + g @ self.strain(X, v)]).ravel()

        start = np.zeros(shape, np.result_type(q, v))
        start[0] = np.eye(4)
        solved = solve_ivp(change, (0.0, LENGTH), start.ravel(), "DOP853", self.X, rtol=1e-10, atol=1e-11)
        poses, rates = np.moveaxis(solved.y.reshape(*shape, len(self.X)), -1, -3)
        return poses, rates
