"""Names of blocks and ports: unknown, foreign, doubled and unusable ones are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, body, hinged, refused


class TestNames:
    @pytest.mark.parametrize(
        "second",
        [
            pytest.param((body("arm"), tt.Weld("other")), id="two bodies"),
            pytest.param((body("hand"), tt.Weld("hinge")), id="two joints"),
            pytest.param((body("hinge"), tt.Weld("other")), id="a body and a joint"),
            pytest.param((body("world"), tt.Weld("other")), id="a body named world"),
        ],
    )
    def test_duplicate_names(self, engine: str, second: tuple[tt.RigidBody, tt.Joint]) -> None:
        s = tt.System("rig")
        arm = body("arm")
        s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0]))
        s.connect(arm, *second)
        error = refused(s, engine)
        duplicate = [finding for finding in error.findings if finding.code == "duplicate-name"]
        assert [finding.where for finding in duplicate] == [
            name for name in (second[0].name, second[1].name) if name in ("arm", "hinge", "world")
        ]
        assert "expected unique block names" in str(error)
        assert "rename one of the two" in str(error)

    def test_a_joint_used_twice(self, engine: str) -> None:
        s = tt.System("rig")
        arm, hinge = body("arm"), tt.Revolute("hinge", axis=[1, 0, 0])
        s.connect("world", arm, hinge)
        s.connect(arm, body("hand"), hinge)
        error = refused(s, engine)
        assert (error.code, error.where) == ("duplicate-name", "hinge")
        assert "each joint, closure and load used once" in str(error)

    def test_a_load_named_as_a_body(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.add_load(tt.Load("arm", arm, force=[0, 0, 1]))
        error = refused(s, engine)
        assert (error.code, error.where) == ("duplicate-name", "arm")

    def test_unknown_port_of_a_parent(self, engine: str) -> None:
        arm = body(ports={"tip": [0, 0, 2]})
        s = hinged(arm)
        s.connect(arm.port("tpi"), body("hand"), tt.Revolute("wrist", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "unknown-port", "arm.tpi", "expected a port of the block", "did you mean 'tip'?")

    def test_unknown_port_of_a_child(self, engine: str) -> None:
        s = tt.System("rig")
        s.connect("world", body().port("base"), tt.Revolute("hinge", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "unknown-port", "arm.base", "known names: tip")

    def test_unknown_port_of_a_load_and_of_the_world(self, engine: str) -> None:
        arm = body()
        s = tt.System("rig")
        s.connect(s.world.port("A"), arm, tt.Revolute("hinge", axis=[1, 0, 0]))
        s.add_load(tt.Load("wind", arm.port("tup"), force=[1, 0, 0]))
        error = refused(s, engine)
        assert [(finding.code, finding.where) for finding in error.findings] == [
            ("unknown-port", "world.A"),
            ("unknown-port", "arm.tup"),
        ]
        assert "known names: none" in str(error)

    def test_load_on_a_foreign_body(self, engine: str) -> None:
        s = hinged()
        s.add_load(tt.Load("wind", body("sail"), force=[1, 0, 0]))
        assert_says(refused(s, engine), "foreign-target", "wind.target", "got sail", "a block of this system", "connect")

    @pytest.mark.parametrize("port", [None, "C"])
    def test_joints_carry_neither_loads_nor_other_joints(self, engine: str, port: str | None) -> None:
        """A joint's ports move against each other: loads act on bodies, and bodies carry joints."""
        hinge = tt.Revolute("hinge", axis=[1, 0, 0])
        loaded, branched = hinged(joint=hinge), hinged(joint=hinge)
        loaded.add_load(tt.Load("wind", hinge.port(port), force=[1, 2, 3]))
        branched.connect(hinge.port(port), body("hand"), tt.Revolute("wrist", axis=[0, 1, 0]))
        for s in (loaded, branched):
            error = refused(s, engine)
            assert error.code == "not-a-body"
            assert "hinge" in str(error)

    @pytest.mark.parametrize("target", ["arm", None, 3], ids=str)
    def test_loads_on_things_that_are_no_port(self, engine: str, target: Any) -> None:
        s = hinged()
        s.add_load(tt.Load("wind", target, force=[1, 0, 0]))
        assert refused(s, engine).where == "wind.target"

    @pytest.mark.parametrize("name", [None, 3, "", "a.b", "my arm"], ids=repr)
    def test_bad_names_of_blocks(self, engine: str, name: Any) -> None:
        error = refused(hinged(body(name=name)), engine)
        assert_says(error, "bad-name", f"{name}.name", "expected letters, digits and _-/", "rename the block")

    @pytest.mark.parametrize("name", [None, 3, "", "a.b"], ids=repr)
    def test_bad_names_of_ports(self, engine: str, name: Any) -> None:
        error = refused(hinged(body(ports={name: [0, 0, 1]})), engine)
        assert_says(error, "bad-name", f"arm.{name}", "expected a port name without dots", "rename it")

    @pytest.mark.parametrize("parent", ["arm", None, 3, np.zeros(3)], ids=str)
    def test_things_that_are_no_port(self, engine: str, parent: Any) -> None:
        s = tt.System("rig")
        s.connect(parent, body(), tt.Revolute("hinge", axis=[1, 0, 0]))
        error = refused(s, engine)
        assert_says(error, "not-a-port", "hinge.parent", 'body.port("C")', "pass the block itself, not its name")

    def test_things_that_are_no_joint(self, engine: str) -> None:
        s = tt.System("rig")
        s.connect("world", body(), "hinge")  # type: ignore[arg-type]
        assert_says(
            refused(s, engine), "not-a-joint", "connect.joint", "got hinge", "expected a joint block", "use tt.Revolute"
        )
