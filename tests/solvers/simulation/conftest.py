"""What tests of this room have in common."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.systems import random_tree


@pytest.fixture(scope="module")
def trajectory() -> tt.Trajectory:
    rng = np.random.default_rng(5)
    model = random_tree(rng, 2, ["Revolute", "Planar"], base="free").resolve()
    event = tt.Event(lambda t, q, v: t - 0.25, "quarter", terminal=False)
    wrenches = {"b1.A": rng.normal(size=6)}
    state = model.random_configuration(rng), rng.normal(size=model.nv)
    return tt.simulate(model, np.linspace(0, 1, 5), *state, wrenches=wrenches, events=event)
