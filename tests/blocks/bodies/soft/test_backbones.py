"""Kinematics of slender bodies: against each other, closed forms and an integrator; smooth where they are straight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import titop as tt
from titop.blocks.programs.differentiation import jacobian
from titop.blocks.programs.graph import Graph

Array = NDArray[np.float64]
LENGTH = 0.3
POINTS = np.array([[0.01, -0.005, 0.12], [0.0, 0.0, LENGTH], [-0.02, 0.01, 0.0], [0.003, 0.02, 0.29]])
READY = {
    "pcc": tt.Kinematics.constant_curvature(LENGTH),
    "pcc, elongation": tt.Kinematics.constant_curvature(LENGTH, elongation=True),
    "pcc in space": tt.Kinematics.constant_curvature(LENGTH, elongation=True, spatial=True),
    "pac": tt.Kinematics.affine_curvature(LENGTH, elongation=True),
    "pac in space": tt.Kinematics.affine_curvature(LENGTH, spatial=True),
    "pgc": tt.Kinematics.gaussian_curvature(LENGTH),
    "pgc in space": tt.Kinematics.gaussian_curvature(LENGTH, elongation=True, spatial=True),
    "pcs": tt.Kinematics.constant_strain(LENGTH),
    "gvs": tt.Kinematics.variable_strain(LENGTH, {"torsion": [lambda z: z], "shear_x": lambda z: np.cos(9 * z)}),
}
#: Half a radian, and some centimetres.
SIZES = {"rad": 0.5, "m": 0.02}


def configuration(kinematics: tt.Kinematics, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return np.array([SIZES[unit] for unit in kinematics.units]) * rng.uniform(-1, 1, len(kinematics.units))


def places(kinematics: tt.Kinematics, q: Any) -> Array:
    return np.array([np.asarray(kinematics(x, np.asarray(q, float)), float) for x in POINTS])


@pytest.mark.parametrize("name", READY)
def test_at_rest_points_stay(name: str) -> None:
    kinematics = READY[name]
    np.testing.assert_allclose(places(kinematics, np.zeros(len(kinematics.coordinates))), POINTS, atol=1e-17)


@pytest.mark.parametrize("name", READY)
def test_sections_stay_plane_and_keep_their_shape(name: str) -> None:
    kinematics = READY[name]
    q = configuration(kinematics)
    section = np.array([[0.0, 0.0, 0.2], [0.01, 0.0, 0.2], [0.0, 0.02, 0.2], [0.01, -0.02, 0.2]])
    o, a, b, c = (np.asarray(kinematics(x, q), float) for x in section)
    edges = np.stack([a - o, b - o])
    np.testing.assert_allclose(edges @ edges.T, np.diag([0.01**2, 0.02**2]), atol=1e-17)
    np.testing.assert_allclose(c - o, (a - o) - (b - o), atol=1e-16)


@pytest.mark.parametrize("name", READY)
def test_all_derivatives_at_the_straight_configuration_are_finite_and_right(name: str) -> None:
    """Third derivatives along a line through q = 0, against differences whose error is 1e-5 of them.

    Those that are derived of the same function at 0 and beside it must lie on one smooth curve.
    """
    kinematics = READY[name]
    direction = configuration(kinematics, 3)
    graph = Graph()
    (t,) = graph.input("t", 1)
    derived = [np.asarray(kinematics(POINTS[0], direction * t), dtype=object)]
    for _ in range(3):
        derived.append(jacobian(derived[-1], [t])[:, 0])
    program = graph.program({"t": 1}, {"y": np.column_stack(derived)})

    def evaluate(t: float) -> Any:
        return program.evaluate({"t": np.array([t])})["y"]

    at_rest = evaluate(0.0)
    assert np.isfinite(at_rest).all()
    h = 1e-3
    beside = {k: evaluate(k * h) for k in (-2, -1, 1, 2)}
    slope = (8 * (beside[1] - beside[-1]) - (beside[2] - beside[-2])) / (12 * h)
    np.testing.assert_allclose(at_rest[:, 1:], slope[:, :3], atol=1e-11)


def test_ways_to_say_the_same_agree() -> None:
    K, bend, stretch = tt.Kinematics, 0.7, 0.02
    expected = places(K.constant_curvature(LENGTH, elongation=True), [bend, stretch])
    for kinematics, q in (
        (K.constant_curvature(LENGTH, elongation=True, spatial=True), [0, bend, stretch]),
        (K.affine_curvature(LENGTH, elongation=True), [bend, 0, stretch]),
        (K.gaussian_curvature(LENGTH, elongation=True), [bend, 0, stretch]),
        (K.affine_curvature(LENGTH, elongation=True, spatial=True), [0, 0, bend, 0, stretch]),
        (K.constant_strain(LENGTH, ["elongation", "bending_y"]), [stretch, bend]),
        (K.variable_strain(LENGTH, {"bending_y": lambda z: 1.0, "elongation": lambda z: 1.0}), [bend, stretch]),
    ):
        np.testing.assert_allclose(places(kinematics, q), expected, rtol=0, atol=1e-15)  # some last digits
    assert not np.allclose(places(K.constant_curvature(LENGTH, spatial=True), [bend, 0]), expected, atol=1e-3)


def test_bending_about_x_is_bending_about_y_turned() -> None:
    """A quarter turn about z: x to y, y to -x; bending about x moves the tip towards -y."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    kinematics = tt.Kinematics.affine_curvature(LENGTH, spatial=True)
    for x in POINTS:
        about_y = turn @ np.asarray(kinematics(turn.T @ x, np.array([0, 0, 0.5, 0.3])), float)
        np.testing.assert_allclose(kinematics(x, -np.array([0.5, 0.3, 0, 0])), about_y, atol=1e-16)


