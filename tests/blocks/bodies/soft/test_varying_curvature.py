"""Bodies of affine and Gaussian curvature: inertia and weight against a backbone that an integrator of high order finds.

Nothing of titop's is in the comparison: the strain is integrated along the body, with the derivatives by coordinates as complex
steps, and the material's integrals are Gauss points along the axis times the moments of a disc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import titop as tt

Array = NDArray[Any]

LENGTH, RADIUS, DENSITY, WIDTH = 0.3, 0.02, 1070.0, 0.4
GRAVITY = np.array([1.0, -2.0, -9.81])
BENDING_X, BENDING_Y, ELONGATION = 0, 1, 5
STEP = 1e-30


def bell(z: Any) -> Any:
    return np.exp(-0.5 * ((z / LENGTH - 0.5) / WIDTH) ** 2)


AFFINE, BELLS = [lambda z: 1.0, lambda z: z / LENGTH], [lambda z: 1.0, bell]
#: Kinematics; of which functions the components of the strain are made, in the order of the coordinates; how exact they are: in
#: a plane as the integrator, in space as Magnus' two steps, where curvature adds up to a radian; four leave a fiftieth of that.
CASES: dict[str, tuple[tt.Kinematics, dict[int, list[Callable[[Any], Any]]], float]] = {
    "PAC": (tt.Kinematics.affine_curvature(LENGTH), {BENDING_Y: AFFINE}, 1e-10),
    "PGC": (tt.Kinematics.gaussian_curvature(LENGTH, width=WIDTH), {BENDING_Y: BELLS}, 1e-10),
    "PAC in space": (tt.Kinematics.affine_curvature(LENGTH, spatial=True), {BENDING_X: AFFINE, BENDING_Y: AFFINE}, 3e-5),
    "PAC in space, four steps": (
        tt.Kinematics.variable_strain(LENGTH, {"bending_x": AFFINE, "bending_y": AFFINE}, steps=4),
        {BENDING_X: AFFINE, BENDING_Y: AFFINE},
        6e-7,
    ),
    "PGC in space": (
        tt.Kinematics.gaussian_curvature(LENGTH, elongation=True, spatial=True, width=WIDTH),
        {BENDING_X: BELLS, BENDING_Y: BELLS, ELONGATION: [lambda z: 1.0]},
        3e-5,
    ),
}
POINTS = 24


def backbone(components: dict[int, list[Callable[[Any], Any]]], q: Array, z: Array) -> tuple[Array, Array]:
    """Return attitudes (k, 3, 3) and places (k, 3) of the sections at z, of a body with coordinates q, which may be complex."""

    def rate(at: float, y: Array) -> Array:
        strain, values = np.array([0, 0, 0, 0, 0, 1], dtype=q.dtype), iter(q / LENGTH)
        for component, shapes in components.items():
            strain[component] += sum(shape(at) * next(values) for shape in shapes)
        rotation = y[:9].reshape(3, 3)
        return np.concatenate([np.cross(rotation, strain[:3]).ravel(), rotation @ strain[3:]])

    start = np.concatenate([np.eye(3).ravel(), np.zeros(3)]).astype(q.dtype)
    found = solve_ivp(rate, (0, LENGTH), start, t_eval=z, rtol=1e-12, atol=1e-14, method="DOP853")
    return found.y[:9].T.reshape(-1, 3, 3), found.y[9:].T


def crossing(p: Array) -> Array:
    """Return the matrix of the cross product with p."""
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def integrated(components: dict[int, list[Callable[[Any], Any]]], q: Array) -> tuple[Array, Array]:
    """Return the mass matrix (6 + n) and the efforts that hold the body's weight, at a base at rest in the inertial frame.

    The velocity of a point beside the axis is ``(N_0 + x_1 N_1 + x_2 N_2) (V, dq/dt)``, so that a disc gives
    ``A (N_0' N_0 + R^2 / 4 (N_1' N_1 + N_2' N_2))``.
    """
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    z, dz = LENGTH * (nodes + 1) / 2, LENGTH * weights / 2
    rotations, places = backbone(components, q, z)
    steps = [backbone(components, q + 1j * STEP * unit, z) for unit in np.eye(len(q))]
    mass, held = np.zeros((6 + len(q),) * 2), np.zeros(6 + len(q))
    for k, length in enumerate(dz):
        parts = [(places[k], [place[k] for _, place in steps])]
        parts += [(rotations[k][:, j], [turn[k][:, j] for turn, _ in steps]) for j in (0, 1)]
        columns = [
            np.hstack([np.eye(3) * (part is parts[0][0]), -crossing(part), np.imag(np.array(stepped)).T / STEP])
            for part, stepped in parts
        ]
        area = DENSITY * np.pi * RADIUS**2 * length
        for column, share in zip(columns, (1.0, RADIUS**2 / 4, RADIUS**2 / 4), strict=True):
            mass += area * share * column.T @ column
        held -= area * columns[0].T @ GRAVITY
    return mass, held


@pytest.mark.parametrize("name", CASES)
def test_inertia_and_weight(name: str) -> None:
    kinematics, components, exact = CASES[name]
    s = tt.System("body", gravity=GRAVITY)
    domain = tt.Domain.cylinder(RADIUS, LENGTH, along=10)
    s.connect("world", tt.SoftBody("body", kinematics, domain, DENSITY), tt.Free("base"))
    m = s.resolve(engine="reference")
    sizes = np.array([0.01 if unit == "m" else 0.5 for unit in kinematics.units])
    for seed in (0, 1):
        own = sizes * np.random.default_rng(seed).uniform(-1, 1, len(sizes))
        mass, held = integrated(components, own)
        q = np.concatenate([m.neutral()[:7], own])
        scales = np.sqrt(np.diag(mass))  # each coordinate by its own inertia, weights by what these feel of gravity
        across, felt = np.outer(scales, scales), scales * scales[0] * np.linalg.norm(GRAVITY)
        np.testing.assert_allclose(m.mass_matrix(q) / across, mass / across, rtol=0, atol=exact)
        np.testing.assert_allclose(m.gravity_effects(q) / felt, held / felt, rtol=0, atol=exact)
        q[-1] += 3e-3 * sizes[-1]  # the negative control
        assert np.abs((m.mass_matrix(q) - mass) / across).max() > 2 * exact


@pytest.mark.parametrize("name", CASES)
def test_straight_bodies_have_the_inertia_of_cylinders(name: str) -> None:
    """The comparison itself, where the answer is known: mass, centre, and moments about the middle of the base."""
    _, components, _ = CASES[name]
    mass, _ = integrated(components, np.zeros(sum(map(len, components.values()))))
    total = DENSITY * np.pi * RADIUS**2 * LENGTH
    across = total * (LENGTH**2 / 3 + RADIUS**2 / 4)
    np.testing.assert_allclose(np.diag(mass)[:6], [total] * 3 + [across] * 2 + [total * RADIUS**2 / 2], rtol=1e-12)
    np.testing.assert_allclose(mass[0, 4], total * LENGTH / 2, rtol=1e-12)
