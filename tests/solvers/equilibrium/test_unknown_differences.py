"""Differences within bounds and beside what cannot be, of polynomials of second order, for which both formulas are exact."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.systems import Array
from titop.solvers.equilibrium.unknown_differences import by_unknown

#: Rounding of values of size one over a step of 1e-5.
ROUNDING = 1e-10


def parabolas(x: Array) -> Array:
    """Return what has the derivatives 3 + 2 x0 and -x1 by the first, and x1 - x0 by the second, of unknowns."""
    return np.array([3 * x[0] + x[0] ** 2, x[1] ** 2 / 2 - x[0] * x[1]])


def unsteady(x: Array, lower: float, upper: float) -> Array:
    """Return the parabolas; infinite where the first of the unknowns is out of a range."""
    return parabolas(x) if lower <= x[0] <= upper else np.full(2, np.inf)


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 1.0), (0.5, 1.0), (-1.0, 0.5), (0.5, 0.5 + 1e-7), (-np.inf, 0.5)])
def test_within_bounds(lower: float, upper: float) -> None:
    met: list[float] = []

    def residual(x: Array) -> Array:
        met.append(float(x[0]))
        return parabolas(x)

    found = by_unknown(residual, np.array([0.5, 2.0]), 0, (np.array([lower, -1.0]), np.array([upper, 3.0])))
    assert found == pytest.approx([4.0, -2.0], abs=ROUNDING * 1e-5 / min(1e-5, (upper - lower) / 4))
    assert lower <= min(met) <= max(met) <= upper


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 1.0), (0.5, 1.0), (-1.0, 0.5)])
def test_beside_what_cannot_be(lower: float, upper: float) -> None:
    x = np.array([0.5, 2.0])
    assert by_unknown(lambda x: unsteady(x, lower, upper), x, 0) == pytest.approx([4.0, -2.0], abs=ROUNDING)
    assert by_unknown(lambda x: unsteady(x, lower, upper), x, 1) == pytest.approx([0.0, 1.5], abs=ROUNDING)
    assert by_unknown(lambda x: unsteady(x, 0.5, 0.5), x, 0).tolist() == [0.0, 0.0]


def lever(counterweight: float, side: float) -> tt.Model:
    """Return a lever of 2 kg, its weight 0.3 m from the hinge, with a mass 0.2 m to one side."""
    s = tt.System("lever", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", 2.0, com=[0.3, 0, 0], inertia=[0.01, 0.05, 0.05], ports={"cw": [0.2 * side, 0, 0]})
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(arm.port("cw"), tt.RigidBody("cw", counterweight), tt.Weld("weld"))
    return s.resolve()


@pytest.mark.parametrize("bounds", [None, {"cw.mass": (0, 10)}], ids=str)
class TestMasses:
    @pytest.mark.parametrize("guess", [0.0, 1e-6, 1.0])
    def test_that_may_be_nothing(self, bounds: dict[str, tuple[float, float]] | None, guess: float) -> None:
        """2 kg * 0.3 m = 3 kg * 0.2 m."""
        found = tt.trim(lever(guess, -1.0), ["cw.mass"], bounds=bounds)
        assert found.parameters["cw.mass"] == pytest.approx(3.0, rel=1e-9)

    @pytest.mark.parametrize("guess", [0.0, 1.0])
    def test_that_would_have_to_be_less_than_nothing(self, bounds: dict[str, tuple[float, float]] | None, guess: float) -> None:
        with pytest.raises(tt.ConvergenceError, match=r"an acceleration of hinge, .* is left at cw\.mass = (0|\d\.?\d*e-\d\d)"):
            tt.trim(lever(guess, 1.0), ["cw.mass"], bounds=bounds)


def test_friction_of_a_balanced_body_that_turns() -> None:
    """Nothing drives it, so that nothing may brake it; driven by a torque, friction is as large."""
    s = tt.System("flywheel", gravity=[0, 0, -9.81])
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], friction=tt.Friction(coulomb=0.5))
    s.connect("world", tt.RigidBody("disc", 2.0, inertia=[0.01, 0.05, 0.05]), hinge)
    for torque in (0.0, 0.3):
        found = tt.trim(s.resolve(), ["hinge.friction.coulomb"], v=[1.0], tau=[torque])
        assert found.parameters["hinge.friction.coulomb"] == pytest.approx(torque, abs=1e-8)
