"""States on which nothing depends, and only these, are left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import refusal
from tests.solvers.linear.nonlinear_systems import top


def test_omission() -> None:
    model, at = top(1.0)
    whole = tt.linearize(model, at, ["base"], ["body.w"])
    attitude = tt.linearize(model, at, ["base"], ["body.w"], omit=["base.x", "base.y", "base.z"])
    assert attitude.state_labels == [f"base_r{x}_{part}" for part in "qv" for x in "xyz"]
    for s in (0.3j, 1.0 + 2j):
        assert np.abs(whole(s) - attitude(s)).max() < 1e-12
    rates = tt.linearize(model, at, ["base"], ["body.w"], omit=[f"{name}.q" for name in model.coordinate_names])
    assert rates.nstates == 6
    with refusal("not-omissible", "output 'body.r"):
        tt.linearize(model, model.neutral(), [], ["body.r"], omit=["base.x"])
    with refusal("not-omissible", "rate of state 'base.rx.q' depends on 'base.ry.q'"):
        tt.linearize(model, at, [], [], omit=["base.ry.q"])
    with refusal("not-omissible", "or omit 'base.rz.q' alone"):
        tt.linearize(model, at, [], ["body.w"], omit=["base.rz"])


def sledges(stiffness: float, rail: float, closed: str = "") -> tt.Model:
    """Return two sledges of 1 kg on each other, coupled stiffly by a spring or a closure; the first on a sprung rail."""
    s = tt.System("sledges", gravity=[0, 0, -9.81])
    turned = tt.Pose([0.3, 0.2, 0.1], Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix())
    first, second = (tt.RigidBody(name, 1.0, inertia=1.0, ports={"A": turned}) for name in ("first", "second"))
    spring = {"stiffness": stiffness} if not closed else {}
    s.connect("world", first, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=rail))
    s.connect(first, second, tt.Prismatic("stiff", axis=[1, 0, 0], **spring))
    if closed == "compliant":
        s.close_loop(first.port("A"), second.port("A"), tt.CompliantClosure("pad", stiffness * np.eye(6), np.zeros((6, 6))))
    return s.resolve()


@pytest.mark.parametrize("stiffness", [1e9, 1e12])
@pytest.mark.parametrize("closed", ["", "compliant"])
def test_a_soft_spring_beside_a_stiff_one_is_not_omitted(stiffness: float, closed: str) -> None:
    """The rail's mode at sqrt(1/2) rad/s is there however stiff the rest is; without its spring nothing depends on it."""
    soft = sledges(stiffness, 1.0, closed)
    # poles near 0.7 rad/s beside 1e6: eigenvalues of the squares would lose them, balanced ones do not
    assert np.abs(tt.linearize(soft, soft.neutral()).poles()).min() == pytest.approx(np.sqrt(0.5), rel=1e-3)
    for omit in (["rail"], ["rail.q"]):
        with refusal("not-omissible", "depends on 'rail.q'"):
            tt.linearize(soft, soft.neutral(), omit=omit)
        with refusal("not-omissible", "depends on 'rail.q'"):
            tt.lpv(soft, {"second.mass": [1.0, 2.0]}, omit=omit)
    free = sledges(stiffness, 0.0, closed)
    for q in ([0.0, 0.0], [0.7, 0.0]):
        assert tt.linearize(free, np.array(q), omit=["rail"]).state_labels == ["stiff_q", "stiff_v"]
    assert len(tt.lpv(free, {"second.mass": [1.0, 2.0]}, omit=["rail"]).states) == 2


