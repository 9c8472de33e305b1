"""Beams in a fluid as compiled stages: against the reference, complex steps, rods in water, closed forms and balances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import brentq

import titop as tt
from tests.solvers.kernels.laws.mixed_systems import assert_close, assert_slopes
from titop.solvers.engines.compiled.law_tables import compiled_law, compiled_surroundings
from titop.solvers.kernels.laws import beam_water
from titop.solvers.model.terms import mass_center

RADIUS, DENSITY, YOUNG, RHO = 0.004, 1200.0, 5e7, 1000.0
AREA, SECOND = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
GRAVITY, CURRENT = np.array([0.5, 1.0, -9.81]), np.array([0.3, -0.2, 0.1])


def beam(name: str, length: float, cls: type[tt.Beam] = tt.Beam, **water: Any) -> tt.Beam:
    return cls(name, length, DENSITY, AREA, YOUNG, SECOND, SECOND, damping_ratio=0.01, **water)


def swimmer(current: Any = CURRENT, without: tuple[str, ...] = (), cls: type[tt.Beam] = tt.Beam) -> tt.System:
    """Return a body with two beams in a row, in water with everything that it does, but for some of it."""
    rng = np.random.default_rng(5)
    roots = rng.normal(size=(2, 6, 6))
    added, drag = 0.1 * roots[0] @ roots[0].T, 3.0 * roots[1] @ roots[1].T
    near: dict[str, Any] = {"added_mass": lambda X: (1 + X) * added, "drag": drag, "lift": [0.4, 0.1, 0.2]}
    drag_by_name = {"normal": 1.1, "tangential": 0.05, "torsional": 0.2, "viscous_normal": 0.3}
    far: dict[str, Any] = {"added_mass": "potential", "drag": drag_by_name}
    for fields in (near, far):
        fields["fluid"] = tt.Fluid(RHO, current)
        for name in without:
            fields.pop(name, None)
    s = tt.System("swimmer", gravity=GRAVITY)
    hub = tt.RigidBody("hub", 0.1, [0.01, 0.02, -0.03], 1e-3, {"left": [0.1, 0, 0], "right": [0, 0.1, 0.05]})
    one, two = beam("near", 0.3, cls, **near), beam("far", 0.2, cls, **far)
    s.connect("world", hub.port("left"), tt.Free("float"))
    s.connect(hub.port("right"), one, tt.Revolute("joint"))
    s.connect(one.port("C"), two, tt.Revolute("hinge", axis=[0, 1, 1]))
    return s


def state(m: tt.Model, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    scale = np.where([name.startswith(("near", "far")) for name in m.coordinate_names], 0.01, 0.5)
    dq, v, a = scale * rng.normal(size=(3, m.nv))
    return m.integrate(m.neutral(), dq), v, a


@pytest.fixture(scope="module")
def swimmers() -> tuple[tt.Model, tt.Model]:
    s = swimmer()
    return s.resolve(), s.resolve(engine="reference")


def test_beams_have_compiled_stages(swimmers: Any) -> None:
    block = swimmers[0].mechanism.assembly.blocks["near"]
    assert compiled_law(block) is beam_water.LAW
    assert compiled_surroundings(block) is beam_water.LAW.surroundings


def test_engines_agree(swimmers: Any) -> None:
    q, v, x = state(swimmers[0], 1)
    for name in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        assert_close(*(np.hstack(getattr(m, name)(q, v, x)) for m in swimmers), 1e-13)  # rounding
    for name in ("forward_dynamics", "forward_dynamics_derivatives"):
        assert_close(*(np.hstack(getattr(m, name)(q, v, x)) for m in swimmers), 1e-11)  # conditioning
    for name in ("passive_efforts", "momentum", "nonlinear_effects", "energy", "dissipated_power"):
        assert_close(*(getattr(m, name)(q, v) for m in swimmers), 1e-13)
    assert_close(*(m.gravity_effects(q) for m in swimmers), 1e-13)
    assert_close(*(m.mass_matrix(q) for m in swimmers), 1e-13)
    assert_close(*(m.reaction("hinge", q, v, x) for m in swimmers), 1e-13)
    stacked = swimmers[0].forward_dynamics(*(np.array([y, y]) for y in (q, v, x)))
    np.testing.assert_array_equal(stacked, [swimmers[0].forward_dynamics(q, v, x)] * 2)
    efforts = swimmers[0].inverse_dynamics_series(q, np.array([v, x, np.zeros(len(v))]))
    assert_close(efforts[0], swimmers[0].inverse_dynamics(q, v, x), 1e-13)


def test_derivatives_are_those_of_complex_steps(swimmers: Any) -> None:
    m, reference = swimmers
    for at in (state(m, 2), (state(m, 3)[0], *np.zeros((2, m.nv)))):
        assert_slopes(m, reference, *at, 1e-13)


def test_every_part_of_what_water_does_counts(swimmers: Any) -> None:
    """The negative control: what is left out is missed by the comparisons above, 1e7 times as sharp."""
    m = swimmers[0]
    q, v, a = state(m, 1)
    tau = m.inverse_dynamics(q, v, a)
    for changed in (swimmer([0, 0, 0]), *(swimmer(without=(name,)) for name in ("added_mass", "drag", "lift"))):
        assert np.abs(changed.resolve().inverse_dynamics(q, v, a) - tau).max() > 1e-6 * np.abs(tau).max()


def test_still_water_at_rest_has_derivatives() -> None:
    """Quadratic drag is smooth there, its slope zero."""
    m, dry = (swimmer([0, 0, 0], without).resolve() for without in ((), ("drag", "lift")))
    q, rest = state(m, 3)[0], np.zeros(m.nv)
    by_v = m.with_parameters({"far.drag.viscous_normal": 0.0}).inverse_dynamics_derivatives(q, rest, rest)[1]
    assert_close(by_v, dry.inverse_dynamics_derivatives(q, rest, rest)[1], 1e-14)
    assert np.abs(m.inverse_dynamics_derivatives(q, rest, rest)[1] - by_v).max() > 1e-3


def test_an_undeformed_beam_takes_what_an_undeformed_rod_does() -> None:
    """Both move as rigid bodies: the wrench at the base, with added mass, buoyancy and currents; drag is linear here."""
    water = {"fluid": tt.Fluid(RHO, CURRENT), "added_mass": {"normal": 1.0, "tangential": 0.2}, "drag": {"viscous_normal": 0.5}}
    rod = tt.Rod("rod", 0.3, tt.Section.circle(RADIUS), YOUNG, DENSITY, **water)
    rng = np.random.default_rng(8)
    dq, speed, rate = rng.normal(size=(3, 6))
    wrenches = []
    for body in (beam("rod", 0.3, **water), rod):
        s = tt.System("s", gravity=GRAVITY)
        s.connect("world", body, tt.Free("float"))
        m = s.resolve()
        still = np.zeros(m.nv - 6)
        q, v, a = m.integrate(m.neutral(), np.concatenate([dq, still])), *(np.append(x, still) for x in (speed, rate))
        wrenches.append(m.inverse_dynamics(q, v, a)[:6])
        assert_close(m.center_of_mass(q), m.pose("rod", q)[1] + m.pose("rod", q)[0] @ [0.15, 0, 0], 1e-12)
    slender = 10.0 * RADIUS**2  # beams' sections have no inertia of their own about y and z: m (r / 2)^2 of 0.3 m^2 / 12
    np.testing.assert_allclose(wrenches[0][:3], wrenches[1][:3], rtol=0, atol=1e-12 * np.abs(wrenches[1]).max())
    np.testing.assert_allclose(wrenches[0], wrenches[1], rtol=0, atol=slender * np.abs(wrenches[1]).max())


@pytest.mark.parametrize("moved_along", [0.0, 1.0, 3.0])
def test_frequencies_in_water_of_a_hinged_free_beam(moved_along: float) -> None:
    """``beta^2 sqrt(E I / ((m + m_a) L^4))``, beta from ``tan beta = tanh beta``; a clamped one is with the block's tests."""
    s = tt.System("s", gravity=[0, 0, 0])
    water = {"fluid": tt.Fluid(RHO), "added_mass": {"normal": moved_along}}
    s.connect("world", tt.Beam("boom", 0.8, DENSITY, AREA, YOUNG, SECOND, SECOND, modes=6, **water), tt.Revolute("hinge"))
    m = s.resolve()
    beta = brentq(lambda x: np.tan(x) - np.tanh(x), 3.5, 4.5)
    expected = beta**2 * np.sqrt(YOUNG * SECOND / ((DENSITY + moved_along * RHO) * AREA * 0.8**4))
    poles = np.abs(np.imag(tt.linearize(m, tt.trim(m)).poles()))
    assert np.abs(poles - expected).min() < 2e-5 * expected  # 1.5e-5 by six modes between held ends, without water too


