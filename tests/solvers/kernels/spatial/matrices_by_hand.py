"""Poses, twists and inertias as the kernels' tables hold them, and as NumPy's matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from tests.systems import Array, random_rotation

#: Where numbers begin in the tables of these tests: not at their beginning, so that places count.
ROW, START = 1, 3


def table_of(numbers: Array) -> Array:
    """Return a table with the numbers at `ROW` from `START`, anything elsewhere."""
    table = np.full((3, START + len(numbers) + 2), 7.0)
    table[ROW, START : START + len(numbers)] = numbers
    return table


def hat(a: Array) -> Array:
    """Return the matrix (3x3) of the cross product with a."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def adjoint(rotation: Array, position: Array) -> Array:
    """Return ``Ad(g)`` (6x6): a twist ``[v; w]`` at the child as one at the parent."""
    return np.block([[rotation, hat(position) @ rotation], [np.zeros((3, 3)), rotation]])


def ad(twist: Array) -> Array:
    """Return the matrix (6x6) of ``ad(twist)``."""
    return np.block([[hat(twist[3:]), hat(twist[:3])], [np.zeros((3, 3)), hat(twist[3:])]])


def random_frame(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a rotation (3x3) and a position (3)."""
    return random_rotation(rng).as_matrix(), rng.normal(size=3)


def symmetric(six: Array) -> Array:
    """Return the symmetric matrix (3x3) of its entries ``xx, yy, zz, xy, xz, yz``."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def entries_of(matrix: Array) -> Array:
    """Return the entries ``xx, yy, zz, xy, xz, yz`` of a symmetric matrix (3x3)."""
    return matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def right_jacobian(algebra: Array) -> Array:
    """Return the integral of ``expm(-s algebra)`` for s from 0 to 1, by one exponential of twice the size."""
    n = len(algebra)
    return expm(np.block([[-algebra, np.eye(n)], [np.zeros((n, 2 * n))]]))[:n, n:]
