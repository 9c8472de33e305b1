"""What may be left of accelerations where terms balance, what spins, and along what motions linear models change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.flexible import Cloud, random_body
from tests.systems import random_state, random_tree
from titop.solvers.equilibrium.linear_validity import excess, ratios, steadiness_findings


def rotor(across: float) -> tt.Model:
    """Return a rotor in a sprung nacelle; its moments of inertia across its axis are `across` and 0.02 kg m^2."""
    s = tt.System("rotor", gravity=[0, 0, 0])
    nacelle = tt.RigidBody("nacelle", 1.0, inertia=[0.01, 0.01, 0.01])
    s.connect("world", nacelle, tt.Revolute("tilt", axis=[1, 0, 0], stiffness=1.0, damping=0.002))
    s.connect(nacelle, tt.RigidBody("blades", 0.2, inertia=[across, 0.02, 0.021]), tt.Revolute("spin", axis=[0, 0, 1]))
    return s.resolve()


def spinning(across: float) -> tt.OperatingPoint:
    return tt.trim(rotor(across), [], q={"spin": 0.3}, v={"spin": 20.0})


USES: list[Callable[[tt.OperatingPoint], object]] = [
    lambda p: p.stability,
    lambda p: tt.linearize(p.model, p),
    lambda p: tt.lft(p.model, p, {"tilt.stiffness": tt.percent(10)}, ["tilt"], ["tilt.q"]),
    lambda p: tt.lpv(
        p.model, {"tilt.stiffness": [1.0, 1.2]}, inputs=["tilt"], outputs=["tilt.q"], unknowns=[], q=p.q, v=p.v, progress=False
    ),
]


@pytest.mark.parametrize("use", USES, ids=["stability", "linearize", "lft", "lpv"])
def test_unsymmetric_rotors_give_a_warning_and_symmetric_ones_none(use: Callable[[tt.OperatingPoint], object]) -> None:
    with pytest.warns(tt.ModelWarning, match="time-varying"):
        use(spinning(0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error", tt.ModelWarning)
        use(spinning(0.02))


def test_the_change_is_that_of_the_matrices() -> None:
    """A radian's change at the point, by differences to both sides; that to one side of 0.01 rad is told, to two digits."""
    (finding,) = steadiness_findings(spinning(0.01))
    found = float(str(finding).split("by ")[1].split(" of")[0])
    p = spinning(0.01)
    before, at, after = (
        tt.linear_matrices(p.model, (p.model.integrate(p.q, [0.0, angle]), p.v, p.tau))[0][2:] * [1.0, 1.0, 20.0, 20.0]
        for angle in (-1e-3, 0.0, 1e-3)
    )
    rows = np.abs(at).max(axis=1)
    noticed = np.maximum(rows, 1e-4 * rows.max())[:, None]
    assert found == pytest.approx(np.abs((after - before) / 2e-3 / noticed).max(), rel=0.05)


