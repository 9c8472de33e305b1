"""Systems in other units of length, mass and time: what is found agrees to rounding after it is scaled back."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES
from tests.solvers.scaled_systems import SI, UNITS, Units, bar, closed, linkage, pendulum_on_a_slider
from tests.systems import Array
from titop.solvers.linear.linear_equations import nearby


@pytest.mark.parametrize("engine", ENGINES)
def test_gravity_is_no_part_of_mass_matrices_and_responses(engine: str) -> None:
    """To the last bit, also where it is large beside a unit of acceleration."""
    systems = linkage(SI), linkage(SI)
    systems[1].gravity = np.array([0.0, 1e20, 0.0])
    light, heavy = (system.resolve(engine) for system in systems)
    q, efforts = closed(light, SI)[0], np.eye(3)
    assert (light.mass_matrix(q) == heavy.mass_matrix(q)).all()
    free = np.zeros(3, dtype=bool)
    assert (
        light.mechanism.engine.dynamics.tree_response(q, efforts, free)
        == heavy.mechanism.engine.dynamics.tree_response(q, efforts, free)
    ).all()


def cantilever(units: Units) -> tt.Model:
    """Return a soft beam with a tip mass, which sags by about a tenth of its length."""
    area, second = 1e-3 * units.length**2, 1e-7 * units.length**4
    density, young = 1e3 * units.mass / units.length**3, 3e8 * units.mass / (units.length * units.time**2)
    s = tt.System("cantilever", gravity=[0, 0, -9.81 * units.length / units.time**2])
    beam = tt.Beam("beam", 1.0 * units.length, density, area, young, second, second)
    s.connect("world", beam, tt.Revolute("root", axis=[0, 1, 0], stiffness=200.0 * units.effort))
    s.connect(beam.port("C"), bar("tip", 0.3, units), tt.Revolute("end", axis=[0, 1, 0], stiffness=20.0 * units.effort))
    return s.resolve()


def sizes_in(units: Units, m: tt.Model) -> Array:
    """Return what a metre, a radian, or a metre of a kilogram's root, is of each coordinate in these units."""
    of = {"m": units.length, "rad": 1.0, "m sqrt(kg)": units.length * np.sqrt(units.mass)}
    return np.array([of[unit] for unit in m.mechanism.assembly.coordinate_units])


@pytest.mark.parametrize("units", UNITS, ids=str)
class TestFlexibleSystems:
    def test_sag(self, units: Units) -> None:
        (plain, scaled), ones = (tt.trim(cantilever(each)) for each in (SI, units)), sizes_in(units, cantilever(units))
        np.testing.assert_allclose(scaled.q / ones, plain.q, rtol=1e-9, atol=1e-12)

    def test_points_nearby(self, units: Units) -> None:
        moved = []
        for each in (SI, units):
            m = cantilever(each)
            assert "m sqrt(kg)" in m.mechanism.assembly.coordinate_units
            (near,) = nearby([tt.OperatingPoint(m, np.zeros(m.nq))], np.random.default_rng(0))
            moved.append(near.q / sizes_in(each, m))
        np.testing.assert_allclose(moved[1], moved[0], rtol=1e-9)

    def test_coriolis_matrices(self, units: Units) -> None:
        """Of a pendulum on a cart in slow motion beside its weight: ``-m l cos(q) q'`` in the cart's row."""
        m, rate = pendulum_on_a_slider(units), 1e-6 / units.time
        q, v = m.configuration({"hinge": 0.4}), m.velocity({"hinge": rate})
        found = m.coriolis_matrix(q, v)[0, 1] / (units.mass * units.length / units.time)
        assert found == pytest.approx(-1.0 * 0.25 * np.cos(0.4) * 1e-6, rel=1e-12)
