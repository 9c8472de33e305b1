"""Systems: names, the graph, the text form, the order of coordinates, ports and placements, long chains."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import random_state

#: Poses of order one metre through two or three rotations: a few roundings.
ROUNDING = 1e-13

QUARTER = Rotation.from_rotvec([0, 0, np.pi / 2])


@pytest.fixture(params=("compiled", "reference"))
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def body(name: str, **fields: Any) -> tt.RigidBody:
    """Return a body with a port ``tip``, fields replaced."""
    return tt.RigidBody(name, **({"mass": 1.0, "com": [0, 0, 1], "inertia": 0.1, "ports": {"tip": [0, 0, 2]}} | fields))


def crane() -> tt.System:
    """Return a slewing tower with a jib; from the jib's tip hangs a hook, under wind."""
    s = tt.System("crane", gravity=[0, 0, -9.81])
    s.world.add_port("ground", position=[1, 0, 0])
    tower, jib, hook = body("tower"), body("jib"), body("hook")
    s.connect(s.world.port("ground"), tower, tt.Revolute("slew", axis=[0, 0, 1]))
    s.connect(tower.port("tip"), jib, tt.Weld("bolts"), placement=tt.Pose([0, 0, 0.5], QUARTER))
    s.connect(jib.port("tip"), hook.port("tip"), tt.Spherical("rope"))
    s.add_load(tt.Load("wind", hook, force=[10, 0, 0], frame="world"))
    return s


