"""Kinematics that know their coordinates, and what becomes of them where they are composed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt

K = tt.Kinematics
R, HOLE, L = 0.02, 0.01, 0.1
TUBE = tt.Domain.tube(R, HOLE, L)
MODES = [lambda z: z / L, lambda z: (z / L) ** 2]


def test_points_go_through_one_part_after_the_other() -> None:
    def stretch(x: Any, q: Any) -> Any:
        return [x[0], x[1], (1 + q[0]) * x[2]]

    def turn(x: Any, q: Any) -> Any:
        return [np.cos(q[0]) * x[0] - np.sin(q[0]) * x[2], x[1], np.sin(q[0]) * x[0] + np.cos(q[0]) * x[2]]

    first, second, x, q = K(stretch, ["e"]), K(turn, ["a"], units=["rad"]), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.3])
    np.testing.assert_array_equal(first.then(second)(x, q), turn(stretch(x, q), q[1:]))
    np.testing.assert_array_equal(second.then(first)(x, q), stretch(turn(x, q), q[1:]))
    assert first.then(second).units == ("1", "rad")
    assert (
        first.then(second).then(K(turn, ["b"])).coordinates == first.then(second, K(turn, ["b"])).coordinates == ("e", "a", "b")
    )


def test_they_follow_each_other() -> None:
    joined = K.twist(MODES[:2]).then(K.shear(MODES[:1]), K.source(MODES[:1], HOLE))
    assert joined.coordinates == ("twist1", "twist2", "shear_x", "source")
    assert joined.units == ("rad", "rad", "m", "m^2")
    assert joined.scales == (1.0, 1.0, 0.01, pytest.approx(0.3 * HOLE**2))
    assert isinstance(joined, K)


def test_functions_of_ones_own_join_with_their_parameters() -> None:
    def push(x: Any, q: Any, numbers: Any) -> Any:
        return [x[0] + numbers.gain * q[0] * x[2], x[1], x[2]]

    own = K(push, ["push"], parameters={"gain": (2.0, "1")})
    made = tt.SoftBody("body", K.twist(MODES[:1]).then(own), TUBE, 1000.0, ports={})
    assert made.parameters()["gain"] == (2.0, "1")
    moved = made.positions(np.array([0.0, 0.1]))[:, 0] - TUBE.points[:, 0]
    np.testing.assert_allclose(moved, 0.2 * TUBE.points[:, 2], atol=1e-16)


def test_equal_names_are_refused() -> None:
    with pytest.raises(tt.ModelError, match="another name") as caught:
        K.twist(MODES[:1]).then(K.twist(MODES[:1]))
    assert (caught.value.code, caught.value.where) == ("same-name", "kinematics.coordinates")


@pytest.mark.parametrize(
    ("make", "code", "field"),
    [
        (lambda: K(3.0, ["a"]), "wrong-type", "function"),  # type: ignore[arg-type]
        (lambda: K(np.sum, ["a", "a"]), "bad-coordinates", "coordinates"),
        (lambda: K(np.sum, "a"), "bad-coordinates", "coordinates"),
        (lambda: K(np.sum, ["a"], units=["m", "m"]), "wrong-shape", "units"),
        (lambda: K(np.sum, ["a"], scales=[1.0, 2.0]), "wrong-shape", "scales"),
        (lambda: K(np.sum, 3), "bad-coordinates", "coordinates"),  # type: ignore[arg-type]
        (lambda: K(np.sum, ["a"], units=[1]), "wrong-shape", "units"),  # type: ignore[list-item]
        (lambda: K(np.sum, ["a"], parameters={"a": "wide"}), "wrong-type", "parameters.a"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, code: str, field: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert (caught.value.code, caught.value.where) == (code, f"kinematics.{field}")
