"""What a block's surroundings do to it, as its law feels it: slopes are those of the efforts."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.surrounded_blocks import Kite
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import BlockMotion, derivatives_at, efforts_at


def test_slopes_without_imaginary_parts_are_differences() -> None:
    class Rough(Kite):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Lose the imaginary parts."""
            return super().applied_efforts(*(np.real(x) for x in (q, v, twist, rotation, position)))

    s = tt.System("rough")
    s.connect("world", Rough(), tt.Free("base"))
    with pytest.warns(tt.ModelWarning, match=r"kite.*not-complex-safe"):
        rough = s.resolve()
    t = tt.System("fine")
    t.connect("world", Kite(), tt.Free("base"))
    fine, rng = t.resolve(), np.random.default_rng(0)
    state = fine.random_configuration(rng), rng.normal(size=7), rng.normal(size=7)
    found, exact = (np.array(m.inverse_dynamics_derivatives(*state)) for m in (rough, fine))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8 * np.abs(exact).max())  # differences of the sixth order


def test_slopes_are_those_of_the_efforts() -> None:
    rng, block, gravity = np.random.default_rng(0), Kite(), np.array([0.0, 0.0, -9.81])
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    at = BlockMotion(rng.normal(size=1), rng.normal(size=1), rng.normal(size=6), rotation, rng.normal(size=3))
    by_q, by_v, by_twist, by_displacement = derivatives_at(block, at, gravity)
    np.testing.assert_allclose(by_q[6], 2.0, rtol=1e-14)
    np.testing.assert_allclose(by_v[6], -0.1, rtol=1e-14)
    # along the port's own axes the spring pulls back alike, and its force turns back when the port turns
    np.testing.assert_allclose(by_displacement[:3, :3], -3.0 * np.eye(3), atol=1e-13)
    x, y, z = rotation.T @ at.position
    np.testing.assert_allclose(by_displacement[:3, 3:], -3.0 * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), atol=1e-13)
    h = 1e-5 * np.eye(6)
    for k in range(6):
        ahead, behind = (efforts_at(block, at._replace(twist=at.twist + s * h[k]), gravity) for s in (1, -1))
        np.testing.assert_allclose(by_twist[:, k], (ahead - behind) / 2e-5, atol=1e-8)  # central differences
