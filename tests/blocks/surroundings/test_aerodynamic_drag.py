"""Drag of thin air on facets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.surroundings.orbiting import AIR, EARTH, plate
from tests.blocks.surroundings.spheres import sphere
from tests.refusals import refused

#: The same air everywhere: a plate of 1 m^2 at 1 m/s has a force of 0.5 N times the drag coefficient.
EVERYWHERE = {"density": 1.0, "scale_height": np.inf, "altitude": 0.0, "radius": 1.0}


def force_on(facets: Any, velocity: Any, spin: Any = (0, 0, 0), place: Any = (0, 0, 0), **air: Any) -> Any:
    """Return the wrench (6) on a body of 1 kg and 1 kg m^2 with some facets, without what its spin does."""
    s, hub = plate()
    s.add_interaction(tt.AerodynamicDrag("drag", facets(hub), **(EVERYWHERE | air)))
    m = s.resolve(engine="reference")
    q = m.configuration({"base": [*place, 0, 0, 0, 1]})
    v = m.velocity({"base": [*velocity, *spin]})
    return m.forward_dynamics(q, v) + m.nonlinear_effects(q, v)


@pytest.mark.parametrize("angle", [0.0, 45.0, 90.0, 135.0])
@pytest.mark.parametrize(("accommodation", "coefficient"), [(1.0, 2.0), (1.0, 2.4), (0.0, 2.0), (0.7, 2.2)])
def test_a_plate_at_an_angle(angle: float, accommodation: float, coefficient: float) -> None:
    """Momentum of the molecules, per second: those that stay leave it all, the others have it mirrored."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    found = force_on(
        lambda hub: [tt.Facet(hub, 2.0, [3.0, 0, 0], [0, 0, 0.5])],
        [3 * c, 3 * s, 0],
        accommodation=accommodation,
        drag_coefficient=coefficient,
    )
    mass_rate = 2.0 * max(3 * c, 0.0)
    expected = -mass_rate * accommodation * coefficient / 2 * np.array([3 * c, 3 * s, 0])
    expected[0] -= mass_rate * (1 - accommodation) * 2 * 3 * c
    np.testing.assert_allclose(found[:3], expected, rtol=0, atol=1e-14)  # few operations
    np.testing.assert_allclose(found[3:], np.cross([0, 0, 0.5], expected), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("accommodation", "coefficient"), [(1.0, 2.4), (0.0, 2.0), (0.6, 2.2)])
def test_a_sphere(accommodation: float, coefficient: float) -> None:
    """Its drag coefficient is ``2 + accommodation (drag_coefficient - 2)``, from all sides."""
    for way in ([0, 0, 1.0], [0.6, 0, 0.8], [0.48, -0.6, 0.64]):
        found = force_on(lambda hub: sphere(hub, 0.5, 24), way, accommodation=accommodation, drag_coefficient=coefficient)
        expected = -0.5 * (2 + accommodation * (coefficient - 2)) * np.pi * 0.25 * np.array(way)
        # the rim of the lit side, where facets are cut: 1e-3 with 24 rings, of a sixth
        np.testing.assert_allclose(found[:3], expected, rtol=0, atol=2e-3)
        np.testing.assert_allclose(found[3:], 0, rtol=0, atol=1e-14)


def test_density_falls_with_height_and_air_turns_with_the_planet() -> None:
    plates = lambda hub: [tt.Facet(hub, 1.0, [0, 1, 0])]  # noqa: E731
    place, low, high = np.array([0.6, 0, 0.8]), EARTH + 400e3, EARTH + 460e3
    one, two = (force_on(plates, [0, 7600, 0], place=r * place, **AIR)[1] for r in (low, high))
    assert one == pytest.approx(-0.5 * 2.2 * 2.8e-12 * 7600**2, rel=1e-9)  # of a difference of 7e6 m
    assert two / one == pytest.approx(np.exp(-1), rel=1e-9)
    turning = force_on(plates, [0, 7600, 0], place=low * place, rotation=[0, 0, 1e-4], wind=[0, -50, 0], **AIR)[1]
    assert turning / one == pytest.approx(((7600 + 50 - 1e-4 * 0.6 * low) / 7600) ** 2, rel=1e-12)


