"""Model files: systems survive them to the last bit."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.flexible import Cloud
from tests.graph.files.model_texts import HEAD, accelerations, equipped, hand_built, looped, numbers
from tests.systems import KINDS, random_joint, random_tree
from titop.graph.files.saving import save, to_text
from titop.graph.load import load


class TestRoundTrips:
    @pytest.mark.parametrize("seed", range(40))
    def test_random_systems(self, seed: int, tmp_path: Path) -> None:
        rng = np.random.default_rng(seed)
        system = random_tree(rng, int(rng.integers(1, 7)), passive=bool(seed % 4), loads=True)
        save(system, tmp_path / "a.toml")
        loaded = load(tmp_path / "a.toml")
        save(loaded, tmp_path / "b.toml")
        assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
        assert [c.joint.name for c in loaded.connections] == [c.joint.name for c in system.connections]
        assert [c.placement for c in loaded.connections] == [c.placement for c in system.connections]
        assert accelerations(loaded) == accelerations(system)

    @pytest.mark.parametrize("seed", range(20))
    def test_random_loops(self, seed: int, tmp_path: Path) -> None:
        rng = np.random.default_rng(seed)
        system = looped(rng, int(rng.integers(2, 7)))
        save(system, tmp_path / "a.toml")
        loaded = load(tmp_path / "a.toml")
        save(loaded, tmp_path / "b.toml")
        assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
        assert numbers(loaded) == numbers(system)
        ends = [[(str(x.first), str(x.second), x.closure.name) for x in s.loops] for s in (loaded, system)]
        assert ends[0] == ends[1]
        for one, other in zip(loaded.loops, system.loops, strict=True):
            assert type(one.closure) is type(other.closure)
            if isinstance(one.closure, tt.RigidClosure):
                assert one.closure.constraint_names == other.closure.constraint_names

    def test_defaults_of_closures_are_left_out(self) -> None:
        s = hand_built()
        arm = s.connections[0].child.block
        s.close_loop(arm.port("tip"), "world", tt.RigidClosure("pin"))
        s.close_loop(arm, s.world.port("A"), tt.CompliantClosure("spring", stiffness=5))
        text = to_text(s)
        assert '[closures.pin]\ntype = "rigid"\nfirst = "arm.tip"\nsecond = "world"\n\n' in text
        assert text.endswith(
            '[closures.spring]\ntype = "compliant"\nfirst = "arm"\nsecond = "world.A"\n'
            "stiffness = [5.0, 5.0, 5.0, 5.0, 5.0, 5.0]\n\n"
            '[loads.push]\ntarget = "arm.tip"\nforce = [0.0, 0.0, -2.0]\n'
        )

    def test_what_stiffens_a_body(self) -> None:
        rng = np.random.default_rng(0)
        body = Cloud.random(rng, modes=2).body(rng, "cloud")
        s = tt.System("rig")
        s.connect("world", body, tt.Revolute("hinge"))
        text = to_text(s)
        found = load(text)["cloud"]
        assert to_text(load(text)) == text
        assert isinstance(found, tt.FlexibleBody)
        assert np.array_equal(found.law_numbers(), body.law_numbers())
        assert found.second_order is not None

    def test_bits_tell(self) -> None:
        """The negative control: the smallest change of a mass changes the accelerations, and the text."""
        changed = hand_built()
        changed.connections[0].child.block.mass = np.nextafter(3.0, 4.0)
        assert accelerations(changed) != accelerations(hand_built())
        assert to_text(changed) != to_text(hand_built())

    def test_random_systems_cover_every_joint(self) -> None:
        texts = "".join(to_text(random_tree(np.random.default_rng(seed), 6)) for seed in range(40))
        assert all(f'type = "{kind.lower()}"' in texts for kind in KINDS)

    def test_the_compiled_resolver_agrees(self) -> None:
        system = random_tree(np.random.default_rng(3), 6, passive=True, loads=True)
        assert accelerations(load(to_text(system)), "compiled") == accelerations(system, "compiled")

    @pytest.mark.parametrize("kind", ["Spherical", "Free"])
    def test_rest_quaternions_keep_their_bits(self, kind: str) -> None:
        for seed in range(50):
            joint = random_joint(np.random.default_rng(seed), "joint", kind, passive=True)
            s = tt.System()
            s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0), joint)
            assert load(to_text(s)).connections[0].joint.rest.tobytes() == joint.rest.tobytes()

    def test_a_rest_quaternion_typed_by_hand_is_normalised(self) -> None:
        text = HEAD + '[bodies.b]\ntype = "rigid"\nmass = 1\ninertia = 1\n'
        text += '[joints.j]\ntype = "spherical"\nparent = "world"\nchild = "b"\nrest = [0, 0, 0.7071068, 0.7071068]\n'
        assert np.linalg.norm(load(text).connections[0].joint.rest) == pytest.approx(1.0, abs=1e-15)

    def test_order_of_children_before_parents_is_kept(self) -> None:
        s = tt.System()
        a, b = (tt.RigidBody(name, 1.0, inertia=1.0) for name in "ab")
        s.connect(a, b, tt.Revolute("second"))
        s.connect("world", a, tt.Revolute("first"))
        loaded = load(to_text(s))
        assert loaded.resolve("reference").coordinate_names == ("second", "first")
        assert to_text(loaded) == to_text(s)

    def test_order_of_bodies_in_a_file_is_kept(self) -> None:
        bodies = [f'[bodies.{name}]\ntype = "rigid"\nmass = 1.0\ninertia = [1.0, 1.0, 1.0]\n' for name in "ba"]
        joints = [
            f'[joints.j{name}]\ntype = "revolute"\nparent = "world"\nchild = "{name}"\naxis = [0, 0, 1]\n' for name in "ab"
        ]
        text = to_text(load(HEAD + "".join(joints + bodies)))
        assert text.index("bodies.b") < text.index("bodies.a") < text.index("joints.ja") < text.index("joints.jb")

    def test_names_that_need_quotes(self) -> None:
        s = tt.System('a "name"\n\x7f\\')
        body = tt.RigidBody("größe/1", 1.0, ports={"with space": [0, 0, 1], 'quote"': [1, 0, 0], "": [0, 0, 0]})
        body.port_poses.pop("")
        s.connect("world", body, tt.Free("base"))
        s.add_load(tt.Load("push", body.port("with space"), force=[1, 0, 0]))
        text = to_text(s)
        assert '[bodies."größe/1"]' in text
        assert to_text(load(text)) == text
        assert load(text).name == s.name

    def test_unusual_floats(self) -> None:
        values = [-0.0, 5e-324, 1.7976931348623157e59]
        s = tt.System(gravity=values)
        s.connect("world", tt.RigidBody("b", 0.1 + 0.2, com=[-0.0, 0.0, 0.0]), tt.Free("base"))
        loaded = load(to_text(s))
        assert loaded.gravity.tobytes() == np.array(values).tobytes()
        assert math.copysign(1.0, loaded.connections[0].child.block.com[0]) == -1.0

    def test_limits_and_friction(self) -> None:
        s = tt.System()
        body = tt.RigidBody("b", 1.0, inertia=1.0)
        limits, friction = (
            tt.Limits(lower=-1, upper=2, effort=5, stiffness=1e5, dissipation=0.3),
            tt.Friction(coulomb=0.1, breakaway=0.3),
        )
        s.connect("world", body, tt.Planar("table", limits=[limits, tt.Limits(), limits], friction=friction))
        s.connect(body, tt.RigidBody("c", 1.0, inertia=1.0), tt.Revolute("hinge", limits=limits))
        text = to_text(s)
        table, hinge = (connection.joint for connection in load(text).connections)
        assert hinge.limits == (limits,)
        assert table.limits == (limits, tt.Limits(), limits)
        assert table.friction.tolist() == [[0.1, 0.3, 0.01, 0.001]] * 3
        assert hinge.friction.tolist() == [[0.0, 0.0, 0.01, 0.001]]
        assert "limits.upper = 2.0" in text
        assert "limits.dissipation = 0.3" in text
        assert "friction.breakaway = 0.3" in text
        assert to_text(load(text)) == text

    def test_actuators_and_sensors(self) -> None:
        s = equipped()
        loaded = load(to_text(s))
        assert to_text(loaded) == to_text(s)
        assert loaded.resolve("reference").input_names == s.resolve("reference").input_names
        assert (loaded.actuators[0].lower, loaded.actuators[0].upper) == (-2, 2)
        assert accelerations(loaded) == accelerations(s)


def test_a_robot_goes_through_a_file_bit_by_bit(tmp_path):
    """URDF to system to file to system: the same bits of accelerations."""
    urdf = Path(__file__).parents[3] / "examples" / "models" / "arm.urdf"
    robot = tt.from_urdf(urdf, base="free")
    robot.save(tmp_path / "arm.toml")
    one, other = robot.resolve(), tt.load(tmp_path / "arm.toml").resolve()
    rng = np.random.default_rng(0)
    q, v, tau = one.random_configuration(rng), rng.normal(size=one.nv), rng.normal(size=one.nv)
    assert (one.forward_dynamics(q, v, tau) == other.forward_dynamics(q, v, tau)).all()


def test_what_acts_keeps_its_order(tmp_path: Path) -> None:
    """Sums of what acts on a port round otherwise in another order: the same bits want the same one."""
    rng = np.random.default_rng(0)
    s = tt.System("mount", gravity=[0, 0, -9.81])
    base = tt.RigidBody("base", 1.3, [0.1, 0.2, 0.3], [0.1, 0.2, 0.25], ports={"p": [0.2, -0.1, 0.3]})
    arm = tt.RigidBody("arm", 0.7, [0.3, 0.1, 0.2], [0.1, 0.2, 0.25], ports={"p": [0.1, 0.3, 0.2]})
    s.connect("world", base, tt.Free("free"))
    s.connect(base, arm, tt.Revolute("hinge", axis=[1, 2, 3]))
    s.close_loop("world", base.port("p"), tt.SpringDamper("first", stiffness=2.1, damping=0.3, length=0.1))
    s.add_interaction(tt.Cable("cable", stiffness=5.0, length=0.1), base.port("p"), arm.port("p"))
    s.close_loop(base.port("p"), arm.port("p"), tt.SpringDamper("spring", stiffness=3.7, damping=0.4, length=0.2))
    s.close_loop("world", arm.port("p"), tt.CompliantClosure("mount", stiffness=rng.uniform(1, 9, 6), damping=[0.2] * 6))
    s.save(tmp_path / "mount.toml")
    made, read = s.resolve(), tt.load(tmp_path / "mount.toml").resolve()
    assert [loop.closure.name for loop in read.mechanism.interactions] == ["first", "cable", "spring", "mount"]
    for _ in range(20):
        q, v = made.random_configuration(rng), rng.normal(size=made.nv)
        given, found = (m.forward_dynamics(q, v, u=[0.3]) for m in (made, read))
        np.testing.assert_array_equal(found, given)
