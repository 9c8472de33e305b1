"""Models with other parameters: what these make suspicious is said, as the constructor says it, and once of many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, body


def pendulum(engine: str = "compiled") -> tt.Model:
    """Return a body with a sprung, damped hinge, and a compliant closure to the world."""
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    arm = body(com=[0, 0, -1], inertia=[0.1, 0.2, 0.2])
    s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0], damping=0.1, stiffness=1.0))
    s.close_loop(s.world, arm.port("tip"), tt.CompliantClosure("rope", stiffness=0.1, damping=0.1))
    return s.resolve(engine)


def said(function: Callable[[], Any]) -> list[str]:
    """Return the titop warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in caught if issubclass(warning.category, tt.ModelWarning)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"hinge.damping": -0.1}, "negative-damping"),
        ({"hinge.stiffness": -0.1}, "negative-stiffness"),
        ({"rope.damping.x.x": -0.1}, "negative-damping"),
        ({"arm.inertia.zz": 0.9}, "triangle-inequality"),
        ({"arm.mass": 0.0}, "massless-inertia"),
        ({"hinge.damping": 0.2, "arm.inertia.zz": 0.25, "arm.mass": 2.0, "gravity.z": 1.0}, None),
    ],
)
def test_with_parameters_warns_as_the_constructor_does(engine: str, values: dict[str, float], code: str | None) -> None:
    model = pendulum(engine)
    found = said(lambda: model.with_parameters(values))
    assert [code in message for message in found] == ([True] if code else [])
    changed = model.with_parameters({"arm.com.z": -1.0}) if code is None else None
    assert changed is None or not said(lambda: changed.with_parameters({"arm.mass": 1.5}))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_said_before_is_not_said_again(engine: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = pendulum(engine).with_parameters({"arm.inertia.zz": 0.9})
    assert len(said(lambda: odd.with_parameters({"arm.inertia.yy": 0.1}))) == 1  # another triangle
    s = tt.System("odd")
    s.connect("world", body(inertia=[1, 1, 3]), tt.Revolute("hinge", axis=[1, 0, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = s.resolve(engine)
    assert not said(lambda: model.with_parameters({"arm.com.x": 0.1}))


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_conditioning_is_said(engine: str) -> None:
    s = tt.System("whip")
    handle, lash = body("handle"), body("lash")
    s.connect("world", handle, tt.Revolute("first", axis=[1, 0.2, 0.1]))
    s.connect(handle.port("tip"), lash, tt.Revolute("second", axis=[1, 0.2, 0.1]))
    model = s.resolve(engine)
    (message,) = said(lambda: model.with_parameters({"lash.mass": 1e12}))
    assert "ill-conditioned" in message
    assert message.startswith("first: ")


def test_monte_carlo_warns_once() -> None:
    def run(model: tt.Model) -> dict[str, float]:
        return {"weight": float(model.gravity_effects([0.3])[0])}

    (message,) = said(lambda: tt.monte_carlo(pendulum(), {"hinge.damping": (-1.0, 1.0)}, run, n=40, seed=1))
    assert "negative-damping" in message
    assert "times in 40" in message
    assert not said(lambda: tt.monte_carlo(pendulum(), {"hinge.damping": (0.1, 1.0)}, run, n=10))


def test_lpv_warns_once() -> None:
    grid = {"hinge.damping": np.linspace(-0.2, 0.2, 5), "arm.mass": [1.0, 2.0]}
    (message,) = said(lambda: tt.lpv(pendulum(), grid, unknowns=["hinge"], inputs=["hinge"]))
    assert "negative-damping" in message
    assert "4 times in 10" in message
