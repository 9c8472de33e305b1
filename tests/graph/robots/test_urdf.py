"""URDF by small texts: every kind of joint and field against closed forms, every error by name."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.graph.robots.urdf_texts import GOOD, LIMIT, ROUNDING, findings, inertial, load, one_joint
from titop.graph.robots.urdf import from_urdf
from titop.solvers.kernels.entries import dynamics_entries

GRAVITY = 9.81


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


def test_massless_leaves_are_found_by_resolve_and_can_be_helped() -> None:
    third = '<link name="tip"/><joint name="loose" type="continuous"><parent link="bob"/><child link="tip"/><axis xyz="1 0 0"/>'
    text = one_joint("continuous").replace("</robot>", third + "</joint></robot>")
    with pytest.warns(tt.ModelWarning, match="repair=True"):
        system = from_urdf(text)
    with pytest.raises(tt.ModelError, match="massless-joint"):
        system.resolve()
    load(text.replace("</joint></robot>", '<dynamics armature="0.1"/></joint></robot>'))


KINEMATIC = """<robot name="arm"><link name="a"/><link name="b"/><link name="c"/>
    <joint name="turn" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint>
    <joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("base", [f'<link name="a">{inertial()}</link>', '<link name="a"/>'])
def test_robots_without_inertia_have_poses_and_no_dynamics(engine: str, repair: bool, base: str) -> None:
    """A slide on an arm that turns about y: the tip is at 1 + s along it; masses that stand still give no dynamics either."""
    with pytest.warns(tt.ModelWarning, match="no-inertia"):
        system = from_urdf(KINEMATIC.replace('<link name="a"/>', base), repair=repair)
    with pytest.warns(tt.ModelWarning, match="poses, Jacobians and closures do without, accelerations are refused"):
        model = system.resolve(engine)
    angle, slid, still = 0.3, 0.2, np.zeros(2)
    q, reach = [angle, slid], 1.0 + slid
    np.testing.assert_allclose(model.pose("c", q)[1], [reach * np.cos(angle), 0, 1 - reach * np.sin(angle)], atol=ROUNDING)
    expected = [[0, 1], [0, 0], [-reach, 0], [0, 0], [1, 0], [0, 0]]  # in the tip's axes
    np.testing.assert_allclose(model.jacobian("c", q), expected, atol=ROUNDING)
    refused: list[Callable[[], object]] = [
        lambda: model.forward_dynamics(q, still, still),
        lambda: model.hybrid_dynamics(q, still, still, still, prescribed=["turn"]),
        lambda: model.forward_dynamics_derivatives(q, still, still),
        lambda: model.inverse_mass_matrix(q),
        lambda: tt.simulate(model, [0.0, 1.0], q, still),
    ]
    for dynamics in refused:
        with pytest.raises(tt.ModelError, match=r"massless-joint"):
            dynamics()
    heavier = model.with_parameters({"c.mass": 1.0, "b.mass": 1.0, "b.com.x": 1.0})
    assert np.isfinite(heavier.forward_dynamics(q, still, still)).all()


def test_a_free_base_with_inertia_is_no_kinematic_robot() -> None:
    """The negative control: there is inertia that moves, and a joint that moves none of it."""
    text = KINEMATIC.replace('<link name="a"/>', f'<link name="a">{inertial()}</link>')
    with pytest.warns(tt.ModelWarning, match="massless-joint"):
        system = from_urdf(text, base="free")
    with pytest.raises(tt.ModelError, match="massless-joint"):
        system.resolve()


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
    """Some 986 calls a link and its joint to load and 695 to resolve, however many there are; it was 930 to resolve.

    Of the former 70 read what a fluid does to a body, six fields, which came after 950 had been the limit; and 30 choose
    between series and closed forms of rotations by functions that kernels in lanes share, which came after 980 had been.

    Of the latter 30 look whether blocks tell a unit for each of their numbers, and which of their methods are their own, and 40
    whether ports go by the names of parameters: these came after 530 had been the limit; and 35 whether numbers that were read
    have been written over since, which came after 610 had been; and 35 whether blocks have states of the first
    order, or stand in a fluid, which came after 650 had been; and 20 ask bodies for their mass properties, as blocks of
    one's own are asked, which came after 685 had been.
    """
    tt.from_urdf(tree_of_links(3)).resolve()  # imports and fills caches
    assert dynamics_entries.pack.compiled  # which may have run as it is written, with calls for each element
    loading, resolving, checking = [], [], []
    for count in (50, 100, 200):
        text = tree_of_links(count)
        system = tt.from_urdf(text)
        loading.append(calls_of(lambda text=text: tt.from_urdf(text)))
        resolving.append(calls_of(system.resolve))
        checking.append(calls_of(system.check))
    per_link = {"load": np.diff(loading) / [50, 100], "resolve": np.diff(resolving) / [50, 100]}
    for calls, most in ((per_link["load"], 1010), (per_link["resolve"], 705)):
        assert abs(calls[1] / calls[0] - 1) < 0.02  # linear; sizes of tables of names differ
        assert calls.max() < most
    # negative control: to look at each block once more is noticed
    assert per_link["resolve"][1] + np.diff(checking)[1] / 100 > 705


# Missing meshes are told.


def test_missing_meshes_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "there.stl").touch()
    names = ("there.stl", "gone.stl", "gone.stl", "../also/gone.stl", "package://r/x.stl", "//server/x.stl", "file:///x.stl")
    meshes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    text = GOOD.replace("</inertial>", f"</inertial>{meshes}")
    (tmp_path / "robot.urdf").write_text(text)
    with pytest.warns(tt.ModelWarning) as caught:
        from_urdf(tmp_path / "robot.urdf")
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"r: got 'gone.stl' and 2 more; expected files beside the robot, in {tmp_path};")
    load(text)  # a text has no place
    (tmp_path / "robot.urdf").write_text(
        text.replace("gone", "there").replace("../also/", "").replace("package://r/x", "there")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_urdf(str(tmp_path / "robot.urdf"))


# Whether the links of a robot are one tree.


def test_no_links() -> None:
    assert findings('<robot name="r"/>') == {"r": "no-links"}


def test_two_parents_and_cycles() -> None:
    again = '<joint name="again" type="fixed"><parent link="stand"/><child link="bob"/></joint></robot>'
    assert findings(GOOD.replace("</robot>", again)) == {"r.bob": "two-parents"}
    back = '<joint name="back" type="fixed"><parent link="bob"/><child link="stand"/></joint></robot>'
    with pytest.raises(tt.ModelError, match="stand -> bob -> stand"):
        from_urdf(GOOD.replace("</robot>", back))
