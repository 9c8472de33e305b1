"""Systems from SDF: against closed forms, the same robot in URDF, and systems that are built by hand."""

from __future__ import annotations

import math
import os
import random
import re
import warnings
from pathlib import Path, PureWindowsPath

import numpy as np
import pytest

import titop as tt
from tests.mutants import how_many
from titop.graph.robots import sdf_reader

INERTIAL = """<inertial><pose>.1 -.2 .3 .4 .5 .6</pose><mass>2</mass><inertia><ixx>.3</ixx><iyy>.4</iyy><izz>.5</izz>
  <ixy>.01</ixy><ixz>-.02</ixz><iyz>.03</iyz></inertia></inertial>"""
#: Sums of few terms in another order.
ROUNDED = 1e-12


def sdf(body: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}">{body}</sdf>'


def model(body: str, name: str = "robot") -> str:
    return sdf(f'<model name="{name}">{body}</model>')


def link(name: str, pose: str = "", inertial: str = INERTIAL) -> str:
    return f'<link name="{name}">{pose}{inertial}</link>'


def joint(name: str, kind: str, parent: str, child: str, more: str = "<axis><xyz>0 0 1</xyz></axis>", pose: str = "") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{pose}{ends}{more}</joint>'


def load(text: str | Path, **more: object) -> tt.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("error", tt.ModelWarning)
        return tt.from_sdf(text, **more).resolve(engine="reference")  # type: ignore[arg-type]


def accelerations(m: tt.Model, seed: int = 0) -> np.ndarray:
    """Return forward dynamics at three random states of plain coordinates."""
    rng = np.random.default_rng(seed)
    return np.array([m.forward_dynamics(rng.normal(size=m.nv), rng.normal(size=m.nv), rng.normal(size=m.nv)) for _ in range(3)])


#: An arm, link poses and axes as in URDF; the second with a damped spring.
URDF = """<robot name="robot"><link name="base"/>
  <link name="one"><inertial><origin xyz=".1 -.2 .3" rpy=".4 .5 .6"/><mass value="2"/>
    <inertia ixx=".3" iyy=".4" izz=".5" ixy=".01" ixz="-.02" iyz=".03"/></inertial></link>
  <link name="two"><inertial><origin xyz=".1 -.2 .3" rpy=".4 .5 .6"/><mass value="2"/>
    <inertia ixx=".3" iyy=".4" izz=".5" ixy=".01" ixz="-.02" iyz=".03"/></inertial></link>
  <joint name="a" type="continuous"><parent link="base"/><child link="one"/><origin xyz=".1 .2 .3" rpy=".3 .2 .1"/>
    <axis xyz=".6 0 .8"/></joint>
  <joint name="b" type="prismatic"><parent link="one"/><child link="two"/><origin xyz=".4 0 .1" rpy="0 .5 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping=".7"/></joint></robot>"""
LIMIT = "<limit><lower>-1</lower><upper>2</upper><velocity>3</velocity><effort>4</effort></limit>"
JOINTS = joint("a", "continuous", "base", "one", "<axis><xyz>.6 0 .8</xyz></axis>") + joint(
    "b", "prismatic", "one", "two", f"<axis><xyz>0 1 0</xyz>{LIMIT}<dynamics><damping>.7</damping></dynamics></axis>"
)
NOTHING = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
POSES = {
    "by links": ('<pose relative_to="base">.1 .2 .3 .3 .2 .1</pose>', '<pose relative_to="one">.4 0 .1 0 .5 0</pose>', ""),
    "by joints": (
        '<pose relative_to="mount"/>',
        '<pose relative_to="elbow"/>',
        """<frame name="mount" attached_to="base"><pose>.1 .2 .3 .3 .2 .1</pose></frame>
        <frame name="elbow" attached_to="one"><pose degrees="true">.4 0 .1 0 28.64788975654116 0</pose></frame>""",
    ),
    "by quaternions": (
        '<pose relative_to="base">.1 .2 .3 .3 .2 .1</pose>',
        f'<pose relative_to="one" rotation_format="quat_xyzw">.4 0 .1 0 {math.sin(0.25)!r} 0 {math.cos(0.25)!r}</pose>',
        "",
    ),
}