@pytest.mark.parametrize("v", [{"base.rz": 0.5, "base.z": 2.0}, {"wheel": 300.0}])
def test_satellites_that_drift_and_spin_are_steady(v: dict[str, float]) -> None:
    """In axes that turn with it a spinning satellite stays as it is, whatever its shape; a symmetric wheel too."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 50.0, inertia=[4.0, 5.0, 6.0]), tt.Free("base"))
    s.connect(s["hub"], tt.RigidBody("rotor", 1.0, inertia=[0.01, 0.01, 0.02]), tt.Revolute("wheel", axis=[0, 0, 1]))
    m = s.resolve()
    point = tt.OperatingPoint(m, m.neutral(), m.velocity(v))
    assert np.abs(point.residual).max() < 1e-12
    assert not [*steadiness_findings(point)]


def test_motions_that_are_not_steady_are_others_concern() -> None:
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1.0]), tt.Revolute("hinge", axis=[0, 1, 0]))
    m = s.resolve()
    assert not [*steadiness_findings(tt.OperatingPoint(m, [0.0], [1.0]))]


def test_loops_are_judged_by_their_independent_coordinates() -> None:
    """A parallelogram that turns: its arms change against each other, its linear model does not."""
    s = tt.System("parallelogram", gravity=[0, 0, 0])
    s.world.add_port("far", [1.0, 0, 0])
    left, right = (tt.RigidBody(name, 1.0, inertia=[0.1, 0.1, 0.1], ports={"end": [0, 0.3, 0]}) for name in ("left", "right"))
    bar = tt.RigidBody("bar", 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"end": [1.0, 0, 0]})
    s.connect("world", left, tt.Revolute("q1"))
    s.connect(left.port("end"), bar, tt.Revolute("q2"))
    s.connect(s.world.port("far"), right, tt.Revolute("q3"))
    s.close_loop(bar.port("end"), right.port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    m = s.resolve()
    q = m.assemble([0.7, -0.7, 0.7])
    assert not [*steadiness_findings(tt.OperatingPoint(m, q, m.assemble_velocity(q, [3.0, -3.0, 3.0])))]


@pytest.mark.parametrize("wheel", [0.0, 600.0])
def test_fast_wheels_do_not_hide_slow_rotors(wheel: float) -> None:
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 50.0, inertia=[4.0, 5.0, 6.0]), tt.Free("base"))
    s.connect(s["hub"], tt.RigidBody("rotor", 1.0, inertia=[0.005, 0.005, 0.01]), tt.Revolute("wheel", axis=[0, 0, 1]))
    s.connect(s["hub"], tt.RigidBody("payload", 5.0, inertia=[0.5, 1.5, 1.5]), tt.Revolute("scan", axis=[0, 0, 1]))
    m = s.resolve()
    (finding,) = steadiness_findings(tt.OperatingPoint(m, m.neutral(), m.velocity({"wheel": wheel, "scan": 1.0})))
    assert finding.code == "time-varying"


@pytest.mark.parametrize("rate", [1e-300, 1e-16, 1e-9])
def test_what_hardly_moves_stands_still(rate: float) -> None:
    model = rotor(0.01)
    assert not [*steadiness_findings(tt.OperatingPoint(model, model.neutral(), [0.0, rate]))]


def test_modes_that_move_alone() -> None:
    s = tt.System("boom", gravity=[0, 0, 0])
    s.connect("world", tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4), tt.Weld("root"))
    m = s.resolve()
    assert not [*steadiness_findings(tt.OperatingPoint(m, m.neutral(), np.ones(m.nv)))]


def test_terms_count_without_their_signs() -> None:
    """A point of 2 kg at 0.5 m, nearly held by a torque: it leaves 1e-3 of what weight and torque do, each 20 rad/s^2."""
    s = tt.System("swing", gravity=[0, 0, -10.0])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -0.5]), tt.Revolute("hinge", axis=[1, 0, 0]))
    m = s.resolve()
    point = tt.OperatingPoint(m, [np.pi / 2], tau=[10.0 * (1 - 1e-3)])
    falling = 10.0 / m.mechanism.scale.length
    alone = 20.0 * (1 - 1e-3) + 20.0 + falling
    found = excess(point, point.residual, np.zeros(1))
    np.testing.assert_allclose(found, [[20e-3 / (1e-6 * alone)], [0.0]], rtol=1e-10)  # the residual cancels three digits
    assert abs(point.residual[0]) == pytest.approx(20e-3, rel=1e-12)


def test_every_motion_counts_alone_and_derivatives_may_be_known() -> None:
    rng = np.random.default_rng(2)
    m = random_tree(rng, 6).resolve()
    q, v, a = random_state(m, rng)[:3]
    v[0] = 0.0
    point = tt.OperatingPoint(m, q, v)
    by_state, by_effort = (matrix[m.nv :] for matrix in point.state_matrices[1:])
    found = excess(point, a, a)
    np.testing.assert_array_equal(excess(point, a, a, (by_state, by_effort)), found)
    weight, efforts = m.gravity_effects(q), [m.passive_efforts(q, v)]
    efforts += [weight, m.nonlinear_effects(q, v) - weight]
    for k in range(m.nv):
        one = np.zeros(m.nv)
        one[k] = v[k]
        efforts.append(m.nonlinear_effects(q, one) - weight)
    alone = np.abs(by_effort) @ np.abs(efforts).sum(axis=0)
    assert (np.abs(a) > found[0] * 1e-6 * alone).all()  # there is more that excuses accelerations
    assert (found[0] > 1).all()


@pytest.mark.parametrize(("rate", "excused"), [(1e-20, True), (1e-9, True), (1e-6, False)])
def test_rates_as_small_as_errors_are_none(rate: float, excused: bool) -> None:
    """A spring at rest that moves by a rate over its own, 10 rad/s: its acceleration changes by -100 times that."""
    s = tt.System("spring", gravity=[0, 0, 0])
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0, rest=0.5)
    s.connect("world", tt.RigidBody("arm", 1.0, inertia=[0.1, 0.5, 0.5]), hinge)
    point = tt.OperatingPoint(s.resolve(), [0.5], [rate])
    found = excess(point, point.residual, np.array([-100.0 * rate]))
    assert found[0] == 0.0
    assert (found[1, 0] < 1.0) == excused


@pytest.mark.parametrize("torque", [1e-3, 1e-8])
def test_translations_excuse_no_torque(torque: float) -> None:
    """As fast as in orbit: nothing turns, so that nothing is pushed."""
    s = tt.System("cube", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 1.0, inertia=1.5e-3 * np.ones(3)), tt.Free("base"))
    m = s.resolve()
    flying, wrenches = {"base.x": 7.5e3}, {"hub": [0, 0, 0, 0, 0, torque]}
    assert tt.trim(m, v=flying).drifting == ("base.x",)
    with pytest.raises(tt.ConvergenceError, match=r"an acceleration of base\.rz"):
        tt.trim(m, v=flying, wrenches=wrenches)
    with pytest.warns(tt.ModelWarning, match=f"base.rz: got accelerated by {torque / 1.5e-3:.3g};"):
        tt.linearize(m, tt.OperatingPoint(m, m.neutral(), m.velocity(flying), wrenches=wrenches))


def test_parts_of_next_to_nothing_are_endless_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ratios(np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, 5e-324, 4.0]))
    assert found.tolist() == [0.0, np.inf, np.inf, 0.5]


#: What shows how a body spins.
SHOWN: dict[str, Callable[[tt.Model, Any], Any]] = {
    "simulate": lambda model, v: tt.simulate(model, [0.0, 0.01], model.neutral(), v),
    "trim": lambda model, v: tt.trim(model, ["panel"], v=v),
    "linearize": lambda model, v: tt.linearize(model, (model.neutral(), v, np.zeros(model.nv))),
}


def hinged(body: tt.FlexibleBody) -> tt.Model:
    """Return the model of a body on a hinge."""
    s = tt.System("hinged", gravity=[0, 0, 0])
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 0, 1]))
    return s.resolve()


def spin_warnings(show: str, model: tt.Model, spin: float) -> list[str]:
    """Return the warnings about spin."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SHOWN[show](model, model.velocity({"hinge": spin}))
    return [str(each.message) for each in caught if "spinning-modes" in str(each.message)]


