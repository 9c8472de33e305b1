"""URDF robots as links and joints: every error by name."""

from __future__ import annotations

import pytest

import titop as tt
from tests.graph.robots.urdf_texts import GOOD, LIMIT, ROUNDING, findings, inertial, load, one_joint, warned
from titop.graph.robots.robot import AXIAL_KINDS
from titop.graph.robots.urdf import from_urdf


@pytest.mark.parametrize("kind", AXIAL_KINDS)
def test_the_default_axis_is_x_and_suspicious(kind: str) -> None:
    text = one_joint(kind, LIMIT if kind != "continuous" else "").replace('<axis xyz="1 0 0"/>', "")
    with pytest.warns(tt.ModelWarning, match=r"r\.joint: got no <axis>.*URDF takes 1 0 0") as caught:
        model = from_urdf(text).resolve()
    assert len(caught) == 1
    assert model.mass_matrix([0.0]) == pytest.approx(2.0 if kind == "prismatic" else 0.3, rel=ROUNDING)


def test_axes_that_are_no_unit_vectors_are_told_once() -> None:
    """And not those that were typed with three digits."""
    more = (
        '<link name="b2"/><joint name="j2" type="continuous"><parent link="bob"/><child link="b2"/><axis xyz="0 0 2"/></joint>'
    )
    text = (
        one_joint("continuous", '<axis xyz="1 1 0"/>')
        .replace("</robot>", f"{more}</robot>")
        .replace('<link name="b2"/>', f'<link name="b2">{inertial()}</link>')
    )
    assert warned(text).startswith("r.joint: got an axis that is not of length one (2 times)")
    load(text.replace("1 1 0", "0.707 0.707 0").replace("0 0 2", "0 0.577 0.816"))


@pytest.mark.parametrize("kind", ["fixed", "floating", "planar"])
def test_other_joints_need_no_axis(kind: str) -> None:
    load(one_joint(kind))


def test_limits_damping_friction_and_armature() -> None:
    dynamics = '<dynamics damping="0.5" friction="0.25" armature="0.125"/>'
    system = from_urdf(one_joint("revolute", f"{LIMIT}{dynamics}"))
    joint = system.graph.nodes["joint"]["block"]
    assert joint.limits == (tt.Limits(lower=-1, upper=2, velocity=3, effort=4),)
    model = system.resolve()
    assert model.mass_matrix([0.0]) == pytest.approx(0.3 + 0.125, rel=ROUNDING)
    assert model.passive_efforts([0.0], [2.0]) == pytest.approx(-0.5 * 2 - 0.25, rel=ROUNDING)


def test_limits_that_urdf_leaves_out() -> None:
    text = one_joint("revolute", '<limit upper="2" velocity="inf" effort="4"/>')
    assert from_urdf(text).graph.nodes["joint"]["block"].limits == (tt.Limits(lower=0, upper=2, effort=4),)
    text = one_joint("continuous", '<limit effort="4"/>')
    assert from_urdf(text).graph.nodes["joint"]["block"].limits == (tt.Limits(effort=4),)
    for inside in ("", '<limit effort="4" velocity="1"/>', '<limit upper="1" velocity="1"/>'):
        assert "[missing-limit]" in warned(one_joint("prismatic", inside))
    assert "lower and upper of a continuous joint" in warned(one_joint("continuous", LIMIT))


def geared(namespace: str) -> str:
    """Return a robot whose joint has a rotor and a gear."""
    rotor = '<drake:rotor_inertia value="0.001"/><drake:gear_ratio value="-30"/>'
    transmission = f'<transmission><joint name="joint"/><actuator name="a">{rotor}</actuator></transmission>'
    text = one_joint("continuous").replace("</robot>", f"{transmission}</robot>")
    return text.replace("<robot", f'<robot xmlns:drake="{namespace}"')


