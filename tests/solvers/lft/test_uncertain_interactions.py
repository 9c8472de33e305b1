"""Interactions, closures and gears whose motion or inputs are uncertain: exact, or refused by name; reactions beside them."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.test_joining import EXACT, four_bar


def finger(tension: float) -> tuple[tt.Model, tt.OperatingPoint]:
    """Return a soft rod on a hinge, bent by a tendon and its weight."""
    s = tt.System("finger", gravity=[0, 0, -9.81])
    rod = tt.Rod("rod", 0.5, tt.Section.circle(0.01), young=2e5, density=1000.0, poisson=0.4, damping=1e3, basis=2)
    s.connect("world", rod, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=5.0, damping=0.1))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.008))
    m = s.resolve()
    return m, tt.trim(m, u=[tension])


@pytest.mark.parametrize("name", ["hinge.stiffness", "rod.density", "flexor.tension.gain"])
def test_a_tendons_tension(name: str) -> None:
    """What it does as an input, and the stiffness that it has at the point."""
    m, point = finger(0.3)
    model = tt.lft(m, point, {name: tt.percent(10)}, ["flexor", "hinge"], ["hinge.q", "rod.tip.v", "flexor.length"])
    assert model.check(3) < EXACT
    without = tt.linearize(m, m.neutral(), ["flexor", "hinge"], ["hinge.q"])
    assert np.abs(model.nominal(1j)[0] - without(1j)).max() > 1e-3 * np.abs(without(1j)).max()


def test_reactions_beside_closures() -> None:
    m, point = four_bar()
    model = tt.lft(m, point, {"b.mass": tt.percent(20), "spring.stiffness": tt.percent(30)}, ["j1", "c.E.F"], ["j2.reaction"])
    assert model.check(4) < EXACT


def test_rates_beside_closures_are_refused() -> None:
    m, point = four_bar()
    with pytest.raises(tt.ModelError, match=r"j1\.v.*moved-closure"):
        tt.lft(m, point, {"j1.v": (-0.1, 0.2)}, ["j1"], ["j2.q"])


@pytest.mark.parametrize("name", ["hinge.v", "hinge.q"])
def test_what_moves_a_damper_is_refused(name: str) -> None:
    """A damper's stiffness depends on how fast it turns; below it, nothing changes."""
    s = tt.System("door", gravity=[0, 0, 0])
    leaf = tt.RigidBody("leaf", 2.0, [0.4, 0, 0], [0.1, 0.2, 0.2], ports={"E": [0.8, 0, 0.1]})
    s.world.add_port("G", [0.6, 0.5, 0.2])
    s.connect("world", leaf, tt.Revolute("hinge", axis=[0, 0, 1], stiffness=20.0))
    s.connect(
        leaf.port("E"), tt.RigidBody("flap", 0.5, [0, 0.1, 0], [0.01, 0.01, 0.01]), tt.Revolute("flap_hinge", stiffness=3.0)
    )
    s.close_loop(s.world.port("G"), leaf.port("E"), tt.SpringDamper("closer", 10.0, 2.0, 0.3))
    m = s.resolve()
    with pytest.raises(tt.ModelError, match=rf"{name}.*closer.*moved-closure"):
        tt.lft(m, m.neutral(), {name: (-0.1, 0.2)}, ["hinge"], ["hinge.q"])
    still = (m.neutral(), np.zeros(2), m.inverse_dynamics(m.neutral(), np.zeros(2), np.zeros(2)))
    model = tt.lft(m, still, {name.replace("hinge", "flap_hinge"): (-0.1, 0.2)}, ["hinge"], ["hinge.q", "flap_hinge.v"])
    assert model.check(3) < EXACT


def test_coordinates_of_gears_are_refused() -> None:
    """The other one would have to move as well."""
    s = tt.System("pair", gravity=[0, 0, -9.81])
    for k in range(2):
        joint = tt.Revolute(f"j{k}", axis=[0, 1, 0], stiffness=20.0)
        s.connect("world", tt.RigidBody(f"b{k}", 1.0, [0.3, 0, 0], [0.1, 0.1, 0.1]), joint)
    s.add_gear(tt.Gear("gear", "j0", "j1", ratio=-0.5))
    m = s.resolve()
    q, v = np.array([0.2, -0.1]), np.zeros(2)
    with pytest.raises(tt.ModelError, match=r"j1\.q.*gear.*moved-closure"):
        tt.lft(m, (q, v, m.inverse_dynamics(q, v, v)), {"j1.q": (-0.2, 0.1)}, ["j0"], ["j0.q"])


