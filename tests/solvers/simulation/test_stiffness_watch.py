"""Explicit steps that stiffness bounds: told by the coordinate, and no others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.solvers.simulation import stiffness_watch


def cart(damping: float) -> tt.Model:
    """Return a pendulum on a cart that a strong damper holds: 2e4 1/s beside some 1/s."""
    s = tt.System("cart", gravity=[0, 0, -9.81])
    base = tt.RigidBody("base", 1.0)
    s.connect("world", base, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=1.0, damping=damping))
    s.connect(base, tt.RigidBody("bob", 1e-3, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve()


def run(model: tt.Model, method: str, **others: Any) -> list[str]:
    """Return what is said of stiffness, looked for at once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        times = np.linspace(0, 0.05, 3)
        tt.simulate(model, times, [0.0, 1.0], [0.0, 0.0], method=method, rtol=1e-3, atol=1e-6, **others)
    return [str(each.message) for each in caught if "stiff" in str(each.message)]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stiffness_watch, "_LOOK_AFTER", 0.0)


class LateWatch(stiffness_watch.StiffnessWatch):
    """Looks after 120 steps: the first are shorter than stability asks for."""

    least = 120

    def look(self, t: float, y: Any, steps: int, pieces: int = 1) -> None:
        if steps >= self.least:
            super().look(t, y, steps, pieces)


@pytest.fixture(autouse=True)
def after_some_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("integration", "stepping"):
        monkeypatch.setattr(f"titop.solvers.simulation.{module}.StiffnessWatch", LateWatch)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
@pytest.mark.parametrize("act", [None, lambda t, q, v: np.zeros(2)], ids=["plain", "driven"])
def test_it_names_the_coordinate_once(method: str, act: Any) -> None:
    (said,) = run(cart(2e4), method, tau=act)
    assert "for rail (" in said
    assert said.split("; ")[-1].startswith('take "Radau", or "BDF"')


def test_what_suits_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `which_integrator.md` has it: no multistep methods for vibrations, under sampled controllers and with closed loops."""
    s = tt.System("spring", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("base", 1.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=4e8, damping=1e2))
    s.connect(s["base"], tt.RigidBody("bob", 1e-3, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    quiet = tt.Controller(lambda t, x, y, r: (x, np.zeros(1)), [], ["hinge.q"], ["hinge.tau"], 0.012)
    oscillating = run(s.resolve(), "DOP853")
    monkeypatch.setattr(LateWatch, "least", 300)  # in the second sample
    for (said,) in (oscillating, run(cart(1e5), "DOP853", controller=quiet)):
        assert said.split("; ")[-1].startswith('take "Radau" [')


@pytest.mark.parametrize(("sample_time", "told"), [(2e-5, False), (1e-3, False), (5e-2, True)])
def test_steps_that_a_controller_cuts_tell_nothing(sample_time: float, told: bool) -> None:
    """At 2e5 1/s stability asks for steps of 3e-5 s: of a sample's 31 all together take less than two of an implicit method."""
    quiet = tt.Controller(lambda t, x, y, r: (x, np.zeros(1)), [], ["hinge.q"], ["hinge.tau"], sample_time)
    assert bool(run(cart(2e5), "DOP853", controller=quiet)) is told


@pytest.mark.parametrize(("max_step", "told"), [(3e-4, False), (1.0, True)])
def test_steps_that_may_be_no_longer_tell_nothing(max_step: float, told: bool) -> None:
    assert bool(run(cart(2e4), "DOP853", max_step=max_step)) is told


def test_its_rate() -> None:
    """``damping / mass`` to the bob's part of the mass, a thousandth, and the spring's."""
    model = cart(2e4)
    plant = stiffness_watch.DrivenModel(model, np.array([0.0, 1.0]), None, {}, tt_motion(model), None, None)
    rate, name, creeps = stiffness_watch.fastest(plant, 0.0, np.array([0.0, 0.0, 0.0, 0.0]))
    assert (name, creeps) == ("rail", True)
    assert rate == pytest.approx(2e4, rel=2e-3)


def tt_motion(model: tt.Model) -> Any:
    """Return no prescribed motion."""
    from titop.solvers.simulation.prescribed import PrescribedMotion

    return PrescribedMotion(model, {}, (0.0, 1.0))


def test_soft_and_implicit_ones_are_left_alone() -> None:
    assert run(cart(1.0), "RK45", max_step=5e-4) == []
    assert run(cart(2e4), "BDF") == []