@pytest.mark.parametrize("show", SHOWN)
def test_fast_spins_are_told(show: str) -> None:
    body = random_body(np.random.default_rng(0), "panel")
    model, lowest = hinged(body), body.natural_frequencies[0]
    (message,) = spin_warnings(show, model, 0.15 * lowest)
    assert message.startswith(f"panel: got a spin of {0.15 * lowest:.3g} rad/s beside a lowest frequency of {lowest:.3g} rad/s")
    assert not spin_warnings(show, model, 0.05 * lowest)


@pytest.mark.parametrize("show", SHOWN)
def test_bodies_that_stiffen_may_spin(show: str) -> None:
    rng = np.random.default_rng(0)
    body = Cloud.random(rng).body(rng, "panel")
    assert not spin_warnings(show, hinged(body), 0.15 * body.natural_frequencies[0])


def test_rounding_where_nothing_acts_is_no_acceleration() -> None:
    """Of a body that thrust along z accelerates, x keeps what rounding leaves; an effort a thousandth of it there is told."""
    s = tt.System("burn", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 200.0, inertia=80.0, ports={"left": [0, 0.9, 0], "right": [0, -0.9, 0]})
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        modes = [[0, 0, 3.0, sign * 5.0, 0, 0]]
        s.connect(hub.port(side), tt.FlexibleBody(side, 15.0, [0, sign, 0], [20, 5, 25], [1.5], modes), tt.Weld(f"{side}_root"))
    s.add_actuator(tt.Thruster("apogee", hub, direction=[0, 0, 1], max_thrust=25.0))
    m = s.resolve()
    burn = tt.trim(m, u={"apogee": 25.0}, accelerating=["base"])
    assert excess(burn, np.full(m.nv, 1e-30), np.zeros(m.nv)).max() < 1.0
    tt.linearize(m, burn, inputs=["apogee"], outputs=["hub.v"])
    assert excess(burn, 1e-3 * burn.a[2] * np.eye(m.nv)[0], np.zeros(m.nv))[0, 0] > 1.0


@pytest.mark.parametrize("speed", [1e-3, 0.035, 1.0])
def test_slow_cars_are_steady(speed: float) -> None:
    """Nothing accelerates a car that rolls straight on: its linear model is rounding of the weights that its tyres carry."""
    s, corners = tt.System("car"), {"fl": [1, 0.5, 0], "fr": [1, -0.5, 0], "rl": [-1, 0.5, 0], "rr": [-1, -0.5, 0]}
    body = tt.RigidBody("body", mass=100.0, com=[0, 0, 0.1], inertia=[20, 50, 60], ports=corners)
    s.connect("world", body, tt.Free("base"), tt.Pose([0, 0, 0.3]))
    for name in corners:
        wheel = tt.RigidBody(name, mass=5.0, inertia=[0.1, 0.2, 0.1])
        s.connect(body.port(name), wheel, tt.Revolute(f"hub_{name}", axis=[0, 1, 0]))
        s.close_loop("world", wheel, tt.RollingDisc(f"tyre_{name}", 0.3, redundant=True))
    m = s.resolve()
    v = m.assemble_velocity(m.neutral(), m.velocity({"base.x": speed}), fixed=["base"])
    assert not [*steadiness_findings(tt.OperatingPoint(m, m.neutral(), v))]
