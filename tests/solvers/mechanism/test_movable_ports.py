"""Ports that can be moved: six coordinates more, whose efforts are what is transmitted there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.systems import random_state, random_tree
from tests.tolerances import ROUNDING_OF_MANY
from titop.blocks.joints.joint import CHILD_PORT
from titop.solvers.mechanism.movable_ports import MovablePlace, with_movable


@pytest.mark.parametrize("seed", range(4))
def test_efforts_that_hold_a_joints_child_are_the_reaction(seed: int) -> None:
    """With the six held, efforts of all others stay what they are."""
    model: Any = random_tree(np.random.default_rng(seed), 5, base="fixed").resolve("reference")
    q, v, a, _ = random_state(model, np.random.default_rng(seed))
    tau = model.inverse_dynamics(q, v, a)
    for joint in model.joint_names:
        place = MovablePlace(joint, CHILD_PORT)
        wider = model._on(model.mechanism.with_assembly(with_movable(model.mechanism.assembly, [place])))
        assert wider.nv == model.nv + 6
        own, own_q = wider.mechanism.assembly.v_slices[place.joint], wider.mechanism.assembly.q_slices[place.joint]
        rest = np.delete(np.arange(wider.nv), own)
        assert [wider.coordinate_names[k] for k in rest] == list(model.coordinate_names)
        wide_q, (wide_v, wide_a) = wider.neutral(), np.zeros((2, wider.nv))
        wide_q[np.delete(np.arange(wider.nq), own_q)] = q
        wide_v[rest], wide_a[rest] = v, a
        efforts = wider.inverse_dynamics(wide_q, wide_v, wide_a)
        np.testing.assert_allclose(efforts[rest], tau, **ROUNDING_OF_MANY)
        np.testing.assert_allclose(efforts[own], model.reaction(joint, q, v, a, tau=tau), **ROUNDING_OF_MANY)
