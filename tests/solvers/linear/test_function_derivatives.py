"""Linear models with functions of users, in other units of length, mass and time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.scaled_systems import SI, UNITS, Units, bar, pendulum_on_a_slider
from tests.systems import Array


@pytest.mark.parametrize("units", [SI, *UNITS], ids=str)
class TestLinearModels:
    def test_of_functions_that_take_no_complex_numbers(self, units: Units) -> None:
        """A function that bends within the unit of length: its derivatives by position and rate, and by an input."""
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


@pytest.mark.parametrize("units", [SI, *UNITS], ids=str)
def test_held_coordinates_of_a_body_that_spins_slowly(units: Units) -> None:
    """As a satellite turns once an orbit, 1e-3 rad/s: what turns with it cannot be held alone, what does not can."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", bar("body", 1.0, units), tt.Free("free"))
    m = s.resolve()
    point = tt.OperatingPoint(m, m.neutral(), m.velocity({"free.rx": 1e-3 / units.time}))
    assert len(tt.linearize(m, point, hold=["free.x"]).state_labels) == 10
    with refusal("held-moves", "free.y turns with a body that spins"):
        tt.linearize(m, point, hold=["free.y"])