class TestNames:
    def test_coordinates_ports_and_blocks(self, engine: str) -> None:
        m = crane().resolve(engine)
        assert m.name == "crane"
        assert (m.nq, m.nv) == (5, 4)
        assert m.coordinate_names == ("slew", "rope.rx", "rope.ry", "rope.rz")
        assert m.configuration_names == ("slew", "rope.qx", "rope.qy", "rope.qz", "rope.qw")
        assert m.body_names == ("tower", "jib", "hook")
        assert m.joint_names == ("slew", "bolts", "rope")
        assert m.port_names == ("world", "world.ground", "tower", "tower.tip", "jib", "jib.tip", "hook", "hook.tip")

    def test_values_by_name(self, engine: str) -> None:
        m = crane().resolve(engine)
        q = m.configuration({"slew": 0.3, "rope": QUARTER})
        np.testing.assert_allclose(q, [0.3, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)
        np.testing.assert_array_equal(m.velocity({"slew": 0.3, "rope.ry": -1.0}), [0.3, 0, -1, 0])
        np.testing.assert_array_equal(m.velocity({"rope": [1, 2, 3]}), [0, 1, 2, 3])

    def test_an_empty_system_has_no_coordinates(self, engine: str) -> None:
        m = tt.System("void").resolve(engine)
        assert (m.nq, m.nv, m.body_names, m.port_names) == (0, 0, (), ("world",))
        assert m.forward_dynamics([], [], []).shape == (0,)
        assert m.mass_matrix([]).shape == (0, 0)
        assert m.jacobian("world", []).shape == (6, 0)
        assert m.energy([], []).total == 0.0
        with pytest.raises(tt.ModelError, match="mass"):
            m.center_of_mass([])

    def test_welds_have_no_coordinates(self, engine: str) -> None:
        s = tt.System("post")
        s.connect("world", body("post"), tt.Weld("glue"), placement=[0, 0, 3])
        m = s.resolve(engine)
        assert (m.nq, m.nv) == (0, 0)
        np.testing.assert_array_equal(m.pose("post.tip", [])[1], [0, 0, 5])
        np.testing.assert_allclose(m.reaction("glue", [], [], []), [0, 0, 9.81, 0, 0, 0], atol=ROUNDING)
        np.testing.assert_allclose(m.energy([], []).gravity, 9.81 * 4)


class TestGraph:
    def test_nodes_are_blocks(self) -> None:
        s = crane()
        assert set(s.graph) == {"world", "slew", "tower", "bolts", "jib", "rope", "hook", "wind"}
        assert all(block.name == name for name, block in s.graph.nodes(data="block"))
        assert s.graph.nodes["world"]["block"] is s.world

    def test_edges_run_from_parents_to_children_port_to_port(self) -> None:
        s = crane()
        assert list(nx.shortest_path(s.graph, "world", "hook")) == ["world", "slew", "tower", "bolts", "jib", "rope", "hook"]
        assert s.graph.edges["world", "slew"]["parent_port"] == "ground"
        assert s.graph.edges["tower", "bolts"]["placement"] == tt.Pose([0, 0, 0.5], QUARTER)
        assert s.graph.edges["rope", "hook"]["child_port"] == "tip"
        assert s.graph.edges["wind", "hook"]["child_port"] is None

    def test_without_loads_it_is_an_arborescence(self) -> None:
        graph = crane().graph.copy()
        graph.remove_node("wind")
        assert nx.is_arborescence(graph)


class TestText:
    def test_crane(self) -> None:
        assert str(crane()).splitlines() == [
            "crane: 3 connections, gravity [0.0, 0.0, -9.81] m/s^2",
            "world",
            "  world.ground --slew: Revolute [angle]--> tower (RigidBody 1 kg)",
            "    tower.tip --bolts: Weld--> jib (RigidBody 1 kg)",
            "      jib.tip --rope: Spherical [rx, ry, rz]--> hook.tip (RigidBody 1 kg)",
            "load wind on hook: F [10.0, 0.0, 0.0] N, T [0.0, 0.0, 0.0] N m in the world frame",
        ]

    def test_closures_follow_the_tree(self) -> None:
        s = crane()
        s.close_loop(s["hook"].port("tip"), "world", tt.RigidClosure("anchor", "spherical"))
        assert str(s).splitlines()[0] == "crane: 3 connections, 1 closure, gravity [0.0, 0.0, -9.81] m/s^2"
        assert str(s).splitlines()[5] == "closure anchor: hook.tip === world (RigidClosure spherical)"
        s.close_loop(s["hook"], s["tower"], tt.CompliantClosure("spring", stiffness=1))
        assert ", 2 closures, " in str(s)
        assert "closure spring: hook === tower (CompliantClosure)" in str(s).splitlines()

    def test_an_empty_system(self) -> None:
        assert str(tt.System("void")).splitlines() == ["void: 0 connections, gravity [0.0, 0.0, -9.81] m/s^2", "world"]

    def test_every_block_is_listed_and_no_line_twice_whatever_is_wrong(self) -> None:
        """Children before parents, parts away from the world, a second parent and a cycle."""
        s = tt.System("knot")
        a, b, c, d, e = (body(name) for name in ("alpha", "beta", "gamma", "delta", "epsilon"))
        s.connect(b, c, tt.Revolute("j_bc"))
        s.connect(a, b, tt.Revolute("j_ab"))
        s.connect("world", a, tt.Revolute("j_wa"))
        s.connect("world", c, tt.Revolute("j_wc"))
        s.connect(d, e, tt.Revolute("j_de"))
        s.connect(e, d, tt.Revolute("j_ed"))
        s.add_load(tt.Load("wind", d, force=[1, 0, 0]))
        lines = str(s).splitlines()
        assert len(lines) == len(set(lines))
        for name in s.graph:
            assert any(name in line for line in lines)
        for joint in ("j_bc", "j_ab", "j_wa", "j_wc", "j_de", "j_ed"):
            assert sum(joint in line for line in lines) == 1

    def test_a_representation_is_short(self) -> None:
        assert repr(crane()) == "System('crane', 3 connections)"
        assert repr(crane().resolve()) == "CompiledModel('crane', 3 bodies, nq=5, nv=4)"


class TestOrder:
    def test_coordinates_follow_the_connect_calls(self, engine: str) -> None:
        """Even when children are connected before their parents; names of bodies follow the tree."""
        s = tt.System("chain")
        a, b, c = body("a"), body("b"), body("c")
        s.connect(b.port("tip"), c, tt.Revolute("third", axis=[1, 0, 0]))
        s.connect(a.port("tip"), b, tt.Universal("second"))
        s.connect("world", a, tt.Prismatic("first", axis=[1, 0, 0]))
        m = s.resolve(engine)
        assert m.coordinate_names == ("third", "second.first", "second.second", "first")
        assert m.body_names == ("a", "b", "c")

    def test_the_order_changes_nothing_else(self, engine: str) -> None:
        def chain(order: list[int]) -> tt.Model:
            s = tt.System("chain")
            a, b, c = body("a"), body("b"), body("c")
            connections = [
                ("world", a, tt.Spherical("ball")),
                (a.port("tip"), b, tt.Revolute("hinge", axis=[1, 1, 0])),
                (b.port("tip"), c, tt.Prismatic("rail", axis=[0, 1, 1])),
            ]
            for k in order:
                s.connect(*connections[k])
            return s.resolve(engine)

        ordered, shuffled = chain([0, 1, 2]), chain([2, 0, 1])
        q, v, _, tau = random_state(ordered, np.random.default_rng(0))
        a = ordered.forward_dynamics(q, v, tau)
        in_q = [ordered.configuration_names.index(name) for name in shuffled.configuration_names]
        in_v = [ordered.coordinate_names.index(name) for name in shuffled.coordinate_names]
        assert in_v != sorted(in_v)
        np.testing.assert_allclose(shuffled.forward_dynamics(q[in_q], v[in_v], tau[in_v]), a[in_v], rtol=1e-12)


class TestPlaces:
    def test_joints_stand_at_ports_and_placements(self, engine: str) -> None:
        m = crane().resolve(engine)
        rotation, position = m.pose("jib", m.neutral())
        np.testing.assert_allclose(position, [1, 0, 2.5], atol=ROUNDING)
        np.testing.assert_allclose(rotation, QUARTER.as_matrix(), atol=ROUNDING)

    def test_a_child_hangs_by_its_port(self, engine: str) -> None:
        m = crane().resolve(engine)
        q = m.neutral()
        for here, there in zip(m.pose("hook.tip", q), m.pose("jib.tip", q), strict=True):
            np.testing.assert_allclose(here, there, atol=ROUNDING)
        turned = m.configuration({"rope": Rotation.from_rotvec([np.pi / 2, 0, 0])})
        np.testing.assert_allclose(m.pose("hook.tip", turned)[1], [1, 0, 4.5], atol=ROUNDING)
        # the reference frame is 2 m below the port, along the body's -z: the joint turns -z to y, the placement y to -x
        np.testing.assert_allclose(m.pose("hook", turned)[1], [-1, 0, 4.5], atol=ROUNDING)

    def test_a_child_port_with_an_orientation(self, engine: str) -> None:
        flag = tt.RigidBody("flag", mass=1.0, inertia=1.0, ports={"edge": tt.Pose([0, 1, 0], QUARTER)})
        s = tt.System("mast")
        s.connect("world", flag.port("edge"), tt.Prismatic("halyard", axis=[1, 0, 0]))
        m = s.resolve(engine)
        rotation, position = m.pose("flag", [2.0])
        np.testing.assert_allclose(rotation, QUARTER.as_matrix().T, atol=ROUNDING)
        # the port stays at (2, 0, 0); the reference frame is a metre behind it along the body's y, which is the world's x
        np.testing.assert_allclose(position, [1, 0, 0], atol=ROUNDING)

    def test_ports_of_the_world(self, engine: str) -> None:
        s = tt.System("wall")
        s.world.add_port("bracket", position=[0, 3, 0], rotation=QUARTER)
        s.connect(s.world.port("bracket"), body("lamp"), tt.Prismatic("slide", axis=[1, 0, 0]))
        m = s.resolve(engine)
        np.testing.assert_array_equal(m.pose("world.bracket", [0.0])[1], [0, 3, 0])
        np.testing.assert_allclose(m.pose("lamp", [0.5])[1], [0, 3.5, 0], atol=ROUNDING)
        np.testing.assert_array_equal(m.motion("world", [0.5], [1.0], [1.0]), np.zeros(18))

    @pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-5, 1e-3, 1.5e-3, 0.1])
    def test_axes_close_to_minus_z(self, engine: str, tilt: float) -> None:
        """Where an alignment with local z is close to a half turn."""
        axis = np.array([tilt, -0.5 * tilt, -1.0])
        s = tt.System("rig")
        s.connect("world", body("arm"), tt.Revolute("hinge", axis=axis))
        rotation, _ = s.resolve(engine).pose("arm", [0.7])
        np.testing.assert_allclose(rotation, Rotation.from_rotvec(0.7 * axis / np.linalg.norm(axis)).as_matrix(), atol=ROUNDING)

    def test_one_parent_carries_many_children(self, engine: str) -> None:
        s = tt.System("mobile")
        bar = body("bar")
        s.connect("world", bar, tt.Spherical("string"))
        for k in range(5):
            s.connect(bar.port("tip"), body(f"toy{k}"), tt.Revolute(f"thread{k}", axis=[1, k, 0]))
        assert s.resolve(engine).nv == 8

    def test_a_body_may_belong_to_two_systems(self, engine: str) -> None:
        arm, models = body("arm"), []
        for axis in ([1, 0, 0], [0, 1, 0]):
            s = tt.System("rig")
            s.connect("world", arm, tt.Revolute("hinge", axis=axis))
            models.append(s.resolve(engine))
        assert models[0].jacobian("arm", [0.0])[3, 0] == models[1].jacobian("arm", [0.0])[4, 0] == 1.0


