"""What rolls without slip, against closed forms, published numbers, differences, and the other engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.example_scripts import script

G = 9.81


# -- constraints in general --------------------------------------------------------------------------------------------------

CONTACTS: dict[str, Callable[[], Any]] = {
    "disc": lambda: tt.RollingDisc("contact", 0.3, axis=[0.1, 1, 0.2], normal=[0.1, 0.2, 1]),
    "sphere": lambda: tt.RollingSphere("contact", 0.25, normal=[0.1, 0.2, 1]),
    "edge": lambda: tt.KnifeEdge("contact", [0.1, 1, 0.2], [0.1, 0.2, 1]),
    "rod": lambda: tt.Distance("contact", 0.7),
}


def on_moving_ground(kind: str) -> tt.System:
    """Return a body that rolls on another one, which moves and turns."""
    s = tt.System("rolling", gravity=[0, 0, -G])
    ground = tt.RigidBody("ground", mass=5.0, inertia=[0.5, 0.6, 0.7], com=[0.1, 0, 0.2])
    body = tt.RigidBody("body", mass=2.0, inertia=[0.05, 0.09, 0.06], com=[0.01, 0.02, 0.03], ports={"A": [0.05, 0.02, -0.03]})
    s.connect("world", ground, tt.Free("carrier"))
    s.connect("world", body, tt.Free("base"))
    s.close_loop(ground, body.port("A"), CONTACTS[kind]())
    return s


@cache
def state(kind: str) -> tuple[Any, ...]:
    """Return models of both engines, a state on the contact, and efforts."""
    m, r = on_moving_ground(kind).resolve(), on_moving_ground(kind).resolve(engine="reference")
    rng = np.random.default_rng(0)
    q = m.assemble(m.random_configuration(rng))
    v = m.assemble_velocity(q, rng.normal(size=12))
    return m, r, q, v, rng.normal(size=12)


@pytest.mark.parametrize("kind", CONTACTS)
def test_engines_agree(kind: str) -> None:
    """Dynamics, constraints, reactions, and derivatives, complex steps of the reference: rounding of a dozen terms."""
    m, r, q, v, tau = state(kind)
    a = r.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(m.forward_dynamics(q, v, tau), a, atol=1e-12)
    for name, arguments in (("closure_error", (q,)), ("closure_jacobian", (q,)), ("closure_bias", (q, v))):
        np.testing.assert_allclose(getattr(m, name)(*arguments), getattr(r, name)(*arguments), atol=1e-13)
    reactions = [model.reaction("contact", q, v, a, tau=tau) for model in (m, r)]
    np.testing.assert_allclose(*reactions, atol=1e-12)
    for found, expected in zip(
        m.forward_dynamics_derivatives(q, v, tau), r.forward_dynamics_derivatives(q, v, tau), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    radius = {"disc": "radius", "sphere": "radius", "edge": "across.x", "rod": "length"}[kind]
    slopes = [model.forward_dynamics_sensitivities(q, v, tau, [f"contact.{radius}"])[f"contact.{radius}"] for model in (m, r)]
    np.testing.assert_allclose(*slopes, atol=1e-11)
    series = [model.forward_dynamics_series(q, v, np.array([tau, 0 * tau])) for model in (m, r)]
    np.testing.assert_allclose(*series, atol=1e-11)


@pytest.mark.parametrize("kind", CONTACTS)
def test_accelerations_keep_what_velocities_keep(kind: str) -> None:
    """``d(J v)/dt = 0`` along the motion, and the height's rate is J v, by differences; reactions do no work on rolling."""
    _, r, q, v, tau = state(kind)
    a = r.forward_dynamics(q, v, tau)

    def rates(t: float) -> np.ndarray:
        return r.closure_jacobian(r.integrate(q, t * v + 0.5 * t * t * a)) @ (v + t * a)  # type: ignore[no-any-return]

    assert np.abs((rates(1e-4) - rates(-1e-4)) / 2e-4).max() < 2e-6  # 1e-8 times third derivatives of tens
    assert np.abs((rates(1e-4) - rates(-1e-4)) / 2e-4 - r.closure_bias(q, v)).max() > 1e-2
    other = np.random.default_rng(1).normal(size=12)
    places = r.mechanism.places
    errors = [r.closure_error(r.integrate(q, t * other)) for t in (1e-5, -1e-5)]
    rate = r.closure_jacobian(q) @ other
    np.testing.assert_allclose(((errors[0] - errors[1]) / 2e-5)[places], rate[places], atol=1e-8)
    assert abs(rate).min() > 1e-3
    assert (errors[0][~places] == 0.0).all()


