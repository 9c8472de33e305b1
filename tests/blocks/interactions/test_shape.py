"""Shapes: distances by closed forms and by brute force, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import titop as tt

SHAPES = [
    tt.Shape.plane([0.0, 1.0, 2.0]),
    tt.Shape.sphere(0.3),
    tt.Shape.cylinder(0.4),
    tt.Shape.cylinder(0.4, inside=True),
    tt.Shape.cylinder(0.4, 1.0),
    tt.Shape.box([1.0, 0.5, 0.3]),
    tt.Shape.capsule(0.2, 1.0),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_the_normal_is_the_gradient_of_the_distance(shape: tt.Shape) -> None:
    rng = np.random.default_rng(0)
    for place in rng.normal(size=(100, 3)):
        gradient = [np.imag(shape.distance(place + 1e-30j * axis)[0]) / 1e-30 for axis in np.eye(3)]
        normal = np.array(shape.distance(place)[1], float)
        np.testing.assert_allclose(gradient, normal, rtol=0, atol=1e-14)  # complex steps, of numbers of order one
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)


def _nearest(place: Any, start: Any, inside: Callable[[Any], Any]) -> float:
    """Return how far the solid in which `inside` is not negative is from a place, by a search that knows no distances."""
    solid = {"type": "ineq", "fun": inside}
    found = minimize(lambda x: ((x - place) ** 2).sum(), start, constraints=[solid], method="SLSQP", options={"ftol": 1e-14})
    return float(np.linalg.norm(found.x - place))


@pytest.mark.parametrize("seed", range(8))
def test_distances_are_those_of_the_nearest_points(seed: int) -> None:
    place = np.random.default_rng(seed).normal(size=3) * 2.0
    solids: list[tuple[tt.Shape, Callable[[Any], Any]]] = [
        (tt.Shape.box([1.0, 0.5, 0.3]), lambda x: np.concatenate([0.5 * np.array([1.0, 0.5, 0.3]) - s * x for s in (1, -1)])),
        (tt.Shape.cylinder(0.4, 1.0), lambda x: np.array([0.16 - x[0] ** 2 - x[1] ** 2, 0.5 - x[2], 0.5 + x[2]])),
        (tt.Shape.sphere(0.3), lambda x: np.array([0.09 - x @ x])),
    ]
    for shape, inside in solids:
        if inside(place).min() < 0:
            # the square of the distance is found to 1e-14, of sizes of order one
            assert shape.distance(place)[0] == pytest.approx(_nearest(place, 0.01 * place, inside), abs=1e-6)
    near = min(np.linalg.norm(place - [0, 0, z]) for z in np.linspace(-0.5, 0.5, 100001))
    assert tt.Shape.capsule(0.2, 1.0).distance(place)[0] == pytest.approx(near - 0.2, abs=1e-9)  # steps of 1e-5, squared


def test_inside_of_a_box_the_nearest_face_counts() -> None:
    distance, normal = tt.Shape.box([2.0, 2.0, 2.0]).distance([0.1, -0.8, 0.3])
    assert distance == pytest.approx(-0.2, abs=1e-15)
    assert np.array(normal, float).tolist() == [0.0, -1.0, 0.0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tt.Shape.sphere(0.0), "shape.sphere.radius: got 0.0"),
        (lambda: tt.Shape.box([1.0, -1.0, 1.0]), "shape.box.sides: got"),
        (lambda: tt.Shape.capsule(0.1, 0.0), "shape.capsule.length: got 0.0"),
        (lambda: tt.Shape.capsule(0.1, None), "shape.capsule.length: got None"),  # type: ignore[arg-type]
        (lambda: tt.Shape.cylinder(-0.1), "shape.cylinder.radius: got -0.1"),
        (lambda: tt.Shape.cylinder(0.1, -1.0), "shape.cylinder.length: got -1.0"),
        (lambda: tt.Shape.capsule(-0.1, 1.0), "shape.capsule.radius: got -0.1"),
        (lambda: tt.Shape.cylinder(float("nan")), "shape.cylinder.radius"),
        (lambda: tt.Shape.cylinder(0.1, 0.3, inside=True), "shape.cylinder.length: got 0.3; expected none"),
        (lambda: tt.Shape.plane([0, 0, 0]), "shape.plane.normal"),
        (lambda: tt.Shape.of_kind("cube", side=1.0), "got cube"),
        (lambda: tt.Shape("cube", side=1.0), "got cube of side"),
        (lambda: tt.Shape("sphere", r=1.0), "got sphere of r; expected all dimensions"),
        (lambda: tt.Shape.of_kind("box", side=1.0), "shape.side: got side"),
        (lambda: tt.Shape.of_kind("capsule", radius=1.0), "all dimensions of a capsule: radius, length"),
    ],
)
def test_unusable_shapes_are_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(tt.ModelError) as raised:
        make()
    assert said in str(raised.value)
