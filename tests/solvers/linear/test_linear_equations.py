"""The matrices of linear models alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.solvers.linear.nonlinear_systems import cart
from tests.systems import random_state, random_tree
from titop.solvers.model.derivatives import raw_linear_matrices


def test_accelerations_beside_stiff_springs_are_told() -> None:
    """An upright sledge falls at 9.81 m/s^2, whatever stands on it; at its equilibria nothing is said."""
    for stiffness in (0.0, 1e4, 1e8):
        s = tt.System("lift", gravity=[0, 0, -9.81])
        first, second = tt.RigidBody("first", 1.0), tt.RigidBody("second", 1.0)
        s.connect("world", first, tt.Prismatic("track", axis=[0, 0, 1]))
        s.connect(first, second, tt.Prismatic("stiff", axis=[0, 0, 1], stiffness=stiffness))
        model = s.resolve()
        with pytest.warns(tt.ModelWarning, match=r"point: (track|stiff): got accelerated by -9.81"):
            tt.linearize(model, model.neutral())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tt.linearize(model, (model.neutral(), np.zeros(2), np.array([2 * 9.81, 9.81])))
            held = ["stiff", "track.tau"] if stiffness else ["stiff.tau", "track.tau"]
            tt.linearize(model, tt.trim(model, held))


def test_raw_matrices_are_those_of_the_system() -> None:
    model = cart().resolve()
    A, B = tt.linear_matrices(model, model.neutral())
    system = tt.linearize(model, model.neutral(), ["rail", "lower", "upper"])
    assert np.array_equal(system.A, A)
    assert np.array_equal(system.B, B)


@pytest.mark.parametrize("seed", range(8))
def test_raw_matrices_in_one_kernel(seed: int) -> None:
    """Against the same from separate functions, with every kind of joint; with springs on groups, lists, and inputs."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 6, passive=seed % 2 == 1, loads=seed % 3 == 1).resolve()
    q, v, _, tau = random_state(model, rng)
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(q, v, tau)
    A = np.block([[-model.mechanism.bracket(v), np.eye(model.nv)], [by_q, by_v]])
    expected = model.forward_dynamics(q, v, tau), A, np.vstack([np.zeros((model.nv, model.nv)), by_tau])
    found = raw_linear_matrices(model, q, v, tau)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # whoever calls this in a loop never stands at an equilibrium
        listed = tt.linear_matrices(model, (q.tolist(), v.tolist(), tau.tolist()))
    assert np.abs(listed[0] - found[1]).max() < 1e-9 * np.abs(found[1]).max()  # quaternions divided by their norm
    with_brackets = np.abs(found[1][: model.nv, : model.nv]).max() > 0
    assert with_brackets == any(not model.mechanism.has_plain_coordinates(k) for k in range(model.nv))
