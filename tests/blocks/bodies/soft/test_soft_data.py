"""The data of deformable bodies: volume ratios, functions that cannot be used."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.simulation.soft_arms import arm


def test_ratios_of_several_configurations_stand_in_rows() -> None:
    body = arm().assembly.blocks["body"]
    assert isinstance(body, tt.SoftBody)
    q = np.array([[0.0], [0.4], [-1.0]])
    np.testing.assert_array_equal(body.volume_ratios(q), [body.volume_ratios(row) for row in q])
    np.testing.assert_allclose(body.volume_ratios(q)[0], 1.0, rtol=1e-14)
