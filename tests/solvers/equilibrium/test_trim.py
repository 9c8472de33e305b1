"""Equilibria against closed forms; what is none is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import titop as tt
from tests.closed_systems import bar
from tests.refusals import refusal
from tests.solvers.mechanism.test_inputs import satellite
from tests.systems import random_state, random_tree
from titop.solvers.equilibrium.equations import difference_slopes, equation_slopes
from titop.solvers.equilibrium.unknowns import Unknowns

#: Equations near 10 solved to rounding, times their condition.
ROUNDING = 1e-11

GRAVITY = 9.81


def swing(**passive: Any) -> tt.Model:
    """Return a pendulum of 2 kg and 1 m."""
    s = tt.System("swing", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0], **passive))
    return s.resolve()


def spinner(stiffness: float = 2.0, mass: float = 1.0, gravity: float = GRAVITY) -> tt.Model:
    """Return a shaft with two spring-hinged arms of 1 m, point masses at their ends."""
    s = tt.System("spinner", gravity=[0, 0, -gravity])
    hub = tt.RigidBody("hub", 1.0, inertia=[1, 1, 1])
    s.connect("world", hub, tt.Revolute("shaft", axis=[0, 0, 1]))
    for name, sign in (("right", -1), ("left", 1)):
        arm = tt.RigidBody(name, mass, com=[0, 0, -1])
        s.connect(hub, arm, tt.Revolute(f"{name}_hinge", axis=[0, sign, 0], stiffness=stiffness, damping=0.1))
    return s.resolve()


def opening(spin: float, stiffness: float = 2.0, mass: float = 1.0) -> float:
    """Return the angle of an arm: ``m w^2 sin cos = m g sin + k angle``."""
    return float(
        brentq(
            lambda x: mass * spin**2 * np.sin(x) * np.cos(x) - mass * GRAVITY * np.sin(x) - stiffness * x,
            0.05,
            1.57,
            xtol=1e-15,
        )
    )


HINGES = ["right_hinge", "left_hinge"]


@pytest.mark.parametrize("spin", [3.6, 4.0, 7.0, 30.0])
def test_arms_of_a_spinning_shaft(spin: float) -> None:
    point = tt.trim(spinner(), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": spin})
    assert point.q[1:] == pytest.approx([opening(spin)] * 2, abs=ROUNDING)
    assert np.abs(point.residual).max() < ROUNDING * spin**2
    assert point.drifting == ("shaft",)
    assert (point.rank, point.free, point.overdetermined) == (2, (), ("shaft",))
    assert point.stability == "neutral"  # the shaft's angle
    assert tt.trim(spinner(), HINGES, v={"shaft": spin}).stability == "unstable"  # arms closed


def test_the_rate_may_be_the_unknown() -> None:
    point = tt.trim(spinner(), ["shaft.v"], q=dict.fromkeys(HINGES, 0.7), v={"shaft": 1.0})
    expected = np.sqrt((GRAVITY * np.sin(0.7) + 2 * 0.7) / (np.sin(0.7) * np.cos(0.7)))
    assert point.v[0] == pytest.approx(expected, abs=ROUNDING)


def test_a_parameter_may_be_the_unknown() -> None:
    model = spinner()
    point = tt.trim(model, ["right_hinge.stiffness", "left_hinge.stiffness"], q=dict.fromkeys(HINGES, 0.7), v={"shaft": 5.0})
    expected = (25 * np.sin(0.7) * np.cos(0.7) - GRAVITY * np.sin(0.7)) / 0.7
    # derivatives by parameters come from differences, the equations do not
    assert list(point.parameters.values()) == pytest.approx([expected] * 2, abs=ROUNDING)
    assert point.model.parameters()["left_hinge.stiffness"][0] == point.parameters["left_hinge.stiffness"]


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


@pytest.mark.parametrize("seed", range(4))
def test_slopes_against_differences(seed: int) -> None:
    """Of every kind of unknown, at a random state of a random tree or of the satellite with its actuators."""
    rng = np.random.default_rng(seed)
    model = satellite().resolve() if seed == 0 else random_tree(rng, 4, passive=True, loads=True).resolve()
    q, v, _, tau = random_state(model, rng)
    names = list(model.coordinate_names)
    unknowns = [*names, *(f"{n}.v" for n in names), *(f"{n}.tau" for n in names), *model.input_names]
    unknowns += [name for name in model.parameters() if name.endswith("mass") and "wheel" not in name][:1]
    searched = Unknowns(tt.OperatingPoint(model, q, v, tau, np.ones(model.nu) if model.nu else None), unknowns)
    x = 0.1 * rng.normal(size=len(searched.entries))
    for moving in (False, True):
        found = equation_slopes(searched, x, moving)
        expected = difference_slopes(searched, x, True)[: len(found)]
        size = max(1.0, np.abs(expected).max())
        assert np.abs(found - expected).max() < 1e-6 * size  # central differences with a step of 1e-5


def test_along_a_parameter() -> None:
    points = tt.trim_along(spinner(), "shaft.v", [5.0, 3.6], HINGES, steps=14, q=dict.fromkeys(HINGES, 1.0), v={"shaft": 5.0})
    spins = [point.v[0] for point in points]
    assert spins == pytest.approx(np.linspace(5.0, 3.6, 15).tolist())
    assert [point.q[1] for point in points] == pytest.approx([opening(w) for w in spins], abs=ROUNDING)
    masses = tt.trim_along(spinner(), "left.mass", np.linspace(1, 3, 5), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": 5.0})
    assert [p.q[2] for p in masses] == pytest.approx([opening(5.0, mass=m) for m in np.linspace(1, 3, 5)], abs=ROUNDING)
    assert masses[-1].parameters == {"left.mass": 3.0}
    # one long step is corrected and, where that fails, divided
    far = tt.trim_along(spinner(), "shaft.v", [30.0, 3.6], HINGES, q=dict.fromkeys(HINGES, 1.5), v={"shaft": 30.0})
    assert far[-1].q[1] == pytest.approx(opening(3.6), abs=ROUNDING)


def test_a_branch_that_ends() -> None:
    """The largest torque that the pendulum can hold, 2 kg * 9.81 m/s^2 * 1 m, is 19.62 N m."""
    with pytest.raises(tt.ConvergenceError, match=r"end near hinge.tau = 19.6\d*, before 20:"):
        tt.trim_along(swing(), "hinge.tau", [0.0, 25.0], steps=10)


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


def test_bad_continuations_are_refused() -> None:
    model = swing()
    for arguments, code, text in (
        (("hing", [0, 1]), "unknown-unknown", "did you mean 'hinge'"),
        (("hinge.tau", []), "wrong-type", "np.linspace"),
        (("hinge.tau", [0, np.inf]), "wrong-type", "np.linspace"),
    ):
        with refusal(code, text):
            tt.trim_along(model, *arguments)
    with refusal("wrong-type", "1 or more"):
        tt.trim_along(model, "hinge.tau", [0, 1], steps=0)
    free = satellite().resolve()
    with refusal("not-scalar", "base.x"):
        tt.trim_along(free, "base", [0, 1])
    with refusal("no-number", "base.rx"):
        tt.trim_along(free, "base.rx", [0, 1])
    with refusal("no-number", "bounds"):
        tt.trim(free, ["base.rx"], bounds={"base.rx": (0, 1)})


def test_a_closed_loop_is_determined() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of the planar loop's redundant constraints
        model = tt.load(Path(__file__).parents[3] / "examples" / "models" / "four_bar.toml").resolve()
    guess = model.assemble(model.configuration({"drive": -1.5}), fixed=["drive"])
    point = tt.trim(model, q=guess)
    assert np.abs(model.closure_error(point.q)).max() < ROUNDING
    assert np.abs(point.residual).max() < ROUNDING  # the accelerations of a closed loop may be all rounding
    assert (point.rank, point.free, point.overdetermined) == (3, (), ())  # closures determine two, gravity one
    held = tt.trim(model, ["drive.tau"], q=guess)
    assert (held.rank, held.free, held.overdetermined) == (1, (), ())
    none = tt.trim(model, ["drive.tau", "pivot.tau"], q=guess)
    assert (none.rank, none.free) == (1, ("drive.tau", "pivot.tau"))
    with pytest.raises(tt.ConvergenceError, match=r"an opening of pin\.\S+, \S+, is left at drive"):
        tt.trim(model, q={"drive": -1.5})  # the loop far from closed


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


def test_a_resting_satellite_is_free_but_for_its_beams() -> None:
    """Six motions of the whole and two hinges without springs; deformations have stiffness, from 10 N/m to 1e10 N/m."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 100.0, inertia=[10, 12, 14], ports={"left": [1, 0, 0], "right": [-1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    for side in ("left", "right"):
        beam = tt.Beam(f"{side}_beam", 3.0, density=2700.0, area=1e-3, young=7e10, iy=1e-8, iz=1e-8)
        s.connect(hub.port(side), beam, tt.Revolute(f"{side}_hinge", axis=[1, 0, 0]))
    model = s.resolve()
    point = tt.trim(model)
    rigid = ("base.x", "base.y", "base.z", "base.rx", "base.ry", "base.rz", "left_hinge", "right_hinge")
    assert point.free == point.overdetermined == rigid
    assert point.rank == model.nv - len(rigid)


def test_soft_beside_stiff_is_determined() -> None:
    """A pendulum, 10 N m/rad, beside a spring of 1e12 N/m: both are determined, and a sledge without a spring is not."""
    s = tt.System("row", gravity=[0, 0, -GRAVITY])
    sledge, block = tt.RigidBody("sledge", 1.0), tt.RigidBody("block", 1.0)
    s.connect("world", sledge, tt.Prismatic("track", axis=[1, 0, 0]))
    s.connect(sledge, block, tt.Prismatic("spring", axis=[1, 0, 0], stiffness=1e12))
    s.connect(block, tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    point = tt.trim(s.resolve())
    assert (point.rank, point.free, point.overdetermined) == (2, ("track",), ("track",))


@pytest.mark.parametrize("iterations", [0, -3, 2.5, True, "many"])
def test_iterations_are_counted(iterations: Any) -> None:
    with refusal("wrong-type", "max_iterations"):
        tt.trim(swing(), max_iterations=iterations)


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
