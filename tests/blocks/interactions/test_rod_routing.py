"""Lines through rods by their points: length, its derivatives, and how many points they want."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import LENGTH, manipulator
from tests.blocks.interactions.rod_lines import bent, polyline, routings
from titop.blocks.basics.complex_steps import complex_step


@pytest.mark.parametrize("k", range(5))
def test_length_is_that_of_the_line_through_the_sections(k: int) -> None:
    """Polylines of n pieces err by n^-2; the rod has points enough that its poses are those of its strain."""
    rod = manipulator(points=100)
    line, q = routings(rod, points=40)[k], bent()
    errors = [line.measure(q) - polyline(line, q, pieces) for pieces in (50, 100, 200)]
    assert errors[0] > 0
    # of the order 2: 4 up to the next term, (pieces of a turn)^2, and up to what quadrature and poses leave (1e-9)
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=5e-2)
    richardson = polyline(line, q, 400) + (polyline(line, q, 400) - polyline(line, q, 200)) / 3
    assert line.measure(q) == pytest.approx(richardson, rel=1e-8)  # the next order, and eight Gauss points


@pytest.mark.parametrize("k", range(6))
def test_derivatives_are_exact(k: int) -> None:
    line, q = routings(manipulator())[k], bent()
    gradient, hessian = line.path.gradient(q), line.path.hessian(q)
    # complex steps err by rounding of sums of some hundred terms
    np.testing.assert_allclose(gradient, complex_step(line.measure, q), rtol=0, atol=1e-14 * np.abs(gradient).max() * 24)
    np.testing.assert_allclose(hessian, complex_step(line.path.gradient, q), rtol=0, atol=1e-13 * np.abs(hessian).max())
    stacked = np.array([q, 2 * q])
    for at in (q, stacked):
        measure, slopes = line.path.measured(at)
        np.testing.assert_array_equal(measure, line.measure(at))
        np.testing.assert_array_equal(slopes, line.path.gradient(at))
    np.testing.assert_allclose(line.path.gradient(stacked)[0], gradient, rtol=0, atol=1e-15 * np.abs(gradient).max() * 24)
    np.testing.assert_allclose(line.measure(stacked), [line.measure(q), line.measure(2 * q)], rtol=1e-14)
    np.testing.assert_allclose(line.rate(stacked, stacked)[1], line.rate(2 * q, 2 * q), rtol=1e-12)


def test_parts_of_the_half_widths_follow_the_section() -> None:
    rod, q = manipulator(), bent()
    absolute = tt.Tendon("absolute", rod, y=lambda X: 0.5 * (0.03 - 0.015 * X / LENGTH), z=lambda X: 0.03 - 0.015 * X / LENGTH)
    relative = tt.Tendon("relative", rod, y=0.5, z=1.0, relative=True)
    assert relative.measure(q) == pytest.approx(absolute.measure(q), rel=1e-13)  # slopes by differences of sixth order
    assert tt.Tendon("other", rod, y=0.5, z=0.9, relative=True).measure(q) != pytest.approx(absolute.measure(q), rel=1e-4)


def test_lines_through_several_rods_run_straight_at_lengths_that_have_changed() -> None:
    """A pair of numbers is those at both ends, whatever the rods' lengths: as of rods that were made so, to rounding."""

    def pulled(lengths: tuple[float, float]) -> tt.Model:
        s = tt.System("tentacle", gravity=[0, 0, 0])
        rods = [
            tt.Rod(name, length, tt.Section.circle(0.02), young=1e6, density=1e3, strains={"bending_z": 1})
            for name, length in zip("ab", lengths, strict=True)
        ]
        s.connect("world", rods[0], tt.Weld("root"))
        s.connect(rods[0].port("tip"), rods[1], tt.Weld("seam"))
        s.add_interaction(tt.Tendon("tendon", rods, y=(0.015, 0.001)))
        s.add_interaction(tt.PressureChamber("chamber", rods, y=(-0.012, -0.002), area=(1e-4, 2e-5)))
        return s.resolve()

    q, still, u = np.array([0.3, -0.2, 0.1, 0.4]), np.zeros(4), np.array([3.0, 2e4])
    made = pulled((1.6, 0.4))
    changed = pulled((0.8, 0.4)).with_parameters({"a.length": 1.6})
    expected = made.inverse_dynamics(q, still, still, u=u)
    np.testing.assert_allclose(changed.inverse_dynamics(q, still, still, u=u), expected, rtol=1e-12)
    h = 1e-5
    ahead, behind = (pulled((1.6 + side * h, 0.4)).inverse_dynamics(q, still, still, u=u) for side in (1, -1))
    slope = changed.inverse_dynamics_sensitivities(q, still, still, ["a.length"], u=u)["a.length"]
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=0, atol=1e-7 * np.abs(slope).max())
