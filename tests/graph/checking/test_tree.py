"""What keeps bodies and joints from being one tree is found."""

from __future__ import annotations

import itertools

import titop as tt
from tests.refusals import assert_says, body, hinged, refused


class TestTopology:
    def test_two_parents(self, engine: str) -> None:
        s = tt.System("rig")
        arm, hand = body("arm"), body("hand")
        s.connect("world", arm, tt.Revolute("shoulder", axis=[1, 0, 0]))
        s.connect(arm, hand, tt.Revolute("wrist", axis=[1, 0, 0]))
        s.connect("world", hand, tt.Revolute("strap", axis=[1, 0, 0]))
        error = refused(s, engine)
        words = (
            "got strap and wrist",
            "expected one parent joint a block",
            "keep one of them and close the loop by s.close_loop",
        )
        assert_says(error, "two-parents", "hand", *words)

    def test_a_body_connected_to_itself(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm.port("tip"), arm, tt.Revolute("elbow", axis=[1, 0, 0]))
        error = refused(s, engine)
        assert (error.code, error.where) == ("self-connection", "elbow")
        assert "arm.tip -> arm" in str(error)
        assert "expected two different blocks" in str(error)

    def test_a_cycle_is_listed_hop_by_hop(self, engine: str) -> None:
        s = tt.System("rig")
        a, b, c = body("a"), body("b"), body("c")
        s.connect("world", a, tt.Revolute("j0", axis=[1, 0, 0]))
        s.connect(a, b, tt.Revolute("j1", axis=[1, 0, 0]))
        s.connect(b, c, tt.Revolute("j2", axis=[1, 0, 0]))
        s.connect(c, a, tt.Revolute("j3", axis=[1, 0, 0]))
        error = refused(s, engine)
        finding = next(finding for finding in error.findings if finding.code == "cycle")
        hops = finding.value.split(" -> ")
        assert hops[0] == hops[-1] == finding.where
        assert sorted(hops[1:]) == ["a", "b", "c", "j1", "j2", "j3"]
        assert all((hop, after) in s.graph.edges for hop, after in itertools.pairwise(hops))
        for cure in ("take one of the joints out and close the loop by s.close_loop", "tt.CompliantClosure", "tt.RigidClosure"):
            assert cure in str(error)

    def test_a_cycle_away_from_the_world(self, engine: str) -> None:
        s = hinged()
        a, b = body("a"), body("b")
        s.connect(a, b, tt.Revolute("j1", axis=[1, 0, 0]))
        s.connect(b, a, tt.Revolute("j2", axis=[1, 0, 0]))
        assert {"cycle", "unconnected"} == {finding.code for finding in refused(s, engine).findings}

    def test_the_world_as_a_child(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm, s.world, tt.Revolute("back", axis=[1, 0, 0]))
        error = refused(s, engine)
        assert "world-as-child" in {finding.code for finding in error.findings}
        assert "swap parent and child" in str(error)

    def test_unconnected_parts_are_listed(self, engine: str) -> None:
        s = hinged()
        s.connect(body("sun"), body("earth"), tt.Free("orbit"))
        s.connect(body("fork"), body("knife"), tt.Weld("glue"))
        error = refused(s, engine)
        assert [(finding.code, finding.value) for finding in error.findings] == [
            ("unconnected", "earth, orbit, sun"),
            ("unconnected", "fork, glue, knife"),
        ]
        assert "expected a path of joints from the world to every block" in str(error)
        assert 'connect("world", ..., joint=tt.Free(...)' in str(error)
