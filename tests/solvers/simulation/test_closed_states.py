"""States on the closures, against the reference resolver."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG
from tests.solvers.simulation.driven_systems import closed_loop, gears, plant_at_a_state, spatial_loops, swing
from titop.blocks.basics.errors import Finding
from titop.solvers.arguments.reading import overflow
from titop.solvers.model.prepared import PreparedDynamics
from titop.solvers.simulation.closed_states import explain_trial, project, went_too_far

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
        found, expected = plant.prepared.project(q, v, 1e-13), PreparedDynamics.project(plant.prepared, q, v, 1e-13)
        error = plant.model.mechanism.scale.weights * plant.model.closure_error(found.q)
        assert np.abs(error).max() < 1e-12
        for one, other in zip(found, expected, strict=True):  # Newton's steps leave what rounding does, times their slopes
            assert np.asarray(one) == pytest.approx(np.asarray(other), rel=1e-8, abs=1e-10)


def test_a_state_is_projected_with_its_motions_imposed() -> None:
    s, names = closed_loop()
    plant, y = plant_at_a_state(s, names, "compiled")
    closed = project(plant, 0.2, y + 1e-8)
    assert closed.y[0] == swing(0.2)[0]
    assert closed.rank == plant.prepared.rank
    assert 0.0 < closed.distance <= 1.0


# -- trial states far beyond what a system bears: steps get shorter, and no false cause is named


@pytest.fixture(scope="module")
def rod() -> tt.Model:
    """Return a rod on a hinge; strains beyond a hundred leave its mass matrix no definite number."""
    s, body = tt.System("rod", gravity=[0, 0, -9.81]), tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, basis=2, points=4)
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve()


def flung(model: tt.Model, method: str, driven: dict[str, Any]) -> tt.Trajectory:
    """Return the motion from speeds that strain the rod a hundredfold in a first step of loose tolerances."""
    v = np.random.default_rng(0).normal(size=model.nv) * np.where(np.arange(model.nv) > 0, 1e5, 0.0)
    return tt.simulate(model, [0.0, 1e-4], model.neutral(), v, method=method, rtol=1e-3, atol=1e6, **driven)


def test_the_model_says_so_where_it_is_asked(rod: tt.Model) -> None:
    with pytest.raises(tt.ModelError, match="massless-joint"):
        rod.forward_dynamics(1e6 * np.random.default_rng(0).normal(size=rod.nq), np.zeros(rod.nv))


@pytest.mark.filterwarnings("ignore:.*overlapping-sections")
@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau"])
@pytest.mark.parametrize(
    "driven", [{}, {"tau": lambda t, q, v: np.zeros(len(v))}, {"prescribed": {"hinge": lambda t: (0.0, 0.0, 0.0)}}]
)
def test_steps_become_shorter(rod: tt.Model, method: str, driven: dict[str, Any]) -> None:
    """Of so loose tolerances some integrators give up: that is no fault of the model's."""
    with suppress(tt.ConvergenceError):
        assert np.isfinite(flung(rod, method, driven).q).all()


def test_only_what_depends_on_the_state_is_forgiven() -> None:
    lost = tt.ModelError(Finding("massless-joint", "rod", "nothing", "inertia", "give the joint an armature"))
    assert went_too_far(lost)
    assert went_too_far(tt.ModelError(overflow()))
    assert "until no inertia is left; perhaps a stiff system" in explain_trial(lost)
    assert "armature" not in explain_trial(lost)
    for code, where in (("not-finite", "tau"), ("wrong-length", "tau")):
        error = tt.ModelError(Finding(code, where, "nan", "numbers", "check"))
        assert not went_too_far(error)
        assert explain_trial(error) == str(error)
