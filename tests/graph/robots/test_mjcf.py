"""Systems from MJCF: every feature in small texts, against MuJoCo, and what is refused."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import titop as tt

pytest.importorskip("mujoco")

import mujoco

from tests.graph.robots.mujoco_peer import at_state, compiled, loop_accelerations, smooth, worst_residual

#: Sums of few terms in another order, relative to the largest.
ROUNDED = 1e-13
BODY = '<geom type="box" size=".1 .2 .3" pos=".03 -.02 .1" euler="20 30 40" mass="1.5"/>'
#: A free base with several joints in one body, a ball, references, springs, a fixed body, and compensated gravity.
TREE = f"""<mujoco model="tree"><compiler angle="radian"/><option gravity="1 -2 -9"/><worldbody>
  <body name="base" pos=".1 .2 .3" quat=".8 .2 .3 .4" gravcomp=".4"><freejoint name="float"/>{BODY}
    <site name="tip" pos=".1 0 .2" euler="10 20 30"/>
    <body name="two" pos=".3 0 -.1" euler=".3 -.2 .5">
      <joint name="lift" type="slide" axis="1 2 -1" pos=".1 .2 .1" ref=".2" stiffness="30" springref=".3" damping="2"
        armature=".1"/>
      <joint name="turn" type="hinge" axis="0 1 1" pos="-.1 .1 0" ref=".4" range="-1 1.5" damping=".3" frictionloss=".1"/>
      <joint name="roll" axis="1 0 0" pos="0 0 .2" armature=".02" stiffness="3"/>{BODY}
      <body name="socket" pos="0 .2 .3"><joint name="ball" type="ball" pos=".05 0 .1" damping=".2" stiffness="4"
          armature=".03"/>{BODY}
        <body name="held" pos=".1 .1 .1" euler=".2 .1 .5">{BODY}</body></body></body>
    <body pos="0 -.3 0"><joint axis="0 0 1"/>{BODY}</body></body>
  <body name="fixed" pos="1 0 0">{BODY}</body></worldbody></mujoco>"""


def arms(extra: str = "", inside: str = "", outside: str = "") -> str:
    """Return two arms of two hinges each, in a plane with some depth, and what stands beside and inside of them."""

    def arm(side: str, x: float) -> str:
        return f"""<body name="{side}_upper" pos="{x} 0 1"><joint name="{side}_shoulder" axis="0 1 0" ref=".1"/>{BODY}
          <site name="{side}_eye" pos=".05 0 -.2"/>
          <body name="{side}_lower" pos="0 .1 -.4"><joint name="{side}_elbow" axis="0 1 .1"/>{BODY}
          <site name="{side}_end" pos="0 .1 -.3" euler="10 20 30"/>{inside if side == "left" else ""}</body></body>"""

    return f"""<mujoco model="arms"><compiler angle="radian"/><worldbody><site name="hook" pos=".2 .1 1.4"/>{outside}
      {arm("left", -0.3)}{arm("right", 0.3)}</worldbody>{extra}</mujoco>"""


def load(text: str | Path, **more: object) -> tt.System:
    """Return a system, without what is said about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return tt.from_mjcf(text, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_trees_move_as_in_mujoco(engine: str) -> None:
    s = load(TREE)
    assert worst_residual(s, compiled(TREE), engine=engine) < ROUNDED
    m = s.resolve(engine="reference")
    assert m.joint_names == ("float", "lift", "turn", "roll", "ball", "held_weld", "body5_joint", "fixed_weld")


def test_another_armature_is_noticed() -> None:
    s = load(TREE.replace('armature=".1"', 'armature=".100001"'))
    assert worst_residual(s, compiled(TREE)) > 1e-9


def test_states_follow_mujoco_in_time() -> None:
    s, model = load(TREE), compiled(TREE)
    m, rng = smooth(s), np.random.default_rng(3)
    q, v = m.random_configuration(rng), rng.normal(size=m.nv)
    data = at_state(model, s, q, v)
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    mujoco.mj_step(model, data, 50)
    end = tt.simulate(m, [0.0, 0.05], q, v, rtol=1e-11, atol=1e-12)
    q1, v1 = tt.from_mujoco(s, data.qpos, data.qvel)
    assert np.abs(m.difference(end.q[-1], q1)).max() < 1e-8  # that of RK4 over 50 steps
    assert np.abs(end.v[-1] - v1).max() < 1e-6


def test_states_are_converted_there_and_back_in_stacks() -> None:
    s = load(TREE)
    m, rng = s.resolve(engine="reference"), np.random.default_rng(4)
    q, v = np.array([m.random_configuration(rng) for _ in range(6)]).reshape(2, 3, m.nq), rng.normal(size=(2, 3, m.nv))
    qpos, qvel = tt.to_mujoco(s, q, v)
    assert np.array_equal(qpos[..., 3], q[..., 6])  # the scalar first
    np.testing.assert_allclose(np.linalg.norm(qvel[..., :3], axis=-1), np.linalg.norm(v[..., :3], axis=-1), rtol=1e-14)
    for found, given in zip(tt.from_mujoco(s, qpos, qvel), (q, v), strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-13)
    with pytest.raises(tt.ModelError, match="wrong-shape"):
        tt.from_mujoco(s, qpos[..., 1:], qvel)
    with pytest.raises(tt.ModelError, match="wrong-shape"):
        tt.to_mujoco(s, q, v[0, 0])


# -- closures ----------------------------------------------------------------------------------------------------------

CLOSURES = {
    "connect": '<connect body1="left_lower" body2="right_upper" anchor=".1 .2 -.1"/>',
    "connect to the world": '<connect name="pin" body1="box" anchor="0 .1 -.3"/>',
    "connect sites": '<connect site1="corner" site2="left_end"/>',
    "weld": '<weld body1="left_lower" body2="box" anchor=".1 .2 .3" relpose=".1 .3 0 .9 .1 .2 -.1"/>',
    "weld that does not resist turning": '<weld body1="left_lower" body2="box" anchor=".1 .2 .3" torquescale="0"/>',
    "weld sites": '<weld site1="left_end" site2="corner"/>',
    "joint": '<joint joint1="left_elbow" joint2="right_shoulder" polycoef=".2 -1.5 0 0 0"/>',
    "joint alone": '<joint joint1="left_shoulder" polycoef=".2 0 0 0 0"/>',
    "tendon": '<tendon tendon1="sum" tendon2="difference" polycoef=".1 .5 0 0 0"/>',
    "tendon between sites": '<tendon tendon1="rope"/>',
}
TENDONS = """<tendon><fixed name="sum"><joint joint="left_shoulder" coef="1"/><joint joint="left_elbow" coef="2"/></fixed>
  <fixed name="difference"><joint joint="right_shoulder" coef="1"/><joint joint="right_elbow" coef="-.5"/></fixed>
  <spatial name="rope"><site site="hook"/><site site="right_end"/></spatial></tendon>"""
LOOSE = f"""<body name="box" pos="0 .5 0"><freejoint name="box_base"/>{BODY}
  <site name="corner" pos=".1 .2 .3" euler=".1 .2 .3"/></body>"""


@pytest.mark.parametrize("kind", CLOSURES)
def test_loops_move_as_the_constraints_of_mujoco_say(kind: str) -> None:
    text = arms(f"{TENDONS}<equality>{CLOSURES[kind]}</equality>", outside=LOOSE)
    s = load(text)
    assert s.loops or s.gears
    m = smooth(s)
    titops, expected = loop_accelerations(s, compiled(text), m.neutral())
    np.testing.assert_allclose(titops, expected, rtol=0, atol=1e-7 * np.abs(expected).max())  # of differences of Jacobians


def test_loops_that_are_not_active_are_told_and_left_out() -> None:
    text = arms('<equality><connect active="false" body1="left_lower" body2="right_lower" anchor="0 0 0"/></equality>')
    with pytest.warns(tt.ModelWarning, match="not active"):
        assert not tt.from_mjcf(text).loops


# -- tendons and actuators ---------------------------------------------------------------------------------------------

FORCES = {
    "joint tendon": """<tendon><fixed name="t" stiffness="20" damping="3" springlength=".2">
      <joint joint="left_shoulder" coef="1.5"/>
      <joint joint="left_elbow" coef="-.7"/></fixed></tendon>""",
    "strut": """<tendon><spatial name="t" stiffness="20" damping="3" springlength=".2">
      <site site="hook"/><site site="left_end"/>
      </spatial></tendon>""",
    "rope over an eye": """<tendon><spatial name="t" stiffness="20" springlength="0 .4"><site site="hook"/>
      <site site="left_eye"/>
      <site site="right_end"/></spatial></tendon>""",
    "motor": '<actuator><motor name="m" joint="left_elbow" gear="30" ctrlrange="-1 1"/></actuator>',
    "servo": '<actuator><position name="m" joint="left_shoulder" kp="40" kv="3" gear="2"/></actuator>',
    "rate servo": '<actuator><velocity name="m" joint="left_shoulder" kv="3"/></actuator>',
    "affine": """<actuator><general name="m" joint="right_elbow" gainprm="7" biastype="affine"
      biasprm="1 -20 -2"/></actuator>""",
    "tendon servo": """<tendon><fixed name="t"><joint joint="left_shoulder" coef="1.5"/>
      <joint joint="left_elbow" coef="-.7"/></fixed>
      </tendon><actuator><position name="m" tendon="t" kp="40" kv="3" gear="2"/></actuator>""",
    "tendon motor": """<tendon><fixed name="t"><joint joint="left_shoulder" coef="1.5"/>
      <joint joint="left_elbow" coef="-.7"/></fixed>
      </tendon><actuator><motor name="m" tendon="t" gear="3"/></actuator>""",
    "winch": """<tendon><spatial name="t"><site site="hook"/><site site="left_eye"/><site site="right_end"/></spatial></tendon>
      <actuator><motor name="m" tendon="t" gear="-1"/></actuator>""",
    "rotor": '<actuator><motor name="m" site="left_end" gear="0 0 3 0 0 -.2" ctrlrange="0 5" ctrllimited="true"/></actuator>',
    "jet": '<actuator><motor name="m" site="left_end" gear="0 .6 .8 0 0 0"/></actuator>',
    "twist": '<actuator><motor name="m" site="left_end" gear="0 0 0 0 1 0"/></actuator>',
}


@pytest.mark.parametrize("kind", FORCES)
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_forces_are_those_of_mujoco(kind: str, engine: str) -> None:
    text = arms(FORCES[kind])
    assert worst_residual(load(text), compiled(text), engine=engine) < ROUNDED


def test_the_residual_notices_another_gain() -> None:
    text = arms(FORCES["servo"])
    assert worst_residual(load(text.replace('kp="40"', 'kp="40.001"')), compiled(text)) > 1e-9


def test_filters_become_lags() -> None:
    text = arms("""<actuator><general name="m" joint="left_elbow" gear="2" dyntype="filterexact" dynprm=".3" gainprm="5"
      biastype="affine" biasprm="0 -4 -1"/></actuator>""")
    s = load(text)
    m = smooth(s, "reference")
    assert m.nx == 1
    model, q, v = compiled(text), np.array([0.3, -0.2, 0.1, 0.4]), np.array([1.0, 0.5, 2.0, -1.0])
    data = at_state(model, s, q, v)
    data.act[:] = 0.7
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(m.forward_dynamics(q, v, x=[0.7]), data.qacc, rtol=1e-11)  # another factorisation


def test_actuators_that_titop_has_not_are_named() -> None:
    text = arms('<actuator><intvelocity name="m" joint="left_elbow" kp="3" actrange="-1 1"/></actuator>')
    with pytest.warns(tt.ModelWarning, match="arms.m: got an actuator whose law titop has not"):
        assert tt.from_mjcf(text).resolve(engine="reference").nu == 0
    text = arms('<actuator><motor name="m" site="left_end" gear="1 0 0 0 1 0"/></actuator>')
    with pytest.warns(tt.ModelWarning, match="arms.m: got an actuator whose transmission titop has not"):
        tt.from_mjcf(text)


def test_actuators_of_groups_that_are_disabled_do_not_act() -> None:
    motors = '<actuator><motor name="m" joint="left_elbow" group="2"/><motor name="n" joint="left_elbow" group="1"/></actuator>'
    s = load(arms(f'<option actuatorgroupdisable="2"/>{motors}'))
    assert s.resolve(engine="reference").input_names == ("n",)


# -- names, places and states ------------------------------------------------------------------------------------------


def test_sites_are_ports_where_mujoco_has_them() -> None:
    s, model = load(TREE), compiled(TREE)
    m = s.resolve(engine="reference")
    q = m.random_configuration(np.random.default_rng(5))
    data, (rotation, position) = at_state(model, s, q, np.zeros(m.nv)), m.pose("base.tip", q)
    np.testing.assert_allclose(position, data.site("tip").xpos, atol=1e-14)
    np.testing.assert_allclose(rotation, data.site("tip").xmat.reshape(3, 3), atol=1e-14)


def test_sensors_that_titop_has_not_are_named() -> None:
    text = arms("""<sensor><framepos name="f" objtype="site" objname="left_end"/><touch name="t" site="left_end"/>
      <framepos objtype="site" objname="left_end"/><jointpos joint="left_elbow"/></sensor>""")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s = tt.from_mjcf(text)
    said = [str(each.message).partition(";")[0] for each in caught]
    assert [line.partition("got ")[2] for line in said if "sensor" in line] == [
        "a sensor 'framepos' (2 times)",
        "a sensor 'touch'",
    ]
    assert [sensor.name for sensor in s.sensors] == ["sensor3"]


def test_sensors_measure_what_mujocos_do() -> None:
    text = arms("""<sensor><jointpos name="a" joint="left_elbow"/><jointvel name="b" joint="left_elbow"/>
      <gyro name="g" site="left_end"/><accelerometer name="s" site="left_end"/><clock/></sensor>""")
    s, model = load(text), compiled(text)
    m, rng = smooth(s, "reference"), np.random.default_rng(6)
    q, v = rng.normal(size=4), rng.normal(size=4)
    data = at_state(model, s, q, v)
    np.testing.assert_allclose(m.outputs(q, v, data.qacc), data.sensordata[:-1], rtol=1e-11, atol=1e-11)  # as of qacc


def test_keyframes_are_states_by_name() -> None:
    key = '<keyframe><key name="home" qpos="1 2 3 0 1 0 0 .1 .2 .3 1 0 0 0 .4" qvel="1 2 3 0 0 0 0 0 0 0 0 0 1"/></keyframe>'
    s = load(TREE.replace("</mujoco>", f"{key}</mujoco>"))
    m, home = s.resolve(engine="reference"), s.keyframes["home"]
    assert home.configuration["lift"] == 0.1
    qpos, qvel = tt.to_mujoco(s, m.configuration(home.configuration), m.velocity(home.velocity))
    np.testing.assert_allclose(qpos, [1, 2, 3, 0, 1, 0, 0, 0.1, 0.2, 0.3, 1, 0, 0, 0, 0.4], atol=1e-15)
    np.testing.assert_allclose(qvel, [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], atol=1e-15)


def test_keyframes_of_what_does_not_move_are_empty() -> None:
    s = load(f'<mujoco><worldbody><body>{BODY}</body></worldbody><keyframe><key name="home"/></keyframe></mujoco>')
    assert s.keyframes["home"].configuration == {}


def test_names_that_are_missing_are_made_up() -> None:
    inside = f'<body name="body1_joint"><joint/>{BODY}</body><body name="body1_weld">{BODY}</body>'
    text = f'<mujoco><worldbody><body><joint/><joint axis="1 0 0" name="body2"/>{BODY}{inside}</body></worldbody></mujoco>'
    m = load(text).resolve(engine="reference")
    assert len(m.joint_names) == m.nv + 1 == 4
    assert worst_residual(load(text), compiled(text), engine="reference") < ROUNDED


def test_bases_are_held_or_let_go() -> None:
    held = load(TREE, base="fixed").resolve(engine="reference")
    assert held.nv == 7
    np.testing.assert_allclose(held.pose("base", held.neutral())[1], [0.1, 0.2, 0.3])
    inside = f'<body pos="0 0 1"><joint axis="0 1 0"/>{BODY}</body>'
    fixed = f'<mujoco><worldbody><body name="b">{BODY}{inside}</body></worldbody></mujoco>'
    assert load(fixed).resolve(engine="reference").nv == 1
    assert load(fixed, base="free").resolve(engine="reference").nv == 7
    for text, base in ((arms(), "free"), (fixed, "floating")):
        with pytest.raises(tt.ModelError, match="bad-base"):
            tt.from_mjcf(text, base=base)


def test_gravity_is_that_of_the_file_unless_it_is_given() -> None:
    assert load(TREE).gravity.tolist() == [1, -2, -9]
    assert load(TREE, gravity=(0, 0, -1)).gravity.tolist() == [0, 0, -1]
    off = TREE.replace("/><worldbody", '><flag gravity="disable"/></option><worldbody')
    assert load(off).gravity.tolist() == [0, 0, 0]


@pytest.mark.parametrize("part", ["spring", "damper", "gravity", "equality", "actuation"])
def test_what_the_file_disables_does_not_act(part: str) -> None:
    text = arms(FORCES["servo"].replace("</actuator>", "</actuator>" + FORCES["joint tendon"]))
    text = text.replace("<worldbody>", f'<option><flag {part}="disable"/></option><worldbody>')
    s, model = load(text), compiled(text)
    if part == "actuation":
        assert s.resolve(engine="reference").nu == 0
        model = compiled(text.replace(FORCES["servo"], ""))
    assert worst_residual(s, model, engine="reference") < ROUNDED


def test_files_include_others(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(f"<mujoco><worldbody><body name='b'><joint/>{BODY}</body></worldbody></mujoco>")
    (tmp_path / "whole.xml").write_text('<mujoco model="whole"><include file="part.xml"/></mujoco>')
    assert load(tmp_path / "whole.xml")["b"].mass == 1.5


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = {
    "springs of free joints": ('<body><joint type="free" stiffness="2"/>%s</body>', "none at a free joint"),
    "armature of free joints": ('<body><joint type="free" armature="2"/>%s</body>', "none at a free joint"),
    "stiffness that changes": ('<body><joint stiffness="2 1"/>%s</body>', "stiffness that is no constant"),
    "damping that changes": ('<body><joint damping="2 1"/>%s</body>', "damping that is no constant"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_titop_has_no_law_for_is_refused(what: str) -> None:
    text, said = REFUSED[what]
    with pytest.raises(tt.ModelError, match=said):
        tt.from_mjcf(f"<mujoco><worldbody>{text % BODY}</worldbody></mujoco>")


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('<equality><joint joint1="left_elbow" joint2="right_elbow" polycoef="0 1 2 0 0"/></equality>', "a linear relation"),
        (f'{TENDONS}<equality><tendon tendon1="rope" tendon2="sum"/></equality>', "one between two sites"),
        (
            '<tendon><spatial stiffness="2" springlength=".1"><site site="hook"/><site site="left_eye"/><site site="left_end"/>'
            "</spatial></tendon>",
            "that never pushes",
        ),
        ('<tendon><fixed armature="2"><joint joint="left_elbow" coef="1"/></fixed></tendon>', "armature of tendons"),
    ],
)
def test_parts_that_titop_cannot_hold_are_refused(extra: str, said: str) -> None:
    with pytest.raises(tt.ModelError, match=said):
        tt.from_mjcf(arms(extra))


def test_files_that_mujoco_refuses_are_refused_in_its_words() -> None:
    with pytest.raises(tt.ModelError, match="malformed-mjcf"):
        tt.from_mjcf("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")
    with pytest.raises(tt.ModelError, match="malformed-mjcf"):
        tt.from_mjcf("/nowhere/robot.xml")


def test_meshes_that_are_missing_are_refused_where_they_weigh_something() -> None:
    mesh = (
        '<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><body name="b"><joint/>%s</body></worldbody></mujoco>'
    )
    looks = '<inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/>'
    assert load(mesh % looks)["b"].mass == 2.0
    assert load(mesh % (BODY + '<geom type="mesh" mesh="m" mass="0"/>'))["b"].mass == 1.5
    heavy = mesh % (BODY + '<geom type="mesh" mesh="m"/>')
    with pytest.raises(tt.ModelError, match="the meshes that give 'b' its mass"):
        tt.from_mjcf(heavy)
    with pytest.warns(tt.ModelWarning, match="left out with its mass"):
        assert tt.from_mjcf(heavy, repair=True)["b"].mass == 1.5


def test_meshes_that_are_there_weigh_what_mujoco_says(tmp_path: Path) -> None:
    points = [(x, y, z) for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3)]
    lines = [f"v {x} {y} {z}" for x, y, z in points]
    faces = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))
    lines += [f"f {a} {b} {c}\nf {a} {c} {d}" for a, b, c, d in faces]
    (tmp_path / "box.obj").write_text("\n".join(lines))
    text = (
        '<mujoco><asset><mesh file="box.obj"/></asset><worldbody><body name="b"><joint/><geom type="mesh" mesh="box"/></body>'
    )
    (tmp_path / "robot.xml").write_text(f"{text}</worldbody></mujoco>")
    assert load(tmp_path / "robot.xml")["b"].mass == pytest.approx(1000 * 0.006, rel=1e-6)  # single precision of meshes