@pytest.mark.parametrize("current", [[0.0, 0.0, 0.0], CURRENT])
def test_energy_that_is_lost_is_what_water_takes(current: Any) -> None:
    """``E(0) - E(t) = int P dt``; in a current too, which feeds some of it."""
    m = swimmer(current).resolve()
    q, v = m.neutral(), m.velocity({"float": [1.0, 0.5, -0.3, 2.0, -1.0, 3.0], "joint": 2.0, "hinge": -3.0})
    t = np.linspace(0.0, 0.05, 1001)
    run = tt.simulate(m, t, q, v, rtol=1e-10, atol=1e-12)
    total, power = run.energy().sum(axis=1), m.dissipated_power(run.q, run.v)
    lost = simpson(power, x=t)
    assert abs(lost) > 0.01
    assert total[0] - total[-1] == pytest.approx(lost, abs=1e-6 * simpson(np.abs(power), x=t))  # what rtol and Simpson leave


def test_sensitivities_to_water_are_slopes(swimmers: Any) -> None:
    m = swimmers[0]
    q, v, a = state(m, 7)
    names = ["near.fluid.density", "near.fluid.current.y", "near.lift.x", "far.drag.normal", "far.drag.viscous_normal"]
    found, values = m.inverse_dynamics_sensitivities(q, v, a, names), m.parameters()
    for name in names:
        h = 1e-4 * (abs(values[name][0]) or 1.0)
        ahead, behind = (m.with_parameters({name: values[name][0] + s}).inverse_dynamics(q, v, a) for s in (h, -h))
        slope = (ahead - behind) / (2 * h)
        rounding = 1e-15 * np.abs(ahead).max() / (h * np.abs(slope).max())
        assert_close(found[name], slope, max(1e-7, rounding))  # truncation, or rounding, of differences


def test_what_is_said_otherwise_is_followed() -> None:
    class Half(tt.Beam):
        """Half of what it moves along."""

        def added_inertia(self, q: Any) -> Any:
            """Return half of it."""
            return 0.5 * super().added_inertia(q)

    m = swimmer(cls=Half).resolve()
    assert compiled_surroundings(m.mechanism.assembly.blocks["near"]) is None
    q, v, _ = state(m, 1)
    reference = swimmer(cls=Half).resolve(engine="reference")
    assert_close(mass_center(m, q), mass_center(reference, q), 1e-13)
    assert_close(m.nonlinear_effects(q, v), reference.nonlinear_effects(q, v), 1e-12)