def bell(z: float) -> float:
    return float(np.exp(-2.0 * (z / LENGTH - 0.5) ** 2))


AFFINE, BELLS, CONSTANT = [lambda z: 1.0, lambda z: z / LENGTH], [lambda z: 1.0, bell], [lambda z: 1.0]
#: Of which functions the components of the strain are made, in the order of the coordinates.
STRAINS: dict[str, dict[int, Any]] = {
    "pac": {1: AFFINE, 5: CONSTANT},
    "pgc": {1: BELLS},
    "pac in space": {0: AFFINE, 1: AFFINE},
    "pgc in space": {0: BELLS, 1: BELLS, 5: CONSTANT},
    "gvs": {2: [lambda z: z], 3: [lambda z: np.cos(9 * z)]},
    "pcs": dict.fromkeys(range(6), CONSTANT),
}


@pytest.mark.parametrize("name", STRAINS)
def test_sections_are_carried_by_the_strain(name: str) -> None:
    """Against an integrator of high order; Magnus' two steps may leave 1e-6 of the length."""
    kinematics, components = READY[name], STRAINS[name]
    q = configuration(kinematics, 5)

    def rate(z: float, y: Array) -> Array:
        strain, values = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), iter(q / LENGTH)
        for component, shapes in components.items():
            strain[component] += sum(shape(z) * next(values) for shape in shapes)
        rotation = y[:9].reshape(3, 3)
        return np.concatenate([np.cross(rotation, strain[:3]).ravel(), rotation @ strain[3:]])

    for x in POINTS[:2]:
        start = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
        end = solve_ivp(rate, (0, x[2]), start, rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
        expected = end[9:] + end[:9].reshape(3, 3) @ [x[0], x[1], 0.0]
        error = 1e-11 if name in ("pac", "pgc", "pcs") else 1e-6 * LENGTH
        np.testing.assert_allclose(np.asarray(kinematics(x, q), float), expected, rtol=0, atol=error)


@pytest.mark.parametrize(
    ("make", "code", "field"),
    [
        (lambda: tt.Kinematics.constant_curvature(-0.1), "bad-length", "length"),
        (lambda: tt.Kinematics.constant_curvature("long"), "wrong-type", "length"),  # type: ignore[arg-type]
        (lambda: tt.Kinematics.gaussian_curvature(0.1, width=0.0), "bad-width", "width"),
        (lambda: tt.Kinematics.constant_strain(0.1, ["bending"]), "unknown-strain", "bending"),
        (lambda: tt.Kinematics.constant_strain(0.1, ["torsion", "torsion"]), "bad-coordinates", "coordinates"),
        (lambda: tt.Kinematics.variable_strain(0.1, {"torsion": []}), "wrong-type", "torsion"),
        (lambda: tt.Kinematics.variable_strain(0.1, {"torsion": 1.0}), "wrong-type", "torsion"),
        (lambda: tt.Kinematics.variable_strain(0.1, {"torsion": np.sin}, steps=0), "bad-count", "steps"),
    ],
)
def test_what_is_no_backbone_is_refused(make: Any, code: str, field: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert (caught.value.code, caught.value.where) == (code, f"kinematics.{field}")