class TestModelsAreFrozen:
    def test_later_changes_of_the_system_do_not_reach_a_model(self, engine: str) -> None:
        s = crane()
        m = s.resolve(engine)
        tower = s.graph.nodes["tower"]["block"]
        s.world.add_port("later")
        tower.add_port("later")
        tower.mass = 1e6
        s.gravity[:] = 0.0
        s.connect(tower, body("extra"), tt.Revolute("joint"))
        assert "tower.later" not in m.port_names
        assert m.nv == 4
        for model in (m, m.with_parameters({"slew.stiffness": 1.0})):
            assert model.parameters()["tower.mass"] == (1.0, "kg")
            np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])
            assert float(model.mass_matrix(model.neutral())[0, 0]) < 1e3


def chain(bodies: int) -> tt.System:
    """Return a chain of bodies on hinges, axes by turns."""
    s = tt.System("chain")
    parent: tt.Block | tt.PortRef | str = "world"
    for k in range(bodies):
        link = tt.RigidBody(f"b{k}", mass=1.0, com=[0, 0, -0.5], inertia=0.1, ports={"tip": [0, 0, -1]})
        s.connect(parent, link, tt.Revolute(f"j{k}", axis=[1, 0, 0] if k % 2 else [0, 1, 0], damping=0.1))
        parent = link.port("tip")
    return s


