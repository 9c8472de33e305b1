"""Ranges centred: the same members, and bounds that do not depend on nominal values."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.uncertain_loop import centre_system, in_given_ranges, read_loop

REAL = tt.DeltaBlock.real

#: Some solutions of a few equations.
ROUNDING = 1e-11


def test_members_are_the_same() -> None:
    """Of two parameters off the middle, one an angle, and a full block between them."""
    rng = np.random.default_rng(3)
    angle = REAL("angle", 1, -0.4, 1.0, 0.1, "rad")._replace(part=2)
    blocks = [REAL("mass", 2, 30.0, 61.0, 55.0), tt.DeltaBlock.full("gap", 1, 2), angle]
    A, B, C, D = (rng.normal(size=size) for size in ((4, 4), (4, 6), (6, 4), (6, 6)))
    given, system = Structure.of(blocks), Matrices(A, B, C, 0.2 * D)
    moved, structure = centre_system(system, given)
    for mass, turned in ((30.0, 0.9), (45.5, 0.3), (61.0, -0.4), (55.0, 0.1)):
        deltas = [[own.blocks[0].normalised(mass), own.blocks[2].normalised(turned)] for own in (given, structure)]
        members = [
            loop.close_loop(places.real_matrix(own)).part([5], [4, 5])
            for loop, places, own in zip((system, moved), (given, structure), deltas, strict=True)
        ]
        for one, other in zip(*((m.A, m.B, m.C, m.D) for m in members), strict=True):
            np.testing.assert_allclose(one, other, rtol=ROUNDING, atol=ROUNDING)
        mapped = in_given_ranges(given, structure, [deltas[1][0], np.zeros((1, 2)), deltas[1][1]])
        np.testing.assert_allclose([mapped[0], mapped[2]], deltas[0], rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("nominal", [45.5, 60.0, 61.0, 30.0])
def test_a_bound_does_not_depend_on_the_nominal_value(nominal: float) -> None:
    """A sled of 30 to 61 kg on a spring: without mass it is ill-posed, which is 45.5 kg away in parts of 15.5 kg.

    With delta zero at 60 kg the fraction from delta to mass made mu 0.935 of every loop.
    """
    s = tt.System("sled", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("sled", nominal), joint=tt.Prismatic("x", axis=[1, 0, 0], stiffness=50.0, damping=60.0))
    m = s.resolve()
    model = tt.lft(m, m.neutral(), {"sled.mass": (30.0, 61.0)}, inputs=["x"], outputs=["x.q"])
    found = tt.robust_stability(model, margin=True, progress=False)
    np.testing.assert_allclose([found.lower, found.upper], 15.5 / 45.5, rtol=0.012)
    assert abs(found.member["sled.mass"]) < 1e-9
    assert tt.mu(model, [1e-3], progress=False).upper[0] < 1e-3, "at low frequencies the mass does not count"
    assert model.check() < 1e-9, "sums of products"
    right = tt.linearize(m, m.neutral(), ["x"], ["x.q"])
    np.testing.assert_allclose(model.nominal(1j), right(1j), rtol=1e-10)


def test_poles_of_what_is_late_by_whole_samples_decay_at_once() -> None:
    """A pole at z = 0, as delays have, beside log(0.5) / 0.2."""
    late = control.ss(np.diag([0.0, 0.5]), np.eye(2), np.eye(2), np.zeros((2, 2)), 0.2)
    poles = read_loop(late, [REAL("k", 1)]).poles
    assert sorted(poles.real) == pytest.approx([-np.inf, np.log(0.5) / 0.2], rel=ROUNDING)
    assert not poles.imag.any()
