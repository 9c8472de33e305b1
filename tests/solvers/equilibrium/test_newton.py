"""Of many roots, the one near the start; differences within bounds and beside what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY, ROUNDING
from tests.systems import Array
from titop.solvers.equilibrium.newton import by_difference, newton


def test_the_equilibrium_near_the_guess() -> None:
    """More unknowns than conditions: what need not change does not."""
    s = tt.System("drone", gravity=[0, 0, -GRAVITY])
    body = tt.RigidBody("body", 2.0, inertia=[1.0, 2.0, 2.5], ports={"rotor": [0, 0, 0.2]})
    s.connect("world", body, tt.Free("base"))
    s.add_actuator(tt.Thruster("rotor", body.port("rotor"), max_thrust=30))
    model = s.resolve()
    q = model.configuration({"base": tt.Pose([1.0, 2.0, 3.0])})
    point = tt.trim(model, ["base", "rotor"], q=q)
    assert point.q == pytest.approx(q, abs=1e-14)
    assert point.u == pytest.approx([2 * GRAVITY])
    assert point.free == ("base.x", "base.y", "base.z", "base.rz")
    tilted = model.integrate(q, [0, 0, 0, 0.1, -0.2, 0.3])
    point = tt.trim(model, ["base.rx", "base.ry", "base.rz", "rotor"], q=tilted)
    assert pytest.approx([0, 0, 1], abs=ROUNDING) == model.pose("body", point.q)[0].T @ [0, 0, 1]
    # the smallest rotation that does it has no part about the thrust's axis, but for second order
    assert abs(model.difference(tilted, point.q)[5]) < 0.05
    with pytest.raises(tt.ConvergenceError, match="rotor at a bound"):
        tt.trim(model, ["rotor"], bounds={"rotor": (0, 10)})
    with pytest.raises(tt.ConvergenceError, match=r"base\.z"):
        tt.trim(model, ["base"])


class TestStraightEquations:
    """Of an unknown that may change by one in a step, or by more where the equations are straight so far."""

    def steps(self, residual: Any, slope: Any, straight: float | None) -> tuple[float, int]:
        met: list[float] = []

        def derivatives(x: Array) -> Array:
            met.append(float(x[0]))
            return np.array([[slope(x[0])]])

        free = np.array([-np.inf]), np.array([np.inf])
        longest = None if straight is None else np.array([straight])
        found = newton(lambda x: residual(x), derivatives, np.zeros(1), free, np.ones(1), 2000, straight=longest)
        return float(found[0]), len(met)

    @pytest.mark.parametrize(("straight", "most"), [(None, 1002), (100.0, 12), (np.inf, 2)])
    def test_take_long_steps(self, straight: float | None, most: int) -> None:
        found, steps = self.steps(lambda x: 2.0 * x - 2000.0, lambda x: 2.0, straight)
        assert found == pytest.approx(1000.0, rel=1e-12)
        assert most - 2 <= steps <= most

    def test_that_bend_take_short_ones(self) -> None:
        """Of arctan x - 1.2: a step to 1.2 leaves more than a quarter of it."""
        found = [self.steps(lambda x: np.arctan(x) - 1.2, lambda x: 1 / (1 + x**2), each) for each in (np.inf, None)]
        assert found[0] == found[1]
        assert found[0][0] == pytest.approx(np.tan(1.2), rel=1e-12)


def test_a_stiffness_far_from_its_guess() -> None:
    """Of a weightless spring that is turned by 0.5 rad, k = tau / 0.5 rad: the equations are straight, one step leads there."""
    s = tt.System("spring", gravity=[0, 0, 0])
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=30.0)
    s.connect("world", tt.RigidBody("arm", 1.0, inertia=[0.1, 0.5, 0.5]), hinge)
    found = tt.trim(s.resolve(), ["hinge.stiffness"], q=[0.5], tau=[6000.0], max_iterations=2)
    assert found.parameters["hinge.stiffness"] == pytest.approx(12000.0, rel=1e-9)


#: Of differences: rounding of values of size one over a step of 1e-5.
NOISE = 1e-10


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

    found = by_difference(residual, np.array([0.5, 2.0]), 0, (np.array([lower, -1.0]), np.array([upper, 3.0])))
    assert found == pytest.approx([4.0, -2.0], abs=NOISE * 1e-5 / min(1e-5, (upper - lower) / 4))
    assert lower <= min(met) <= max(met) <= upper


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 1.0), (0.5, 1.0), (-1.0, 0.5)])
def test_beside_what_cannot_be(lower: float, upper: float) -> None:
    x = np.array([0.5, 2.0])
    assert by_difference(lambda x: unsteady(x, lower, upper), x, 0) == pytest.approx([4.0, -2.0], abs=NOISE)
    assert by_difference(lambda x: unsteady(x, lower, upper), x, 1) == pytest.approx([0.0, 1.5], abs=NOISE)
    assert by_difference(lambda x: unsteady(x, 0.5, 0.5), x, 0).tolist() == [0.0, 0.0]


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