BOX = """<mujoco><compiler meshdir="meshes" %s/><asset><mesh name="box" file="box.obj"/></asset><worldbody>
  <body name="q"><joint/>%s<geom type="mesh" mesh="box" group="4"/></body></worldbody></mujoco>"""
ATTACHED = f"""<mujoco><compiler %s/><asset><model name="x" file="../arm/arm.xml"/></asset><worldbody>
  <body name="p"><joint/>{BODY}<attach model="x" body="q" prefix="k/"/></body></worldbody></mujoco>"""
POINT = '<inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>'


@pytest.mark.parametrize(
    ("own", "inside", "outer"),
    [
        ("", "", ""),
        ('inertiafromgeom="true"', POINT, ""),
        ("", POINT, 'inertiafromgeom="true"'),
        ('inertiagrouprange="0 3"', BODY, ""),
        ("", BODY, 'inertiagrouprange="0 3"'),
    ],
)
def test_models_that_are_attached_weigh_what_mujoco_says(own: str, inside: str, outer: str, tmp_path: Path) -> None:
    for folder in ("arm/meshes", "robot"):
        (tmp_path / folder).mkdir(parents=True)
    points, faces = ("0 0 0", "1 0 0", "0 1 0", "0 0 1"), ("1 3 2", "1 2 4", "2 3 4", "1 4 3")
    lines = [f"v {point}" for point in points] + [f"f {face}" for face in faces]
    (tmp_path / "arm/meshes/box.obj").write_text("\n".join(lines))
    (tmp_path / "arm/arm.xml").write_text(BOX % (own, inside))
    (tmp_path / "robot/robot.xml").write_text(ATTACHED % outer)
    truth = mujoco.MjSpec.from_file(str(tmp_path / "robot/robot.xml")).compile()
    s = load(tmp_path / "robot/robot.xml")
    assert [s["p"].mass, s["k/q"].mass] == truth.body_mass[1:].tolist()


