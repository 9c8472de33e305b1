"""Closed mechanisms in other units of length, mass and time, and at rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.closed_systems import stewart
from tests.refusals import ENGINES, refusal
from tests.solvers.scaled_systems import SI, UNITS, Units, bar, closed, linkage
from titop.solvers.constraints import closed_dynamics


@pytest.mark.parametrize("geared", [False, True], ids=["closures", "gears"])
@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
class TestClosedMechanisms:
    def test_states_ranks_and_accelerations(self, engine: str, units: Units, geared: bool) -> None:
        plain, scaled = (linkage(each, geared).resolve(engine) for each in (SI, units))
        (q, v), (q_scaled, v_scaled) = closed(plain, SI), closed(scaled, units)
        # loops are closed to 1e-13 of the mechanism's size; velocities and accelerations lose two digits to the loop's geometry
        np.testing.assert_allclose(q_scaled, q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(v_scaled * units.time, v, rtol=0, atol=1e-11)
        assert scaled.closure_rank(q_scaled) == plain.closure_rank(q)
        tau = np.linspace(1.0, -1.0, plain.nv)
        a, a_scaled = plain.forward_dynamics(q, v, tau), scaled.forward_dynamics(q, v / units.time, tau * units.effort)
        np.testing.assert_allclose(a_scaled * units.time**2, a, rtol=0, atol=1e-10 * np.abs(a).max())


def slider_crank(units: Units) -> tt.System:
    """Return a crank that moves a piston: lengths and angles in one loop."""
    s = tt.System("slider", gravity=[0, -9.81 * units.length / units.time**2, 0])
    crank, rod, piston = bar("crank", 0.4, units), bar("rod", 1.1, units), tt.RigidBody("piston", units.mass)
    s.connect("world", crank, tt.Revolute("A"))
    s.connect(crank.port("end"), rod, tt.Revolute("B"))
    s.connect("world", piston, tt.Prismatic("P", axis=[1, 0, 0]))
    s.close_loop(rod.port("end"), piston, tt.RigidClosure("C", "revolute"))
    return s


@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_loops_with_lengths_and_angles(engine: str, units: Units) -> None:
    """States next to a guess, all coordinates free to move, and the efforts of one motor."""
    found = []
    for each in (SI, units):
        m, lengths = slider_crank(each).resolve(engine), np.array([1.0, 1.0, each.length])
        q = m.assemble(m.configuration({"A": 1.0, "B": -1.3, "P": 1.2 * each.length}))
        v = m.assemble_velocity(q, m.velocity({"A": 2.0 / each.time}))
        a = m.forward_dynamics(q, v, np.array([0.0, 0.0, 1.0]) * each.effort / lengths)
        tau = m.inverse_dynamics(q, v, a, actuated=["A"])
        found.append([q / lengths, v / lengths * each.time, a / lengths * each.time**2, tau * lengths / each.effort])
        assert (m.closure_rank(q), m.independent_coordinates(q)) == (2, ("B",))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("function", ["inverse_dynamics", "inverse_dynamics_derivatives"])
def test_what_holds_loops_at_rest_is_found_at_once(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What rounding leaves of gravity's acceleration at both ports of a closure is no motion: nobody needs to look closer."""
    m = slider_crank(SI).resolve()
    q, rest = m.assemble(m.configuration({"A": 1.0, "B": -1.3, "P": 1.2})), np.zeros(m.nv)
    expected = np.array(getattr(slider_crank(SI).resolve("reference"), function)(q, rest, rest))
    monkeypatch.setattr(closed_dynamics, "inverse", None)
    found = np.array(getattr(m, function)(q, rest, rest))
    # nine digits: the reference engine judges and solves in another order
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("seed", range(3))
def test_springs_at_rest_need_no_efforts(seed: int, engine: str) -> None:
    """A platform whose six legs rest, but for rounding: five of them can hold it; of one a force of 1e-5 N is not left."""
    m = stewart(seed).resolve(engine=engine)
    q, some = m.assemble(m.neutral()), [f"l{i}" for i in range(5)]
    still = np.zeros(m.nv)
    tau = m.inverse_dynamics(q, still, still, actuated=some)
    assert np.abs(tau).max() < 1e-8  # 1e5 N/m times rounding of places
    with refusal("under-actuated", "of the largest effort left to others"):
        m.inverse_dynamics(q, still, still, wrenches={"upper5": [1e-5, 0, 0, 0, 0, 0]}, actuated=some)


@pytest.mark.parametrize("units", [SI, *UNITS[::3]], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_efforts_that_balance_but_for_rounding_need_no_actuator(engine: str, units: Units) -> None:
    """A mechanism across gravity, however it is turned, with a load that swings: at rest nothing needs an effort."""
    turn = Rotation.from_rotvec([0.3, 0.7, -0.4]).as_matrix()
    s = tt.System("flat", gravity=turn @ [0, 0, -9.81 * units.length / units.time**2])
    crank, rod, load = bar("crank", 0.3, units), bar("rod", 0.8, units), bar("load", 0.2, units)
    base, piston = tt.Pose(rotation=turn), tt.RigidBody("piston", units.mass)
    s.connect("world", crank, tt.Revolute("A"), placement=base)
    s.connect(crank.port("end"), rod, tt.Revolute("B"))
    s.connect("world", piston, tt.Prismatic("P", axis=[1, 0, 0]), placement=base)
    s.connect(rod.port("end"), load, tt.Revolute("L"))
    s.close_loop(rod.port("end"), piston, tt.RigidClosure("C", directions=np.eye(6)[:, :2]))
    m, rest = s.resolve(engine), np.zeros(4)
    q = m.assemble(m.configuration({"A": 0.6, "B": -0.8, "P": units.length, "L": 0.3}), fixed=["A"])
    for name in ("A", "P"):
        tau = m.inverse_dynamics(q, rest, rest, actuated=[name])
        assert (
            np.abs(tau * m.mechanism.scale.coordinates).max() < 1e-12 * units.effort
        )  # rounding of weights near 10 N a metre away
        derivatives = m.inverse_dynamics_derivatives(q, rest, rest, actuated=[name])
        assert all(np.isfinite(part).all() for part in derivatives)
    swinging = np.array([0, 0, 0, 1e-6 / units.time**2])
    with pytest.raises(tt.ModelError, match="under-actuated"):
        m.inverse_dynamics(q, rest, swinging, actuated=["A"])
