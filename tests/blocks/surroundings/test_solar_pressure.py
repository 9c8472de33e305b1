"""Pressure of sunlight on facets, and the shadow of a planet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.surroundings.orbiting import EARTH, SUN, plate
from tests.blocks.surroundings.spheres import sphere
from tests.refusals import refused
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import rotation_exp, rotation_log
from titop.blocks.surroundings.solar_pressure import sunlit_part

#: Radius of the sun in parts of its distance.
DISC = 6.957e8 / 1.495978707e11


def force_on(facets: Any, sun: Any, place: Any = (0, 0, 0), **more: Any) -> Any:
    s, hub = plate()
    s.add_interaction(tt.SolarPressure("light", facets(hub), sun, **({"pressure": 1.0} | more)))
    m = s.resolve(engine="reference")
    return m.forward_dynamics(m.configuration({"base": [*place, 0, 0, 0, 1]}), m.velocity({}))


@pytest.mark.parametrize("angle", [0.0, 45.0, 90.0, 135.0])
@pytest.mark.parametrize(("specular", "diffuse"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.3, 0.5)])
def test_a_plate_at_an_angle(angle: float, specular: float, diffuse: float) -> None:
    """Momentum of photons: all arrive, some leave mirrored, some evenly, with 2/3 of their momentum along the normal."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    found = force_on(lambda hub: [tt.Facet(hub, 2.0, [3.0, 0, 0], [0, 0.1, 0], specular, diffuse)], [2 * c, 2 * s, 0])
    caught, n = 2.0 * max(c, 0.0), np.array([1.0, 0, 0])
    coming = -np.array([c, s, 0])
    expected = caught * (coming - specular * np.array([c, -s, 0]) - diffuse * 2 / 3 * n)
    np.testing.assert_allclose(found[:3], expected, rtol=0, atol=1e-15)  # few operations
    np.testing.assert_allclose(found[3:], np.cross([0, 0.1, 0], expected), rtol=0, atol=1e-15)


@pytest.mark.parametrize(("specular", "diffuse"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.2, 0.3)])
def test_a_sphere(specular: float, diffuse: float) -> None:
    """``4 P pi r^2 (1/4 + diffuse/9)``: mirrored light leaves evenly to all sides, and pushes as if it were absorbed."""
    for sun in ([0, 0, 1.0], [0.6, 0, 0.8], [0.48, -0.6, 0.64]):
        found = force_on(lambda hub: sphere(hub, 0.5, 24, specular=specular, diffuse=diffuse), sun)
        expected = -4 * np.pi * 0.25 * (0.25 + diffuse / 9) * np.array(sun)
        np.testing.assert_allclose(found[:3], expected, rtol=0, atol=2e-3)  # the rim of the lit side, cut by facets
        np.testing.assert_allclose(found[3:], 0, rtol=0, atol=1e-14)


def test_eclipse() -> None:
    """Along an orbit: light ahead, none in the umbra; at the entry the planet's rim covers the disc as a straight line does."""
    sun, radius = np.array([1.0, 0, 0]), EARTH

    def lit(place: Any) -> Any:
        return sunlit_part(tuple(place), sun, radius)

    assert lit([7e6, 0, 0]) == lit([0, 7e6, 0]) == lit([-1e5, 7e6, 0]) == lit([-3e6, -7e6, 0]) == 1
    assert lit([-7e6, 0, 0]) == lit([-3e6, 6.3e6, 0]) == lit([-7e6, 1e6, 5e6]) == 0
    behind = 2.7e6
    heights = DISC * behind * np.linspace(-1.5, 1.5, 301)
    found = np.array([lit([-behind, 0, radius + h]) for h in heights])
    assert (np.diff(found) >= 0).all()
    assert found[150] == pytest.approx(0.5, abs=1e-9)  # rounding of the height in the radius
    # the area of a disc of radius 1 over a chord, by strips
    strips = np.linspace(-1, 1, 20001)
    middle, width = 0.5 * (strips[1:] + strips[:-1]), strips[1] - strips[0]
    for x in (-0.7, -0.2, 0.4, 0.9):
        area = 2 * np.sqrt(1 - middle[middle > -x] ** 2).sum() * width / np.pi
        assert lit([-behind, radius + DISC * behind * x, 0]) == pytest.approx(area, abs=1e-4)  # the strips at the edge
    assert lit([-behind, radius - 1.01 * DISC * behind, 0]) == 0
    assert lit([-behind, radius + 1.01 * DISC * behind, 0]) == 1


@pytest.mark.parametrize(
    "place", [[-2.7e6, EARTH + 3e3, 1e3], [-2.7e6, -EARTH + 5e3, 0], [-7e6, 0, 0], [7e6, 1, 2], [0, 7e6, 0]]
)
def test_the_shadows_slopes(place: Any) -> None:
    """Exact inside the penumbra and finite everywhere; against differences of sixth order."""
    sun = np.array(SUN) / np.linalg.norm(SUN)
    turn = rotation_exp(rotation_log(np.eye(3)))
    there = turn @ np.array(place, float)
    along = np.array([1.0, 0, 0]) if place[0] > 0 else sun

    def lit(r: Any) -> Any:
        return np.array([sunlit_part(tuple(r), along, EARTH)])

    slopes = complex_step(lit, there)[0]
    h, weights = 50.0, {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    differences = np.array(
        [sum(w * (lit(there + k * h * e) - lit(there - k * h * e))[0] for k, w in weights.items()) / h for e in np.eye(3)]
    )
    assert np.isfinite(slopes).all()
    np.testing.assert_allclose(slopes, differences, rtol=0, atol=1e-8 * np.abs(slopes).max() + 1e-15)  # rounding over the step


def test_the_shadow_darkens_the_facets() -> None:
    facets = lambda hub: [tt.Facet(hub, 1.0, [1, 0, 0])]  # noqa: E731
    assert force_on(facets, [1, 0, 0], [-7e6, 0, 0], radius=EARTH)[0] == 0
    assert force_on(facets, [1, 0, 0], [-7e6, 0, 0])[0] == -1
    assert force_on(facets, [1, 0, 0], [7e6, 0, 0], radius=EARTH)[0] == -1


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [("sun", [0, 0, 0], "zero-axis"), ("pressure", -1.0, "negative-pressure"), ("radius", -1.0, "negative-radius")],
)
def test_wrong_light_is_refused(field: str, value: Any, code: str) -> None:
    s, hub = plate()
    s.add_interaction(tt.SolarPressure("light", [tt.Facet(hub, 1.0, [1, 0, 0])], **({"sun": SUN} | {field: value})))
    assert [(finding.code, finding.where) for finding in refused(s, "reference").findings] == [(code, f"light.{field}")]
