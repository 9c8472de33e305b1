"""Equilibria against closed forms; what is none is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bar
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import GRAVITY, HINGES, ROUNDING, opening, spinner, swing


@pytest.mark.parametrize("spin", [3.6, 4.0, 7.0, 30.0])
def test_arms_of_a_spinning_shaft(spin: float) -> None:
    point = tt.trim(spinner(), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": spin})
    assert point.q[1:] == pytest.approx([opening(spin)] * 2, abs=ROUNDING)
    assert np.abs(point.residual).max() < ROUNDING * spin**2
    assert point.drifting == ("shaft",)
    assert (point.rank, point.free, point.overdetermined) == (2, (), ("shaft",))
    assert point.stability == "neutral"  # the shaft's angle
    assert tt.trim(spinner(), HINGES, v={"shaft": spin}).stability == "unstable"  # arms closed


def test_efforts_and_upright_pendulums() -> None:
    model = swing()
    held = tt.trim(model, ["hinge.tau"], q={"hinge": 0.5})
    assert held.tau[0] == pytest.approx(2 * GRAVITY * np.sin(0.5), abs=ROUNDING)
    upright = tt.trim(model, q={"hinge": 3.0})
    assert upright.q[0] == pytest.approx(np.pi, abs=ROUNDING)
    assert upright.eigenvalues.real == pytest.approx([np.sqrt(GRAVITY), -np.sqrt(GRAVITY)], abs=1e-8)
    assert upright.stability == "unstable"
    assert tt.trim(swing(damping=0.1)).stability == "stable"
    assert "hinge = 3.14159" in str(upright)


def test_a_steady_turn() -> None:
    """A flying body that banks: thrust along its z and a side force balance gravity and the centripetal acceleration.

    Level turn with speed 20 m/s along body x at 0.3 rad/s about the vertical: bank angle atan(v w / g), and body rates that are
    the vertical turn in body axes.
    """
    s = tt.System("glider", gravity=[0, 0, -GRAVITY])
    body = tt.RigidBody("body", 3.0, inertia=[1.0, 2.0, 2.5])
    s.connect("world", body, tt.Free("base"))
    s.add_actuator(tt.Force("lift", body))
    s.add_actuator(tt.Torque("control", body))
    model = s.resolve()
    unknowns = ["base.rx", "base.ry.v", "base.rz.v", "lift.z", "control"]
    speed, rate = 20.0, 0.3
    bank = np.arctan(speed * rate / GRAVITY)
    guess = {"base.x": speed, "base.ry": 0.1, "base.rz": 0.2}
    point = tt.trim(model, unknowns[:2] + unknowns[3:], v={**guess, "base.rz": rate * np.cos(bank)}, u={"lift.z": 30.0})
    assert abs(point.v[4]) == pytest.approx(rate * np.sin(bank), abs=1e-9)
    assert point.u[2] == pytest.approx(3 * GRAVITY / np.cos(bank), abs=1e-8)
    assert model.pose("body", point.q)[0] @ point.v[3:] == pytest.approx([0, 0, rate], abs=1e-9)
    assert point.drifting == ("base.x", "base.ry", "base.rz")
    wrong = point.v + np.eye(6)[3] * 0.01  # with a roll rate it does not last
    with pytest.raises(tt.ConvergenceError):
        tt.trim(model, [], q=point.q, v=wrong, u=point.u)
    lasting = tt.simulate(model, [0, 5.0], point.q, point.v, u=point.u)
    assert lasting.v[-1] == pytest.approx(point.v, abs=1e-6)  # the integrator's tolerance of 1e-8 on 20 m/s over 5 s


def test_uniform_motion_and_drift() -> None:
    s = tt.System("sledge", gravity=[0, 0, -GRAVITY])
    sledge = tt.RigidBody("sledge", 1.0)
    s.connect("world", sledge, tt.Prismatic("track", axis=[1, 0, 0], damping=2.0))
    s.connect(sledge, tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    model = s.resolve()
    point = tt.trim(model, ["hinge", "track.tau"], q={"hinge": 0.1}, v={"track": 3.0})
    assert point.tau[0] == pytest.approx(6.0, abs=ROUNDING)
    assert point.q[1] == pytest.approx(0.0, abs=ROUNDING)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"unknowns": ["hinge.v"], "q": {"hinge": 0.5}}, "hinge"),
        ({"unknowns": ["hinge"], "v": {"hinge": 1.0}}, "hinge while it moves"),
        ({"unknowns": ["hinge"], "q": {"hinge": 0.5}, "bounds": {"hinge": (0.3, 1.0)}}, "hinge at a bound"),
        ({"unknowns": [], "q": {"hinge": 0.5}}, "the given point"),
        ({"unknowns": ["hinge"], "tau": {"hinge": 20.0}}, "acceleration"),
    ],
)
def test_what_is_no_equilibrium_is_not_called_one(arguments: dict[str, Any], where: str) -> None:
    with pytest.raises(tt.ConvergenceError, match=where):
        tt.trim(swing(), **arguments)


def test_accelerations_that_vanish_in_passing() -> None:
    """To first order along the motion too: a cubic spring of a block of one's own."""

    class Cubic(tt.Block):
        coordinates, ports = ("x",), ("C",)

        def pose(self, port: str, q: Any) -> Any:
            return np.eye(3) + 0 * q[0], np.array([q[0], 0 * q[0], 0 * q[0]])

        def elastic_energy(self, q: Any) -> Any:
            return q[0] ** 4

    s = tt.System("cubic", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), Cubic("spring"))
    with pytest.raises(tt.ConvergenceError, match="not while the system moves"):
        tt.trim(s.resolve(), [], v={"spring.x": 1.0})


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"unknowns": ["hing"]}, "unknown-unknown", "did you mean 'hinge'"),
        ({"unknowns": ["hinge.x"]}, "unknown-unknown", "hinge"),
        ({"unknowns": ["bob.mas"]}, "unknown-unknown", "did you mean 'bob.mass'"),
        ({"unknowns": ["hinge", "hinge.q"]}, "duplicate-unknown", "hinge"),
        ({"unknowns": 3}, "wrong-type", "list of names"),
        ({"bounds": {"hing": (0, 1)}}, "unknown-bound", "did you mean 'hinge'"),
        ({"bounds": {"hinge": (1, 0)}}, "bad-bounds", "lower, upper"),
        ({"bounds": {"hinge": (np.nan, 0)}}, "bad-bounds", "hinge"),
        ({"bounds": {"hinge": 1}}, "bad-bounds", "hinge"),
        ({"bounds": 3}, "wrong-type", "bounds"),
        ({"q": {"hing": 1}}, "unknown-coordinate", "did you mean 'hinge'"),
        ({"q": [np.nan]}, "not-finite", "hinge"),
        ({"v": [0.0, 1.0]}, "wrong-length", "hinge"),
        ({"u": {"motor": 1.0}}, "unknown-input", "motor"),
        ({"wrenches": {"bo": np.zeros(6)}}, "unknown-port", "did you mean 'bob'"),
        ({"parameters": {"bob.mas": 1.0}}, "unknown-parameter", "did you mean 'bob.mass'"),
        ({"parameters": {"bob.mass": -1.0}}, "negative-mass", "bob.mass"),
        ({"tolerance": 0}, "bad-tolerance", "1e-9"),
        ({"model": "swing"}, "wrong-type", "resolve"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], code: str, text: str) -> None:
    with refusal(code, text):
        tt.trim(**{"model": swing(), **arguments})


