"""Systems: names in the models that they become."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.graph.cranes import QUARTER, ROUNDING, body, crane


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
