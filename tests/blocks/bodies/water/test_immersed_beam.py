"""Beams in water, against closed forms, rods in water, and still water seen from a frame that moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.solvers.model.terms import mass_center

LENGTH, RADIUS, DENSITY, YOUNG, RHO = 0.8, 0.004, 1200.0, 2e9, 1000.0
AREA, SECOND = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
GRAVITY = np.array([0.5, 1.0, -9.81])


def clamped(joint: Any = None, gravity: Any = (0, 0, 0), **given: Any) -> tt.System:
    s = tt.System("s", gravity=gravity)
    s.connect("world", tt.Beam("boom", LENGTH, DENSITY, AREA, YOUNG, SECOND, SECOND, **given), joint or tt.Weld("clamp"))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_beam_in_water_swings_slower(engine: str) -> None:
    """``3.516 sqrt(E I / ((m + m_a) L^4))``, with modes up to 5e-6."""
    m = clamped(fluid=tt.Fluid(RHO), added_mass=1.0, modes=4, torsion_modes=0).resolve(engine=engine)
    frequency = np.abs(tt.linearize(m, tt.trim(m)).poles()).min()
    expected = 1.8751040687**2 * np.sqrt(YOUNG * SECOND / ((DENSITY + RHO) * AREA * LENGTH**4))
    assert frequency == pytest.approx(expected, rel=1e-5)
    assert mass_center(m, m.neutral())[3] == pytest.approx(DENSITY * AREA * LENGTH, rel=1e-12)


def test_a_beam_bends_in_a_stream_and_under_its_weight_in_water() -> None:
    """``q L^4 / (8 E I)``: ``q = rho d C c^2 / 2``, and ``q = (rho_b - rho) A g``."""
    unit = LENGTH**4 / (8 * YOUNG * SECOND)
    streaming = clamped(fluid=tt.Fluid(RHO, [0, 0.05, 0]), drag=1.2).resolve()
    tip = streaming.pose("boom.C", tt.trim(streaming).q)[1]
    assert tip[1] == pytest.approx(unit * RHO / 2 * 2 * RADIUS * 1.2 * 0.05**2, rel=1e-6)
    sagging = clamped(gravity=[0, 0, -9.81], fluid=tt.Fluid(RHO)).resolve()
    tip = sagging.pose("boom.C", tt.trim(sagging).q)[1]
    assert tip[2] == pytest.approx(-unit * (DENSITY - RHO) * AREA * 9.81, rel=1e-4)  # it is stiff to second order


def wet(current: Any = (0.3, -0.2, 0.1)) -> tt.System:
    drag = {"normal": 1.1, "tangential": 0.1, "viscous_normal": 0.2}
    water = {"fluid": tt.Fluid(RHO, current), "added_mass": {"normal": 1.0, "tangential": 0.2}, "drag": drag, "lift": 0.2}
    return clamped(tt.Free("float"), GRAVITY, **water)


def state(m: tt.Model) -> Any:
    rng = np.random.default_rng(3)
    scale = np.concatenate([np.full(6, 0.5), np.full(m.nv - 6, 0.01)])
    dq, v, a = scale * rng.normal(size=(3, m.nv))
    return m.integrate(m.neutral(), dq), v, a


def test_engines_agree_and_derivatives_are_those_of_complex_steps() -> None:
    m, reference = wet().resolve(), wet().resolve(engine="reference")
    q, v, a = state(m)
    for name in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        one, two = (np.hstack(getattr(model, name)(q, v, a)) for model in (m, reference))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * np.abs(two).max())
    by_q, by_v, _ = m.inverse_dynamics_derivatives(q, v, a)
    for k, unit in enumerate(np.eye(m.nv)):
        moved = reference.inverse_dynamics(reference.integrate(q, 1e-30j * unit), v + 0j, a)
        np.testing.assert_allclose(by_q[:, k], np.imag(moved) / 1e-30, rtol=0, atol=1e-10 * np.abs(by_q).max())
        moved = reference.inverse_dynamics(q + 0j, v + 1e-30j * unit, a)
        np.testing.assert_allclose(by_v[:, k], np.imag(moved) / 1e-30, rtol=0, atol=1e-10 * np.abs(by_v).max())


def test_a_current_is_still_water_seen_from_a_frame_that_moves() -> None:
    m, still = wet().resolve(), wet((0, 0, 0)).resolve()
    q, v, a = state(m)
    current = m.pose("boom", q)[0].T @ [0.3, -0.2, 0.1]
    slower, turned = v.copy(), a.copy()
    slower[:3] -= current
    turned[:3] += np.cross(v[3:6], current)
    tau = m.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(still.inverse_dynamics(q, slower, turned), tau, rtol=0, atol=1e-12 * np.abs(tau).max())
    assert np.abs(still.inverse_dynamics(q, v, a) - tau).max() > 0.1  # N; of some 2500 along the axis


def test_energy_balances() -> None:
    """``dE/dt = tau v - P`` at a state."""
    for current in ((0, 0, 0), (0.3, -0.2, 0.1)):
        m = wet(current).resolve()
        q, v, tau = state(m)
        a, h = m.forward_dynamics(q, v, tau), 1e-9

        ahead, behind = (sum(m.energy(m.integrate(q, t * v + t * t / 2 * a), v + t * a)) for t in (h, -h))
        found = (ahead - behind) / (2 * h)
        lost = m.dissipated_power(q, v)
        assert found == pytest.approx(tau @ v - lost, abs=1e-5 * abs(lost))  # differences of 1e-9 s, of energies of 10 J


def test_files_and_parameters(tmp_path: Any) -> None:
    s = wet()
    s.save(tmp_path / "beam.toml")
    m, again = s.resolve(engine="reference"), tt.load(tmp_path / "beam.toml").resolve(engine="reference")
    q, v, a = state(m)
    np.testing.assert_array_equal(again.inverse_dynamics(q, v, a), m.inverse_dynamics(q, v, a))
    changes = {"boom.drag.normal": 0.5, "boom.fluid.current.x": 1.0, "boom.length": 0.9}
    changed, fluid = m.with_parameters(changes), tt.Fluid(RHO, [1.0, -0.2, 0.1])
    assert {name: changed.parameters()[name][0] for name in changes} == changes
    drag = {"normal": 0.5, "tangential": 0.1, "viscous_normal": 0.2}
    water = {"fluid": fluid, "added_mass": {"normal": 1.0, "tangential": 0.2}, "drag": drag, "lift": 0.2}
    made = tt.System("s", gravity=GRAVITY)
    made.connect("world", tt.Beam("boom", 0.9, DENSITY, AREA, YOUNG, SECOND, SECOND, **water), tt.Free("float"))
    expected = made.resolve(engine="reference").inverse_dynamics(q, v, a)
    np.testing.assert_allclose(changed.inverse_dynamics(q, v, a), expected, rtol=1e-13)
    with pytest.raises(tt.ModelError, match=r"boom\.drag"):
        clamped(drag=1.0).resolve(engine="reference")