@pytest.mark.parametrize("way", POSES)
def test_the_same_robot_in_urdf_moves_in_the_same_way(way: str) -> None:
    one, two, frames = POSES[way]
    text = model(link("base", inertial=NOTHING) + link("one", one) + link("two", two) + frames + JOINTS)
    m = load(text, base="fixed", gravity=(1, 2, -9))
    other = tt.from_urdf(URDF, gravity=(1, 2, -9)).resolve(engine="reference")
    assert m.coordinate_names == other.coordinate_names
    np.testing.assert_allclose(accelerations(m), accelerations(other), rtol=ROUNDED)
    assert tt.from_sdf(text, base="fixed")["b"].limits == tt.from_urdf(URDF)["b"].limits


def test_another_pose_is_noticed() -> None:
    one, two, _ = POSES["by links"]
    text = model(link("base", inertial=NOTHING) + link("one", one) + link("two", two.replace(".5", ".50001")) + JOINTS)
    other = tt.from_urdf(URDF).resolve(engine="reference")
    assert np.abs(accelerations(load(text, base="fixed", gravity=(0, 0, -9.81))) - accelerations(other)).max() > 1e-6


def test_a_joint_elsewhere_than_its_link_turns_about_its_place() -> None:
    bob = "<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>"
    axis = '<axis><xyz expressed_in="__model__">1 0 0</xyz></axis>'
    hinge = joint("hinge", "revolute", "world", "bob", axis, "<pose>0 .5 1 0 .3 .8</pose>")
    m = load(model(link("bob", "<pose>0 0 -1 0 0 0</pose>", bob) + hinge))
    length, angle = math.hypot(0.5, 1.0), math.atan2(0.5, 1.0)  # of a pendulum about (0, 0.5, 0)
    expected = -2 * 9.8 * length * math.sin(0.4 - angle) / (0.1 + 2 * length**2)
    assert m.forward_dynamics([0.4], [0.0])[0] == pytest.approx(expected, rel=ROUNDED)


def test_a_screw_falls_along_its_thread() -> None:
    nut = "<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>"
    pitch = 0.3 / (2 * math.pi)
    for thread in ("<screw_thread_pitch>.3</screw_thread_pitch>", f"<thread_pitch>{-1 / pitch!r}</thread_pitch>"):
        m = load(
            model(link("nut", "", nut) + joint("screw", "screw", "world", "nut", f"<axis><xyz>0 0 1</xyz></axis>{thread}"))
        )
        expected = -2 * 9.8 * pitch / (0.1 + 2 * pitch**2)
        assert m.forward_dynamics([0.1], [0.0])[0] == pytest.approx(expected, rel=ROUNDED)


def test_springs_and_friction_are_read() -> None:
    axis = """<axis><xyz>0 0 1</xyz><dynamics><damping>.2</damping><friction>.4</friction><spring_stiffness>3</spring_stiffness>
      <spring_reference>.5</spring_reference></dynamics></axis>"""
    s = tt.from_sdf(model(link("one") + joint("hinge", "revolute", "world", "one", axis)))
    m = s.resolve(engine="reference")
    assert m.passive_efforts([0.1], [0.0])[0] == pytest.approx(3 * 0.4, rel=ROUNDED)
    assert m.parameters()["hinge.friction.coulomb"][0] == 0.4
    assert m.parameters()["hinge.damping"][0] == 0.2