@pytest.mark.parametrize("scheme", ["http://", "https://", "http://www.", ""])
@pytest.mark.parametrize("end", ["", "/"])
def test_drake_is_the_same_in_all_spellings(scheme: str, end: str) -> None:
    """Rotor inertia times the square of the gear ratio; what is not Drake's is told."""
    text = geared(f"{scheme}drake.mit.edu{end}")
    assert load(text).mass_matrix([0.0]) == pytest.approx(0.3 + 0.9, rel=ROUNDING)
    spring = "<drake:linear_bushing_rpy/></robot>"
    assert findings(text.replace("</robot>", spring)) == {"r.{drake.mit.edu}linear_bushing_rpy": "not-representable"}
    assert "r.transmission: got element <{mit.edu/drake}rotor_inertia>" in warned(geared(f"{scheme}mit.edu/drake{end}"))
    assert "r.transmission: got element <rotor_inertia>" in warned(text.replace("drake:rotor", "rotor"))


def test_the_rotor_of_drake() -> None:
    """It belongs to one joint that has no other armature."""
    text = geared("http://drake.mit.edu")
    assert findings(text.replace('<joint name="joint"/>', '<joint name="knee"/>')) == {"r.transmission": "unknown-joint"}
    assert findings(text.replace('<joint name="joint"/>', "")) == {"r.transmission.rotor_inertia": "not-representable"}
    double = text.replace("</joint>", '<dynamics armature="1"/></joint>')
    assert findings(double) == {"r.joint.dynamics": "two-armatures"}


#: What is replaced in a good robot by what, and where this is found wrong, with which code.
WRONG = [
    ('mass value="2.0"', 'mass value="-2.0"', "r.bob.mass", "negative-mass"),
    ('mass value="2.0"', "mass", "r.bob.inertial.mass.value", "missing-attribute"),
    ('<mass value="2.0"/>', "", "r.bob.inertial.mass", "missing-element"),
    ('mass value="2.0"', 'mass value="nan"', "r.bob.inertial.mass.value", "not-a-number"),
    ('mass value="2.0"', 'mass value="1e999"', "r.bob.inertial.mass.value", "not-finite"),
    ('mass value="2.0"', 'mass value="2_0"', "r.bob.inertial.mass.value", "not-a-number"),
    ('mass value="2.0"', 'mass value="2,0"', "r.bob.inertial.mass.value", "not-a-number"),
    ('mass value="2.0"', 'mass value="${m}"', "r.bob.inertial.mass.value", "not-a-number"),
    ('mass value="2.0"', 'mass value="2 0"', "r.bob.inertial.mass.value", "wrong-shape"),
    ('mass value="2.0"', 'mass weight="2.0" value="2"', "r.bob.inertial.mass.weight", "unknown-attribute"),
    ('ixx="0.3"', 'ixx="-0.3"', "r.bob.inertia", "negative-inertia"),
    (' ixy="0"', "", "r.bob.inertial.inertia.ixy", "missing-attribute"),
    ('xyz="0 0 1"', 'xyz="0 0"', "r.joint.origin.xyz", "wrong-shape"),
    ('xyz="0 0 1"', 'xyz="0 0 1 2"', "r.joint.origin.xyz", "wrong-shape"),
    ('xyz="0 0 1"', 'yxz="0 0 1"', "r.joint.origin.yxz", "unknown-attribute"),
    ('xyz="0 0 1" rpy="0 0 0"', 'quat_xyzw="0 0 0 2"', "r.joint.origin.quat_xyzw", "not-unit"),
    ('xyz="0 0 1"', 'quat_xyzw="0 0 0 1"', "r.joint.origin", "two-rotations"),
    ('xyz="0 1 0"', 'xyz="0 0 0"', "r.joint.axis.xyz", "zero-axis"),
    ('lower="-1"', 'lower="3"', "r.joint.limits", "bad-limits"),
    ('lower="-1"', 'lower="x"', "r.joint.limit.lower", "not-a-number"),
    ('damping="0.1"', 'damping="-0.1"', "r.joint.dynamics.damping", "negative-damping"),
    ('damping="0.1"', 'friction="-0.1"', "r.joint.dynamics.friction", "negative-friction"),
    ('"revolute"', '"revolut"', "r.joint.type", "unknown-type"),
    ('"revolute"', '"screw"', "r.joint.type", "unknown-type"),
    (' type="revolute"', "", "r.joint.type", "missing-attribute"),
    ('"revolute"', '"planar"', "r.joint.dynamics", "not-representable"),
    ('"revolute"', '"floating"', "r.joint.dynamics", "not-representable"),
    ('<parent link="stand"/>', "", "r.joint.parent", "missing-element"),
    ('parent link="stand"', "parent", "r.joint.parent.link", "missing-attribute"),
    ('parent link="stand"', 'parent link="stnd"', "r.joint.parent.link", "unknown-link"),
    ('parent link="stand"', 'parent link="bob"', "r.bob", "cycle"),
    ("<axis", "<axis/><axis", "r.joint.axis", "duplicate-element"),
    ("<axis", '<mimic joint="other"/><axis', "r.joint.mimic.joint", "unknown-joint"),
    ("<axis", '<mimic joint="joint"/><axis', "r.joint.mimic.joint", "unknown-joint"),
    ("<axis", "<mimic/><axis", "r.joint.mimic.joint", "missing-attribute"),
    ("<axis", '<mimic joint="joint" ratio="2"/><axis', "r.joint.mimic.ratio", "unknown-attribute"),
    ("<axis", '<mimic joint="joint" multiplier="x"/><axis', "r.joint.mimic.multiplier", "not-a-number"),
    ('"revolute"><', '"floating"><mimic joint="joint"/><', "r.joint.mimic", "not-representable"),
    ("</robot>", '<link name="bob"/></robot>', "r.bob", "duplicate-name"),
    ("</robot>", '<link name="lost"/></robot>', "r", "several-roots"),
    ("</robot>", "<link/></robot>", "r.link[3].name", "missing-attribute"),
    ("</robot>", '<include filename="x"/></robot>', "r.include", "not-representable"),
    ("</robot>", '<loop_joint name="x"/></robot>', "r.x.link1", "missing-element"),
    ("</robot>", '<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="x"/></robot>', None, "not-expanded"),
    ("</robot>", '<x:macro xmlns:x="http://www.ros.org/wiki/xacro" name="x"/></robot>', None, "not-expanded"),
    ("</robot>", '<x:macro xmlns:x="https://wiki.ros.org/xacro/" name="x"/></robot>', None, "not-expanded"),
    ('"bob"', f'"{"b" * 201}"', None, "bad-name"),
    ('name="joint"', 'name="joint" ', None, None),
]