def elapsed(bodies: int) -> float:
    """Return the seconds to build, print and resolve a chain and compute its accelerations once."""
    begin = time.perf_counter()
    s = chain(bodies)
    text, m = str(s), s.resolve()
    a = m.forward_dynamics(np.full(m.nq, 0.01), np.zeros(m.nv), np.zeros(m.nv))
    assert np.isfinite(a).all()
    assert len(text.splitlines()) == bodies + 2
    return time.perf_counter() - begin


def test_ten_thousand_bodies_at_linear_cost() -> None:
    """No recursion, no quadratic step: ten times the bodies take about ten times the time."""
    elapsed(10)  # kernels compiled
    small, large = min(elapsed(1_000) for _ in range(2)), elapsed(10_000)
    assert (
        large < 40 * small
    )  # a quadratic step would make it 100; timing on a busy machine is uncertain by a factor of two or so
    assert large < 20.0


def test_nonsense_is_refused_by_name_or_leaves_no_trace() -> None:
    """Whatever the methods get: no foreign exception, then or when the system is checked, and none half done."""
    other = tt.System("other")
    other.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), tt.Free("f"))
    rng = np.random.default_rng(1)
    methods = {"connect": 4, "close_loop": 3, "add_gear": 1, "add_load": 1, "add_actuator": 1, "add_sensor": 1, "include": 3}
    for k in range(700):
        s = tt.System("s")
        b = tt.RigidBody("b", 1.0, inertia=1, ports={"C": [0, 0, 1]})
        s.connect("world", b, tt.Revolute("h"))
        wheel = tt.ReactionWheel("w", b, [0, 0, 1], 1.0, 1.0)
        things = [None, 3, "world", "b", "", [], {}, np.zeros(3), float("nan"), object, b, b.port("C"), b.port("D"), s.world]
        things += [tt.Revolute("h"), tt.Revolute("k"), tt.Revolute(""), tt.Load("l", b), tt.Load("l", None), tt.Load("b", b)]
        things += [tt.Gear("g", "h", "k"), tt.Motor("m", "h"), tt.Motor("m", None), tt.Encoder("e", "h"), wheel, s, other]
        things += [tt.RigidClosure("c"), tt.RigidClosure("b"), tt.Pose(), tt.RigidBody("c", 1.0, inertia=1.0)]
        method, count = list(methods.items())[k % len(methods)]
        before = [*s.connections, *s.loops, *s.attachments, *s.graph.nodes, *s.graph.edges, *s.world.ports]
        try:
            getattr(s, method)(*(things[i] for i in rng.integers(len(things), size=count)))
        except tt.ModelError:
            assert [*s.connections, *s.loops, *s.attachments, *s.graph.nodes, *s.graph.edges, *s.world.ports] == before
        with contextlib.suppress(tt.ModelError):
            s.check()


def test_the_diagram_is_printable() -> None:
    s = tt.System("\x1b[31m" + "rig" * 1_000_000)
    body = tt.RigidBody("b", 1.0, inertia=1, ports={"a\nb\x07": [0, 0, 1]})
    s.connect("world", body, tt.Revolute("h"))
    s.add_load(tt.Load("l", body.port("a\nb\x07")))
    lines = str(s).split("\n")
    assert all(line.isprintable() and len(line) < 1100 for line in lines)
    assert lines[0].startswith(r"\x1b[31mrig")
    assert len(lines) == 4