@pytest.mark.parametrize("kind", ["universal", "revolute2", "ball"])
def test_joints_with_several_axes_are_those_of_titop(kind: str) -> None:
    axes = "" if kind == "ball" else "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 .2</xyz></axis2>"
    m = load(model(link("one") + joint("knee", kind, "world", "one", axes, "<pose>.1 .2 .3 .4 0 0</pose>")))
    s = tt.System("by_hand", gravity=(0, 0, -9.8))
    placement = tt.from_sdf(model(link("one")))  # only for its body, made of the same text
    body, at = (
        placement["one"],
        tt.Pose([0.1, 0.2, 0.3], [[1, 0, 0], [0, math.cos(0.4), -math.sin(0.4)], [0, math.sin(0.4), math.cos(0.4)]]),
    )
    body.add_port("knee", at.position, at.rotation)
    by_hand = tt.Spherical("knee") if kind == "ball" else tt.Universal("knee", [1, 0, 0], [0, 1, 0.2])
    s.connect("world", body.port("knee"), by_hand, at)
    other, rng = s.resolve(engine="reference"), np.random.default_rng(1)
    q, v = m.random_configuration(rng), rng.normal(size=m.nv)
    np.testing.assert_allclose(m.forward_dynamics(q, v), other.forward_dynamics(q, v), rtol=ROUNDED)


def test_both_axes_have_springs_and_dampers() -> None:
    spring = "<spring_stiffness>{}</spring_stiffness><spring_reference>.1</spring_reference>"
    dynamics = f"<dynamics><damping>{{}}</damping>{spring}</dynamics>"
    axes = f"<axis><xyz>1 0 0</xyz>{dynamics.format(1, 2)}</axis><axis2><xyz>0 1 0</xyz>{dynamics.format(3, 4)}</axis2>"
    m = load(model(link("one") + joint("knee", "universal", "world", "one", axes)))
    expected = [-2 * (0.2 - 0.1) - 1 * 0.5, -4 * (0.3 - 0.1) - 3 * 0.6]
    np.testing.assert_allclose(m.passive_efforts([0.2, 0.3], [0.5, 0.6]), expected, rtol=ROUNDED)


# -- models of models --------------------------------------------------------------------------------------------------

PENDULUM = link("bob") + joint("hinge", "revolute", "world", "bob")


def test_links_without_a_joint_move_freely_unless_they_are_static() -> None:
    free = link("one", "<pose>1 2 3 0 0 0</pose>")
    m = load(model(free))
    assert m.coordinate_names[0] == "one_base.x"
    np.testing.assert_allclose(m.pose("one", m.neutral())[1], [1, 2, 3])
    np.testing.assert_allclose(
        m.accelerometer("one", m.neutral(), np.zeros(6), m.forward_dynamics(m.neutral(), np.zeros(6)))[:3], 0, atol=1e-12
    )
    assert (
        tt.from_sdf(model(f"<static>true</static>{free}{joint('a', 'revolute', 'world', 'one')}"))
        .resolve(engine="reference")
        .nv
        == 0
    )
    assert load(model(free + link("two")), base="fixed").nv == 0


def test_worlds_have_gravity_and_models_in_models() -> None:
    inner = f'<model name="inner"><pose>0 0 1 0 0 0</pose>{link("tip", "<pose>1 0 0 0 0 0</pose>")}</model>'
    arm = (
        f'<model name="arm"><pose>0 2 0 0 0 0</pose>{inner}{link("root")}{joint("j", "revolute", "root", "inner::tip")}</model>'
    )
    held = joint("held", "fixed", "world", "arm::root", "")
    m = load(sdf(f'<world name="lab"><gravity>0 0 -3</gravity>{arm}{held}<light/></world>'))
    assert m.coordinate_names == ("arm/j",)
    assert m.gravity.tolist() == [0, 0, -3]
    np.testing.assert_allclose(m.pose("arm/inner/tip", [0.0])[1], [1, 2, 1], atol=1e-15)


def test_models_are_included_from_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "model.sdf").write_text(model(link("bob") + '<frame name="eye" attached_to="bob"/>', "bob"))
    includes = """<include><uri>model://bob</uri><name>left</name><pose>0 1 0 0 0 0</pose></include>
      <include><uri>bob/model.sdf</uri><name>right</name><static>true</static></include>"""
    text = f"{includes}{joint('hinge', 'revolute', 'right::eye', 'left')}"
    (tmp_path / "pair.sdf").write_text(model(text))
    m = load(tmp_path / "pair.sdf")
    assert m.coordinate_names == ("hinge",)
    np.testing.assert_allclose(m.pose("left/bob", [0.0])[1], [0, 1, 0], atol=1e-15)
    (tmp_path / "loop").mkdir()
    again = "".join(f"<include><uri>model://loop</uri><name>n{k}</name></include>" for k in range(5))
    (tmp_path / "loop" / "model.sdf").write_text(model(again))  # millions of models, if they were read
    for wrong in (
        text.replace("model://bob", "model://jim"),
        text.replace("model://bob", "../bob"),
        "<include><uri>model://loop</uri></include>",
    ):
        (tmp_path / "wrong.sdf").write_text(model(wrong))
        with pytest.raises(tt.ModelError, match="unknown-include"):
            tt.from_sdf(tmp_path / "wrong.sdf")


