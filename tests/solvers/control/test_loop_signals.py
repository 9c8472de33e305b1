"""Names of the signals between controllers and models."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import gain


def test_names_that_python_control_spells_alike_are_refused() -> None:
    s = tt.System("twins", gravity=[0, 0, 0])
    first, second = tt.RigidBody("first", mass=1.0), tt.RigidBody("second", mass=1.0, inertia=1.0)
    s.connect("world", first, tt.Prismatic("a_x", axis=[1, 0, 0]))
    s.connect("world", second, tt.Free("a"))
    model = s.resolve()
    K = gain(1.0, inputs=["a_x_q"], outputs=["a_x_tau"])
    with pytest.raises(tt.ModelError, match=r"stands for a_x\.q and a\.x\.q"):
        tt.simulate(model, [0, 1], model.neutral(), np.zeros(7), controller=K)