def test_turning_is_damped() -> None:
    """A paddle at an arm of 2 m meets the air with twice the rate: torque 2 (2 w)^2 density area."""
    facets = lambda hub: [tt.Facet(hub, 0.5, [0, way, 0], [2, 0, 0]) for way in (1, -1)]  # noqa: E731
    np.testing.assert_allclose(force_on(facets, [0, 0, 0], [0, 0, 0.3])[3:], [0, 0, -2 * 0.6**2 * 0.5], rtol=1e-15)
    with_air = force_on(facets, [0, 0, 0], [0, 0, 0.3], rotation=[0, 0, 0.3])
    np.testing.assert_allclose(with_air, 0, atol=1e-16)


#: What is asked of a model at a state.
ASKED: list[Callable[[tt.Model, Any, Any], object]] = [
    lambda m, q, v: tt.simulate(m, [0.0, 1e-3], q, v),
    lambda m, q, v: tt.trim(m, [], q=q, v=v, accelerating="base"),
    lambda m, q, v: tt.linearize(m, (q, v, m.forward_dynamics(q, v))),
    lambda m, q, v: tt.lpv(m, {"hub.mass": [1.0]}, points=[held(m.with_parameters({"hub.mass": 1.0}), q, v)]),
    lambda m, q, v: tt.lft(m, held(m, q, v), {"hub.mass": tt.percent(10)}, ["base.tau"], ["base.q"]),
]


def held(m: tt.Model, q: Any, v: Any) -> tt.OperatingPoint:
    return tt.OperatingPoint(m, q, v, m.inverse_dynamics(q, v, np.zeros(m.nv)))


@pytest.mark.parametrize("ask", ASKED)
def test_states_outside_the_atmosphere_warn(ask: Callable[[tt.Model, Any, Any], object]) -> None:
    s, hub = plate()
    s.add_interaction(tt.AerodynamicDrag("drag", [tt.Facet(hub, 1.0, [1, 0, 0])], **AIR))
    m = s.resolve(engine="reference")
    for height, is_told in ((900e3, True), (300e3, False)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ask(m, m.configuration({"base": [EARTH + height, 0, 0, 0, 0, 0, 1]}), m.velocity({}))
        text = "drag: got an altitude of 900 km; expected 100 to 700 km"
        assert [text in str(each.message) for each in told].count(True) == is_told


def test_the_same_air_everywhere_has_no_end() -> None:
    s, hub = plate()
    s.add_interaction(tt.AerodynamicDrag("drag", [tt.Facet(hub, 1.0, [1, 0, 0])], **EVERYWHERE))
    m = s.resolve()
    assert "drag.scale_height" not in m.parameters()  # infinite
    tt.simulate(m, [0.0, 1e-3], m.neutral(), m.velocity({}))  # warnings are errors
    assert m.forward_dynamics(m.neutral(), m.velocity({"base": [2, 0, 0, 0, 0, 0]}))[0] == -4.0


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("scale_height", 0.0, "no-height"),
        ("density", -1.0, "negative-density"),
        ("accommodation", 1.1, "bad-share"),
        ("accommodation", -0.1, "bad-share"),
        ("drag_coefficient", -2.0, "negative-drag"),
        ("wind", [1, 2], "wrong-shape"),
    ],
)
def test_wrong_air_is_refused(field: str, value: Any, code: str) -> None:
    s, hub = plate()
    s.add_interaction(tt.AerodynamicDrag("drag", [tt.Facet(hub, 1.0, [1, 0, 0])], **(AIR | {field: value})))
    assert [(finding.code, finding.where) for finding in refused(s, "reference").findings] == [(code, f"drag.{field}")]
