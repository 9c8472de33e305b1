"""Systems in other units of length, mass and time: what is found agrees to rounding after it is scaled back."""

from __future__ import annotations

import itertools
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES
from tests.systems import Array


class Units(NamedTuple):
    """How many of the new units are a metre, a kilogram and a second."""

    length: float
    mass: float
    time: float

    @property
    def effort(self) -> float:
        return self.mass * self.length**2 / self.time**2


SI = Units(1.0, 1.0, 1.0)
UNITS = [Units(*each) for each in itertools.product([1e-6, 1e6], repeat=3)]


def bar(name: str, length: float, units: Units) -> tt.RigidBody:
    mass = 2.0 * length * units.mass
    about = mass * (length * units.length) ** 2 / 12
    ports = {"end": [length * units.length, 0, 0]}
    return tt.RigidBody(name, mass, [length / 2 * units.length, 0, 0], [0.01 * about, about, about], ports)


def linkage(units: Units, geared: bool = False) -> tt.System:
    """Return a four-bar with redundant constraints, springs and dampers; if geared, the crank drives a wheel too."""
    effort, damper = units.effort, {"damping": 0.1 * units.effort * units.time}
    s = tt.System("linkage", gravity=[0, -9.81 * units.length / units.time**2, 0])
    crank, coupler, rocker = (bar(name, length, units) for name, length in (("crank", 0.4), ("coupler", 1.1), ("rocker", 0.9)))
    s.connect("world", crank, tt.Revolute("A", **damper))
    s.connect(crank.port("end"), coupler, tt.Revolute("B", stiffness=0.3 * effort))
    s.connect("world", rocker, tt.Revolute("D"), placement=[1.2 * units.length, 0, 0])
    s.close_loop(coupler.port("end"), rocker.port("end"), tt.RigidClosure("C", "revolute"))
    if geared:
        wheel = tt.RigidBody("wheel", units.mass, inertia=0.2 * units.mass * units.length**2)
        s.connect("world", wheel, tt.Revolute("E", **damper))
        s.add_gear(tt.Gear("mesh", driver="A", driven="E", ratio=-2.0, offset=0.1))
    return s


def closed(m: tt.Model, units: Units) -> tuple[Array, Array]:
    """Return a closed state with the crank at 1 rad, turning at 2 rad/s."""
    q = m.assemble(m.configuration({"A": 1.0, "B": -0.6, "D": 1.2}), fixed=["A"])
    return q, m.assemble_velocity(q, m.velocity({"A": 2.0 / units.time}), fixed=["A"])


@pytest.mark.parametrize("geared", [False, True], ids=["closures", "gears"])
@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
class TestClosedMechanisms:
    def test_states_and_ranks(self, engine: str, units: Units, geared: bool) -> None:
        plain, scaled = (linkage(each, geared).resolve(engine) for each in (SI, units))
        (q, v), (q_scaled, v_scaled) = closed(plain, SI), closed(scaled, units)
        # loops are closed to 1e-13 of the mechanism's size; velocities lose a digit to the loop's geometry
        np.testing.assert_allclose(q_scaled, q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(v_scaled * units.time, v, rtol=0, atol=1e-11)
        assert scaled.closure_rank(q_scaled) == plain.closure_rank(q)


def pendulum_on_a_slider(units: Units) -> tt.Model:
    """Return a cart on a spring with a pendulum whose motor holds it up."""
    s = tt.System("cart", gravity=[0, -9.81 * units.length / units.time**2, 0])
    cart = tt.RigidBody("cart", units.mass)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=3.0 * units.mass / units.time**2))
    s.connect(cart, bar("rod", 0.5, units), tt.Revolute("hinge"))
    return s.resolve()


@pytest.mark.parametrize("units", [SI, *UNITS], ids=str)
class TestLinearModels:
    def test_of_functions_that_take_no_complex_numbers(self, units: Units) -> None:
        """A function that bends within the unit of length: its slopes by position and rate, and by an input."""
        m = pendulum_on_a_slider(units)

        def bent(q: Array, v: Array, a: Array, u: Array) -> Array:
            x, rate = float(q[0]) / units.length, float(v[0]) * units.time / units.length
            return np.array([np.sin(x), 1e-3 * rate**3, float(a[0]) * units.time**2 / units.length])

        at = tt.OperatingPoint(m, [0.3 * units.length, 0.0], [0.2 * units.length / units.time, 0.0])
        with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
            system = tt.linearize(m, at, inputs=["rail"], outputs=[("bent", bent), "rail.a"])
        # differences of sixth order at the step that suits them: 1e-10
        assert system.C[0, 0] * units.length == pytest.approx(np.cos(0.3), rel=1e-8)
        assert system.C[1, 2] * units.length / units.time == pytest.approx(1e-3 * 3 * 0.2**2, rel=1e-8)
        scale = units.time**2 / units.length
        np.testing.assert_allclose(system.C[2], system.C[3] * scale, rtol=1e-8, atol=1e-9 * np.abs(system.C[3]).max() * scale)
        assert system.D[2, 0] == pytest.approx(system.D[3, 0] * scale, rel=1e-8)

    def test_only_what_is_no_equilibrium_gives_a_warning(self, units: Units) -> None:
        """Balanced to rounding, and a thousandth of the efforts away from it."""
        m = pendulum_on_a_slider(units)
        q = m.configuration({"hinge": 0.4})
        tau = m.inverse_dynamics(q, np.zeros(2), np.zeros(2))
        for factor, sound in ((1.0, True), (1.001, False)):
            points = [tt.OperatingPoint(m, q, tau=factor * tau) for _ in range(2)]
            for use in (
                lambda: tt.linear_matrices(m, points[0]),  # noqa: B023
                lambda: tt.linearize(m, points[0]),  # noqa: B023
                lambda: tt.lpv(m, {"hinge.q": [0.4, 0.4]}, points=points, grid=False),  # noqa: B023
            ):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    use()
                assert ["no-equilibrium" in str(each.message) for each in caught] == ([] if sound else [True])