@pytest.mark.parametrize("method", ["DOP853", "Radau", tt.GeneralizedAlpha()])
def test_simulations_stay_on_the_constraints(method: Any) -> None:
    m, _, q, v, _ = state("disc")
    best = tt.simulate(m, [0, 0.3], q, v, rtol=1e-11, atol=1e-12)
    run = tt.simulate(m, [0, 0.3], q, v, method=method, rtol=1e-6, atol=1e-7)
    end, rates = run.q[-1], run.v[-1]
    assert np.abs(m.closure_error(end)).max() < 1e-10
    assert np.abs(m.closure_jacobian(end) @ rates).max() < 1e-10
    assert np.abs(m.difference(end, best.q[-1])).max() < 1e-4  # the scheme of second order leaves 2e-5 at this tolerance


# -- closed forms ------------------------------------------------------------------------------------------------------------


def sleigh(**contact: Any) -> tt.System:
    s = tt.System("sleigh", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("sleigh", mass=3.0, com=[0.2, 0, 0], inertia=0.4), tt.Planar("base"))
    s.close_loop("world", s["sleigh"], tt.KnifeEdge("runner", **contact))
    return s


def test_chaplygin_sleigh() -> None:
    """``u = a w0 tanh(k t)``, ``w = w0 / cosh(k t)`` with ``a^2 = (J + m c^2) / m``, ``k = c w0 / a`` (Chaplygin, 1911)."""
    m = sleigh(height=False).resolve()
    a, start, t = np.sqrt((0.4 + 3.0 * 0.04) / 3.0), 2.0, np.linspace(0, 2, 5)
    run = tt.simulate(m, t, [0, 0, 0], [0, 0, start], rtol=1e-12, atol=1e-13)
    k = 0.2 * start / a
    np.testing.assert_allclose(run.v[:, 2], start / np.cosh(k * t), atol=1e-10)
    turned = 2.0 * np.arctan(np.tanh(k * t / 2)) * start / k
    np.testing.assert_allclose(run.q[:, 2], turned, atol=1e-10)
    along = run.v[:, 0] * np.cos(turned) + run.v[:, 1] * np.sin(turned)
    np.testing.assert_allclose(along, a * start * np.tanh(k * t), atol=1e-10)


def test_knife_edge_on_an_incline() -> None:
    """It turns evenly and moves on a cycloid, never farther down than ``g sin(slope) / (2 w^2)`` (Neimark and Fufaev, 1972)."""
    slope, w, t = 0.3, 1.5, np.linspace(0, 3, 7)
    s = tt.System("incline", gravity=[G * np.sin(slope), 0, -G * np.cos(slope)])
    s.connect("world", tt.RigidBody("edge", mass=0.7, inertia=0.02), tt.Free("base"))
    s.close_loop("world", s["edge"], tt.KnifeEdge("runner"))
    m = s.resolve()
    # the edge stays upright by itself: nothing pushes it over, but unstable rounding grows little in 3 s
    run = tt.simulate(m, t, m.neutral(), [0, 0, 0, 0, 0, w], rtol=1e-12, atol=1e-14)
    far = G * np.sin(slope) / (2.0 * w**2)
    np.testing.assert_allclose(run.q[:, 0], far * np.sin(w * t) ** 2, atol=1e-10)
    np.testing.assert_allclose(run.q[:, 1], far * (w * t - 0.5 * np.sin(2 * w * t)), atol=1e-10)


