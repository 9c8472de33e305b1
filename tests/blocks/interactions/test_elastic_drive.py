"""Harmonic drives: closed forms, energy, Dahl's loop, engines, families."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.checking.block_check import check_block

N, K, K3, D = -20.0, 200.0, 1e3, 3.0
ERROR = [(2, 0.01, 0.4), (4, 0.003)]
HYSTERESIS: dict[str, Any] = {"hysteresis_torque": 2.0, "hysteresis_stiffness": 50.0}
ROTOR, LINK = 1e-3, 0.5


def joint(**more: Any) -> tt.System:
    """Return a rotor and a link on fixed axes, with a drive between them."""
    s = tt.System("joint", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=0.1, inertia=ROTOR), tt.Revolute("motor"))
    s.connect("world", tt.RigidBody("link", mass=1.0, inertia=LINK), tt.Revolute("elbow"))
    more = {"stiffness": K, "cubic_stiffness": K3, "damping": D} | more
    s.add_interaction(tt.ElasticDrive("drive", N, **more), "motor", "elbow")
    return s


def test_efforts_are_those_of_the_torsion() -> None:
    m = joint(kinematic_error=ERROR, **HYSTERESIS).resolve(engine="reference")
    (motor, link), (w, v), z = q, rates, _ = [1.2, -0.1], [3.0, 0.4], 0.7
    torsion = motor / N - link + 0.01 * np.sin(2 * motor + 0.4) + 0.003 * np.sin(4 * motor)
    slope = 1 / N + 0.02 * np.cos(2 * motor + 0.4) + 0.012 * np.cos(4 * motor)
    rate = slope * w - v
    torque = K * torsion + K3 * torsion**3 + D * rate + z
    a = m.forward_dynamics(q, rates, x=[z])
    np.testing.assert_allclose(a, [-slope * torque / ROTOR, torque / LINK], rtol=1e-12)
    expected = 50.0 * (rate - abs(rate) * z / 2.0)
    np.testing.assert_allclose(m.state_rates(q, rates, x=[z]), [expected], rtol=1e-12)
    loss = D * rate**2 + abs(rate) * z**2 / 2.0  # of damper and hysteresis: neither gear nor error loses any
    assert m.dissipated_power(q, rates, x=[z]) == pytest.approx(loss, rel=1e-9)


def test_linear_model_is_two_masses_on_a_spring() -> None:
    """The resonance of a robot's joint, and its torque and torsion as outputs."""
    system = tt.linearize(joint().resolve(), [0.0, 0.0], inputs=["motor"], outputs=["drive.torque", "drive.torsion"])
    row = np.array([[1 / N, -1.0]])
    stiffness, inertia = row.T @ row * K, np.diag([ROTOR, LINK])
    np.testing.assert_allclose(system.A[2:, :2], -np.linalg.solve(inertia, stiffness), rtol=1e-13)
    np.testing.assert_allclose(system.A[2:, 2:], -np.linalg.solve(inertia, row.T @ row * D), rtol=1e-13)
    np.testing.assert_allclose(system.C, np.vstack([np.hstack([K * row, D * row]), np.hstack([row, 0 * row])]), rtol=1e-13)


def test_energy_is_conserved_without_losses() -> None:
    """Spring, gear and kinematic error exchange it; with damping it falls: the negative control."""
    t = np.linspace(0.0, 0.5, 6)
    for damping, is_kept in ((0.0, True), (D, False)):
        m = joint(damping=damping, kinematic_error=ERROR).resolve()
        total = tt.simulate(m, t, [0.0, 0.1], [20.0, 0.0], rtol=1e-10, atol=1e-12).energy().sum(axis=1)
        assert (np.ptp(total) < 1e-7 * total[0]) == is_kept  # some hundred steps at rtol


