"""URDF by small texts: every kind of joint and field against closed forms, every error by name."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from titop.graph.urdf.repair import nearest_inertia
from titop.graph.urdf.robot_system import from_urdf
from titop.graph.urdf.vocabulary import AXIAL_KINDS

Array = NDArray[np.float64]

#: Products of a few rounded numbers of order one.
ROUNDING = 1e-14

GRAVITY = 9.81


def inertial(mass: float = 2.0, xyz: str = "0 0 0", rpy: str = "0 0 0", diagonal: tuple[float, ...] = (0.3, 0.4, 0.5)) -> str:
    """Return an inertial element."""
    xx, yy, zz = diagonal
    tensor = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
    return f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>{tensor}</inertial>'


def one_joint(kind: str, inside: str = "", inertia: str = "", name: str = "joint") -> str:
    """Return a robot of two links; their joint, if it has no axis, moves along or about x."""
    inertia = inertia or inertial()
    if kind in AXIAL_KINDS and "<axis" not in inside:
        inside += '<axis xyz="1 0 0"/>'
    links = f'<link name="stand"/><link name="bob">{inertia}</link>'
    ends = '<parent link="stand"/><child link="bob"/>'
    return f'<robot name="r">{links}<joint name="{name}" type="{kind}">{ends}{inside}</joint></robot>'


LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def load(text: str, base: str = "fixed") -> tt.Model:
    """Return the model of a text about which there is nothing to say."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return from_urdf(text, base).resolve()


def findings(text: str) -> dict[str, str]:
    """Return what is wrong: where and code."""
    with pytest.raises(tt.ModelError) as caught:
        from_urdf(text)
    assert all(finding.expected and finding.advice for finding in caught.value.findings)
    return {finding.where: finding.code for finding in caught.value.findings}


def warned(text: str) -> str:
    """Return the only warning."""
    with pytest.warns(tt.ModelWarning) as caught:
        from_urdf(text)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return str(caught[0].message)


# -- joints ------------------------------------------------------------------------------------------------------------


def test_a_revolute_pendulum() -> None:
    """Mass 2 kg one metre below a hinge, inertia 0.3 kg m^2 about its axis."""
    model = load(one_joint("revolute", f'<axis xyz="1 0 0"/>{LIMIT}', inertial(xyz="0 0 -1")))
    assert model.coordinate_names == ("joint",)
    assert model.mass_matrix([0.7]) == pytest.approx(2.3, rel=ROUNDING)
    assert model.inverse_dynamics([0.7], [0.5], [0.2]) == pytest.approx(2 * GRAVITY * np.sin(0.7) + 2.3 * 0.2, rel=ROUNDING)


def test_a_prismatic_joint_along_a_slanted_axis() -> None:
    """The axis' direction alone counts; that it is no unit vector is told."""
    with pytest.warns(tt.ModelWarning, match=r"r\.joint: got an axis that is not of length one; expected a unit vector"):
        model = from_urdf(one_joint("prismatic", f'<axis xyz="3 0 4"/>{LIMIT}')).resolve()
    assert model.inverse_dynamics([0.7], [0.5], [0.2]) == pytest.approx(2 * (GRAVITY * 0.8 + 0.2), rel=ROUNDING)
    np.testing.assert_allclose(model.pose("bob", [2.0])[1], [1.2, 0, 1.6], rtol=ROUNDING)


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


def test_a_fixed_joint() -> None:
    model = load(one_joint("fixed", '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'))
    rotation, position = model.pose("bob", [])
    assert model.nv == 0
    np.testing.assert_allclose(rotation, Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix(), atol=ROUNDING)
    np.testing.assert_allclose(position, [1, 2, 3], rtol=ROUNDING)