@pytest.mark.parametrize(("old", "new", "where", "code"), WRONG)
def test_what_is_wrong_is_named(old: str, new: str, where: str | None, code: str | None) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new)
    if code is None:
        load(text)
        return
    found = findings(text)
    assert code in found.values()
    assert where is None or found[where] == code


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = GOOD
    for old, new, _, _ in (WRONG[0], WRONG[10], WRONG[12], WRONG[17], WRONG[20], WRONG[28]):
        text = text.replace(old, new)
    assert len(findings(text)) >= 5


@pytest.mark.parametrize(
    ("tag", "inside"),
    [
        ("transmission", "<actuator name='m'><mechanicalReduction>50</mechanicalReduction></actuator>"),
        ("transmission", "<mechanicalReduction>50</mechanicalReduction>"),
        ("transmission", "<actuator name='m'><motorInertia>1e-5</motorInertia></actuator>"),
        ("ros2_control", "<transmission><mechanical_reduction>50</mechanical_reduction></transmission>"),
    ],
)
def test_drives_are_not_left_out_without_a_word(tag: str, inside: str) -> None:
    drive = f"<{tag} name='drive'>{inside}</{tag}>"
    said = warned(one_joint("continuous").replace("</robot>", drive + "</robot>"))
    assert "r.drive: got <m" in said
    assert "armature motorInertia * mechanicalReduction^2" in said


@pytest.mark.parametrize("inside", ["<mechanicalReduction>1</mechanicalReduction>", "<motorInertia> 0.0 </motorInertia>"])
def test_drives_that_change_nothing_need_no_word(inside: str) -> None:
    drive = f"<transmission name='drive'><actuator name='m'>{inside}</actuator></transmission>"
    load(one_joint("continuous").replace("</robot>", drive + "</robot>"))