def test_hysteresis_is_dahls_loop() -> None:
    """Along a growing torsion d from rest, ``z = F (1 - exp(-s d/F))``, whatever the rate."""
    m = joint(stiffness=0.0, cubic_stiffness=0.0, damping=0.0, **HYSTERESIS).resolve()
    moved = {"motor": lambda t: (N * 0.1 * t**2, N * 0.2 * t, N * 0.2), "elbow": lambda t: (0.0, 0.0, 0.0)}
    trajectory = tt.simulate(m, np.linspace(0.0, 1.0, 5), [0.0, 0.0], [0.0, 0.0], prescribed=moved, rtol=1e-10, atol=1e-12)
    torsion = trajectory.q[:, 0] / N
    assert torsion[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(trajectory.x[:, 0], 2.0 * (1 - np.exp(-50.0 * torsion / 2.0)), atol=1e-8)  # some rtol


def test_engines_files_and_families_agree(tmp_path: Any) -> None:
    s, rng = joint(kinematic_error=ERROR, **HYSTERESIS), np.random.default_rng(2)
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, x = rng.normal(size=2), rng.normal(size=2), rng.normal(size=1)
    np.testing.assert_allclose(m.forward_dynamics(q, v, x=x), reference.forward_dynamics(q, v, x=x), rtol=1e-12)
    np.testing.assert_allclose(m.state_rates(q, v, x=x), reference.state_rates(q, v, x=x), rtol=1e-12)
    points = [tt.OperatingPoint(each, q, v, x=x) for each in (m, reference)]
    with pytest.warns(UserWarning, match="equilibrium"):  # no equilibria
        one, two = (tt.linearize(point.model, point, ["motor"], ["drive.torque"]) for point in points)
    np.testing.assert_allclose(one.A, two.A, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.C, two.C, rtol=1e-11, atol=1e-11)
    s.save(tmp_path / "s.toml")
    assert tt.load(tmp_path / "s.toml").resolve(engine="reference").parameters() == m.parameters()
    entries = ["ratio", "stiffness", "cubic_stiffness", "damping", "hysteresis_stiffness", "kinematic_error.0.amplitude"]
    ranges = {f"drive.{name}": tt.percent(10) for name in entries}
    point = tt.OperatingPoint(m, [0.3, -0.01])
    with pytest.warns(UserWarning, match="equilibrium"):
        family = tt.lft(m, point, ranges, ["motor"], ["elbow.q", "drive.torque", "drive.torsion"])
    assert family.check(3) < 1e-10  # ninth powers of the ratio's range cancel


def test_states_beside_those_of_a_motor() -> None:
    """States without inputs come before states with inputs: their columns are told apart in both engines."""
    s = joint(**HYSTERESIS)
    s.add_actuator(tt.DCMotor("motor_drive", "motor", 1.0, 0.1, inductance=0.01))
    one, two = (tt.linearize(s.resolve(engine=engine), [0.0, 0.0], ["motor_drive"]) for engine in ("compiled", "reference"))
    assert one.state_labels[-2:] == ["drive_hysteresis", "motor_drive_current"]
    np.testing.assert_allclose(one.A, two.A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.B, two.B, rtol=1e-12)
    assert one.B[-1, 0] == pytest.approx(100.0, rel=1e-14)


def test_the_law_passes_the_check_of_blocks() -> None:
    check_block(joint(kinematic_error=ERROR, **HYSTERESIS)["drive"])


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ({"ratio": 0.0}, "zero-ratio", "ratio"),
        ({"stiffness": -1.0}, "negative-stiffness", "stiffness"),
        ({"hysteresis_torque": 1.0}, "no-hysteresis", "hysteresis_torque"),
        ({"kinematic_error": [(-1, 0.1)]}, "bad-order", "kinematic_error"),
    ],
)
def test_wrong_drives_are_refused(arguments: Any, code: str, field: str) -> None:
    s = joint()
    s.add_interaction(tt.ElasticDrive("wrong", **({"ratio": 2.0, "stiffness": 1.0} | arguments)), "motor", "elbow")
    with pytest.raises(tt.ModelError) as caught:
        s.resolve(engine="reference")
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [(code, f"wrong.{field}")]
