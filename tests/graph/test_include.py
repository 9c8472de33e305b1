"""A system used as a block of another."""

from __future__ import annotations

import numpy as np
import pytest
import titop as tt

from tests.systems import random_state

TURNED = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def arm() -> tt.System:
    s = tt.System("arm")
    s.world.add_port("foot", [0.1, 0, 0], TURNED)
    upper = tt.RigidBody("upper", 2.0, com=[0, 0, 0.2], inertia=0.1, ports={"elbow": [0, 0, 0.4]})
    lower = tt.RigidBody("lower", 1.0, com=[0, 0, 0.1], inertia=0.05, ports={"tip": [0, 0, 0.3]})
    s.connect(s.world.port("foot"), upper, tt.Revolute("shoulder", [1, 0, 0], damping=0.1))
    s.connect(upper.port("elbow"), lower, tt.Revolute("elbow", [0, 1, 0]))
    s.add_load(tt.Load("weight", lower.port("tip"), force=[0, 0, -1], frame="world"))
    s.add_actuator(tt.Motor("motor", "elbow"))
    s.add_sensor(tt.Encoder("encoder", "elbow"))
    return s


def test_on_the_world_nothing_changes_but_names():
    alone = arm().resolve()
    s = tt.System("shop")
    s.include(arm(), "a")
    included = s.resolve()
    q, v, _, tau = random_state(alone, np.random.default_rng(0))
    # the same numbers, poses composed in another order
    expected = alone.forward_dynamics(q, v, tau, u=[1.0])
    np.testing.assert_allclose(included.forward_dynamics(q, v, tau, u=[1.0]), expected, rtol=1e-12)
    np.testing.assert_allclose(included.pose("a/lower.tip", q)[1], alone.pose("lower.tip", q)[1], atol=1e-14)
    assert included.coordinate_names == ("a/shoulder", "a/elbow")
    assert included.input_names == ("a/motor",)
    assert included.output_names == ("a/encoder",)


def test_two_arms_on_a_satellite_equal_one_built_by_hand():
    hub = tt.RigidBody("hub", 30, inertia=[3, 4, 5], ports={"left": [0, 1, 0], "right": [0, -1, 0]})
    s = tt.System("satellite")
    s.connect("world", hub, tt.Free("base"))
    parts = [s.include(arm(), side, at=hub.port(side)) for side in ("left", "right")]
    s.connect(parts[1].port("lower.tip"), tt.RigidBody("tool", 0.5, inertia=0.01), tt.Revolute("wrist"), placement=[0, 0, 0.1])
    m = s.resolve()
    assert m.nv == 6 + 2 + 2 + 1
    q, v, a, _ = random_state(m, np.random.default_rng(1))
    np.testing.assert_allclose(m.forward_dynamics(q, v, m.inverse_dynamics(q, v, a)), a, atol=1e-11)
    mirrored = m.configuration({"left/shoulder": 0.3, "right/shoulder": 0.3})
    left, right = (m.pose(f"{side}/upper.elbow", mirrored)[1] for side in ("left", "right"))
    np.testing.assert_allclose(left - right, [0, 2, 0], atol=1e-14)


def test_the_original_is_not_changed():
    original = arm()
    before = str(original)
    s = tt.System("shop")
    s.include(original, "a")
    s.include(original, "b")
    assert str(original) == before
    assert s.resolve().nv == 4


def test_unknown_parts_and_prefixes_used_twice():
    s = tt.System("shop")
    part = s.include(arm(), "a")
    with pytest.raises(tt.ModelError, match="did you mean 'upper'"):
        part.port("uper.elbow")
    s.include(arm(), "a")
    with pytest.raises(tt.ModelError, match="duplicate-name"):
        s.resolve()
