"""Closed systems at a state, resolved by both engines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bricard, four_bar, geared_hand, slider_crank
from tests.flexible import random_body
from titop.solvers.constraints import closed_derivatives, closed_dynamics
from titop.solvers.model import closures

#: Both sides are exact but for rounding, which few rows of like size hardly amplify.
TOLERANCE = 1e-11


def braced_hand() -> tt.System:
    """Return a hand whose gears and a rod between its fingers' tips share coordinates."""
    s = geared_hand()
    rod = tt.RigidClosure("rod", directions=np.random.default_rng(3).normal(size=(6, 1)))
    s.close_loop(s["tip_l"], s["finger_r"], rod)
    return s


def flexible_loop() -> tt.System:
    """Return two flexible bodies in a loop: a closure at a port of one, whose own coordinates move it, and one at its frame."""
    rng = np.random.default_rng(5)
    one, two = random_body(rng, "one"), random_body(rng, "two")
    s = tt.System("flexible")
    s.connect("world", one, tt.Spherical("ball"))
    s.connect(one.port(next(iter(one.ports))), two, tt.Revolute("hinge", axis=[0.3, 1, 0.2]))
    s.close_loop("world", two.port(list(two.ports)[-1]), tt.RigidClosure("tip", directions=rng.normal(size=(6, 1))))
    s.close_loop(one.port(list(one.ports)[-1]), two, tt.RigidClosure("frame", directions=rng.normal(size=(6, 1))))
    return s


def driven_four_bar() -> tt.System:
    """Return a four-bar linkage with a motor, and a thruster on its coupler."""
    s = four_bar()
    s.add_actuator(tt.Motor("motor", "q1", gear=3.0))
    s.add_actuator(tt.Thruster("jet", s["coupler"].port("end"), direction=[0.3, 1.0, 0.0]))
    return s


SYSTEMS = {
    "four-bar": four_bar,
    "slider-crank": slider_crank,
    "bricard": bricard,
    "hand": geared_hand,
    "braced": braced_hand,
    "flexible": flexible_loop,
}


class Case:
    """A system with constraints in both engines, at a state that satisfies them."""

    def __init__(self, name: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tt.ModelWarning)  # redundant constraints
            self.model, self.reference = (SYSTEMS[name]().resolve(engine) for engine in ("compiled", "reference"))
        rng, model = np.random.default_rng(2), self.model
        self.q = model.assemble(model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv)))
        self.free = model.independent_coordinates(self.q)
        self.rates = rng.normal(size=(2, model.nv))
        self.v = self.reference.assemble_velocity(self.q, self.rates[0])
        self.a = self.reference.assemble_acceleration(self.q, self.v, self.rates[1])
        self.wrenches = {model.port_names[-1]: rng.normal(size=6)}
        self.more = next(name for name in model.coordinate_names if name not in self.free)

    @property
    def imposed(self) -> list[Sequence[str]]:
        """Choices of coordinates: none, one and all that move independently, one more than do, and all."""
        return [[], self.free[:1], self.free, [*self.free, self.more], self.model.coordinate_names]

    def forbid_python(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the NumPy forms fail, to which the compiled model returns where something is not clear."""

        def fail(*_: Any, **__: Any) -> Any:
            raise AssertionError("not in compiled code")

        for function in ("inverse", "hybrid", "multipliers", "closure_pushes"):
            monkeypatch.setattr(closed_dynamics, function, fail)
        monkeypatch.setattr(closed_derivatives, "inverse", fail)
        monkeypatch.setattr(closed_derivatives, "hybrid", fail)
        monkeypatch.setattr(closures, "project_velocity", fail)
        monkeypatch.setattr(closures, "project_acceleration", fail)


def error(found: Any, expected: Any) -> float:
    """Return the largest difference, over the largest entry (or one)."""
    return float(np.abs(np.subtract(found, expected)).max() / max(np.abs(expected).max(), 1.0))


def of_both(case: Case, function: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """Return what a function of the compiled model says without NumPy forms, and that of the reference."""
    expected = getattr(case.reference, function)(*arguments, **options)
    with pytest.MonkeyPatch.context() as monkeypatch:
        case.forbid_python(monkeypatch)
        return getattr(case.model, function)(*arguments, **options), expected
