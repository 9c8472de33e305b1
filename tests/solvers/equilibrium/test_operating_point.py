"""The stability of operating points."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY


@pytest.mark.parametrize("stiffness", [0.0, 1e3, 1e9, 1e12])
@pytest.mark.parametrize(("damping", "up", "down"), [(0.0, "unstable", "neutral"), (0.1, "unstable", "stable")])
def test_stability_beside_stiff_springs(stiffness: float, damping: float, up: str, down: str) -> None:
    """A pendulum, of 3 rad/s, keeps its stability beside oscillations of up to 3e7 rad/s."""
    s = tt.System("row", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0], damping=damping))
    if stiffness:
        rate = 1e-3 * np.sqrt(stiffness * 1e-3) * (damping > 0)  # a damping ratio of 5e-4
        spring = tt.Prismatic("spring", axis=[1, 0, 0], stiffness=stiffness, damping=rate)
        s.connect("world", tt.RigidBody("mass", 1e-3), spring)
    model = s.resolve()
    assert tt.trim(model).stability == down
    assert tt.trim(model, q={"hinge": 3.1}).stability == up
    s.connect("world", tt.RigidBody("sledge", 1.0), tt.Prismatic("track", axis=[1, 0, 0]))
    drifting = s.resolve()
    assert tt.trim(drifting).stability == "neutral"
    assert tt.trim(drifting, q={"hinge": 3.1}).stability == "unstable"


def test_rounding_between_states_that_do_not_act_on_each_other_is_no_matter() -> None:
    """Balancing scales what a spinning whip's rigid motions have to do with each other, 1e-20, by any power of two."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 60.0, inertia=[3.0, 3.2, 4.2], ports={"mount": [0.3, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    bending = {"bending_y": 1, "bending_z": 1}
    whip = tt.Rod("whip", 6.0, tt.Section.circle(0.004), young=4e10, density=1900.0, strains=bending)
    s.connect(hub.port("mount"), whip, tt.Weld("root"))
    model = s.resolve()
    for spin in (1.0, 2.0, 3.0):
        point = tt.trim(model, ["whip", "base.y.v"], v={"base.rz": spin})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert point.stability == "neutral"  # without damping, about the largest inertia


def test_defective_eigenvalues_beside_fast_ones_are_no_overflow() -> None:
    """Left and right eigenvectors of a drift are at right angles but for 1e-308: a norm of 1e20 over that is endless."""
    s = tt.System("drift", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    point = tt.trim(s.resolve())
    fast = 1e20
    matrix = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -fast, fast], [0.0, 0.0, -fast, -fast]])
    point.__dict__["_derivatives"] = matrix
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert point.stability == "neutral"


class Ripple(tt.Interaction):
    """The torque ``size sin(6 q)`` of a motor, which only disturbs."""

    port_counts, coordinate_counts = (0, 0), (1, 1)
    parameter_units: ClassVar = {"size": "N m", "ripple": "1"}
    disturbances = ("ripple",)

    def __init__(self, name: str, size: float) -> None:
        super().__init__(name)
        self.size, self.ripple = self.reader.scalar("size", size), 1.0

    def act(self, motion: tt.TargetMotion) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, 6)), np.array([self.ripple * self.size * np.sin(6 * motion.q[0])])

    def stored(self, motion: tt.TargetMotion) -> Any:
        return self.ripple * self.size / 6 * np.cos(6 * motion.q[0])


@pytest.mark.parametrize("wrong", [("ripples",), ("ripple", "size.x"), "ripple", (3,)])
def test_disturbances_that_are_no_parameters_are_refused(wrong: Any) -> None:
    s = tt.System("motor", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=0.5), tt.Revolute("shaft", damping=0.1))
    s.add_interaction(type("Misnamed", (Ripple,), {"disturbances": wrong})("ripple", 3.0), "shaft")
    with pytest.raises(tt.ModelError, match=r"ripple\.disturbances.*unknown-parameter"):
        s.resolve()


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_disturbances_of_ones_own_are_left_out(engine: str) -> None:
    s = tt.System("motor", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=0.5), tt.Revolute("shaft", damping=0.1))
    s.add_interaction(Ripple("ripple", 3.0), "shaft")
    m = s.resolve(engine=engine)
    point = tt.trim(m, ["shaft.damping"], v={"shaft": 10.0}, tau={"shaft": 2.0}, q={"shaft": 0.3})
    numbers = point.model.parameters()
    assert (numbers["shaft.damping"][0], numbers["ripple.ripple"][0]) == (pytest.approx(0.2), 1.0)
    ripple = 3.0 * np.sin(1.8) / 0.5
    assert point.model.forward_dynamics(point.q, point.v, point.tau) == pytest.approx([ripple])
    for at in (point, tt.OperatingPoint(point.model, point.q, point.v, point.tau)):
        assert np.abs(at.residual).max() < 1e-9  # the search's tolerance, of 2 N m over 0.5 kg m^2
        assert np.abs(tt.linearize(point.model, at).A - [[0.0, 1.0], [0.0, -0.4]]).max() < 1e-9
        assert at.stability == "neutral"
    by_q = point.model.forward_dynamics_derivatives(point.q, point.v, point.tau)[0]
    assert by_q[0, 0] == pytest.approx(18.0 * np.cos(1.8) / 0.5)
    assert tt.trim(m.undisturbed, ["shaft.tau"], v={"shaft": 10.0}).model is m.undisturbed
