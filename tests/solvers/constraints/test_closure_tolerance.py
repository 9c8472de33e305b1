"""What opens loops is refused and what is rounding is not, in other units too."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, refusal
from tests.solvers.scaled_systems import UNITS, Units, bar
from titop.solvers.constraints import branch

#: A closed configuration of the table, and how its coordinates move with the cranks.
TABLE_AT = {"A0": 1.0, "A1": 1.0, "A2": 1.0, "B": -1.0}
TABLE_MOVES = {"A0": 1.0, "A1": 1.0, "A2": 1.0, "B": -1.0}


def table(units: Units) -> tt.System:
    """Return a bar on three parallel cranks, one more than it needs."""
    s = tt.System("table", gravity=[0, -9.81 * units.length / units.time**2, 0])
    top = bar("top", 2.0, units)
    top.add_port("middle", [units.length, 0, 0])
    cranks = [bar(f"crank{k}", 0.5, units) for k in range(3)]
    for k, crank in enumerate(cranks):
        s.connect("world", crank, tt.Revolute(f"A{k}"), placement=[k * units.length, 0, 0])
    s.connect(cranks[0].port("end"), top, tt.Revolute("B"))
    s.close_loop(cranks[1].port("end"), top.port("middle"), tt.RigidClosure("C1", "revolute"))
    s.close_loop(cranks[2].port("end"), top.port("end"), tt.RigidClosure("C2", "revolute"))
    return s


@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
class TestRedundantConstraints:
    def test_only_what_opens_loops_is_refused(self, engine: str, units: Units) -> None:
        m = table(units).resolve(engine)
        q, v = m.configuration(TABLE_AT), m.velocity({name: x * 2.0 / units.time for name, x in TABLE_MOVES.items()})
        tau = np.linspace(1.0, -1.0, m.nv) * units.effort
        a = m.forward_dynamics(q, v, tau)
        tau = m.inverse_dynamics(q, v, a, actuated=["A0"])
        off = m.velocity({**dict.fromkeys(TABLE_AT, 1.0), "A1": 1.05})
        with refusal("inconsistent-velocity", "C"):
            m.forward_dynamics(q, off * v, tau)
        with refusal("inconsistent-acceleration", "C"):
            m.inverse_dynamics(q, v, off * a, actuated=["A0"])

    def test_what_rounding_leaves_at_an_equilibrium_is_accepted(
        self, engine: str, units: Units, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Forward dynamics there, and back, of accelerations that are nothing but rounding."""
        m = table(units).resolve(engine)
        q, nothing = m.configuration(TABLE_AT), np.zeros(m.nv)
        tau = m.inverse_dynamics(q, nothing, nothing, actuated=["A0"])
        a = m.forward_dynamics(q, nothing, tau)
        assert 0 < np.abs(a).max() * units.time**2 < 1e-12
        # a little more, and not along what the constraints leave
        opening = 1e-11 / units.time**2 * np.linspace(1.0, -1.0, m.nv)
        for rounding in (a, opening):
            np.testing.assert_allclose(m.inverse_dynamics(q, nothing, rounding, actuated=["A0"]), tau, rtol=1e-10)
        monkeypatch.setattr(branch, "SAME", 0.0)
        with refusal("inconsistent-acceleration", "C"):
            m.inverse_dynamics(q, nothing, opening, actuated=["A0"])
