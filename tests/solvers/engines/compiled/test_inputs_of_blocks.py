"""Inputs of blocks' own are efforts, in all dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.refusals import ENGINES
from tests.solvers.mechanism.driven_blocks import NAMES, ROUNDING, U, arm, bare, closed, expected_efforts, state


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loops", [False, True])
def test_own_inputs_are_efforts_in_all_dynamics(engine: str, loops: bool) -> None:
    model, plain = ((closed(s) if loops else s).resolve(engine) for s in (arm(), bare()))
    assert model.input_names == NAMES
    assert model.mechanism.inputs.units == ("N m", "N", "1", "N", "N", "V")
    q, v, tau = state(model)
    own, others = expected_efforts(model, q), {"drive": U[0], "push": U[1]}
    both = plain.actuation_matrix(q) @ U[:2] + own
    np.testing.assert_allclose(model.actuation_matrix(q) @ U, both, **ROUNDING)
    a = model.forward_dynamics(q, v, tau, u=U)
    np.testing.assert_allclose(a, plain.forward_dynamics(q, v, tau + own, u=others), **ROUNDING)
    assert np.abs(a - plain.forward_dynamics(q, v, tau, u=others)).max() > 0.1  # they matter
    chosen = [["shoulder", "elbow", "boom"], ["soft", "elbow", "boom"]] if loops else [None]
    for actuated in chosen:
        needed = model.inverse_dynamics(q, v, a, u=U, actuated=actuated)
        T = np.eye(model.nv)
        if loops:
            T[1, 0] = 0.5
            T = np.delete(T, 1, axis=1)
        np.testing.assert_allclose(T.T @ (needed - tau), 0.0, atol=1e-9)
    held = ["elbow"]
    with_inputs, with_efforts = (
        model.hybrid_dynamics(q, v, tau, a, held, u=U),
        plain.hybrid_dynamics(q, v, tau + own, a, held, u=others),
    )
    np.testing.assert_allclose(with_inputs[0], with_efforts[0], **ROUNDING)
    np.testing.assert_allclose(with_inputs[1], with_efforts[1] - own, **ROUNDING)
    args = q, v, a, None, U, tau
    np.testing.assert_allclose(
        model.reaction("shoulder", *args), plain.reaction("shoulder", q, v, a, None, others, tau + own), **ROUNDING
    )


def test_stacked_states_have_their_own_efforts() -> None:
    model = arm().resolve()
    states = [state(model, seed) for seed in range(3)]
    q, v, tau = (np.array(part) for part in zip(*states, strict=True))
    stacked = model.forward_dynamics(q, v, tau, u=U)
    for k, row in enumerate(states):
        np.testing.assert_allclose(stacked[k], model.forward_dynamics(*row, u=U), rtol=1e-12)
    np.testing.assert_allclose(model.inverse_dynamics(q, v, stacked, u=U), tau, **ROUNDING)
