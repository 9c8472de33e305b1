"""The frozen picture of a system: the order of coordinates, and no later changes."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.graph.cranes import body, crane
from tests.systems import random_state


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