@pytest.mark.parametrize(("share", "part"), [(0.4, 2 / 7), (2 / 3, 0.4)])
def test_ball_on_a_turntable(share: float, part: float) -> None:
    """It goes round at 2/7 of the table's rate, a thin shell at 2/5, about a point that its start determines."""
    s = tt.System("turntable", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("table", mass=1.0, inertia=1.0), tt.Revolute("spin", axis=[0, 0, 1]))
    s.connect("world", tt.RigidBody("ball", mass=0.1, inertia=share * 0.1 * 0.02**2), tt.Free("base"))
    s.close_loop(s["table"], s["ball"], tt.RollingSphere("contact", radius=0.02))
    m, rate = s.resolve(), 5.0
    q = m.assemble(m.configuration({"base": [0.3, 0.1, 0.02, 0, 0, 0, 1]}), fixed=["spin"])
    v = m.velocity({"spin": rate, "base": [0.2, -0.1, 0, 0.0, 0.0, 0.4]})
    v = m.assemble_velocity(q, v, fixed=["spin", "base.x", "base.y", "base.rz"])
    t = np.linspace(0, 3, 7)
    run = tt.simulate(m, t, q, v, prescribed={"spin": lambda t: (rate * t, rate, 0.0)}, rtol=1e-12, atol=1e-13)
    # v' = part rate x v: the centre of the circle stays
    w = part * rate
    about = np.array([0.3 + 0.1 / w, 0.1 + 0.2 / w])
    turn = np.array([[np.cos(w * t), -np.sin(w * t)], [np.sin(w * t), np.cos(w * t)]])
    expected = about[:, None] + np.einsum("ijt,j->it", turn, np.array([0.3, 0.1]) - about)
    np.testing.assert_allclose(run.q[:, 1:3], expected.T, atol=1e-10)


A, C, MASS, RADIUS, OWN = 0.04, 0.07, 2.0, 0.3, 0.003


def coin() -> tt.Model:
    """Return a disc on a carrier, which moves as the disc does but for its spin, and has an axial inertia of its own."""
    s = tt.System("coin", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("carrier", mass=1.5, inertia=[A - C / 2, OWN, A - C / 2]), tt.Free("base"))
    s.connect(s["carrier"], tt.RigidBody("coin", mass=0.5, inertia=[C / 2, C, C / 2]), tt.Revolute("spin", axis=[0, 1, 0]))
    s.close_loop("world", s["coin"], tt.RollingDisc("contact", RADIUS))
    return s.resolve()


@pytest.mark.parametrize("spin", [-1.0, -6.0, -9.0])
def test_an_upright_disc_is_stable_from_a_speed_on(spin: float) -> None:
    """``(A + m r^2) f'' + (C (C + m r^2) w^2 / A - m g r) f = 0`` for its lean f (Routh, 1905)."""
    m = coin()
    q = m.assemble(m.configuration({"base": [0, 0, RADIUS, 0, 0, 0, 1]}))
    v = m.velocity({"spin": spin, "base": [spin * RADIUS, 0, 0, 0, 0, 0]})
    square = (C * (C + MASS * RADIUS**2) * spin**2 / A - MASS * G * RADIUS) / (A + MASS * RADIUS**2)
    system = tt.linearize(m, (q, v), omit=["base.x.q", "base.y.q", "base.rz.q", "base.ry", "spin"])
    assert system.state_labels == ["base_rx_q", "base_rx_v", "base_rz_v"]
    np.testing.assert_allclose(np.poly(system.A), [1.0, 0.0, square, 0.0], rtol=1e-10, atol=1e-12)
    assert (tt.OperatingPoint(m, q, v).stability == "unstable") == (square < 0.0)
    assert (square < 0.0) == (spin == -1.0)


def test_a_disc_in_steady_circles() -> None:
    """``m g r s = (A - own) W^2 s c - (C + m r^2) w W c``: lean of sine s, cosine c, precession W, spin w (Routh)."""
    m, lean, W = coin(), 0.4, 1.7
    s, c = np.sin(lean), np.cos(lean)
    w = ((A - OWN) * W**2 * s * c - MASS * G * RADIUS * s) / ((C + MASS * RADIUS**2) * W * c)
    q = m.configuration({"base": [0, 0, RADIUS * c, np.sin(lean / 2), 0, 0, np.cos(lean / 2)]})
    v = m.velocity({"base": [RADIUS * w, 0, 0, 0, W * s, W * c], "spin": w - W * s})
    assert np.abs(m.closure_error(q)).max() < 1e-15
    assert np.abs(m.closure_jacobian(q) @ v).max() < 1e-14
    assert np.abs(m.forward_dynamics(q, v, np.zeros(7))).max() < 1e-10
    faster = m.assemble_velocity(q, 1.01 * v)
    assert np.abs(m.forward_dynamics(q, faster, np.zeros(7))).max() > 1e-2
    found = tt.trim(m, unknowns=["spin.v", "base.x.v"], q=q, v=v + 0.1 * np.array([RADIUS, 0, 0, 0, 0, 0, 1]))
    assert found.v[6] == pytest.approx(w - W * s, rel=1e-8)


