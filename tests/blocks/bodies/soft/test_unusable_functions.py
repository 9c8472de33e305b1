"""What NumPy and Python cannot do with unknowns: the message says what to write instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt


def zeros(x: Any, q: Any) -> Any:
    place = np.zeros(3)
    place[0] = q[0]
    return place


MISUSES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "numbers beside unknowns": (lambda x, q: x + np.sin(np.array([0.0, q[0], 0.0])), "tt.Kinematics.array"),
    "an array of floats": (zeros, "tt.Kinematics.array"),
    "math": (lambda x, q: [x[0] + math.sin(q[0]), x[1], x[2]], "NumPy's functions"),
    "a branch": (lambda x, q: x if q[0] > 0 else 2 * x, "tt.Kinematics.where"),
    "a maximum": (lambda x, q: [np.maximum(x[0], q[0]), x[1], x[2]], "tt.Kinematics.where"),
    "a choice": (lambda x, q: [np.where(q[0] > 0, x[0], q[0]), x[1], x[2]], "tt.Kinematics.where"),
    "a determinant": (lambda x, q: x * np.linalg.det(np.array([[1.0, q[0]], [0.0, 1.0]])), "tt.Material.determinant"),
    # NumPy 2.0 chooses in it, later ones take a bool of it: one writes the function, or the choice, of titop
    "NumPy's sinc": (
        lambda x, q: x * np.sinc(q[0]),
        "tt.Kinematics.where" if np.__version__.startswith("2.0.") else "tt.Kinematics.sinc",
    ),
}


def body(kinematics: Any) -> tt.SoftBody:
    return tt.SoftBody("body", kinematics, tt.Domain.cylinder(0.01, 0.1), 1000.0, coordinates=("q",))


@pytest.mark.parametrize("name", MISUSES)
def test_advice(name: str) -> None:
    function, advice = MISUSES[name]
    (finding,) = body(function).check()[0]
    assert (finding.code, finding.where) == ("bad-kinematics", "body.kinematics")
    assert advice in finding.advice


def test_what_is_advised_works() -> None:
    """The first five again, as they should be written."""

    def place(x: Any, q: Any) -> Any:
        moved = np.zeros(3, dtype=object)
        moved[0] = q[0] * x[2]
        bent = np.sin(tt.Kinematics.array([0.0, q[0], 0.0])) + np.stack([moved, np.cross([0.0, 0.0, q[0]], x)])[0]
        return x + bent * np.linalg.norm(np.array([x[2], 0.0])) + tt.Kinematics.where(q[0] > 0, q[0], 0.0) * x

    made = body(place)
    assert not made.check()[0]
    x, q = np.array([[0.001, 0.002, 0.03]]), np.array([0.2])
    expected = x + 0.03 * np.array([0.2 * 0.03, np.sin(0.2), 0.0]) + 0.2 * x
    np.testing.assert_allclose(made.positions(q, x), expected, rtol=1e-14)
