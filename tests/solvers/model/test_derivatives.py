"""Derivatives of the motion of ports: against complex steps through the reference resolver, and against differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.engines.compiled.derivative_cases import SOFT_TOLERANCE, TOLERANCE, Case, error, motion_error
from tests.solvers.engines.compiled.soft_systems import soft_system
from tests.systems import random_state


@pytest.mark.parametrize("seed", range(16))
def test_motion_of_ports(seed: int) -> None:
    case = Case(seed)
    assert motion_error(case.model, case.reference, case.q, case.v, case.a) < TOLERANCE


def test_several_ports_move_as_each_alone() -> None:
    case = Case(3)
    ports, state = case.model.port_names[-2:], (case.q, case.v, case.a)
    for model in (case.model, case.reference):
        motions = model.mechanism.engine.derivatives.motion(ports, *state, weightless=True)
        for port, together in zip(ports, motions, strict=True):
            assert error(together, model.motion_derivatives(port, *state)) < TOLERANCE


def test_stacked_states_are_their_rows() -> None:
    case = Case(3)
    port, states = case.model.port_names[-1], [np.array([x, 0.5 * x]) for x in (case.v, case.a)]
    q = np.array([case.q, case.model.neutral()])
    for model in (case.model, case.reference):
        stacked = model.motion_derivatives(port, q, *states)
        for row in range(2):
            single = model.motion_derivatives(port, q[row], *(x[row] for x in states))
            for found, expected in zip(stacked, single, strict=True):
                np.testing.assert_array_equal(found[row], expected)
        assert [part.shape for part in model.motion_derivatives(port, q[:0], *(x[:0] for x in states))] == 4 * [
            (0, 6, model.nv)
        ]


def test_weight_turns_with_the_port() -> None:
    """Without gravity, accelerations turn by ``-(R^T g) x`` a small rotation of the port less; all else is the same."""
    case = Case(4)
    port, state = case.model.port_names[-1], (case.q, case.v, case.a)
    for model in (case.model, case.reference):
        (heavy,), (free,) = (
            model.mechanism.engine.derivatives.motion([port], *state, weightless) for weightless in (False, True)
        )
        field = model.pose(port, case.q)[0].T @ model.gravity
        turned = np.zeros((4, 6, model.nv))
        turned[2, :3] = np.cross(field, heavy[0, 3:], axisb=0).T
        assert np.abs(turned).max() > 1e-2
        np.testing.assert_allclose(free - heavy, turned, rtol=0, atol=TOLERANCE * np.abs(heavy).max())


def test_motion_of_ports_of_blocks_with_own_coordinates() -> None:
    s = soft_system()
    model, reference = s.resolve(), s.resolve("reference")
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    assert motion_error(model, reference, q, v, a) < SOFT_TOLERANCE


def test_motion_derivatives_are_those_of_the_motion_vector() -> None:
    """Against differences of `Model.motion`, gravity's part of the acceleration included."""
    case = Case(4)
    model, q, v, a = case.model, case.q, case.v, case.a
    port, step = model.port_names[-1], 1e-6
    slopes = model.motion_derivatives(port, q, v, a)
    directions = step * np.eye(model.nv)
    ahead = np.array([model.motion(port, model.integrate(q, dq), v, a)[:12] for dq in directions])
    behind = np.array([model.motion(port, model.integrate(q, -dq), v, a)[:12] for dq in directions])
    by_q = (ahead - behind).T / (2 * step)
    # second-order differences of numbers near 10 with a step of 1e-6: about 1e-9
    assert error([slopes.dA_dq, slopes.dV_dq], [by_q[:6], by_q[6:]]) < 1e-7
