"""States on the closures, against the reference resolver."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.simulation.driven_systems import closed_loop, gears, plant_at_a_state, spatial_loops, swing
from titop.solvers.model.prepared import PreparedDynamics
from titop.solvers.simulation.closed_states import project

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_driven", [False, True], ids=["free", "driven"])
def test_states_on_the_closures_are_those_of_the_reference(seed: int, is_driven: bool) -> None:
    rng = np.random.default_rng(seed)
    for system in (closed_loop, gears, spatial_loops):
        s, names = system()
        plant, y = plant_at_a_state(s, names if is_driven else [], "compiled")
        y = y + 1e-7 * rng.normal(size=len(y))
        q, v = plant.split(0.2, y)
        found, expected = plant._dynamics.closed(q, v, 1e-13), PreparedDynamics.closed(plant._dynamics, q, v, 1e-13)
        error = plant.model.scale.weights * plant.model.closure_error(found.q)
        assert np.abs(error).max() < 1e-12
        for one, other in zip(found, expected, strict=True):  # Newton's steps leave what rounding does, times their slopes
            assert np.asarray(one) == pytest.approx(np.asarray(other), rel=1e-8, abs=1e-10)


def test_a_state_is_projected_with_its_motions_imposed() -> None:
    s, names = closed_loop()
    plant, y = plant_at_a_state(s, names, "compiled")
    closed = project(plant, 0.2, y + 1e-8)
    assert closed.y[0] == swing(0.2)[0]
    assert closed.rank == plant.held_rank
    assert 0.0 < closed.distance <= 1.0
