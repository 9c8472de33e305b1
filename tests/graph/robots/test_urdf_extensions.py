"""What Drake and Gazebo add to URDF: loops, joints and springs, against systems that are built by hand."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import titop as tt
from tests.graph.robots.urdf_texts import GOOD, findings, inertial, load

DRAKE = 'xmlns:drake="http://drake.mit.edu"'


def four_bars(closing: str) -> str:
    """Return a parallelogram of three bars that is not closed, and what closes it."""
    links = "".join(f'<link name="{name}">{inertial(xyz="0 .5 0")}</link>' for name in ("crank", "bar", "rocker"))
    ends = {"a": ("stand", "crank", "0 0 0"), "b": ("crank", "bar", "0 1 0"), "c": ("stand", "rocker", "2 0 0")}
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        '<axis xyz="0 0 1"/></joint>'
        for name, (parent, child, xyz) in ends.items()
    )
    return f'<robot name="r" {DRAKE}><link name="stand"/>{links}{joints}{closing}</robot>'


LOOP = """<loop_joint name="d" type="continuous"><link1 link="bar" xyz="2 0 0"/><link2 link="rocker" xyz="0 1 0" rpy="0 0 .3"/>
  <axis xyz="0 0 1"/></loop_joint>"""
BALL = """<drake:ball_constraint><drake:ball_constraint_body_A name="bar"/><drake:p_AP value="2 0 0"/>
  <drake:ball_constraint_body_B name="rocker"/><drake:p_BQ value="0 1 0"/></drake:ball_constraint>"""


@pytest.mark.parametrize("closing", [LOOP, BALL])
def test_loops_are_closed(closing: str) -> None:
    m = tt.from_urdf(four_bars(closing), gravity=(1, 2, 0)).resolve(engine="reference")
    s = tt.from_urdf(four_bars(""), gravity=(1, 2, 0))
    ends = s["bar"].add_port("D", [2, 0, 0]), s["rocker"].add_port("D", [0, 1, 0])
    s.close_loop(*ends, tt.RigidClosure("d", "planar_revolute", axis=[0, 0, 1]))  # without the rows that follow from the plane
    other = s.resolve(engine="reference")
    q = other.assemble([0.2, -0.1, 0.3])
    v = other.assemble_velocity(q, [1.0, 0.5, 0.2])
    assert np.abs(m.closure_error(q)).max() < 1e-9  # assembled to within this
    np.testing.assert_allclose(m.forward_dynamics(q, v), other.forward_dynamics(q, v), rtol=1e-9)


def test_loops_name_what_is_wrong() -> None:
    assert findings(four_bars(LOOP.replace('"rocker"', '"rock"'))) == {"r.d.link2.link": "unknown-link"}
    assert findings(four_bars(LOOP.replace('"continuous"', '"floating"'))) == {"r.d": "not-representable"}
    assert findings(four_bars("<drake:ball_constraint/>")) == {"r.ball_constraint_1": "missing-element"}


@pytest.mark.parametrize("kind", ["ball", "universal"])
def test_joints_of_drake_are_those_of_titop(kind: str) -> None:
    text = f'''<robot name="r" {DRAKE}><link name="stand"/><link name="bob">{inertial(xyz=".1 .2 .3")}</link>
      <drake:joint name="j" type="{kind}"><parent link="stand"/><child link="bob"/><dynamics damping=".2"/>
      </drake:joint></robot>'''
    m, rng = load(text), np.random.default_rng(0)
    s = tt.System("by_hand")
    body = tt.RigidBody("bob", 2.0, [0.1, 0.2, 0.3], [0.3, 0.4, 0.5])
    joint = tt.Spherical("j", damping=0.2) if kind == "ball" else tt.Universal("j", damping=0.2)
    s.connect("world", body, joint)
    other, q, v = s.resolve(), m.random_configuration(rng), rng.normal(size=m.nv)
    np.testing.assert_allclose(m.forward_dynamics(q, v), other.forward_dynamics(q, v), rtol=1e-12)  # the same sums
    assert findings(text.replace("drake:joint", "joint")) == {"r.j.type": "unknown-type"}


def test_mimics_of_drake_are_those_of_urdf() -> None:
    text = four_bars("").replace('<child link="rocker"/>', '<child link="rocker"/><drake:mimic joint="a" multiplier="-2"/>')
    assert tt.from_urdf(text)["c_mimic"].ratio == -2.0


def test_springs_of_gazebo_act() -> None:
    spring = """<gazebo reference="joint"><springStiffness>3</springStiffness><springReference>.5</springReference></gazebo>"""
    m = load(GOOD.replace("</robot>", f"{spring}</robot>"))
    assert m.passive_efforts([0.1], [0.0])[0] == pytest.approx(3 * 0.4, rel=1e-14)
    floating = GOOD.replace('type="revolute"', 'type="floating"').replace('<dynamics damping="0.1"/>', "")
    assert findings(floating.replace("</robot>", f"{spring}</robot>")) == {"r.joint": "not-representable"}


# -- robots by name ----------------------------------------------------------------------------------------------------


def test_robots_are_read_by_name(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arm.urdf").write_text(GOOD)
    package, arm = types.ModuleType("robot_descriptions"), types.ModuleType("robot_descriptions.arm_description")
    arm.URDF_PATH = str(tmp_path / "arm.urdf")  # type: ignore[attr-defined]
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "robot_descriptions", package)
    monkeypatch.setitem(sys.modules, "robot_descriptions.arm_description", arm)
    assert tt.from_urdf("arm_description")["bob"].mass == 2.0
    for read, name in ((tt.from_mjcf, "arm_description"), (tt.from_urdf, "leg_description")):
        with pytest.raises(tt.ModelError, match="unknown-robot"):
            read(name)
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(tt.ModelError, match="missing-extra"):
        tt.from_urdf("arm_description")
