"""Coefficients of derivatives, and what passive elements make of them."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import random_joint
from titop.solvers.kernels.series import coefficients


def test_coefficients_and_derivatives_undo_each_other() -> None:
    derivatives = np.random.default_rng(0).normal(size=(6, 3))
    parts, back = np.empty((4, 3)), np.empty((3, 3))
    coefficients.to_coefficients(derivatives, 1, 4, parts)
    np.testing.assert_allclose(parts, [derivatives[1 + k] / factorial(k) for k in range(4)], rtol=1e-15)
    coefficients.to_derivatives(parts, 1, back)
    np.testing.assert_allclose(back, [factorial(k) * parts[1 + k] for k in range(3)], rtol=1e-15)


@pytest.mark.parametrize("kind", ["Revolute", "Planar", "Universal", "Spherical", "Free"])
def test_passive_efforts_along_a_motion(kind: str) -> None:
    """Orders 0 to 2 against central differences of the model's passive efforts and gyroscopic ones, over 1e-3 s."""
    rng = np.random.default_rng(1)
    joint: Any = random_joint(rng, "joint", kind, passive=True)
    if kind in ("Spherical", "Free"):
        joint.stiffness[:] = 0.0
    s = tt.System("one", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("body", 1.0, com=[0.1, 0.2, 0.3], inertia=0.5), joint)
    model = s.resolve()
    system: Any = model.mechanism.engine.system  # type: ignore[attr-defined]
    q, rates, efforts = model.random_configuration(rng), rng.normal(size=(3, model.nv)), np.zeros((3, model.nv))
    for k in range(3):
        coefficients.add_passive(system.ints, system.floats, q, k, rates, 1.0, efforts)

    def at(t: float) -> Any:
        v = rates[0] + t * rates[1] + t * t * rates[2]
        moved = model.integrate(q, t * rates[0] + t * t / 2 * rates[1] + t**3 / 3 * rates[2])
        found, momentum = model.passive_efforts(moved, v), joint.armature * v
        if kind in ("Spherical", "Free"):
            found[-3:] -= np.cross(v[-3:], momentum[-3:])
        if kind == "Free":
            found[:3] -= np.cross(v[3:], momentum[:3])
            found[3:] -= np.cross(v[:3], momentum[:3])
        return found

    h = 1e-3
    expected = [at(0.0), (at(h) - at(-h)) / (2 * h), (at(h) - 2 * at(0.0) + at(-h)) / (2 * h * h)]
    np.testing.assert_allclose(efforts, expected, rtol=0, atol=1e-4)  # third derivatives times h^2