def canonical_bicycle() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return M, C1, K0 and K2 of lean and steer by appendix A of Meijaard et al. (2007)."""
    w, c, tilt, r_r, r_f = 1.02, 0.08, np.pi / 10, 0.3, 0.35
    m_r, m_b, m_h, m_f = 2.0, 85.0, 4.0, 3.0
    x_b, z_b, x_h, z_h = 0.3, -0.9, 0.9, -0.7
    sin, cos = np.sin(tilt), np.cos(tilt)
    m_t = m_r + m_b + m_h + m_f
    x_t = (x_b * m_b + x_h * m_h + w * m_f) / m_t
    z_t = (-r_r * m_r + z_b * m_b + z_h * m_h - r_f * m_f) / m_t
    t_xx = 0.0603 + 9.2 + 0.05892 + 0.1405 + m_r * r_r**2 + m_b * z_b**2 + m_h * z_h**2 + m_f * r_f**2
    t_xz = 2.4 - 0.00756 - m_b * x_b * z_b - m_h * x_h * z_h + m_f * w * r_f
    t_zz = 0.0603 + 2.8 + 0.00708 + 0.1405 + m_b * x_b**2 + m_h * x_h**2 + m_f * w**2
    m_a = m_h + m_f
    x_a, z_a = (x_h * m_h + w * m_f) / m_a, (z_h * m_h - r_f * m_f) / m_a
    a_xx = 0.05892 + 0.1405 + m_h * (z_h - z_a) ** 2 + m_f * (r_f + z_a) ** 2
    a_xz = -0.00756 - m_h * (x_h - x_a) * (z_h - z_a) + m_f * (w - x_a) * (r_f + z_a)
    a_zz = 0.00708 + 0.1405 + m_h * (x_h - x_a) ** 2 + m_f * (w - x_a) ** 2
    u = (x_a - w - c) * cos - z_a * sin
    a_ll = m_a * u**2 + a_xx * sin**2 + 2 * a_xz * sin * cos + a_zz * cos**2
    a_lx = -m_a * u * z_a + a_xx * sin + a_xz * cos
    a_lz = m_a * u * x_a + a_xz * sin + a_zz * cos
    mu = c / w * cos
    s_r, s_f = 0.12 / r_r, 0.28 / r_f
    s_t, s_a = s_r + s_f, m_a * u + mu * m_t * x_t
    coupled = a_lx + mu * t_xz
    M = np.array([[t_xx, coupled], [coupled, a_ll + 2 * mu * a_lz + mu**2 * t_zz]])
    K0 = G * np.array([[m_t * z_t, -s_a], [-s_a, -s_a * sin]])
    K2 = np.array([[0, (s_t - m_t * z_t) / w * cos], [0, (s_a + s_f * sin) / w * cos]])
    turned = mu * s_t + s_f * cos
    C1 = np.array([[0, turned + t_xz / w * cos - mu * m_t * z_t], [-turned, a_lz / w * cos + mu * (s_a + t_zz / w * cos)]])
    return M, C1, K0, K2


#: Eigenvalues of table 2 of the paper.
TABLE = {
    0.0: [-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393],
    5.0: [-14.07838969279822, -0.77534188219585 - 4.46486771378823j, -0.77534188219585 + 4.46486771378823j, -0.32286642900409],
}


@pytest.mark.parametrize("speed", [0.0, 1.0, 3.0, 5.0, 8.0, 10.0])
def test_the_eigenvalues_of_the_bicycle_of_meijaard(speed: float) -> None:
    example = script("bicycle")
    found = example["poles"](_bicycle(), speed)
    M, C1, K0, K2 = canonical_bicycle()
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)]])
    np.testing.assert_allclose(found, np.sort_complex(np.linalg.eigvals(A)), atol=1e-10)
    if speed in TABLE:
        np.testing.assert_allclose(found, TABLE[speed], atol=1e-10)


@cache
def _bicycle() -> tt.Model:
    return script("bicycle")["build"]().resolve()  # type: ignore[no-any-return]


def test_a_family_of_the_bicycle_over_its_speed() -> None:
    """The rates that roll with the wheel follow it, unless others are named."""
    example, m, speeds = script("bicycle"), _bicycle(), np.array([0.0, 4.0, 6.5])
    q, v = example["upright"](m, 0.0)
    rates = {"rear_hub.v": -speeds / example["REAR"]}
    family = tt.lpv(m, rates, q=q, v=v, omit=example["CYCLIC"])
    for A, speed in zip(family.A, speeds, strict=True):
        found = np.sort_complex(np.linalg.eigvals(A))
        assert found == pytest.approx(example["poles"](m, speed), abs=1e-10)  # rounding, times their condition
    v[m.coordinate_names.index("rear_hub")] = -10.0
    with pytest.raises(tt.ConvergenceError, match=r"slip2.*it ties base\.x\.v, .*rear_hub\.v: let those not given be unknown"):
        tt.trim(m, q=q, v=v, unknowns=["front_hub.v"])


def test_families_and_other_solvers_of_the_bicycle() -> None:
    """Members are linear models of their own; what cannot be told exactly is refused by name."""
    example, m = script("bicycle"), _bicycle()
    q, v = example["upright"](m, 5.0)
    family = tt.lpv(m, {"frame.mass": [80.0, 90.0]}, inputs=["steer"], outputs=["steer.q"], q=q, v=v, omit=example["CYCLIC"])
    alone = tt.linearize(
        m.with_parameters({"frame.mass": 90.0}), (q, v), inputs=["steer"], outputs=["steer.q"], omit=example["CYCLIC"]
    )
    np.testing.assert_allclose(family.at({"frame.mass": 90.0}).A, alone.A, atol=1e-12)
    with pytest.raises(tt.ModelError, match=r"rolls.*\[rolling\]"):
        tt.lft(m, (q, 0 * v), {"frame.mass": (80.0, 90.0)}, inputs=["steer"], outputs=["steer.q"])
    with pytest.raises(tt.ModelError, match=r"rolls.*\[rolling\]"):
        m.to_nlsys(inputs=["steer"], point=(q, 0 * v))
    choice = ["base.rx", "steer", "rear_hub", "base.x.q", "base.y.q", "base.rz.q", "front_hub.q"]
    assert tt.linearize(m, (q, v), independent=choice).state_labels == tt.linearize(m, (q, v)).state_labels
    with pytest.raises(tt.ModelError, match=r"base\.x\.q, base\.y\.q, base\.rz\.q, front_hub\.q"):
        tt.linearize(m, (q, v), independent=[*choice[:-1], "base.z.q"])


# -- wrong input, files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contact", "code"),
    [
        (tt.RollingDisc("contact", radius=0.0), "no-radius"),
        (tt.RollingSphere("contact", radius=-0.1), "no-radius"),
        (tt.RollingDisc("contact", radius=0.1, axis=[0, 0, 0]), "zero-axis"),
        (tt.KnifeEdge("contact", across=[0, 0, 0]), "zero-axis"),
        (tt.Distance("contact", length=0.0), "no-length"),
    ],
)
def test_wrong_contacts_are_refused(contact: Any, code: str) -> None:
    s = tt.System("rolling")
    s.connect("world", tt.RigidBody("body", mass=1.0, inertia=1.0), tt.Free("base"))
    s.close_loop("world", s["body"], contact)
    with pytest.raises(tt.ModelError) as caught:
        s.resolve(engine="reference")
    assert code in [finding.code for finding in caught.value.findings]


def test_what_does_not_touch_or_slips_is_refused_by_how_much() -> None:
    m, _, q, v, _ = state("sphere")
    away = m.integrate(q, 0.1 * np.eye(12)[6] + 0.1 * np.eye(12)[7])
    with pytest.raises(tt.ModelError, match=r"contact 'contact' is 0\.\d+ m off its plane"):
        tt.simulate(m, [0, 1.0], away, v)
    with pytest.raises(tt.ModelError, match=r"contact\.slip\d changing at"):
        tt.simulate(m, [0, 1.0], q, v + np.eye(12)[11])


def test_a_height_that_joints_keep_is_told() -> None:
    with pytest.warns(tt.ModelWarning, match="height=False"):
        sleigh().resolve(engine="reference")


@pytest.mark.parametrize("kind", CONTACTS)
def test_files_keep_contacts(kind: str, tmp_path: Path) -> None:
    s = on_moving_ground(kind)
    s.save(tmp_path / "rolling.toml")
    m, _, q, v, tau = state(kind)
    again = tt.load(tmp_path / "rolling.toml").resolve()
    np.testing.assert_array_equal(again.forward_dynamics(q, v, tau), m.forward_dynamics(q, v, tau))
    assert again.parameters() == m.parameters()


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_disc_that_lies_flat_is_told(engine: str) -> None:
    """It resolves, since it may stand up; where it lies there are no constraints to tell."""
    s = tt.System("coin", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("coin", mass=1.0, inertia=[0.05, 0.05, 0.09]), tt.Free("base"))
    s.close_loop("world", s["coin"], tt.RollingDisc("contact", 0.3, axis=[0, 0, 1]))
    m = s.resolve(engine=engine)
    standing = m.configuration({"base": [0, 0, 0.3, np.sin(0.7), 0, 0, np.cos(0.7)]})
    assert m.closure_rank(m.assemble(standing)) == 3
    flat, rest = m.neutral(), np.zeros(6)
    with pytest.raises(tt.ModelError, match="the disc of contact lies flat"):
        m.forward_dynamics(flat, rest, rest)
    with pytest.raises(tt.ModelError, match="the disc of contact lies flat"):
        m.closure_bias(flat, rest)
    with pytest.raises(tt.ModelError, match="the disc of contact lies flat"):
        m.reaction("contact", flat, rest, rest)
    with pytest.raises(tt.ModelError, match="the disc of contact lies flat"):
        m.inverse_dynamics(flat, rest, rest)
    with pytest.raises(tt.ModelError, match="the disc of contact lies flat"):
        m.assemble_velocity(flat, rest + 0.1)
    with pytest.raises(tt.ModelError, match="the disc of contact lies flat"):
        m.assemble_acceleration(flat, rest, rest)


@pytest.mark.parametrize("base", [tt.Planar("base"), tt.Free("base")])
def test_a_car_whose_steering_is_held_drives_along_a_circle(base: tt.Joint) -> None:
    """All wheels about one centre, its tyres agree; about several they would not, and free steering leads there."""
    s, corners, radius = tt.System("car"), {"fl": [1, 0.5, 0], "fr": [1, -0.5, 0], "rl": [-1, 0.5, 0], "rr": [-1, -0.5, 0]}, 5.0
    body = tt.RigidBody("body", mass=100.0, com=[0, 0, 0.1], inertia=[20, 50, 60], ports=corners)
    s.connect("world", body, base, tt.Pose([0, 0, 0.3]))
    for name in corners:
        at = body.port(name)
        if name[0] == "f":
            s.connect(at, tt.RigidBody(f"knuckle_{name}", mass=1.0, inertia=0.02), tt.Revolute(name.replace("f", "steer_")))
            at = s[f"knuckle_{name}"].port(None)
        wheel = tt.RigidBody(name, mass=5.0, inertia=[0.1, 0.2, 0.1])
        s.connect(at, wheel, tt.Revolute(f"hub_{name}", axis=[0, 1, 0]))
        tyre = tt.RollingDisc(f"tyre_{name}", 0.3, height=isinstance(base, tt.Free), redundant=True)
        s.close_loop("world", wheel, tyre)
    m, held = s.resolve(), ["steer_l", "steer_r"]
    angles = {"steer_l": np.arctan(2 / (radius - 0.5)), "steer_r": np.arctan(2 / (radius + 0.5))}
    q = m.configuration(angles)
    along = [1.0, 0.2, 0.2] if m.nv == 9 else [1.0, 0.2, 0, 0, 0, 0.2]
    v = m.assemble_velocity(q, m.velocity({"base": along}), fixed=["base", *held])
    run = tt.simulate(m, [0.0, 1.0], q, v, hold=held, rtol=1e-10, atol=1e-12)
    turn = 1.0 / radius  # of the rear axle, a metre behind, after a metre
    place = [radius * np.sin(turn) - 1 + np.cos(turn), radius * (1 - np.cos(turn)) + np.sin(turn)]
    assert run.q[-1, :2] == pytest.approx(place, abs=1e-8)
    with pytest.raises(tt.ModelError, match=r"singular-closure|s\.resolve\(hold"):
        m.forward_dynamics(q, v, np.zeros(m.nv))
    q = m.configuration({**angles, "steer_r": 0.3})
    with pytest.raises((tt.ConvergenceError, tt.ModelError)):
        tt.simulate(m, [0.0, 1.0], q, m.assemble_velocity(q, m.velocity({"base": along}), fixed=["base", *held]), hold=held)
