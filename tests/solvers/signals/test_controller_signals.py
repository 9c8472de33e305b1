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


def test_a_controller_commands_a_tendon_by_its_name() -> None:
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1e3, damping=1e6, strains={"bending_z": 0})
    s = tt.System("finger", gravity=[0, 0, 0])
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.008))
    model = s.resolve("reference")
    runs = []
    for name in ("flexor", "flexor.tension", "flexor_tension"):
        pull = tt.Controller(lambda t, x, y, r: (x, [5.0]), [], ["rod.tip.r[0]"], [name], 0.1)
        runs.append(tt.simulate(model, [0, 0.1], model.neutral(), np.zeros(1), controller=pull).q[-1])
    assert runs[0] > 0.01
    assert runs[0] == runs[1] == runs[2]
