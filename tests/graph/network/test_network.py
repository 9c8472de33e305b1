"""Blocks connected port to port: the graph, ports and placements, long chains, nonsense."""

from __future__ import annotations

import contextlib
import time

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.graph.cranes import QUARTER, ROUNDING, body, chain, crane


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

    def test_it_is_to_be_read(self) -> None:
        s = crane()
        with pytest.raises(nx.NetworkXError, match="Frozen"):
            s.graph.remove_node("wind")
        s.connect(s["hook"], body("crate"), tt.Weld("straps"))
        assert {*s.graph.successors("straps")} == {"crate"}  # each graph is of the system as it is then


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


def elapsed(bodies: int) -> float:
    """Return the seconds of processor to build, print and resolve a chain and compute its accelerations once."""
    begin = time.process_time()
    s = chain(bodies)
    text, m = str(s), s.resolve()
    a = m.forward_dynamics(np.full(m.nq, 0.01), np.zeros(m.nv), np.zeros(m.nv))
    assert np.isfinite(a).all()
    assert len(text.splitlines()) == bodies + 2
    return time.process_time() - begin


@pytest.mark.long
def test_ten_thousand_bodies_at_linear_cost() -> None:
    """No recursion, no quadratic step: ten times the bodies take about ten times the time."""
    elapsed(10)  # kernels compiled
    small, large = min(elapsed(1_000) for _ in range(2)), elapsed(10_000)
    assert large < 40 * small  # a quadratic step would make it 100; on a busy machine either is uncertain by a factor of two
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
