"""Which functions of blocks the derivatives by a parameter ask for, and how often."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import titop as tt
from titop.solvers.sensitivities import changed_parts


def test_differences_ask_a_block_at_their_own_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three to each side, and none at the value itself."""
    s = tt.System("mast", gravity=[0, 0, -9.81])
    beam = tt.Beam("beam", length=1.0, density=1500.0, area=1e-3, young=2e8, iy=1e-7, iz=2e-7)
    s.connect("world", beam, tt.Revolute("hinge", axis=[0, 1, 0]))
    m, force, asked = s.resolve(), changed_parts._force, []
    monkeypatch.setattr(changed_parts, "_force", lambda block, *rest: asked.append(block.density) or force(block, *rest))
    q = 0.01 * np.ones(m.nq)
    m.inverse_dynamics_sensitivities(q, q, q, ["beam.density"])
    assert 1500.0 not in asked
    assert len(set(asked)) == len(asked) == 6


class Stretched(tt.Block):
    """A sprung slider that takes no complex numbers."""

    coordinates, ports, units = ("x",), ("C",), ("m",)
    parameter_units: ClassVar = {"rest": "m"}

    def __init__(self, name: str, rest: float = 0.0) -> None:
        super().__init__(name)
        self.rest = rest

    def pose(self, port, q):
        return np.eye(3), np.array([1.0, 0, 0]) * q[0]

    def mass_matrix(self, q):
        return np.eye(7)

    def elastic_energy(self, q):
        return 0.5 * 40.0 * (float(q[0]) - float(self.rest)) ** 2


@pytest.mark.parametrize("rest", [0.0, 1e-30, 1e-17, 1e-9, 0.3])
def test_parameters_that_are_rounding_tell_no_step(rest: float) -> None:
    s = tt.System("stretched")
    s.connect("world", Stretched("slider", rest), tt.Weld("weld"))
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        m = s.resolve()
    found = m.inverse_dynamics_sensitivities([0.2], [0.1], [0.3], ["slider.rest"])
    np.testing.assert_allclose(found["slider.rest"], [-40.0], rtol=1e-8)
