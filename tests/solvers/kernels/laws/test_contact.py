"""Compiled contacts: the reference engine's values, its complex steps, gaps with their rates, and no pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.interactions.touching_systems import LOSSES, rod_and_wall, soft_and_wall, state, two_bodies
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.contact import CONTACT, TOUCHING
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.driven_model import DrivenModel

PLACES = [[0.1, 0.2, 0.3], [-0.3, 0.4, 0.1]]
SHAPES = {
    "plane": tt.Shape.plane([0, 1, 1]),
    "sphere": tt.Shape.sphere(0.3),
    "round": tt.Shape.cylinder(0.4),
    "hollow": tt.Shape.cylinder(0.15, inside=True),
    "barrel": tt.Shape.cylinder(0.4, 1.0),
    "box": tt.Shape.box([1, 0.5, 0.3]),
    "capsule": tt.Shape.capsule(0.2, 1.0),
}


def systems() -> dict[str, tt.System]:
    """Return a system of every shape and of everything that touches, with all laws."""
    found = {}
    for name, shape in SHAPES.items():
        found[f"{name}-hertz"] = two_bodies(tt.Contact("touch", 1.2, 300.0, shape=shape, **LOSSES))
        given: dict[str, Any] = {"exponent": 2.2, "rolling": 0.05, "points": PLACES}
        found[f"{name}-many"] = two_bodies(tt.Contact("touch", [1.2, 1.5], 300.0, shape=shape, **given, **LOSSES))
        found[f"{name}-rod"] = rod_and_wall(shape)
        if shape.is_convex:
            on = tt.Shape.capsule(0.6, 0.8)
            found[f"{name}-capsule"] = two_bodies(tt.Contact("touch", None, 300.0, shape=shape, on=on, **LOSSES))
    for name, solid in {
        "barrel": tt.Shape.cylinder(0.9, 2.5),
        "lid": tt.Shape.cylinder(3.0, 2.4),
        "box": tt.Shape.box([4, 4, 3]),
    }.items():
        found[f"{name}-within"] = two_bodies(tt.Contact("touch", 0.0, 300.0, shape=solid, points=PLACES, **LOSSES))
    bristles: dict[str, Any] = {"tangential_stiffness": 50.0, "points": PLACES}
    found["plane-bristles"] = two_bodies(tt.Contact("touch", 1.2, 300.0, **bristles, **LOSSES))
    found["hollow-rod-bristles"] = rod_and_wall(SHAPES["hollow"], tangential_stiffness=50.0)
    found["hollow-soft-bristles"] = soft_and_wall(SHAPES["hollow"], **bristles)
    crossing: dict[str, Any] = {"on": tt.Shape.capsule(0.6, 0.8), "tangential_stiffness": 50.0}
    found["capsule-bristles"] = two_bodies(tt.Contact("touch", None, 300.0, shape=SHAPES["capsule"], **crossing, **LOSSES))
    found["plane-linear"] = two_bodies(tt.Contact("touch", 1.2, 300.0, exponent=1.0, **LOSSES))
    found["ends"] = two_bodies(tt.Contact("touch", None, 300.0, on=tt.Shape.capsule(0.8, 1.0), **LOSSES))
    return found | {f"{name}-soft": soft_and_wall(SHAPES[name]) for name in ("plane", "hollow", "box")}


NAMES = [*systems()]


@pytest.mark.parametrize("name", NAMES)
def test_engines_agree(name: str) -> None:
    s = systems()[name]
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, a = state(m)
    x = 4e-3 * np.random.default_rng(1).normal(size=m.nx)  # bristles that partly give in at 8 mm
    assert m.contacts(q, v).depth.max() > 0.01  # else nothing was compared
    np.testing.assert_allclose(m.inverse_dynamics(q, v, a, x=x), reference.inverse_dynamics(q, v, a, x=x), **ROUNDING_OF_MANY)
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-11)
    found, expected = (model.inverse_dynamics_derivatives(q, v, a, x=x) for model in (m, reference))
    for one, two in zip(found, expected, strict=True):
        # complex steps of the reference; sums of some hundred terms as large as the largest
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(two).max())


@pytest.mark.parametrize("name", [name for name in NAMES if "bristles" in name])
def test_bristles_bend_alike_in_compiled_code(name: str) -> None:
    s = systems()[name]
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, _ = state(m)
    x = 4e-3 * np.random.default_rng(1).normal(size=m.nx)
    found, expected = (model.state_rates(q, v, x) for model in (m, reference))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    one, two = (model.state_rates_derivatives(q, v, x) for model in (m, reference))
    for by_one, by_two in zip(one, two, strict=True):
        np.testing.assert_allclose(by_one, by_two, rtol=0, atol=1e-11 * max(np.abs(by_two).max(initial=0.0), 1.0))
    one, two = (model.state_efforts(q, v, x) for model in (m, reference))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * np.abs(two).max())
    assert (np.abs(two).max(axis=0) > 0).any()


@pytest.mark.parametrize("name", [name for name in NAMES if "bristles" in name])
def test_no_python_is_asked_how_bristles_bend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = systems()[name].resolve()
    q, v, _ = state(m)
    x = 4e-3 * np.random.default_rng(1).normal(size=m.nx)
    expected = m.state_rates(q, v, x)  # stages are chosen here, by what the class defines

    def refuse(*_: Any) -> Any:
        raise AssertionError

    for function in ("state_rates", "act", "touches"):
        monkeypatch.setattr(tt.Contact, function, refuse)
    np.testing.assert_array_equal(m.state_rates(q, v, x), expected)
    m.state_rates_derivatives(q, v, x)
    m.state_efforts(q, v, x)
    with pytest.raises(AssertionError):
        m.dissipated_power(q, v, x)


@pytest.mark.parametrize("name", [name for name in NAMES if "bristles" in name])
def test_bristles_follow_by_the_trapezoidal_rule(name: str) -> None:
    s = systems()[name]
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, _ = state(m)
    begun, half = 4e-3 * np.random.default_rng(1).normal(size=m.nx), 1e-3
    u = m.mechanism.inputs.whole(None, begun)
    (x, inverse), (y, other) = (
        model.mechanism.engine.states.following(q, v, u, begun, begun, half) for model in (m, reference)
    )
    # Newton's method stops at 1e-12, where derivatives are right
    np.testing.assert_allclose(x, begun + half * m.state_rates(q, v, x), rtol=0, atol=1e-12 * np.abs(x).max())
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * np.abs(x).max())
    np.testing.assert_allclose(inverse, other, rtol=0, atol=1e-6)  # of different iterations
    assert np.abs(x - begun).max() > 1e-5  # far more than what is compared


@pytest.mark.parametrize("name", ["hollow-hertz", "plane-many", "plane-rod", "box-soft"])
def test_nothing_acts_without_contact(name: str) -> None:
    s = systems()[name]
    contact = s["touch"]
    contact.radius, contact.shape = 1e-6, tt.Shape.sphere(1e-6)
    m = s.resolve()
    q, v, a = state(m)
    assert m.contacts(q, v).gap.min() > 0
    contact.stiffness = 1e9
    again = s.resolve()
    for function in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        one, two = (np.concatenate([np.ravel(x) for x in getattr(model, function)(q, v, a)]) for model in (m, again))
        assert np.array_equal(one, two)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("plane", "barrel"))])
def test_what_touches_is_read_alike_in_compiled_code(name: str) -> None:
    s = systems()[name]
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, _ = state(m)
    x = 4e-3 * np.random.default_rng(1).normal(size=m.nx)
    for one, two in zip(m.contacts(q, v, x=x)[1:], reference.contacts(q, v, x=x)[1:], strict=True):
        np.testing.assert_allclose(one, two, **ROUNDING_OF_MANY)


@pytest.mark.parametrize("name", NAMES)
def test_gaps_and_their_rates_are_compiled(name: str) -> None:
    m = systems()[name].resolve()
    q, v, _ = state(m)
    gaps = DrivenModel(m, np.array([0.0, 1.0]), None, {}, PrescribedMotion(m, {}), None, None).gaps
    assert gaps.is_guarded
    np.testing.assert_allclose(gaps.at(q, v), m.contacts(q, v).gap, rtol=0, atol=1e-13)  # of places of order one
    h = 1e-6
    ahead, behind = (m.contacts(m.integrate(q, step * v), v).gap for step in (h, -h))
    # central differences of 1e-6 s: rounding of 1e-10, curvatures of order ten squared
    np.testing.assert_allclose(gaps.rows(q[None], v[None], h)[1][0], (ahead - behind) / (2 * h), rtol=0, atol=1e-8)


def test_nothing_that_touches_stores_nothing() -> None:
    """Of no sphere the energy is written too; it would be what stood there before."""
    numbers, motion, energy = np.zeros(TOUCHING + 1), np.zeros(2 * layout.MOTION_SIZE), np.full(1, 7.0)
    motion[[0, 4, 8]] = motion[layout.MOTION_SIZE + np.array([0, 4, 8])] = 1.0
    addresses = [array.ctypes.data for array in (numbers, motion, energy)]
    assert CONTACT.stored(2, 0, 0, 0, numbers.size, 0, *addresses) == layout.OK
    assert energy[0] == 0.0