def parallel_pendulum() -> tt.Model:
    """Return a bar on two parallel cranks of 1 m: all its joints turn at one rate, and it stays closed at constant rates."""
    s = tt.System("swing", gravity=[0, 0, -GRAVITY])
    s.world.add_port("ground", [1, 0, -1])
    hinged = {"axis": [0, 1, 0]}
    left, right = (tt.RigidBody(name, 0.5, com=[0, 0, -0.5], ports={"end": [0, 0, -1]}) for name in ("left", "right"))
    deck = tt.RigidBody("deck", 2.0, com=[0.5, 0, -0.5], ports={"end": [1, 0, -1]})
    s.connect("world", left, tt.Revolute("hinge", **hinged))
    s.connect(left.port("end"), deck, tt.Revolute("knee", **hinged))
    s.connect(s.world.port("ground"), right, tt.Revolute("second", **hinged))
    s.close_loop(deck.port("end"), right.port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, [0, 2]]))
    return s.resolve()


def geared_pendulum(moment: float = 1.0) -> tt.Model:
    """Return a pendulum whose hinge drives a wheel; without its moment arm it is a wheel itself."""
    s = tt.System("geared", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("bob", 1.0, [0, 0, -moment], [0.1, 0.1, 0.1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect("world", tt.RigidBody("disc", 0.1, inertia=[0.1, 0.1, 0.1]), tt.Revolute("wheel", axis=[0, 1, 0]))
    s.add_gear(tt.Gear("pair", driver="hinge", driven="wheel", ratio=2.0))
    return s.resolve()


@pytest.mark.parametrize(
    ("make", "q", "v"),
    [
        (geared_pendulum, {"hinge": np.pi / 2, "wheel": np.pi}, {"hinge": 1.0, "wheel": 2.0}),
        (
            parallel_pendulum,
            {"hinge": np.pi / 2, "knee": -np.pi / 2, "second": np.pi / 2},
            {"hinge": 1.0, "knee": -1.0, "second": 1.0},
        ),
    ],
    ids=["gear", "closure"],
)
def test_constrained_systems_that_pass_an_equilibrium(make: Any, q: Any, v: Any) -> None:
    """At its horizontal a pendulum held by a torque is not accelerated, nor to first order while it moves."""
    model = make()
    resting = tt.trim(model, ["hinge.tau"], q=q)
    assert abs(resting.tau[0]) > 1.0
    with pytest.raises(tt.ConvergenceError, match="not while the system moves"):
        tt.trim(model, ["hinge.tau"], q=q, v=v)


def test_constrained_systems_that_move_steadily() -> None:
    """Wheels in mesh go on turning; so does a closed loop on a turntable, whose own joints are at rest."""
    wheels = tt.trim(geared_pendulum(0.0), [], v={"hinge": 1.0, "wheel": 2.0})
    assert wheels.drifting == ("hinge", "wheel")
    s = tt.System("turntable", gravity=[0, 0, 0])
    table = tt.RigidBody("table", 5.0, inertia=[1.0, 1.0, 1.0], ports={"one": [1, 0, 0], "two": [2, 0, 0]})
    s.connect("world", table, tt.Revolute("shaft", axis=[0, 0, 1]))
    parent = table.port("one")
    for name, length in (("crank", 0.3), ("coupler", 0.9), ("rocker", 0.7)):
        link = bar(name, length, 1.0)
        s.connect(parent, link, tt.Revolute(f"at_{name}"))
        parent = link.port("end")
    s.close_loop(table.port("two"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    model = s.resolve()
    joints = ["at_crank", "at_coupler", "at_rocker"]
    guess = model.assemble([0.0, 0.3, 0.5, -1.5])
    point = tt.trim(model, joints, q=guess, v={"shaft": 3.0})
    assert point.drifting == ("shaft",)
    with pytest.raises(tt.ConvergenceError):  # with rates that hold for an instant only
        tt.trim(model, [f"{name}.tau" for name in joints], q=guess, v=model.assemble_velocity(guess, [3.0, 1.0, 0, 0]))


@pytest.mark.parametrize("iterations", [0, -3, 2.5, True, "many"])
def test_iterations_are_counted(iterations: Any) -> None:
    with refusal("wrong-type", "max_iterations"):
        tt.trim(swing(), max_iterations=iterations)


@pytest.mark.parametrize("axis", [[0, 0, 1], [1.0, 2.0, 0.3]], ids=str)
@pytest.mark.parametrize("rate", [1.0, 628.0])
class TestFastWheels:
    """Nothing depends on how fast a wheel turns: what is accelerated beside it is no equilibrium, what is not is one."""

    def satellite(self, axis: list[float]) -> tt.Model:
        s = tt.System("satellite", gravity=[0, 0, 0])
        s.connect("world", tt.RigidBody("hub", 500.0, inertia=[300, 250, 220]), joint=tt.Free("base"))
        s.add_actuator(tt.ReactionWheel("wheel", s["hub"], axis, 0.1, mass=5.0))
        return s.resolve()

    @pytest.mark.parametrize("torque", [1e-2, 1e-6])
    def test_excuse_no_torque(self, axis: list[float], rate: float, torque: float) -> None:
        with pytest.raises(tt.ConvergenceError, match=r"an acceleration of base\.rz, "):
            tt.trim(self.satellite(axis), v={"wheel": rate}, wrenches={"hub": [0, 0, 0, 0, 0, torque]})

    def test_let_the_satellite_rest(self, axis: list[float], rate: float) -> None:
        assert tt.trim(self.satellite(axis), v={"wheel": rate}).drifting == ("wheel",)


def test_fast_wheels_on_a_light_hinge() -> None:
    """Weight is balanced by a spring, k q = m g l cos(q), whatever the two wheels' rates, which their rounding grows with."""
    for rates in ((10.0, 1e4), (1e5, 3.0)):
        s = tt.System("arm", gravity=[0, 0, -GRAVITY])
        hub = tt.RigidBody("hub", 2.0, com=[0.1, 0, 0], inertia=[0.03, 0.025, 0.03])
        s.connect("world", hub, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=3.0))
        for name, axis in zip("ab", ([1, 2, 3], [0.3, -0.1, 0.2]), strict=True):
            s.add_actuator(tt.ReactionWheel(name, hub, axis, 0.1, mass=5.0))
        found = tt.trim(s.resolve(), ["hinge"], v=dict(zip("ab", rates, strict=True))).q[0]
        weight = 3.0 * found / (GRAVITY * np.cos(found))  # the wheels stand at the hub's origin
        gyroscopic = 0.1 * max(rates) ** 2  # N m, of terms that cancel to nothing
        assert weight == pytest.approx(2.0 * 0.1, abs=8 * np.finfo(float).eps * gyroscopic / GRAVITY)


def test_the_shape_under_thrust_is_that_of_rest_in_the_field_that_it_takes_away() -> None:
    """Each mode deflects by ``-L a / omega^2`` with ``a = F / M``; there, without gravity, all accelerates alike."""
    thrust, hub_mass, panel_mass, omega, L = 25.0, 200.0, 15.0, 1.5, 3.0
    hub = tt.RigidBody("hub", hub_mass, inertia=80.0, ports={"left": [0, 0.9, 0], "right": [0, -0.9, 0], "engine": [0, 0, -1]})
    s = tt.System("burn", gravity=[0, 0, 0])
    s.connect("world", hub, tt.Free("base"))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        panel = tt.FlexibleBody(
            f"{side}_panel", panel_mass, [0, sign, 0], [20, 5, 25], [omega], [[0, 0, L, sign * 5.0, 0, 0]], damping_ratios=0.01
        )
        s.connect(hub.port(side), panel, tt.Weld(f"{side}_root"))
    s.add_actuator(tt.Thruster("apogee", hub.port("engine"), direction=[0, 0, 1], max_thrust=thrust))
    m = s.resolve("reference")
    shape = [name for name in m.coordinate_names if not name.startswith("base")]
    point = tt.trim(m, [*shape, "gravity.z"], u={"apogee": thrust})
    acceleration = thrust / (hub_mass + 2 * panel_mass)
    assert point.parameters["gravity.z"] == pytest.approx(-acceleration, rel=1e-9)
    assert point.q[7:] == pytest.approx([-L * acceleration / omega**2] * 2, rel=1e-9)
    fall = m.forward_dynamics(point.q, np.zeros(m.nv), None, u=[thrust])  # without the field
    assert fall == pytest.approx([0, 0, acceleration, *[0] * 5], abs=1e-12)
    undeformed = m.forward_dynamics(m.neutral(), np.zeros(m.nv), None, u=[thrust])
    assert np.abs(undeformed[6:]).min() > 0.1  # the test can fail: there the panels start to swing