@pytest.mark.skipif(os.name == "nt", reason="has no such names")
@pytest.mark.parametrize("path", ["..\\bob", "C:bob", "\\bob", "C:/bob"])
def test_paths_of_windows_do_not_leave_the_folder_there(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / path).mkdir(parents=True)
    (tmp_path / path / "model.sdf").write_text(model(link("bob"), "bob"), "utf-8")
    (tmp_path / "all.sdf").write_text(model(f"<include><uri>{path}</uri></include>"), "utf-8")
    load(tmp_path / "all.sdf")  # here these are names of files
    monkeypatch.setattr(sdf_reader, "PurePath", PureWindowsPath)
    with pytest.raises(tt.ModelError, match="unknown-include"):
        load(tmp_path / "all.sdf")


def test_a_second_joint_to_a_link_closes_a_loop() -> None:
    bars = (
        link("crank", "<pose>0 0 0 0 0 0</pose>")
        + link("bar", "<pose>0 1 0 0 0 0</pose>")
        + link("rocker", "<pose>2 0 0 0 0 0</pose>")
    )
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    joints = joint("a", "revolute", "world", "crank", axis) + joint("b", "revolute", "crank", "bar", axis)
    joints += joint("c", "revolute", "world", "rocker", axis) + joint(
        "d", "revolute", "bar", "rocker", axis, '<pose relative_to="rocker">0 1 0 0 0 0</pose>'
    )
    s = tt.from_sdf(model(bars + joints))
    m = s.resolve(engine="reference")
    assert [loop.closure.kind for loop in s.loops] == ["revolute"]
    q = m.assemble(m.neutral() + 0.1)
    np.testing.assert_allclose(q, [q[0], -q[0], q[0]], atol=1e-9)  # a parallelogram; assembled to within 1e-9
    damped = axis.replace("</axis>", "<dynamics><damping>1</damping></dynamics></axis>")
    with pytest.raises(tt.ModelError, match="damping, friction or a spring of a joint that closes a loop"):
        tt.from_sdf(model(bars + joints.replace(axis, damped)))


@pytest.mark.parametrize("given", ["", ' canonical_link="inner::deep::one"'])
def test_models_of_models_belong_to_a_link_in_these(given: str) -> None:
    inner = f'<model name="inner"><model name="deep">{link("one")}</model></model>'
    body = inner + joint("a", "revolute", "inner", "two") + link("two") + '<frame name="here"/>' + link("tip")
    text = sdf(f'<model name="robot"{given}>{body}{joint("b", "revolute", "here", "tip")}</model>')
    s = tt.from_sdf(text)
    parents = {c.joint.name: str(c.parent) for c in s.connections}
    assert parents["a"].startswith("inner/deep/one")
    assert parents["b"].startswith("inner/deep/one" if given else "two")
    if given:
        with pytest.raises(tt.ModelError, match="unknown-frame"):
            tt.from_sdf(text.replace("::one", "::two"))


def test_joints_have_two_ends() -> None:
    for end in ("<parent>world</parent>", "<child>one</child>"):
        with pytest.raises(tt.ModelError, match=f"got no <{end[1:].partition('>')[0]}>"):
            tt.from_sdf(model(link("one") + joint("a", "revolute", "world", "one")).replace(end, ""))