@pytest.mark.parametrize("stiffness", [1e4, 1e12, 1e18])
def test_a_soft_spring_apart_from_a_stiff_one_is_not_omitted(stiffness: float) -> None:
    """Where nothing joins them, either is beside its own terms alone; without its spring nothing depends on the slide."""
    for soft, damping in ((1.0, 0.0), (1.0, 1e3), (0.0, 1e3)):
        s = tt.System("apart", gravity=[0, 0, 0])
        s.connect("world", tt.RigidBody("quartz", 1.0), tt.Prismatic("stiff", axis=[1, 0, 0], stiffness=stiffness))
        s.connect("world", tt.RigidBody("sledge", 1.0), tt.Prismatic("slide", axis=[1, 0, 0], stiffness=soft, damping=damping))
        m = s.resolve()
        parameters = {"quartz.mass": tt.percent(10)}
        if not soft:
            assert tt.linearize(m, m.neutral(), ["stiff"], ["stiff.q"], omit=["slide.q"]).nstates == 3
            tt.lft(m, m.neutral(), parameters, ["stiff"], ["stiff.q"], omit=["slide.q"])
        for outputs in ([], ["slide.q"]):
            if soft or outputs:
                with refusal("not-omissible", "depends on 'slide.q'"):
                    tt.linearize(m, m.neutral(), [], outputs, omit=["slide.q"])
                with refusal("not-omissible", "slide.q"):
                    tt.lft(m, m.neutral(), parameters, ["stiff"], ["stiff.q", *outputs], omit=["slide.q"])


def test_an_equilibrium_that_is_known_to_its_tolerance_has_what_can_be_omitted() -> None:
    """A hovering body turns freely about the vertical; a tilt of 1e-10 rad, which a search leaves, is no dependence."""
    s = tt.System("drone", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", 2.0, com=[0, 0, -0.3], inertia=[1.0, 2.0, 2.5], ports={"rotor": [0, 0, 0.2]})
    s.connect("world", body, tt.Free("base"))
    s.add_actuator(tt.Thruster("rotor", body.port("rotor"), max_thrust=30))
    s.add_load(tt.Load("kite", body.port("rotor"), force=[0, 0, 1.0], frame="world"))
    model = s.resolve()
    for tilt in (0.0, 1e-10):
        q = model.integrate(model.neutral(), [0, 0, 0, tilt, -0.7 * tilt, 0.4])
        point = tt.OperatingPoint(model, q, u={"rotor": 2 * 9.81 - 1.0})
        omit = ["base.x.q", "base.y.q", "base.z.q", "base.rz.q"]
        assert tt.linearize(model, point, ["rotor"], ["base.rx.v"], omit=omit).nstates == 8
        with refusal("not-omissible", "depends on 'base.rx.q'"):
            tt.linearize(model, point, ["rotor"], omit=["base.rx.q"])


def spinning(stiffness: float, speed: float) -> tuple[tt.Model, tt.OperatingPoint]:
    """Return three wheels on a free hub, about any axes, at the speed (rad/s); the hub on a spring along x if it has one."""
    s = tt.System("spinning", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 900.0, com=[0.2, -0.1, 0.3], inertia=[300.0, 400.0, 350.0])
    s.connect("world", hub, tt.Free("base", stiffness=[stiffness, 0, 0, 0, 0, 0]))
    for k, axis in enumerate(([1.0, 0.3, -0.2], [0.1, 1.0, 0.7], [-0.4, 0.2, 1.0])):
        s.add_device(tt.ReactionWheel(f"w{k}", hub, axis, 10.0 ** (-k - 1), 2.0))
    m = s.resolve()
    return m, tt.OperatingPoint(m, m.neutral(), m.velocity({"w0": speed, "w1": 0.03 * speed, "w2": -0.7 * speed}))


@pytest.mark.parametrize("speed", [3.7, 96.8, 161.2, 301.3, 628.3])
def test_angles_of_wheels_can_be_omitted_whatever_rounding_their_speed_leaves(speed: float) -> None:
    """Their squares; a spring on which the hub is a million times slower is seen beside them."""
    angles = [f"w{k}.q" for k in range(3)]
    m, point = spinning(0.0, speed)
    assert tt.linearize(m, point, ["w0/motor"], ["hub.w", "hub.dv"], omit=[*angles, "base.x.q"]).nstates == 18 - 4
    m, point = spinning(906.0 * (1e-6 * speed) ** 2, speed)
    with refusal("not-omissible", "depends on 'base.x.q'"):
        tt.linearize(m, point, ["w0/motor"], ["hub.w", "hub.dv"], omit=["base.x.q"])
