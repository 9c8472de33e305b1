"""Poses, motions and inertia of a rod's sections, against circles, differences and complex steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import titop as tt
from titop.blocks.bodies.rods.discretisation import RodLayout, RodMaterial, RodNumbers, rod_numbers
from titop.blocks.bodies.rods.recursion import RodMotion, gyroscopic, mass_matrix
from titop.blocks.bodies.rods.strains import STRAIGHT, StrainBasis

Array = NDArray[np.float64]
L, N, STEP = 0.7, 5, 1e-30
BASES = {"torsion": 0, "bending_y": 1, "shear_z": 1}
#: Products of some tens of exponentials, of size one.
ROUNDING = {"rtol": 0, "atol": 1e-13}


def numbers(bases: dict[str, int] | None = None) -> RodNumbers:
    layout = RodLayout({name: StrainBasis.legendre(k) for name, k in (bases or BASES).items()}, 6, [0.4, 1.0], L)
    return rod_numbers(layout, L, tt.Section.circle(0.02), RodMaterial(2e5, 8e4, 1100.0, 0.0), np.array(STRAIGHT))


Q, V, A = np.random.default_rng(0).normal(size=(3, N))


def test_a_constant_curvature_is_a_circle() -> None:
    """About y, from x towards -z."""
    found, angle = numbers({"bending_y": 0}), 1.9
    rotations, positions = RodMotion(found, np.array([angle])).poses()
    turned = angle * np.concatenate([found.fractions, [0.4, 1.0]])
    radius = L / angle
    circle = np.array([radius * np.sin(turned), 0 * turned, -radius * (1 - np.cos(turned))]).T
    np.testing.assert_allclose(positions, circle, **ROUNDING)
    np.testing.assert_allclose(rotations[:, 0, 0], np.cos(turned), **ROUNDING)
    np.testing.assert_allclose(rotations[:, 0, 2], np.sin(turned), **ROUNDING)


def test_jacobians_are_derivatives_of_poses() -> None:
    """``J e_k = [R^T dr; (R^T dR)^v]`` by complex steps, beside the rigid motion ``Ad(g)^-1``."""
    found = numbers()
    motion = RodMotion(found, Q)
    rotations, positions = motion.poses()
    jacobians = motion.jacobians()
    for k in range(N):
        turned, moved = RodMotion(found, Q + 1j * STEP * np.eye(N)[k]).poses()
        spins = np.swapaxes(rotations, 1, 2) @ (turned.imag / STEP)
        ways = np.einsum("sji,sj->si", rotations, moved.imag / STEP)
        expected = np.column_stack([ways, spins[:, 2, 1], spins[:, 0, 2], spins[:, 1, 0]])
        np.testing.assert_allclose(jacobians[:, :, 6 + k], expected, **ROUNDING)
    np.testing.assert_allclose(jacobians[:, :3, :3], np.swapaxes(rotations, 1, 2), **ROUNDING)
    lever = np.cross(np.eye(3)[:, None], positions).transpose(1, 2, 0)  # w x r, a column for each w
    np.testing.assert_allclose(jacobians[:, :3, 3:6], np.swapaxes(rotations, 1, 2) @ lever, **ROUNDING)


def test_accelerations_are_rates_of_twists() -> None:
    """With P at rest and coordinates along ``q + t v``: ``d/dt (J v)`` by a complex step."""
    found, still = numbers(), np.zeros(6)
    twists, accelerations = RodMotion(found, Q).biases(V, still)
    np.testing.assert_allclose(twists, RodMotion(found, Q).jacobians()[:, :, 6:] @ V, **ROUNDING)
    rates = RodMotion(found, Q + 1j * STEP * V).jacobians()[:, :, 6:].imag @ V / STEP
    np.testing.assert_allclose(accelerations, rates, rtol=0, atol=1e-12)
    carried = RodMotion(found, Q).biases(V, np.arange(6.0))[1]
    assert np.abs(carried - accelerations).max() > 0.1  # P moves


def momentum(found: RodNumbers, q: Array) -> Array:
    """Return the inertia (6 + n, 6 + n) at a configuration."""
    inertia = np.vstack([found.inertia, np.zeros((2, 4))])  # ports have none
    return mass_matrix(inertia, RodMotion(found, q).jacobians())


def test_gyroscopic_terms_are_lagranges() -> None:
    """``d/dt (M v) - d(v.M v / 2)/dq`` of the coordinates, where P is held."""
    found = numbers()
    motion, inertia = RodMotion(found, Q), np.vstack([found.inertia, np.zeros((2, 4))])
    terms = gyroscopic(inertia, motion.jacobians(), *motion.biases(V, np.zeros(6)))[6:]
    rate = momentum(found, Q + 1j * STEP * V).imag[6:, 6:] @ V / STEP
    kinetic = [V @ momentum(found, Q + 1j * STEP * e).imag[6:, 6:] @ V / (2 * STEP) for e in np.eye(N)]
    np.testing.assert_allclose(terms, rate - kinetic, rtol=0, atol=1e-13)
    assert np.abs(terms - rate).max() > 1e-3 * np.abs(terms).max()  # both parts count


def test_inertia_of_the_whole_is_that_of_a_rigid_body() -> None:
    """Mass and first moments of the bent rod, of its points."""
    found = numbers()
    matrix, positions = momentum(found, Q), RodMotion(found, Q).poses()[1][: len(found.inertia)]
    mass, center = found.inertia[:, 0].sum(), found.inertia[:, 0] @ positions
    np.testing.assert_allclose(matrix[:3, :3], mass * np.eye(3), **ROUNDING)
    np.testing.assert_allclose(matrix[:3, 3:6], -np.cross(np.eye(3), -center).T, **ROUNDING)
    np.testing.assert_allclose(matrix, matrix.T, **ROUNDING)
    assert np.linalg.eigvalsh(matrix).min() > 0
