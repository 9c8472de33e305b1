"""Closures, gears, springs between bodies and soft bodies in linear fractional models, against `linearize`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt

#: Beside the response's norm: see `test_lft`.
EXACT = 1e-9

INPUTS, OUTPUTS = ("j1", "c.E.F"), ("j1.q", "j2.q", "c.E.dv", "j3.v")


#: What a pin in the plane holds: none of it is redundant there.
IN_PLANE = np.eye(6)[:, :2]


def four_bar(**pin: Any) -> tuple[tt.Model, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return a four-bar linkage with a spring across it under gravity, and a point at which its motor holds it.

    Its pin is that of a hinge, or has other arguments.
    """
    s = tt.System("linkage", gravity=[0, -9.81, 0])
    a, b, c = (
        tt.RigidBody(n, mass=1.0 + x, com=[x / 2, 0.02, 0], inertia=[0.01, 0.1 * x, 0.1 * x], ports={"E": [x, 0, 0]})
        for n, x in (("a", 0.5), ("b", 1.0), ("c", 0.8))
    )
    s.connect("world", a, joint=tt.Revolute("j1", damping=0.3, stiffness=5.0))
    s.connect(a.port("E"), b, joint=tt.Revolute("j2", damping=0.1))
    s.world.add_port("G", position=[1.1, 0, 0])
    s.connect(s.world.port("G"), c, joint=tt.Revolute("j3", stiffness=3.0))
    s.close_loop(b.port("E"), c.port("E"), tt.RigidClosure("pin", **(pin or {"kind": "revolute"})))
    s.close_loop(a.port("E"), c, tt.SpringDamper("spring", stiffness=30.0, damping=2.0, length=0.5))
    m = s.resolve()
    q, v = m.assemble(np.array([1.2, -0.9, 1.9])), np.zeros(3)
    return m, (q, v, m.inverse_dynamics(q, v, v, actuated=["j1"]))


@pytest.mark.parametrize(
    ("name", "repetitions"),
    [
        *[("a.mass", 1), ("b.mass", 1), ("b.com.x", 2), ("j1.stiffness", 1), ("j2.damping", 1), ("gravity.y", 1)],
        *[("spring.stiffness", 1), ("spring.damping", 1), ("spring.length", 1)],
    ],
)
def test_a_closed_loop(name: str, repetitions: int) -> None:
    """One freedom is left: whatever a mass or a spring does, it does along one direction."""
    m, point = four_bar()
    model = tt.lft(m, point, {name: tt.percent(20)}, INPUTS, OUTPUTS)
    assert [(block.repetitions, block.degree) for block in model.blocks] == [(repetitions, repetitions)]
    assert model.check(4) < EXACT


def test_chosen_coordinates() -> None:
    m, point = four_bar()
    parameters = {"b.mass": tt.percent(20), "spring.stiffness": tt.percent(30), "j1.stiffness": tt.percent(40)}
    model = tt.lft(m, point, parameters, INPUTS, OUTPUTS, independent=["j3"], reduce=False)
    assert model.M.state_labels == ["j3_q", "j3_v"]
    assert model.check(4) < EXACT


def test_reactions_of_closures() -> None:
    """Of loaded ones too, which turn with their ports; of two sledges that grip each other, one's part of both masses."""
    m, point = four_bar(directions=IN_PLANE)
    parameters = {"b.mass": tt.percent(20), "spring.stiffness": tt.percent(30), "c.com.x": tt.percent(10)}
    assert tt.lft(m, point, parameters, INPUTS, ["pin.reaction"]).check(4) < EXACT
    s, own = tt.System("sledges", gravity=[0, 0, 0]), 2.0
    first, second = tt.RigidBody("first", own), tt.RigidBody("second", 3.0)
    s.connect("world", first, tt.Prismatic("push", axis=[1, 0, 0], stiffness=5.0, damping=0.1))
    s.connect("world", second, tt.Prismatic("follow", axis=[1, 0, 0]))
    s.close_loop(first, second, tt.RigidClosure("grip", directions=IN_PLANE[:, :1]))
    m = s.resolve()
    model = tt.lft(m, m.neutral(), {"second.mass": tt.percent(40)}, ["push"], ["grip.reaction[0]"], independent=["push"])
    for mass in (1.8, 3.0, 4.2):
        assert model.at(second_mass=mass).D[0, 0] == pytest.approx(mass / (own + mass), rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*redundant-closure", "ignore:.*contradicting-efforts")
def test_reactions_of_redundant_closures_are_refused() -> None:
    """How they share what they carry is no rational function."""
    m, point = four_bar()
    with pytest.raises(tt.ModelError, match=r"none of which is redundant.*inexact-output"):
        tt.lft(m, point, {"b.mass": tt.percent(20)}, INPUTS, ["pin.reaction"])


def test_what_would_close_elsewhere_is_refused() -> None:
    m, point = four_bar()
    with pytest.raises(tt.ModelError, match=r"b\.E\.position\.x.*pin.*moved-closure"):
        tt.lft(m, point, {"b.E.position.x": tt.percent(1)}, INPUTS, OUTPUTS)
    with pytest.raises(tt.ModelError, match="moved-closure"):
        tt.lft(m, point, {"j1.q": (1.0, 1.4)}, INPUTS, OUTPUTS)


@pytest.mark.parametrize("name", ["wb.inertia.zz", "pair.ratio"])
def test_gears(name: str) -> None:
    s = tt.System("geared", gravity=[0, 0, 0])
    for side in "ab":
        wheel = tt.RigidBody(f"w{side}", 2.0, inertia=0.3)
        s.connect("world", wheel, joint=tt.Revolute(side, stiffness=4.0, damping=0.2))
    s.add_gear(tt.Gear("pair", "a", "b", ratio=-2.0))
    m = s.resolve()
    model = tt.lft(m, (np.zeros(2), np.zeros(2)), {name: tt.percent(20)}, ["a", "b"], ["a.q", "b.a"])
    assert model.check(5) < EXACT


@pytest.mark.parametrize(("name", "repetitions"), [("b.mass", 3), ("b.com.x", 4), ("mount.stiffness.x.x", 1)])
def test_a_compliant_mount_under_gravity(name: str, repetitions: int) -> None:
    s = tt.System("mounted", gravity=[0, 0, -9.81])
    body = tt.RigidBody("b", mass=3.0, com=[0.1, 0.2, 0.3], inertia=[0.1, 0.2, 0.3], ports={"A": [0.1, 0, 0.2]})
    s.connect("world", body, joint=tt.Free("base"))
    stiffness, damping = [100, 200, 300, 10, 20, 30], [1, 2, 3, 0.1, 0.2, 0.3]
    s.close_loop("world", body.port("A"), tt.CompliantClosure("mount", stiffness=stiffness, damping=damping))
    m = s.resolve()
    model = tt.lft(m, tt.trim(m), {name: tt.percent(20)}, ["b.A.F"], ["b.A.dv", "base.q"])
    assert model.blocks[0].repetitions == repetitions
    assert model.check(4) < EXACT
