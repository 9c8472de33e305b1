"""Of many roots, the one near the start."""

from __future__ import annotations

import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY, ROUNDING


def test_the_equilibrium_near_the_guess() -> None:
    """More unknowns than conditions: what need not change does not."""
    s = tt.System("drone", gravity=[0, 0, -GRAVITY])
    body = tt.RigidBody("body", 2.0, inertia=[1.0, 2.0, 2.5], ports={"rotor": [0, 0, 0.2]})
    s.connect("world", body, tt.Free("base"))
    s.add_actuator(tt.Thruster("rotor", body.port("rotor"), max_thrust=30))
    model = s.resolve()
    q = model.configuration({"base": tt.Pose([1.0, 2.0, 3.0])})
    point = tt.trim(model, ["base", "rotor"], q=q)
    assert point.q == pytest.approx(q, abs=1e-14)
    assert point.u == pytest.approx([2 * GRAVITY])
    assert point.free == ("base.x", "base.y", "base.z", "base.rz")
    tilted = model.integrate(q, [0, 0, 0, 0.1, -0.2, 0.3])
    point = tt.trim(model, ["base.rx", "base.ry", "base.rz", "rotor"], q=tilted)
    assert pytest.approx([0, 0, 1], abs=ROUNDING) == model.pose("body", point.q)[0].T @ [0, 0, 1]
    # the smallest rotation that does it has no part about the thrust's axis, but for second order
    assert abs(model.difference(tilted, point.q)[5]) < 0.05
    with pytest.raises(tt.ConvergenceError, match="rotor at a bound"):
        tt.trim(model, ["rotor"], bounds={"rotor": (0, 10)})
    with pytest.raises(tt.ConvergenceError, match=r"base\.z"):
        tt.trim(model, ["base"])
