"""Rods in contact along their length, against beams on foundations that only push, as boundary value problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import titop as tt

LENGTH, RADIUS, YOUNG, DENSITY, G = 1.0, 0.01, 1e7, 1000.0, 9.81
AREA, MOMENT = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
#: How far the surface is below the clamped axis less the radius (m), and the foundation's stiffness (N/m^2).
CLEARANCE, FOUNDATION = 0.002, 2e4
#: Where spheres stand: in the middle of hundredths.
PLACES = (np.arange(100) + 0.5) / 100 * LENGTH


def beam(foundation: float) -> Any:
    """Return the deflection (m, downwards) of a clamped beam under its weight: E I w'''' = q - k max(w - c, 0).

    Euler and Bernoulli's, of small slopes: those here are below 0.01, and count by their squares.
    """
    weight, rigidity = DENSITY * AREA * G, YOUNG * MOMENT

    def slopes(x: Any, y: Any) -> Any:
        push = foundation * np.maximum(y[0] - CLEARANCE, 0.0)
        return np.array([y[1], y[2], y[3], (weight - push) / rigidity])

    def ends(a: Any, b: Any) -> Any:
        return np.array([a[0], a[1], b[2], b[3]])

    x = np.linspace(0.0, LENGTH, 401)
    found = solve_bvp(slopes, ends, x, np.zeros((4, len(x))), tol=1e-8, max_nodes=100000)
    assert found.success
    return found.sol


def rod(shape: tt.Shape, place: tt.Pose, bend: str) -> tt.Model:
    """Return a rod along x, clamped, with spheres at equal distances that touch a shape in the world."""
    s = tt.System("rod", gravity=[0, 0, -G])
    strains = {bend: tt.StrainBasis.legendre(9)}
    own = tt.Rod("rod", LENGTH, tt.Section.circle(RADIUS), YOUNG, DENSITY, strains=strains, points=16)
    s.connect("world", own, tt.Weld("clamp"))
    s.world.add_port("below", place.position, place.rotation)
    stiffness = FOUNDATION * LENGTH / len(PLACES)
    contact = tt.Contact("touch", stiffness=stiffness, exponent=1.0, on=own, points=PLACES, shape=shape)
    s.add_interaction(contact, s.world.port("below"))
    return s.resolve()


ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
CASES = {
    "plane": (tt.Shape.plane(), tt.Pose([0, 0, -CLEARANCE - RADIUS])),
    "hollow": (tt.Shape.cylinder(CLEARANCE + RADIUS, inside=True), tt.Pose(rotation=ALONG_X)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_rod_lies_as_a_beam_on_a_foundation_does(case: str) -> None:
    m = rod(*CASES[case], "bending_y")
    resting = tt.trim(m)
    exact, x = beam(FOUNDATION), np.linspace(0.0, LENGTH, 41)
    found = -m.section_poses("rod", x, resting.q)[1][:, 2]
    deflection = exact(x)[0]
    assert deflection.max() > CLEARANCE + 5e-5
    # a polynomial of ninth degree for a curvature whose second derivative has a corner; squares of slopes of 0.01
    np.testing.assert_allclose(found, deflection, rtol=0, atol=5e-3 * CLEARANCE)
    touching = m.contacts(resting.q, resting.v)
    push = FOUNDATION * np.maximum(exact(PLACES)[0] - CLEARANCE, 0.0) * LENGTH / len(PLACES)
    assert np.linalg.norm(touching.force, axis=1).sum() == pytest.approx(push.sum(), rel=1e-2)
    # what the clamp and the surface carry is the weight
    clamped = m.reaction("clamp", resting.q, resting.v, np.zeros(m.nv))[2]
    pushed = (CASES[case][1].rotation @ touching.force.sum(axis=0))[2]
    assert clamped + pushed == pytest.approx(DENSITY * AREA * LENGTH * G, rel=1e-9)


def test_without_a_surface_it_hangs_deeper() -> None:
    """The control: the same beam without a foundation is elsewhere."""
    assert beam(0.0)(LENGTH)[0] > 2 * beam(FOUNDATION)(LENGTH)[0]
