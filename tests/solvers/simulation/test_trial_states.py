"""Trial states far beyond what a system bears: steps get shorter, and no false cause is named."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG
from titop.blocks.basics.errors import Finding
from titop.solvers.arguments.reading import overflow
from titop.solvers.simulation.trial_states import told, went_too_far


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
    assert "until no inertia is left; perhaps a stiff system" in told(lost)
    assert "armature" not in told(lost)
    for code, where in (("not-finite", "tau"), ("wrong-length", "tau")):
        error = tt.ModelError(Finding(code, where, "nan", "numbers", "check"))
        assert not went_too_far(error)
        assert told(error) == str(error)
