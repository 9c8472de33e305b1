"""The diagram of a system as text."""

from __future__ import annotations

import titop as tt
from tests.graph.cranes import body, crane
from titop.graph.drawing.outline import outline


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
        assert ", 1 closure, 1 interaction, " in str(s)
        assert "interaction spring: hook === tower (CompliantClosure)" in str(s).splitlines()

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
        assert repr(crane().resolve()) == "Model('crane', 3 bodies, nq=5, nv=4)"


def test_the_diagram_is_printable() -> None:
    s = tt.System("\x1b[31m" + "rig" * 1_000_000)
    body = tt.RigidBody("b", 1.0, inertia=1, ports={"a\nb\x07": [0, 0, 1]})
    s.connect("world", body, tt.Revolute("h"))
    s.add_load(tt.Load("l", body.port("a\nb\x07")))
    lines = str(s).split("\n")
    assert all(line.isprintable() and len(line) < 1100 for line in lines)
    assert lines[0].startswith(r"\x1b[31mrig")
    assert len(lines) == 4


def test_tendons_are_told_with_their_rods_and_what_takes_them_in() -> None:
    s = tt.System("finger")
    rod = tt.Rod("rod", 0.3, tt.Section.circle(0.01), young=1e6, density=1000.0)
    s.connect("world", rod, tt.Weld("clamp"))
    s.connect("world", tt.RigidBody("drum", mass=1.0, inertia=0.1), tt.Revolute("axle"))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.005, stiffness=10.0, arms=[0.01]), "axle")
    s.add_sensor(tt.TendonSensor("gauge", "flexor"))
    lines = str(s).splitlines()
    assert "interaction flexor: rod === axle (Tendon)" in lines
    assert "TendonSensor gauge on flexor" in lines
    picture = outline(s)
    flexor = next(k for k, box in enumerate(picture.boxes) if box.name == "flexor")
    ends = [picture.boxes[wire.parent].name for wire in picture.chords if wire.child == flexor]
    assert ends == ["rod", "axle"]
    assert [signal.name for signal in picture.signals if signal.target == flexor] == ["gauge", "flexor.tension"]
