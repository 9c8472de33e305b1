"""From a system to a model, by one of two engines."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, body, hinged, refusal
from titop.solvers.engines.compiled.compiled_engine import CompiledEngine
from titop.solvers.engines.reference.reference_engine import ReferenceEngine
from titop.solvers.resolve import resolve


@pytest.mark.parametrize(("engine", "kind"), [("compiled", CompiledEngine), ("reference", ReferenceEngine)])
def test_the_engine_is_the_one_that_is_named(engine: str, kind: type) -> None:
    assert isinstance(resolve(hinged(), engine).mechanism.engine, kind)
    assert isinstance(resolve(hinged()).mechanism.engine, CompiledEngine)


def test_other_engines_are_refused_before_anything_else() -> None:
    """Also for a system that cannot be resolved."""
    with refusal("bad-engine", "engine: got fast; expected 'compiled' or 'reference'"):
        resolve(tt.System("empty"), "fast")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_suspicious_is_warned_of_where_it_was_called(engine: str) -> None:
    """From both: the system's blocks, and the model's inertia."""
    s = hinged(body(mass=1e-12, com=[0, 0, 0], inertia=1e-24))
    s.connect(s["arm"].port("tip"), body("heavy", mass=1e6, inertia=1e6), tt.Revolute("wrist", axis=[1, 0, 0]))
    with pytest.warns(tt.ModelWarning) as caught:
        s.resolve(engine)
    assert {warning.filename for warning in caught} == {__file__}


def test_collection_goes_on_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(tt.ModelError):
        resolve(hinged(body(mass=-1.0)))
    assert gc.isenabled()


def wing_on_hub(hold: Any = (), engine: str = "compiled") -> tt.Model:
    """Return a free hub with a wing on a driven hinge."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10.0, inertia=[2, 3, 4], ports={"root": [0.5, 0, 0]})
    wing = tt.RigidBody("wing", 2.0, com=[0.1, 0.6, 0.05], inertia=[0.3, 0.1, 0.3])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("root"), wing, tt.Revolute("sada", axis=[0, 1, 0], damping=0.1))
    s.add_actuator(tt.Motor("motor", "sada"))
    return s.resolve(engine, hold=hold)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_held_coordinates_take_the_effort_of_a_motion_that_is_imposed(engine: str) -> None:
    held, free, rng = wing_on_hub({"sada": 0.4}, engine), wing_on_hub((), engine), np.random.default_rng(0)
    q = held.assemble(held.random_configuration(rng))
    v, tau = held.assemble_velocity(q, rng.standard_normal(7)), rng.standard_normal(7)
    assert (q[-1], v[-1]) == (0.4, 0.0)
    a = held.forward_dynamics(q, v, tau)
    expected, efforts = free.hybrid_dynamics(q, v, tau, np.zeros(7), ["sada"])
    assert a == pytest.approx(expected, abs=1e-12)  # accelerations of size one
    assert held.gear_effort("hold_sada", q, v, a, tau=tau) + tau[-1] == pytest.approx(efforts[-1], abs=1e-12)
    assert np.abs(free.forward_dynamics(q, v, tau) - a).max() > 1e-2


def test_held_models_are_linearised_and_simulated_as_with_hold() -> None:
    held, free = wing_on_hub({"sada": 0.4}), wing_on_hub()
    q = held.assemble(held.neutral())
    signals = {"inputs": ["base.rx"], "outputs": ["base.rx.q", "sada.q"]}
    one = tt.linearize(held, q, **signals)
    other = tt.linearize(free, q, **signals, hold=["sada"])
    assert one.state_labels == other.state_labels
    assert all(np.abs(getattr(one, name) - getattr(other, name)).max() < 1e-12 for name in "ABCD")
    v, t = np.array([0, 0, 0, 0.3, 0.4, 0.5, 0.0]), np.linspace(0, 1, 5)
    runs = [tt.simulate(held, t, q, v, rtol=1e-10), tt.simulate(free, t, q, v, hold=["sada"], rtol=1e-10)]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-8
    family = tt.lft(held, q, {"wing.mass": tt.percent(10)}, ["base.rx"], ["base.rx.q"])
    assert family.check(3) < 1e-10


@pytest.mark.parametrize(
    ("hold", "code", "words"),
    [
        (["base"], "not-plain", "connect it by a tt.Weld"),
        ("sadda", "unknown-coordinate", "did you mean 'sada'"),
        ({"sada": "high"}, "wrong-type", "a finite number"),
    ],
)
def test_what_cannot_be_held_is_refused(hold: Any, code: str, words: str) -> None:
    with refusal(code, words):
        wing_on_hub(hold)


def test_something_has_to_move() -> None:
    s = tt.System("rig", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("arm", 1.0), tt.Prismatic("rail"))
    with refusal("nothing-moves", "leave one free"):
        s.resolve(hold=["rail"])