def test_axes_before_version_1_5_are_those_of_the_model() -> None:
    turned = "<pose>0 0 0 0 0 1.5707963267948966</pose>"
    body = link("one", turned) + joint("a", "revolute", "world", "one", "<axis><xyz>1 0 0</xyz></axis>")
    text = f'<model name="robot">{body}</model>'
    for version, axis in (("1.4", [1, 0, 0]), ("1.5", [0, 1, 0])):
        m = load(sdf(text, version))
        np.testing.assert_allclose(m.pose("one", [0.7])[0] @ m.pose("one", [0.0])[0].T @ axis, axis, atol=1e-15)


def test_mimics_become_gears() -> None:
    mimic = """<axis><xyz>0 0 1</xyz><mimic joint="lead"><multiplier>2</multiplier><offset>.3</offset><reference>.1</reference>
      </mimic></axis>"""
    text = model(
        link("one")
        + link("two")
        + joint("lead", "revolute", "world", "one")
        + joint("follow", "revolute", "world", "two", mimic)
    )
    gear = tt.from_sdf(text)["follow_mimic"]
    assert (gear.ratio, gear.offset) == (2.0, pytest.approx(0.1))


# -- what is wrong -----------------------------------------------------------------------------------------------------

WRONG = {
    "not-sdf": "<robot/>",
    "no-model": sdf('<model name="one"/><model name="two"/>'),
    "unknown-type": model(link("one") + joint("g", "gearbox", "world", "one")),
    "unknown-frame": model(link("one", '<pose relative_to="nowhere">0 0 0 0 0 0</pose>')),
    "cycle": model(link("one", '<pose relative_to="two"/>') + link("two", '<pose relative_to="one"/>')),
    "bad-name": model(link("one") + link("one")),
    "wrong-shape": model(link("one", "<pose>1 2 3</pose>")),
    "not-a-number": model(link("one").replace("<mass>2", "<mass>two")),
    "missing-element": model(link("one") + joint("u", "universal", "world", "one")),
    "zero-axis": model(link("one") + joint("r", "revolute", "world", "one", "<axis><xyz>0 0 0</xyz></axis>")),
    "not-unit": model(link("one", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 2</pose>')),
    "negative-mass": model(link("one").replace("<mass>2", "<mass>-2")),
    "unknown-joint": model(
        link("one") + joint("r", "revolute", "world", "one", '<axis><xyz>0 0 1</xyz><mimic joint="s"/></axis>')
    ),
    "unknown-include": model("<include><uri>model://x</uri></include>"),
    "not-representable": model(link("one").replace("<inertial>", '<inertial auto="true">')),
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_refused_by_name(code: str) -> None:
    with pytest.raises(tt.ModelError, match=code):
        tt.from_sdf(WRONG[code])


def test_what_might_matter_is_told() -> None:
    dragged = link("one").replace(
        "</link>", "<velocity_decay><linear>.1</linear></velocity_decay><gravity>false</gravity></link>"
    )
    with pytest.warns(tt.ModelWarning) as caught:
        tt.from_sdf(model(dragged + '<link name="two"/>'))
    said = " ".join(str(warning.message) for warning in caught)
    assert all(word in said for word in ("<velocity_decay>", "<gravity>", "SDF takes 1 kg"))


def test_bases_are_checked() -> None:
    with pytest.raises(tt.ModelError, match="bad-base"):
        tt.from_sdf(model(link("one")), base="floating")


def test_mutants_are_refused_or_read() -> None:
    one, two, frames = POSES["by joints"]
    text = model(link("base") + link("one", one) + link("two", two) + frames + JOINTS)
    pieces, outcomes = re.split(r"(<[^>]*>)", text), []
    for seed in range(how_many(30)):
        rng, mutant = random.Random(seed), list(pieces)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(mutant))
            mutant[place] = rng.choice(
                ["", mutant[place] * 2, rng.choice(pieces), "nan", "1e300", "-1 0 0", "world", "<link/>"]
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tt.ModelWarning)
                tt.from_sdf("<" + "".join(mutant).lstrip("<")).resolve(engine="reference")
            outcomes.append("read")
        except tt.ModelError:
            outcomes.append("refused")
    assert set(outcomes) == {"read", "refused"}, "mutants that are all alike test nothing"