def geared() -> tuple[tt.Model, tt.OperatingPoint]:
    """Return two hinges in gear, one of them with a motor, held against their weight."""
    s = tt.System("pair", gravity=[0, 0, -9.81])
    for k in range(2):
        joint = tt.Revolute(f"j{k}", axis=[0, 1, 0], stiffness=20.0)
        s.connect("world", tt.RigidBody(f"b{k}", 1.0, [0.3, 0, 0.1 * k], [0.1, 0.1, 0.1]), joint)
    s.add_gear(tt.Gear("gear", "j0", "j1", ratio=-0.5))
    s.add_actuator(tt.Motor("motor", "j0", gear=3.0, rotor_inertia=0.01))
    m = s.resolve()
    still, u = np.zeros(2), np.array([0.7])
    tau = m.inverse_dynamics(still, still, still, actuated=["j0"])
    return m, tt.OperatingPoint(m, still, still, tau - np.array([2.1, 0.0]), u)


@pytest.mark.parametrize("name", ["gear.ratio", "motor.gear"])
def test_what_gears_and_motors_carry(name: str) -> None:
    """Efforts hold members of other ratios at the point, against what the gear and the motor do there."""
    m, point = geared()
    value = m.parameters()[name][0]
    ends = sorted((0.8 * value, 1.3 * value))
    model = tt.lft(m, point, {name: (ends[0], ends[1])}, ["motor", "j1"], ["j0.q", "j1.a", "j1.reaction"])
    assert model.check(3) < EXACT
    member = model.operating_point({name: 1.2 * value})
    assert np.abs(member.residual).max() < 1e-9  # rad/s^2, beside ten of the weight


def test_an_interaction_that_loses_imaginary_parts() -> None:
    """Its derivatives are differences then, as those of linear models are."""

    class Magnet(tt.Interaction):
        def wrenches(self, R, r, V1, V2):
            f = 3.0 * r * np.linalg.norm(r)
            return np.concatenate([f, 0 * f]), np.concatenate([-R.T @ f, 0 * f])

    s = tt.System("magnet", gravity=[0, 0, -9.81])
    puck = tt.RigidBody("puck", 2.0, com=[0, 0.1, 0.3], inertia=0.5, ports={"edge": [0, 0.2, 0.6]})
    s.connect("world", tt.RigidBody("ground", 1.0), tt.Weld("glue"), placement=tt.Pose([0.1, 0.5, 0.2]))
    s.connect("world", puck, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.close_loop(s["ground"], puck.port("edge"), Magnet("magnet"))
    m, q = s.resolve(), np.array([0.3])
    point = tt.OperatingPoint(m, q, tau=m.inverse_dynamics(q, 0 * q, 0 * q))
    model = tt.lft(m, point, {"puck.mass": tt.percent(20)}, ["hinge"], ["hinge.q"])
    step = 1e-4  # of differences of the accelerations: errors of 1e-8
    around = [m.forward_dynamics(q + side * step, 0 * q, point.tau)[0] for side in (1, -1)]
    assert model.at({}).A[1, 0] == pytest.approx((around[0] - around[1]) / (2 * step), rel=1e-6)
    assert model.check(3) < 1e-8  # two ways of differences


def test_functions_of_the_state_are_asked_at_the_point() -> None:
    """As outputs: here one that has no value where the configuration is zero."""
    m, point = four_bar()
    outputs = ["j1.q", ("inverse", lambda q, v, a, u: 1 / q[0])]
    model = tt.lft(m, point, {"b.mass": tt.percent(20)}, ["j1"], outputs)
    assert model.at({}).C[1] == pytest.approx(-model.at({}).C[0] / point[0][0] ** 2, rel=1e-8)  # differences
    assert model.check(3) < 1e-8


@pytest.mark.parametrize("name", ["load.scale", "load.force.z", "rod.density"])
def test_loads_in_inertial_axes_along_a_turned_rod(name: str) -> None:
    """Linear in what they push with; a column of the rod's turning about the load is zero but for last digits."""
    s = tt.System("turned", gravity=[0, 0, -9.81])
    hub, rod = tt.RigidBody("hub", 2.0, inertia=0.2), tt.Rod("rod", 0.5, tt.Section.circle(0.02), 1e6, 1000.0)
    s.connect("world", hub, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(hub, rod, tt.Weld("weld"))
    s.add_interaction(tt.DistributedLoad("load", rod, force=[0, 0, 1.0], frame="world"))
    m = s.resolve()
    model = tt.lft(m, np.full(m.nq, 0.3), {name: tt.percent(20)}, ["hinge"], ["hinge.q"])
    assert model.check(4) < EXACT
    assert pytest.approx(model.nominal.A, rel=1e-3) != model.at({name: 1.2 * model.blocks[0].nominal}).A
