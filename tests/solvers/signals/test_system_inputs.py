"""What systems are driven by: efforts a unit of each input, and conflicts with imposed motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import Array
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.system_inputs import SystemInputs

NAMES = ["slide", "jet", "tip.T.F", "arm"]


@pytest.fixture(scope="module")
def model() -> Any:
    """A cart with an arm, a thruster at its tip."""
    s = tt.System("crane", gravity=[0, 0, -9.81])
    tip = tt.RigidBody("tip", mass=1.0, com=[0, 0, -1], inertia=0.1, ports={"T": [0, 0.2, -2]})
    s.connect("world", tt.RigidBody("cart", mass=3.0), tt.Prismatic("slide", axis=[1, 0, 0]))
    s.connect(s["cart"], tip, tt.Revolute("arm", axis=[0, 1, 0]))
    s.add_actuator(tt.Thruster("jet", tip.port("T"), direction=[1, 0, 1]))
    return s.resolve()


def state(model: Any) -> tuple[Array, Array, Array]:
    """Return a configuration, rates and efforts."""
    return tuple(np.random.default_rng(0).normal(size=(3, model.nv)))  # type: ignore[return-value]


def test_efforts_are_what_a_unit_spares(model: Any) -> None:
    """Against differences of inverse dynamics over one unit, in which inputs and wrenches are linear."""
    inputs = SystemInputs(model, NAMES)
    q, v, a = state(model)
    found, at = inputs.efforts(model, q), model.inverse_dynamics(q, v, a)
    for column, channel in zip(found.T, inputs.channels, strict=True):
        name = channel.signal.path
        if channel.kind == Kind.EFFORT:
            expected = model.velocity({name.split(".")[0]: 1.0})
        elif name == "jet":
            expected = at - model.inverse_dynamics(q, v, a, u={"jet": 1.0})
        else:
            expected = at - model.inverse_dynamics(q, v, a, {channel.port: np.eye(6)[channel.entry]})
        np.testing.assert_allclose(column, expected, rtol=0, atol=1e-12)  # rounding of efforts near 30
    assert found.shape == (2, 1 + 1 + 3 + 1)
    assert np.array_equal(inputs.applied, np.where(np.isin(np.arange(6), [0, 5]), found, 0.0))
    assert inputs.depend_on_attitude
    assert not SystemInputs(model, ["slide"]).depend_on_attitude


def test_imposed_motion_is_held_or_an_input(model: Any) -> None:
    inputs = SystemInputs(model, ["slide.a"], hold=["arm"])
    assert inputs.imposed_names == list(model.coordinate_names)
    assert (inputs.held.tolist(), inputs.prescribed.tolist()) == ([False, True], [True, True])
    assert inputs.motions.tolist() == [[1.0], [0.0]]
    assert not inputs.efforts(model, np.zeros(2)).any()


@pytest.mark.parametrize(
    ("names", "hold", "code"),
    [
        (["slide"], ["slide"], "imposed-twice"),
        (["slide", "slide.a"], [], "imposed-twice"),
        (["slide.a"], ["slide"], "imposed-twice"),
        (["jet", "jet"], [], "duplicate-input"),
    ],
)
def test_contradictions_are_refused(model: Any, names: list[str], hold: list[str], code: str) -> None:
    with pytest.raises(tt.ModelError, match=code):
        SystemInputs(model, names, hold)