def test_a_floating_joint_falls() -> None:
    model = load(one_joint("floating"))
    assert model.nv == 6
    a = model.forward_dynamics(model.neutral(), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(a, [0, 0, -GRAVITY, 0, 0, 0], atol=ROUNDING)


@pytest.mark.parametrize("axis", ["0 0 1", "1 0 0", "0 -2 0", "0 0 -1", "1 2 -2", "-1e-9 0 -1"])
def test_a_planar_joint_moves_in_the_plane_of_its_normal(axis: str) -> None:
    """Displacements stay in the plane, the rotation is about the normal, and link axes are the file's."""
    model = load(one_joint("planar", f'<axis xyz="{axis}"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'))
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    normal = np.array(axis.split(), dtype=float)
    normal /= np.linalg.norm(normal)
    rotation, position = model.pose("bob", [0, 0, 0])
    np.testing.assert_allclose(rotation, turn, atol=ROUNDING)
    np.testing.assert_allclose(position, [1, 2, 3], rtol=ROUNDING)
    rotation, position = model.pose("bob", [0.3, 0.4, 0.5])
    moved = turn.T @ (position - [1, 2, 3])
    assert normal @ moved == pytest.approx(0, abs=ROUNDING)
    assert np.linalg.norm(moved) == pytest.approx(0.5, rel=ROUNDING)
    np.testing.assert_allclose(turn.T @ rotation, Rotation.from_rotvec(0.5 * normal).as_matrix(), atol=ROUNDING)
    about_normal = np.array([0.3, 0.4, 0.5]) @ normal**2
    np.testing.assert_allclose(model.mass_matrix([0.3, 0.4, 0.5]), np.diag([2, 2, about_normal]), atol=ROUNDING)


def test_a_planar_joint_about_z_is_that_of_pinocchio() -> None:
    """Pinocchio takes every planar joint as if its normal were z."""
    pin = pytest.importorskip("pinocchio")
    text = one_joint("planar", f'<axis xyz="0 0 1"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>{LIMIT}')
    with pytest.warns(tt.ModelWarning, match="<limit> of a planar joint"):
        model = from_urdf(text).resolve()
    other = pin.buildModelFromXML(text)
    data = other.createData()
    pin.framesForwardKinematics(other, data, np.array([0.3, 0.4, np.cos(0.5), np.sin(0.5)]))
    placement = data.oMf[other.getFrameId("bob")]
    rotation, position = model.pose("bob", [0.3, 0.4, 0.5])
    np.testing.assert_allclose(position, placement.translation, atol=ROUNDING)
    np.testing.assert_allclose(rotation, placement.rotation, atol=ROUNDING)


@pytest.mark.parametrize(
    "rpy", [(0.1, 0.2, 0.3), (3.14159265358979, 0, 0), (0, np.pi / 2, 1), (2, -3, 6), (np.pi, np.pi, 1e-9)]
)
def test_origins_turn_about_fixed_axes(rpy: tuple[float, float, float]) -> None:
    model = load(one_joint("fixed", f'<origin rpy="{rpy[0]!r} {rpy[1]!r} {rpy[2]!r}"/>'.replace("np.float64", "")))
    np.testing.assert_allclose(model.pose("bob", [])[0], Rotation.from_euler("xyz", rpy).as_matrix(), atol=1e-15)


@pytest.mark.parametrize("rpy", ["0 0 90", "-45 0 0", "0 6.3 0", "2 -3 9"])
def test_angles_beyond_a_turn_are_suspected_to_be_degrees(rpy: str) -> None:
    text = one_joint("fixed", f'<origin rpy="{rpy}"/>')
    message = warned(text)
    assert message.startswith(f"r.joint.origin.rpy: got '{rpy}'; expected angles in radians")
    assert message.endswith("[beyond-a-turn]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rotation = from_urdf(text).resolve().pose("bob", [])[0]
    expected = Rotation.from_euler("xyz", [float(angle) for angle in rpy.split()]).as_matrix()  # taken as written
    np.testing.assert_allclose(rotation, expected, atol=1e-14)
    load(one_joint("fixed", '<origin rpy="6.2832 -6.2832 0"/>'))


def test_origins_may_be_quaternions() -> None:
    model = load(one_joint("fixed", '<origin quat_xyzw="0.5 0.5 0.5 0.5"/>'))
    np.testing.assert_allclose(model.pose("bob", [])[0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)


def test_coordinates_follow_the_file() -> None:
    links = "".join(f'<link name="{name}">{inertial()}</link>' for name in "abcd")
    joints = "".join(
        f'<joint name="{parent}{child}" type="continuous"><axis xyz="1 0 0"/>'
        f'<child link="{child}"/><parent link="{parent}"/></joint>'
        for parent, child in ("cd", "bc", "ab")
    )
    assert load(f'<robot name="r">{joints}{links}</robot>').coordinate_names == ("cd", "bc", "ab")


# -- bases, bodies -----------------------------------------------------------------------------------------------------


def test_a_free_base() -> None:
    model = load(one_joint("continuous").replace('"stand"/>', f'"stand">{inertial()}</link>', 1), base="free")
    assert model.coordinate_names[:6] == tuple(f"root_joint.{x}" for x in ("x", "y", "z", "rx", "ry", "rz"))
    assert model.nv == 7
    assert model.gravity_effects(model.neutral())[2] == pytest.approx(4 * GRAVITY, rel=ROUNDING)


def test_gravity_is_given() -> None:
    model = from_urdf(one_joint("prismatic", f'<axis xyz="0 1 0"/>{LIMIT}'), gravity=(0, -1.62, 0)).resolve()
    assert model.gravity_effects([0.0]) == pytest.approx(2 * 1.62, rel=ROUNDING)


def test_unusable_arguments() -> None:
    with pytest.raises(tt.ModelError) as caught:
        from_urdf(one_joint("continuous"), base="floating", gravity=(0, 0))
    assert {finding.code for finding in caught.value.findings} == {"bad-base", "wrong-shape"}


def test_inertial_frames_are_turned_into_link_axes() -> None:
    """The moments about z and x change places when the inertial frame is turned about y."""
    text = one_joint("floating", inertia=inertial(xyz="0.1 0.2 0.3", rpy=f"0 {np.pi / 2!r} 0"))
    moments = load(text).mass_matrix([0, 0, 0, 0, 0, 0, 1])
    com = np.array([0.1, 0.2, 0.3])
    lever = 2 * (com @ com * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(moments[3:, 3:], np.diag([0.5, 0.4, 0.3]) + lever, atol=ROUNDING)


def test_links_without_inertial_are_massless() -> None:
    system = from_urdf(one_joint("continuous"))
    assert system.graph.nodes["stand"]["block"].mass == 0


# -- fields of joints --------------------------------------------------------------------------------------------------


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


def test_the_rotor_of_drake() -> None:
    """Rotor inertia times the square of the gear ratio."""
    rotor = '<drake:rotor_inertia value="0.001"/><drake:gear_ratio value="-30"/>'
    transmission = f'<transmission><joint name="joint"/><actuator name="a">{rotor}</actuator></transmission>'
    text = one_joint("continuous").replace("</robot>", f"{transmission}</robot>")
    text = text.replace("<robot", '<robot xmlns:drake="http://drake.mit.edu"')
    assert load(text).mass_matrix([0.0]) == pytest.approx(0.3 + 0.9, rel=ROUNDING)
    assert findings(text.replace('<joint name="joint"/>', '<joint name="knee"/>')) == {"r.transmission": "unknown-joint"}
    assert findings(text.replace('<joint name="joint"/>', "")) == {"r.transmission.rotor_inertia": "not-representable"}
    double = text.replace("</joint>", '<dynamics armature="1"/></joint>')
    assert findings(double) == {"r.joint.dynamics": "two-armatures"}


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_are_made_allowed() -> None:
    text = one_joint("continuous", name="bob").replace('"stand"', '"left stand.0"')
    with pytest.warns(tt.ModelWarning, match=r"'left stand.0' -> 'left_stand_0', 'bob' -> 'bob_joint'"):
        model = from_urdf(text).resolve()
    assert model.body_names == ("left_stand_0", "bob")
    assert model.coordinate_names == ("bob_joint",)


def test_a_link_called_world_and_a_joint_called_root_joint() -> None:
    text = one_joint("continuous", name="root_joint").replace('"stand"/>', f'"stand">{inertial()}</link>', 1)
    text = text.replace('"stand"', '"world"')
    with pytest.warns(tt.ModelWarning, match="'world' -> 'world_link'"):
        model = from_urdf(text, base="free").resolve()
    assert model.body_names[0] == "world_link"
    assert model.coordinate_names[0] == "root_joint_.x"
    assert model.coordinate_names[6] == "root_joint"


def test_names_that_meet_are_refused() -> None:
    third = '<link name="a.b"/><joint name="j" type="fixed"><parent link="a_b"/><child link="a.b"/></joint></robot>'
    assert findings(one_joint("continuous").replace("bob", "a_b").replace("</robot>", third)) == {"r.a_b": "name-collision"}


# -- what is refused ---------------------------------------------------------------------------------------------------

GOOD = one_joint("revolute", f'<origin xyz="0 0 1" rpy="0 0 0"/><axis xyz="0 1 0"/>{LIMIT}<dynamics damping="0.1"/>')

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
    ("</robot>", '<loop_joint name="x"/></robot>', "r.loop_joint", "not-representable"),
    ("</robot>", '<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="x"/></robot>', None, "not-expanded"),
    ("</robot>", '<x:macro xmlns:x="http://www.ros.org/wiki/xacro" name="x"/></robot>', None, "not-expanded"),
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


@pytest.mark.parametrize("text", ['<sdf version="1.7"/>', "<mujoco/>", '<x:robot xmlns:x="y"/>'])
def test_other_formats_are_refused(text: str) -> None:
    assert findings(text) == {"root": "not-urdf"}


def test_no_links() -> None:
    assert findings('<robot name="r"/>') == {"r": "no-links"}


def test_two_parents_and_cycles() -> None:
    again = '<joint name="again" type="fixed"><parent link="stand"/><child link="bob"/></joint></robot>'
    assert findings(GOOD.replace("</robot>", again)) == {"r.bob": "two-parents"}
    back = '<joint name="back" type="fixed"><parent link="bob"/><child link="stand"/></joint></robot>'
    with pytest.raises(tt.ModelError, match="stand -> bob -> stand"):
        from_urdf(GOOD.replace("</robot>", back))


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = GOOD
    for old, new, _, _ in (WRONG[0], WRONG[10], WRONG[12], WRONG[17], WRONG[20], WRONG[28]):
        text = text.replace(old, new)
    assert len(findings(text)) >= 5


def test_what_is_left_out_is_told_once() -> None:
    text = GOOD.replace("<link ", '<link colour="red" ')
    assert "r.stand: got attribute 'colour' of <link> (2 times)" in warned(text)
    assert "element <flexible>" in warned(GOOD.replace("</robot>", "<flexible/></robot>"))
    spring = '<gazebo reference="joint"><springStiffness>3</springStiffness></gazebo></robot>'
    assert "r.joint: got element <gazebo><springStiffness>" in warned(GOOD.replace("</robot>", spring))


def test_what_says_nothing_about_the_dynamics_is_left_out_silently() -> None:
    silent = '<material name="m"/><transmission/><gazebo/><sensor/><ros2_control/></robot>'
    text = GOOD.replace("</robot>", silent).replace("</inertial>", "</inertial><visual/><visual/><collision/><contact/>")
    load(text.replace("</joint>", '<calibration rising="0"/><safety_controller k_velocity="1"/></joint>'))


def test_massless_leaves_are_found_by_resolve_and_can_be_helped() -> None:
    text = one_joint("continuous", inertia="<visual/>")
    with pytest.warns(tt.ModelWarning, match="repair=True"):
        system = from_urdf(text)
    with pytest.raises(tt.ModelError, match="massless-joint"):
        system.resolve()
    load(text.replace("</joint>", '<dynamics armature="0.1"/></joint>'))


def test_missing_meshes_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "there.stl").touch()
    names = ("there.stl", "gone.stl", "gone.stl", "../also/gone.stl", "package://r/x.stl", "//server/x.stl", "file:///x.stl")
    meshes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    text = GOOD.replace("</inertial>", f"</inertial>{meshes}")
    (tmp_path / "robot.urdf").write_text(text)
    with pytest.warns(tt.ModelWarning) as caught:
        from_urdf(tmp_path / "robot.urdf")
    assert len(caught) == 1
    assert str(caught[0].message).startswith("r: got 'gone.stl' and 1 more; expected files beside the robot")
    load(text)  # a text has no place
    (tmp_path / "robot.urdf").write_text(text.replace("gone", "there").replace("../also/", ""))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_urdf(str(tmp_path / "robot.urdf"))


# -- repair ------------------------------------------------------------------------------------------------------------


def repaired(text: str) -> tuple[tt.System, list[str]]:
    """Return the mended system and what is said about it."""
    with pytest.warns(tt.ModelWarning) as caught:
        system = from_urdf(text, repair=True)
    return system, [str(w.message) for w in caught]


def is_sound(inertia: Array, tolerance: float) -> bool:
    """Tell whether there is a distribution of mass with an inertia: its second moments are not negative."""
    second_moments = np.trace(inertia) / 2 * np.eye(3) - inertia
    return bool(np.linalg.eigvalsh(second_moments)[0] >= -tolerance)


def test_the_nearest_inertia() -> None:
    """The nearest point P of a convex cone to I is the one with ``(I - P) . (J - P) <= 0`` for all J in it."""
    rng = np.random.default_rng(1)
    unsound = 0
    for _ in range(300):
        inertia = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-8, 8)
        inertia += inertia.T + rng.choice([0.0, 3.0]) * np.abs(inertia).max() * np.eye(3)
        size = float(np.abs(inertia).max())
        unsound += not is_sound(inertia, 0.0)
        nearest = nearest_inertia(inertia)
        rounding = 1e-13 * size  # of a few operations with entries of the size
        assert is_sound(nearest, rounding)
        if is_sound(inertia, 0.0):
            np.testing.assert_allclose(nearest, inertia, atol=rounding)
        for scale in (0.1, 1.0, 10.0):
            masses = scale * size * rng.normal(size=(3, 3))
            other = np.trace(masses @ masses.T) / size * np.eye(3) - masses @ masses.T / size
            assert np.sum((inertia - nearest) * (other - nearest)) <= 1e-12 * size * np.abs(other - nearest).max()
    assert 50 < unsound < 250


def test_a_nearby_inertia_is_not_the_nearest() -> None:
    """The negative control: the least change of the largest moment alone is no projection."""
    inertia, nearby = np.diag([1.0, 1.0, 3.0]), np.diag([1.0, 1.0, 2.0])
    np.testing.assert_allclose(nearest_inertia(inertia), np.diag([4, 4, 8]) / 3, rtol=1e-14)
    assert np.linalg.norm(nearby - inertia) > np.linalg.norm(nearest_inertia(inertia) - inertia)


@pytest.mark.parametrize("moments", [(-1e-9, 0.4, 0.4), (0.1, 0.2, 0.5), (-1.0, -1.0, -1.0)])
def test_inertias_are_mended(moments: tuple[float, ...]) -> None:
    text = one_joint("continuous", inertia=inertial(xyz="0 0 -1", rpy="0.1 0.2 0.3", diagonal=moments))
    system, said = repaired(text)
    assert len(said) == 1
    assert said[0].startswith("r.bob.inertia: got principal moments ")
    assert said[0].endswith("[repaired]")
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    np.testing.assert_allclose(system["bob"].inertia, turn @ nearest_inertia(np.diag(moments)) @ turn.T, atol=ROUNDING)
    assert system.check() == []
    with pytest.raises(tt.ModelError, match="repair=True") if min(moments) < 0 else pytest.warns(match="triangle-inequality"):
        from_urdf(text).resolve()


def two_joints(first: str = "", second: str = "", tip: str = "") -> str:
    """Return an arm of two joints, the outer link with `tip` as its inertial."""
    joints = "".join(
        f'<joint name="{name}" type="continuous"><axis xyz="{axis}"/>'
        f'<parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
        for name, axis, parent, child, inside in (("inner", "1 0 0", "a", "b", first), ("outer", "0 1 0", "b", "c", second))
    )
    return f'<robot name="r"><link name="a"/><link name="b">{inertial()}</link><link name="c">{tip}</link>{joints}</robot>'


def test_mimics_of_unknown_joints_are_dropped() -> None:
    text = two_joints(second='<mimic joint="iner" multiplier="2"/>', tip=inertial())
    system, said = repaired(text)
    assert said == ["r.outer.mimic: got <mimic> of 'iner'; expected a joint that moves; 'outer' moves on its own [repaired]"]
    assert system.gears == []
    assert system.resolve().nv == 2
    with pytest.raises(tt.ModelError, match=r"did you mean 'inner'\?; or from_urdf\(\.\.\., repair=True\) mends it"):
        from_urdf(text)


def test_mimics_that_are_sound_stay() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system = from_urdf(two_joints(second='<mimic joint="inner"/>', tip=inertial()), repair=True)
    assert [gear.driver for gear in system.gears] == ["inner"]


@pytest.mark.parametrize(
    ("text", "coordinates"),
    [
        (two_joints(), ("inner",)),
        (two_joints(second='<mimic joint="inner"/>'), ("inner",)),
        (two_joints(first='<mimic joint="outer"/>'), ("inner",)),
        (two_joints().replace(inertial(), ""), ()),
        (two_joints(second='<dynamics armature="1"/>').replace(inertial(), ""), ("outer",)),
        (two_joints(tip=inertial()).replace(inertial(), "", 1), ("inner", "outer")),
    ],
    ids=["leaf", "follows", "leads", "all", "armature", "massless within"],
)
def test_joints_that_carry_nothing_become_fixed(text: str, coordinates: tuple[str, ...]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = from_urdf(text, repair=True)
    assert system.resolve().coordinate_names == coordinates
    assert sum("taken as fixed" in str(w.message) for w in caught) == 2 - len(coordinates)


def test_what_cannot_be_mended_is_refused_all_the_same() -> None:
    for old, new in (('mass value="2.0"', 'mass value="-2.0"'), ("bob", "stand"), ('xyz="0 1 0"', 'xyz="0 0 0"')):
        with pytest.raises(tt.ModelError):
            from_urdf(GOOD.replace(old, new), repair=True)
    with pytest.raises(tt.ModelError, match="another joint"):
        from_urdf(two_joints(first='<mimic joint="inner"/>', tip=inertial()), repair=True)


# -- attacks on the reader ---------------------------------------------------------------------------------------------


def many_links(count: int) -> str:
    """Return links without joints."""
    return "".join(f'<link name="link{k}"/>' for k in range(count))


def following(k: int, driver: str) -> str:
    """Return a joint that follows another."""
    ends = '<parent link="link0"/><child link="link1"/>'
    return f'<joint name="{driver}_{k}" type="continuous">{ends}<mimic joint="{driver}"/></joint>'


@pytest.mark.parametrize(
    "inside",
    [
        many_links(20_000),
        many_links(10_000) + '<joint name="a" type="fixed"><parent link="linkx"/><child link="x"/></joint>' * 10_000,
        f'<link name="{"b" * 1_000_000}a"/><joint name="j" type="fixed"><parent link="{"b" * 1_000_000}"/></joint>',
        f'<link name="a">{"<inertial/>" * 40_000}</link>',
        f'<link name="a"><inertial><origin xyz="{"1 " * 1_000_000}"/></inertial></link>',
        f'<link name="a"><inertial><mass value="{"1" * 5_000_000}"/></inertial></link>',
        "<link " + " ".join(f"a{k}='x'" for k in range(100_000)) + "/>",
        f"<{'x' * 5_000_000}/>",
        many_links(2) + "".join(following(k, f"knee{k}") for k in range(2000)),
        many_links(2) + "".join(following(k, f"{'knee/' * 39}{k}") for k in range(2000)),
        "".join(f'<joint name="j{k}" type="fixed"><parent link="a"/><child link="b"/></joint>' for k in range(5000)),
    ],
    ids=[
        *("links", "unknown links", "long names", "inertials", "numbers", "digits", "attributes", "long tag"),
        *("unknown mimics", "unknown mimics of long names", "two parents"),
    ],
)
def test_hostile_robots_do_not_hang(inside: str) -> None:
    start = time.process_time()
    with pytest.raises(tt.ModelError) as caught:
        from_urdf(f'<robot name="r">{inside}</robot>')
    assert time.process_time() - start < 5.0
    assert len(str(caught.value)) < 50_000


def test_a_robot_of_6000_links_is_read_in_linear_time() -> None:
    """Ten times the links take some ten times as long: quadratic terms took two thirds of the time."""
    seconds = []
    for links in (600, 6000):
        text = "".join(f'<link name="link{k}">{inertial()}</link>' for k in range(links)) + "".join(
            f'<joint name="joint{k}" type="continuous"><parent link="link{(k - 1) // 3}"/><child link="link{k}"/>'
            '<axis xyz="0 0 1"/></joint>'
            for k in range(1, links)
        )
        start = time.process_time()
        system = from_urdf(f'<robot name="r">{text}</robot>')
        seconds.append(time.process_time() - start)
    assert len(system.connections) == 6000
    assert seconds[1] < 5.0
    assert seconds[1] < 20 * seconds[0] + 0.5  # a factor of two and the first imports for noise


def tree_of_links(count: int) -> str:
    """Return a robot in which each link has two more, with all that a joint may have."""
    links = [
        f'<link name="l{k}"><inertial><origin xyz="0.1 0 0" rpy="0 0 0.5"/><mass value="1.5"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
        f'<joint name="j{k}" type="revolute"><parent link="l{(k - 1) // 2}"/><child link="l{k}"/>'
        '<origin xyz="0.3 0 0" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1"/></joint>'
        for k in range(1, count + 1)
    ]
    return "".join(['<robot name="tree"><link name="l0"/>', *links, "</robot>"])


def calls_of(function: Callable[[], object]) -> int:
    """Return how many functions are called, Python's own included."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


def test_large_robots_are_read_and_resolved_in_few_calls_a_link() -> None:
    """Some 850 calls a link and its joint to load and 480 to resolve, however many there are; it was 930 to resolve."""
    tt.from_urdf(tree_of_links(3)).resolve()  # imports and fills caches
    loading, resolving, checking = [], [], []
    for count in (50, 100, 200):
        text = tree_of_links(count)
        system = tt.from_urdf(text)
        loading.append(calls_of(lambda text=text: tt.from_urdf(text)))
        resolving.append(calls_of(system.resolve))
        checking.append(calls_of(system.check))
    per_link = {"load": np.diff(loading) / [50, 100], "resolve": np.diff(resolving) / [50, 100]}
    for calls, most in ((per_link["load"], 900), (per_link["resolve"], 530)):
        assert abs(calls[1] / calls[0] - 1) < 0.02  # linear; sizes of tables of names differ
        assert calls.max() < most
    # negative control: to look at each block once more is noticed
    assert per_link["resolve"][1] + np.diff(checking)[1] / 100 > 530
