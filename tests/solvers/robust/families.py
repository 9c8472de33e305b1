"""Families of linear models, and what is known of them in other ways."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]


def matrix(blocks: list[tt.DeltaBlock], seed: int) -> NDArray[np.complex128]:
    """Return a random matrix for blocks."""
    rng = np.random.default_rng(seed)
    shape = (sum(b.columns for b in blocks), sum(b.repetitions for b in blocks))
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def oscillator(
    k: tuple[float, float], c: tuple[float, float], m: tuple[float, float]
) -> tuple[tuple[Array, Array, Array, Array], list[tt.DeltaBlock]]:
    """Return matrices and blocks of ``m a + c v + k x = f``, from the force to x, with three ranges about their middles."""
    (k0, dk), (c0, dc), (m0, dm) = ((sum(pair) / 2, (pair[1] - pair[0]) / 2) for pair in (k, c, m))
    A = np.array([[0, 1], [-k0 / m0, -c0 / m0]])
    B = np.array([[0, 0, 0, 0], [-dk, -dc, -dm, 1]]) / m0
    acceleration = A[1]
    C = np.array([[1, 0], [0, 1], acceleration, [1, 0]])
    D = np.zeros((4, 4))
    D[2] = B[1]
    blocks = [tt.DeltaBlock.real(name, 1, *pair) for name, pair in (("k", k), ("c", c), ("m", m))]
    return (A, B, C, D), blocks


def two_masses() -> tuple[tuple[Array, Array, Array, Array], list[tt.DeltaBlock]]:
    """Return a closed loop about two masses and a spring (k = 1 ± 0.5), its controller at the other end of the spring."""
    from scipy.linalg import solve_continuous_are

    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 1, -0.02, 0.02], [1, -1, 0.02, -0.02]], dtype=float)
    B, C = np.array([[0.0], [0], [1], [0]]), np.array([[0.0, 1, 0, 0]])
    K = B.T @ solve_continuous_are(A, B, np.eye(4), np.eye(1))
    L = solve_continuous_are(A.T, C.T, 10 * np.eye(4), 0.1 * np.eye(1)) @ C.T / 0.1
    loop = np.block([[A, -B @ K], [L @ C, A - B @ K - L @ C]])
    w = 0.5 * np.array([[0.0, 0, -1, 1, 0, 0, 0, 0]]).T
    z = np.array([[1.0, -1, 0, 0, 0, 0, 0, 0]])
    return (loop, w, z, np.zeros((1, 1))), [tt.DeltaBlock.real("k", 1, 0.5, 1.5)]


def structure_of_modes(sizes: list[int], states: int, damping: float, seed: int) -> tuple[Array, Array, Array, Array]:
    """Return lightly damped modes with random channels for repeated real blocks."""
    rng = np.random.default_rng(seed)
    modes, n = states // 2, sum(sizes)
    A, B, C = np.zeros((2 * modes, 2 * modes)), np.zeros((2 * modes, n)), np.zeros((n, 2 * modes))
    for k, omega in enumerate(np.sort(rng.uniform(1, 30, modes))):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[0, 1], [-(omega**2), -2 * damping * omega]]
    B[1::2], C[:, 0::2] = 0.3 * rng.normal(size=(modes, n)), 0.3 * rng.normal(size=(n, modes))
    return A, B, C, np.zeros((n, n))


def unstable_disc(radius: float) -> tuple[tuple[Array, Array, Array, Array], list[tt.DeltaBlock]]:
    """Return ``dx/dt = -((x - 0.6)² + (y - 0.45)² - radius²) x`` in two parameters, from and to x: a disc is unstable."""
    A = np.array([[-(0.6**2 + 0.45**2 - radius**2)]])
    B, C, D = np.array([[0.0, -1, 0, -1, 1]]), np.array([[1.0], [-1.2], [1], [-0.9], [1]]), np.zeros((5, 5))
    D[1, 0] = D[3, 2] = 1
    return (A, B, C, D), [tt.DeltaBlock.real("x", 2), tt.DeltaBlock.real("y", 2)]