def test_looks_that_contacts_and_lights_name_are_left_out() -> None:
    text = f"""<mujoco><asset><mesh name="m" file="no.stl"/><texture name="t" type="2d" file="no.png"/></asset><worldbody>
      <light texture="t"/><body name="x"><joint/>{BODY}<geom name="one" type="mesh" mesh="m" mass="0"/></body>
      <body name="y"><joint/><geom name="two" size=".1"/></body></worldbody><contact><pair geom1="one" geom2="two"/></contact>
      <sensor><distance geom1="one" geom2="two"/></sensor></mujoco>"""
    assert load(text)["x"].mass == 1.5


def test_what_mujoco_warns_of_is_a_warning_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heard: list[str] = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        with pytest.warns(tt.ModelWarning, match="NaN"):
            tt.from_mjcf(TREE.replace("<option ", '<option magnetic="0 0 nan" '))
        mujoco.MjSpec.from_string('<mujoco><option magnetic="0 0 nan"/></mujoco>')
    finally:
        mujoco.set_mju_user_warning(None)
    assert len(heard) == 1  # the reader's own is not the user's, who has his back
    assert not list(tmp_path.iterdir())


def test_drag_of_the_medium_is_told() -> None:
    with pytest.warns(tt.ModelWarning, match="drag of the medium"):
        tt.from_mjcf(TREE.replace("<option ", '<option density="1.2" '))


def test_without_mujoco_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(tt.ModelError, match=r'pip install "titop\[mjcf\]"'):
        tt.from_mjcf(TREE)


def test_systems_are_written_to_model_files(tmp_path: Path) -> None:
    parts = "".join(FORCES[kind] for kind in ("servo", "rotor", "strut")).replace('name="m" site', 'name="n" site')
    s = load(arms(parts + "<equality>" + CLOSURES["joint"] + "</equality>", outside=LOOSE))
    s.save(tmp_path / "robot.toml")
    m, other = s.resolve(engine="reference"), tt.load(tmp_path / "robot.toml").resolve(engine="reference")
    rng = np.random.default_rng(7)
    q, v, u = m.assemble(m.random_configuration(rng)), m.velocity({}), rng.uniform(size=m.nu)
    np.testing.assert_allclose(m.forward_dynamics(q, v, u=u), other.forward_dynamics(q, v, u=u), rtol=1e-12)  # numbers as typed
